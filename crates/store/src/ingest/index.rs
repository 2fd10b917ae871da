//! The indexes of a shard: builds and drops them, and empties their pending lists.

use std::collections::BTreeSet;
use std::ops::Range;

use futures_util::{TryStreamExt, stream};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::ShardId;
use crate::error::Result;
use crate::store::Store;

impl Store {
    /// Builds the trigram index of a shard, unless it exists.
    ///
    /// Also updates the planner's statistics of the shard; without them it would combine the lookup by trigram with one
    /// by shard. The build is one transaction: however it ends, the shard has a complete index or none. `memory_kb`
    /// bounds the memory that the server uses before it spills to disk.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement.
    pub async fn build_index(&self, shard: ShardId, memory_kb: u64) -> Result<()> {
        let mut conn = self.helper().await?;
        let sql = format!(
            "set maintenance_work_mem = '{memory_kb}kB';
             set max_parallel_maintenance_workers = 0;
             create index if not exists {0}_trgm on {0} using gin (lexemes gin_trgm_ops);
             analyze {1} (shard, n, blob); analyze {0} (shard, first, upto); analyze {2}",
            shard.documents(),
            shard.chunks(),
            shard.docs()
        );
        conn.execute(AssertSqlSafe(sql)).await?;
        conn.close().await?;
        Ok(())
    }

    /// Builds the path indexes of some shards, `at_once` at a time, unless they exist.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement.
    pub async fn build_path_indexes(&self, shards: &[ShardId], at_once: usize) -> Result<()> {
        let build = async |shard| {
            let mut conn = self.helper().await?;
            build_paths(&mut conn, shard).await?;
            Ok(conn.close().await?)
        };
        stream::iter(shards.iter().copied().map(Ok)).try_for_each_concurrent(at_once, build).await
    }

    /// Sorts the chunk filters of new shards by bit, so that a search finds those of a bit side by side: two thirds of
    /// the time for a bit of 28 shards. Skips shards that share a partition with a searched shard, since sorting locks
    /// the partition.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement; then the filters are unchanged.
    pub async fn sort_chunk_filters(&self, shards: &[ShardId]) -> Result<()> {
        let groups = self.groups();
        let of_shards: BTreeSet<i16> = shards.iter().map(|shard| groups.of(*shard)).collect();
        let mut conn = self.helper().await?;
        for group in of_shards {
            let Range { start, end } = groups.shards(group);
            let live: bool = sqlx::query_scalar(
                "select exists (select from shards where shard >= $1 and shard < $2 and live_from is not null)",
            )
            .bind(start)
            .bind(end)
            .fetch_one(&mut conn)
            .await?;
            if !live {
                let table = ShardId(start).chunk_filters(groups);
                let sql = format!(
                    "cluster {table} using {table}_pkey; analyze {table} (bit, shard, piece)"
                );
                conn.execute(AssertSqlSafe(sql)).await?;
            }
        }
        Ok(conn.close().await?)
    }

    /// Returns the share of the server's `maintenance_work_mem` for each of `builders`, in kB.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn index_memory_kb(&self, builders: usize) -> Result<u64> {
        let (kb,): (i64,) =
            sqlx::query_as("select pg_size_bytes(current_setting('maintenance_work_mem')) / 1024")
                .fetch_one(self.control())
                .await?;
        Ok((kb as u64 / builders.max(1) as u64).max(16 * 1024))
    }
}

/// Drops the indexes of a shard before it is filled: filling is much faster without them.
pub(crate) async fn drop(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    let sql = format!("drop index if exists {}_trgm", shard.documents());
    conn.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

/// Builds the trigram index of the paths of a shard, unless it exists; then merges its pending list into the index.
///
/// The index is built after the files are inserted: inserted one by one, 250,000 paths made an index four times as
/// large. Until it exists, lookups scan all paths of the shard.
pub(crate) async fn build_paths(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    let sql = format!(
        "create index if not exists {0}_path on {0} using gin (path gin_trgm_ops);
         select gin_clean_pending_list('{0}_path')",
        shard.files()
    );
    conn.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

/// Merges the pending list of a shard's trigram index into the index; otherwise every search would read the list.
pub(crate) async fn flush(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    sqlx::query("select gin_clean_pending_list(to_regclass($1)) where to_regclass($1) is not null")
        .bind(format!("{}_trgm", shard.documents()))
        .execute(conn)
        .await?;
    Ok(())
}
