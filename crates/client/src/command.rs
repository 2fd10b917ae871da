//! Runs a command on a server, and prints what it prints.

use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use crate::remote::{Error, Remote, Result};
use crate::{COMMAND_PATH, Decoder, Frame, Invocation, Written};

/// Most files that a command reads. Each takes another request.
const MAX_FILES: usize = 100;

/// How a command ended.
#[derive(Debug)]
pub enum Outcome {
    /// It ended with this exit status.
    Done(u8),
    /// The server died, after this much of stdout and of stderr.
    Died(Written, Written),
    /// The reader of stdout has closed it.
    Closed,
}

/// Runs a command on a server. Dropping the future cancels the command.
///
/// # Errors
/// The server does not run it: [`Error::Absent`], [`Error::Other`], [`Error::Refused`]; nothing has been printed then.
pub async fn run(
    remote: &Remote,
    mut invocation: Invocation,
    stdout: &mut impl Write,
    stderr: &mut impl Write,
) -> Result<Outcome> {
    for _ in 0..=MAX_FILES {
        match once(remote, &invocation, stdout, stderr).await? {
            Answer::Ended(outcome) => return Ok(outcome),
            Answer::Needs(file) => {
                let text = read_file(Path::new(&file)).map_err(|error| error.to_string());
                invocation.files.insert(file, text);
            }
        }
    }
    Err(Error::Invalid(format!("the command reads more than {MAX_FILES} files")))
}

/// Reads a file that a command line names; `-` is standard input.
///
/// # Errors
/// It cannot be read, or is not UTF-8.
pub fn read_file(file: &Path) -> io::Result<String> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

enum Answer {
    Ended(Outcome),
    Needs(String),
}

async fn once(
    remote: &Remote,
    invocation: &Invocation,
    stdout: &mut impl Write,
    stderr: &mut impl Write,
) -> Result<Answer> {
    let body = serde_json::to_vec(invocation).map_err(|error| Error::Invalid(error.to_string()))?;
    let mut answer = remote.post(COMMAND_PATH, "application/octet-stream", body).await?;
    let (mut decoder, mut needs) = (Decoder::default(), None);
    let (mut out, mut err) = (Written::default(), Written::default());
    let foreign = |_| Error::Foreign(remote.name().to_owned());
    loop {
        let Ok(Some(bytes)) = answer.chunk().await else {
            return Ok(Answer::Ended(Outcome::Died(out, err)));
        };
        decoder.push(&bytes);
        while let Some((kind, bytes)) = decoder.next().map_err(foreign)? {
            match kind {
                Frame::Stdout => {
                    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
                        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                            return Ok(Answer::Ended(Outcome::Closed));
                        }
                        other => other.map_err(Error::Write)?,
                    }
                    out.add(bytes);
                }
                Frame::Stderr => {
                    // A closed stderr is no reason to stop.
                    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
                    err.add(bytes);
                }
                Frame::Needs => needs = Some(String::from_utf8_lossy(bytes).into_owned()),
                Frame::Exit => {
                    return Ok(match needs {
                        Some(file) if !invocation.files.contains_key(&file) => Answer::Needs(file),
                        _ => Answer::Ended(Outcome::Done(bytes.first().copied().unwrap_or(2))),
                    });
                }
            }
        }
    }
}
