//! A budget that refills continuously and holds a minute's worth.

use std::time::Instant;

/// Fractions of a search or byte below this count as zero, to absorb rounding errors.
const ROUNDING: f64 = 1e-6;

/// An amount allowed per minute, and the remaining part of it: negative if overdrawn.
#[derive(Debug)]
pub(crate) struct Budget {
    per_minute: f64,
    pub(super) left: f64,
    at: Instant,
}

impl Budget {
    pub(crate) fn new(per_minute: f64, now: Instant) -> Self {
        Self { per_minute, left: per_minute, at: now }
    }

    /// Takes `cost` if at least `needed` remains.
    ///
    /// # Errors
    /// The number of seconds until that remains.
    pub(crate) fn take(&mut self, needed: f64, cost: f64, now: Instant) -> Result<(), u64> {
        let earned = now.saturating_duration_since(self.at).as_secs_f64() / 60.0 * self.per_minute;
        self.left = (self.left + earned).min(self.per_minute);
        self.at = now;
        if self.left < needed - ROUNDING {
            let wait = (needed - self.left - ROUNDING) / self.per_minute * 60.0;
            return Err((wait.ceil() as u64).max(1));
        }
        self.left -= cost;
        Ok(())
    }
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
