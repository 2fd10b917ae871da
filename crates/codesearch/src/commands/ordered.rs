//! Collected and sorted files, ready to be printed.

use answer::FileMatch;
use rank::Explained;

/// Files in the order in which they are printed.
#[derive(Default)]
pub(super) struct Ordered {
    pub(super) files: Vec<FileMatch>,
    /// The score of each file and its parts; empty in an order without scores.
    pub(super) scores: Vec<Explained>,
    /// Near definitions, which are not results.
    pub(super) near: Vec<FileMatch>,
    /// Whether more files were found.
    pub(super) cut: bool,
    /// The number of matching lines in them that are not printed.
    pub(super) dropped: usize,
}
