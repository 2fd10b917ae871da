//! Votes: a file that calls `os.ReadFile` votes for the `ReadFile` defined in `os`.

use std::collections::HashMap;

use super::score::{Explained, Parts, Score};

/// For what is called by way of the name that is used most.
const VOTES: f32 = 28.0;

/// Fewer callers than this say nothing.
const FEW: u32 = 2;

/// In how many files what was looked for is called by way of a name.
#[derive(Clone, Debug, Default)]
pub struct Votes {
    callers: HashMap<String, u32>,
    most: u32,
}

impl Votes {
    /// Most that votes can add to what a file is worth alone: nothing if it defines nothing.
    pub fn most(score: &Score) -> f32 {
        if score.homes.is_empty() { 0.0 } else { VOTES }
    }

    /// Adds the names by way of which a file calls what was looked for, each once.
    pub(super) fn add(&mut self, callers: &[String]) {
        for caller in callers {
            let count = self.callers.entry(caller.clone()).or_default();
            *count += 1;
            self.most = self.most.max(*count);
        }
    }

    /// What a file is worth, with what the others say.
    pub fn points(&self, score: &Score) -> f32 {
        score.alone + self.of(score)
    }

    /// Says how the points came about.
    pub fn explain(&self, score: &Score) -> Explained {
        let parts = Parts { votes: self.of(score), ..score.parts };
        Explained { parts, line: score.line }
    }

    /// What the others say of a file.
    fn of(&self, score: &Score) -> f32 {
        let calls = score.homes.iter().filter_map(|home| self.callers.get(home));
        let calls = calls.copied().max().filter(|calls| *calls >= FEW).unwrap_or(0);
        if calls == 0 {
            return 0.0;
        }
        // Half as many callers are nearly as good a reason.
        VOTES * (calls as f32 / self.most as f32).sqrt()
    }
}
