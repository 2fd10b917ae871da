//! Files that were collected and sorted, ready to be printed.

use answer::FileMatch;
use rank::Explained;

/// Files in the order in which they are printed.
#[derive(Default)]
pub(super) struct Ordered {
    pub(super) files: Vec<FileMatch>,
    /// How the score of each came about; empty in an order without scores.
    pub(super) scores: Vec<Explained>,
    /// Near definitions, which are no results.
    pub(super) near: Vec<FileMatch>,
    /// Whether there were more.
    pub(super) cut: bool,
    /// The number of their matching lines that are not printed.
    pub(super) dropped: usize,
}
