//! The tools for files and repositories: read a file or folder, find files by path, list repositories.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use browse::{FindRequest, LeftOut, NearFile};
use files::{SECRET, is_private_key, looks_secret};
use fuzzy::QueryTooLong;
use rmcp::schemars::JsonSchema;
use search::View;
use search::{FolderItem, Tree};
use serde::Deserialize;
use serde_json::{Value, json};
use store::{MAIN_TREE, Repo, RepoTrees};

use super::answer::{Answer, Text, count, default_bytes};
use super::near::{check_repo, no_file};
use super::outline::{lines_of_symbol, outline_from};
use request::about::{about_json, about_words};
use request::fresh;
use request::human;
use request::scip::scip_text;

/// Trees named of a repository in JSON.
const MOST_TREES: usize = 20;

/// Default number of files or repositories in an answer.
const ENTRIES: usize = 50;

/// What can be asked of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ReadFile {
    /// The repository, as answers name it.
    repo: String,
    /// A file or folder in it; empty for the root.
    #[serde(default)]
    path: String,
    /// A branch, tag, commit or worktree; the current file if left out.
    #[serde(default)]
    revision: Option<String>,
    /// Read only this definition: bar, or Foo.bar.
    #[serde(default)]
    symbol: Option<String>,
    /// The first line.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    from_line: usize,
    /// The last line.
    #[serde(default)]
    #[schemars(range(min = 1))]
    to_line: Option<usize>,
    /// Bytes of a long first line to skip.
    #[serde(default)]
    #[schemars(range(min = 0))]
    from_byte: usize,
    /// List definitions instead of lines.
    #[serde(default)]
    outline: bool,
    /// Most bytes.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    max_bytes: usize,
}

/// What can be asked of `find_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct FindFile {
    /// Some letters of the path in order (fmtprint finds src/fmt/print.go), or several parts.
    typed: String,
    /// Only repositories with this in their names.
    #[serde(default)]
    repo: Option<String>,
    /// Only this language: rust or rs.
    #[serde(default)]
    language: Option<String>,
    /// Most files.
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = 500))]
    limit: usize,
    /// Files to skip: those of earlier answers.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    offset: usize,
    /// Most bytes.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    max_bytes: usize,
}

/// What can be asked of `list_repos`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ListRepos {
    /// Only names with this.
    #[serde(default)]
    filter: Option<String>,
    /// Most repositories.
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = 500))]
    limit: usize,
    /// Repositories to skip.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    offset: usize,
    /// Most bytes.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    max_bytes: usize,
}

fn first() -> usize {
    1
}

fn entries() -> usize {
    ENTRIES
}

pub(super) const READ: &str = "Reads a file, some of its lines, or the definition of one symbol, as NUMBER:LINE; \
or lists a folder. With outline, lists what the file defines, as FIRST-LAST: KIND NAME. The first line gives the range and the \
total.";

pub(super) const FIND: &str = "Finds files by parts of their paths, gaps and typing errors allowed, the best first. \
It does not search contents; search does.";

pub(super) const LIST: &str = "Lists the indexed repositories: names, sizes, trees, what their hosts say, and how fresh they are.";

pub(super) async fn read_file(view: &View, mut asked: ReadFile) -> Result<Answer> {
    check_repo(view, &asked.repo).await?;
    let tree = view.tree().await?;
    let Some(repo) = tree.repo(&asked.repo) else {
        bail!("the repository {} has no files; list_repos tells why", asked.repo);
    };
    audit::told().file(&asked.repo);
    let path = plain_path(&asked.path);
    let path = path.as_str();
    let is_file = matches!(tree.file(&asked.repo, path), Ok(Some(_)));
    if asked.outline && (is_file || tree.folder(repo, path)?.is_none()) {
        let revision = asked.revision.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let at = (asked.repo.as_str(), path, revision);
        return outline_from(view, at, asked.from_line, asked.max_bytes).await;
    }
    if let Some(revision) = asked.revision.take().filter(|revision| !revision.trim().is_empty()) {
        return read_at(view, asked, path, revision.trim()).await;
    }
    if let Some(document) = browse::file_text(view, &asked.repo, path).await? {
        let language = document.language.map_or(String::new(), |name| format!("{name}, "));
        let mut what = format!("{language}{}", count(document.text.len(), "byte", "bytes"));
        if let Some(encoding) = human::encoding(document.encoding) {
            what = format!("{what} of text from {encoding}");
        }
        if looks_secret(path) || is_private_key(path, &document.text) {
            what = format!("{what}, {SECRET}");
        }
        if let Some(key) = document.stored {
            let stale = view.stale_file(&asked.repo, path, key).await;
            if let Some(stale) = request::stale::of_file(&stale) {
                what = format!("{what}. Note: {stale}");
            }
        }
        if let Some(symbol) = asked.symbol.take().filter(|symbol| !symbol.trim().is_empty()) {
            what = narrow(view, &mut asked, (path, None), (&symbol, what)).await?;
        }
        return lines(&what, &document.text, &asked);
    }
    if let Some(children) = tree.folder(repo, path)? {
        let text: String = children.iter().map(entry).collect();
        return lines("A folder", &text, &asked);
    }
    if let Some(why) = browse::why_left_out(view, &asked.repo, path).await? {
        bail!("'{path}' in {} is not in the index: it was left out ({why})", asked.repo);
    }
    Err(no_file(view, &asked.repo, path).await)
}

