//! The groups of users, as a proxy or an identity provider last named them: the monitors of a user go on with these.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use access::Named;
use store::Store;

/// Users that are remembered.
const MAX_USERS: usize = 4096;

/// How long a server without others believes that the database still has what it wrote: another one may have come and gone
/// unnoticed.
const BELIEVED: Duration = Duration::from_mins(1);

/// How long a server beside others does. They may write other groups; but each request need not wait for a statement.
const BELIEVED_BESIDE: Duration = Duration::from_secs(1);

/// The groups that a server has written down, and when.
#[derive(Debug, Default)]
pub(crate) struct Noted(Mutex<Written>);

#[derive(Debug, Default)]
struct Written {
    /// Whether the server was alone when it wrote them.
    alone: bool,
    by_user: HashMap<String, (Vec<String>, Instant)>,
}

impl Noted {
    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the groups of a user down, unless this server has just written the same: it believes itself longer if it is
    /// `alone`.
    pub(crate) async fn note(&self, store: &Store, user: &Named, alone: bool) {
        let now = Instant::now();
        if self.is_noted(user, alone, now) {
            return;
        }
        match store.note_groups(&user.name, &user.groups).await {
            Ok(()) => self.remember(user, now),
            Err(error) => tracing::debug!(
                "the groups of {} are written with the next request: {error}",
                user.name
            ),
        }
    }

    /// Returns whether the database has these groups.
    fn is_noted(&self, user: &Named, alone: bool, now: Instant) -> bool {
        let mut written = self.lock();
        if written.alone != alone {
            *written = Written { alone, by_user: HashMap::new() };
        }
        let believed = if alone { BELIEVED } else { BELIEVED_BESIDE };
        written.by_user.get(&user.name).is_some_and(|(groups, at)| {
            *groups == user.groups && now.saturating_duration_since(*at) < believed
        })
    }

    fn remember(&self, user: &Named, now: Instant) {
        let by_user = &mut self.lock().by_user;
        if by_user.len() >= MAX_USERS {
            by_user.clear();
        }
        by_user.insert(user.name.clone(), (user.groups.clone(), now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_believes_what_it_wrote_longer_if_there_are_no_others() {
        let (noted, begun) = (Noted::default(), Instant::now());
        let ann = |group: &str| Named::new("ann", vec![group.to_owned()]);
        assert!(!noted.is_noted(&ann("a"), true, begun));
        noted.remember(&ann("a"), begun);
        assert!(noted.is_noted(&ann("a"), true, begun));
        assert!(!noted.is_noted(&ann("b"), true, begun));
        assert!(!noted.is_noted(&ann("a"), true, begun + BELIEVED));
        // Another server may have written other groups, or be gone.
        assert!(!noted.is_noted(&ann("a"), false, begun));
        noted.remember(&ann("a"), begun);
        assert!(noted.is_noted(&ann("a"), false, begun));
        assert!(!noted.is_noted(&ann("a"), false, begun + BELIEVED_BESIDE));
        assert!(!noted.is_noted(&ann("a"), true, begun));
    }
}
