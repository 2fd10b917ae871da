//! The deadline of a search, and whether the search is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The deadline of a search, and whether the search is over. The deadline is extended while the receiver is not ready
/// for more results.
#[derive(Debug)]
pub(crate) struct Clock {
    begun: Instant,
    /// Maximum duration of the search in nanoseconds; `u64::MAX` for no deadline.
    most: AtomicU64,
    /// Whether the search is over, so that no task waits for its work any more.
    over: AtomicBool,
}

impl Clock {
    pub(crate) fn new(begun: Instant, timeout: Option<Duration>) -> Self {
        let nanos = |timeout: Duration| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let most = AtomicU64::new(timeout.map_or(u64::MAX, nanos));
        Self { begun, most, over: AtomicBool::new(false) }
    }

    /// Ends the search.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Returns whether the search is over.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Returns whether the search continues. Ends it if the deadline has passed: a search that computes on its own task
    /// cannot watch its deadline otherwise.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on_at(Instant::now())
    }

    /// Like [`Clock::goes_on`], for a caller that has just read the time: reading it takes as long as finding a literal
    /// in a line.
    pub(crate) fn goes_on_at(&self, now: Instant) -> bool {
        if !self.is_over() && self.deadline().is_some_and(|deadline| now >= deadline) {
            self.end();
        }
        !self.is_over()
    }

    fn deadline(&self) -> Option<Instant> {
        match self.most.load(Ordering::Relaxed) {
            u64::MAX => None,
            nanos => self.begun.checked_add(Duration::from_nanos(nanos)),
        }
    }

    /// Waits for `work`; `None` if the deadline passes first.
    pub(crate) async fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match self.deadline() {
            None => Some(work.await),
            Some(deadline) => tokio::time::timeout_at(deadline.into(), work).await.ok(),
        }
    }

    /// Waits until the deadline, but at least for the given time.
    pub(crate) async fn wait_at_least<T>(
        &self,
        least: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let Some(deadline) = self.deadline() else { return Some(work.await) };
        let until = deadline.max(Instant::now() + least);
        tokio::time::timeout_at(until.into(), work).await.ok()
    }

    /// Waits for `work`, and extends the deadline by that time.
    pub(crate) async fn pause<T>(&self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        let nanos = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let most = self.most.load(Ordering::Relaxed);
        self.most.store(most.saturating_add(nanos), Ordering::Relaxed);
        done
    }
}

/// Ends a search when dropped, so that its threads stop, however it ends.
pub(crate) struct EndClock(pub(crate) Arc<Clock>);

impl Drop for EndClock {
    fn drop(&mut self) {
        self.0.end();
    }
}
