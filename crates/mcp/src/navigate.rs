//! The tools that follow names: `definitions`, `references` and `outline`.

use std::collections::HashMap;
use std::time::Duration;

use answer::symbol::Symbol;
use answer::{FileMatch, Line};
use anyhow::{Result, bail};
use navigate::{self, Basis, NameRequest, Outline, OutlineSymbol, Place, Reference};
use rmcp::schemars::JsonSchema;
use search::View;
use search::{Stats, Stopped};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Text, count, default_bytes, late, shown};
use super::near::{check_repo, no_file};
use request::notes::outline_note;

/// Default number of definitions, or of files with references, in an answer.
const ENTRIES: usize = 30;

/// Timeout of a search.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time to find the name that was meant.
const NEAR_WITHIN: Duration = Duration::from_secs(1);

/// Most repositories that are named with their numbers of lines.
const NAMED: usize = 6;

/// What can be asked of a name.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Name {
    /// The exact name: bar, or Foo.bar for bar in Foo. By default, the one at `from`.
    #[serde(default)]
    pub(super) name: String,
    /// Where you see the name: REPOSITORY/PATH:LINE or REPOSITORY/PATH:LINE:COLUMN. What is nearest to it comes first.
    #[serde(default)]
    from: Option<String>,
    /// What to find.
    #[serde(default = "both")]
    #[schemars(extend("enum" = ["both", "definitions", "references"]))]
    pub(super) find: String,
    /// Only repositories whose names match this regular expression.
    #[serde(default)]
    repo: Option<String>,
    /// Only this language: rust or rs.
    #[serde(default)]
    language: Option<String>,
    /// Most definitions, and most files with references.
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = 500))]
    pub(super) limit: usize,
    /// Most bytes.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    pub(super) max_bytes: usize,
}

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

impl Name {
    /// Returns whether the call names a place.
    pub(super) fn has_place(&self) -> bool {
        self.from.as_ref().is_some_and(|from| !from.trim().is_empty())
    }
}

fn both() -> String {
    "both".to_owned()
}

fn entries() -> usize {
    ENTRIES
}

pub(super) async fn definitions(view: &View, asked: &Name) -> Result<Answer> {
    let (head, text) = definitions_of(view, asked, asked.max_bytes).await?;
    Ok(text.below(&head, "definitions", ""))
}

pub(super) async fn references(view: &View, asked: &Name) -> Result<Answer> {
    let (head, text) = references_of(view, asked, asked.max_bytes).await?;
    Ok(text.below(&head, "files", ""))
}

/// Returns the head and the list of an answer with the definitions of a name, in at most `max` bytes.
pub(super) async fn definitions_of(
    view: &View,
    asked: &Name,
    max: usize,
) -> Result<(String, Text)> {
    let request = request(view, asked).await?;
    let found = navigate::definitions(view, &request).await?;
    let is_precise = !found.symbols.is_empty();
    let mut text = Text::of(max);
    let (mut told, mut last) = (0, String::new());
    for one in &found.found {
        let file = format!("{}: {}", one.repo, one.path);
        let gap = if text.is_empty() { "" } else { "\n" };
        let head = if file == last { String::new() } else { format!("{gap}{file}\n") };
        let line = shown(&one.text, one.range.start);
        let kind = format!("{}{}", basis(one.basis, is_precise), qualified_kind(&one.symbol));
        if !text.add(&format!("{head}{}:{line}  [{kind}]\n", one.symbol.line)) {
            break;
        }
        let mut item = json!({
            "repo": one.repo, "path": one.path, "line": one.symbol.line, "text": line, "name": one.symbol.name,
            "kind": one.symbol.kind, "basis": one.basis.word(),
        });
        if let Some((container, _)) = &one.symbol.container {
            item["container"] = json!(container);
        }
        text.note(item);
        (told, last) = (told + 1, file);
    }
    let what = count(found.count, "definition", "definitions");
    let mut head = head(&what, (told, found.count, "definitions"), &found.stats, max);
    if found.count == 0 {
        head = format!("No definition of that name{} {head}", nearest(view, asked).await);
    }
    Ok((head, text))
}

/// Returns the head and the list of an answer with the uses of a name, in at most `max` bytes.
pub(super) async fn references_of(view: &View, asked: &Name, max: usize) -> Result<(String, Text)> {
    let request = request(view, asked).await?;
    let found = navigate::references(view, &request).await?;
    let is_precise = !found.symbols.is_empty();
    let mut text = Text::of(max);
    let (mut told, mut cut) = (0, false);
    for file in &found.files {
        let gap = if text.is_empty() { "" } else { "\n" };
        let mut piece = format!("{gap}{}: {}\n", file.repo, file.path);
        let mut lines = Vec::new();
        for line in &file.lines {
            let shown = reference(line, basis(file.basis, is_precise));
            // The first file is cut rather than left out.
            if text.is_empty() && piece.len() + shown.len() > text.room() {
                cut = true;
                break;
            }
            piece.push_str(&shown);
            lines.push(reference_json(line));
        }
        if !text.add(&piece) {
            break;
        }
        let basis = file.basis.word();
        text.note(json!({ "repo": file.repo, "path": file.path, "lines": lines, "basis": basis }));
        told += 1;
    }
    let lines = count(found.lines, "line", "lines");
    let what = format!("{lines} in {}", count(found.count, "file", "files"));
    let mut head = head(&what, (told, found.count, "files"), &found.stats, max);
    if cut {
        head += " The first file has more lines; use search for them.";
    }
    if found.count == 0 {
        let near = if asked.find == "both" { ".".to_owned() } else { nearest(view, asked).await };
        head = format!("Nothing uses that name{near} {head}");
    }
    let repos = found.repos.iter().take(NAMED).map(|(repo, lines)| format!("{repo} {lines}"));
    let repos: Vec<String> = repos.collect();
    if found.repos.len() > 1 {
        let more = found.repos.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        head += &format!("\nLines by repository: {}{more}", repos.join(", "));
    }
    Ok((head, text))
}

