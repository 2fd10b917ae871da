//! The watchers of the system, and the placing of folders under their watch.
//!
//! Each folder is watched alone: a watcher that goes into folders by itself misses what appears while it does, and would
//! watch ignored ones. There are a few watchers, each with a queue of events in the system, so that one busy repository
//! overflows but one of them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::event::{Event, Refused};
#[cfg(target_os = "linux")]
use crate::inotify::Watcher;
#[cfg(not(target_os = "linux"))]
use crate::portable::Watcher;
use crate::state::{Owner, Role, State, Watched};
use crate::system;

/// Most watchers. Each has a thread.
pub(crate) const MOST: usize = 8;

/// What events are noted in.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an event, or at most so long.
    pub(crate) fn wait<'s>(
        &self,
        state: MutexGuard<'s, State>,
        most: Duration,
    ) -> MutexGuard<'s, State> {
        self.wake.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes who waits.
    pub(crate) fn wake(&self) {
        // Whoever holds the lock is about to wait, or looks again.
        drop(self.lock());
        self.wake.notify_all();
    }

    /// Notes events of a watcher.
    pub(crate) fn note(&self, watcher: usize, events: &[Event]) {
        if self.lock().note(watcher, events, Instant::now()) {
            self.wake.notify_all();
        }
    }
}

/// The result of placing a folder under watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// It is watched.
    Yes,
    /// It does not exist, or cannot be read.
    No,
    /// The limit is reached.
    Full,
}

/// The watchers.
pub(crate) struct Hub {
    shared: Arc<Shared>,
    watchers: Vec<Watcher>,
    /// Number of folders that may be watched.
    limit: usize,
    /// Whether the system refused a watch below the limit.
    is_refused: bool,
}

impl Hub {
    /// Starts watchers for at most `limit` folders.
    pub(crate) fn new(shared: &Arc<Shared>, limit: usize) -> Self {
        // Others want some, too.
        let most = system::watchers().map_or(1, |most| (most / 8).clamp(1, MOST));
        let mut watchers = Vec::new();
        for number in 0..most {
            let told = Arc::clone(shared);
            match Watcher::start(move |events| told.note(number, events)) {
                Ok(watcher) => watchers.push(watcher),
                Err(error) => {
                    if watchers.is_empty() {
                        tracing::warn!(
                            "nothing is watched, but polled: {error}; other programs may watch too much, or \
                             fs.inotify.max_user_instances is too low"
                        );
                    }
                    break;
                }
            }
        }
        Self { shared: Arc::clone(shared), watchers, limit, is_refused: false }
    }

    /// Returns the number of folders that may be watched.
    pub(crate) fn limit(&self) -> usize {
        if self.watchers.is_empty() { 0 } else { self.limit }
    }

    /// Sets the number of folders that may be watched. More may be watched already.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.is_refused = false;
    }

    /// Returns whether more folders are watched than may be.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.lock().folders.len() > self.limit()
    }

    /// Returns whether the system refused a watch below the limit.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Returns how many more folders may be watched.
    pub(crate) fn room(&self) -> usize {
        self.limit().saturating_sub(self.shared.lock().folders.len())
    }

    /// Returns whether a folder is watched.
    pub(crate) fn is_watched(&self, folder: &Path) -> bool {
        self.shared.lock().folders.contains_key(folder)
    }

    /// Places a folder under watch, even if it is: another one may have come to its path.
    pub(crate) fn place(
        &mut self,
        folder: &Path,
        owner: Owner,
        role: Role,
        is_top: bool,
    ) -> Placed {
        if self.watchers.is_empty() {
            return Placed::Full;
        }
        let number = self.watcher_of(owner);
        let watched = Watched { owner, role, is_top, watcher: number };
        let mut state = self.shared.lock();
        let before = state.folders.get(folder).copied();
        if before.is_none() && state.folders.len() >= self.limit {
            return Placed::Full;
        }
        // Before the first event.
        state.folders.insert(folder.to_owned(), watched);
        // The watcher may be waiting for it.
        drop(state);
        if let Some(before) = before.filter(|before| before.watcher != number) {
            self.watchers[before.watcher].unwatch(folder);
        }
        let Err(refused) = self.watchers[number].watch(folder) else { return Placed::Yes };
        self.shared.lock().folders.remove(folder);
        match refused {
            Refused::Full => {
                // Other programs have the rest.
                self.limit = self.limit.min(self.shared.lock().folders.len());
                self.is_refused = true;
                Placed::Full
            }
            Refused::Other(error) => {
                tracing::debug!("not watched: {}: {error}", folder.display());
                Placed::No
            }
        }
    }

    /// Ends watching the folders that are forgotten.
    pub(crate) fn sweep(&mut self) {
        let mut state = self.shared.lock();
        let mut ended = std::mem::take(&mut state.ended);
        // Another one may be there now.
        ended.retain(|(folder, watcher)| {
            state.folders.get(folder).is_none_or(|watched| watched.watcher != *watcher)
        });
        drop(state);
        for (folder, watcher) in ended {
            self.watchers[watcher].unwatch(&folder);
        }
    }

    /// Ends watching the folders of an owner for which `ends` holds.
    pub(crate) fn remove(&mut self, owner: Owner, ends: impl Fn(&Path, Role) -> bool) {
        let mut state = self.shared.lock();
        let has = |(path, watched): (&PathBuf, &Watched)| {
            (watched.owner == owner && ends(path, watched.role))
                .then(|| (path.clone(), watched.watcher))
        };
        let ended: Vec<(PathBuf, usize)> = state.folders.iter().filter_map(has).collect();
        for (folder, _) in &ended {
            state.folders.remove(folder);
        }
        drop(state);
        for (folder, watcher) in ended {
            self.watchers[watcher].unwatch(&folder);
        }
    }

    /// Returns the number of the watcher of an owner's folders.
    pub(crate) fn watcher_of(&self, owner: Owner) -> usize {
        let mut hash = DefaultHasher::new();
        owner.hash(&mut hash);
        (hash.finish() % self.watchers.len().max(1) as u64) as usize
    }
}
