//! Searches as Zoekt does: collects everything up to its limits, and shows the best files.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use answer::FileMatch;
use query::{Predicate, Query, Select};
use rank::{Order, Origins, RankedFile, TopK};
use search::{Request, Stopped};
use store::{MAIN_TREE, Repo, RepoTrees};

use super::arguments::{MatchLimits, Options};
use super::list::{HEAD, file_url, line_fragment};
use super::matches::{self, Base64, ChunkMatch, LineMatch, Room};
use super::query::compiled;
use super::result::{FileResult, SearchResult, SearchStats, nanos};
use crate::compat::collect::{MAX_ANSWER_BYTES, gather};
use crate::error::Failure;
use crate::server::Server;
use request::limit_or;

/// Lowest score of a file, since Zoekt's scores are positive.
const LEAST_SCORE: f64 = 0.01;

/// The files found so far.
pub(super) struct Collected {
    pub(super) limits: MatchLimits,
    pub(super) files: usize,
    pub(super) matches: usize,
    pub(super) by_repo: HashMap<String, usize>,
    pub(super) best: TopK,
    pub(super) skipped: usize,
    /// Whether the search ended before it had seen all files.
    pub(super) cut: bool,
}

impl Collected {
    pub(super) fn new(query: &Query, limits: MatchLimits) -> Self {
        Self {
            limits,
            files: 0,
            matches: 0,
            by_repo: HashMap::new(),
            best: TopK::new(query, Order::Relevance, limits.files.unwrap_or(usize::MAX)),
            skipped: 0,
            cut: false,
        }
    }

    /// Adds a file with so many matches; returns false if a limit was reached before.
    pub(super) fn take(&mut self, file: FileMatch, matches: usize) -> bool {
        if self.matches > self.limits.total || self.best.bytes() > MAX_ANSWER_BYTES {
            self.cut = true;
            return false;
        }
        let of_repo = self.by_repo.entry(file.repo.clone()).or_default();
        if *of_repo >= self.limits.repo {
            self.skipped += 1;
            return true;
        }
        *of_repo += matches;
        self.matches += matches;
        self.files += 1;
        self.best.add(vec![file], |_, _| Vec::new());
        true
    }
}

/// Searches as `/api/search` does.
pub(super) async fn find(
    server: &Server,
    query: Query,
    options: Options,
) -> Result<SearchResult, Failure> {
    let begun = Instant::now();
    let said = query.settings.count;
    let mut request = compiled(query, options.beside()).await?;
    let waiting = Instant::now();
    let _turn = server.turn().await?;
    let wait = waiting.elapsed();
    let repos = server.view().repos().await?;
    let documents = estimate(&request, &repos);
    if options.estimate_doc_count {
        let stats = SearchStats { shard_files_considered: documents, ..SearchStats::default() };
        return Ok(SearchResult { stats, ..SearchResult::default() });
    }
    let limits = options.limits(documents);
    let mut result = if request.compiled_query().select == Select::Repos {
        whole_repos(server, request, limits, options).await?
    } else {
        request.limit = limit_or(said, limits.total.saturating_add(1));
        matching(server, request, limits, options, documents).await?
    };
    result.stats.duration = nanos(begun.elapsed().saturating_sub(wait));
    result.stats.wait = nanos(wait);
    if let Some(files) = &mut result.files {
        complete(server, files, options.whole).await?;
    }
    audit::told().results(result.files.iter().flatten().map(|file| file.repository.as_str()));
    let catalog = server.view().catalog().await?;
    let trees: HashMap<&str, &RepoTrees> =
        catalog.repos.values().map(|repo| (&*repo.name, &*repo.trees)).collect();
    let heads: HashMap<&str, Option<&str>> =
        repos.iter().map(|repo| (&*repo.name, repo.commit.as_deref())).collect();
    for file in result.files.iter_mut().flatten() {
        let head = heads.get(&*file.repository).copied().flatten();
        name_branches(file, head, trees.get(&*file.repository).copied());
    }
    for repo in &repos {
        if let Some(url) = result.repo_urls.get_mut(&repo.name) {
            *url = file_url(repo);
        }
        if let Some(fragment) = result.line_fragments.get_mut(&repo.name) {
            line_fragment(repo).clone_into(fragment);
        }
    }
    Ok(result)
}

/// Gives a file the names of its branches, and the commit of the first one: from the names of its trees, or those of a
/// repository with one tree, whose clone has the commit `head`.
fn name_branches(file: &mut FileResult, head: Option<&str>, trees: Option<&RepoTrees>) {
    if file.branches.is_empty() && head.is_some() {
        file.branches.push(MAIN_TREE.to_owned());
    }
    let commit = file.branches.first().and_then(|first| {
        let of = trees.and_then(|trees| trees.trees.iter().find(|tree| tree.name == *first));
        if first == MAIN_TREE { head } else { of.and_then(|tree| tree.commit.as_deref()) }
    });
    commit.unwrap_or_default().clone_into(&mut file.version);
    for name in file.branches.iter_mut().filter(|name| *name == MAIN_TREE) {
        HEAD.clone_into(name);
    }
}

/// Longest time to match patterns against names of repositories for the estimate.
const ESTIMATING: Duration = Duration::from_millis(200);

/// Returns the number of files in repositories that the query does not exclude. A pattern that takes too long excludes
/// none.
pub(super) fn estimate(request: &Request, repos: &[Repo]) -> usize {
    let compiled = request.compiled_query();
    let begun = Instant::now();
    let goes_on = || begun.elapsed() < ESTIMATING;
    let may_match = |repo: &&Repo| {
        let known = |atom| match atom {
            Predicate::Repo(_) | Predicate::Property(_) => {
                let holds = compiled.of_repo(atom, &repo.name, &repo.metadata.properties, &goes_on);
                holds.map(|holds| holds || !goes_on())
            }
            _ => None,
        };
        compiled.expr.eval(&known) != Some(false)
    };
    repos.iter().filter(may_match).map(|repo| repo.files as usize).sum()
}

