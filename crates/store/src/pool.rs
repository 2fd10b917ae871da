//! The connections for searching, kept ready.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, Executor, PgConnection};
use tokio::sync::Semaphore;

use crate::error::Result;
use crate::target::connect;

/// How long a connection is kept that nobody uses.
pub(crate) const MAX_IDLE: Duration = Duration::from_mins(5);

/// What the first searches on a connection would wait for: the library of the trigram operators, the
/// dictionary of words, and what the server must know of tables before it can plan.
const WARMING: &str =
    "select show_trgm('warm'), to_tsvector('english', 'warm'), to_tsvector('simple', 'warm');
     select from state, shards, repos limit 0";

/// The connections for searching.
///
/// Beside what a pool does, they know the server's process that each of them talks to, so that what
/// it does can be cancelled; and they are not asked whether they live each time they are used. That
/// would cost as much as most statements; a statement that finds its connection dead is repeated on
/// a new one instead.
#[derive(Clone, Debug)]
pub(crate) struct Leases {
    options: Arc<PgConnectOptions>,
    pub(crate) most: usize,
    /// How many are kept although nobody uses them.
    pub(crate) kept: Arc<AtomicUsize>,
    pub(crate) free: Arc<Semaphore>,
    /// Those in nobody's hands, the one that was used last on top.
    idle: Arc<Mutex<Vec<Backend>>>,
}

/// A connection, and the server's process that it talks to.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) conn: PgConnection,
    pub(crate) pid: i32,
    /// When it was given back last.
    pub(crate) used: Instant,
}

impl Leases {
    /// At most `connections` at once.
    pub(crate) fn new(options: Arc<PgConnectOptions>, connections: u32) -> Self {
        let most = connections as usize;
        let free = Arc::new(Semaphore::new(most));
        Self { options, most, kept: Arc::default(), free, idle: Arc::default() }
    }

    pub(crate) async fn connect(&self) -> Result<Backend> {
        let mut conn = connect(&self.options).await?;
        let (pid,) = sqlx::query_as("select pg_backend_pid()").fetch_one(&mut conn).await?;
        Ok(Backend { conn, pid, used: Instant::now() })
    }

    /// The same, with everything that a search may want of it in place.
    pub(crate) async fn connect_warm(&self) -> Result<Backend> {
        let mut backend = self.connect().await?;
        backend.conn.execute(WARMING).await?;
        Ok(backend)
    }

    pub(crate) fn idle(&self) -> MutexGuard<'_, Vec<Backend>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes those in nobody's hands, and gives out no more.
    pub(crate) async fn close(&self) {
        self.free.close();
        let idle = std::mem::take(&mut *self.idle());
        for backend in idle {
            let _ = backend.conn.close().await;
        }
    }
}
