//! Checks an index: the rules between its tables, and that all derived data cover their texts.

mod access;
mod history;
mod indexes;
mod rules;
mod shard;
mod words;

use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::error::{Error, Result};
use crate::locks::WRITE_LOCK;
use crate::scip::keep as scip;
use crate::store::Store;
use crate::{BlobId, ShardId, nodes, symbols};

/// Number of attempts to take the lock, and the pause between them: the server takes a moment to
/// notice that an ingest has ended.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(200);

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its shard, if it lies in one.
    pub shard: Option<ShardId>,
    /// Its description.
    pub what: String,
    /// Whether it is in data derived from the texts, which can be rebuilt.
    pub is_derived: bool,
}

/// A check of the index. It blocks all changes of the index meanwhile.
#[derive(Debug)]
pub struct Check {
    store: Store,
    conn: PgConnection,
}

impl Store {
    /// Begins to check the index.
    ///
    /// # Errors
    /// An ingest is running; or the server cannot be reached.
    pub async fn check(&self) -> Result<Check> {
        let mut conn = self.connection().await?;
        for _ in 0..TRIES {
            let (locked, backend): (bool, i32) =
                sqlx::query_as("select pg_try_advisory_lock_shared($1), pg_backend_pid()")
                    .bind(WRITE_LOCK)
                    .fetch_one(&mut conn)
                    .await?;
            if locked {
                self.writer.store(backend, Ordering::Relaxed);
                return Ok(Check { store: self.clone(), conn });
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(Error::Unsuitable("the index is changing; run the check after the ingest".to_owned()))
    }
}

impl Check {
    /// Returns whether nothing was ever indexed. An index whose repositories were all removed is
    /// empty, not new.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn is_new(&mut self) -> Result<bool> {
        Ok(sqlx::query_scalar("select epoch = 0 from state").fetch_one(&mut self.conn).await?)
    }

    /// Returns the shards that hold chunks, or a random sample of `sample` of them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn shards(&mut self, sample: Option<u32>) -> Result<Vec<ShardId>> {
        let shards: Vec<i16> = sqlx::query_scalar(
            "select shard from shards where chunks > 0 order by random() limit $1",
        )
        .bind(sample.map(i64::from))
        .fetch_all(&mut self.conn)
        .await?;
        let mut shards: Vec<ShardId> = shards.into_iter().map(ShardId).collect();
        shards.sort_unstable();
        Ok(shards)
    }

    /// Rebuilds all data derived from a shard's texts except its symbols, which it deletes, along with SCIP data that
    /// do not fit the texts. Servers that hold any of these in memory must be restarted.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement; then the shard is unchanged.
    pub async fn repair(&self, shard: ShardId) -> Result<()> {
        self.store.derive_anew(shard).await?;
        let mut conn = self.store.helper().await?;
        let mut tx = conn.begin().await?;
        nodes::commit_as_one(&mut tx, self.store.groups()).await?;
        symbols::forget(&mut tx, self.store.groups(), shard).await?;
        scip::delete_damaged(&mut tx, self.store.groups(), shard).await?;
        Ok(tx.commit().await?)
    }

    /// Returns the name of a file with some contents, for messages.
    async fn file_of(&mut self, shard: ShardId, blob: BlobId) -> Result<String> {
        let sql = format!(
            "select r.name || '/' || f.path from {} f join repos r on r.id = f.repo
             where f.shard = $1 and f.blob = $2 order by valid_to desc, 1 limit 1",
            shard.files()
        );
        let name: Option<String> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(shard.0)
            .bind(blob.0)
            .fetch_optional(&mut self.conn)
            .await?;
        Ok(name.unwrap_or_else(|| "a text without a file".to_owned()))
    }

    /// Ends the check.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn end(mut self) -> Result<()> {
        self.conn.execute("select pg_advisory_unlock_all()").await?;
        Ok(())
    }
}
