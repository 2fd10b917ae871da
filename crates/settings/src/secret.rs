//! Where secrets are read.

use std::fmt;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Time after which a command that prints a secret is ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// Most bytes of a secret.
const MAX_BYTES: u64 = 64 << 10;

/// Where a secret is read when it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The first line of a file.
    File(PathBuf),
    /// A variable of the environment.
    Env(String),
    /// The first line that a command of the shell prints.
    Command(String),
}

/// A secret. Its `Debug` does not show it, and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

/// The reason why a secret could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("cannot read the secret in {}: {cause}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The variable is not set.
    #[error("the variable {0}, which should have a secret, is not set")]
    Env(String),
    /// The command did not print one.
    #[error("the command that should print a secret {why}: {command}")]
    Command {
        /// The command.
        command: String,
        /// What it did.
        why: String,
    },
    /// The first line is empty.
    #[error("{0} should have a secret in its first line, which is empty")]
    Empty(String),
}

impl Secret {
    /// Reads `file:PATH`, `env:NAME` or `cmd:COMMAND`. A relative path begins at `folder`.
    ///
    /// # Errors
    /// A sentence that says what to write, without a full stop and without the text, which may be a secret.
    pub(crate) fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        let empty = |kind: &str, what: &str| Err(format!("{kind} names no {what}"));
        match text.split_once(':') {
            Some(("file", "")) => empty("file:", "file"),
            Some(("file", path)) => Ok(Self::File(crate::types::absolute(path, folder)?)),
            Some(("env", name)) if name.is_empty() || name.contains(['=', '\0', ' ']) => {
                empty("env:", "variable")
            }
            Some(("env", name)) => Ok(Self::Env(name.to_owned())),
            Some(("cmd", command)) if command.trim().is_empty() => empty("cmd:", "command"),
            Some(("cmd", command)) => Ok(Self::Command(command.to_owned())),
            _ => Err(
                "a secret must not stand in this file; write file:PATH, env:NAME or cmd:COMMAND"
                    .to_owned(),
            ),
        }
    }

    /// Reads the secret. This may run a command, for up to 30 s: call it where a thread may wait.
    ///
    /// # Errors
    /// It cannot be read, or is empty.
    pub fn read(&self) -> Result<Hidden, SecretError> {
        let text = match self {
            Self::File(file) => std::fs::File::open(file)
                .and_then(|opened| {
                    let mut text = String::new();
                    opened.take(MAX_BYTES).read_to_string(&mut text).map(|_| text)
                })
                .map_err(|cause| SecretError::File { file: file.clone(), cause })?,
            Self::Env(name) => std::env::var(name).map_err(|_| SecretError::Env(name.clone()))?,
            Self::Command(command) => printed_by(command)
                .map_err(|why| SecretError::Command { command: command.clone(), why })?,
        };
        let line = text.lines().next().unwrap_or_default().trim();
        if line.is_empty() {
            return Err(SecretError::Empty(self.to_string()));
        }
        Ok(Hidden(line.to_owned()))
    }
}

/// Where it is read, as in the file.
impl fmt::Display for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(to, "file:{}", file.display()),
            Self::Env(name) => write!(to, "env:{name}"),
            Self::Command(command) => write!(to, "cmd:{command}"),
        }
    }
}

impl Hidden {
    /// Hides a secret that was read elsewhere.
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

    /// Returns the secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Hidden(..)")
    }
}

/// Runs a command and returns what it prints.
fn printed_by(command: &str) -> Result<String, String> {
    let child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // So that what it started ends with it.
        .process_group(0)
        .spawn();
    let mut child = child.map_err(|error| format!("cannot be run: {error}"))?;
    let group = Pid::from_raw(child.id() as i32);
    let out = child.stdout.take().expect("it is piped");
    let (send, done) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = out.take(MAX_BYTES).read_to_string(&mut text).map(|_| text);
        let status = child.wait();
        let _ = send.send((read, status));
    });
    let Ok((read, status)) = done.recv_timeout(PATIENCE) else {
        let _ = killpg(group, Signal::SIGKILL);
        return Err(format!("took longer than {} s", PATIENCE.as_secs()));
    };
    let status = status.map_err(|error| format!("was lost: {error}"))?;
    if !status.success() {
        return Err(format!("failed ({status})"));
    }
    read.map_err(|error| format!("printed what is no text: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::parse(text, Path::new("/etc/codesearch")).unwrap()
    }

    #[test]
    fn a_secret_is_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "  abc \nsecond\n").unwrap();
        let file = Secret::parse("file:token", folder.path()).unwrap();
        assert_eq!(file.read().unwrap().reveal(), "abc");
        assert_eq!(secret("cmd:printf 'x y\\nz'").read().unwrap().reveal(), "x y");
        assert_eq!(secret("env:PATH").read().unwrap().reveal(), std::env::var("PATH").unwrap());
        assert_eq!(secret("file:token").to_string(), "file:/etc/codesearch/token");
    }

    #[test]
    fn what_has_no_secret_says_so() {
        for (text, expected) in [
            (
                "env:CODESEARCH_NO_SUCH",
                "the variable CODESEARCH_NO_SUCH, which should have a secret, is not set",
            ),
            (
                "cmd:exit 3",
                "the command that should print a secret failed (exit status: 3): exit 3",
            ),
            ("cmd:true", "cmd:true should have a secret in its first line, which is empty"),
            (
                "file:/no/such",
                "cannot read the secret in /no/such: No such file or directory (os error 2)",
            ),
        ] {
            assert_eq!(secret(text).read().unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Hidden::new("abc".to_owned())), "Hidden(..)");
        let wrong = Secret::parse("ghp_abcdef", Path::new("/")).unwrap_err();
        assert_eq!(
            wrong,
            "a secret must not stand in this file; write file:PATH, env:NAME or cmd:COMMAND"
        );
    }
}
