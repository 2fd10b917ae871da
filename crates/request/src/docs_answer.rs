//! The answer to a search for documents as JSON, and why it is incomplete.

use std::ops::Range;

use search::docs::{Doc, DocKind, Docs, DocsStopped, TextRun};
use serde::Serialize;

use crate::fresh::{self, OldestJson};
use crate::json::{milliseconds, pairs};
use crate::notes::{self, MissingJson};

/// An answer as JSON, on a terminal and over HTTP.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    query: &'a str,
    /// Unsupported fields of the query.
    ignored: &'a [String],
    docs: Vec<DocJson<'a>>,
    stats: StatsJson,
}

#[derive(Debug, Serialize)]
struct DocJson<'a> {
    repo: &'a str,
    path: &'a str,
    language: Option<&'a str>,
    kind: &'static str,
    title: String,
    /// Byte ranges in `title` that match.
    title_ranges: Vec<(usize, usize)>,
    snippet: String,
    /// Byte ranges in `snippet` that match.
    snippet_ranges: Vec<(usize, usize)>,
    rank: f32,
    /// The number of other files with the same contents.
    same: usize,
}

#[derive(Debug, Serialize)]
struct StatsJson {
    duration_ms: f64,
    ranking_ms: f64,
    docs: usize,
    matched: usize,
    ranked: usize,
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
    /// Makes the answer for the documents found. `ignored` lists the terms that do not apply to documents.
    pub fn of(query: &'a str, ignored: &'a [String], found: &'a Docs) -> Self {
        Self {
            query,
            ignored,
            docs: found.docs.iter().map(DocJson::of).collect(),
            stats: StatsJson {
                duration_ms: milliseconds(found.duration),
                ranking_ms: milliseconds(found.ranking),
                docs: found.docs.len(),
                matched: found.matched,
                ranked: found.ranked,
                shards: found.shards,
                complete: found.stopped.is_none(),
                stopped_because: stopped(found).map(|(word, _)| word),
                missing: MissingJson::of(&found.missing),
                notes: fresh::outdated(&found.covered).into_iter().collect(),
                oldest: OldestJson::of(&found.covered),
            },
        }
    }
}

impl<'a> DocJson<'a> {
    fn of(doc: &'a Doc) -> Self {
        let (title, title_ranges) = joined(&doc.title);
        let (snippet, snippet_ranges) = joined(&doc.snippet);
        Self {
            repo: &doc.repo,
            path: &doc.path,
            language: doc.language.as_deref(),
            kind: match doc.kind {
                DocKind::File => "document",
                DocKind::Comment => "comment",
            },
            title,
            title_ranges: pairs(&title_ranges),
            snippet,
            snippet_ranges: pairs(&snippet_ranges),
            rank: doc.rank,
            same: doc.same,
        }
    }
}

/// Joins pieces to one text, and returns the ranges that match.
fn joined(pieces: &[TextRun]) -> (String, Vec<Range<usize>>) {
    let mut text = String::new();
    let mut ranges = Vec::new();
    for piece in pieces {
        let from = text.len();
        text.push_str(&piece.text);
        if piece.hit {
            ranges.push(from..text.len());
        }
    }
    (text, ranges)
}

/// Returns why an answer is incomplete: a code for programs, and a sentence for people.
pub fn stopped(found: &Docs) -> Option<(&'static str, String)> {
    Some(match found.stopped.as_ref()? {
        DocsStopped::Limit => {
            ("limit", format!("the best {} of {}", found.docs.len(), found.matched))
        }
        DocsStopped::Common => (
            "common",
            format!(
                "the words are common: of {} documents, only the {} with the best titles and headings were ranked; \
                 add a word to narrow the query",
                found.matched, found.ranked
            ),
        ),
        DocsStopped::Timeout(timeout) => {
            ("timeout", format!("timed out after {timeout:?}; there may be more"))
        }
        DocsStopped::Shards(why) => {
            ("shard_error", notes::unsearched_shards(&found.missing, &found.covered, why))
        }
    })
}
