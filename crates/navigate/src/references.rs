//! The places where a name occurs as a whole word, except its definitions.

use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use std::time::{Duration, Instant};

use query::{Case, Field, Pattern, Tree};
use store::{BlobId, ShardId, SymbolRow};
use symbols::{Label, labels};

use super::basis::Basis;
use super::label;
use super::near::Near;
use super::place::Error;
use super::precise::precise;
use super::request::{NameRequest, parts};
use super::request::{near_and_far, scope};
use answer::FileMatch;
use answer::symbol::{Symbol, Symbols};
use rank::path_penalty;
use search::{Missing, Stats, View};

/// Time for parsing the texts of an answer; after that, references are classified by their lines.
const PARSING: Duration = Duration::from_secs(1);

/// The references to a name.
#[derive(Debug)]
pub struct References {
    /// The name that was looked up.
    pub name: String,
    /// The SCIP symbols that the name means at the place, if an index has the place.
    pub symbols: Vec<String>,
    /// Files with precise references, then files with the same name, each sorted by nearness. Files that only mention
    /// the name come last. A file with references of both kinds appears twice.
    pub files: Vec<ReferenceFile>,
    /// Number of files that were found, shown or not.
    pub count: usize,
    /// Number of lines in them.
    pub lines: usize,
    /// Number of lines in each repository, the most first.
    pub repos: Vec<(String, usize)>,
    /// Statistics of the search, and whether it found everything.
    pub stats: Stats,
}

/// A file that uses a name.
#[derive(Clone, Debug)]
pub struct ReferenceFile {
    /// Name of its repository.
    pub repo: String,
    /// Path in it.
    pub path: String,
    /// Language, if it was recognised.
    pub language: Option<String>,
    /// How near it is to the request's place.
    pub near: Near,
    /// Whether its lines refer to the name's meaning, or only have the same name.
    pub basis: Basis,
    /// The lines, in order; those that only mention the name come last.
    pub lines: Vec<Reference>,
}

/// A line that uses a name.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Its number, from 1.
    pub line: u64,
    /// Its text, without the line feed.
    pub text: String,
    /// The names, as byte ranges of the line, each with its role.
    pub ranges: Vec<(Range<usize>, Label)>,
    /// The innermost symbol around it.
    pub enclosing: Option<Box<Symbol>>,
}

impl Reference {
    /// Returns the role of the name in the line: of several, the one that users most likely want.
    pub fn label(&self) -> Label {
        self.ranges.iter().map(|(_, label)| *label).min().unwrap_or(Label::Use)
    }
}

/// Returns the references to a name, those near the request's place first.
///
/// # Errors
/// The request is invalid, there is no file at its place, or the database cannot be asked.
pub fn references<'a>(
    view: &'a View,
    request: &'a NameRequest,
) -> BoxFuture<'a, Result<References, Error>> {
    Box::pin(async move {
        let scope = scope(view, request).await?;
        let name = scope.name(request)?;
        let (mut files, mut stats) =
            near_and_far(view, condition(&name)?, &scope, request.timeout).await?;
        let precise = precise(view, request, &scope, &stats).await?;
        precise.note(&mut stats);
        let places = precise.places();
        for file in &mut files {
            without_places(file, &places);
        }
        files.retain(|file| !file.lines.is_empty());
        let mut files: Vec<(Basis, FileMatch)> = precise
            .references
            .into_iter()
            .map(|file| (Basis::Precise, file))
            .chain(files.into_iter().map(|file| (Basis::Search, file)))
            .collect();
        let of_view = files.iter_mut().map(|(_, file)| file);
        let missing = view.add_enclosing(of_view.collect(), stats.switch).await?;
        stats.note_missing(missing);
        let rows = rows_of(view, &files, &mut stats).await?;
        for (basis, file) in &mut files {
            if *basis == Basis::Search {
                without_definitions(file, rows.get(&file.blob_key));
            }
        }
        files.retain(|(_, file)| !file.lines.is_empty());
        let (count, mut repos) = (files.len(), BTreeMap::new());
        for (_, file) in &files {
            *repos.entry(file.repo.clone()).or_insert(0) += file.lines.len();
        }
        let mut repos: Vec<(String, usize)> = repos.into_iter().collect();
        repos.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
        let near = |file: &FileMatch| scope.near(&file.repo, &file.path);
        files.sort_by_cached_key(|(basis, file)| {
            let path_penalty = (path_penalty(&file.path) * 100.0) as i64;
            (
                *basis,
                scope.near(&file.repo, &file.path),
                -path_penalty,
                std::cmp::Reverse(file.rank),
                file.repo.clone(),
                file.path.clone(),
            )
        });
        files.truncate(request.limit);
        let texts = texts_of(view, &files, &mut stats).await?;
        let lines = repos.iter().map(|(_, lines)| lines).sum();
        let files: Vec<((Basis, Near), FileMatch)> =
            files.into_iter().map(|(basis, file)| ((basis, near(&file)), file)).collect();
        // Parsers are C code, and this is no worker process: parse only texts that a worker has parsed within its limits.
        // Other references are classified by line.
        let parsed: HashSet<(ShardId, BlobId)> = rows.into_keys().collect();
        let work = tokio::task::spawn_blocking(move || {
            let begun = Instant::now();
            let labelled = |(how, file): ((Basis, Near), FileMatch)| {
                let may_parse = parsed.contains(&file.blob_key) && begun.elapsed() < PARSING;
                let text = texts.get(&file.blob_key).filter(|_| may_parse);
                labelled(how, text.map(String::as_str), file)
            };
            files.into_iter().map(labelled).collect::<Vec<ReferenceFile>>()
        });
        let mut files = work.await.expect("labelling does not panic");
        // The sort is stable: files that only mention the name move to the end.
        files.sort_by_key(|file| {
            let is_precise = file.basis == Basis::Precise;
            !is_precise && !file.lines.iter().any(|line| line.label().is_code())
        });
        let symbols = precise.symbols;
        Ok(References { name, symbols, files, count, lines, repos, stats })
    })
}

