//! Connections that a program keeps between its ingests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::{Connection, PgConnection};

/// Connections of a program that ingests again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(Arc<Mutex<KeptConnections>>);

#[derive(Debug, Default)]
struct KeptConnections {
    keeps: bool,
    /// One with the temporary tables of a session, which are empty.
    session: Option<PgConnection>,
    helpers: Vec<PgConnection>,
}

/// Maximum number of helping connections to keep.
const MAX_HELPERS: usize = 4;

impl Kept {
    fn inner(&self) -> MutexGuard<'_, KeptConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn keep(&self) {
        self.inner().keeps = true;
    }

    pub(crate) fn keeps(&self) -> bool {
        self.inner().keeps
    }

    pub(crate) fn session(&self) -> Option<PgConnection> {
        self.inner().session.take()
    }

    pub(crate) fn keep_session(&self, conn: PgConnection) {
        self.inner().session = Some(conn);
    }

    pub(crate) fn helper(&self) -> Option<PgConnection> {
        self.inner().helpers.pop()
    }

    pub(crate) fn keep_helper(&self, conn: PgConnection) {
        let mut inner = self.inner();
        if inner.helpers.len() < MAX_HELPERS {
            inner.helpers.push(conn);
        }
    }

    /// Closes all, and keeps no more.
    pub(crate) async fn close(&self) {
        let all = std::mem::take(&mut *self.inner());
        for conn in all.session.into_iter().chain(all.helpers) {
            let _ = conn.close().await;
        }
    }
}
