//! How matches are printed: as text for people and pipes, or as ripgrep's JSON lines.

mod explain;
mod json;
mod text;

use std::io::{self, Write};

use engine::search::{FileMatch, Stats};

pub(crate) use explain::{Explain, explanation};
pub(crate) use json::Json;
pub(crate) use text::Text;

/// Prints the files of one search.
pub(crate) trait Printer {
    /// Prints a file.
    fn file(&mut self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()>;
    /// Prints what belongs at the end.
    fn end(&mut self, out: &mut dyn Write, stats: &Stats) -> io::Result<()>;
}

/// A file's path as it is printed.
pub(crate) fn full_path(file: &FileMatch) -> String {
    format!("{}/{}", file.repo, file.path)
}

/// How many files are not in the index, by reason: `12 binary, 3 too-large`.
pub(crate) fn skipped(stats: &Stats) -> String {
    let parts: Vec<String> =
        stats.skipped.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}
