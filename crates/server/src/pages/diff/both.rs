//! The page with both sides of a changed file.

use answer::LineChange;
use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use request::changes::{CONTEXT, compared as named};
use request::human::{count, grouped};
use search::changes::{Block, ChangedFile, Compared, Contents, DiffLine, Script, Side, Texts};

use super::{ALL_LINES, DiffParams, Head};
use crate::pages::highlight::{Coloured, Grammar, MAX_COLOURED};
use crate::pages::link;
use crate::pages::render::render;
use crate::pages::view::{self, Piece};

/// Most characters of a line shown.
const MAX_LINE: usize = 2000;

/// Most rows shown.
const MAX_ROWS: usize = 5000;

#[derive(Template)]
#[template(path = "diff_file.html")]
struct BothPage {
    query: &'static str,
    head: Head,
    /// The names of both sides, each with the address of its text.
    names: [Option<(String, String)>; 2],
    rows: Vec<Row>,
    /// The address of this page with all lines, if some are left out.
    whole: Option<String>,
    /// The number of rows that are not shown.
    more: usize,
}

/// A row of both sides.
enum Row {
    /// The place of the rows after it, and whether lines are left out before it.
    Gap(String),
    Lines {
        old: Option<Cell>,
        new: Option<Cell>,
    },
}

/// A line of one side.
struct Cell {
    number: usize,
    changed: bool,
    pieces: Vec<Piece>,
    /// Whether no line feed follows.
    unended: bool,
}

pub(super) fn draw(wanted: &DiffParams, compared: &Compared, file: &ChangedFile) -> Response {
    let mut head = Head::of(wanted);
    let was = file.renamed_from().map(|from| format!(", renamed from {from}")).unwrap_or_default();
    let status = file.status().word();
    let what = match (file.counts(), &file.contents) {
        (None, Contents::LeftOut(why)) => format!("not compared: {why}"),
        (counts, _) => {
            let (added, removed) = counts.unwrap_or_default();
            format!("{} added, {} removed", count(added, "line"), count(removed, "line"))
        }
    };
    head.note = format!("{}: {status}{was}; {what}.", named(compared));
    let name = |side: &Option<Side>| {
        side.as_ref().map(|side| {
            let given =
                [("repo", wanted.repo.as_str()), ("path", &side.path), ("hash", &side.hash)];
            (side.path.clone(), link::to("/file", &given))
        })
    };
    let names = [name(&file.old), name(&file.new)];
    let context = wanted.context.unwrap_or(CONTEXT);
    let mut rows = match &file.contents {
        Contents::Texts(texts) => rows(file, texts, context),
        Contents::LeftOut(_) => Vec::new(),
    };
    let has_gap = rows.iter().any(|row| matches!(row, Row::Gap(_)));
    let whole = (has_gap && context < ALL_LINES)
        .then(|| wanted.address(&[("context", &ALL_LINES.to_string())]));
    let more = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    render(StatusCode::OK, &BothPage { query: "", head, names, rows, whole, more })
}

fn rows(file: &ChangedFile, texts: &Texts, context: usize) -> Vec<Row> {
    let colours = |side: &Option<Side>, text: &str| {
        let path = side.as_ref().map_or("", |side| side.path.as_str());
        let language = files::language_of(path, text);
        let grammar = Grammar::of(language.as_deref(), path).filter(|_| text.len() <= MAX_COLOURED);
        grammar.map_or_else(Vec::new, |grammar| grammar.colour(text.lines()))
    };
    let (old, new) = (colours(&file.old, &texts.old), colours(&file.new, &texts.new));
    let script = Script::of(texts);
    let blocks = script.blocks(context);
    let shown: usize = blocks.iter().map(|block| block.lines.len()).sum();
    let has_gaps = shown < script.len();
    let mut rows = Vec::new();
    for block in &blocks {
        if has_gaps {
            let [(old, olds), (new, news)] = block.places();
            rows.push(Row::Gap(format!("Lines {} and {}", span(old, olds), span(new, news))));
        }
        add(&mut rows, block, &old, &new);
    }
    rows
}

/// Returns `12–20`, or one number.
fn span(first: usize, lines: usize) -> String {
    match lines {
        0 | 1 => grouped(first),
        lines => format!("{}–{}", grouped(first), grouped(first + lines - 1)),
    }
}

/// Adds the rows of a block: removed lines beside the added ones that follow them.
fn add(rows: &mut Vec<Row>, block: &Block<'_>, old: &[Vec<Coloured>], new: &[Vec<Coloured>]) {
    let removed = |line: &&DiffLine<'_>| cell(line, line.old, old);
    let added = |line: &&DiffLine<'_>| cell(line, line.new, new);
    for run in block.lines.chunk_by(|line, next| line.change.is_some() == next.change.is_some()) {
        if run[0].change.is_none() {
            rows.extend(run.iter().map(|line| Row::Lines {
                old: Some(cell(line, line.old, old)),
                new: Some(cell(line, line.new, new)),
            }));
            continue;
        }
        let is_removed = |line: &&DiffLine<'_>| line.change == Some(LineChange::Removed);
        let (olds, news): (Vec<_>, Vec<_>) = run.iter().partition(is_removed);
        for at in 0..olds.len().max(news.len()) {
            let (old, new) = (olds.get(at), news.get(at));
            rows.push(Row::Lines { old: old.map(&removed), new: new.map(&added) });
        }
    }
}

fn cell(line: &DiffLine<'_>, number: usize, colours: &[Vec<Coloured>]) -> Cell {
    let text = line.text.strip_suffix('\r').unwrap_or(line.text);
    let upto = text.char_indices().nth(MAX_LINE).map_or(text.len(), |(at, _)| at);
    let colours = colours.get(number - 1).map_or(&[][..], Vec::as_slice);
    let mut pieces = view::pieces(text, &[], colours, 0..upto);
    if upto < text.len() {
        pieces.push(Piece { hit: false, class: "cut", text: " …".to_owned() });
    }
    Cell { number, changed: line.change.is_some(), pieces, unended: !line.ended }
}
