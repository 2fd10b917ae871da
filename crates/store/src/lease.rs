//! A connection for a few statements of a search, which are cancelled when nobody waits for them.

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Postgres};

use crate::connect::Store;
use crate::error::{Error, Result};

/// A connection for a few statements of a search.
///
/// Dropped before it is [done](Lease::done), because the search was given up or a statement failed,
/// it has the server cancel the statement that runs (`pg_cancel_backend`), and is not used again.
#[derive(Debug)]
pub struct Lease {
    /// None once it is done.
    conn: Option<PoolConnection<Postgres>>,
    /// The server's process that this connection talks to.
    pid: i32,
    store: Store,
}

impl Store {
    /// Takes a connection from the pool, and checks that it is alive.
    pub async fn lease(&self) -> Result<Lease> {
        // After a restart of the server, each connection in the pool may be dead.
        let mut tries = self.pool.options().get_max_connections() + 1;
        loop {
            let mut conn = self.pool.acquire().await?;
            // The check that a pool would make anyway, with a use.
            match sqlx::query_as("select pg_backend_pid()").fetch_one(&mut *conn).await {
                Ok((pid,)) => return Ok(Lease { conn: Some(conn), pid, store: self.clone() }),
                Err(error) => {
                    drop(conn.detach());
                    tries -= 1;
                    let error = Error::from(error);
                    if tries == 0 || !matches!(error, Error::Unreachable(_)) {
                        return Err(error);
                    }
                }
            }
        }
    }
}

impl Lease {
    /// Gives the connection back.
    pub fn done(mut self) {
        self.conn = None;
    }

    pub(crate) fn conn(&mut self) -> &mut PgConnection {
        self.conn.as_mut().expect("there until it is done")
    }

    /// Whether the server has the loose operator.
    pub(crate) fn loose(&self) -> bool {
        self.store.loose
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(conn) = self.conn.take() else { return };
        // The connection lives until the server has been told: its process cannot be another one's.
        let conn = conn.detach();
        let (control, pid) = (self.store.control.clone(), self.pid);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let told =
                sqlx::query("select pg_cancel_backend($1)").bind(pid).execute(&control).await;
            if let Err(error) = told {
                tracing::debug!("a statement could not be cancelled: {error}");
            }
            drop(conn);
        });
    }
}
