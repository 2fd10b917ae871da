//! Whether git is changing the files of a checkout, so that they are neither those of before nor those of after.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::system;

/// Time without any event after which a lock is taken for one that a killed git left.
const STALE: Duration = Duration::from_secs(5);

/// Longest time to wait for git.
const LONGEST: Duration = Duration::from_mins(10);

/// Time without any event after which a rebase is taken for one that waits for its user, and the longest time to wait for
/// one that does not.
const REBASE: (Duration, Duration) = (Duration::from_millis(400), Duration::from_secs(5));

/// The lock that git holds while it changes a checkout: the identity of its file.
type Lock = (u64, u64);

/// What is known of git's work in a checkout.
#[derive(Debug, Default)]
pub(crate) struct Stillness {
    /// The lock that is waited for, and since when.
    waits: Option<(Lock, Instant)>,
    /// A lock that nobody waits for any more.
    stale: Option<Lock>,
}

impl Stillness {
    /// Returns whether the checkout with these git data of its own should be left alone for now, if its first and its
    /// last change were noticed then.
    pub(crate) fn waits(&mut self, own: &Path, (first, last): (Instant, Instant)) -> bool {
        let now = Instant::now();
        let Some(lock) = lock(own) else {
            *self = Self::default();
            let rebases =
                ["rebase-merge", "rebase-apply"].iter().any(|name| own.join(name).exists());
            return rebases && now < last + REBASE.0 && now < first + REBASE.1;
        };
        if self.stale == Some(lock) {
            return false;
        }
        let since = match self.waits {
            Some((before, since)) if before == lock => since,
            _ => {
                self.waits = Some((lock, now));
                now
            }
        };
        if now < since.max(last) + STALE && now < since + LONGEST {
            return true;
        }
        *self = Self { waits: None, stale: Some(lock) };
        false
    }
}

fn lock(own: &Path) -> Option<Lock> {
    system::file_identity(&own.join("index.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_unless_it_is_stale() {
        let own = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let mut still = Stillness::default();
        assert!(!still.waits(own.path(), (now, now)));
        std::fs::write(own.path().join("index.lock"), "").unwrap();
        assert!(still.waits(own.path(), (now, now)));
        // As if it had begun long ago.
        let long_ago = now.checked_sub(2 * STALE).unwrap();
        still.waits = still.waits.map(|(lock, _)| (lock, long_ago));
        assert!(still.waits(own.path(), (long_ago, now)), "files still change");
        assert!(!still.waits(own.path(), (long_ago, long_ago)), "nothing changes any more");
        assert!(!still.waits(own.path(), (now, now)), "it is not waited for again");
        std::fs::write(own.path().join("other"), "").unwrap();
        std::fs::rename(own.path().join("other"), own.path().join("index.lock")).unwrap();
        assert!(still.waits(own.path(), (now, now)), "another one is");
    }

    #[test]
    fn a_rebase_is_one_change_while_it_goes_on() {
        let own = tempfile::tempdir().unwrap();
        std::fs::create_dir(own.path().join("rebase-merge")).unwrap();
        let now = Instant::now();
        let mut still = Stillness::default();
        assert!(still.waits(own.path(), (now, now)));
        let before = now.checked_sub(REBASE.0).unwrap();
        assert!(!still.waits(own.path(), (before, before)), "it waits for its user");
        let long_ago = now.checked_sub(REBASE.1).unwrap();
        assert!(!still.waits(own.path(), (long_ago, now)));
    }
}
