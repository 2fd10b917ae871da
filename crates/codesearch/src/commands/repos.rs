//! `codesearch repos`, `remove` and `init`: lists and changes the contents of the index.

use std::io::{IsTerminal, stdout};
use std::sync::Arc;

use anyhow::{Context, Result};
use ingest::{self, SkipReason};
use serde_json::json;
use store::LeftOutRow;

use crate::cli::{DatabaseArgs, InitArgs, RemoveArgs, ReposArgs};
use crate::database::Database;
use crate::progress::IngestProgress;
use request::about::{about_json, about_words};
use request::fresh;
use request::hints::near_name;
use request::human::{self, count, since, size};
use request::scip::{scip_json, scip_text};

pub(crate) fn list(database: &DatabaseArgs, args: &ReposArgs) -> Result<u8> {
    Database::open_index(database, 1)?.read(1, async |view| {
        let repos = view.repos().await?;
        if let Some(name) = &args.skipped {
            let repo = repos.iter().find(|repo| repo.name == *name).with_context(|| {
                format!("no repository is named '{name}'; {}", instead(&repos, name))
            })?;
            let skipped = view.skipped(repo.id).await?;
            for LeftOutRow { path, bytes, reason, rule } in &skipped {
                if args.json {
                    say!("{}", json!({ "path": path, "bytes": bytes, "reason": reason, "rule": rule }));
                } else if let Some(rule) = rule {
                    let reason = worded(reason);
                    say!("{:>10}  {reason:<24}  {path}  ({rule})", "");
                } else {
                    say!("{:>10}  {:<24}  {path}", size(*bytes as u64), worded(reason));
                }
            }
            return Ok(if skipped.is_empty() { crate::NOTHING } else { crate::FOUND });
        }
        if repos.is_empty() {
            note!("codesearch: {}", store::Error::Empty);
            return Ok(crate::NOTHING);
        }
        let wanted = |repo: &store::Repo| {
            let name = repo.name.to_lowercase();
            args.parts.is_empty() || args.parts.iter().any(|part| name.contains(&part.to_lowercase()))
        };
        if !repos.iter().any(wanted) {
            let (parts, first) = (args.parts.join(" or "), &args.parts[0]);
            note!("codesearch: no repository's name contains {parts}; {}", instead(&repos, first));
            return Ok(crate::NOTHING);
        }
        let repos: Vec<_> = repos.into_iter().filter(wanted).collect();
        let imports = view.scip_imports().await?;
        let catalog = view.catalog().await?;
        let queue = view.queue_places().await?;
        let trees_of = |repo: &store::Repo| {
            catalog.repos.get(&repo.id).map(|known| Arc::clone(&known.trees)).unwrap_or_default()
        };
        let width = repos.iter().map(|repo| repo.name.chars().count()).max().unwrap_or(0).max(10);
        if !args.json {
            let more = if args.long { format!("{:<LONG$}  COMMIT   ", "LOOKED AT") } else { String::new() };
            let heading = ["REPOSITORY", "FILES", "TEXT", "LEFT OUT"];
            let [name, files, text, left_out] = heading;
            say!("{name:<width$} {files:>9} {text:>12} {left_out:>9}  {more}INDEXED");
        }
        let for_people = stdout().is_terminal();
        for repo in &repos {
            let scip = imports.iter().filter(|import| import.repo == repo.id);
            if args.json {
                let mut line = json!({
                    "name": repo.name, "source": repo.source, "files": repo.files, "bytes": repo.bytes,
                    "skipped": repo.skipped, "rank": repo.rank, "about": about_json(&repo.metadata), "no_ignore": repo.no_ignore,
                    "secrets": repo.secrets, "indexed_at": repo.indexed_at, "commit": repo.commit,
                    "scip": scip.map(scip_json).collect::<Vec<_>>(),
                    "trees": trees_of(repo).trees.iter().map(tree_json).collect::<Vec<_>>(),
                });
                for (name, value) in fresh::members(repo, queue.get(&repo.id)) {
                    line[name] = value;
                }
                say!("{line}");
            } else {
                let more = if args.long { long(repo, for_people) } else { String::new() };
                say!(
                    "{:<width$} {:>9} {:>12} {:>9}  {more}{}",
                    repo.name,
                    repo.files,
                    size(repo.bytes as u64),
                    repo.skipped,
                    if for_people { since(&repo.indexed_at) } else { repo.indexed_at.clone() }
                );
                let about = about_words(&repo.metadata);
                if !about.is_empty() {
                    say!("  {}", about.join(", "));
                }
                for trouble in fresh::troubles(repo, queue.get(&repo.id)) {
                    say!("  {trouble}");
                }
                if repo.no_ignore {
                    say!("  --no-ignore: with files that ignore files name");
                }
                if repo.secrets == "skip" {
                    say!("  --secrets skip: without files that look like secrets");
                }
                for import in scip {
                    say!("  {}", scip_text(import));
                }
                say_trees(&trees_of(repo).trees, !args.parts.is_empty())?;
            }
        }
        if for_people && !args.json && repos.len() > 1 {
            let files: usize = repos.iter().map(|repo| repo.files as usize).sum();
            let bytes: u64 = repos.iter().map(|repo| repo.bytes as u64).sum();
            let all = count(repos.len(), "repository");
            note!("codesearch: {all} with {} of {}", count(files, "file"), size(bytes));
        }
        let symbols = view.symbols_progress().await?;
        if !symbols.is_complete() && !args.json {
            note!(
                "codesearch: symbols are extracted from {} % of the text; codesearch symbols extracts the rest",
                symbols.percent()
            );
        }
        Ok(crate::FOUND)
    })
}

