//! `/definitions` and `/references`: where a name is defined, and where it is used.

use std::collections::HashMap;

use answer::symbol::Symbol;
use askama::Template;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use navigate::{Basis, Definition, Definitions, References};
use search::{Stats, View};

use super::json::{definitions_json, references_json};
use super::{FROM, LIMIT, NAME, NameParams, answered, refused, why};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::metrics::{TimedSearch, outcome_of};
use crate::pages::highlight::{Coloured, Grammar};
use crate::pages::link;
use crate::pages::render::render;
use crate::pages::view::{self, Piece, qualified};
use crate::params::names::{FORMAT, LANG, REPO};
use crate::params::{DeclaredParams, StrictParams, wants_page};
use crate::server::Server;
use request::human::count;
use statistics::{Kind, Outcome};

/// `/definitions`: where a name is defined.
pub(crate) const DEFINITIONS: Endpoint = Endpoint {
    path: "/definitions",
    route: || get(definitions),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[NAME, FROM, REPO, LANG, LIMIT, FORMAT],
        undocumented: &[],
    },
    doc: Some(Doc {
        summary: "Where a name is defined",
        description: "Returns all definitions with the name, the nearest to from= first. If a SCIP index covers that \
                      place, its definitions come first, marked precise; the others only have the same name.",
        answers: &[
            Answer::ok("Definitions.", Content::Json(&["Definitions"])),
            Answer::BAD,
            Answer::NOT_FOUND,
            Answer::UNAVAILABLE,
        ],
    }),
};

/// `/references`: where a name is used.
pub(crate) const REFERENCES: Endpoint = Endpoint {
    path: "/references",
    route: || get(references),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[NAME, FROM, REPO, LANG, LIMIT, FORMAT],
        undocumented: &[],
    },
    doc: Some(Doc {
        summary: "Where a name is used",
        description: "Returns the places where the name occurs as a whole word, except its definitions, each with its \
                      kind of use. The nearest to from= come first, comments and strings last. If a SCIP index covers \
                      that place, references to the same symbol come first, marked precise.",
        answers: &[
            Answer::ok("References.", Content::Json(&["References"])),
            Answer::BAD,
            Answer::NOT_FOUND,
            Answer::UNAVAILABLE,
        ],
    }),
};

#[derive(Template)]
#[template(path = "names.html")]
struct NamesPage<'a> {
    query: &'a str,
    name: &'a str,
    title: &'static str,
    summary: String,
    stopped: Option<String>,
    /// The address of the other of the two pages, and a search for the word.
    other: (&'static str, String),
    search: String,
    files: Vec<FileView>,
}

/// A file with results.
struct FileView {
    repo: String,
    path: String,
    href: String,
    /// The address of the repository.
    repo_href: String,
    near: &'static str,
    /// `precise` or `search`, if a SCIP index covers the place.
    basis: &'static str,
    rows: Vec<RowView>,
}

/// A line of a definition's signature, or of a reference.
struct RowView {
    number: u64,
    href: String,
    pieces: Vec<Piece>,
    /// A description, to be shown above the line: `method of Server`, `call in main`. Empty if the line before has the
    /// same.
    about: String,
}

async fn definitions(
    server: Server,
    headers: HeaderMap,
    StrictParams(params): StrictParams<NameParams>,
) -> Response {
    let page = wants_page(&headers, params.format.as_deref());
    let work = async {
        let (server, asked) = params.request(&server).await?;
        let _turn = server.turn().await?;
        let counted = begun(&server, "def ", &params);
        let found = navigate::definitions(server.view(), &asked).await.map_err(refused);
        let stats = found.as_ref().ok().map(|found| (&found.stats, found.count));
        counted.ended(outcome(stats, params.limit));
        let found = found?;
        audit::told().results(found.found.iter().map(|one| one.repo.as_str()));
        Ok(if page {
            let texts = texts(&server, &found).await?;
            definitions_page(&params, server.view(), found, &texts)
        } else {
            Json(definitions_json(server.view(), &found)).into_response()
        })
    };
    answered(page, &params.name, work.await)
}

async fn references(
    server: Server,
    headers: HeaderMap,
    StrictParams(params): StrictParams<NameParams>,
) -> Response {
    let page = wants_page(&headers, params.format.as_deref());
    let work = async {
        let (server, asked) = params.request(&server).await?;
        let _turn = server.turn().await?;
        let counted = begun(&server, "refs ", &params);
        let found = navigate::references(server.view(), &asked).await.map_err(refused);
        let stats = found.as_ref().ok().map(|found| (&found.stats, found.count));
        counted.ended(outcome(stats, params.limit));
        let found = found?;
        audit::told().results(found.files.iter().map(|file| file.repo.as_str()));
        Ok(if page {
            references_page(&params, server.view(), found)
        } else {
            Json(references_json(server.view(), &found)).into_response()
        })
    };
    answered(page, &params.name, work.await)
}

