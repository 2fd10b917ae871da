//! A pager for results on a terminal: stdout becomes its input.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use nix::unistd::dup2_stdout;

/// The pager if none is named.
const USUAL: &str = "less";

/// Whether stdout leads to a terminal through a pager.
static PAGED: AtomicBool = AtomicBool::new(false);

/// Returns whether people read stdout on a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    PAGED.load(Ordering::Relaxed) || io::stdout().is_terminal()
}

/// A running pager.
pub(crate) struct Pager(Child);

impl Pager {
    /// Starts the pager of `CODESEARCH_PAGER`, or with `wanted` that of `PAGER`, or else less, if stdout is a terminal.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(wanted: bool) -> Result<Option<Self>> {
        if !io::stdout().is_terminal() {
            return Ok(None);
        }
        let variable = |name: &str| std::env::var(name).ok();
        // An empty name is none.
        let command = match (variable("CODESEARCH_PAGER"), wanted) {
            (Some(command), _) => command,
            (None, true) => variable("PAGER").unwrap_or_else(|| USUAL.to_owned()),
            (None, false) => return Ok(None),
        };
        if command.trim().is_empty() {
            return Ok(None);
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).stdin(Stdio::piped());
        // As git does: less passes colours on, and ends at once if everything fits.
        if std::env::var_os("LESS").is_none() {
            shell.env("LESS", "FRX");
        }
        let mut child =
            shell.spawn().with_context(|| format!("cannot start the pager {command}"))?;
        if let Some(input) = child.stdin.take() {
            dup2_stdout(&input).context("cannot start the pager")?;
        }
        PAGED.store(true, Ordering::Relaxed);
        Ok(Some(Self(child)))
    }

    /// Ends its input, and waits until its reader has left it.
    pub(crate) fn wait(mut self) {
        let _ = io::stdout().flush();
        // The last copy of the pipe is closed by taking its place.
        if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
            let _ = dup2_stdout(&nowhere);
        }
        let _ = self.0.wait();
    }
}
