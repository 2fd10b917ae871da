//! Definitions and references as JSON.

use answer::symbol::Symbol;
use navigate::{Definitions, Outline, OutlineSymbol, References, SymbolsState};
use request::notes::MissingJson;
use search::{Stats, View};
use serde_json::{Value, json};

use super::why;

pub(super) fn definitions_json(view: &View, found: &Definitions) -> Value {
    let all: Vec<Value> = found
        .found
        .iter()
        .map(|one| {
            json!({
                "repo": one.repo,
                "tree": tree_in(view, &one.repo),
                "path": one.path,
                "language": one.language,
                "line": one.symbol.line,
                "text": one.text,
                "start": one.range.start,
                "end": one.range.end,
                "name": one.symbol.name,
                "kind": one.symbol.kind,
                "container": container(&one.symbol),
                "near": one.near.word(),
                "basis": one.basis.word(),
            })
        })
        .collect();
    let complete = found.stats.is_complete() && found.count == all.len();
    let mut told = json!({
        "name": found.name,
        "symbols": found.symbols,
        "definitions": all,
        "found": found.count,
    });
    end(&mut told, &found.stats, complete);
    told
}

pub(super) fn references_json(view: &View, found: &References) -> Value {
    let all: Vec<Value> = found
        .files
        .iter()
        .map(|file| {
            let lines: Vec<Value> = file
                .lines
                .iter()
                .map(|line| {
                    let ranges: Vec<_> =
                        line.ranges.iter().map(|(range, _)| [range.start, range.end]).collect();
                    let labels: Vec<_> =
                        line.ranges.iter().map(|(_, label)| label.word()).collect();
                    let enclosing = line.enclosing.as_deref().map(|symbol| {
                        json!({
                            "name": symbol.name,
                            "kind": symbol.kind,
                            "container": container(symbol),
                            "line": symbol.line,
                        })
                    });
                    json!({
                        "line": line.line,
                        "text": line.text,
                        "ranges": ranges,
                        "labels": labels,
                        "enclosing": enclosing,
                    })
                })
                .collect();
            json!({
                "repo": file.repo,
                "tree": tree_in(view, &file.repo),
                "path": file.path,
                "language": file.language,
                "near": file.near.word(),
                "basis": file.basis.word(),
                "lines": lines,
            })
        })
        .collect();
    let repos: Vec<Value> =
        found.repos.iter().map(|(repo, lines)| json!({ "repo": repo, "lines": lines })).collect();
    let complete = found.stats.is_complete() && found.count == all.len();
    let mut told = json!({
        "name": found.name,
        "symbols": found.symbols,
        "files": all,
        "found": found.count,
        "lines": found.lines,
        "repos": repos,
    });
    end(&mut told, &found.stats, complete);
    told
}

pub(super) fn outline_json(repo: &str, path: &str, outline: &Outline) -> Value {
    let symbol = |one: &OutlineSymbol| {
        let OutlineSymbol { symbol, depth, last_line } = one;
        json!({
            "name": symbol.name,
            "kind": symbol.kind,
            "container": container(symbol),
            "depth": depth,
            "line": symbol.line,
            "last_line": last_line,
            "start": symbol.start,
            "end": symbol.end,
        })
    };
    let symbols: Vec<Value> = outline.symbols.iter().map(symbol).collect();
    let (state, reason) = match &outline.state {
        SymbolsState::Taken => ("taken", None),
        SymbolsState::Pending => ("pending", None),
        SymbolsState::GivenUp(reason) => ("given-up", Some(reason)),
        SymbolsState::Without => ("without", None),
        SymbolsState::NotIndexed => ("not-indexed", None),
    };
    json!({
        "repo": repo,
        "path": path,
        "language": outline.language,
        "symbols": symbols,
        "state": state,
        "reason": reason,
        "basis": outline.basis.word(),
    })
}

/// Returns the tree that takes the place of the main one of a repository.
fn tree_in<'v>(view: &'v View, repo: &str) -> Option<&'v str> {
    view.tree_in_place(repo).map(|tree| tree.tree.as_str())
}

fn end(told: &mut Value, stats: &Stats, complete: bool) {
    told["complete"] = complete.into();
    told["note"] = why(stats).into();
    if let Some(missing) = MissingJson::of(&stats.shown_missing()) {
        told["missing"] = json!(missing);
    }
}

fn container(symbol: &Symbol) -> Option<&str> {
    symbol.container.as_ref().map(|(name, _)| name.as_str())
}
