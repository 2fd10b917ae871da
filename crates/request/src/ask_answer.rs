//! The answer to a question as JSON, and what it tells people.

use answer::symbol::Symbol;
use answer::{FileMatch, Line};
use search::ask::{Asked, AskedFile, AskedWord};
use search::{Stale, Stats, Stopped};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::fresh::{self, OldestJson};
use crate::human::{count, grouped};
use crate::json::{milliseconds, pairs};
use crate::notes::MissingJson;
use crate::stale::utc;

/// Copies of a file that are listed.
const COPIES: usize = 10;

/// Words that a sentence names.
const NAMED: usize = 5;

/// An answer as JSON: on a terminal, over HTTP, and for agents.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    query: &'a str,
    words: Vec<WordJson<'a>>,
    files: Vec<FileJson<'a>>,
    stats: StatsJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<Value>,
}

#[derive(Debug, Serialize)]
struct WordJson<'a> {
    word: &'a str,
    chunks: usize,
    tells: bool,
}

#[derive(Debug, Serialize)]
struct FileJson<'a> {
    repo: &'a str,
    path: &'a str,
    language: Option<&'a str>,
    path_ranges: Vec<(usize, usize)>,
    matches: Vec<LineJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    trees: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<CopyJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies_total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<ScoreJson>,
}

#[derive(Debug, Serialize)]
struct LineJson<'a> {
    line: u64,
    text: &'a str,
    ranges: Vec<(usize, usize)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    symbols: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enclosing: Option<Value>,
}

#[derive(Debug, Serialize)]
struct CopyJson<'a> {
    repo: &'a str,
    path: &'a str,
}

