//! The groups of users, as a proxy or an identity provider last named them: the monitors of a user go on with these.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use access::Named;
use store::Store;

/// Users that are remembered.
const MAX_USERS: usize = 4096;

/// The groups of users in their last requests to this server.
#[derive(Debug, Default)]
pub(crate) struct Noted(Mutex<HashMap<String, Vec<String>>>);

impl Noted {
    /// Writes the groups of a user down, if they are others than in the last request.
    pub(crate) async fn note(&self, store: &Store, user: &Named) {
        {
            let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if noted.get(&user.name) == Some(&user.groups) {
                return;
            }
            if noted.len() >= MAX_USERS {
                noted.clear();
            }
            noted.insert(user.name.clone(), user.groups.clone());
        }
        if let Err(error) = store.note_groups(&user.name, &user.groups).await {
            tracing::debug!(
                "the groups of {} are written with the next request: {error}",
                user.name
            );
            let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            noted.remove(&user.name);
        }
    }
}
