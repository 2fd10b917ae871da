//! What the thread that watches shares with others.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::clones::Root;
use crate::hub::Shared;
use crate::unit::Checkout;

/// How to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a checkout must be quiet before its changes are queued; a third of it if a few files have changed, as editors
    /// save them at once.
    pub after: Duration,
    /// Most folders to watch; `None` for half of what the system allows.
    pub watches: Option<usize>,
    /// Shortest time between two looks at a repository of which no events tell.
    pub poll_every: Duration,
    /// Time between two looks whether the checkouts are still where they were, of which no event may tell.
    pub places_every: Duration,
    /// Time between two notes of which repositories have not changed.
    pub note_every: Duration,
    /// Folders of which nothing is watched, absolute and without links.
    pub without: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            after: Duration::from_millis(150),
            watches: None,
            poll_every: Duration::from_secs(30),
            places_every: Duration::from_secs(10),
            note_every: Duration::from_mins(1),
            without: Vec::new(),
        }
    }
}

/// How a checkout is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckoutStatus {
    /// Its folder.
    pub folder: PathBuf,
    /// Why it is polled, as a part of a sentence; `None` if events tell of its changes.
    pub polled: Option<String>,
    /// All that changed before this was passed on; `None` if that is not known yet.
    pub told_until: Option<SystemTime>,
}

/// What is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Number of watched folders.
    pub watches: usize,
    /// Most of them.
    pub limit: usize,
    /// The checkouts.
    pub checkouts: Vec<CheckoutStatus>,
}

/// What to watch.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) specs: Vec<Checkout>,
    pub(crate) roots: Vec<Root>,
}

/// What the thread shares with others.
#[derive(Default)]
pub(crate) struct Common {
    pub(crate) shared: Arc<Shared>,
    pub(crate) stop: Arc<AtomicBool>,
    wanted: Mutex<Option<Wanted>>,
    options: Mutex<Option<Options>>,
    status: Mutex<Status>,
}

impl Common {
    /// Says what to watch from now on.
    pub(crate) fn want(&self, wanted: Wanted) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(wanted);
        self.shared.wake();
    }

    /// Says how to watch from now on.
    pub(crate) fn set_options(&self, options: Options) {
        *self.options.lock().unwrap_or_else(PoisonError::into_inner) = Some(options);
        self.shared.wake();
    }

    /// Returns whether somebody has said what or how to watch since that was taken.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).is_some()
            || self.options.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn take_options(&self) -> Option<Options> {
        self.options.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn take_wanted(&self) -> Option<Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn tell_status(&self, status: Status) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }
}
