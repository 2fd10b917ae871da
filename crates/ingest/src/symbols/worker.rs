//! The parsing process.

use std::io::{self, BufReader, Read, Write};

use nix::sys::resource::{Resource, setrlimit};
use symbols::{Reason, Taken};

use super::wire;

/// The argument that makes a program a worker.
pub const ARGUMENT: &str = "symbols-worker";

/// Maximum bytes of memory of a worker. A text of the maximum size takes 100 MB.
const MEMORY: u64 = 512 << 20;

/// Reads texts from standard input until it ends, and answers with their symbols.
///
/// # Errors
/// The input is not in the format of [`run`](super::run), or the client has gone.
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
