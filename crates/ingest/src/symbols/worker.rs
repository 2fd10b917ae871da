//! The parsing process.

use std::io::{self, BufReader, Read, Write};

use nix::sys::resource::{Resource, setrlimit};
use symbols::{Reason, Taken};

use super::wire;

/// The argument that makes a program a worker.
pub const ARGUMENT: &str = "symbols-worker";

/// Maximum bytes of memory that a worker takes beyond those at its start. A text of the maximum size takes 100 MB.
const MEMORY: u64 = 512 << 20;

/// The allocator's variable for the address space that it reserves at once, in KiB, and the value for a worker. By default
/// mimalloc reserves 1 GiB, all of it beyond the reach of the limit.
pub(super) const RESERVE: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "65536");

/// Reads texts from standard input until it ends, and answers with their symbols.
///
/// # Errors
/// The input is not in the format of [`run`](super::run), or the client has gone.
pub fn run() -> io::Result<()> {
    // If the limit cannot be set, the time limit still ends a runaway parse.
    let most = address_space() + MEMORY;
    let _ = setrlimit(Resource::RLIMIT_AS, most, most);
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    serve(io::stdin().lock(), io::stdout().lock())
}

/// Returns the bytes of this process's address space. The limit counts them, and the stack cannot grow above it either.
fn address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    // Only Linux tells; elsewhere it is more than a program and its allocator take.
    kib.map_or(2 << 30, |kib| kib << 10)
}

fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    while let Some((language, text)) = wire::asked(&mut input)? {
        let none = Taken { symbols: Vec::new(), given_up: Some(Reason::ParserFailed) };
        wire::answer(&mut output, &symbols::take(&language, &text).unwrap_or(none))?;
    }
    Ok(())
}
