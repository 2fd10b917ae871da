//! Runs the commands of a server's clients.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use client::{Frame, Invocation, NeedsFile};
use search::View;
use server::{CommandOutput, Commands};
use tokio::sync::Notify;

use crate::cli;
use crate::commands;
use crate::console::Console;
use crate::database::{Index, Served};

/// Runs the commands that read the index.
pub(crate) struct Runner;

impl Commands for Runner {
    fn run(&self, invocation: Invocation, view: View, output: &CommandOutput) -> u8 {
        let sender = |frame| Box::new(Sender { output: output.clone(), frame });
        let console = Console::of(
            invocation,
            output.is_on_socket(),
            sender(Frame::Stdout),
            sender(Frame::Stderr),
        );
        match read(&console, view, output) {
            Ok(status) => status,
            Err(error) => {
                let needed = error.chain().find_map(|cause| {
                    cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref::<NeedsFile>()
                });
                match needed {
                    Some(NeedsFile(name)) => {
                        // If the client has gone, the exit status does not reach it either.
                        let _ = output.send(Frame::Needs, name.as_bytes());
                    }
                    None => crate::report(&console, &error),
                }
                crate::status_of(&error)
            }
        }
    }
}

fn read(console: &Console, view: View, output: &CommandOutput) -> Result<u8> {
    let cli = match cli::parse_sent(&console.line) {
        Ok(cli) => cli,
        Err(cli::Unparsed::Help(text)) => {
            say!(to console, "{}", text.trim_end());
            return Ok(crate::FOUND);
        }
        Err(cli::Unparsed::Invalid(sentence)) => return Err(anyhow!(sentence)),
    };
    if cli.database.as_user.is_some() {
        return Err(anyhow!("a server runs a command as whoever sends it; run it without --as"));
    }
    if !cli.command.reads_index() {
        let name = console.line.words.get(1).map(OsString::as_os_str).unwrap_or_default().display();
        return Err(anyhow!("a server does not run {name}; run it on the server's machine"));
    }
    let gone = Arc::new(Notify::new());
    let (client, told) = (output.clone(), Arc::clone(&gone));
    let watching = output.threads().spawn(async move {
        client.closed().await;
        told.notify_one();
    });
    let served = Served { view, output: output.clone(), gone };
    let done = commands::read(&cli.command, &Index::Served(&served), console);
    watching.abort();
    done
}

/// Sends what is written to a client.
struct Sender {
    output: CommandOutput,
    frame: Frame,
}

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.send(self.frame, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
