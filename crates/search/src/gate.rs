//! What each principal sees, by the newest grants.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use access::{Grants, Principal, Rules};
use store::{AccessReader, Store, StoredAccess};

use crate::Visible;

/// Principals whose visible repositories are kept. Each takes a few hundred bytes and a word for each of its grants.
const MAX_PRINCIPALS: usize = 4096;

/// Decides what principals see. Each decision reads the version of the grants from the database, so what is taken back ends
/// with the next request, on every server.
#[derive(Debug)]
pub struct Gate {
    reader: AccessReader,
    /// The repositories that are shown at all.
    shown: Visible,
    memory: Mutex<Memory>,
}

/// What was decided by one state of the grants.
#[derive(Debug, Default)]
struct Memory {
    stored: Arc<StoredAccess>,
    configured: Option<Arc<Grants>>,
    visible: HashMap<Principal, Visible>,
}

impl Gate {
    /// Makes one for an index of which some repositories are shown.
    pub fn new(store: Store, shown: Visible) -> Self {
        Self { reader: AccessReader::new(store), shown, memory: Mutex::default() }
    }

    /// Returns the repositories that are shown to those who may see all.
    pub fn shown(&self) -> &Visible {
        &self.shown
    }

    /// Returns the rules as they are now. `configured` are the grants of the configuration file; `None` if it has none.
    ///
    /// # Errors
    /// The database does not say what is granted.
    pub async fn rules(&self, configured: Option<Arc<Grants>>) -> Result<Rules, store::Error> {
        let stored = self.reader.newest().await?;
        Ok(rules(&stored, configured))
    }

    /// Returns those of some repositories that a principal may see now.
    ///
    /// # Errors
    /// The database does not say what is granted.
    pub async fn among(
        &self,
        shown: &Visible,
        principal: &Principal,
        configured: Option<&Arc<Grants>>,
    ) -> Result<Visible, store::Error> {
        if principal.is_owner() {
            return Ok(shown.clone());
        }
        let rules = self.rules(configured.cloned()).await?;
        Ok(rules.of(principal).map_or_else(|| shown.clone(), |allowed| shown.allowed(allowed)))
    }

    /// Returns the repositories that a principal may see now.
    ///
    /// # Errors
    /// The database does not say what is granted.
    pub async fn visible(
        &self,
        principal: &Principal,
        configured: Option<&Arc<Grants>>,
    ) -> Result<Visible, store::Error> {
        if principal.is_owner() {
            return Ok(self.shown.clone());
        }
        let stored = self.reader.newest().await?;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = Arc::ptr_eq(&memory.stored, &stored)
            && match (&memory.configured, configured) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
        if !is_same {
            // The grants of before are kept until then, so that no others have their addresses.
            *memory = Memory { stored, configured: configured.cloned(), visible: HashMap::new() };
        }
        if let Some(known) = memory.visible.get(principal) {
            return Ok(known.clone());
        }
        let rules = rules(&memory.stored, memory.configured.clone());
        let visible = match rules.of(principal) {
            None => self.shown.clone(),
            Some(allowed) => self.shown.allowed(allowed),
        };
        if memory.visible.len() >= MAX_PRINCIPALS {
            memory.visible.clear();
        }
        memory.visible.insert(principal.clone(), visible.clone());
        Ok(visible)
    }
}

fn rules(stored: &StoredAccess, configured: Option<Arc<Grants>>) -> Rules {
    Rules { configured, stored: stored.grants.clone(), hosts: Arc::clone(&stored.hosts) }
}
