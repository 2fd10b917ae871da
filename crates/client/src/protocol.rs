//! The format of a command and of its output.
//!
//! The request is an [`Invocation`] as JSON. The answer is a sequence of frames: a byte for the kind, four bytes for the
//! length (big-endian), and that many bytes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Version of the format.
pub const PROTOCOL: u32 = 1;

/// Version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Most bytes of a frame. Servers send fewer than 1 MiB at a time.
const MAX_FRAME: usize = 16 << 20;

/// A command line, and what the command needs to know of its surroundings.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Invocation {
    /// [`PROTOCOL`] of the client.
    pub protocol: u32,
    /// The version that the server must have; `None` for any.
    pub version: Option<String>,
    /// The words of the command line, from the name of the program on.
    pub args: Vec<String>,
    /// The number of words after the command's name that come from the user's configuration file.
    #[serde(default)]
    pub configured: usize,
    /// The current folder.
    pub folder: Option<String>,
    /// The patterns of `CODESEARCH_REPOS`, which must be those of the server.
    #[serde(default)]
    pub only_repos: Vec<String>,
    /// Whether stdout is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether stderr is a terminal.
    pub stderr_is_terminal: bool,
    /// Whether `NO_COLOR` is set.
    pub no_color: bool,
    /// The files that the command reads, by the names in the command line: texts, or why they cannot be read.
    #[serde(default)]
    pub files: BTreeMap<String, Result<String, String>>,
}

impl Invocation {
    /// Makes the invocation of a command line without a terminal.
    pub fn new(args: Vec<String>) -> Self {
        Self {
            protocol: PROTOCOL,
            version: None,
            args,
            configured: 0,
            folder: None,
            only_repos: Vec::new(),
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            no_color: false,
            files: BTreeMap::new(),
        }
    }
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes for stdout.
    Stdout,
    /// Bytes for stderr.
    Stderr,
    /// The name of a file that the command reads. The client sends the command again, with the file.
    Needs,
    /// The exit status, one byte. The last frame of a complete answer.
    Exit,
}

impl Frame {
    const ALL: [Self; 4] = [Self::Stdout, Self::Stderr, Self::Needs, Self::Exit];
}

/// Returns a frame's bytes.
pub fn encode(kind: Frame, bytes: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(5 + bytes.len());
    frame.push(kind as u8);
    frame.extend((bytes.len() as u32).to_be_bytes());
    frame.extend(bytes);
    frame
}

/// Takes frames out of a stream of bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    at: usize,
}

impl Decoder {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend(bytes);
    }

    /// Returns the next complete frame; `None` if more bytes are needed.
    ///
    /// # Errors
    /// The bytes are not in the format.
    #[expect(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<(Frame, &[u8])>, InvalidFrame> {
        let Some((head, rest)) = self.bytes[self.at..].split_at_checked(5) else { return Ok(None) };
        let kind = *Frame::ALL.get(usize::from(head[0])).ok_or(InvalidFrame)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > MAX_FRAME {
            return Err(InvalidFrame);
        }
        let Some(bytes) = rest.get(..length) else { return Ok(None) };
        self.at += 5 + length;
        Ok(Some((kind, bytes)))
    }
}

/// The bytes of an answer are not frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidFrame;

/// The error of a command that reads a file which its client has not sent yet.
#[derive(Clone, Debug)]
pub struct NeedsFile(pub String);

impl fmt::Display for NeedsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the client has not sent {}", self.0)
    }
}

impl std::error::Error for NeedsFile {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_any_cut() {
        let sent =
            [(Frame::Stdout, "é\n".as_bytes()), (Frame::Stderr, b""), (Frame::Exit, b"\x01")];
        let bytes: Vec<u8> = sent.iter().flat_map(|(kind, bytes)| encode(*kind, bytes)).collect();
        for size in 1..=bytes.len() {
            let (mut decoder, mut found) = (Decoder::default(), Vec::new());
            for some in bytes.chunks(size) {
                decoder.push(some);
                while let Some((kind, bytes)) = decoder.next().unwrap() {
                    found.push((kind, bytes.to_vec()));
                }
            }
            let expected: Vec<_> =
                sent.iter().map(|(kind, bytes)| (*kind, bytes.to_vec())).collect();
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn other_bytes_are_no_frames() {
        for wrong in [b"<html>", b"\0\xff\0\0\0\0"] {
            let mut decoder = Decoder::default();
            decoder.push(wrong);
            assert_eq!(decoder.next(), Err(InvalidFrame));
        }
    }
}
