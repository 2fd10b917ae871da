//! The subcommands, one file for each.

pub(crate) mod access;
pub(crate) mod ask;
pub(crate) mod audit;
mod beside;
mod by_path;
mod by_rank;
pub(crate) mod check;
mod collected;
pub(crate) mod config;
pub(crate) mod db;
pub(crate) mod diff;
pub(crate) mod docs;
pub(crate) mod files;
pub(crate) mod git_hook;
mod globs;
mod hints;
pub(crate) mod ingest;
mod keep;
pub(crate) mod mcp;
pub(crate) mod mirror;
pub(crate) mod monitor;
pub(crate) mod navigate;
mod ordered;
mod patterns;
pub(crate) mod rebuild;
pub(crate) mod repos;
pub(crate) mod scip;
mod scope;
pub(crate) mod search;
pub(crate) mod serve;
mod serve_identity;
pub(crate) mod sql;
pub(crate) mod stats;
pub(crate) mod symbols;
pub(crate) mod token;
pub(crate) mod up;

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use request::{Here, Refused};

use crate::cli::Command;
use crate::console::Console;
use crate::database::Index;

/// Runs a command that reads the index, on a console.
///
/// # Errors
/// Those of the command; or it is not such a command ([`Command::reads_index`]).
pub(crate) fn read(command: &Command, index: &Index<'_>, console: &Console) -> Result<u8> {
    match command {
        Command::Search(args) => search::run(index, console, args),
        Command::Diff(args) => diff::run(index, console, args),
        Command::Files(args) => files::run(index, console, args),
        Command::Def(args) => navigate::definitions(index, console, args),
        Command::Refs(args) => navigate::references(index, console, args),
        Command::Outline(args) => navigate::outline(index, console, args),
        Command::Docs(args) => docs::run(index, console, args),
        Command::Ask(args) => ask::run(index, console, args),
        _ => bail!("this command does not read the index"),
    }
}

/// Tells people which trees were searched instead of main ones.
fn tell_trees(console: &Console, here: &Here) {
    if let Some(trees) = here.trees_note().filter(|_| console.stderr_is_terminal) {
        note!(to console, "codesearch: {trees}");
    }
}

/// Writes an answer to standard output: as JSON, or by `print` if there is none. Returns false if the reader has closed the pipe:
/// `codesearch ask x | head`.
fn write_answer(
    console: &Console,
    json: Option<impl serde::Serialize>,
    print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<bool> {
    let mut out = console.plain_stdout();
    let printed = match json {
        Some(answer) => serde_json::to_writer(&mut out, &answer)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        None => print(&mut out),
    };
    match printed.and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => {
            other.context("cannot write")?;
            Ok(true)
        }
    }
}

/// Turns a refusal into an error that names an option as the command line does.
fn refused(refused: Refused) -> anyhow::Error {
    match refused {
        Refused::Query(error) => error.into(),
        Refused::Option { name, why } => anyhow::anyhow!("--{name}: {why}"),
    }
}

/// `codesearch syntax`: prints the manual of the query language.
pub(crate) fn syntax() -> anyhow::Result<u8> {
    say!("{}", include_str!("../../../../docs/syntax.md").trim_end());
    Ok(crate::FOUND)
}
