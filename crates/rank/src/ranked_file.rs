//! A result of a search with its score.

use std::ops::Range;

use answer::FileMatch;

use crate::Score;

/// Hashes of what a file has in common with its copies: files are copies of each other if they share one.
pub(crate) type CopyKeys = [u64; 2];

/// Matches in lines of a file that are dropped: the number of each line, and its ranges in bytes.
pub type DroppedMatches = Vec<(u64, Vec<Range<usize>>)>;

/// A result and its score.
pub struct RankedFile {
    pub(crate) score: Score,
    /// What its copies have in common with it; `None` if it is not folded.
    pub(crate) keys: Option<CopyKeys>,
    /// The file, with its kept lines.
    pub file: FileMatch,
    /// Number of matching lines in the whole file, kept or not.
    pub matches: usize,
    /// Matches in dropped lines that a page will show as context of kept ones.
    pub dropped: DroppedMatches,
}
