//! Sentences about results that an answer leaves out.

use std::collections::BTreeMap;

use navigate::{Outline, SymbolsState};
use search::{Covered, Missing, Stats};
use serde::Serialize;

use crate::fresh;
use crate::human::{count, grouped, size};

/// Returns the numbers of left-out files, by reason: `12 binary, 3 too-large`.
pub fn skipped(stats: &Stats) -> String {
    reasons(&stats.skipped)
}

/// Formats numbers by reason.
pub fn reasons(skipped: &BTreeMap<String, usize>) -> String {
    let parts: Vec<String> =
        skipped.iter().map(|(reason, count)| format!("{} {reason}", grouped(*count))).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// Returns a sentence without a full stop about what was not searched since nodes of the index do not answer; `None` if
/// nothing is missing. Whoever does not see all repositories is told no more than that.
pub fn missing(missing: &Missing) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    if missing.shards.is_empty() {
        let why = "a part of the index was not searched: a node of it does not answer";
        return Some(why.to_owned());
    }
    let nodes: Vec<&str> = missing.nodes.iter().map(String::as_str).collect();
    Some(format!(
        "{} with {} of text {} not searched: {} {} not answer",
        count(missing.shards.len(), "shard"),
        size(missing.bytes()),
        if missing.shards.len() == 1 { "was" } else { "were" },
        nodes.join(", "),
        if nodes.len() == 1 { "does" } else { "do" }
    ))
}

/// Returns a sentence without a full stop about why shards could not be searched, given the reason in the answer: nodes that do
/// not answer, files of lost nodes, or something that only the server's log tells.
pub fn unsearched_shards(missing: &Missing, covered: &Covered, why: &str) -> String {
    let lacks = || covered.lacks().filter(|lacks| lacks == why);
    let untold = || "some shards could not be searched; see the server's log".to_owned();
    self::missing(missing).or_else(lacks).unwrap_or_else(untold)
}

/// What was not searched since nodes of the index do not answer, as JSON.
#[derive(Debug, Serialize)]
pub struct MissingJson {
    groups: Vec<i16>,
    shards: usize,
    bytes: u64,
    nodes: Vec<String>,
}

impl MissingJson {
    /// `None` if nothing is missing, or for whoever does not see all repositories.
    pub fn of(missing: &Missing) -> Option<Self> {
        (!missing.shards.is_empty()).then(|| Self {
            groups: missing.groups.iter().copied().collect(),
            shards: missing.shards.len(),
            bytes: missing.bytes(),
            nodes: missing.nodes.iter().cloned().collect(),
        })
    }
}

/// Returns a sentence without a full stop about symbols that a search could not find, and about repositories that do not
/// have its revision or could not be updated; `None` if there is nothing to say.
pub fn unsearched(stats: &Stats) -> Option<String> {
    let notes = stats.notes.iter().cloned().chain(fresh::outdated(&stats.covered));
    let all: Vec<String> = notes.chain(symbols_left(stats)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Like [`unsearched`], for readers whose space is short: files whose symbols are incomplete are only counted.
pub fn unsearched_in_short(stats: &Stats) -> Option<String> {
    let left = &stats.symbols;
    let given_up: usize = left.given_up.values().sum();
    if given_up == 0 || left.pending > 0 || !left.without.is_empty() {
        return unsearched(stats);
    }
    let notes = stats.notes.iter().cloned().chain(fresh::outdated(&stats.covered));
    let symbols = format!("{} without all symbols", count(given_up, "file"));
    Some(notes.chain([symbols]).collect::<Vec<_>>().join("; "))
}

fn symbols_left(stats: &Stats) -> Option<String> {
    let left = &stats.symbols;
    if let Some(language) = left.without.first() {
        return Some(format!("symbols of {language} are not supported; search for text instead"));
    }
    let pending = (left.pending > 0).then(|| {
        let files = count(left.pending, "file");
        format!("the symbols of {files} are not extracted yet; run: codesearch symbols")
    });
    let given_up: usize = left.given_up.values().sum();
    let given_up = (given_up > 0).then(|| {
        let (files, why) = (count(given_up, "file"), reasons(&left.given_up));
        format!(
            "symbols of {files} are incomplete ({why}); search for text to find other definitions"
        )
    });
    let all: Vec<String> = pending.into_iter().chain(given_up).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns the note on an outline.
pub fn outline_note(outline: &Outline) -> String {
    let language = outline.language.as_deref().unwrap_or("an unknown language");
    match &outline.state {
        SymbolsState::Taken if outline.symbols.is_empty() => "the file defines nothing".to_owned(),
        SymbolsState::Taken => String::new(),
        SymbolsState::Pending => {
            "its symbols are not extracted yet; run: codesearch symbols".to_owned()
        }
        SymbolsState::GivenUp(reason) => {
            format!("its symbols are incomplete: {reason}")
        }
        SymbolsState::NotIndexed => {
            "its text is not indexed, so its symbols are unknown".to_owned()
        }
        SymbolsState::Without => format!("symbols of {language} are not supported"),
    }
}
