//! The surroundings of a command: its outputs, what it knows of the terminal, the current folder and the typed words.
//!
//! A server runs commands for clients elsewhere ([`crate::remote`]). So a command that reads the index prints only to its
//! `Console`, and asks nothing of its own process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Arguments;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use client::{Invocation, NeedsFile};

use crate::cli::CommandLine;
use crate::pager::stdout_is_terminal;
use crate::terminal::Escaped;

/// An output of a command.
type Output = Box<dyn Write + Send>;

/// Where a command prints, and what it knows of the person or program that runs it.
#[expect(clippy::struct_excessive_bools, reason = "each is known by itself")]
pub(crate) struct Console {
    pub(crate) line: CommandLine,
    /// The current folder, as far as it is known.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    /// Whether the command runs on the machine of whoever reads the output.
    pub(crate) on_same_machine: bool,
    /// Whether `NO_COLOR` is set (<https://no-color.org/>), or the terminal has no colours, as that of Emacs.
    pub(crate) no_color: bool,
    stdout: Mutex<Output>,
    stderr: Mutex<Output>,
    /// The files that a client sent; `None` if files are read from this machine's disk.
    files: Option<BTreeMap<String, Result<String, String>>>,
}

impl Console {
    /// Returns the console of this process.
    pub(crate) fn own(line: CommandLine) -> Self {
        Self::with(line, Box::new(io::stdout()), Box::new(io::stderr()))
    }

    /// Returns the console of this process with other outputs.
    pub(crate) fn with(line: CommandLine, stdout: Output, stderr: Output) -> Self {
        Self {
            line,
            folder: std::env::current_dir().ok(),
            stdout_is_terminal: stdout_is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            on_same_machine: true,
            no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                || std::env::var_os("TERM").is_some_and(|value| value == "dumb"),
            stdout: Mutex::new(stdout),
            stderr: Mutex::new(stderr),
            files: None,
        }
    }

    /// Returns the console of a client.
    pub(crate) fn of(
        invocation: Invocation,
        on_same_machine: bool,
        stdout: Output,
        stderr: Output,
    ) -> Self {
        Self {
            line: CommandLine {
                words: invocation.args.into_iter().map(OsString::from).collect(),
                configured: invocation.configured,
            },
            folder: invocation.folder.map(PathBuf::from),
            stdout_is_terminal: invocation.stdout_is_terminal,
            stderr_is_terminal: invocation.stderr_is_terminal,
            on_same_machine,
            no_color: invocation.no_color,
            stdout: Mutex::new(stdout),
            stderr: Mutex::new(stderr),
            files: Some(invocation.files),
        }
    }

    /// Describes this console to a server, which runs the command instead; `None` if a word is not UTF-8.
    pub(crate) fn invocation(&self, only_repos: &[String]) -> Option<Invocation> {
        let args: Option<Vec<String>> =
            self.line.words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
        Some(Invocation {
            configured: self.line.configured,
            folder: self.folder.as_deref().and_then(Path::to_str).map(str::to_owned),
            only_repos: only_repos.to_vec(),
            stdout_is_terminal: self.stdout_is_terminal,
            stderr_is_terminal: self.stderr_is_terminal,
            no_color: self.no_color,
            ..Invocation::new(args?)
        })
    }

    /// Returns stdout, buffered. Names come from anybody and must not control the reader's terminal: on a terminal,
    /// pictures replace control characters.
    pub(crate) fn stdout(&self) -> Escaped<BufWriter<Shared<'_>>> {
        Escaped::new(self.plain_stdout(), self.stdout_is_terminal)
    }

    /// Returns stdout, buffered, for a printer that replaces control characters by itself.
    pub(crate) fn plain_stdout(&self) -> BufWriter<Shared<'_>> {
        BufWriter::with_capacity(1 << 16, Shared(&self.stdout))
    }

    /// Prints a line to stdout.
    ///
    /// # Errors
    /// It cannot be written; the reader may have closed the pipe.
    pub(crate) fn say(&self, line: Arguments<'_>) -> io::Result<()> {
        let mut out = self.stdout();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// Prints a line to stderr, if it can be written.
    pub(crate) fn note(&self, line: Arguments<'_>) {
        let mut err = Escaped::new(Shared(&self.stderr), self.stderr_is_terminal);
        let _ = err.write_all(format!("{line}\n").as_bytes());
    }

    /// Reads a file that the command line names; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be read, is not UTF-8, or the client still has to send it ([`NeedsFile`]).
    pub(crate) fn read(&self, file: &Path) -> io::Result<String> {
        let Some(sent) = &self.files else {
            return client::read_file(file);
        };
        let name = file.to_string_lossy();
        match sent.get(&*name) {
            Some(Ok(text)) => Ok(text.clone()),
            Some(Err(why)) => Err(io::Error::other(why.clone())),
            None => Err(io::Error::other(NeedsFile(name.into_owned()))),
        }
    }

    /// Returns whether a path of the command line exists, as far as this process can tell. A client elsewhere must not learn
    /// what this machine has.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.on_same_machine
            && self.folder.as_deref().is_some_and(|folder| folder.join(path).exists())
    }
}

/// An output that several writers share.
pub(crate) struct Shared<'c>(&'c Mutex<Output>);

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Shared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().flush()
    }
}
