//! Term frequency: how often each word of the query occurs in a file.
//!
//! BM25 without inverse document frequency, as in Zoekt: every scored file has all words, so rarity would not change
//! the order. A word counts more in the file's path and where it is defined than where it is only mentioned.

use super::line::LineScore;
use super::path::PathNames;
use super::words::Group;

/// The usual constants of BM25: how soon further occurrences count less, and how much a file's length matters.
const K: f32 = 1.2;
const B: f32 = 0.75;

/// Size of a typical file, in bytes.
const USUAL_BYTES: f32 = 12_000.0;
/// Files larger than this multiple of the typical size count as having this length.
const MAX_LENGTH: f32 = 20.0;

/// Weights of an occurrence in the path and in a definition; elsewhere it is 1.
const IN_PATH: f32 = 5.0;
const IN_DEFINITION: f32 = 5.0;

/// Fewest points with which a line counts as a definition; a comment has fewer.
const DEFINED: f32 = 20.0;

/// Smallest share of a path's name at which the word counts as in the path.
const CALLED: f32 = 0.15;

/// Counts of words in one file.
#[derive(Debug)]
pub(super) struct Coverage {
    /// The weighted number of occurrences of each name of the group.
    counts: Vec<f32>,
}

impl Coverage {
    pub(super) fn new(group: &Group, path: &PathNames) -> Self {
        let in_path = |called: f32| if called >= CALLED { IN_PATH } else { 0.0 };
        Self { counts: group.names().map(|word| in_path(path.called_by(word))).collect() }
    }

    /// Adds the words of a line.
    pub(super) fn add(&mut self, found: &LineScore) {
        let weight = if found.definition >= DEFINED { IN_DEFINITION } else { 1.0 };
        for (at, count) in self.counts.iter_mut().enumerate() {
            if found.words & 1 << (at % 64) != 0 {
                *count += weight;
            }
        }
    }

    /// Returns how well the words cover a file of this size, from 0 to 1.
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
