//! The pool of connections for searching.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, Executor, PgConnection, PgPool};
use tokio::sync::Semaphore;

use crate::error::Result;
use crate::target::{CONNECT, connect};

/// Time after which an unused connection is closed.
const MAX_IDLE: Duration = Duration::from_mins(5);

/// Statements that load, before the first search on a connection needs them, the library of the trigram operators, the
/// dictionaries of docs search, and the table descriptions that the planner reads.
const WARMING: &str =
    "select show_trgm('warm'), to_tsvector('english', 'warm'), to_tsvector('simple', 'warm');
     select from state, shards, repos limit 0";

/// The connections for searching.
///
/// Unlike a usual pool, it knows the server process of each connection, so that a running statement can be cancelled.
/// It does not test a connection before each use, which would cost as much as most statements; a statement that finds
/// its connection dead is repeated on a new one.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionPool {
    options: Arc<PgConnectOptions>,
    pub(crate) most: usize,
    /// Number of connections to keep open even if unused.
    pub(crate) min_open: Arc<AtomicUsize>,
    pub(crate) free: Arc<Semaphore>,
    /// The unused connections, the most recently used on top.
    idle: Arc<Mutex<Vec<Backend>>>,
    /// Connections to the same server for cancelling statements.
    pub(crate) control: PgPool,
}

/// A connection and the server process at its other end.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) conn: PgConnection,
    pub(crate) pid: i32,
    /// Time when it was last given back.
    pub(crate) used: Instant,
}

impl ConnectionPool {
    /// Makes a pool of at most `connections` at once, with others for cancelling their statements.
    pub(crate) fn new(options: PgConnectOptions, connections: u32, control: PgPool) -> Self {
        let most = connections as usize;
        let free = Arc::new(Semaphore::new(most));
        let options = Arc::new(options);
        Self { options, most, min_open: Arc::default(), free, idle: Arc::default(), control }
    }

    /// Makes a pool of as many connections to another server, by the same role.
    pub(crate) fn at(&self, place: impl Fn(PgConnectOptions) -> PgConnectOptions) -> Self {
        let options = place((*self.options).clone());
        let control = PgPoolOptions::new().max_connections(1).acquire_timeout(CONNECT);
        let control = control.connect_lazy_with(options.clone());
        Self::new(options, self.most as u32, control)
    }

    pub(crate) async fn connect(&self) -> Result<Backend> {
        let mut conn = connect(&self.options).await?;
        let (pid,) = sqlx::query_as("select pg_backend_pid()").fetch_one(&mut conn).await?;
        Ok(Backend { conn, pid, used: Instant::now() })
    }

    /// Connects and runs [`WARMING`].
    pub(crate) async fn connect_warm(&self) -> Result<Backend> {
        let mut backend = self.connect().await?;
        backend.conn.execute(WARMING).await?;
        Ok(backend)
    }

    pub(crate) fn idle(&self) -> MutexGuard<'_, Vec<Backend>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connections that were unused for some minutes, except those to be kept.
    pub(crate) fn trim(&self) {
        let min_open = self.min_open.load(Ordering::Relaxed);
        let mut idle = self.idle();
        // The most recently used is last.
        let spare = idle.len().saturating_sub(min_open);
        let mut at = 0;
        idle.retain(|backend| {
            at += 1;
            at > spare || backend.used.elapsed() < MAX_IDLE
        });
    }

    /// Closes the unused connections, and hands out no more.
    pub(crate) async fn close(&self) {
        self.free.close();
        let idle = std::mem::take(&mut *self.idle());
        for backend in idle {
            let _ = backend.conn.close().await;
        }
        self.control.close().await;
    }
}