/// Chooses the lines of a symbol, at a revision if one is given. Returns the description of the file with them.
async fn narrow(
    view: &View,
    asked: &mut ReadFile,
    at: (&str, Option<&str>),
    (symbol, what): (&str, String),
) -> Result<String> {
    let symbol = symbol.trim();
    let (first, last, others) = lines_of_symbol(view, &asked.repo, at, symbol).await?;
    asked.from_line = asked.from_line.max(first);
    asked.to_line = Some(asked.to_line.map_or(last, |to| to.min(last)));
    let what = format!("{what}. {symbol} is in lines {first} to {last}.{others}");
    Ok(what.trim_end_matches('.').to_owned())
}

/// Reads a file or folder of another tree of a repository.
async fn read_at(view: &View, mut asked: ReadFile, path: &str, revision: &str) -> Result<Answer> {
    if let Some(document) = browse::file_text_at(view, &asked.repo, path, revision).await? {
        let language = document.language.map_or(String::new(), |name| format!("{name}, "));
        let bytes = count(document.text.len(), "byte", "bytes");
        let mut what = format!("At {revision}: {language}{bytes}");
        if looks_secret(path) || is_private_key(path, &document.text) {
            what = format!("{what}, {SECRET}");
        }
        if let Some(symbol) = asked.symbol.take().filter(|symbol| !symbol.trim().is_empty()) {
            what = narrow(view, &mut asked, (path, Some(revision)), (&symbol, what)).await?;
        }
        return lines(&what, &document.text, &asked);
    }
    let at = view.tree_at(&asked.repo, revision).await?;
    let mut folder = None;
    if let Some(at) = &at
        && let Some(repo) = at.tree().repo(&asked.repo)
    {
        folder = at.tree().folder(repo, path)?.map(|children| (children, at.is_indexed()));
    }
    let Some((children, has_sizes)) = folder else {
        bail!(
            "{} has no file or folder '{path}' at {revision}; try it without revision",
            asked.repo
        );
    };
    let plain = |child: &FolderItem| match child.files {
        None if !has_sizes => format!("{}\n", child.name),
        _ => entry(child),
    };
    let text: String = children.iter().map(plain).collect();
    lines(&format!("A folder at {revision}"), &text, &asked)
}

/// Removes the redundant parts of a path: `./fmt//print.go/` is `fmt/print.go`.
fn plain_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Formats an item of a folder as a line.
fn entry(child: &FolderItem) -> String {
    match (child.files, &child.language) {
        (Some(files), _) => format!("{}/ ({})\n", child.name, count(files, "file", "files")),
        (None, Some(language)) => {
            format!("{} ({language}, {})\n", child.name, count(child.bytes, "byte", "bytes"))
        }
        (None, None) => format!("{} ({})\n", child.name, count(child.bytes, "byte", "bytes")),
    }
}

