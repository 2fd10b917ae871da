//! The error of a row that cannot be read.

/// A row that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a row of the word index cannot be read")
    }
}

impl std::error::Error for Damaged {}
