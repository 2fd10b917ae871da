//! Candidates: the paths with the highest promise, before they are scored.

use std::cmp::Reverse;

/// A path that may be near. The greatest has the highest promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// Promise, and below it how short the path is: see [`rank`].
    pub(super) rank: u64,
    pub(super) file: Reverse<u32>,
    /// A bit for each part whose letters it holds in order.
    pub(super) holds: u8,
    /// Index of its variant of the query.
    pub(super) variant: u16,
}

impl Candidate {
    /// Returns whether the path holds all letters of all parts, each part in order.
    pub(super) fn is_match(&self, parts: usize) -> bool {
        self.holds.count_ones() == parts as u32
    }
}

/// Returns the rank of a promise. Among equal promises, a shorter text ranks higher.
pub(super) fn rank(promise: u64, length: usize) -> u64 {
    least_rank(promise) | u64::from(u16::MAX - length.min(usize::from(u16::MAX)) as u16)
}

/// Returns the least rank of a promise.
pub(super) fn least_rank(promise: u64) -> u64 {
    promise << 16
}

/// Returns the promise of a rank.
pub(super) fn promise_of(rank: u64) -> u64 {
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
