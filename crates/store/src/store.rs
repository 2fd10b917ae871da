//! A connected database, from which all statements start.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use ngram::Densities;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};
use tokio::sync::watch;

use crate::ShardId;
use crate::error::Result;
use crate::kept::Kept;
use crate::nodes::{LocalNodes, SilentNodes};
use crate::other_work::OtherWork;
use crate::pool::ConnectionPool;
use crate::replica::{NewestRead, Replica, Route};
use crate::tables::Groups;
use crate::target::{CONNECT, connect};

/// A connected database with the current schema.
#[derive(Clone, Debug)]
pub struct Store {
    /// Connections for searching. Those for cancelling their statements are for occasional statements, too.
    pub(crate) pool: ConnectionPool,
    /// Number of statements made for searches and pages.
    statements: Arc<AtomicU64>,
    pub(crate) options: Arc<PgConnectOptions>,
    /// Whether the operator without a recheck exists: see `prepare::ensure_operator`.
    pub(crate) no_recheck: bool,
    /// Number of shards of the index, once it is fixed and has been read.
    shards: Arc<OnceLock<i16>>,
    /// The groups of the index: see [`Groups`].
    groups: Arc<RwLock<Groups>>,
    /// The densities of the chunk filters' rows, once read.
    densities: Arc<OnceLock<Arc<Densities>>>,
    /// The connection on which the database was prepared, until the first use.
    spare: Arc<Mutex<Option<PgConnection>>>,
    /// Process id of the backend that holds the lock on writing for this program, or held it last; 0 before.
    pub(crate) writer: Arc<AtomicI32>,
    /// Counts what this program's ingest awaits besides Postgres.
    pub(crate) other_work: OtherWork,
    /// Connections of its ingests, if it keeps them.
    pub(crate) kept: Kept,
    /// Replicas from which searches read.
    pub(crate) replicas: Arc<OnceLock<Vec<Arc<Replica>>>>,
    /// Nodes of Citus that are known not to respond.
    pub(crate) silent_nodes: SilentNodes,
    /// Those on this machine.
    pub(crate) local_nodes: LocalNodes,
    /// The newest state of the index that this program reads.
    pub(crate) wanted: Arc<watch::Sender<NewestRead>>,
    /// Where the request of this store reads; `None` for the primary.
    pub(crate) route: Option<Arc<Route>>,
}

/// Maximum time for closing connections; those that do not answer by then are dropped.
const CLOSE: Duration = Duration::from_secs(5);

impl Store {
    pub(crate) fn new(pool: ConnectionPool, options: PgConnectOptions, no_recheck: bool) -> Self {
        Self {
            pool,
            options: Arc::new(options),
            no_recheck,
            statements: Arc::default(),
            shards: Arc::default(),
            groups: Arc::new(RwLock::new(Groups::OF_NEW)),
            densities: Arc::default(),
            spare: Arc::default(),
            writer: Arc::default(),
            other_work: OtherWork::default(),
            kept: Kept::default(),
            replicas: Arc::default(),
            silent_nodes: SilentNodes::default(),
            local_nodes: LocalNodes::default(),
            wanted: Arc::default(),
            route: None,
        }
    }

    /// Returns whether the server has the operator without a recheck. It then only names candidates, by the rarest
    /// trigrams of each literal. Without that operator, it looks up whole literals and rechecks its hits.
    pub fn no_recheck(&self) -> bool {
        self.no_recheck
    }

    /// Returns the cell for the number of shards; it is empty until first read.
    pub(crate) fn known_shards(&self) -> &OnceLock<i16> {
        &self.shards
    }

    /// Splits what concerns shards by their groups, in order: one statement reads the rows of a group.
    pub fn in_groups<T>(&self, all: Vec<T>, shard: impl Fn(&T) -> ShardId) -> Vec<Vec<T>> {
        let mut groups: BTreeMap<i16, Vec<T>> = BTreeMap::new();
        for one in all {
            groups.entry(self.groups().of(shard(&one))).or_default().push(one);
        }
        groups.into_values().collect()
    }

    /// Returns the groups of the index, as they were when this program connected or made the index.
    pub(crate) fn groups(&self) -> Groups {
        *self.groups.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the groups to those of the index.
    pub(crate) fn keep_groups(&self, groups: Groups) {
        *self.groups.write().unwrap_or_else(PoisonError::into_inner) = groups;
    }

    /// Returns the number of the group of a shard.
    pub fn group_of(&self, shard: ShardId) -> i16 {
        self.groups().of(shard)
    }

    /// Returns whether the shards lie on the nodes of Citus.
    pub fn is_distributed(&self) -> bool {
        self.groups().are_distributed()
    }

    /// Returns the cell for the densities of the chunk filters; it is empty until first read.
    pub(crate) fn known_densities(&self) -> &OnceLock<Arc<Densities>> {
        &self.densities
    }

    /// Returns a connection outside the pool, with the server's own planner settings.
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

    /// Returns the connections for occasional statements. Each use counts as a statement.
    pub(crate) fn control(&self) -> &PgPool {
        self.count();
        &self.pool.control
    }

    /// Opens a connection for notifications. It is one of its own: a server has several for as long as it runs, and the
    /// occasional statements would lack them.
    pub(crate) async fn listener(&self) -> Result<PgListener> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .max_lifetime(None)
            .idle_timeout(None)
            .acquire_timeout(CONNECT)
            .connect_lazy_with((*self.options).clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.ignore_pool_close_event(true);
        // Whoever waits must be told of a broken connection at once.
        listener.eager_reconnect(false);
        Ok(listener)
    }

    /// Returns the pools of connections for searching: to the primary, to replicas, and to nodes on this machine.
    pub(crate) fn pools(&self) -> Vec<ConnectionPool> {
        let mut pools = vec![self.pool.clone()];
        pools.extend(self.replicas().iter().map(|replica| replica.pool.clone()));
        pools.extend(self.local_nodes.pools());
        pools
    }

    /// Counts one statement.
    pub(crate) fn count(&self) {
        self.statements.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of statements made so far to answer searches and to show pages. For ingest and prefetching,
    /// it counts only the occasional statements on `control`.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Closes all connections.
    pub async fn close(&self) {
        let closing = async {
            for pool in self.pools() {
                pool.close().await;
            }
            self.kept.close().await;
            let spare = self.spare().take();
            if let Some(conn) = spare {
                let _ = conn.close().await;
            }
        };
        let _ = tokio::time::timeout(CLOSE, closing).await;
    }
}
