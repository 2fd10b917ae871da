//! Candidates: the paths that promise most, before they are scored.

use std::cmp::Reverse;

/// A path that may be near. The greatest promises most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// Its promise, and below that how short it is: see [`rank`].
    pub(super) rank: u64,
    pub(super) file: Reverse<u32>,
    /// A bit for each part of which it holds all letters in order.
    pub(super) holds: u8,
    /// The variant of the query that it belongs to.
    pub(super) variant: u16,
}

impl Candidate {
    /// Whether it holds all letters of all parts, each part for itself in order.
    pub(super) fn is_match(&self, parts: usize) -> bool {
        self.holds.count_ones() == parts as u32
    }
}

/// The rank of a promise; of equal promises that of a shorter text is higher.
pub(super) fn rank(promise: u64, length: usize) -> u64 {
    least_rank(promise) | u64::from(u16::MAX - length.min(usize::from(u16::MAX)) as u16)
}

/// The least rank of a promise.
pub(super) fn least_rank(promise: u64) -> u64 {
    promise << 16
}

/// The promise of a rank.
pub(super) fn promise_of(rank: u64) -> u64 {
    rank >> 16
}

/// Leaves the greatest, in any order.
pub(super) fn keep_best(candidates: &mut Vec<Candidate>, most: usize) {
    if most == 0 {
        candidates.clear();
    } else if candidates.len() > most {
        candidates.select_nth_unstable_by(most - 1, |a, b| b.cmp(a));
        candidates.truncate(most);
    }
}
