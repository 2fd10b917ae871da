//! Candidates: the paths with the highest coarse score, before they are scored.

use std::cmp::Reverse;

/// A path that may be near the query. The greatest has the highest coarse score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// The coarse score, and in lower bits how short the path is: see [`rank`].
    pub(super) rank: u64,
    pub(super) file: Reverse<u32>,
    /// A bit for each part whose letters the path contains in order.
    pub(super) holds: u8,
    /// Index of its variant of the query.
    pub(super) variant: u16,
}

impl Candidate {
    /// Returns whether the path contains all letters of all parts, each part in order.
    pub(super) fn is_match(&self, parts: usize) -> bool {
        self.holds.count_ones() == parts as u32
    }
}

/// Returns the rank of a coarse score. Among equal coarse scores, a shorter text ranks higher.
pub(super) fn rank(coarse_score: u64, length: usize) -> u64 {
    least_rank(coarse_score) | u64::from(u16::MAX - length.min(usize::from(u16::MAX)) as u16)
}

/// Returns the lowest rank of a coarse score.
pub(super) fn least_rank(coarse_score: u64) -> u64 {
    coarse_score << 16
}

/// Returns the coarse score of a rank.
pub(super) fn coarse_score_of(rank: u64) -> u64 {
    rank >> 16
}

/// Keeps the `most` greatest candidates, in any order.
pub(super) fn keep_best(candidates: &mut Vec<Candidate>, most: usize) {
    if most == 0 {
        candidates.clear();
    } else if candidates.len() > most {
        candidates.select_nth_unstable_by(most - 1, |a, b| b.cmp(a));
        candidates.truncate(most);
    }
}
