//! A connection for some statements of a search; dropping it cancels the running statement.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ngram::Densities;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, AssertSqlSafe, Encode, FromRow, PgConnection, Postgres, Type};
use tokio::sync::OwnedSemaphorePermit;

use crate::error::{Error, Result};
use crate::pool::{Backend, ConnectionPool};
use crate::replica::Replica;
use crate::store::Store;
use crate::tables::Groups;
use crate::target::{CONNECT, answered};

/// Longest time that a search waits for a free connection before it fails.
const ACQUIRE: Duration = Duration::from_secs(30);

/// Longest time in which a node says by itself that it refuses a statement.
const AT_ONCE: Duration = Duration::from_millis(500);

/// A connection for some statements of a search.
///
/// If it is dropped while a statement runs, because the search was abandoned, it has the server cancel
/// the statement (`pg_cancel_backend`). The connection is then not reused.
#[derive(Debug)]
pub struct Lease {
    /// `None` once it is done, and after a statement whose node does not respond.
    backend: Option<Backend>,
    store: Store,
    pool: ConnectionPool,
    /// The replica at its other end; `None` for the primary.
    replica: Option<Arc<Replica>>,
    /// Whether it comes from the pool and has not answered yet: it may have died since its last
    /// use.
    untested: bool,
    /// Whether a statement was sent whose end is not known.
    is_running: bool,
    permit: Option<OwnedSemaphorePermit>,
}

/// A statement with its parameters; each connection prepares it once.
#[derive(Clone, Debug)]
pub(crate) struct BoundStatement {
    pub(crate) sql: String,
    parameters: PgArguments,
}

impl BoundStatement {
    pub(crate) fn new(sql: String) -> Self {
        Self { sql, parameters: PgArguments::default() }
    }

    /// Adds the next parameter.
    #[must_use]
    pub(crate) fn bind<'a, T: Encode<'a, Postgres> + Type<Postgres>>(mut self, value: T) -> Self {
        self.parameters.add(value).expect("numbers, texts and arrays of them can be sent");
        self
    }

    async fn rows(self, conn: &mut PgConnection) -> Result<Vec<PgRow>> {
        Ok(sqlx::query_with(AssertSqlSafe(self.sql), self.parameters).fetch_all(conn).await?)
    }
}

impl Store {
    /// Returns the number of connections for searching that are in use, and the most there may be.
    pub fn connections(&self) -> (usize, usize) {
        let free = self.pool.free.available_permits();
        (self.pool.most.saturating_sub(free), self.pool.most)
    }

    /// Closes the connections for searching that were unused for some minutes, except those to be
    /// [kept](Self::keep_warm). Each connection costs the server memory for its prepared
    /// statements.
    pub fn trim(&self) {
        self.pools().iter().for_each(ConnectionPool::trim);
    }

    /// Keeps this many connections for searching open and warm, used or not, and opens the missing
    /// ones.
    ///
    /// # Errors
    /// The server cannot be reached or has no connection left.
    pub async fn keep_warm(&self, connections: usize) -> Result<()> {
        let connections = connections.min(self.pool.most);
        self.pool.min_open.store(connections, Ordering::Relaxed);
        loop {
            let busy = self.connections().0;
            if busy + self.pool.idle().len() >= connections {
                return Ok(());
            }
            // Holds one permit at a time; searches that arrive meanwhile open their own
            // connections.
            let Ok(_permit) = self.pool.free.try_acquire() else { return Ok(()) };
            let backend = self.pool.connect_warm().await?;
            self.pool.idle().push(backend);
        }
    }

    /// Begins to open this many connections for searching, while the caller does something else. If there may be no more
    /// than these, a search that needs one meanwhile waits for it. One that cannot be opened is tried again by the search,
    /// which says why.
    pub fn connect_ahead(&self, connections: usize) {
        for _ in 0..connections {
            let Ok(permit) = Arc::clone(&self.pool.free).try_acquire_owned() else { return };
            let pool = self.pool.clone();
            tokio::spawn(async move {
                if let Ok(backend) = pool.connect().await {
                    pool.idle().push(backend);
                }
                drop(permit);
            });
        }
    }

    /// Takes a connection for searching: to the replica that the request of this store reads, or to the primary.
    ///
    /// # Errors
    /// [`Error::Busy`] if none becomes free in time.
    pub fn lease(&self) -> BoxFuture<'_, Result<Lease>> {
        Box::pin(async move {
            if let Some(replica) = self.source() {
                match self.lease_of(&replica.pool).await {
                    Ok(mut lease) => {
                        lease.replica = Some(replica);
                        return Ok(lease);
                    }
                    Err(error) => self.leave(&replica, &error),
                }
            }
            self.lease_of(&self.pool).await
        })
    }

    pub(crate) async fn lease_of(&self, pool: &ConnectionPool) -> Result<Lease> {
        let permit = tokio::time::timeout(ACQUIRE, Arc::clone(&pool.free).acquire_owned());
        let permit = match permit.await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(Error::Unreachable("the connections are closed".to_owned())),
            Err(_) => return Err(Error::Busy),
        };
        let idle = pool.idle().pop();
        let untested = idle.is_some();
        let backend = match idle {
            Some(backend) => backend,
            None => pool.connect().await?,
        };
        let (store, pool) = (self.clone(), pool.clone());
        Ok(Lease {
            backend: Some(backend),
            store,
            pool,
            replica: None,
            untested,
            is_running: false,
            permit: Some(permit),
        })
    }

    /// Has the request of this store read from the primary, since a replica failed.
    fn leave(&self, replica: &Replica, error: &Error) {
        tracing::debug!("the replica {} is not read any more: {error}", replica.name);
        if let Error::Unreachable(_) = error {
            replica.lose();
        }
        if let Some(route) = &self.route {
            route.leave();
        }
    }
}

