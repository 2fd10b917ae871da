//! The concurrent searches of a client at this server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A limit on concurrent searches.
#[derive(Debug)]
pub(super) struct Running {
    most: u32,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    now: u32,
    /// Requests that wait until this server may run more.
    waiting: u32,
    /// How many this server may run, if others have the same client.
    taken: Option<u32>,
}

/// A search that counts as running until this is dropped.
pub(super) struct RunningPermit(Arc<Running>);

/// A request that waits until this is dropped.
pub(super) struct WaitingRequest<'a>(&'a Running);

impl Running {
    pub(super) fn new(most: u32) -> Self {
        Self { most, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more, if that is allowed.
    pub(super) fn try_take(self: &Arc<Self>) -> Option<RunningPermit> {
        let mut counts = self.counts();
        if counts.now >= counts.taken.unwrap_or(self.most).min(self.most) {
            return None;
        }
        counts.now += 1;
        Some(RunningPermit(Arc::clone(self)))
    }

    /// Returns whether one more is allowed.
    pub(super) fn has_room(&self) -> bool {
        let counts = self.counts();
        counts.now < counts.taken.unwrap_or(self.most).min(self.most)
    }

    /// Returns whether this server holds more than it uses.
    pub(super) fn has_idle(&self) -> bool {
        let counts = self.counts();
        counts.taken.is_some_and(|taken| taken > counts.now)
    }

    /// Counts a waiting request.
    pub(super) fn wait(&self) -> WaitingRequest<'_> {
        self.counts().waiting += 1;
        WaitingRequest(self)
    }

    /// Returns the limit, and how many run and wait.
    pub(super) fn demand(&self) -> (u32, u32, u32) {
        let counts = self.counts();
        (self.most, counts.now, counts.waiting)
    }

    /// Sets how many this server may run; `None` for all.
    pub(super) fn allow(&self, taken: Option<u32>) {
        self.counts().taken = taken;
    }

    /// Allows one more than run.
    pub(super) fn allow_one(&self) {
        let mut counts = self.counts();
        let now = counts.now;
        counts.taken = counts.taken.map(|taken| taken.max(now + 1));
    }
}

impl Drop for RunningPermit {
    fn drop(&mut self) {
        self.0.counts().now -= 1;
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.0.counts().waiting -= 1;
    }
}
