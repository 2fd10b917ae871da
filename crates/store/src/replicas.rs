//! Reading from the streaming replicas of the database.

use std::sync::Arc;

use crate::Switch;
use crate::error::Result;
use crate::replica::Replica;
use crate::store::Store;

impl Store {
    /// Has searches read from streaming replicas of the database, by their URLs. [`follow_replicas`](Self::follow_replicas)
    /// must run. At most `connections` are used at once for each.
    ///
    /// # Errors
    /// [`Error::Unsuitable`] if a URL is invalid. A replica that cannot be reached is read as soon as it can.
    pub fn read_from(&self, urls: &[String], connections: u32) -> Result<()> {
        let replicas = urls.iter().map(|url| Replica::new(url, connections).map(Arc::new));
        let _ = self.replicas.set(replicas.collect::<Result<_>>()?);
        Ok(())
    }

    /// Returns the replicas.
    pub(crate) fn replicas(&self) -> &[Arc<Replica>] {
        self.replicas.get().map_or(&[], Vec::as_slice)
    }

    /// Looks at the replicas for ever.
    pub async fn follow_replicas(&self) {
        let following = self.replicas().iter().map(|of| of.follow(self.wanted.subscribe()));
        futures_util::future::join_all(following).await;
    }

    /// Returns the names of the replicas, and whether each has the newest state of the index that was read.
    pub fn replica_states(&self) -> Vec<(String, bool)> {
        let wanted = *self.wanted.borrow();
        self.replicas().iter().map(|of| (of.name.clone(), of.has(wanted))).collect()
    }

    /// Notes the newest state of the index that this program reads.
    pub(crate) fn want(&self, identity: i64, switch: Switch) {
        let new = Some((identity, switch));
        self.wanted.send_if_modified(|wanted| std::mem::replace(wanted, new) != new);
    }

    /// Returns the store for one request, whose searching connections all lead to one replica if one has the newest state,
    /// and else to the primary.
    #[must_use]
    pub fn for_request(&self) -> Self {
        let route = (!self.replicas().is_empty()).then(Arc::default);
        let mut store = self.clone();
        store.route = route;
        store
    }

    /// Returns the replica that the request of this store reads; `None` for the primary.
    pub(crate) fn source(&self) -> Option<Arc<Replica>> {
        self.route.as_ref()?.of(self.replicas(), *self.wanted.borrow())
    }
}
