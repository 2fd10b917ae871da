//! A connected database: what all statements start from.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, PgPool};

use crate::error::Result;
use crate::pool::Leases;
use crate::target::connect;

/// A connected database with the current schema.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) leases: Leases,
    /// A few connections for what is asked now and then: to be told of changes, and to cancel the
    /// statements of others.
    control: PgPool,
    /// How many statements were made for searches and pages.
    statements: Arc<AtomicU64>,
    pub(crate) options: Arc<PgConnectOptions>,
    /// Whether the operator that never rechecks exists: see `prepare::ensure_operator`.
    pub(crate) no_recheck: bool,
    /// How many shards the index has, once that is fixed and known.
    shards: Arc<OnceLock<i16>>,
    /// The connection on which the database was prepared, until somebody wants one.
    spare: Arc<Mutex<Option<PgConnection>>>,
    /// The backend that holds the lock on writing for this program, or held it last; 0 before.
    pub(crate) writer: Arc<AtomicI32>,
}

impl Store {
    pub(crate) fn new(
        leases: Leases,
        control: PgPool,
        options: PgConnectOptions,
        no_recheck: bool,
    ) -> Self {
        let (statements, shards, spare, writer) = Default::default();
        let options = Arc::new(options);
        Self { leases, control, statements, options, no_recheck, shards, spare, writer }
    }

    /// Whether the server only names candidates, by the rarest trigrams of each literal. Where it may
    /// not be taught to, it looks up whole literals and rechecks what it found.
    pub fn no_recheck(&self) -> bool {
        self.no_recheck
    }

    /// How many shards the index has, where that was asked for before.
    pub(crate) fn known_shards(&self) -> &OnceLock<i16> {
        &self.shards
    }

    /// A connection of its own, beside the pool, with the server's own planner settings.
    pub(crate) async fn connection(&self) -> Result<PgConnection> {
        let spare = self.spare().take();
        match spare {
            Some(conn) => Ok(conn),
            None => Ok(connect(&self.options).await?),
        }
    }

    pub(crate) fn spare(&self) -> MutexGuard<'_, Option<PgConnection>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The few connections for what is asked now and then. Each use counts as a statement.
    pub(crate) fn control(&self) -> &PgPool {
        self.count();
        &self.control
    }

    /// Counts a statement.
    pub(crate) fn count(&self) {
        self.statements.fetch_add(1, Ordering::Relaxed);
    }

    /// How many statements were made so far to answer searches and to show pages: of ingest and of what is
    /// read ahead, only the few that are made now and then.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.leases.close().await;
        self.control.close().await;
        let spare = self.spare().take();
        if let Some(conn) = spare {
            let _ = conn.close().await;
        }
    }
}
