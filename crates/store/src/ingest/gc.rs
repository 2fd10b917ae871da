//! Garbage collection: deletes rows that no epoch in use refers to, and maintains indexes and statistics.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::session::Session;
use super::{index, publish};
use crate::error::Result;
use crate::locks::PIN_LOCKS;
use crate::scip::keep as scip;
use crate::tables::{self, Groups};
use crate::word_index::tidy::tidy;
use crate::{Epoch, ShardId, docs, monitors, nodes, symbols};

/// Number of epochs after which a quick ingest deletes what no epoch in use refers to: one for each costs more than what
/// these leave.
const EPOCHS_TO_PURGE: i32 = 32;

impl Session {
    /// Has this ingest, one of many small ones, clean up only what it changed, and delete only now and then.
    pub fn be_quick(&mut self) {
        self.is_quick = true;
    }

    /// Cleans up after an ingest: merges pending lists of indexes, builds the path indexes that a killed ingest did not
    /// build, deletes rows that no epoch in use refers to, and refreshes the planner's statistics of the changed
    /// tables.
    ///
    /// `filled` are the shards that got new contents.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement. Visible data stay as they are.
    pub async fn collect_garbage(&mut self, filled: &[ShardId]) -> Result<()> {
        for shard in filled {
            index::flush(&mut self.conn, self.groups, *shard).await?;
        }
        let changed = std::mem::take(&mut self.changed);
        for state in self.shards.iter().filter(|state| state.live) {
            if self.sweep || changed.contains(&state.shard) || filled.contains(&state.shard) {
                index::build_paths(&mut self.conn, self.groups, state.shard).await?;
            }
        }
        let orphaned = self.purge().await?;
        for shard in filled.iter().copied().chain(orphaned).collect::<BTreeSet<_>>() {
            tidy(&mut self.conn, self.groups, shard).await?;
        }
        if !changed.is_empty() {
            self.analyze(&changed).await?;
        }
        self.conn.execute("update state set unfinished = false where unfinished").await?;
        // Nodes have autovacuum alone: the counts below would be those of the empty tables here.
        if self.is_quick && !self.groups.are_distributed() {
            self.vacuum(changed.into_iter().chain(filled.iter().copied()).collect()).await?;
        }
        Ok(())
    }