/// Returns the requested lines of a text, as many as fit.
fn lines(what: &str, text: &str, asked: &ReadFile) -> Result<Answer> {
    let all = text.split_terminator('\n').count();
    let (from, to) = (asked.from_line, asked.to_line.unwrap_or(all).min(all));
    if all == 0 {
        let answer = Answer::bare(format!("{what}, empty."), "lines");
        return Ok(answer.and("first_line", json!(0)));
    }
    if from == 0 || from > all {
        bail!("the argument from_line takes a line of the file, from 1 to {all}");
    }
    if to < from {
        bail!("the argument to_line must not be less than from_line");
    }
    let full =
        format!("the answer is full, at {} bytes. For the rest, read again with", asked.max_bytes);
    let mut shown = Text::of(asked.max_bytes);
    let wanted = text.split_terminator('\n').enumerate().skip(from - 1).take(to + 1 - from);
    for (at, line) in wanted {
        let number = at + 1;
        let skip = if number == from { line.floor_char_boundary(asked.from_byte) } else { 0 };
        if shown.add(&format!("{number}:{}\n", &line[skip..])) {
            shown.note(json!(line[skip..]));
            continue;
        }
        if number > from {
            let head = format!("{what}. Lines {from} to {at} of {all}; {full} from_line={number}.");
            return Ok(shown.below(&head, "lines", "").and("first_line", json!(from)));
        }
        // A single line that is longer than an answer.
        let start = format!("{number}:");
        let end = line.floor_char_boundary(skip + shown.room() - start.len() - 1);
        shown.add(&format!("{start}{}\n", &line[skip..end]));
        shown.note(json!(line[skip..end]));
        let head = format!(
            "{what}. Bytes {skip} to {end} of {} in line {number} of {all}; {full} from_line={number} and \
             from_byte={end}.",
            line.len()
        );
        return Ok(shown.below(&head, "lines", "").and("first_line", json!(from)));
    }
    let head = format!("{what}. Lines {from} to {to} of {all}.");
    Ok(shown.below(&head, "lines", "").and("first_line", json!(from)))
}

pub(super) async fn find_file(view: &View, asked: FindFile) -> Result<Answer> {
    if asked.typed.trim().is_empty() {
        bail!("the argument typed is empty; give some letters of a path");
    }
    let tree = view.tree().await?;
    let page = (asked.limit, asked.offset, asked.max_bytes);
    // The search visits every path.
    let languages = asked.language.as_deref().map_or(Ok(Vec::new()), query::languages);
    let languages = languages.map_err(|why| anyhow!("{why}"))?;
    let lacking = tree.lacking(asked.repo.as_deref());
    let missing = request::notes::missing(&tree.missing()).or(lacking);
    let typed = asked.typed.clone();
    let work = tokio::task::spawn_blocking(move || found(&tree, &asked, &languages));
    let (files, all) = work.await.expect("finding does not panic").context("typed")?;
    audit::told().results(files.iter().filter_map(|(_, item)| item["repo"].as_str()));
    if all == 0
        && let Some(LeftOut { repo, path, why }) = browse::left_out_file(view, &typed).await?
    {
        let text = format!("No similar file. {repo}: {path} was left out of the index ({why}).");
        return Ok(Answer::bare(text, "files").and("next_offset", Value::Null));
    }
    Ok(list(files, page, (all, missing), ("file", "files", "files")))
}

/// Returns the files found after the first `offset`, as lines, and the number of all files found.
fn found(
    tree: &Tree,
    asked: &FindFile,
    languages: &[String],
) -> Result<(Vec<(String, Value)>, usize), QueryTooLong> {
    let offset = asked.offset;
    let (near, all) = browse::find(
        tree,
        &FindRequest {
            query: &asked.typed,
            repo: asked.repo.as_deref(),
            languages,
            limit: offset + asked.limit,
        },
    )?;
    let line = |near: NearFile| {
        let language = near.language.as_ref();
        let language = language.map_or(String::new(), |name| format!(" ({name})"));
        let mut item = json!({ "repo": near.repo, "path": near.path });
        if let Some(language) = &near.language {
            item["language"] = json!(language);
        }
        (format!("{}: {}{language}\n", near.repo, near.path), item)
    };
    Ok((near.into_iter().skip(offset).map(line).collect(), all))
}