impl Lease {
    /// Gives the connection back to the pool now, as dropping it does.
    pub fn done(self) {
        drop(self);
    }

    /// Runs a read-only statement: on the node of its tables, if that is on this machine and answers. If the connection has
    /// died since its last use, runs it on a new one; if a replica fails, on the primary. The future is boxed, as is that of
    /// [`Store::lease`]: so only this crate compiles sqlx's.
    pub(crate) fn rows(&mut self, bound: BoundStatement) -> BoxFuture<'_, Result<Vec<PgRow>>> {
        Box::pin(async move {
            self.store.count();
            if let Some(rows) = self.store.rows_of_local_node(&bound).await {
                return Ok(rows);
            }
            let Some(replica) = self.replica.clone() else { return self.rows_here(bound).await };
            let again = bound.clone();
            let error = tokio::select! {
                biased;
                rows = self.rows_here(bound) => match rows {
                    Ok(rows) => return Ok(rows),
                    Err(error) => error,
                },
                () = replica.gone() => Error::Unreachable("it does not answer".to_owned()),
            };
            // Most often, the primary has deleted what this statement could have read (`max_standby_streaming_delay`).
            self.store.leave(&replica, &error);
            let store = self.store.clone();
            *self = store.lease_of(&store.pool).await?;
            self.rows_here(again).await
        })
    }

    /// Runs a statement at the end that the lease has.
    pub(crate) async fn rows_here(&mut self, bound: BoundStatement) -> Result<Vec<PgRow>> {
        let of_nodes = self.store.is_distributed();
        let again = (self.untested || of_nodes).then(|| bound.clone());
        let begun = Instant::now();
        let rows = match (self.run(bound).await, again) {
            // The server may have kept a connection to the node since before that started again. One that does not respond
            // would take as long again.
            (Err(Error::Node { .. }), Some(again)) if begun.elapsed() < AT_ONCE => {
                self.run(again).await
            }
            (Err(Error::Unreachable(_)), Some(again)) if self.untested => {
                // The other pooled connections are as old.
                self.pool.idle().clear();
                self.backend = Some(self.pool.connect().await?);
                (self.untested, self.is_running) = (false, false);
                self.run(again).await
            }
            (rows, _) => {
                self.untested &= rows.is_err();
                rows
            }
        };
        if of_nodes && matches!(rows, Err(Error::Node { .. })) {
            // Until the node answers, nobody else waits for its refusal.
            self.store.look_for_silent_nodes();
        }
        rows
    }

    /// Runs a statement on the connection, as long as its node may respond.
    async fn run(&mut self, bound: BoundStatement) -> Result<Vec<PgRow>> {
        let backend = match self.backend.take() {
            Some(backend) => backend,
            // The statement before was given up.
            None => self.pool.connect().await?,
        };
        let backend = self.backend.insert(backend);
        let is_distributed = self.store.is_distributed();
        if is_distributed {
            self.store.silent_nodes.refuse(&bound.sql)?;
        }
        self.is_running = true;
        let rows = if is_distributed {
            let sql = bound.sql.clone();
            tokio::select! {
                biased;
                rows = bound.rows(&mut backend.conn) => rows,
                error = self.store.silence_of_node(&sql) => {
                    // One more connection than allowed may be open until the statement is cancelled.
                    self.cancel(None);
                    Err(error)
                }
            }
        } else {
            bound.rows(&mut backend.conn).await
        };
        // A connection that was lost is not used again.
        self.is_running = matches!(rows, Err(Error::Unreachable(_)));
        rows
    }

    /// Runs a read-only statement and decodes its rows.
    pub(crate) async fn fetch<T: for<'r> FromRow<'r, PgRow>>(
        &mut self,
        bound: BoundStatement,
    ) -> Result<Vec<T>> {
        let rows = self.rows(bound).await?;
        Ok(rows.iter().map(T::from_row).collect::<Result<_, _>>()?)
    }

    /// Returns the number of shards of the index.
    pub(crate) async fn shard_count(&mut self) -> Result<i16> {
        if let Some(count) = self.store.known_shards().get() {
            return Ok(*count);
        }
        let sql = "select count(*) from shards".to_owned();
        let rows: Vec<(i64,)> = self.fetch(BoundStatement::new(sql)).await?;
        let count = rows.first().map_or(0, |(count,)| *count) as i16;
        Ok(*self.store.known_shards().get_or_init(|| count))
    }

    /// Returns the size of the groups of the index.
    pub(crate) fn groups(&self) -> Groups {
        self.store.groups()
    }

    /// Returns the cell for the densities of the chunk filters; it is empty until first read.
    pub(crate) fn known_densities(&self) -> &OnceLock<Arc<Densities>> {
        self.store.known_densities()
    }

    /// Returns whether the server has the operator without a recheck.
    pub(crate) fn no_recheck(&self) -> bool {
        self.store.no_recheck
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.is_running {
            let permit = self.permit.take();
            self.cancel(permit);
        } else if let Some(mut backend) = self.backend.take() {
            backend.used = Instant::now();
            self.pool.idle().push(backend);
        }
    }
}

