//! Zoekt's JSON: `POST /api/search` and `POST /api/list` are here, what its pages answer is in [`web`].
//!
//! Names of fields, what counts from where, defaults and status codes are Zoekt's; `docs/protocols.md`
//! says what is not.

mod lines;
mod web;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::search::{FileMatch, Request, Stats, Stopped, score};
use query::{Atom, Case, Count, Defaults, Pattern, Place, Query, Select, Tree};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Repo;

use super::Server;
use super::ask::MAX_CONTEXT;
use super::error::{Body, Failure};
use super::gather::{MAX_ANSWER_BYTES, compiled, gather};
use lines::{Base64, ChunkMatch, LineMatch};
pub(crate) use web::answer_web;

/// How long a search may take that does not say so; Zoekt's default.
const MAX_WALL_TIME: Duration = Duration::from_secs(20);

/// Matches in a repository, unless the options say otherwise; Zoekt's default for a shard.
const MAX_REPO_MATCHES: usize = 100_000;

/// Up to so many files, a search that shows only some of them looks at practically all matches.
const SMALL_CORPUS: usize = 10_000;

/// What `/api/search` is asked. Names are in small letters here, see [`read`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchArgs {
    q: String,
    #[serde(rename = "repoids")]
    repo_ids: Option<Value>,
    opts: Options,
}

/// Zoekt's options, as far as they mean something here. Zero is the same as nothing.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Options {
    #[serde(rename = "estimatedoccount")]
    estimate_doc_count: bool,
    whole: bool,
    #[serde(rename = "shardmaxmatchcount")]
    shard_max_match_count: i64,
    #[serde(rename = "totalmaxmatchcount")]
    total_max_match_count: i64,
    #[serde(rename = "shardrepomaxmatchcount")]
    shard_repo_max_match_count: i64,
    /// Nanoseconds.
    #[serde(rename = "maxwalltime")]
    max_wall_time: i64,
    #[serde(rename = "maxdocdisplaycount")]
    max_doc_display_count: i64,
    #[serde(rename = "maxmatchdisplaycount")]
    max_match_display_count: i64,
    #[serde(rename = "numcontextlines")]
    num_context_lines: i64,
    #[serde(rename = "chunkmatches")]
    chunk_matches: bool,
}

/// What `/api/list` is asked.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListArgs {
    q: String,
    opts: ListOptions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListOptions {
    field: i64,
}

/// An answer to a search, as it is sent.
#[derive(Debug, Default, Serialize)]
struct SearchResult {
    #[serde(flatten)]
    stats: Counts,
    #[serde(rename = "Files")]
    files: Option<Vec<File>>,
    #[serde(rename = "RepoURLs")]
    repo_urls: BTreeMap<String, String>,
    #[serde(rename = "LineFragments")]
    line_fragments: BTreeMap<String, String>,
}

/// What a search did. Times are in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Counts {
    content_bytes_loaded: usize,
    index_bytes_loaded: usize,
    crashes: usize,
    duration: u64,
    file_count: usize,
    shard_files_considered: usize,
    files_considered: usize,
    files_loaded: usize,
    files_skipped: usize,
    shards_scanned: usize,
    shards_skipped: usize,
    shards_skipped_filter: usize,
    match_count: usize,
    ngram_matches: usize,
    ngram_lookups: usize,
    wait: u64,
    match_tree_construction: u64,
    match_tree_search: u64,
    regexps_considered: usize,
    flush_reason: u8,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    file_name: String,
    repository: String,
    language: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    line_matches: Vec<LineMatch>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chunk_matches: Vec<ChunkMatch>,
    #[serde(skip_serializing_if = "Base64::is_empty")]
    content: Base64,
    /// Eight bytes that files with the same contents have in common.
    checksum: Option<Base64>,
    #[serde(skip_serializing_if = "is_zero")]
    score: f32,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct RepoStats {
    repos: usize,
    shards: usize,
    documents: i64,
    index_bytes: i64,
    content_bytes: i64,
    new_lines_count: u64,
    default_branch_new_lines_count: u64,
    other_branches_new_lines_count: u64,
}

/// A repository that is listed.
#[derive(Debug)]
struct Listed {
    repo: Repo,
    stats: RepoStats,
}

