//! Term frequency: how often each word of the query occurs in a file.
//!
//! BM25 without inverse document frequency, as in Zoekt: every scored file has all words, so rarity would not change
//! the order. What names something counts more than what only mentions it, in its file's path and where it is defined.

use super::line::LineScore;
use super::path::PathNames;
use super::words::Group;

/// How soon more of a word counts less, and how much a file's length counts: the usual constants of BM25.
const K: f32 = 1.2;
const B: f32 = 0.75;

/// Bytes of a usual file.
const USUAL_BYTES: f32 = 12_000.0;
/// From this multiple of the usual size on, a file counts as no longer.
const MAX_LENGTH: f32 = 20.0;

/// A word in a path, or in what a line defines, counts as this many elsewhere.
const IN_PATH: f32 = 5.0;
const IN_DEFINITION: f32 = 5.0;

/// From this many points on, a line defines something; a comment has fewer.
const DEFINED: f32 = 20.0;

/// Smallest share of a path's name that counts a word as in the path.
const CALLED: f32 = 0.15;

/// Words are counted in one file.
#[derive(Debug)]
pub(super) struct Coverage {
    /// How often each name of the group stands in it.
    counts: Vec<f32>,
}

impl Coverage {
    pub(super) fn new(group: &Group, path: &PathNames) -> Self {
        let in_path = |called: f32| if called >= CALLED { IN_PATH } else { 0.0 };
        Self { counts: group.names().map(|word| in_path(path.called_by(word))).collect() }
    }

    /// Counts the words of a line.
    pub(super) fn add(&mut self, found: &LineScore) {
        let weight = if found.definition >= DEFINED { IN_DEFINITION } else { 1.0 };
        for (at, count) in self.counts.iter_mut().enumerate() {
            if found.words & 1 << (at % 64) != 0 {
                *count += weight;
            }
        }
    }

    /// How well the words cover a file of a length, from 0 to 1.
    pub(super) fn share(&self, bytes: usize) -> f32 {
        if self.counts.is_empty() {
            return 0.0;
        }
        let length = (bytes as f32 / USUAL_BYTES).min(MAX_LENGTH);
        let soon = K * (1.0 - B + B * length);
        let all: f32 = self.counts.iter().map(|count| count / (count + soon)).sum();
        all / self.counts.len() as f32
    }
}