/// Returns the symbols of some files, as far as their shards can be read.
async fn rows_of(
    view: &View,
    files: &[(Basis, FileMatch)],
    stats: &mut Stats,
) -> Result<HashMap<(ShardId, BlobId), SymbolRow>, Error> {
    let catalog = view.state(stats.switch).await?;
    let mut by_shard: BTreeMap<ShardId, Vec<BlobId>> = BTreeMap::new();
    for (_, file) in files {
        by_shard.entry(file.blob_key.0).or_default().push(file.blob_key.1);
    }
    let (mut rows, mut missing) = (HashMap::new(), Missing::default());
    for (id, mut blobs) in by_shard {
        let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else { continue };
        blobs.sort_unstable();
        blobs.dedup();
        let read = view.symbols_of(shard, &blobs).await;
        for row in view.or_missing(shard, read, &mut missing)? {
            rows.insert((id, row.blob), row);
        }
    }
    stats.note_missing(missing);
    Ok(rows)
}

/// Returns the texts of some files, as far as their shards can be read.
async fn texts_of(
    view: &View,
    files: &[(Basis, FileMatch)],
    stats: &mut Stats,
) -> Result<HashMap<(ShardId, BlobId), String>, Error> {
    let catalog = view.state(stats.switch).await?;
    let mut by_shard: BTreeMap<ShardId, Vec<(BlobId, usize)>> = BTreeMap::new();
    for (_, file) in files {
        by_shard.entry(file.blob_key.0).or_default().push((file.blob_key.1, file.bytes));
    }
    let (mut texts, mut missing) = (HashMap::new(), Missing::default());
    for (id, blobs) in by_shard {
        let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else { continue };
        let read = view.texts(shard, &blobs).await;
        let found = view.or_missing(shard, read, &mut missing)?;
        texts.extend(found.into_iter().map(|(blob, text)| ((id, blob), text)));
    }
    stats.note_missing(missing);
    Ok(texts)
}

/// Returns the condition that a file contains a name as a whole word.
fn condition(name: &str) -> Result<Tree, Error> {
    let name = parts(name)?.pop().unwrap_or_default();
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let edge = |c| if is_word(c) { r"\b" } else { "" };
    let (first, last) = (edge(name.chars().next()), edge(name.chars().next_back()));
    let source = format!("{first}{}{last}", query::escape(name));
    Ok(Tree::term(Field::Content, Pattern::parse(&source, Case::Sensitive, false)?))
}

/// Drops the matches that are definitions, and lines without other matches.
fn without_definitions(file: &mut FileMatch, row: Option<&SymbolRow>) {
    let Some(row) = row else { return };
    let symbols = Symbols::of(row);
    for line in &mut file.lines {
        let offset = line.offset;
        line.ranges.retain(|range| {
            let start = offset as i64 + range.start as i64;
            let at = row.starts.binary_search_by_key(&start, |start| i64::from(*start));
            !at.is_ok_and(|at| symbols.defines(at) && symbols.name(at).len() == range.len())
        });
    }
    file.lines.retain(|line| !line.ranges.is_empty());
}

/// Drops the matches that a SCIP index covers, and lines without other matches.
fn without_places(file: &mut FileMatch, places: &HashSet<(String, String, u64)>) {
    if places.is_empty() {
        return;
    }
    let (repo, path) = (&file.repo, &file.path);
    for line in &mut file.lines {
        let offset = line.offset;
        line.ranges.retain(|range| {
            !places.contains(&(repo.clone(), path.clone(), offset + range.start as u64))
        });
    }
    file.lines.retain(|line| !line.ranges.is_empty());
}

/// Determines the role of each match.
fn labelled((basis, near): (Basis, Near), text: Option<&str>, file: FileMatch) -> ReferenceFile {
    let places: Vec<Range<usize>> = file
        .lines
        .iter()
        .flat_map(|line| {
            let offset = line.offset as usize;
            line.ranges.iter().map(move |range| offset + range.start..offset + range.end)
        })
        .collect();
    let language = file.language.as_deref().map(str::to_lowercase);
    let parsed = text.and_then(|text| labels(&language?, text, &places));
    let mut parsed = parsed.map(Vec::into_iter);
    let mut lines: Vec<Reference> = file
        .lines
        .into_iter()
        .map(|line| {
            let label = |range: Range<usize>| {
                let known = parsed.as_mut().and_then(Iterator::next);
                let label = known.unwrap_or_else(|| label::by_line(&line.text, &range));
                (range, label)
            };
            let ranges = line.ranges.into_iter().map(label).collect();
            Reference { line: line.number, ranges, enclosing: line.enclosing, text: line.text }
        })
        .collect();
    lines.sort_by_key(|line| !line.label().is_code());
    ReferenceFile { repo: file.repo, path: file.path, language: file.language, near, basis, lines }
}