/// `POST /api/search`.
pub(crate) async fn search(
    State(server): State<Server>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let answer = async {
        let args: SearchArgs = read(body)?;
        if args.q.is_empty() {
            return Err(Failure::bad_request("give a query in Q"));
        }
        if args.repo_ids.is_some() {
            return Err(Failure::bad_request(
                "repositories have no numbers here: leave out RepoIDs, and name repositories in Q with repo:",
            ));
        }
        find(&server, parse(&args.q)?, args.opts).await
    };
    match answer.await {
        Ok(result) => Json(json!({ "Result": result })).into_response(),
        Err(failure) => refused(&failure),
    }
}

/// `POST /api/list`.
pub(crate) async fn list(
    State(server): State<Server>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let answer = async {
        let args: ListArgs = read(body)?;
        let query = parse(&args.q)?;
        // 2 asks for a map by numbers; Zoekt lists repositories without a number all the same.
        if !matches!(args.opts.field, 0 | 2) {
            return Err(internal(format!("Field {}: use 0 or 2", args.opts.field)));
        }
        listed(&server, query).await
    };
    match answer.await {
        Ok(repos) => {
            let stats = total(&repos);
            let repos: Vec<Value> = repos.iter().map(entry).collect();
            let list = json!({ "Repos": repos, "ReposMap": {}, "Crashes": 0, "Stats": stats });
            Json(json!({ "List": list })).into_response()
        }
        Err(failure) => refused(&failure),
    }
}

/// Any method but POST.
pub(crate) async fn only_post() -> Response {
    let mut failure = Failure::method_not_allowed();
    "use POST".clone_into(&mut failure.body.message);
    refused(&failure)
}

/// An error as Zoekt sends it.
pub(crate) fn refused(failure: &Failure) -> Response {
    (failure.status, Json(json!({ "Error": failure.body.message }))).into_response()
}

fn internal(message: String) -> Failure {
    let body = Body { code: "internal", message, position: None };
    Failure { status: StatusCode::INTERNAL_SERVER_ERROR, body }
}

/// Reads arguments the way Go does: names in any case, null is as good as nothing, and what follows the
/// first value is left alone.
fn read<T: DeserializeOwned + Default>(body: Result<Bytes, BytesRejection>) -> Result<T, Failure> {
    let wrong = |why: String| Failure::bad_request(format!("the body cannot be read: {why}"));
    let body = body.map_err(|error| wrong(error.body_text()))?;
    let mut values = serde_json::Deserializer::from_slice(&body).into_iter::<Value>();
    let value = values.next().ok_or_else(|| wrong("it is empty; send a JSON object".to_owned()))?;
    match plain(value.map_err(|error| wrong(error.to_string()))?) {
        Value::Null => Ok(T::default()),
        value => serde_json::from_value(value).map_err(|error| wrong(error.to_string())),
    }
}

fn plain(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(fields.map(|(name, value)| (name.to_lowercase(), plain(value))).collect())
}

/// A query as Zoekt would understand it: what can match a line feed does, and nothing is everything.
fn parse(text: &str) -> Result<Query, Failure> {
    if text.trim().is_empty() {
        let mut query = Query::of(Place::Path, Pattern::literal("", Case::Smart)?);
        query.tree = Tree::All(Vec::new());
        return Ok(query);
    }
    Ok(Query::parse(text, Defaults { case: Case::Smart, multiline: true })?)
}

/// How much of an answer is wanted.
#[derive(Clone, Copy, Debug)]
struct Caps {
    /// Matches in one repository: what is left over of it is skipped.
    repo: usize,
    /// Matches in all: the search ends.
    total: usize,
    /// Files that are shown.
    files: Option<usize>,
    /// Matches that are shown.
    matches: Option<usize>,
}

fn positive(number: i64) -> Option<usize> {
    usize::try_from(number).ok().filter(|number| *number > 0)
}

impl Options {
    /// The caps for a search of so many files. Those that are not given follow from those that are, as
    /// in Zoekt.
    fn caps(&self, documents: usize) -> Caps {
        let files = positive(self.max_doc_display_count);
        let mut shard = positive(self.shard_max_match_count);
        let mut total = positive(self.total_max_match_count);
        if let (Some(files), None) = (files, shard) {
            if documents > SMALL_CORPUS {
                let some = files.saturating_mul(5);
                shard = Some(some.saturating_add(some / (documents / 1000)));
            } else {
                shard = Some(files.saturating_mul(100).saturating_add(documents));
                total = shard;
            }
        }
        let shard = shard.unwrap_or(MAX_REPO_MATCHES);
        Caps {
            repo: positive(self.shard_repo_max_match_count).map_or(shard, |repo| repo.min(shard)),
            total: total.unwrap_or(shard.saturating_mul(10)),
            files,
            matches: positive(self.max_match_display_count),
        }
    }

