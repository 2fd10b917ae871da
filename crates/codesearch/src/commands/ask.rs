//! `codesearch ask`: prints the files that answer a question best.

use anyhow::Result;
use search::Holds;
use search::ask;

use super::refused;
use crate::cli::AskArgs;
use crate::console::Console;
use crate::database::Index;
use crate::print::Paths;
use crate::print::ask::print;
use request::ask_answer::{Answer, has_failed, notes, stopped, summary};
use request::hints::missing_repository;
use request::{AskOptions, Client, Here};

pub(crate) fn run(index: &Index<'_>, console: &Console, args: &AskArgs) -> Result<u8> {
    let question = args.question.join(" ");
    let options = AskOptions {
        repos: args.repo.clone(),
        files: args.file.clone(),
        languages: args.lang.clone(),
        rev: args.rev.clone(),
        worktree: args.worktree.clone(),
        limit: Some(usize::from(args.limit)),
        lines: Some(usize::from(args.lines)),
        timeout: args.timeout,
        brute: args.brute,
    };
    let mut asking = request::ask(&question, &options, &Client::COMMAND_LINE).map_err(refused)?;
    asking.current.clone_from(&console.folder);
    asking.checks_disk = console.stderr_is_terminal || args.json;
    let parallel = std::thread::available_parallelism().map_or(2, usize::from);
    index.read(2 * parallel as u32, parallel, async |view| {
        let here = Here::of(view, console.folder.as_deref()).await?;
        let view = &here.in_view(view);
        let paths = Paths::of(here, console, false);
        if args.wait {
            let holds = if matches!(index, Index::Own(_)) { Holds::Nothing } else { Holds::ATurn };
            let mut among = asking.among.as_ref().clone();
            let note = view.await_fresh(&among, holds).await?;
            among.notes.extend(note);
            asking.among = among.into();
        }
        let asked = ask::ask(view, &asking).await?;
        audit::told().files(asked.files.iter().map(|found| &found.file));
        let answer = args.json.then(|| Answer::of(&question, &asked, args.explain));
        let is_read =
            super::write_answer(console, answer, |out| print(out, &asked, &paths, args, console))?;
        if !is_read {
            return Ok(crate::FOUND);
        }
        super::tell_trees(console, paths.here());
        for note in notes(&asked) {
            note!(to console, "codesearch: {note}");
        }
        if let Some(stale) = request::stale::with_command(&asked.stale) {
            note!(to console, "codesearch: {stale}");
        }
        let why = stopped(&asked);
        if has_failed(&asked.stats) || asked.unindexed > 0 {
            if let Some((_, why)) = why {
                note!(to console, "codesearch: {why}");
            }
        } else if asked.files.is_empty() {
            let missing = missing_repository(view, &args.repo).await;
            let why = missing.unwrap_or_else(|| "no file has any of these words".to_owned());
            note!(to console, "codesearch: nothing found: {why}");
        } else if console.stderr_is_terminal {
            note!(to console, "codesearch: {}", summary(&asked));
        }
        Ok(if has_failed(&asked.stats) {
            crate::FAILED
        } else if asked.files.is_empty() {
            crate::NOTHING
        } else {
            crate::FOUND
        })
    })
}
