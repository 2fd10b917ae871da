//! Keeps the catalogs of the newest epoch and of the last few, so that a search can resume in an earlier epoch; and
//! listens for the next epoch.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::{Catalog, Epoch, Store, Switch, Told};
use tokio::sync::RwLock;

/// How long earlier catalogs are kept. That is short, since rows of their epochs cannot be deleted meanwhile.
const KEEP_EARLIER: Duration = Duration::from_mins(5);

/// Maximum number of earlier catalogs that a search has read: two a second.
const MAX_SEARCHED: usize = 600;

/// Number of earlier catalogs that are kept even if no search has read them yet. With other servers, all are: a search of
/// another server may have read them.
const MAX_UNREAD: usize = 4;

/// The catalogs that searches read.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    newest: RwLock<Option<Arc<Catalog>>>,
    changes: Changes,
    earlier: Earlier,
    /// The number of other servers of the index.
    others: Arc<AtomicUsize>,
}

impl Snapshots {
    /// Returns the number of other servers of the index, which whoever knows it keeps: with any, searches of theirs go on
    /// here.
    pub(crate) fn others(&self) -> &Arc<AtomicUsize> {
        &self.others
    }

    /// Returns the newest catalog, which is kept between searches. Calls `replaces` with a new catalog before any other
    /// caller can get it.
    ///
    /// # Errors
    /// The database query fails, or the database has no index.
    pub(crate) async fn newest(
        &self,
        store: &Store,
        keep_earlier: bool,
        replaces: impl Fn(&Catalog),
    ) -> Result<Arc<Catalog>, store::Error> {
        let count = self.changes.count();
        let kept = {
            let kept = self.newest.read().await;
            // Without a change since the last check, the kept catalog is the newest.
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
        let read = match &old {
            Some(old) => store.catalog_after(old).await,
            None => store.catalog().await,
        };
        let fresh = Arc::new(read?);
        match old {
            Some(old) if keep_earlier => {
                self.earlier.push(old, self.others.load(Ordering::Relaxed) > 0);
            }
            _ => {}
        }
        self.earlier.retain_history_of(&fresh);
        replaces(&fresh);
        self.changes.seen.store(count, Ordering::SeqCst);
        *slot = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Returns an earlier catalog if it is kept and still has its lock, so that no row of its epoch was deleted.
    pub(crate) async fn earlier(&self, switch: Switch) -> Option<Arc<Catalog>> {
        let found = self.earlier.find(switch)?;
        if found.is_held().await {
            return Some(found);
        }
        self.earlier.forget(switch);
        None
    }

    /// Like [`earlier`](Self::earlier), by the number of the epoch.
    pub(crate) async fn earlier_at(&self, epoch: Epoch) -> Option<Arc<Catalog>> {
        let switch = {
            let kept = self.earlier.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().find(|(kept, _)| kept.epoch == epoch).map(|(kept, _)| kept.switch)
        };
        self.earlier(switch?).await
    }

    /// Returns the epochs of the catalogs that searches can still resume in, besides the newest.
    pub(crate) fn earlier_epochs(&self) -> Vec<Epoch> {
        self.earlier.drop_expired();
        let kept = self.earlier.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|(kept, _)| kept.epoch).collect()
    }

    /// Returns whether a catalog is certainly no longer the newest.
    pub(crate) fn is_old(&self, catalog: &Catalog) -> bool {
        let newest = self.newest.try_read();
        newest.is_ok_and(|kept| kept.as_ref().is_none_or(|kept| !kept.is_same(catalog)))
    }

    /// Returns whether a catalog may no longer be the newest, judging without waiting.
    pub(crate) fn may_be_old(&self, catalog: &Catalog) -> bool {
        self.newest.try_read().is_err() || self.is_old(catalog)
    }

    /// Reads again how fresh the repositories of the newest catalog are, if one is kept.
    pub(crate) async fn renew_freshness(&self, store: &Store) -> Result<(), store::Error> {
        let Some(kept) = self.newest.read().await.clone() else { return Ok(()) };
        kept.set_freshness(store.freshness().await?);
        Ok(())
    }

    /// Listens for changes of the index until the connection fails, and calls `on_change` after each. Meanwhile, the
    /// newest catalog tells how fresh its repositories are now.
    ///
    /// # Errors
    /// The connection failed.
    pub(crate) async fn listen(
        &self,
        store: &Store,
        on_change: impl Fn(),
    ) -> Result<(), store::Error> {
        let mut changes = store.changes().await?;
        // Marks the end of listening, both after an error and when the future is dropped.
        let _end = StopsListening(&self.changes);
        self.changes.add(true);
        loop {
            match changes.told().await? {
                Told::Epoch => {
                    self.changes.add(true);
                    on_change();
                }
                Told::Freshness => self.renew_freshness(store).await?,
            }
        }
    }

    /// Makes the next search check whether the kept catalog is the newest, and drops expired earlier catalogs.
    pub(crate) fn expire(&self) {
        self.earlier.drop_expired();
        self.changes.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns whether a catalog is the newest. `count` is the number of changes before the call.
    async fn is_current(&self, catalog: &Catalog, count: u64) -> bool {
        if self.changes.none() {
            return true;
        }
        // An error means that this catalog's connection is gone; reading a new catalog will tell more.
        let current = catalog.is_current().await.unwrap_or(false);
        if current {
            self.changes.seen.fetch_max(count, Ordering::SeqCst);
        }
        current
    }
}

/// Catalogs that are not the newest, each with the time when it was replaced. Searches can resume in them.
#[derive(Debug, Default)]
struct Earlier(Mutex<VecDeque<(Arc<Catalog>, Instant)>>);

impl Earlier {
    /// Keeps a catalog, and with `all` also those that no search has read here.
    fn push(&self, catalog: Arc<Catalog>, all: bool) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((catalog, Instant::now()));
        let mut at = 0;
        kept.retain(|(kept, _)| {
            at += 1;
            all || at <= MAX_UNREAD || kept.was_searched()
        });
        kept.truncate(MAX_SEARCHED);
    }

    fn find(&self, switch: Switch) -> Option<Arc<Catalog>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(kept, _)| kept.switch == switch).map(|(kept, _)| Arc::clone(kept))
    }

    fn drop_expired(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, since)| since.elapsed() < KEEP_EARLIER);
    }

    fn forget(&self, switch: Switch) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(kept, _)| kept.switch != switch);
    }

    /// Forgets catalogs that are not in the history of `newest`: the database was recreated, or lost its last commits.
    fn retain_history_of(&self, newest: &Catalog) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(kept, _)| newest.follows(kept.identity, kept.switch));
    }
}

/// Tracks whether the index may have changed since the last check.
#[derive(Debug, Default)]
struct Changes {
    /// Whether there is a listener, so that every change is counted.
    listening: AtomicBool,
    count: AtomicU64,
    /// The value of `count` when the kept catalog was last seen to be the newest.
    seen: AtomicU64,
}

impl Changes {
    fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn add(&self, listening: bool) {
        self.listening.store(listening, Ordering::SeqCst);
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    fn none(&self) -> bool {
        self.listening.load(Ordering::SeqCst) && self.seen.load(Ordering::SeqCst) == self.count()
    }
}

/// Records on drop that nobody listens for changes.
struct StopsListening<'a>(&'a Changes);

impl Drop for StopsListening<'_> {
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
        drop(StopsListening(&changes));
        assert!(!changes.none());
    }
}
