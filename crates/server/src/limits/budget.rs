//! A budget that refills continuously and holds a minute's worth.

use std::time::Instant;

/// Fractions of a search or byte below this count as zero, to absorb rounding errors.
const ROUNDING: f64 = 1e-6;

/// An amount allowed per minute, and the remaining part of it: negative if overdrawn.
#[derive(Debug)]
pub(crate) struct Budget {
    per_minute: f64,
    pub(super) left: f64,
    /// How much of that was lent: whoever has it owes it to what all servers have together.
    owed: f64,
    at: Instant,
    /// Whether it is a part of what several servers have together, which does not fill by itself.
    is_part: bool,
}

impl Budget {
    pub(crate) fn new(per_minute: f64, now: Instant) -> Self {
        Self { per_minute, left: per_minute, owed: 0.0, at: now, is_part: false }
    }

    /// Takes `cost` if at least `needed` remains.
    ///
    /// # Errors
    /// The number of seconds until that remains.
    pub(crate) fn take(&mut self, needed: f64, cost: f64, now: Instant) -> Result<(), u64> {
        self.fill(now);
        if self.left < needed - ROUNDING {
            let wait = (needed - self.left - ROUNDING) / self.per_minute * 60.0;
            return Err((wait.ceil() as u64).max(1));
        }
        self.left -= cost;
        Ok(())
    }

    fn fill(&mut self, now: Instant) {
        if !self.is_part {
            let passed = now.saturating_duration_since(self.at).as_secs_f64();
            self.left = (self.left + passed / 60.0 * self.per_minute).min(self.per_minute);
        }
        self.at = now;
    }

    /// Returns whether this much remains of a part.
    pub(super) fn has(&self, needed: f64) -> bool {
        self.left >= needed - ROUNDING
    }

    /// Returns what fills it in a minute.
    pub(super) fn per_minute(&self) -> f64 {
        self.per_minute
    }

    /// Returns whether something is to be given back that nobody needs here, or is owed.
    pub(super) fn is_idle(&self) -> bool {
        self.is_part && (self.left.abs() > ROUNDING || self.owed > ROUNDING)
    }

    /// Returns whether a part has given more than it had.
    pub(super) fn owes(&self) -> bool {
        self.is_part && self.left - self.owed < -ROUNDING
    }

    /// Gives back what remains, less what is owed, and becomes a part. The first time, that is what was used before, less
    /// than 0: nobody else knows of it.
    pub(super) fn give_back(&mut self, now: Instant) -> f64 {
        self.fill(now);
        let back = if self.is_part { self.left - self.owed } else { self.left - self.per_minute };
        (self.left, self.owed, self.is_part) = (0.0, 0.0, true);
        back
    }

    /// Lends a part so much that this remains.
    pub(super) fn lend(&mut self, needed: f64) {
        if !self.has(needed) {
            self.owed += needed - self.left;
            self.left = needed;
        }
    }

    /// Adds what was taken; or with `all`, fills by itself again.
    pub(super) fn receive(&mut self, taken: f64, all: bool, now: Instant) {
        self.left += taken;
        if all {
            (self.is_part, self.at) = (false, now);
        }
    }
}

/// Returns the seconds until a part of one can be taken, if so much is left together.
pub(super) fn wait_for_one(per_minute: f64, left: f64) -> f64 {
    ((1.0 - left) / per_minute * 60.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_budget_fills_by_the_second_and_can_be_overdrawn() {
        let begun = Instant::now();
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut budget = Budget::new(60.0, begun);
        for _ in 0..60 {
            assert_eq!(budget.take(1.0, 1.0, begun), Ok(()));
        }
        assert_eq!(budget.take(1.0, 1.0, begun), Err(1));
        assert_eq!(budget.take(1.0, 1.0, after(1)), Ok(()));
        budget.left -= 30.0;
        assert_eq!(budget.take(1.0, 1.0, after(1)), Err(31));
        assert_eq!(budget.take(1.0, 1.0, after(32)), Ok(()));
        // It holds at most a minute's worth.
        assert_eq!(budget.take(61.0, 0.0, after(3600)), Err(1));
        assert_eq!(budget.take(60.0, 60.0, after(3600)), Ok(()));
    }
}
