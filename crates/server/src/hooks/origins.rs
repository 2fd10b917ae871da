//! The repositories that have an address: by their names, which are host and path of their origins, or by the
//! configurations of their clones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::Store;

use super::event::Changed;
use crate::error::Failure;

/// How long the origins of clones are kept, which are read from disk, and how long if none of them is the wanted one.
const KEPT: Duration = Duration::from_mins(1);
const KEPT_WITHOUT: Duration = Duration::from_secs(2);

/// The folders of the clones with an origin.
type ByOrigin = HashMap<String, Vec<String>>;

/// The origins of all clones, as they were read last.
#[derive(Debug, Default)]
pub(super) struct Origins(Mutex<Option<(Instant, Arc<ByOrigin>)>>);

impl Origins {
    /// Returns the folders of the repositories that a webhook names.
    ///
    /// # Errors
    /// The database query fails.
    pub(super) async fn folders_of(
        &self,
        store: &Store,
        changed: &Changed,
    ) -> Result<Vec<String>, Failure> {
        let origins = changed.addresses.iter().filter_map(|one| git::origin_of_address(one));
        let origins: Vec<String> = origins.map(|origin| origin.to_lowercase()).collect();
        if origins.is_empty() {
            return Ok(Vec::new());
        }
        let found = |by_origin: &ByOrigin| {
            let known = origins.iter().filter_map(|origin| by_origin.get(origin));
            let mut folders: Vec<String> = known.flatten().cloned().collect();
            folders.sort_unstable();
            folders.dedup();
            folders
        };
        let folders = found(&*self.by_origin(store, KEPT).await?);
        if !folders.is_empty() {
            return Ok(folders);
        }
        Ok(found(&*self.by_origin(store, KEPT_WITHOUT).await?))
    }

    async fn by_origin(&self, store: &Store, kept: Duration) -> Result<Arc<ByOrigin>, Failure> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, known)) = known.filter(|(since, _)| since.elapsed() < kept) {
            return Ok(known);
        }
        let repos = store.repos().await?;
        let reading = tokio::task::spawn_blocking(move || {
            let mut all = ByOrigin::new();
            for repo in &repos {
                // A clone may have another origin than when it was named; what lies in no clone has a name only.
                let origin = git::origin_of(repo).unwrap_or_else(|| repo.name.clone());
                all.entry(origin.to_lowercase()).or_default().push(repo.source.clone());
            }
            Arc::new(all)
        });
        let read = reading.await.map_err(|_| Failure::panicked())?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), Arc::clone(&read)));
        Ok(read)
    }
}