fn begun(server: &Server, what: &str, params: &NameParams) -> TimedSearch {
    let asked = if params.name.is_empty() { params.from.as_deref() } else { None };
    let told = format!("{what}{}", asked.unwrap_or(&params.name));
    server.metrics.begin(Kind::Indexed, move |_| (told.clone(), String::new()))
}

/// Returns the outcome of a search that found `count` places or files; `found` is `None` if it failed.
fn outcome(found: Option<(&Stats, usize)>, limit: usize) -> Outcome {
    match found.map(|(stats, count)| (outcome_of(stats), count)) {
        None => Outcome::Failed,
        Some((Outcome::Complete, count)) if count > limit => Outcome::Limit,
        Some((outcome, _)) => outcome,
    }
}

/// Returns the texts of the files with definitions, by repository and path, to show whole signatures.
async fn texts(server: &Server, found: &Definitions) -> Result<Texts, Failure> {
    let mut texts = Texts::new();
    for one in &found.found {
        let place = (one.repo.clone(), one.path.clone());
        if texts.len() == MAX_TEXTS || texts.contains_key(&place) {
            continue;
        }
        if let Some(file) = browse::file_text(server.view(), &one.repo, &one.path).await? {
            texts.insert(place, file.text);
        }
    }
    Ok(texts)
}

/// Returns the lines of a definition's signature, with their numbers; only the line of its name if the text is not
/// there, or is another one by now.
fn signature<'t>(one: &'t Definition, texts: &'t Texts) -> Vec<(u64, &'t str)> {
    let at = one.symbol.line.saturating_sub(1) as usize;
    let text = texts.get(&(one.repo.clone(), one.path.clone())).map_or("", String::as_str);
    let lines: Vec<&str> = text.lines().take(at + MAX_SIGNATURE).collect();
    if lines.get(at).is_none_or(|line| *line != one.text.trim_end_matches('\r')) {
        return vec![(one.symbol.line, &one.text)];
    }
    navigate::signature(&lines, at).map(|at| (at as u64 + 1, lines[at])).collect()
}

/// Returns a repository as addresses name it, with the tree that takes the place of its main one.
fn in_tree(view: &View, repo: &str) -> String {
    link::in_tree(repo, view.tree_in_place(repo).map_or("", |tree| &tree.tree))
}

fn definitions_page(
    params: &NameParams,
    view: &View,
    found: Definitions,
    texts: &Texts,
) -> Response {
    let summary = summary(found.count, found.found.len(), "definition");
    let stopped = why(&found.stats);
    let is_precise = !found.symbols.is_empty();
    let mut files: Vec<FileView> = Vec::new();
    for one in found.found {
        let basis = basis(one.basis, is_precise);
        let repo = in_tree(view, &one.repo);
        let to = |line: u64| link::file(&repo, &one.path, "", Some(line));
        let href = to(one.symbol.line);
        let lines = signature(&one, texts);
        let grammar = Grammar::of(one.language.as_deref(), &one.path);
        let mut colours = grammar
            .map_or_else(Vec::new, |grammar| grammar.colour(lines.iter().map(|(_, line)| *line)));
        colours.resize(lines.len(), Vec::new());
        let rows = lines.iter().zip(colours).enumerate().map(|(at, ((number, line), colours))| {
            let name = std::slice::from_ref(&one.range);
            let ranges = if *number == one.symbol.line { name } else { &[] };
            RowView {
                number: *number,
                href: to(*number),
                pieces: pieces(line, ranges, &colours),
                about: if at == 0 { about(&one.symbol) } else { String::new() },
            }
        });
        let rows: Vec<RowView> = rows.collect();
        match files.last_mut() {
            Some(last) if (&*last.repo, &*last.path, last.basis) == (&*repo, &*one.path, basis) => {
                last.rows.extend(rows);
            }
            _ => files.push(FileView {
                href,
                near: near(params, one.near.word()),
                basis,
                repo_href: link::folder(&repo, ""),
                repo,
                path: one.path,
                rows,
            }),
        }
    }
    let other = ("References", "/references");
    page((params, &found.name), "Definitions", summary, stopped, other, files)
}

