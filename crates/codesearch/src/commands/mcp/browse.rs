//! The tools beside `search`: one file or folder, files by their paths, repositories.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use engine::browse::{FindRequest, FolderItem, NearFile, Tree};
use engine::fuzzy::QueryTooLong;
use engine::search::Searcher;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{MAX_ANSWER_BYTES, Text, count};

/// Files or repositories in an answer unless a call says otherwise, and at most.
const ENTRIES: usize = 50;
const MAX_ENTRIES: usize = 500;

/// Paths that are named instead of one that is not there.
const NEAR: usize = 3;

/// What can be asked of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    /// The name of the repository, as other tools give it.
    repo: String,
    /// The path in the repository of a file, or of a folder; empty for the repository's own folder.
    #[serde(default)]
    path: String,
    /// The first line, from 1.
    #[serde(default = "first")]
    from_line: usize,
    /// The last line; that of the file unless given.
    to_line: Option<usize>,
    /// How many bytes of the first line to leave out: for a line that is longer than an answer.
    #[serde(default)]
    from_byte: usize,
}

/// What can be asked of `find_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct FindFile {
    /// The name, a part of the path, or letters of it in their order, with or without gaps: fmtprint finds
    /// src/fmt/print.go. A few may be wrong. A blank separates what may stand in any order.
    /// The name of the repository may stand before the path.
    typed: String,
    /// Only in repositories whose names hold this, in any case.
    repo: Option<String>,
    /// Only files in this language: its name (c++, plain text) or the extension of its files (rs, py).
    language: Option<String>,
    /// Most files in the answer, up to 500; 50 unless given.
    #[serde(default = "entries")]
    limit: usize,
    /// How many of the best to leave out: those of the answers before.
    #[serde(default)]
    offset: u32,
}

/// What can be asked of `list_repos`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct ListRepos {
    /// Only repositories whose names hold this, in any case.
    filter: Option<String>,
    /// Most repositories in the answer, up to 500; 50 unless given.
    #[serde(default = "entries")]
    limit: usize,
    /// How many to leave out: those of the answers before.
    #[serde(default)]
    offset: u32,
}

fn first() -> usize {
    1
}

fn entries() -> usize {
    ENTRIES
}

pub(super) fn read_description() -> String {
    format!(
        "Reads a file, or some of its lines, as NUMBER:LINE; or lists what lies in a folder. An answer has \
         {MAX_ANSWER_BYTES} bytes at most. Its first line says which lines these are of how many, and if it was \
         cut, with which from_line to go on."
    )
}

pub(super) fn find_description() -> String {
    format!(
        "Finds files by what is typed of their paths, gaps and few wrong letters forgiven, the best first, as REPOSITORY: PATH. It does not look into \
         them; search does. An answer has `limit` files and {MAX_ANSWER_BYTES} bytes at most. Its first line says \
         how many there are in all, and with which offset to go on."
    )
}

pub(super) fn list_description() -> String {
    format!(
        "Lists the repositories that are indexed, by name, with how much of each is indexed and when it was \
         read. An answer has `limit` repositories and {MAX_ANSWER_BYTES} bytes at most. Its first line says how \
         many there are in all, and with which offset to go on."
    )
}