pub(super) async fn list_repos(view: &View, asked: ListRepos) -> Result<Answer> {
    let mut repos = view.repos().await?;
    if repos.is_empty() {
        bail!(store::Error::Empty);
    }
    if let Some(part) = asked.filter.map(|part| part.to_lowercase()) {
        repos.retain(|repo| repo.name.to_lowercase().contains(&part));
    }
    let listed = repos.iter().skip(asked.offset).take(asked.limit);
    audit::told().results(listed.map(|repo| repo.name.as_str()));
    let imports = view.scip_imports().await?;
    let catalog = view.catalog().await?;
    let queue = view.queue_places().await?;
    let trees_of = |repo: &Repo| -> Vec<String> {
        let trees = catalog.repos.get(&repo.id).map(|known| Arc::clone(&known.trees));
        let trees = trees.filter(|trees| !trees.trees.is_empty());
        let names = |trees: Arc<RepoTrees>| {
            let others = trees.trees.iter().map(|tree| tree.name.clone());
            [MAIN_TREE.to_owned()].into_iter().chain(others).collect()
        };
        trees.map(names).unwrap_or_default()
    };
    let offset = asked.offset;
    let lines: Vec<(String, Value)> = repos
        .iter()
        .skip(offset)
        .take(asked.limit)
        .map(|repo| {
            let scip = imports.iter().filter(|import| import.repo == repo.id);
            let scip: Vec<String> = scip.map(scip_text).collect();
            let mut item = json!({
                "repo": repo.name, "files": repo.files, "bytes": repo.bytes, "left_out": repo.skipped,
                "indexed_at": repo.indexed_at, "scip": &scip,
            });
            if !repo.metadata.is_empty() {
                item["about"] = about_json(&repo.metadata);
            }
            let members = fresh::members(repo, queue.get(&repo.id));
            for (name, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
                item[name] = value;
            }
            let trees = trees_of(repo);
            if !trees.is_empty() {
                item["trees"] = json!(&trees[..trees.len().min(MOST_TREES)]);
                item["trees_total"] = json!(trees.len());
            }
            let scip = if trees.is_empty() {
                scip
            } else {
                [scip, vec![format!("trees: {}", human::trees(&trees))]].concat()
            };
            let about = &repo.metadata;
            let topics = about.properties.topics.join(", ");
            let topics = (!topics.is_empty()).then(|| format!("topics: {topics}"));
            let said = [about_words(about), topics.into_iter().collect()].concat();
            let scip = [scip, said, about.description.iter().cloned().collect()].concat();
            let troubles = fresh::troubles(repo, queue.get(&repo.id));
            let scip = [&[String::new()], scip.as_slice(), troubles.as_slice()].concat().join("; ");
            let line = format!(
                "{} ({}, {:.1} MB of text, {} left out, looked at {}{scip})\n",
                repo.name,
                count(repo.files as usize, "file", "files"),
                repo.bytes as f64 / 1e6,
                repo.skipped,
                fresh::time(repo.looked_at)
            );
            (line, item)
        })
        .collect();
    let page = (asked.limit, offset, asked.max_bytes);
    Ok(list(lines, page, (repos.len(), None), ("repository", "repositories", "repositories")))
}

/// Formats an answer with as many of the lines as fit. They follow `offset` earlier ones; `all` is the total.
fn list(
    lines: Vec<(String, Value)>,
    (limit, offset, max_bytes): (usize, usize, usize),
    (all, missing): (usize, Option<String>),
    (one, many, name): (&str, &str, &str),
) -> Answer {
    let all_of_them = count(all, one, many);
    let incomplete = missing.as_ref().map(|why| format!(" There may be more: {why}."));
    let incomplete = incomplete.unwrap_or_default();
    if lines.is_empty() {
        let text = match all {
            0 => format!("No similar {one}.{incomplete}"),
            _ => format!("No more: the total is {all_of_them}.{incomplete}"),
        };
        return Answer::bare(text, name).and("next_offset", Value::Null);
    }
    let mut text = Text::of(max_bytes);
    let mut upto = offset;
    for (line, item) in lines {
        if !text.add(&line) {
            break;
        }
        text.note(item);
        upto += 1;
    }
    let from = offset + 1;
    let head = if upto == all {
        let end = if missing.is_none() { " That is all." } else { &*incomplete };
        format!("{from} to {upto} of {all_of_them}.{end}")
    } else {
        let why = if upto == offset + limit {
            "the limit was reached".to_owned()
        } else {
            format!("the answer is full, at {max_bytes} bytes")
        };
        format!(
            "{from} to {upto} of {all_of_them}: {why}. For the rest, call again with offset={upto}, or narrow the \
             search.{incomplete}"
        )
    };
    let next = if upto == all { Value::Null } else { json!(upto) };
    text.below(&head, name, "").and("next_offset", next)
}