fn references_page(params: &NameParams, view: &View, found: References) -> Response {
    let shown = found.files.len();
    let mut summary =
        format!("{} in {}", count(found.lines, "line"), summary(found.count, shown, "file"));
    if found.repos.len() > 1 {
        summary = format!("{summary} of {}", count(found.repos.len(), "repository"));
    }
    let stopped = why(&found.stats);
    let is_precise = !found.symbols.is_empty();
    let drawn = |file: navigate::ReferenceFile| {
        let repo = in_tree(view, &file.repo);
        let mut last = String::new();
        let rows = file.lines.iter().map(|line| {
            let ranges: Vec<_> = line.ranges.iter().map(|(range, _)| range.clone()).collect();
            let around = line.enclosing.as_ref().map(|of| format!(" in {}", qualified(of)));
            let about = format!("{}{}", line.label().word(), around.unwrap_or_default());
            let is_new = about != last;
            last.clone_from(&about);
            RowView {
                number: line.line,
                href: link::file(&repo, &file.path, "", Some(line.line)),
                pieces: pieces(&line.text, &ranges, &[]),
                about: if is_new { about } else { String::new() },
            }
        });
        let rows: Vec<RowView> = rows.collect();
        let first = file.lines.first().map(|line| line.line);
        FileView {
            href: link::file(&repo, &file.path, "", first),
            near: near(params, file.near.word()),
            basis: basis(file.basis, is_precise),
            rows,
            repo_href: link::folder(&repo, ""),
            repo,
            path: file.path,
        }
    };
    let files = found.files.into_iter().map(drawn).collect();
    let other = ("Definitions", "/definitions");
    page((params, &found.name), "References", summary, stopped, other, files)
}

fn page(
    (params, name): (&NameParams, &str),
    title: &'static str,
    summary: String,
    stopped: Option<String>,
    (other, address): (&'static str, &'static str),
    files: Vec<FileView>,
) -> Response {
    let from = params.from.as_deref().unwrap_or_default();
    let given = [
        ("name", params.name.as_str()),
        ("from", from),
        ("repo", params.repo.as_deref().unwrap_or_default()),
        ("lang", params.lang.as_deref().unwrap_or_default()),
    ];
    let word = format!("\\b{}\\b case:yes", query::escape(name));
    render(
        StatusCode::OK,
        &NamesPage {
            query: "",
            name,
            title,
            summary,
            stopped,
            other: (other, link::to(address, &given)),
            search: link::to("/search", &[("q", &word)]),
            files,
        },
    )
}

fn summary(all: usize, shown: usize, what: &str) -> String {
    let all = count(all, what);
    if shown == 0 || all.starts_with(&format!("{shown} ")) {
        return all;
    }
    format!("{all}; the nearest {shown} are shown")
}

/// Returns the source of a result; empty if no SCIP index covers the place.
fn basis(basis: Basis, is_precise: bool) -> &'static str {
    if is_precise { basis.word() } else { "" }
}

/// Returns how near a file is; empty if the request has no place.
fn near(params: &NameParams, word: &'static str) -> &'static str {
    match (params.from.is_some(), word) {
        (false, _) => "",
        (true, "file") => "this file",
        (true, "folder") => "this folder",
        (true, "repository") => "this repository",
        (true, "import") => "imported",
        (true, _) => "elsewhere",
    }
}

/// For example, `method of Server`.
fn about(symbol: &Symbol) -> String {
    match &symbol.container {
        Some((name, _)) => format!("{} of {name}", symbol.kind),
        None => symbol.kind.to_owned(),
    }
}

/// Texts of files, by repository and path.
type Texts = HashMap<(String, String), String>;

/// Most files that are read to show whole signatures.
const MAX_TEXTS: usize = 50;

/// Most lines after that of the name that belong to a signature.
const MAX_SIGNATURE: usize = 16;

/// Most bytes shown of a line.
const MAX_LINE: usize = 400;

fn pieces(text: &str, ranges: &[std::ops::Range<usize>], colours: &[Coloured]) -> Vec<Piece> {
    let first = ranges.first().map_or(0, |range| range.start);
    let from = if text.len() > MAX_LINE { first.saturating_sub(MAX_LINE / 4) } else { 0 };
    let from = text.floor_char_boundary(from);
    let upto = text.floor_char_boundary((from + MAX_LINE).min(text.len()));
    view::pieces(text, ranges, colours, from..upto)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use search::Stopped;

    use super::*;

    #[test]
    fn what_was_cut_short_is_counted_as_what_it_was() {
        let stats = |stopped| {
            let mut stats = Stats::default();
            stats.stopped = stopped;
            stats
        };
        let timeout = stats(Some(Stopped::Timeout(Duration::from_secs(1))));
        assert_eq!(outcome(None, 5), Outcome::Failed);
        assert_eq!(outcome(Some((&stats(None), 5)), 5), Outcome::Complete);
        assert_eq!(outcome(Some((&stats(None), 6)), 5), Outcome::Limit);
        assert_eq!(outcome(Some((&timeout, 6)), 5), Outcome::Timeout);
    }
}