#[derive(Debug, Serialize)]
struct ScoreJson {
    points: f64,
    parts: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct StatsJson {
    duration_ms: f64,
    files: usize,
    matched: usize,
    matched_all: usize,
    shards: usize,
    complete: bool,
    stopped_because: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<OldestJson>,
}

impl<'a> Answer<'a> {
    /// Makes the answer to a question. With `explains`, each file has its score and the parts of it.
    pub fn of(question: &'a str, asked: &'a Asked, explains: bool) -> Self {
        let word =
            |of: &'a AskedWord| WordJson { word: &of.text, chunks: of.chunks, tells: of.tells };
        let stats = &asked.stats;
        Self {
            query: question,
            words: asked.words.iter().map(word).collect(),
            files: asked.files.iter().map(|one| FileJson::of(one, explains)).collect(),
            stats: StatsJson {
                duration_ms: milliseconds(stats.duration),
                files: stats.files,
                matched: asked.matched,
                matched_all: asked.matched_all,
                shards: stats.shards,
                complete: is_complete(asked),
                stopped_because: stopped(asked).map(|(word, _)| word),
                missing: MissingJson::of(&stats.shown_missing()),
                notes: notes(asked),
                oldest: OldestJson::of(&stats.covered),
            },
            stale: stale(&asked.stale),
        }
    }
}

impl<'a> FileJson<'a> {
    fn of(one: &'a AskedFile, explains: bool) -> Self {
        let FileMatch { repo, path, language, path_ranges, lines, trees, copies, .. } = &one.file;
        let score = || ScoreJson {
            points: rounded(one.points),
            parts: one
                .parts
                .iter()
                .map(|(name, of)| ((*name).to_owned(), json!(rounded(*of))))
                .collect(),
        };
        Self {
            repo,
            path,
            language: language.as_deref(),
            path_ranges: pairs(path_ranges),
            matches: lines.iter().map(LineJson::of).collect(),
            trees,
            copies: copies
                .iter()
                .take(COPIES)
                .map(|copy| CopyJson { repo: &copy.repo, path: &copy.path })
                .collect(),
            copies_total: (!copies.is_empty()).then_some(copies.len()),
            score: explains.then(score),
        }
    }
}

impl<'a> LineJson<'a> {
    fn of(line: &'a Line) -> Self {
        let symbols = line.symbols.iter().map(|found| {
            let mut told = symbol(&found.symbol);
            told["start"] = found.range.start.into();
            told["end"] = found.range.end.into();
            told
        });
        Self {
            line: line.number,
            text: &line.text,
            ranges: pairs(&line.ranges),
            symbols: symbols.collect(),
            enclosing: line.enclosing.as_deref().map(symbol),
        }
    }
}

fn symbol(symbol: &Symbol) -> Value {
    let container = symbol.container.as_ref().map(|(name, _)| name);
    json!({ "name": symbol.name, "kind": symbol.kind, "container": container, "line": symbol.line })
}

/// Rounds to three digits after the point.
fn rounded(points: f32) -> f64 {
    // Without the sign of a zero.
    (f64::from(points) * 1000.0).round() / 1000.0 + 0.0
}

fn stale(stale: &Stale) -> Option<Value> {
    let since = stale.repos.iter().map(|repo| repo.since).min()?;
    let files: usize = stale.repos.iter().map(|repo| repo.changed.len()).sum();
    let deleted: usize = stale.repos.iter().map(|repo| repo.deleted.len()).sum();
    let repos: Vec<&str> = stale.repos.iter().map(|repo| repo.name.as_str()).collect();
    Some(json!({ "files": files, "deleted": deleted, "since": utc(since), "repos": repos }))
}

/// Returns the parts of a file's score in a line: `12.3 = text 8.1 + name 4.2`.
pub fn score(one: &AskedFile) -> String {
    let part = |(name, of): &(&str, f32)| format!("{name} {of:.2}");
    let parts: Vec<String> = one.parts.iter().filter(|(_, of)| *of != 0.0).map(part).collect();
    format!("{:.3}: {}", one.points, parts.join(", "))
}

/// Returns how many files an answer is about: `about 1,234 files have some of these words, 5 of them all`.
pub fn summary(asked: &Asked) -> String {
    let about = if asked.matched > asked.files.len() { "about " } else { "" };
    let have = if asked.matched == 1 { "has" } else { "have" };
    let some = format!("{about}{} {have} some of these words", count(asked.matched, "file"));
    match asked.matched_all {
        0 => some,
        all => format!("{some}, {} all", grouped(all)),
    }
}

/// Returns whether an answer has all files.
pub fn is_complete(asked: &Asked) -> bool {
    asked.stats.stopped.is_none() && asked.unindexed == 0
}

/// Returns why an answer is incomplete: a code for programs, and a sentence for people.
pub fn stopped(asked: &Asked) -> Option<(&'static str, String)> {
    let told = match &asked.stats.stopped {
        Some(Stopped::Limit) => {
            let shown = count(asked.stats.files, "file");
            ("limit", format!("the best {shown} of about {}", grouped(asked.matched)))
        }
        Some(Stopped::Timeout(timeout)) => {
            ("timeout", format!("timed out after {timeout:?}; there may be better files"))
        }
        Some(Stopped::Shards(why)) => {
            let (missing, covered) = (asked.stats.shown_missing(), &asked.stats.covered);
            ("shard_error", crate::notes::unsearched_shards(&missing, covered, why))
        }
        Some(Stopped::Revision(why)) => ("revision", why.clone()),
        None if asked.unindexed > 0 => ("unindexed", unindexed(asked)),
        None => return None,
    };
    Some(told)
}

fn unindexed(asked: &Asked) -> String {
    let files = count(asked.unindexed, "file");
    format!("the words of {files} are not indexed yet; run: codesearch ingest")
}

/// Returns sentences without a full stop about what an answer lacks, besides why it is incomplete.
pub fn notes(asked: &Asked) -> Vec<String> {
    let mut notes = asked.stats.notes.clone();
    if asked.is_cut {
        notes.push("the question has many words; only the first 64 count".to_owned());
    }
    if asked.unindexed > 0 && asked.stats.stopped.is_some() {
        notes.push(unindexed(asked));
    }
    // After a timeout, words may be where nobody looked.
    let is_known = matches!(asked.stats.stopped, None | Some(Stopped::Limit));
    let nowhere: Vec<&str> = asked
        .words
        .iter()
        .filter(|word| is_known && asked.unindexed == 0 && word.chunks == 0)
        .map(|word| word.text.as_str())
        .take(NAMED)
        .collect();
    if !nowhere.is_empty() {
        notes.push(format!("no text has: {}", nowhere.join(", ")));
    }
    notes.extend(fresh::outdated(&asked.stats.covered));
    notes
}

/// Returns whether an answer failed, rather than being complete or limited.
pub fn has_failed(stats: &Stats) -> bool {
    matches!(stats.stopped, Some(Stopped::Timeout(_) | Stopped::Shards(_) | Stopped::Revision(_)))
}