/// Returns the name that was probably meant instead of one that is not defined, as the rest of a sentence: of the
/// repository, or of the symbol.
async fn nearest(view: &View, asked: &Name) -> String {
    let repos: Vec<String> = asked.repo.iter().cloned().collect();
    if let Some(missing) = request::hints::missing_repository(view, &repos).await {
        return format!(" ({missing}).");
    }
    match request::hints::near_symbol(view, &asked.name, NEAR_WITHIN).await {
        Some(near) => format!("; did you mean {near}?"),
        None => ".".to_owned(),
    }
}

pub(super) async fn outline(view: &View, asked: OutlineOf) -> Result<Answer> {
    let revision = asked.revision.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let outline = outline_of(view, &asked.repo, &asked.path, revision).await?;
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

async fn request(view: &View, asked: &Name) -> Result<NameRequest> {
    let from = match asked.from.as_deref().map(str::trim).filter(|from| !from.is_empty()) {
        // Other tools print places in this form.
        Some(from) => {
            let place = navigate::place(view, &from.replacen(": ", "/", 1)).await;
            Some(match place {
                Err(navigate::Error::NoFile(file)) => {
                    match request::hints::near_path(view, &file).await {
                        Some(near) => bail!("unknown file {file}; did you mean {near}?"),
                        None => bail!("unknown file {file}; find_file finds files by their paths"),
                    }
                }
                other => other?,
            })
        }
        None => None,
    };
    Ok(NameRequest {
        name: asked.name.clone(),
        from,
        here: None,
        repo: asked.repo.clone(),
        language: asked.language.clone(),
        limit: asked.limit,
        timeout: TIMEOUT,
    })
}

/// Returns the head: a summary of the results, and the part that is shown.
fn head(
    what: &str,
    (told, all, things): (usize, usize, &str),
    stats: &Stats,
    bytes: usize,
) -> String {
    let mut head = match &stats.stopped {
        Some(Stopped::Limit) => format!(
            "At least {what}, and there are more: narrow the search with repo or language, or give from."
        ),
        Some(Stopped::Timeout(time)) => {
            format!("At least {what}, and there may be more: {}", late(*time))
        }
        Some(Stopped::Shards(error) | Stopped::Revision(error)) => {
            format!("At least {what}, and there may be more: {error}.")
        }
        None if !stats.is_complete() => format!("At least {what}."),
        None => format!("{what}."),
    };
    if told < all {
        head += &format!(
            " Here are the nearest {told} {things}; the limit was reached, or the answer is full, at {bytes} bytes."
        );
    } else if stats.is_complete() {
        head += " That is all.";
    }
    if let Some(left) = request::notes::unsearched(stats) {
        head += &format!(" Note: {left}.");
    }
    head
}

/// Returns `precise, ` or `search, `; nothing if no SCIP index covers the request's place.
fn basis(basis: Basis, is_precise: bool) -> &'static str {
    match basis {
        _ if !is_precise => "",
        Basis::Precise => "precise, ",
        Basis::Search => "search, ",
    }
}

fn reference(line: &Reference, basis: &str) -> String {
    let matched = line.ranges.first().map_or(0, |(range, _)| range.start);
    let around = line.enclosing.as_ref().map(|of| format!(" in {}", qualified(of)));
    let (text, around) = (shown(&line.text, matched), around.unwrap_or_default());
    format!("{}:{text}  [{basis}{}{around}]\n", line.line, line.label().word())
}

fn reference_json(line: &Reference) -> Value {
    let matched = line.ranges.first().map_or(0, |(range, _)| range.start);
    let text = shown(&line.text, matched);
    let mut told = json!({ "line": line.line, "text": text, "label": line.label().word() });
    if let Some(around) = &line.enclosing {
        told["in"] = json!(named_kind(around));
    }
    told
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

/// The last lines of symbols, by the bytes at which they end.
pub(super) type LastLines = HashMap<u64, u64>;

/// Returns the enclosing symbol of the next line, if it differs from the last one, with its lines.
pub(super) fn around(line: &Line, ends: &LastLines, last: &mut Option<String>) -> String {
    if line.ranges.is_empty() {
        return String::new();
    }
    let around = line.enclosing.as_ref().map(|of| match ends.get(&of.end) {
        Some(end) if *end > of.line => format!("{}, {}-{end}", named_kind(of), of.line),
        _ => named_kind(of),
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
    if files::looks_secret(&file.path) {
        told["warning"] = json!(files::SECRET);
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
fn qualified_kind(symbol: &Symbol) -> String {
    match &symbol.container {
        Some((name, _)) => format!("{} of {name}", symbol.kind),
        None => symbol.kind.to_owned(),
    }
}

/// For example, `method Server.serve`.
fn named_kind(symbol: &Symbol) -> String {
    format!("{} {}", symbol.kind, qualified(symbol))
}

/// `Server.serve`.
fn qualified(symbol: &Symbol) -> String {
    match &symbol.container {
        Some((name, _)) => format!("{name}.{}", symbol.name),
        None => symbol.name.clone(),
    }
}