impl Lease {
    /// Has the server cancel the running statement, closes the connection, and frees the permit.
    fn cancel(&mut self, permit: Option<OwnedSemaphorePermit>) {
        let Some(Backend { conn, pid, .. }) = self.backend.take() else { return };
        // The connection is kept until the cancel request was sent, so that its process id cannot
        // have passed to another backend.
        let control = self.pool.control.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let cancelling =
                sqlx::query("select pg_cancel_backend($1)").bind(pid).execute(&control);
            // The control connection may be stuck, too.
            if let Err(error) = answered(CONNECT, cancelling).await {
                tracing::debug!("a statement could not be cancelled: {error}");
            }
            // Frees the permit last, so that the server never has more connections than allowed.
            drop((conn, permit));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::CONTROL;
    use crate::testing::{on_index, value};

    async fn one(lease: &mut Lease) -> Result<i32> {
        let rows: Vec<(i32,)> = lease.fetch(BoundStatement::new("select 1".to_owned())).await?;
        Ok(rows[0].0)
    }

    /// Returns the id of the server process at the other end.
    fn pid(lease: &Lease) -> i32 {
        lease.backend.as_ref().unwrap().pid
    }

    #[test]
    fn a_connection_is_given_back_and_used_again() {
        on_index(1, async |store| {
            assert_eq!(store.connections(), (0, 4));
            let mut first = store.lease().await.unwrap();
            let process = pid(&first);
            assert_eq!((store.connections(), one(&mut first).await.unwrap()), ((1, 4), 1));
            first.done();
            let again = store.lease().await.unwrap();
            assert_eq!((store.connections(), pid(&again)), ((1, 4), process));
            again.done();
            store.keep_warm(3).await.unwrap();
            assert_eq!(store.pool.idle().len(), 3);
        });
    }

    #[test]
    fn a_statement_on_a_dead_connection_runs_on_a_new_one() {
        on_index(1, async |store| {
            let lease = store.lease().await.unwrap();
            let process = pid(&lease);
            lease.done();
            let ended = format!("select pg_terminate_backend({process}, 10000)");
            assert!(value::<bool>(store, &ended).await);
            let mut lease = store.lease().await.unwrap();
            assert_eq!((pid(&lease), one(&mut lease).await.unwrap()), (process, 1));
            assert_ne!(pid(&lease), process);
            lease.done();
        });
    }

    /// A connection counts as open until its statement was cancelled, however long that takes.
    #[test]
    fn a_dropped_connection_is_free_only_when_its_statement_is_cancelled() {
        on_index(1, async |store| {
            let mut control = Vec::new();
            for _ in 0..CONTROL {
                control.push(store.control().acquire().await.unwrap());
            }
            let mut lease = store.lease().await.unwrap();
            let process = pid(&lease);
            let long = lease.rows(BoundStatement::new("select pg_sleep(60)".to_owned()));
            assert!(tokio::time::timeout(Duration::from_millis(50), long).await.is_err());
            drop(lease);
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert_eq!(store.connections(), (1, 4));
            drop(control);
            while store.connections() != (0, 4) {
                tokio::task::yield_now().await;
            }
            let ended = format!(
                "select not exists (select from pg_stat_activity where pid = {process} and state = 'active')"
            );
            while !value::<bool>(store, &ended).await {
                tokio::task::yield_now().await;
            }
        });
    }

    #[test]
    fn who_waits_is_told_when_the_connections_are_closed() {
        on_index(1, async |store| {
            let mut held = Vec::new();
            for _ in 0..4 {
                held.push(store.lease().await.unwrap());
            }
            let (waiting, ()) = tokio::join!(store.lease(), store.pool.close());
            assert!(matches!(waiting, Err(Error::Unreachable(_))));
            held.into_iter().for_each(Lease::done);
        });
    }

    #[test]
    fn the_shards_of_an_index_are_counted_once() {
        on_index(7, async |store| {
            let mut lease = store.lease().await.unwrap();
            assert_eq!(lease.shard_count().await.unwrap(), 7);
            let before = store.statements();
            assert_eq!(lease.shard_count().await.unwrap(), 7);
            assert_eq!(store.statements(), before);
            lease.done();
        });
    }
}
