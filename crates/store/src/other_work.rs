//! Counts what an ingest awaits besides Postgres: while it awaits anything, Postgres may be silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of futures of an ingest that await something other than Postgres, such as reading files.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherWork(Arc<AtomicUsize>);

/// Decrements its counter when dropped.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OtherWork {
    /// Awaits work, and counts it until it ends or is dropped.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.fetch_add(1, Ordering::Relaxed);
        let _counted = Counted(&self.0);
        work.await
    }

    /// Returns how many futures are awaited.
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
