//! `codesearch def`, `refs` and `outline`: print where a name is defined or used, and what a file defines.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use answer::symbol::Symbol;
use anyhow::{Error, Result, anyhow};
use navigate::{self, Basis, NameRequest, Place};
use search::{NamedTree, Stats, Stopped, View};
use serde_json::json;

use crate::cli::{NameArgs, OutlineArgs};
use crate::console::Console;
use crate::database::{Index, connections, cores};
use crate::print::Paths;
use request::hints::near_path;
use request::human::count;
use request::notes::outline_note;
use request::shell::quoted;
use request::{Here, InRepo};

/// Timeout of a search.
const TIMEOUT: Duration = Duration::from_secs(30);

/// `codesearch def`.
pub(crate) fn definitions(index: &Index<'_>, console: &Console, args: &NameArgs) -> Result<u8> {
    index.read(connections(), cores(), async |view| {
        let (here, args) = &in_trees(view, console, args).await?;
        let view = &here.in_view(view);
        let paths = Paths::of(here.clone(), console, args.local || args.vimgrep);
        let asked = request(view, paths.here(), args).await?;
        let found = navigate::definitions(view, &asked).await?;
        audit::told().results(found.found.iter().map(|one| one.repo.as_str()));
        let is_precise = !found.symbols.is_empty();
        let mut out = console.stdout();
        for one in &found.found {
            let path = paths.joined(&one.repo, &one.path);
            if args.json {
                let mut line = json!({
                    "repo": one.repo, "path": one.path, "language": one.language,
                    "line": one.symbol.line, "text": one.text, "start": one.range.start,
                    "end": one.range.end, "name": one.symbol.name, "kind": one.symbol.kind,
                    "container": one.symbol.container.as_ref().map(|(name, _)| name),
                    "near": one.near.word(), "basis": one.basis.word(),
                });
                if let Some(tree) = paths.here().tree_of(&one.repo) {
                    line["tree"] = tree.into();
                }
                if args.local {
                    line["file"] = path.into();
                }
                writeln!(out, "{line}")?;
            } else if args.vimgrep {
                let (line, column) = (one.symbol.line, one.range.start + 1);
                writeln!(out, "{path}:{line}:{column}:{}", one.text)?;
            } else {
                let (line, basis) = (one.symbol.line, basis(one.basis, is_precise));
                let about = about(&one.symbol);
                writeln!(out, "{path}:{line}:{basis}{about}: {}", one.text.trim())?;
            }
        }
        out.flush()?;
        super::tell_trees(console, paths.here());
        report(console, &found.stats, found.count, found.found.len(), "definition");
        if found.found.is_empty() {
            nothing(console, "defines", args, &found.stats);
        }
        Ok(status(found.found.is_empty(), &found.stats))
    })
}

/// `codesearch refs`.
pub(crate) fn references(index: &Index<'_>, console: &Console, args: &NameArgs) -> Result<u8> {
    index.read(connections(), cores(), async |view| {
        let (here, args) = &in_trees(view, console, args).await?;
        let view = &here.in_view(view);
        let paths = Paths::of(here.clone(), console, args.local || args.vimgrep);
        let asked = request(view, paths.here(), args).await?;
        let found = navigate::references(view, &asked).await?;
        audit::told().results(found.files.iter().map(|file| file.repo.as_str()));
        let is_precise = !found.symbols.is_empty();
        let mut out = console.stdout();
        for file in &found.files {
            let path = paths.joined(&file.repo, &file.path);
            for line in &file.lines {
                let label = line.label().word();
                if args.vimgrep {
                    for (range, _) in &line.ranges {
                        writeln!(out, "{path}:{}:{}:{}", line.line, range.start + 1, line.text)?;
                    }
                } else if args.json {
                    let ranges: Vec<_> =
                        line.ranges.iter().map(|(range, _)| [range.start, range.end]).collect();
                    let labels: Vec<_> =
                        line.ranges.iter().map(|(_, label)| label.word()).collect();
                    let mut object = json!({
                        "repo": file.repo, "path": file.path, "language": file.language,
                        "near": file.near.word(), "basis": file.basis.word(), "line": line.line, "text": line.text,
                        "ranges": ranges, "labels": labels,
                        "enclosing": line.enclosing.as_ref().map(|of| qualified(of)),
                    });
                    if let Some(tree) = paths.here().tree_of(&file.repo) {
                        object["tree"] = tree.into();
                    }
                    if args.local {
                        object["file"] = path.clone().into();
                    }
                    writeln!(out, "{object}")?;
                } else {
                    let within = line.enclosing.as_ref().map(|of| format!(" in {}", qualified(of)));
                    let within = within.unwrap_or_default();
                    let (number, basis) = (line.line, basis(file.basis, is_precise));
                    let text = line.text.trim();
                    writeln!(out, "{path}:{number}:{basis}{label}{within}: {text}")?;
                }
            }
        }
        out.flush()?;
        super::tell_trees(console, paths.here());
        report(console, &found.stats, found.count, found.files.len(), "file");
        if found.files.is_empty() {
            nothing(console, "mentions", args, &found.stats);
        }
        Ok(status(found.files.is_empty(), &found.stats))
    })
}