    /// Has tables of some shards reuse the space of deleted rows once that is [`LEFT_BEHIND`]: Postgres by itself does so
    /// once a minute at most, after a fifth of the rows is deleted.
    async fn vacuum(&mut self, shards: BTreeSet<ShardId>) -> Result<()> {
        let own = |shard: &ShardId| {
            [shard.files(), shard.chunks(), shard.documents(), shard.docs(), shard.symbols()]
        };
        let mut tables: Vec<String> = shards.iter().flat_map(own).collect();
        for shard in &shards {
            tables.extend([shard.filters(self.groups), shard.chunk_filters(self.groups)]);
            tables.extend([shard.words(self.groups), shard.word_segments(self.groups)]);
        }
        let others = ["blobs", "skipped", "shards", "repos", "state", "switches", "pending"];
        tables.extend(others.map(str::to_owned));
        // What rows keep in TOAST is deleted with them. Sizes are of all pages, so that this comes too early at most.
        let tables: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
            "select format('%I.%I', s.schemaname, s.relname) from pg_class c
             join pg_stat_all_tables s on s.relid in (c.oid, c.reltoastrelid)
             cross join lateral (select pg_relation_size(s.relid) as size) r
             where c.oid in (select to_regclass(name) from unnest($1::text[]) n (name))
               and s.n_dead_tup > 20
               and s.n_dead_tup * size > (s.n_live_tup + s.n_dead_tup) * ({LEFT_BEHIND} + size / 50)"
        )))
        .bind(tables)
        .fetch_all(&mut self.conn)
        .await?;
        if !tables.is_empty() {
            // Shortening a table would lock searches out.
            let sql = format!("vacuum (skip_locked, truncate off) {}", tables.join(", "));
            self.conn.execute(AssertSqlSafe(sql)).await?;
        }
        Ok(())
    }

    /// Refreshes the planner's statistics of changed tables. A quick ingest leaves those of which less than a tenth has
    /// changed since the last time.
    async fn analyze(&mut self, changed: &BTreeSet<ShardId>) -> Result<()> {
        let mut tables: Vec<String> = changed.iter().map(|shard| shard.files()).collect();
        let others = ["skipped", "blobs", "repos", "trees", "tree_sets"];
        tables.extend(others.map(str::to_owned));
        if self.is_quick {
            tables = sqlx::query_scalar(
                "select relname::text from pg_stat_user_tables
                 where relid in (select to_regclass(name) from unnest($1::text[]) n (name))
                   and n_mod_since_analyze > 100 + n_live_tup / 10",
            )
            .bind(tables)
            .fetch_all(&mut self.conn)
            .await?;
        }
        if !tables.is_empty() {
            let sql = format!("analyze {}", tables.join(", "));
            self.conn.execute(AssertSqlSafe(sql)).await?;
        }
        Ok(())
    }

    /// Deletes the files that ended before every epoch that a search still reads, and the contents that only those
    /// files had. Of shards without such files, nothing is read. Returns the shards of which contents were deleted.
    async fn purge(&mut self) -> Result<Vec<ShardId>> {
        let sweep = std::mem::take(&mut self.sweep);
        let (oldest, kept_from): (i32, i32) = sqlx::query_as(
            "select least(epoch, (select min(objid::bigint)::int from pg_locks
                 where locktype = 'advisory' and objsubid = 2 and classid::bigint = $1 and granted
                   and database = (select oid from pg_database where datname = current_database()))), kept_from
             from state",
        )
        .bind(i64::from(PIN_LOCKS))
        .fetch_one(&mut self.conn)
        .await?;
        if self.is_quick && !sweep && oldest < kept_from.saturating_add(EPOCHS_TO_PURGE) {
            return Ok(Vec::new());
        }
        let oldest = monitors::begin_purge(&mut self.conn, oldest).await?;
        let in_use = self.shards.iter().filter(|state| state.live || state.chunks > 0);
        let mut in_use: Vec<ShardId> = in_use.map(|state| state.shard).collect();
        let mut tx = self.conn.begin().await?;
        nodes::commit_as_one(&mut tx, self.groups).await?;
        sqlx::query("update state set kept_from = greatest(kept_from, $1)")
            .bind(oldest)
            .execute(&mut *tx)
            .await?;
        if !sweep {
            let ended: Vec<i16> = sqlx::query_scalar(
                "select shard from shards where changed > purged and purged < $1 order by shard",
            )
            .bind(oldest)
            .fetch_all(&mut *tx)
            .await?;
            in_use.retain(|shard| ended.contains(&shard.0));
        }
        let purged: Vec<i16> = in_use.iter().map(|shard| shard.0).collect();
        sqlx::query("update shards set purged = $1 where shard = any($2)")
            .bind(oldest)
            .bind(purged)
            .execute(&mut *tx)
            .await?;
        let mut orphans: BTreeMap<ShardId, Vec<i32>> = BTreeMap::new();
        for shard in in_use {
            let sql = format!(
                "with gone as (delete from {} where valid_to <= $1 returning blob)
                 select distinct blob from gone",
                shard.files()
            );
            let ended: Vec<i32> =
                sqlx::query_scalar(AssertSqlSafe(sql)).bind(oldest).fetch_all(&mut *tx).await?;
            let blobs = if sweep {
                sqlx::query_scalar("select id from blobs where shard = $1")
                    .bind(shard.0)
                    .fetch_all(&mut *tx)
                    .await?
            } else {
                ended
            };
            if !blobs.is_empty() {
                orphans.insert(shard, blobs);
            }
        }
        for table in ["skipped", "trees", "tree_sets"] {
            let sql = format!("delete from {table} where valid_to <= $1");
            sqlx::query(AssertSqlSafe(sql)).bind(oldest).execute(&mut *tx).await?;
        }
        let odd = sqlx::query(FORGET_ODD).bind(MOST_ODD).execute(&mut *tx).await?;
        if odd.rows_affected() > 0 {
            tx.execute("analyze odd_blobs").await?;
        }
        for (shard, blobs) in &orphans {
            delete_unused(&mut tx, self.groups, *shard, blobs).await?;
        }
        if !orphans.is_empty() {
            free_empty_shards(&mut tx, self.groups).await?;
        }
        tx.commit().await?;
        Ok(orphans.into_keys().collect())
    }
}

