//! Nodes of Citus that are lost for good: their groups of shards are given up, and made again, empty, on the others.
//!
//! That takes two steps. The first gives the shards up and publishes that: from then on answers tell which repositories lack
//! files. The second makes the tables of the shards again. It waits for searches of before, since those must not take
//! an empty table for the shard that they know: until then, their statements fail with the node. A command that is killed in
//! between is run again; nobody ingests before.

mod find;
mod steps;

use sqlx::{Connection, Executor, PgConnection};

use self::find::find;
use self::steps::{end_searches, give_up, remake};
use super::status::no_nodes;
use super::{settle, settle_without};
use crate::error::{Error, Result};
use crate::ingest::end_orphans;
use crate::locks::WRITE_LOCK;
use crate::store::Store;

/// What was lost with some nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostNodes {
    /// Numbers of their groups, which are now on other nodes; none if that was done before.
    pub groups: Vec<i16>,
    /// Number of their shards that had texts.
    pub shards: usize,
    /// Bytes of text in them.
    pub bytes: i64,
    /// Names of the repositories whose SCIP indexes were there, at least in part. They must be imported again.
    pub scip: Vec<String>,
}

/// Refuses to go on while the groups of a lost node are not made again.
///
/// # Errors
/// [`Error::Unsuitable`] if they are not; the server cannot be reached or refuses the statement.
pub(crate) async fn refuse_if_lost(conn: &mut PgConnection) -> Result<()> {
    let lost: Option<String> =
        sqlx::query_scalar("select lost from state").fetch_optional(conn).await?.flatten();
    lost.map_or(Ok(()), |names| {
        Err(Error::Unsuitable(format!(
            "what was on lost nodes is not rebuilt yet; run: codesearch db rebuild {names}"
        )))
    })
}

impl Store {
    /// Gives nodes of the index up as lost, by host and port: makes their groups of shards again, empty, on the others, and
    /// marks the repositories that had files there. Does nothing if that was done before.
    ///
    /// # Errors
    /// [`Error::Unsuitable`] if the index is on plain Postgres, an ingest runs, there is no such node, it answers, or no
    /// other node can take its groups; another node does not answer, or refuses a statement.
    pub async fn lose_nodes(&self, nodes: &[(String, u16)]) -> Result<LostNodes> {
        if !self.is_distributed() {
            return Err(no_nodes());
        }
        let mut conn = self.connection().await?;
        // An ingest that finds the node missing ends soon.
        conn.execute("set lock_timeout = '30s'").await?;
        let locked = sqlx::query("select pg_advisory_lock($1)").bind(WRITE_LOCK);
        locked.execute(&mut conn).await.map_err(|error| {
            match error.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() {
                Some("55P03") => Error::Unsuitable(
                    "an ingest or a check is running; rebuild the groups of the node after it"
                        .to_owned(),
                ),
                _ => error.into(),
            }
        })?;
        conn.execute("set lock_timeout = 0").await?;
        let Some(lost) = find(&mut conn, nodes).await? else {
            return Ok(LostNodes::default());
        };
        end_orphans(&mut conn).await?;
        settle_without(&mut conn, &lost.ids).await?;
        let groups = self.groups();
        let all: i64 =
            sqlx::query_scalar("select count(*) from shards").fetch_one(&mut conn).await?;
        let all = all as i16;
        let shards: Vec<i16> =
            lost.groups.iter().flat_map(|group| groups.shards(*group, all)).collect();
        let (full, bytes) = give_up(&mut conn, &lost, &shards, groups).await?;
        end_searches(&mut conn).await?;
        let scip = remake(&mut conn, &lost, &shards, (all, groups)).await?;
        settle(&mut conn, groups).await?;
        conn.close().await?;
        Ok(LostNodes { groups: lost.groups, shards: full, bytes, scip })
    }

    /// Returns the repositories that lack files of lost nodes: names and folders, by name.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn lost_repos(&self) -> Result<Vec<(String, String)>> {
        let sql = "select name, source from repos where lost is not null and indexed_at is not null order by name";
        Ok(sqlx::query_as(sql).fetch_all(self.control()).await?)
    }

    /// Notes why the files that repositories lack since a node was lost cannot be ingested again, by folder.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn note_lost(&self, sources: &[String], why: &[String]) -> Result<()> {
        sqlx::query(
            "update repos r set failure = w.why, failed_at = clock_timestamp()
             from unnest($1::text[], $2::text[]) w (source, why) where r.source = w.source and r.lost is not null",
        )
        .bind(sources)
        .bind(why)
        .execute(self.control())
        .await?;
        Ok(())
    }
}
