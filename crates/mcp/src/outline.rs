//! What files define: the tool `outline`, the outlines of `read_file`, and the lines of one symbol.

use anyhow::{Result, bail};
use navigate::{self, Outline, OutlineSymbol, Place};
use rmcp::schemars::JsonSchema;
use search::View;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Text, count, default_bytes};
use super::near::{check_repo, no_file};
use request::notes::outline_note;

/// What can be asked of `outline`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct OutlineOf {
    /// The name of the repository, as other tools print it.
    repo: String,
    /// The path of a file in the repository.
    path: String,
    /// A branch, a tag or a commit that has the file; by default, the current file. Texts that are not indexed have no
    /// symbols.
    #[serde(default)]
    revision: Option<String>,
    /// Number of symbols to skip: those in previous answers.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    offset: usize,
    /// Maximum number of bytes of text in the answer.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    max_bytes: usize,
}

pub(super) async fn outline(view: &View, asked: OutlineOf) -> Result<Answer> {
    let revision = asked.revision.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let outline = outline_of(view, &asked.repo, &asked.path, revision).await?;
    audit::told().file(&asked.repo);
    let note = outline_note(&outline);
    let all = outline.symbols.len();
    if all == 0 {
        let answer = Answer::bare(format!("Nothing to list: {note}."), "symbols");
        return Ok(answer.and("next_offset", Value::Null));
    }
    if asked.offset >= all {
        bail!("offset: the file has {all} symbols");
    }
    let mut text = Text::of(asked.max_bytes);
    let mut upto = asked.offset;
    for one in outline.symbols.iter().skip(asked.offset) {
        if !text.add(&row(one)) {
            break;
        }
        text.note(row_json(one));
        upto += 1;
    }
    let symbols = count(all, "symbol", "symbols");
    let head = if upto == all {
        format!("{} to {all} of {symbols}. That is all.", asked.offset + 1)
    } else {
        format!(
            "{} to {upto} of {symbols}: the answer is full, at {} bytes. For the rest, call again with offset={upto}.",
            asked.offset + 1,
            asked.max_bytes
        )
    };
    let note = if note.is_empty() { note } else { format!(" Note: {note}.") };
    let next = if upto == all { Value::Null } else { json!(upto) };
    Ok(text.below(&format!("{head}{note}"), "symbols", "").and("next_offset", next))
}

/// Returns what a file defines from a line on, as `read_file` lists it.
pub(super) async fn outline_from(
    view: &View,
    (repo, path, revision): (&str, &str, Option<&str>),
    from_line: usize,
    max_bytes: usize,
) -> Result<Answer> {
    let outline = outline_of(view, repo, path, revision).await?;
    let note = outline_note(&outline);
    let all = outline.symbols.len();
    let bare = |text: String| Ok(Answer::bare(text, "lines").and("first_line", json!(from_line)));
    if all == 0 {
        return bare(format!("Nothing to list: {note}."));
    }
    let before = outline.symbols.iter().take_while(|one| (one.symbol.line as usize) < from_line);
    let before = before.count();
    if before == all {
        return bare(format!("All {all} definitions begin before line {from_line}."));
    }
    let (mut text, mut upto, mut next) = (Text::of(max_bytes), before, None);
    for one in outline.symbols.iter().skip(before) {
        let row = row(one);
        if !text.add(&row) {
            next = Some(one.symbol.line);
            break;
        }
        text.note(json!(row.trim_end()));
        upto += 1;
    }
    let mut head =
        format!("{} to {upto} of {}", before + 1, count(all, "definition", "definitions"));
    head += &match next {
        None => ". That is all.".to_owned(),
        Some(line) => format!(
            ": the answer is full, at {max_bytes} bytes. For the rest, call again with from_line={line}."
        ),
    };
    if !note.is_empty() {
        head += &format!(" Note: {note}.");
    }
    Ok(text.below(&head, "lines", "").and("first_line", json!(from_line)))
}

/// Returns the outline of a file, at a revision if one is given.
async fn outline_of(
    view: &View,
    repo: &str,
    path: &str,
    revision: Option<&str>,
) -> Result<Outline> {
    let place = Place::file(repo, path);
    let outline = match revision {
        Some(revision) => navigate::outline_at(view, &place, revision).await,
        None => navigate::outline(view, &place).await,
    };
    match outline {
        Err(navigate::Error::NoFile(_)) => {
            check_repo(view, repo).await?;
            Err(no_file(view, repo, path).await)
        }
        other => Ok(other?),
    }
}

/// Returns the first and last line of a file's definition of a name, and a sentence about further definitions.
///
/// # Errors
/// The file does not define the name.
pub(super) async fn lines_of_symbol(
    view: &View,
    repo: &str,
    (path, revision): (&str, Option<&str>),
    name: &str,
) -> Result<(usize, usize, String)> {
    let outline = outline_of(view, repo, path, revision).await?;
    let (before, last) =
        name.rsplit_once("::").or_else(|| name.rsplit_once('.')).unwrap_or(("", name));
    let within = before.rsplit(['.', ':']).next().unwrap_or_default();
    let is_one = |one: &&OutlineSymbol| {
        let container = one.symbol.container.as_ref().map_or("", |(name, _)| name.as_str());
        one.symbol.name == name
            || one.symbol.name == last && (before.is_empty() || container == within)
    };
    let mut found: Vec<&OutlineSymbol> = outline.symbols.iter().filter(is_one).collect();
    // A symbol that only contains members is used if nothing else has the name.
    found.sort_by_key(|one| one.symbol.kind == "implementation");
    let Some((first, others)) = found.split_first() else {
        let note = outline_note(&outline);
        let note = if note.is_empty() { String::new() } else { format!("; {note}") };
        let names = outline.symbols.iter().map(|one| one.symbol.name.as_str());
        let hint = match query::nearest(last, names) {
            Some(near) => format!("did you mean {near}?"),
            None => "outline=true lists what it defines".to_owned(),
        };
        bail!("{path} defines no {name}{note}; {hint}");
    };
    let others: Vec<String> = others.iter().map(|one| one.symbol.line.to_string()).collect();
    let others = match &*others {
        [] => String::new(),
        lines => format!(" Other definitions of that name begin in lines {}.", lines.join(", ")),
    };
    Ok((first.symbol.line as usize, first.last_line as usize, others))
}

fn row_json(one: &OutlineSymbol) -> Value {
    let OutlineSymbol { symbol, depth, last_line } = one;
    let mut told = json!({
        "name": symbol.name, "kind": symbol.kind, "depth": depth, "first_line": symbol.line, "last_line": last_line,
    });
    if let Some((container, _)) = &symbol.container {
        told["container"] = json!(container);
    }
    told
}

fn row(one: &OutlineSymbol) -> String {
    let OutlineSymbol { symbol, depth, last_line } = one;
    format!("{}{}-{last_line}: {} {}\n", "  ".repeat(*depth), symbol.line, symbol.kind, symbol.name)
}
