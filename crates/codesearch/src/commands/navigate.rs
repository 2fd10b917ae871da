//! `codesearch def`, `refs` and `outline`: print where a name is defined or used, and what a file defines.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use answer::symbol::Symbol;
use anyhow::{Error, Result, anyhow};
use navigate::{self, Basis, NameRequest, Place};
use search::View;
use search::{Stats, Stopped};
use serde_json::json;

use super::serve;
use crate::cli::{NameArgs, OutlineArgs};
use crate::console::Console;
use crate::database::Index;
use request::hints::near_path;
use request::human::count;
use request::notes::outline_note;
use request::shell::quoted;

/// Timeout of a search.
const TIMEOUT: Duration = Duration::from_secs(30);

/// `codesearch def`.
pub(crate) fn definitions(index: &Index<'_>, console: &Console, args: &NameArgs) -> Result<u8> {
    index.read(serve::connections(), serve::cores(), async |view| {
        let asked = request(view, console, args).await?;
        let found = navigate::definitions(view, &asked).await?;
        let is_precise = !found.symbols.is_empty();
        let mut out = console.stdout();
        for one in &found.found {
            let place = format!("{}/{}:{}", one.repo, one.path, one.symbol.line);
            if args.json {
                let line = json!({
                    "repo": one.repo, "path": one.path, "language": one.language,
                    "line": one.symbol.line, "text": one.text, "start": one.range.start,
                    "end": one.range.end, "name": one.symbol.name, "kind": one.symbol.kind,
                    "container": one.symbol.container.as_ref().map(|(name, _)| name),
                    "near": one.near.word(), "basis": one.basis.word(),
                });
                writeln!(out, "{line}")?;
            } else {
                let basis = basis(one.basis, is_precise);
                writeln!(out, "{place}:{basis}{}: {}", about(&one.symbol), one.text.trim())?;
            }
        }
        out.flush()?;
        report(console, &found.stats, found.count, found.found.len(), "definition");
        if found.found.is_empty() {
            nothing(console, "defines", args, &found.stats);
        }
        Ok(status(found.found.is_empty(), &found.stats))
    })
}

/// `codesearch refs`.
pub(crate) fn references(index: &Index<'_>, console: &Console, args: &NameArgs) -> Result<u8> {
    index.read(serve::connections(), serve::cores(), async |view| {
        let asked = request(view, console, args).await?;
        let found = navigate::references(view, &asked).await?;
        let is_precise = !found.symbols.is_empty();
        let mut out = console.stdout();
        for file in &found.files {
            for line in &file.lines {
                let label = line.label().word();
                if args.json {
                    let ranges: Vec<_> =
                        line.ranges.iter().map(|(range, _)| [range.start, range.end]).collect();
                    let labels: Vec<_> =
                        line.ranges.iter().map(|(_, label)| label.word()).collect();
                    let line = json!({
                        "repo": file.repo, "path": file.path, "language": file.language,
                        "near": file.near.word(), "basis": file.basis.word(), "line": line.line, "text": line.text,
                        "ranges": ranges, "labels": labels,
                        "enclosing": line.enclosing.as_ref().map(|of| qualified(of)),
                    });
                    writeln!(out, "{line}")?;
                } else {
                    let within = line.enclosing.as_ref().map(|of| format!(" in {}", qualified(of)));
                    let within = within.unwrap_or_default();
                    let place = format!("{}/{}:{}", file.repo, file.path, line.line);
                    let basis = basis(file.basis, is_precise);
                    writeln!(out, "{place}:{basis}{label}{within}: {}", line.text.trim())?;
                }
            }
        }
        out.flush()?;
        report(console, &found.stats, found.count, found.files.len(), "file");
        if found.files.is_empty() {
            nothing(console, "mentions", args, &found.stats);
        }
        Ok(status(found.files.is_empty(), &found.stats))
    })
}

/// `codesearch outline`.
pub(crate) fn outline(index: &Index<'_>, console: &Console, args: &OutlineArgs) -> Result<u8> {
    index.read(serve::connections(), serve::cores(), async |view| {
        let place = place(view, console, &args.path).await?;
        let outline = match navigate::outline(view, &place).await {
            Ok(outline) => outline,
            Err(error) => return Err(with_near(view, error).await),
        };
        let mut out = console.stdout();
        for one in &outline.symbols {
            if args.json {
                let line = json!({
                    "name": one.symbol.name, "kind": one.symbol.kind,
                    "container": one.symbol.container.as_ref().map(|(name, _)| name),
                    "depth": one.depth, "line": one.symbol.line, "last_line": one.last_line,
                });
                writeln!(out, "{line}")?;
            } else {
                let indent = "  ".repeat(one.depth);
                let symbol = &one.symbol;
                writeln!(out, "{:>6}  {indent}{} {}", symbol.line, symbol.kind, symbol.name)?;
            }
        }
        out.flush()?;
        let note = outline_note(&outline);
        if !note.is_empty() {
            note!(to console, "codesearch: {note}");
        }
        Ok(if outline.symbols.is_empty() { crate::NOTHING } else { crate::FOUND })
    })
}

