//! `codesearch diff`: prints what changed between two revisions, or searches it.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use query::{Comparison, CompiledQuery, Query, Tree};
use search::changes::{Comparing, Range};
use search::{Stopped, View};
use tokio::sync::mpsc;

use super::scope;
use crate::cli::DiffArgs;
use crate::console::Console;
use crate::database::{Index, connections, cores};
use crate::print::Paths;
use crate::print::diff::DiffPrinter;
use request::Here;
use request::hints::missing_repository;
use request::shell::word;

/// Batches of files that the comparison may be ahead of the printer.
const FOUND_AHEAD: usize = 2;

pub(crate) fn run(index: &Index<'_>, console: &Console, args: &DiffArgs) -> Result<u8> {
    let Some(comparison) = Comparison::parse(&args.range) else {
        let range = &args.range;
        bail!(
            "{range} names no two revisions; write A..B, such as {} or {}",
            word(&format!("{range}..HEAD")),
            word(&format!("{range}^..{range}"))
        );
    };
    let is_path = |word: &&String| scope::is_path(console, word);
    let (paths, words): (Vec<&String>, Vec<&String>) = args.words.iter().partition(is_path);
    if !words.is_empty() {
        let words: Vec<String> = words.into_iter().chain(paths).cloned().collect();
        return super::search::run(index, console, &args.search(&words));
    }
    index.read(connections(), cores(), async |view| {
        let here = Here::of(view, console.folder.as_deref()).await?;
        // In a worktree, HEAD is what is checked out there.
        let view = &here.in_view(view);
        let shown = Paths::of(here, console, false);
        let repo = repository(view, shown.here(), args).await?;
        let condition = condition(shown.here(), &paths)?;
        let what = Comparing {
            repo,
            range: Range::Between(comparison),
            paths: Arc::new(CompiledQuery::new(&Query::from_tree(condition))?),
            files: (0, usize::MAX),
            timeout: args.timeout,
        };
        audit::told().repo(&what.repo);
        let mut printer = DiffPrinter::new(args, console, &what.repo, shown);
        let mut out = console.plain_stdout();
        let (found, files) = mpsc::channel(FOUND_AHEAD);
        let printing = async {
            // Moved into this future, so that the receiver is dropped when printing fails. That ends the comparison.
            let mut files = files;
            while let Some(batch) = files.recv().await {
                for file in &batch {
                    printer.file(&mut out, file)?;
                }
                out.flush()?;
            }
            printer.end(&mut out)?;
            out.flush()
        };
        let (compared, output) = tokio::join!(view.compare(&what, found), printing);
        match output {
            // The reader has closed the pipe: `codesearch diff A..B | head`.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                return Ok(crate::FOUND);
            }
            output => output.context("cannot write")?,
        }
        let compared = compared?;
        match &compared.stopped {
            Some(Stopped::Timeout(timeout)) => {
                note!(to console, "codesearch: timed out after {timeout:?}; there may be more (raise --timeout)");
            }
            Some(Stopped::Shards(why) | Stopped::Revision(why)) => {
                note!(to console, "codesearch: incomplete: {why}");
            }
            Some(Stopped::Limit) | None if compared.files == 0 => {
                let what = request::changes::compared(&compared);
                note!(to console, "codesearch: nothing changed: {what}");
            }
            Some(Stopped::Limit) | None => {}
        }
        Ok(match compared.stopped {
            Some(Stopped::Timeout(_) | Stopped::Shards(_) | Stopped::Revision(_)) => crate::FAILED,
            _ if compared.files == 0 => crate::NOTHING,
            _ => crate::FOUND,
        })
    })
}

/// Returns the repository whose revisions are compared.
async fn repository(view: &View, here: &Here, args: &DiffArgs) -> Result<String> {
    let repos = view.repos().await?;
    if let Some(name) = &args.repo {
        if repos.iter().any(|repo| repo.name == *name) {
            return Ok(name.clone());
        }
        let missing = missing_repository(view, std::slice::from_ref(name)).await;
        let missing = missing.unwrap_or_else(|| format!("{name} is a part of several names"));
        bail!("--repo: {missing}; give a whole name, as codesearch repos lists it");
    }
    match (here.inside(), repos.as_slice()) {
        (Some(inside), _) => Ok(inside.repo.clone()),
        (None, [only]) => Ok(only.name.clone()),
        (None, _) => Err(anyhow!(
            "the current folder is in no indexed repository; name the repository with --repo, or go to its folder"
        )),
    }
}

/// Returns the condition for files at or below one of some paths.
fn condition(here: &Here, paths: &[&String]) -> Result<Tree> {
    let mut any = Vec::new();
    for path in paths {
        match here.below(path)? {
            Some(below) => any.push(below.condition),
            None => bail!("{path} is in no indexed repository"),
        }
    }
    Ok(if any.is_empty() { Tree::every_file() } else { Tree::any(any) })
}