/// Width of the time at which a repository was looked at.
const LONG: usize = 20;

/// Returns the columns of `--long`: when a repository was looked at, and its commit.
fn long(repo: &store::Repo, for_people: bool) -> String {
    let looked =
        if for_people { fresh::since(repo.looked_at) } else { fresh::time(repo.looked_at) };
    let commit = repo.commit.as_deref().map_or("-", human::short);
    format!("{looked:<LONG$}  {commit:<7}  ")
}

/// Trees of a repository in a list of all repositories.
const FEW_TREES: usize = 5;

/// Prints the trees of a repository besides the main one: all of them, or the first.
fn say_trees(trees: &[store::Tree], all: bool) -> Result<()> {
    let most = if all { usize::MAX } else { FEW_TREES };
    for tree in trees.iter().take(most) {
        let commit = tree.commit.as_deref().map_or("", human::short);
        let source = tree.source.as_deref().unwrap_or_default();
        let files = count(tree.files as usize, "file");
        let line = format!("  {:<8} {}  {commit}  {files}  {source}", tree.kind.word(), tree.name);
        say!("{}", line.trim_end());
    }
    if let Some(more) = trees.len().checked_sub(most).filter(|more| *more > 0) {
        say!("  and {} (codesearch repos NAME lists all)", count(more, "more tree"));
    }
    Ok(())
}

fn tree_json(tree: &store::Tree) -> serde_json::Value {
    json!({
        "name": tree.name, "kind": tree.kind.word(), "commit": tree.commit, "files": tree.files,
        "source": tree.source,
    })
}

/// Returns the words for a stored reason.
fn worded(reason: &str) -> String {
    SkipReason::of(reason).map_or_else(|| reason.to_owned(), |reason| reason.to_string())
}

/// Suggests a name for one that no repository has.
fn instead(repos: &[store::Repo], name: &str) -> String {
    let names: Vec<&str> = repos.iter().map(|repo| repo.name.as_str()).collect();
    match near_name(name, &names) {
        Some(near) => format!("did you mean {near}?"),
        None => "codesearch repos lists them".to_owned(),
    }
}

pub(crate) fn remove(database: &DatabaseArgs, args: &RemoveArgs) -> Result<u8> {
    Database::open_index(database, 1)?.run(async |store| {
        let progress = IngestProgress::new();
        ingest::remove(store, &args.names, &|event| progress.event(event)).await?;
        say!("removed {}", count(args.names.len(), "repository"));
        Ok(crate::FOUND)
    })
}

pub(crate) fn init(database: &DatabaseArgs, args: &InitArgs) -> Result<u8> {
    Database::open(database, 1)?.run(async |store| {
        let shards = super::ingest::make_tables(store, args.shards).await?;
        if shards != args.shards {
            anyhow::bail!("the index already has {shards} shards; the number cannot change");
        }
        say!("the index has {shards} shards");
        Ok(crate::FOUND)
    })
}