async fn request(view: &View, console: &Console, args: &NameArgs) -> Result<NameRequest> {
    let from = match &args.from {
        Some(from) => Some(place(view, console, from).await?),
        None => None,
    };
    Ok(NameRequest {
        name: args.name.clone().unwrap_or_default(),
        from,
        repo: args.repo.clone(),
        language: args.lang.clone(),
        limit: usize::from(args.limit),
        timeout: TIMEOUT,
    })
}

/// Returns the place that a text names: in a repository, or on disk in an indexed folder.
async fn place(view: &View, console: &Console, text: &str) -> Result<Place> {
    let on_disk = || async {
        let (file, line, column) = Place::split(text);
        let file = console.folder.as_deref()?.join(file).canonicalize().ok()?;
        let repos = view.repos().await.ok()?;
        let within = repos.iter().filter_map(|repo| {
            let folder = Path::new(&repo.source);
            let path = file.strip_prefix(folder).ok()?.to_str()?.to_owned();
            let place = Place { line, column, ..Place::file(repo.name.clone(), path) };
            Some((repo.source.len(), place))
        });
        within.max_by_key(|(length, _)| *length).map(|(_, place)| place)
    };
    match on_disk().await {
        Some(place) => Ok(place),
        None => match navigate::place(view, text).await {
            Ok(place) => Ok(place),
            Err(error) => Err(with_near(view, error).await),
        },
    }
}

/// Adds the most similar path to the error for a missing file.
async fn with_near(view: &View, error: navigate::Error) -> Error {
    if let navigate::Error::NoFile(path) = &error
        && let Some(near) = near_path(view, path).await
    {
        return anyhow!("{path} is not in the index; did you mean {near}?");
    }
    error.into()
}

/// Reports that nothing was found, and which command finds all lines with the name.
fn nothing(console: &Console, what: &str, args: &NameArgs, stats: &Stats) {
    if let (Some(name), None) = (&args.name, &stats.stopped) {
        let text = quoted(name);
        note!(to console,
            "codesearch: nothing {what} {name}; for all lines that contain it, run: codesearch search -F {text}"
        );
    }
}

/// Reports incomplete results on stderr.
fn report(console: &Console, stats: &Stats, all: usize, shown: usize, what: &str) {
    if shown < all {
        note!(to console, "codesearch: the nearest {shown} of {} (--limit for more)", count(all, what));
    }
    match &stats.stopped {
        Some(Stopped::Limit) => {
            note!(to console, "codesearch: there are more; narrow the search with --repo or --lang");
        }
        Some(Stopped::Timeout(timeout)) => {
            note!(to console, "codesearch: timed out after {timeout:?}")
        }
        Some(Stopped::Shards(error)) => note!(to console, "codesearch: incomplete: {error}"),
        None => {}
    }
    if let Some(left) = request::notes::symbols_left(stats) {
        note!(to console, "codesearch: {left}");
    }
}

fn status(is_empty: bool, stats: &Stats) -> u8 {
    match stats.stopped {
        Some(Stopped::Shards(_) | Stopped::Timeout(_)) => crate::FAILED,
        _ if is_empty => crate::NOTHING,
        _ => crate::FOUND,
    }
}

/// Returns `precise, ` or `search, `; nothing if no SCIP index covers the request's place.
fn basis(basis: Basis, is_precise: bool) -> String {
    if is_precise { format!("{}, ", basis.word()) } else { String::new() }
}

/// For example, `method of Server`.
fn about(symbol: &Symbol) -> String {
    match &symbol.container {
        Some((name, _)) => format!("{} of {name}", symbol.kind),
        None => symbol.kind.to_owned(),
    }
}

/// `Server.serve`.
fn qualified(symbol: &Symbol) -> String {
    match &symbol.container {
        Some((name, _)) => format!("{name}.{}", symbol.name),
        None => symbol.name.clone(),
    }
}
