//! When a search must end, and whether it is over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The deadline of a search, and whether it is over. The deadline stands still while who asked for the search is not ready for more.
#[derive(Debug)]
pub(crate) struct Clock {
    begun: Instant,
    /// Nanoseconds that the search may take; `u64::MAX` for any number.
    most: AtomicU64,
    /// The search is over: nobody waits for what is still being done.
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

    /// Whether the search is over.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whether the search goes on. Where the search itself waits for what is being done, it cannot look at its deadline: if
    /// the time is up, this ends it.
    pub(crate) fn goes_on(&self) -> bool {
        if !self.is_over() && self.is_late() {
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

    /// Whether the time is up.
    fn is_late(&self) -> bool {
        self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Waits for something; none if the time is up before it is there.
    pub(crate) async fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match self.deadline() {
            None => Some(work.await),
            Some(deadline) => tokio::time::timeout_at(deadline.into(), work).await.ok(),
        }
    }

    /// Waits for something that takes none of the search's time.
    pub(crate) async fn pause<T>(&self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        let nanos = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let most = self.most.load(Ordering::Relaxed);
        self.most.store(most.saturating_add(nanos), Ordering::Relaxed);
        done
    }
}
