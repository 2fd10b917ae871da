//! What one client, or all together, may use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;

use super::budget::Budget;
use super::part::{Needs, Part};
use super::quota::Quota;
use super::running::Running;

/// The semaphores and budgets of a client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) share: Option<Arc<Semaphore>>,
    pub(super) running: Option<Arc<Running>>,
    pub(super) searches: Option<Mutex<Budget>>,
    pub(super) bytes: Option<Mutex<Budget>>,
    /// What this server has of its limits, if several servers share them.
    pub(super) part: Option<Part>,
}

impl Client {
    pub(super) fn new(quota: Quota, share: Option<usize>) -> Self {
        let budget = |most: Option<u32>, unit: f64| {
            most.map(|most| Mutex::new(Budget::new(f64::from(most) * unit, Instant::now())))
        };
        Self {
            share: share.map(|most| Arc::new(Semaphore::new(most))),
            running: quota.at_once.map(|most| Arc::new(Running::new(most))),
            searches: budget(quota.per_minute, 1.0),
            bytes: budget(quota.mib_per_minute, f64::from(1 << 20)),
            part: None,
        }
    }

    /// Makes a client whose limits hold across all servers, by a name that all of them give it.
    pub(super) fn everywhere(name: String, quota: Quota, share: Option<usize>) -> Self {
        // Whoever has no limits has nothing to share.
        let part = (quota != Quota::default()).then(|| Part::new(name));
        Self { part, ..Self::new(quota, share) }
    }

    /// Returns whether a request can be admitted with what this server has.
    pub(super) fn has_enough(&self, needs: Needs) -> bool {
        let has_one =
            |budget: &Option<Mutex<Budget>>| budget.as_ref().is_none_or(|of| lock(of).has(1.0));
        let has_room = || self.running.as_ref().is_none_or(|running| running.has_room());
        has_one(&self.bytes)
            && (needs == Needs::Bytes || has_one(&self.searches))
            && (needs != Needs::Slot || has_room())
    }
}

/// Locks a budget.
pub(super) fn lock(budget: &Mutex<Budget>) -> MutexGuard<'_, Budget> {
    budget.lock().unwrap_or_else(PoisonError::into_inner)
}
