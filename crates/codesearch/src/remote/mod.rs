//! Servers that run commands for others: which one this process asks, and how a server runs the commands of its clients.
//!
//! A command that reads the index is run by the server of this machine's index, if there is one ([`socket`]), or by the one
//! that `--server` names. Without a server, or if it dies meanwhile, the process searches by itself.

mod run;
pub(crate) mod socket;

use std::io::{self, stderr, stdout};

use anyhow::{Result, bail};
use client::{Error, Invocation, Outcome, Remote, Resumed, VERSION, Written};

use crate::cli::{Command, CommandLine, DatabaseArgs};
use crate::commands;
use crate::console::Console;
use crate::database::Index;
use crate::progress;

pub(crate) use run::Runner;

/// Runs a command that reads the index, and returns its exit status.
pub(crate) fn read(database: &DatabaseArgs, command: &Command, line: CommandLine) -> Result<u8> {
    let console = Console::own(line);
    // A server runs a command as whoever sends it.
    let remote = if database.as_user.is_some() {
        check_own(database, "--as")?;
        None
    } else {
        server(database)?
    };
    if let Some(remote) = remote {
        // A command line that is not UTF-8 cannot be sent.
        if let Some(invocation) = console.invocation(&database.only_repos) {
            match ask(&remote, invocation) {
                Ok(Outcome::Done(status)) => return Ok(status),
                Ok(Outcome::Closed) => return Ok(crate::FOUND),
                Ok(Outcome::Died(..)) if !remote.is_on_socket() => {
                    return Err(Error::Died(remote.name().to_owned()).into());
                }
                Ok(Outcome::Died(out, err)) => {
                    return read_on(database, command, console.line, out, err);
                }
                // Nothing was printed yet.
                Err(Error::Write(error)) => return Err(error.into()),
                Err(_) if remote.is_on_socket() => {}
                Err(error) => return Err(error.into()),
            }
        } else if !remote.is_on_socket() {
            bail!("an argument is not UTF-8; a server cannot run this command");
        }
    }
    crate::use_large_pages(true);
    progress::init(false);
    commands::read(command, &Index::Own(database), &console)
}

/// Runs a command by itself that a server has begun.
fn read_on(
    database: &DatabaseArgs,
    command: &Command,
    line: CommandLine,
    out: Written,
    err: Written,
) -> Result<u8> {
    crate::use_large_pages(true);
    progress::init(false);
    let (out, err) = (Resumed::new(out, stdout()), Resumed::new(err, stderr()));
    let console = Console::with(line, Box::new(out), Box::new(err));
    commands::read(command, &Index::Own(database), &console)
}

/// Refuses a command that changes or inspects an index on this machine, if the user named a server elsewhere.
pub(crate) fn check_own(database: &DatabaseArgs, command: &str) -> Result<()> {
    match &database.server {
        Some(server) if !server.is_empty() => bail!(
            "{command} works on an index of this machine, not on {server}; leave out --server, or unset CODESEARCH_SERVER"
        ),
        _ => Ok(()),
    }
}

/// Returns the server that `--server` names, or that of this machine's index; `None` if there is none.
///
/// # Errors
/// The address or its token is invalid.
pub(crate) fn server(database: &DatabaseArgs) -> Result<Option<Remote>> {
    match database.server.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => {
            let token = database.server_token.as_deref().map(client::token_of).transpose()?;
            Ok(Some(Remote::at(url, token.as_deref())?))
        }
        None => Ok(socket::path(database).and_then(|path| Remote::on_socket(&path).ok())),
    }
}

/// Has a server run a command, until it ends or this process is interrupted.
fn ask(remote: &Remote, invocation: Invocation) -> Result<Outcome, Error> {
    let version = remote.is_on_socket().then(|| VERSION.to_owned());
    let invocation = Invocation { version, ..invocation };
    let failed = |error: io::Error| Error::Invalid(format!("cannot start: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let done = runtime.block_on(async {
        let (mut out, mut err) = (stdout(), stderr());
        tokio::select! {
            done = client::run(remote, invocation, &mut out, &mut err) => done,
            _ = tokio::signal::ctrl_c() => Ok(Outcome::Done(crate::INTERRUPTED)),
        }
    });
    runtime.shutdown_background();
    done
}