/// Bytes of deleted rows of a table, besides a fiftieth of it, from which on a quick ingest has their space reused.
const LEFT_BEHIND: i64 = 256 << 10;

/// Number of contents known not to be texts from which on those of the past may be forgotten.
const MOST_ODD: i64 = 100_000;

/// Forgets which contents are no texts if there are many more than files with such contents: most are of the past. The
/// others are read once more. Both numbers are estimates of the planner, which cost nothing.
const FORGET_ODD: &str = "delete from odd_blobs where (
    select odd.reltuples > $1 + 4 * greatest(left_out.reltuples, 0) from pg_class odd, pg_class left_out
    where odd.oid = 'odd_blobs'::regclass and left_out.oid = 'skipped'::regclass)";

/// Deletes all data of those blobs of a shard that no file refers to.
async fn delete_unused(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    blobs: &[i32],
) -> Result<()> {
    let (n, files) = (shard.0, shard.files());
    let sql = format!("select distinct blob from {files} where shard = {n} and blob = any($1)");
    let used: Vec<i32> =
        sqlx::query_scalar(AssertSqlSafe(sql)).bind(blobs).fetch_all(&mut *conn).await?;
    let used: HashSet<i32> = used.into_iter().collect();
    let unused: Vec<i32> = blobs.iter().copied().filter(|blob| !used.contains(blob)).collect();
    if unused.is_empty() {
        return Ok(());
    }
    let gone: Vec<(i32, i32, i32)> = sqlx::query_as(
        "delete from blobs where shard = $1 and id = any($2) returning id, chunks, bytes",
    )
    .bind(n)
    .bind(&unused)
    .fetch_all(&mut *conn)
    .await?;
    let sql = format!(
        "delete from {} where shard = {n} and n in (
             select generate_series(id, id + chunks - 1) from unnest($1::int[], $2::int[]) gone (id, chunks))",
        shard.chunks()
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(gone.iter().map(|(id, _, _)| *id).collect::<Vec<_>>())
        .bind(gone.iter().map(|(_, chunks, _)| *chunks).collect::<Vec<_>>())
        .execute(&mut *conn)
        .await?;
    // A document stays as long as one of its chunks exists.
    let sql = format!(
        "delete from {} d where shard = {n} and not exists (
             select from {} c where c.shard = {n} and c.n >= d.first and c.n < d.upto)",
        shard.documents(),
        shard.chunks()
    );
    conn.execute(AssertSqlSafe(sql)).await?;
    docs::delete(conn, shard, &unused).await?;
    symbols::delete(conn, shard, &unused).await?;
    scip::delete(conn, groups, shard, &unused).await?;
    // Their words stay until there are many such.
    sqlx::query(
        "update shards set bytes = bytes - $2, words_dead = words_dead + $3 where shard = $1",
    )
    .bind(n)
    .bind(gone.iter().map(|(_, _, bytes)| i64::from(*bytes)).sum::<i64>())
    .bind(gone.iter().map(|(_, chunks, _)| *chunks).sum::<i32>())
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// Makes emptied shards fresh again, and publishes an epoch, so that no later search has them in its catalog.
async fn free_empty_shards(conn: &mut PgConnection, groups: Groups) -> Result<()> {
    let empty: Vec<i16> = sqlx::query_scalar(
        "select shard from shards s where live_from is not null and bytes = 0
           and not exists (select from blobs b where b.shard = s.shard)",
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut freed = Vec::new();
    for shard in empty.into_iter().map(ShardId) {
        let sql = format!("select exists (select from {})", shard.files());
        let has_files: bool = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *conn).await?;
        if !has_files {
            index::drop(conn, shard).await?;
            for table in tables::ALL {
                conn.execute(AssertSqlSafe(table.empty(shard, groups))).await?;
            }
            freed.push(shard.0);
        }
    }
    if freed.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "update shards set live_from = null, chunks = 0, filtered = 0, symbols_upto = 0, worded = 0, defined = true,
             words_dead = 0, docs_indexed = true
         where shard = any($1)",
    )
    .bind(freed)
    .execute(&mut *conn)
    .await?;
    let epoch: i32 =
        sqlx::query_scalar("select epoch + 1 from state").fetch_one(&mut *conn).await?;
    publish::advance(conn, Epoch(epoch)).await
}