    fn context(&self) -> usize {
        positive(self.num_context_lines).map_or(0, |lines| lines.min(MAX_CONTEXT))
    }

    fn timeout(&self) -> Duration {
        match self.max_wall_time {
            0 => MAX_WALL_TIME,
            nanos => Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)),
        }
    }
}

/// What was found of a search so far.
#[derive(Debug)]
struct Tally {
    caps: Caps,
    files: usize,
    matches: usize,
    by_repo: HashMap<String, usize>,
    /// The best files and their scores.
    kept: Vec<(f32, FileMatch)>,
    bytes: usize,
    skipped: usize,
    /// Not everything was looked at.
    cut: bool,
}

impl Tally {
    fn new(caps: Caps) -> Self {
        let (by_repo, kept) = (HashMap::new(), Vec::new());
        Self { caps, files: 0, matches: 0, by_repo, kept, bytes: 0, skipped: 0, cut: false }
    }

    /// Takes a file with so many matches; false if it is one too many.
    fn take(&mut self, file: FileMatch, matches: usize) -> bool {
        if self.matches > self.caps.total || self.bytes > MAX_ANSWER_BYTES {
            self.cut = true;
            return false;
        }
        let of_repo = self.by_repo.entry(file.repo.clone()).or_default();
        if *of_repo >= self.caps.repo {
            self.skipped += 1;
            return true;
        }
        *of_repo += matches;
        self.matches += matches;
        self.files += 1;
        self.bytes += file.size();
        self.kept.push((score(&file), file));
        if self.caps.files.is_some_and(|most| self.kept.len() >= most.saturating_mul(2).max(1000)) {
            self.sort();
        }
        true
    }

    /// Puts the best first, and lets go of those that are not shown.
    fn sort(&mut self) {
        self.kept.sort_by(|(a, x), (b, y)| {
            b.total_cmp(a).then_with(|| (&x.repo, &x.path).cmp(&(&y.repo, &y.path)))
        });
        self.kept.truncate(self.caps.files.unwrap_or(usize::MAX));
        self.bytes = self.kept.iter().map(|(_, file)| file.size()).sum();
    }
}

