//! The process that parses.

use std::io::{self, BufReader, Read, Write};

use nix::sys::resource::{Resource, setrlimit};
use symbols::{Reason, Taken};

use super::wire;

/// The argument with which a program is told to be a worker.
pub const ARGUMENT: &str = "symbols-worker";

/// Most bytes of memory that a worker asks for. A text of the greatest size takes 100 MB.
const MEMORY: u64 = 512 << 20;

/// Answers with the symbols of the texts that it reads from standard input, until that ends.
///
/// # Errors
/// What is read is not what [`run`](super::run) writes, or the other side has gone.
pub fn run() -> io::Result<()> {
    // If the limit cannot be set, the time limit still ends a runaway parse.
    let _ = setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY);
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    serve(io::stdin().lock(), io::stdout().lock())
}

fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    while let Some((language, text)) = wire::asked(&mut input)? {
        let none = Taken { symbols: Vec::new(), given_up: Some(Reason::ParserFailed) };
        wire::answer(&mut output, &symbols::take(&language, &text).unwrap_or(none))?;
    }
    Ok(())
}
