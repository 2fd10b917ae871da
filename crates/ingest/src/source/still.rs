//! Whether git changes a checkout while it is read, so that what was read is neither what was before nor what is after.
//!
//! While git changes files, there is `index.lock`; afterwards, the index names other contents. An index that was only written
//! again, as `git status` does, names the same. If it names others than at the last list, some paths are not enough: git
//! changed files besides them at the same time.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use git::checkout::{Config, GitData, Tracked, Trust};

/// Age of a lock from which it is taken for one that a killed git left.
const STALE: Duration = Duration::from_mins(5);

/// By checkout, what its index named at the last list of this program. Another program lists all anyway, at first.
static KNOWN: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

/// What git's index was like when a list of files began.
#[derive(Debug, Default)]
pub(super) struct Stillness(Mutex<Option<Seen>>);

#[derive(Debug)]
struct Seen {
    own: PathBuf,
    index: Option<(u64, i64, i64)>,
    /// As [`Tracked::contents`] has it, if it was read.
    contents: Option<u64>,
}

impl Stillness {
    /// Notes what the index of a checkout is like, before it is read.
    pub(super) fn begin(&self, checkout: &Path, trust: Trust) {
        let own = own(checkout, trust);
        let seen = own.map(|own| Seen { index: identity(&own), own, contents: None });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// Notes what was read of it. Returns whether it names others than at the last list.
    pub(super) fn read(&self, checkout: &Path, tracked: &Tracked) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = &mut *seen else { return false };
        let contents = tracked.contents();
        seen.contents = Some(contents);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(checkout.to_owned(), contents).is_some_and(|before| before != contents)
    }

    /// Returns whether git has checked out something else since, or is about to.
    pub(super) fn has_changed(&self, checkout: &Path, mut trust: Trust) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Seen { own, index, contents }) = &*seen else { return false };
        let mut now = || {
            let data = GitData::of(checkout, &mut trust).ok()??;
            let config: Option<Config> = data.config(&mut trust).ok().flatten();
            Some(data.tracked(config.as_ref(), &mut trust).ok()?.contents())
        };
        let has_changed =
            is_locked(own) || identity(own) != *index && (contents.is_none() || *contents != now());
        if let Some(contents) = *contents {
            // What was read is not published, so the next list is not of some paths either.
            let known = if has_changed { !contents } else { contents };
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(checkout.to_owned(), known);
        }
        has_changed
    }
}

/// Returns whether git is changing a checkout.
pub(super) fn is_changing(checkout: &Path, trust: Trust) -> bool {
    own(checkout, trust).is_some_and(|own| is_locked(&own))
}

fn own(checkout: &Path, mut trust: Trust) -> Option<PathBuf> {
    let data = GitData::of(checkout, &mut trust).ok()??;
    data.has_head().then(|| data.own().to_owned())
}

fn identity(own: &Path) -> Option<(u64, i64, i64)> {
    let found = own.join("index").symlink_metadata().ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec()))
}

fn is_locked(own: &Path) -> bool {
    let Ok(found) = own.join("index.lock").symlink_metadata() else { return false };
    let age = found.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
    age.is_none_or(|age| age < STALE)
}
