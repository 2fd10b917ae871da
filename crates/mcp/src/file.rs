//! How a file and its lines are told, as text and as JSON.

use std::collections::HashMap;

use answer::symbol::Symbol;
use answer::{FileMatch, Line, LineChange};
use files::{SECRET, looks_secret};
use serde_json::{Value, json};

use super::answer::{brief, shown};
use request::human;

/// Names the files of an answer one after another.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The repository of the last one.
    last: String,
}

impl Names {
    /// Returns the name of the next file, `REPOSITORY: PATH`; without its repository if that of the last file is the same.
    pub(super) fn next(&mut self, file: &FileMatch) -> String {
        let name = named(file);
        if file.commit.is_none() && self.last == file.repo {
            return name[file.repo.len()..].to_owned();
        }
        self.last.clone_from(&file.repo);
        name
    }
}

/// Returns a file as `REPOSITORY: PATH`, with its trees, and its commit before it.
pub(super) fn named(file: &FileMatch) -> String {
    let warning = if looks_secret(&file.path) { format!(" ({SECRET})") } else { String::new() };
    let commit = file.commit.as_deref().map(|commit| format!("commit {}\n", human::commit(commit)));
    let trees = match &*file.trees {
        [] => String::new(),
        names => format!(" [{}]", human::trees(names)),
    };
    let before = file.renamed_from.as_ref().map(|before| format!(" (renamed from {before})"));
    let (commit, before) = (commit.unwrap_or_default(), before.unwrap_or_default());
    format!("{commit}{}: {}{before}{trees}{warning}", file.repo, file.path)
}

/// Formats a line after its number; of a long one, or of each with `briefly`, the part around its match.
pub(super) fn numbered(line: &Line, briefly: bool) -> String {
    let (mark, matched) = match line.ranges.first() {
        Some(range) => (":", range.start),
        None => ("-", 0),
    };
    let sign = line.change.map_or("", LineChange::sign);
    let text = if briefly { brief(&line.text, matched) } else { shown(&line.text, matched) };
    let defines = defines(line).map(|kinds| format!("  [defines {kinds}]"));
    let defines = defines.unwrap_or_default();
    match line.number {
        // Lines of the history have none.
        0 => format!("{sign}{text}{defines}\n"),
        number => format!("{number}{mark}{sign}{text}{defines}\n"),
    }
}

/// The last lines of symbols, by the bytes at which they end.
pub(super) type LastLines = HashMap<u64, u64>;

/// Returns the enclosing symbol of the next line, if it differs from the last one, with its lines.
pub(super) fn around(line: &Line, ends: &LastLines, last: &mut Option<String>) -> String {
    if line.ranges.is_empty() {
        return String::new();
    }
    let around = line.enclosing.as_ref().map(|of| match ends.get(&of.end) {
        Some(end) if *end > of.line => format!("{}, {}-{end}", qualified(of), of.line),
        _ => qualified(of),
    });
    if *last == around {
        return String::new();
    }
    let text = match (&around, &last) {
        (Some(around), _) => format!("in {around}:\n"),
        (None, Some(_)) => "outside:\n".to_owned(),
        (None, None) => String::new(),
    };
    *last = around;
    text
}

/// Trees named of a file in JSON.
const MOST_TREES: usize = 10;

/// Returns a file as JSON.
pub(super) fn file_json(file: &FileMatch) -> Value {
    let mut told = json!({ "repo": file.repo, "path": file.path });
    if let Some(language) = &file.language {
        told["language"] = json!(language);
    }
    if looks_secret(&file.path) {
        told["warning"] = json!(SECRET);
    }
    if !file.trees.is_empty() {
        told["trees"] = json!(&file.trees[..file.trees.len().min(MOST_TREES)]);
        told["trees_total"] = json!(file.trees.len());
    }
    if let Some(commit) = &file.commit {
        told["commit"] = json!({
            "hash": commit.hash, "author": commit.author, "time": commit.time,
            "summary": commit.summary,
        });
    }
    if let Some(before) = &file.renamed_from {
        told["renamed_from"] = json!(before);
    }
    told
}

/// Returns a line as JSON, with its enclosing symbol.
pub(super) fn line_json(line: &Line, ends: &LastLines) -> Value {
    let matched = line.ranges.first().map_or(0, |range| range.start);
    let text = shown(&line.text, matched);
    let mut told = json!({ "line": line.number, "text": text, "matches": !line.ranges.is_empty() });
    if let Some(around) = &line.enclosing {
        told["in"] = json!(named_kind(around));
        if let Some(end) = ends.get(&around.end) {
            told["in_lines"] = json!([around.line, end]);
        }
    }
    if let Some(defined) = defines(line) {
        told["defines"] = json!(defined);
    }
    if let Some(change) = line.change {
        told["change"] = json!(change.word());
    }
    told
}

/// Returns the kinds of the symbols that a line defines: those whose names the query is about.
pub(super) fn defines(line: &Line) -> Option<String> {
    let mut kinds: Vec<&str> = line.symbols.iter().map(|found| found.symbol.kind).collect();
    kinds.dedup();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

/// For example, `method of Server`.
pub(super) fn qualified_kind(symbol: &Symbol) -> String {
    match &symbol.container {
        Some((name, _)) => format!("{} of {name}", symbol.kind),
        None => symbol.kind.to_owned(),
    }
}

/// For example, `method Server.serve`.
pub(super) fn named_kind(symbol: &Symbol) -> String {
    format!("{} {}", symbol.kind, qualified(symbol))
}

/// `Server.serve`.
pub(super) fn qualified(symbol: &Symbol) -> String {
    match &symbol.container {
        Some((name, _)) => format!("{name}.{}", symbol.name),
        None => symbol.name.clone(),
    }
}
