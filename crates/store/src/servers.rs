//! The servers of an index, each of which knows of the others; and which of them does what only one may do.

use std::time::Duration;

use sqlx::postgres::PgListener;
use sqlx::{Connection, FromRow, PgConnection};

use crate::error::{Error, Result};
use crate::locks::{LEADER_LOCK, SERVER_LOCKS};
use crate::schema;
use crate::store::Store;
use crate::target::{CONNECT, Target, answered, connect, options};

/// The channel on which servers tell each other that one has come or goes, or, with a name, that they need what others
/// hold of a client's limits.
pub(crate) const SERVERS: &str = "codesearch_servers";

/// Maximum time of a statement about servers. A slower connection counts as lost.
const ANSWERS: Duration = Duration::from_secs(5);

/// What a server tells of itself.
#[derive(Clone, Debug)]
pub struct NewServer {
    /// Where it listens.
    pub address: String,
    /// The name of its machine.
    pub machine: String,
    /// Its version of codesearch.
    pub version: String,
}

/// A server that runs.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ServerRow {
    /// Its number.
    pub id: i32,
    /// Where it listens.
    pub address: String,
    /// The name of its machine.
    pub machine: String,
    /// The number of its process.
    pub process: i32,
    /// Its version of codesearch.
    pub version: String,
    /// When it joined, as `2026-01-31T12:00:00Z`.
    pub started: String,
    /// Whether it is about to stop.
    pub draining: bool,
    /// Whether it is the one that ingests.
    pub ingests: bool,
}

/// A server among those of its index, until this is dropped. Its connection holds the lock on its number, and perhaps
/// the lock on leading.
#[derive(Debug)]
pub struct Membership {
    listener: PgListener,
    id: i32,
    leads: bool,
}

/// SQL: whether the server of a row `s` holds its lock.
const LIVES: &str = "exists (
    select from pg_locks l where l.locktype = 'advisory' and l.objsubid = 2 and l.granted
      and l.classid::bigint = $1 and l.objid::bigint = s.id
      and l.database = (select oid from pg_database where datname = current_database()))";

impl Store {
    /// Joins the servers of this index, and tells the others.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement; [`Error::Unsuitable`] if a newer version of codesearch has
    /// changed the schema so that this one must not go on.
    pub async fn join_servers(&self, new: &NewServer) -> Result<Membership> {
        let joining = async {
            schema::check(&mut *self.control().acquire().await?).await?;
            let mut listener = self.listener().await?;
            // Notifications on their way to a machine that has vanished would keep its locks for a quarter of an hour.
            sqlx::query("set tcp_user_timeout = '25s'").execute(&mut listener).await?;
            listener.listen(SERVERS).await?;
            // The lock is there before the row can be seen.
            let id: i32 = sqlx::query_scalar(
                "with made as (
                     insert into servers (address, machine, process, backend, version)
                     values ($2, $3, $4, pg_backend_pid(), $5) returning id)
                 select id from made, lateral (select pg_advisory_lock($1, id)) locked",
            )
            .bind(SERVER_LOCKS)
            .bind(&new.address)
            .bind(&new.machine)
            .bind(std::process::id().cast_signed())
            .bind(&new.version)
            .fetch_one(&mut listener)
            .await?;
            sqlx::query("delete from allowances where filled < now() - interval '1 day'")
                .execute(&mut listener)
                .await?;
            sqlx::query("select pg_notify($1, '')").bind(SERVERS).execute(&mut listener).await?;
            Ok::<_, Error>(Membership { listener, id, leads: false })
        };
        answered(CONNECT, joining).await
    }
}

impl Membership {
    /// Returns its number.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Forgets servers that have ended, and returns how many others there are.
    ///
    /// # Errors
    /// The connection was lost, and with it the membership.
    pub async fn others(&mut self) -> Result<usize> {
        let counting = async {
            let sql = format!(
                "with gone as (delete from servers s where not {LIVES} returning id),
                      freed as (delete from allowances_running r using gone g where r.server = g.id)
                 select count(*) from servers s where id <> $2 and {LIVES}"
            );
            let others: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
                .bind(i64::from(SERVER_LOCKS))
                .bind(self.id)
                .fetch_one(&mut self.listener)
                .await?;
            Ok::<_, Error>(usize::try_from(others).unwrap_or_default())
        };
        answered(ANSWERS, counting).await
    }

    /// Takes the lead, if no other server has it. Returns whether this one has it now.
    ///
    /// # Errors
    /// The connection was lost, and with it the lead.
    pub async fn lead(&mut self) -> Result<bool> {
        if !self.leads {
            let asking = sqlx::query_scalar("select pg_try_advisory_lock($1)").bind(LEADER_LOCK);
            self.leads = answered(ANSWERS, asking.fetch_one(&mut self.listener)).await?;
        }
        Ok(self.leads)
    }

    /// Gives up the lead, if it has it, and tells the others.
    ///
    /// # Errors
    /// The connection was lost, and with it the lead.
    pub async fn follow(&mut self) -> Result<()> {
        if self.leads {
            let freeing =
                sqlx::query("select pg_advisory_unlock($1), pg_notify($2, '')").bind(LEADER_LOCK);
            answered(ANSWERS, freeing.bind(SERVERS).execute(&mut self.listener)).await?;
            self.leads = false;
        }
        Ok(())
    }

    /// Notes that this server is about to stop.
    ///
    /// # Errors
    /// The connection was lost.
    pub async fn drain(&mut self) -> Result<()> {
        let noting = sqlx::query("update servers set draining = true where id = $1").bind(self.id);
        answered(ANSWERS, noting.execute(&mut self.listener)).await?;
        Ok(())
    }

    /// Waits for what other servers tell: that one has come or gone (an empty name), or the name of a client of whose
    /// limits they need what this server holds.
    ///
    /// # Errors
    /// The connection was lost.
    pub async fn told(&mut self) -> Result<String> {
        match self.listener.try_recv().await? {
            Some(told) => Ok(told.payload().to_owned()),
            None => Err(Error::Unreachable("the connection broke".to_owned())),
        }
    }
}

/// Returns the servers of an index, in the order in which they joined. Makes and changes nothing.
///
/// # Errors
/// The server cannot be reached or refuses a statement; [`Error::Empty`] if there is no index.
pub async fn servers(target: &Target) -> Result<Vec<ServerRow>> {
    let mut conn: PgConnection = connect(&options(target)?).await?;
    let listing = async {
        let known: bool =
            sqlx::query_scalar("select to_regclass('codesearch.servers') is not null")
                .fetch_one(&mut conn)
                .await?;
        if !known {
            return Err(Error::Empty);
        }
        let sql = format!(
            "select s.id, s.address, s.machine, s.process, s.version, s.draining,
                    to_char(s.started at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') as started,
                    exists (select from pg_locks l where l.pid = s.backend and l.locktype = 'advisory' and l.objsubid = 1
                                and (l.classid::bigint << 32) + l.objid::bigint = $2 and l.granted) as ingests
             from servers s where {LIVES} order by s.id"
        );
        Ok(sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(i64::from(SERVER_LOCKS))
            .bind(LEADER_LOCK)
            .fetch_all(&mut conn)
            .await?)
    };
    let listed = answered(CONNECT, listing).await;
    let _ = conn.close().await;
    listed
}
