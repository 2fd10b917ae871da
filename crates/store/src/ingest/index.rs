//! The indexes of a shard: builds and drops them, and empties their pending lists.

use std::collections::BTreeSet;

use futures_util::{TryStreamExt, stream};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::error::Result;
use crate::store::Store;
use crate::tables::Groups;
use crate::{ShardId, nodes};

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
        let (documents, chunks, docs) = (shard.documents(), shard.chunks(), shard.docs());
        // Each alone: Citus hands the whole text to nodes.
        for sql in [
            format!(
                "set maintenance_work_mem = '{memory_kb}kB'; set max_parallel_maintenance_workers = 0"
            ),
            format!(
                "create index if not exists {documents}_trgm on {documents} using gin (lexemes gin_trgm_ops)"
            ),
            format!("analyze {chunks} (shard, n, blob)"),
            format!("analyze {documents} (shard, first, upto)"),
            format!("analyze {docs}"),
        ] {
            conn.execute(AssertSqlSafe(sql)).await?;
        }
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
            build_paths(&mut conn, self.groups(), shard).await?;
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
            let members: Vec<i16> = groups.shards(group, i16::MAX).collect();
            let live: bool = sqlx::query_scalar(
                "select exists (select from shards where shard = any($1) and live_from is not null)",
            )
            .bind(&members)
            .fetch_one(&mut conn)
            .await?;
            if !live {
                let table = ShardId(members[0]).chunk_filters(groups);
                // Each alone: Citus hands the whole text to nodes.
                for sql in [
                    format!("cluster {table} using {table}_pkey"),
                    format!("analyze {table} (bit, shard, piece)"),
                ] {
                    conn.execute(AssertSqlSafe(sql)).await?;
                }
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
pub(crate) async fn build_paths(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
) -> Result<()> {
    let files = shard.files();
    let build =
        format!("create index if not exists {files}_path on {files} using gin (path gin_trgm_ops)");
    if groups.are_distributed() {
        conn.execute(AssertSqlSafe(build)).await?;
        return nodes::flush(conn, &files).await;
    }
    let sql = format!("{build}; select gin_clean_pending_list('{files}_path')");
    conn.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

/// Merges the pending list of a shard's trigram index into the index; otherwise every search would read the list.
pub(crate) async fn flush(conn: &mut PgConnection, groups: Groups, shard: ShardId) -> Result<()> {
    if groups.are_distributed() {
        return nodes::flush(conn, &shard.documents()).await;
    }
    sqlx::query("select gin_clean_pending_list(to_regclass($1)) where to_regclass($1) is not null")
        .bind(format!("{}_trgm", shard.documents()))
        .execute(conn)
        .await?;
    Ok(())
}
