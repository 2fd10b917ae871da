//! The locks that keep the epochs of catalogs.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use sqlx::PgConnection;
use tokio::sync::Mutex;

use crate::Epoch;
use crate::error::Result;
use crate::locks::PIN_LOCKS;

/// Maximum time for the connection that pins an epoch to read the newest epoch, one row of one table. A slower
/// connection counts as lost, and is replaced.
pub(super) const PIN_ANSWERS: Duration = Duration::from_secs(2);

/// A connection that holds the locks on the epochs of some catalogs: those that one server keeps.
#[derive(Debug)]
pub(super) struct Pins {
    pub(super) conn: Mutex<PgConnection>,
    /// Whether it was too slow, or failed.
    pub(super) is_broken: AtomicBool,
    /// The epochs of catalogs that are gone. Their locks are freed with the next statement.
    freed: StdMutex<Vec<i32>>,
}

impl Pins {
    pub(super) fn new(conn: PgConnection) -> Self {
        Self {
            conn: Mutex::new(conn),
            is_broken: AtomicBool::new(false),
            freed: StdMutex::default(),
        }
    }

    /// Frees the locks of catalogs that are gone.
    pub(super) async fn free(&self, conn: &mut PgConnection) -> Result<()> {
        let freed = std::mem::take(&mut *self.freed.lock().unwrap_or_else(PoisonError::into_inner));
        if !freed.is_empty() {
            sqlx::query("select pg_advisory_unlock_shared($1, e) from unnest($2::int[]) e")
                .bind(PIN_LOCKS)
                .bind(freed)
                .execute(conn)
                .await?;
        }
        Ok(())
    }
}

/// The lock on one epoch.
#[derive(Debug)]
pub(super) struct Pin {
    pub(super) pins: Arc<Pins>,
    pub(super) epoch: Epoch,
}

impl Pin {
    pub(super) async fn lock(&self) -> tokio::sync::MutexGuard<'_, PgConnection> {
        self.pins.conn.lock().await
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.freed.lock().unwrap_or_else(PoisonError::into_inner).push(self.epoch.0);
    }
}
