//! The groups of users, as a proxy or an identity provider last named them: the monitors of a user go on with these.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use access::Named;
use store::Store;

/// Users that are remembered.
const MAX_USERS: usize = 4096;

/// How long it is believed that the database still has what was written: another server may have come and gone unnoticed.
const BELIEVED: Duration = Duration::from_mins(1);

/// The groups that a server without others has written down, and when.
#[derive(Debug, Default)]
pub(crate) struct Noted(Mutex<HashMap<String, (Vec<String>, Instant)>>);

impl Noted {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Vec<String>, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the groups of a user down. A server that is `alone` leaves that out if it has just written the same.
    pub(crate) async fn note(&self, store: &Store, user: &Named, alone: bool) {
        let now = Instant::now();
        if self.is_noted(user, alone, now) {
            return;
        }
        match store.note_groups(&user.name, &user.groups).await {
            Ok(()) => self.remember(user, alone, now),
            Err(error) => tracing::debug!(
                "the groups of {} are written with the next request: {error}",
                user.name
            ),
        }
    }

    /// Returns whether the database has these groups. What others may write, too, is never known.
    fn is_noted(&self, user: &Named, alone: bool, now: Instant) -> bool {
        let mut noted = self.lock();
        if !alone {
            noted.clear();
        }
        noted.get(&user.name).is_some_and(|(groups, at)| {
            *groups == user.groups && now.saturating_duration_since(*at) < BELIEVED
        })
    }

    fn remember(&self, user: &Named, alone: bool, now: Instant) {
        if !alone {
            return;
        }
        let mut noted = self.lock();
        if noted.len() >= MAX_USERS {
            noted.clear();
        }
        noted.insert(user.name.clone(), (user.groups.clone(), now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_remembers_what_only_it_can_have_changed() {
        let (noted, begun) = (Noted::default(), Instant::now());
        let ann = |group: &str| Named::new("ann", vec![group.to_owned()]);
        assert!(!noted.is_noted(&ann("a"), true, begun));
        noted.remember(&ann("a"), true, begun);
        assert!(noted.is_noted(&ann("a"), true, begun));
        assert!(!noted.is_noted(&ann("b"), true, begun));
        assert!(!noted.is_noted(&ann("a"), true, begun + BELIEVED));
        // Another server may write other groups, and be gone afterwards.
        assert!(!noted.is_noted(&ann("a"), false, begun));
        noted.remember(&ann("a"), false, begun);
        assert!(!noted.is_noted(&ann("a"), true, begun));
    }
}
