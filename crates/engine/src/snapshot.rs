//! Which state of the index is searched: the newest one, or one of the last few for a search that goes on in it; and
//! hearing of the next one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::{Catalog, Store, Switch};
use tokio::sync::RwLock;

/// How many states are kept that are not the newest, and for how long: what they refer to cannot be deleted.
const MAX_EARLIER: usize = 4;
const KEEP_EARLIER: Duration = Duration::from_mins(5);

/// The states of the index that searches read.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    newest: RwLock<Option<Arc<Catalog>>>,
    changes: Changes,
    earlier: Earlier,
}

impl Snapshots {
    /// The newest state of the index, which is kept between searches. Calls `replaces` with a new one, and with the one
    /// before if there was one, before anybody else has it.
    ///
    /// # Errors
    /// The database cannot be asked, or holds no index.
    pub(crate) async fn newest(
        &self,
        store: &Store,
        keep_earlier: bool,
        replaces: impl Fn(&Catalog),
    ) -> Result<Arc<Catalog>, store::Error> {
        let count = self.changes.count();
        let kept = {
            let kept = self.newest.read().await;
            // What was seen to be current is what is kept.
            match &*kept {
                Some(kept) if self.changes.none() => return Ok(Arc::clone(kept)),
                kept => kept.clone(),
            }
        };
        if let Some(kept) = kept
            && self.is_current(&kept, count).await
        {
            return Ok(kept);
        }
        let mut slot = self.newest.write().await;
        let count = self.changes.count();
        if let Some(kept) = &*slot
            && self.is_current(kept, count).await
        {
            return Ok(Arc::clone(kept));
        }
        let old = slot.take();
        let fresh = Arc::new(store.catalog().await?);
        match old {
            Some(old) if keep_earlier => self.earlier.keep(old),
            _ => {}
        }
        self.earlier.forget_but_before(&fresh);
        replaces(&fresh);
        self.changes.seen.store(count, Ordering::SeqCst);
        *slot = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// A state that was the newest a moment ago, if it is kept and nothing of it was deleted.
    pub(crate) async fn earlier(&self, switch: Switch) -> Option<Arc<Catalog>> {
        let found = self.earlier.find(switch)?;
        if found.is_held().await {
            return Some(found);
        }
        self.earlier.forget(switch);
        None
    }

    /// Whether a state is known to be the newest no longer.
    pub(crate) fn is_old(&self, catalog: &Arc<Catalog>) -> bool {
        let newest = self.newest.try_read();
        newest.is_ok_and(|kept| kept.as_ref().is_none_or(|kept| !Arc::ptr_eq(kept, catalog)))
    }

    /// Whether a state may be the newest no longer, as far as can be told without waiting.
    pub(crate) fn may_be_old(&self, catalog: &Arc<Catalog>) -> bool {
        self.newest.try_read().is_err() || self.is_old(catalog)
    }

    /// Listens for changes of the index until the connection breaks, and calls `heard` for each.
    ///
    /// # Errors
    /// The connection could not be made, or broke.
    pub(crate) async fn listen(&self, store: &Store, heard: impl Fn()) -> Result<(), store::Error> {
        let mut changes = store.changes().await?;
        // Ended by an error, or dropped.
        let _deaf = Deaf(&self.changes);
        self.changes.add(true);
        loop {
            changes.next().await?;
            self.changes.add(true);
            heard();
        }
    }

    /// Has the next search ask whether the kept state is the newest, and drops earlier ones that were kept long enough.
    pub(crate) fn look_again(&self) {
        self.earlier.tidy();
        self.changes.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether a catalog is the newest; `count` is how many changes there were before.
    async fn is_current(&self, catalog: &Catalog, count: u64) -> bool {
        if self.changes.none() {
            return true;
        }
        // An error means that its connection is gone: a new one will tell more.
        let current = catalog.is_current().await.unwrap_or(false);
        if current {
            self.changes.seen.fetch_max(count, Ordering::SeqCst);
        }
        current
    }
}

/// States of the index that are not the newest, kept for searches that go on in them.
#[derive(Debug, Default)]
struct Earlier(Mutex<VecDeque<(Arc<Catalog>, Instant)>>);

impl Earlier {
    fn keep(&self, catalog: Arc<Catalog>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((catalog, Instant::now()));
        kept.truncate(MAX_EARLIER);
    }

    fn find(&self, switch: Switch) -> Option<Arc<Catalog>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(kept, _)| kept.switch == switch).map(|(kept, _)| Arc::clone(kept))
    }

    fn tidy(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, since)| since.elapsed() < KEEP_EARLIER);
    }

    fn forget(&self, switch: Switch) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(kept, _)| kept.switch != switch);
    }

    /// Forgets what is not of the history of a state: a database was made anew, or lost its last commits.
    fn forget_but_before(&self, newest: &Catalog) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(kept, _)| newest.follows(kept.identity, kept.switch));
    }
}

/// Whether the index may have changed since it was looked at.
#[derive(Debug, Default)]
struct Changes {
    /// Somebody listens, so that every change is counted.
    told: AtomicBool,
    count: AtomicU64,
    /// What the count was when the kept catalog was last seen to be the newest.
    seen: AtomicU64,
}

impl Changes {
    fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn add(&self, told: bool) {
        self.told.store(told, Ordering::SeqCst);
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    fn none(&self) -> bool {
        self.told.load(Ordering::SeqCst) && self.seen.load(Ordering::SeqCst) == self.count()
    }
}

/// Says that nobody listens for changes any longer.
struct Deaf<'a>(&'a Changes);

impl Drop for Deaf<'_> {
    fn drop(&mut self) {
        self.0.add(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_asked_for_again_unless_somebody_listens_and_heard_of_nothing() {
        let changes = Changes::default();
        assert!(!changes.none());
        changes.add(true);
        assert!(!changes.none());
        changes.seen.store(changes.count(), Ordering::SeqCst);
        assert!(changes.none());
        changes.add(true);
        assert!(!changes.none());
        changes.seen.store(changes.count(), Ordering::SeqCst);
        drop(Deaf(&changes));
        assert!(!changes.none());
    }
}
