//! What is wrong with a file.

use std::fmt;
use std::path::PathBuf;

/// The reason why the file could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("cannot read the configuration file {}: {cause}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        cause: String,
    },
    /// It has mistakes.
    #[error("{}", lines(.file, .problems))]
    Wrong {
        /// The file.
        file: PathBuf,
        /// All mistakes that were found, in their order; at least one.
        problems: Vec<Problem>,
    },
}

/// A mistake in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what to write instead, without a full stop. Never has a secret.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:{}: {}", self.line, self.column, self.what)
    }
}

/// One line for each mistake: file, line, column and what is wrong.
fn lines(file: &std::path::Path, problems: &[Problem]) -> String {
    let lines = problems.iter().map(|problem| format!("{}:{problem}", file.display()));
    lines.collect::<Vec<_>>().join("\n")
}