/// `codesearch outline`.
pub(crate) fn outline(index: &Index<'_>, console: &Console, args: &OutlineArgs) -> Result<u8> {
    index.read(connections(), cores(), async |view| {
        let (here, path) = here(view, console, Some(&args.path)).await?;
        let view = &here.in_view(view);
        let place = place(view, &here, path.as_deref().unwrap_or_default()).await?;
        let outline = match navigate::outline(view, &place).await {
            Ok(outline) => outline,
            Err(error) => return Err(with_near(view, error).await),
        };
        audit::told().file(&place.repo);
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

/// Returns the place of the current folder, with the tree in which a place lies that was typed, and the place without the
/// name of a tree: `NAME@TREE/PATH`.
async fn here(
    view: &View,
    console: &Console,
    place: Option<&str>,
) -> Result<(Here, Option<String>)> {
    let here = Here::of(view, console.folder.as_deref()).await?;
    let Some(place) = place else { return Ok((here, None)) };
    let at = here.locate(Place::split(place).0).filter(|at| !at.path.is_empty());
    let named = view.named_tree_of_path(place).await;
    match (at, named) {
        // A file on disk may have such a name.
        (Some(at), named) if named.as_ref().is_ok_and(|named| named.named.is_none()) => {
            Ok((here.choosing_that_of(&at), Some(place.to_owned())))
        }
        (_, named) => {
            let named = named?;
            Ok((choosing(here, &named), Some(named.text)))
        }
    }
}

/// Returns the place in which a named tree is chosen.
fn choosing(here: Here, named: &NamedTree) -> Here {
    match &named.named {
        Some((repo, tree)) => {
            here.choosing(&BTreeMap::from([(repo.clone(), tree.iter().cloned().collect())]))
        }
        None => here,
    }
}

/// Returns the place of the current folder with the trees that arguments name, and the arguments without them.
async fn in_trees(view: &View, console: &Console, args: &NameArgs) -> Result<(Here, NameArgs)> {
    let mut args = args.clone();
    let (mut here, from) = here(view, console, args.from.as_deref()).await?;
    args.from = from;
    if let Some(repo) = &args.repo {
        let named = view.named_tree(repo).await?;
        here = choosing(here, &named);
        if named.named.is_some() {
            args.repo = Some(format!("^{}$", query::escape(&named.text)));
        }
    }
    Ok((here, args))
}

async fn request(view: &View, here: &Here, args: &NameArgs) -> Result<NameRequest> {
    let from = match &args.from {
        Some(from) => Some(place(view, here, from).await?),
        None => None,
    };
    Ok(NameRequest {
        name: args.name.clone().unwrap_or_default(),
        from,
        here: here.inside().map(|inside| inside.repo.clone()),
        repo: args.repo.clone(),
        language: args.lang.clone(),
        limit: usize::from(args.limit),
        timeout: TIMEOUT,
    })
}

/// Returns the place that a text names: on disk in an indexed folder, or in a repository.
async fn place(view: &View, here: &Here, text: &str) -> Result<Place> {
    let (file, line, column) = Place::split(text);
    let on_disk = here.locate(file).filter(|at| !at.path.is_empty());
    // The name of a repository may look like a path in the current folder.
    let tree = view.tree().await?;
    if let Some(InRepo { repo, path, .. }) = on_disk.clone()
        && tree.file(&repo, &path)?.is_some()
    {
        return Ok(Place { line, column, ..Place::file(repo, path) });
    }
    match (navigate::place(view, text).await, on_disk) {
        (Ok(place), _) => Ok(place),
        // The reason why the file on disk is not in the index.
        (Err(_), Some(InRepo { repo, path, .. })) if here.is_file(&repo, &path) => {
            Ok(Place { line, column, ..Place::file(repo, path) })
        }
        (Err(error), _) => Err(with_near(view, error).await),
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
            note!(to console, "codesearch: timed out after {timeout:?}");
        }
        Some(Stopped::Shards(error) | Stopped::Revision(error)) => {
            let missing = request::notes::missing(&stats.shown_missing());
            note!(to console, "codesearch: incomplete: {}", missing.as_ref().unwrap_or(error));
        }
        None => {}
    }
    if let Some(left) = request::notes::unsearched(stats) {
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