pub(super) async fn read_file(searcher: &Searcher, asked: ReadFile) -> Result<String> {
    let tree = searcher.tree().await?;
    let Some(repo) = tree.repo(&asked.repo) else {
        bail!("no repository is named '{}'; list_repos lists them", asked.repo);
    };
    let path = asked.path.trim_matches('/');
    if let Some(document) = searcher.file_text(&asked.repo, path).await? {
        let language = document.language.map_or(String::new(), |name| format!("{name}, "));
        let what = format!("{language}{}", count(document.text.len(), "byte", "bytes"));
        return lines(&what, &document.text, &asked);
    }
    if let Some(children) = tree.folder(repo, path) {
        let text: String = children.iter().map(entry).collect();
        return lines("A folder", &text, &asked);
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let (typed, within, kept) = (name.to_owned(), asked.repo.clone(), Arc::clone(&tree));
    let work = tokio::task::spawn_blocking(move || {
        let within = Some(within.as_str());
        let finding =
            FindRequest { query: &typed, repo: within, limit: NEAR, ..FindRequest::default() };
        kept.find(&finding).unwrap_or_default()
    });
    let (near, _) = work.await?;
    let near: Vec<String> = near.into_iter().map(|near| near.path).collect();
    if near.is_empty() {
        bail!("there is no file '{path}' in {}; find_file finds files by their paths", asked.repo);
    }
    bail!("there is no file '{path}' in {}; near it are: {}", asked.repo, near.join(", "));
}

/// What lies in a folder, as a line.
fn entry(child: &FolderItem) -> String {
    match (child.files, &child.language) {
        (Some(files), _) => format!("{}/ ({})\n", child.name, count(files, "file", "files")),
        (None, Some(language)) => {
            format!("{} ({language}, {})\n", child.name, count(child.bytes, "byte", "bytes"))
        }
        (None, None) => format!("{} ({})\n", child.name, count(child.bytes, "byte", "bytes")),
    }
}

/// The lines of a text that were asked for, as many as there is room for.
fn lines(what: &str, text: &str, asked: &ReadFile) -> Result<String> {
    let all = text.split_terminator('\n').count();
    let (from, to) = (asked.from_line, asked.to_line.unwrap_or(all).min(all));
    if all == 0 {
        return Ok(format!("{what}, and nothing in it."));
    }
    if from == 0 || from > all {
        bail!("from_line: there are lines 1 to {all}");
    }
    if to < from {
        bail!("to_line: it is before from_line");
    }
    let full =
        format!("the answer is full, at {MAX_ANSWER_BYTES} bytes. For the rest, read again with");
    let mut shown = Text::default();
    let wanted = text.split_terminator('\n').enumerate().skip(from - 1).take(to + 1 - from);
    for (at, line) in wanted {
        let number = at + 1;
        let skip = if number == from { line.floor_char_boundary(asked.from_byte) } else { 0 };
        if shown.add(&format!("{number}:{}\n", &line[skip..])) {
            continue;
        }
        if number > from {
            return Ok(shown.below(&format!(
                "{what}. Lines {from} to {at} of {all}; {full} from_line={number}."
            )));
        }
        // One line that is longer than an answer.
        let start = format!("{number}:");
        let end = line.floor_char_boundary(skip + shown.room() - start.len() - 1);
        shown.add(&format!("{start}{}\n", &line[skip..end]));
        return Ok(shown.below(&format!(
            "{what}. Bytes {skip} to {end} of {} in line {number} of {all}; {full} from_line={number} and \
             from_byte={end}.",
            line.len()
        )));
    }
    Ok(shown.below(&format!("{what}. Lines {from} to {to} of {all}.")))
}

pub(super) async fn find_file(searcher: &Searcher, asked: FindFile) -> Result<String> {
    check_limit(asked.limit)?;
    if asked.typed.trim().is_empty() {
        bail!("typed: give some letters of the path");
    }
    let tree = searcher.tree().await?;
    let (limit, offset) = (asked.limit, asked.offset as usize);
    // It looks at every path there is.
    let languages = asked.language.as_deref().map_or(Ok(Vec::new()), query::languages);
    let languages = languages.map_err(|why| anyhow!("language: {why}"))?;
    let work = tokio::task::spawn_blocking(move || found(&tree, &asked, &languages));
    let (files, all) = work.await.expect("finding does not panic").context("typed")?;
    Ok(list(&files, limit, offset, all, ("file", "files")))
}

/// The files that were found after some others, as lines, and how many there are in all.
fn found(
    tree: &Tree,
    asked: &FindFile,
    languages: &[String],
) -> Result<(Vec<String>, usize), QueryTooLong> {
    let offset = asked.offset as usize;
    let (near, all) = tree.find(&FindRequest {
        query: &asked.typed,
        repo: asked.repo.as_deref(),
        languages,
        limit: offset + asked.limit,
    })?;
    let line = |near: NearFile| {
        let language = near.language.map_or(String::new(), |name| format!(" ({name})"));
        format!("{}: {}{language}\n", near.repo, near.path)
    };
    Ok((near.into_iter().skip(offset).map(line).collect(), all))
}

pub(super) async fn list_repos(searcher: &Searcher, asked: ListRepos) -> Result<String> {
    check_limit(asked.limit)?;
    let mut repos = searcher.store().repos().await?;
    if repos.is_empty() {
        bail!(store::Error::Empty);
    }
    if let Some(part) = asked.filter.map(|part| part.to_lowercase()) {
        repos.retain(|repo| repo.name.to_lowercase().contains(&part));
    }
    let offset = asked.offset as usize;
    let lines: Vec<String> = repos
        .iter()
        .skip(offset)
        .take(asked.limit)
        .map(|repo| {
            format!(
                "{} ({}, {:.1} MB of text, {} left out, indexed at {})\n",
                repo.name,
                count(repo.files as usize, "file", "files"),
                repo.bytes as f64 / 1e6,
                repo.skipped,
                repo.indexed_at
            )
        })
        .collect();
    Ok(list(&lines, asked.limit, offset, repos.len(), ("repository", "repositories")))
}

fn check_limit(limit: usize) -> Result<()> {
    if (1..=MAX_ENTRIES).contains(&limit) {
        return Ok(());
    }
    bail!("limit: give a number from 1 to {MAX_ENTRIES}");
}

/// As many lines as there is room for, of what comes after `offset` others; there are `all` in all.
fn list(
    lines: &[String],
    limit: usize,
    offset: usize,
    all: usize,
    (one, many): (&str, &str),
) -> String {
    let all_of_them = count(all, one, many);
    if lines.is_empty() {
        return match all {
            0 => format!("No {one} is like that."),
            _ => format!("No more: there are {all_of_them} in all."),
        };
    }
    let mut text = Text::default();
    let upto = offset + lines.iter().take_while(|line| text.add(line)).count();
    let from = offset + 1;
    let head = if upto == all {
        format!("{from} to {upto} of {all_of_them}. That is all.")
    } else {
        let why = if upto == offset + limit {
            "the limit was reached".to_owned()
        } else {
            format!("the answer is full, at {MAX_ANSWER_BYTES} bytes")
        };
        format!(
            "{from} to {upto} of {all_of_them}: {why}. For the rest, call again with offset={upto}, or say more \
             closely what you look for."
        )
    };
    text.below(&head)
}
