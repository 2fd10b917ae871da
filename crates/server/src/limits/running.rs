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
    /// How many may run until it is known what others have: as many as the database was told of.
    asked: Option<u32>,
}

impl Counts {
    fn has_room(&self, most: u32) -> bool {
        [self.taken, self.asked].iter().flatten().all(|may| self.now < *may) && self.now < most
    }
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
        if !counts.has_room(self.most) {
            return None;
        }
        counts.now += 1;
        Some(RunningPermit(Arc::clone(self)))
    }

    /// Returns whether one more is allowed.
    pub(super) fn has_room(&self) -> bool {
        self.counts().has_room(self.most)
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

    /// Returns the limit, and how many run and wait. Until [`allow`](Self::allow), no more than these may run: others may
    /// get what is not asked for.
    pub(super) fn demand(&self) -> (u32, u32, u32) {
        let mut counts = self.counts();
        counts.asked = Some(counts.now);
        (self.most, counts.now, counts.waiting)
    }

    /// Sets how many this server may run; `None` for all.
    pub(super) fn allow(&self, taken: Option<u32>) {
        let mut counts = self.counts();
        (counts.taken, counts.asked) = (taken, None);
    }

    /// Allows one more than run, though nobody has answered.
    pub(super) fn allow_one(&self) {
        let mut counts = self.counts();
        let one_more = counts.now + 1;
        counts.taken = counts.taken.map(|taken| taken.max(one_more));
        counts.asked = Some(one_more);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_while_a_server_asks_how_many_may_run() {
        let running = Arc::new(Running::new(3));
        // Alone, it may run all; then it asks, since there is another one.
        let one = running.try_take();
        assert!(one.is_some() && running.has_room());
        assert_eq!(running.demand(), (3, 1, 0));
        assert!(running.try_take().is_none() && !running.has_room() && !running.has_idle());
        running.allow(Some(2));
        let other = running.try_take();
        assert!(other.is_some() && !running.has_room());
        // Nobody answers: a request is admitted all the same.
        assert_eq!(running.demand(), (3, 2, 0));
        running.allow_one();
        let third = running.try_take();
        assert!(third.is_some() && running.try_take().is_none());
        drop((one, other, third));
        assert!(running.has_room());
        // What the database may still count for this server is given back again.
        running.demand();
        assert!(running.has_idle() && !running.has_room());
        running.allow(Some(0));
        assert!(!running.has_idle() && !running.has_room());
        running.allow(None);
        assert!(running.has_room());
    }
}