/// Searches for files that match.
pub(super) async fn matching(
    server: &Server,
    request: Request,
    limits: MatchLimits,
    options: Options,
    documents: usize,
) -> Result<SearchResult, Failure> {
    let context = request.context.0;
    let compiled = request.compiled_query();
    let spanning = compiled.terms.iter().any(|term| term.matcher.spans_lines());
    // A search for files shows each file as if its name had matched.
    let names_only = compiled.select == Select::Files;
    let mut found = Collected::new(request.query(), limits);
    let stats = gather(server, request, |mut file| {
        if names_only {
            file.path_ranges.clear();
        }
        let matches = if options.chunk_matches {
            matches::spans(&file, spanning).len()
        } else {
            matches::count(&file)
        };
        found.take(file, matches)
    })
    .await?;
    let mut room = Room { matches: limits.matches, bytes: MAX_ANSWER_BYTES };
    let mut files = Vec::new();
    for (RankedFile { file, .. }, explained) in found.best.into_best(0, &Origins::default()) {
        // Zoekt's scores are positive.
        let points = explained.map_or(0.0, |explained| explained.parts.points());
        let score = f64::from(points).max(LEAST_SCORE);
        let (mut line_matches, mut chunk_matches) = (Vec::new(), Vec::new());
        if options.chunk_matches {
            chunk_matches = matches::chunks(&file, context, spanning, &mut room);
        } else {
            line_matches = matches::lines(&file, context, &mut room);
        }
        files.push(FileResult::new(file, line_matches, chunk_matches, score));
        if room.is_full() {
            break;
        }
    }
    found.cut |= room.bytes == 0;
    let mut counts = SearchStats::of(&stats);
    counts.file_count = found.files;
    counts.match_count = found.matches;
    counts.files_skipped = found.skipped + stats.symbols.files();
    let stopped = stats.stopped.as_ref();
    let is_cut = stopped.is_some_and(|stopped| !matches!(stopped, Stopped::Shards(_)));
    if found.cut || is_cut {
        counts.files_skipped += documents.saturating_sub(stats.shown().files_considered).max(1);
    }
    let names: BTreeMap<String, String> =
        found.by_repo.into_keys().map(|name| (name, String::new())).collect();
    Ok(SearchResult {
        stats: counts,
        files: Some(files).filter(|files| !files.is_empty()),
        line_fragments: names.clone(),
        repo_urls: names,
    })
}

/// Searches as `type:repo` does in Zoekt's search: returns all files of the matching repositories.
pub(super) async fn whole_repos(
    server: &Server,
    mut request: Request,
    limits: MatchLimits,
    options: Options,
) -> Result<SearchResult, Failure> {
    request.limit = None;
    let mut names = BTreeMap::new();
    let stats = gather(server, request, |file| {
        names.insert(file.repo, String::new());
        true
    })
    .await?;
    let tree = server.view().tree().await?;
    let repos = tree.repos().iter().filter(|repo| names.contains_key(&repo.name));
    let shown = limits.files.unwrap_or(usize::MAX).min(limits.matches.unwrap_or(usize::MAX));
    let mut counts = SearchStats::of(&stats);
    counts.crashes += usize::from(!tree.missing().is_empty() || tree.lacking(None).is_some());
    let mut files = Vec::new();
    for repo in repos {
        for (at, entry) in tree.files(repo).enumerate() {
            if at >= limits.repo || counts.file_count > limits.total {
                counts.files_skipped += 1;
                continue;
            }
            counts.file_count += 1;
            if files.len() < shown {
                let (mut line_matches, mut chunk_matches) = (Vec::new(), Vec::new());
                if options.chunk_matches {
                    let spans = matches::spans_of_path(entry.path, &[]);
                    chunk_matches.push(ChunkMatch::of_path(entry.path, spans));
                } else {
                    line_matches.push(LineMatch::of_path(entry.path, &[]));
                }
                files.push(FileResult {
                    branches: Vec::new(),
                    version: String::new(),
                    file_name: entry.path.to_owned(),
                    repository: repo.name.clone(),
                    language: entry.language.unwrap_or_default().to_owned(),
                    line_matches,
                    chunk_matches,
                    content: Base64::default(),
                    checksum: None,
                    score: 0.0,
                });
            }
        }
    }
    counts.match_count = counts.file_count;
    Ok(SearchResult {
        stats: counts,
        files: Some(files).filter(|files| !files.is_empty()),
        line_fragments: names.clone(),
        repo_urls: names,
    })
}

/// Adds the checksums of files, and with `whole` their contents.
pub(super) async fn complete(
    server: &Server,
    files: &mut [FileResult],
    whole: bool,
) -> Result<(), Failure> {
    let tree = server.view().tree().await?;
    let mut bytes = 0;
    for file in files {
        let contents = tree.contents(&file.repository, &file.file_name);
        file.checksum = contents.map(|contents| Base64(contents.to_vec()));
        if !whole {
            continue;
        }
        let document = browse::file_text(server.view(), &file.repository, &file.file_name).await?;
        file.content = Base64(document.map(|it| it.text.into_bytes()).unwrap_or_default());
        bytes += file.content.0.len();
        if bytes > MAX_ANSWER_BYTES {
            return Err(Failure::bad_request(format!(
                "these files exceed {MAX_ANSWER_BYTES} bytes together; ask for fewer with MaxDocDisplayCount"
            )));
        }
    }
    Ok(())
}
