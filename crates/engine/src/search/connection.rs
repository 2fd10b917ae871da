//! A connection that is taken when it is needed first.

use store::{Error, Lease, Store};

/// A connection to the database, for a few statements.
///
/// It must not be kept while something else is waited for: who waits to tell what he found while he
/// holds a connection might wait for one who waits for a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    store: Store,
    lease: Option<Lease>,
}

impl Connection {
    pub(crate) fn new(store: &Store) -> Self {
        Self { store: store.clone(), lease: None }
    }

    /// The connection.
    pub(crate) async fn lease(&mut self) -> Result<&mut Lease, Error> {
        if self.lease.is_none() {
            self.lease = Some(self.store.lease().await?);
        }
        Ok(self.lease.as_mut().expect("just taken"))
    }

    /// Gives it back, if it was taken.
    pub(crate) fn done(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.done();
        }
    }
}