/// Searches as `/api/search` does.
async fn find(server: &Server, query: Query, options: Options) -> Result<SearchResult, Failure> {
    let begun = Instant::now();
    let _turn = server.turn().await?;
    let wait = begun.elapsed();
    let repos = server.searcher.store().repos().await?;
    let (count, timeout) = (query.count, query.timeout);
    let mut request = compiled(query).await?;
    let documents = estimate(&request, &repos);
    if options.estimate_doc_count {
        let stats = Counts { shard_files_considered: documents, ..Counts::default() };
        return Ok(SearchResult { stats, ..SearchResult::default() });
    }
    let caps = options.caps(documents);
    // What the query itself says goes before what is said beside it.
    request.timeout = timeout.or(Some(options.timeout()));
    let mut result = if request.program().select == Select::Repos {
        whole_repos(server, request, caps, options).await?
    } else {
        request.context = (options.context(), options.context());
        request.limit = match count {
            None => Some(caps.total.saturating_add(1)),
            Some(Count::All) => None,
            Some(Count::Most(most)) => Some(most),
        };
        matching(server, request, caps, options, documents).await?
    };
    result.stats.duration = nanos(begun.elapsed().saturating_sub(wait));
    result.stats.wait = nanos(wait);
    if let Some(files) = &mut result.files {
        complete(server, files, options.whole).await?;
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

/// How many files are in repositories that the query does not rule out.
fn estimate(request: &Request, repos: &[Repo]) -> usize {
    let program = request.program();
    let may_match = |repo: &&Repo| {
        let known = |atom| match atom {
            Atom::Repo(term) => Some(program.terms[term].matcher.is_match(&repo.name)),
            _ => None,
        };
        program.expr.eval(&known) != Some(false)
    };
    repos.iter().filter(may_match).map(|repo| repo.files as usize).sum()
}

/// The files that match.
async fn matching(
    server: &Server,
    request: Request,
    caps: Caps,
    options: Options,
    documents: usize,
) -> Result<SearchResult, Failure> {
    let program = request.program();
    let spanning = program.terms.iter().any(|term| term.matcher.spans_lines());
    // A search for files is shown as if each was asked for by its name.
    let names_only = program.select == Select::Files;
    let mut tally = Tally::new(caps);
    let stats = gather(server, request, |mut file| {
        if names_only {
            file.path_ranges.clear();
        }
        let matches = if options.chunk_matches {
            lines::spans(&file, spanning).len()
        } else {
            lines::count(&file)
        };
        tally.take(file, matches)
    })
    .await?;
    tally.sort();
    let mut left = caps.matches;
    let mut files = Vec::with_capacity(tally.kept.len());
    for (score, file) in tally.kept {
        let (mut line_matches, mut chunk_matches) = (Vec::new(), Vec::new());
        if options.chunk_matches {
            chunk_matches = lines::chunks(&file, options.context(), spanning, &mut left);
        } else {
            line_matches = lines::lines(&file, options.context(), &mut left);
        }
        files.push(File::new(file, line_matches, chunk_matches, score));
        if left == Some(0) {
            break;
        }
    }
    let mut counts = Counts::of(&stats);
    counts.file_count = tally.files;
    counts.match_count = tally.matches;
    counts.files_skipped = tally.skipped;
    if tally.cut || matches!(stats.stopped, Some(Stopped::Limit | Stopped::Timeout(_))) {
        counts.files_skipped += documents.saturating_sub(stats.files_considered).max(1);
    }
    let names: BTreeMap<String, String> =
        tally.by_repo.into_keys().map(|name| (name, String::new())).collect();
    Ok(SearchResult {
        stats: counts,
        files: Some(files).filter(|files| !files.is_empty()),
        line_fragments: names.clone(),
        repo_urls: names,
    })
}

/// What `type:repo` is in Zoekt's search: all files of the repositories in which something matches.
async fn whole_repos(
    server: &Server,
    mut request: Request,
    caps: Caps,
    options: Options,
) -> Result<SearchResult, Failure> {
    request.limit = None;
    let mut names = BTreeMap::new();
    let stats = gather(server, request, |file| {
        names.insert(file.repo, String::new());
        true
    })
    .await?;
    let tree = server.searcher.tree().await?;
    let repos = tree.repos().iter().filter(|repo| names.contains_key(&repo.name));
    let shown = caps.files.unwrap_or(usize::MAX).min(caps.matches.unwrap_or(usize::MAX));
    let mut counts = Counts::of(&stats);
    let mut files = Vec::new();
    for repo in repos {
        for (at, entry) in tree.files(repo).enumerate() {
            if at >= caps.repo || counts.file_count > caps.total {
                counts.files_skipped += 1;
                continue;
            }
            counts.file_count += 1;
            if files.len() < shown {
                let (mut line_matches, mut chunk_matches) = (Vec::new(), Vec::new());
                if options.chunk_matches {
                    let spans = lines::spans_of_path(entry.path, &[]);
                    chunk_matches.push(ChunkMatch::of_path(entry.path, spans));
                } else {
                    line_matches.push(LineMatch::of_path(entry.path, &[]));
                }
                files.push(File {
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

/// Adds to files what is known of their contents.
async fn complete(server: &Server, files: &mut [File], whole: bool) -> Result<(), Failure> {
    let tree = server.searcher.tree().await?;
    let mut bytes = 0;
    for file in files {
        let contents = tree.contents(&file.repository, &file.file_name);
        file.checksum = contents.map(|contents| Base64(contents.to_vec()));
        if !whole {
            continue;
        }
        let document = server.searcher.document(&file.repository, &file.file_name).await?;
        file.content = Base64(document.map(|it| it.text.into_bytes()).unwrap_or_default());
        bytes += file.content.0.len();
        if bytes > MAX_ANSWER_BYTES {
            return Err(Failure::bad_request(format!(
                "these files are longer than {MAX_ANSWER_BYTES} bytes together; ask for fewer with MaxDocDisplayCount"
            )));
        }
    }
    Ok(())
}

/// The repositories in which something matches, by name.
async fn listed(server: &Server, mut query: Query) -> Result<Vec<Listed>, Failure> {
    let _turn = server.turn().await?;
    let repos = server.searcher.store().repos().await?;
    let everything = matches!(&query.tree, Tree::All(parts) if parts.is_empty());
    let mut names = BTreeSet::new();
    if !everything {
        query.select = Select::Repos;
        let mut request = compiled(query).await?;
        request.limit = None;
        request.timeout = Some(MAX_WALL_TIME);
        let stats = gather(server, request, |file| names.insert(file.repo)).await?;
        if stats.stopped.is_some() {
            return Err(internal(
                "the list is not complete: the search took too long or broke off; ask for less"
                    .to_owned(),
            ));
        }
    }
    let catalog = server.searcher.catalog().await?;
    let listed = repos.into_iter().filter(|repo| everything || names.contains(&repo.name));
    let listed = listed.map(|repo| {
        let stats = RepoStats {
            shards: catalog.repos.get(&repo.id).map_or(0, |repo| repo.shards.len()),
            documents: repo.files,
            content_bytes: repo.bytes,
            ..RepoStats::default()
        };
        Listed { repo, stats }
    });
    Ok(listed.collect())
}

/// What there is of all of them together.
fn total(repos: &[Listed]) -> RepoStats {
    let mut total = RepoStats { repos: repos.len(), ..RepoStats::default() };
    for Listed { stats, .. } in repos {
        total.shards += stats.shards;
        total.documents += stats.documents;
        total.content_bytes += stats.content_bytes;
    }
    total
}

/// A repository as `/api/list` tells it. What nobody knows here is as empty as Zoekt would leave it.
fn entry(Listed { repo, stats }: &Listed) -> Value {
    json!({
        "Repository": {
            "TenantID": 0,
            "ID": 0,
            "Name": repo.name,
            "URL": "",
            "Metadata": null,
            "Source": "",
            "Branches": null,
            "SubRepoMap": {},
            "CommitURLTemplate": "",
            "FileURLTemplate": file_url(repo),
            "LineFragmentTemplate": line_fragment(repo),
            "RawConfig": null,
            "Rank": 0,
            "IndexOptions": "",
            "HasSymbols": false,
            "Tombstone": false,
            "LatestCommitDate": "0001-01-01T00:00:00Z",
        },
        "IndexMetadata": {
            "IndexFormatVersion": 0,
            "IndexFeatureVersion": 0,
            "IndexMinReaderVersion": 0,
            "IndexTime": indexed_at(repo),
            "PlainASCII": false,
            "LanguageMap": {},
            "ZoektVersion": "",
            "ID": "",
        },
        "Stats": stats,
    })
}

/// Where files can be read on the web, as a template; empty if nobody knows.
fn file_url(repo: &Repo) -> String {
    repo.web.as_ref().map_or_else(String::new, |web| format!("{web}{{{{.Path}}}}"))
}

/// What stands behind the address of a file to name a line of it.
fn line_fragment(repo: &Repo) -> &'static str {
    repo.web.as_ref().map_or("", |_| "#L{{.LineNumber}}")
}

/// When a repository was read, as JSON from Go has it.
fn indexed_at(repo: &Repo) -> String {
    repo.indexed_at.replace(' ', "T")
}

impl Counts {
    fn of(stats: &Stats) -> Self {
        Self {
            content_bytes_loaded: stats.bytes,
            crashes: usize::from(matches!(stats.stopped, Some(Stopped::Shards(_)))),
            files_considered: stats.files_considered,
            files_loaded: stats.rechecks,
            shards_scanned: stats.shards_searched,
            shards_skipped: stats.shards - stats.shards_pruned - stats.shards_searched,
            shards_skipped_filter: stats.shards_pruned,
            ngram_matches: stats.candidates,
            match_tree_construction: nanos(stats.phases.lookup),
            match_tree_search: nanos(stats.phases.verify),
            ..Self::default()
        }
    }
}

impl File {
    fn new(
        file: FileMatch,
        line_matches: Vec<LineMatch>,
        chunk_matches: Vec<ChunkMatch>,
        score: f32,
    ) -> Self {
        Self {
            file_name: file.path,
            repository: file.repo,
            language: file.language.unwrap_or_default(),
            line_matches,
            chunk_matches,
            content: Base64::default(),
            checksum: None,
            score,
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(score: &f32) -> bool {
    *score == 0.0
}
