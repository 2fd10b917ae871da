//! Votes: a file that calls `os.ReadFile` votes for the `ReadFile` defined in `os`.

use std::collections::HashMap;

use super::score::{Explained, Parts, Score};

/// Points for the qualifier that most files use.
const VOTES: f32 = 28.0;

/// Fewest callers that count.
const FEW: u32 = 2;

/// For each qualifier, the number of files that call the searched name with it.
#[derive(Clone, Debug, Default)]
pub struct Votes {
    callers: HashMap<String, u32>,
    most: u32,
}

impl Votes {
    /// Returns the most that votes can add to the score of a file: nothing if it defines nothing.
    pub fn most(score: &Score) -> f32 {
        if score.homes.is_empty() { 0.0 } else { VOTES }
    }

    /// Adds the qualifiers with which a file calls the searched name, each once.
    pub(super) fn add(&mut self, callers: &[String]) {
        for caller in callers {
            let count = self.callers.entry(caller.clone()).or_default();
            *count += 1;
            self.most = self.most.max(*count);
        }
    }

    /// Returns the score of a file with the votes of others.
    pub fn points(&self, score: &Score) -> f32 {
        score.alone + self.of(score)
    }

    /// Returns the parts of the score.
    pub fn explain(&self, score: &Score) -> Explained {
        let parts = Parts { votes: self.of(score), ..score.parts };
        Explained { parts, line: score.line }
    }

    /// Returns the points that others' votes give to a file.
    fn of(&self, score: &Score) -> f32 {
        let calls = score.homes.iter().filter_map(|home| self.callers.get(home));
        let calls = calls.copied().max().filter(|calls| *calls >= FEW).unwrap_or(0);
        if calls == 0 {
            return 0.0;
        }
        // Half as many callers are nearly as strong a signal.
        VOTES * (calls as f32 / self.most as f32).sqrt()
    }
}
