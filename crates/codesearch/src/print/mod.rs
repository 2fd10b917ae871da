//! How matches are printed: as text for people and pipes, or as ripgrep's JSON lines.

mod json;
mod text;

use std::io::{self, Write};

use engine::search::{FileMatch, Stats};

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
