//! The shards as things to be filled and indexed.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::connect::Store;
use crate::error::Result;
use crate::writer::WRITE_LOCK;
use crate::{ShardId, docs};

/// How far the build of one shard's index is.
#[derive(Clone, Copy, Debug)]
pub struct IndexProgress {
    /// Which shard.
    pub shard: ShardId,
    /// The part that is done, from 0 to 1.
    pub done: f64,
}

/// Whether an ingest runs, and how far it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ingest {
    /// It runs.
    pub running: bool,
    /// Shards that it is filling or has filled, and that nobody searches yet.
    pub fresh: usize,
    /// It is building indexes.
    pub indexing: bool,
    /// How many of those shards have their index, with parts of those that are being built.
    pub built: f64,
}

impl Ingest {
    /// The part of the indexes that is built, from 0 to 1; none while that is not what it does.
    pub fn done(&self) -> Option<f64> {
        self.indexing.then(|| (self.built / self.fresh.max(1) as f64).min(1.0))
    }
}

/// What is in a shard.
#[derive(Clone, Copy, Debug)]
pub struct ShardFill {
    /// Which one.
    pub id: ShardId,
    /// Bytes of text in it.
    pub bytes: i64,
    /// How many chunks were ever put into it.
    pub chunks: i32,
    /// Files in it are searched.
    pub live: bool,
    /// Bytes of its trigram index.
    pub index_bytes: i64,
    /// It has a whole trigram index.
    pub valid: bool,
}

impl Store {
    /// Whether an ingest runs, and how far it is.
    pub async fn ingest(&self) -> Result<Ingest> {
        // An advisory lock of 64 bits is shown in two halves
        // (https://www.postgresql.org/docs/current/view-pg-locks.html).
        let (running, fresh, built): (bool, i64, i64) = sqlx::query_as(
            "select exists (select from pg_locks l join pg_database d on d.oid = l.database
                            where l.locktype = 'advisory' and d.datname = current_database()
                              and l.classid::bigint = $1 and l.objid::bigint = $2
                              and l.objsubid = 1 and l.granted),
                    count(*), count(to_regclass(format('stretches_%s_trgm', to_char(shard, 'FM000'))))
             from shards where live_from is null and chunks > 0",
        )
        .bind(WRITE_LOCK >> 32)
        .bind(WRITE_LOCK & 0xffff_ffff)
        .fetch_one(self.control())
        .await?;
        let building = self.index_progress().await?;
        let parts: f64 = building.iter().map(|one| one.done).sum();
        let indexing = running && (built > 0 || !building.is_empty());
        Ok(Ingest { running, fresh: fresh as usize, indexing, built: built as f64 + parts })
    }

    /// What is in each shard that is not empty.
    pub async fn fill(&self) -> Result<Vec<ShardFill>> {
        let rows: Vec<(i16, i64, i32, bool, i64, bool)> = sqlx::query_as(
            "select shard, bytes, chunks, live_from is not null,
                    coalesce(pg_relation_size(i.indexrelid), 0), coalesce(i.indisvalid, false)
             from shards left join pg_index i on i.indexrelid =
                 to_regclass(format('stretches_%s_trgm', to_char(shard, 'FM000')))
             where chunks > 0 order by shard",
        )
        .fetch_all(self.control())
        .await?;
        Ok(rows
            .into_iter()
            .map(|(shard, bytes, chunks, live, index_bytes, valid)| ShardFill {
                id: ShardId(shard),
                bytes,
                chunks,
                live,
                index_bytes,
                valid,
            })
            .collect())
    }

    /// Builds the trigram index of a shard, and that of its docs, unless it has them.
    ///
    /// Also tells the planner how many rows the shard has; otherwise it would look them up by shard as
    /// well as by trigram. The build is one transaction: however it ends, the shard has a whole index or none.
    /// `memory_kb` bounds what the server uses for it before it spills.
    pub async fn build_index(&self, shard: ShardId, memory_kb: u64) -> Result<()> {
        let mut conn = self.helper().await?;
        let sql = format!(
            "set maintenance_work_mem = '{memory_kb}kB';
             set max_parallel_maintenance_workers = 0;
             create index if not exists stretches_{0:03}_trgm on stretches_{0:03} using gin (words gin_trgm_ops);
             analyze chunks_{0:03} (shard, n, blob); analyze stretches_{0:03} (shard, first, upto, odd);
             {1}",
            shard.0,
            docs::index_sql(shard)
        );
        conn.execute(AssertSqlSafe(sql)).await?;
        conn.close().await?;
        Ok(())
    }

    /// How far the builds that run are.
    pub async fn index_progress(&self) -> Result<Vec<IndexProgress>> {
        let rows: Vec<(String, f64)> = sqlx::query_as(
            "select c.relname::text, p.blocks_done::float8 / greatest(p.blocks_total, 1)
             from pg_stat_progress_create_index p join pg_class c on c.oid = p.relid
             where c.relname like 'stretches\\_%' and p.datname = current_database()",
        )
        .fetch_all(self.control())
        .await?;
        Ok(rows
            .into_iter()
            .filter_map(|(table, done)| {
                let shard = table.strip_prefix("stretches_")?.parse().ok()?;
                Some(IndexProgress { shard: ShardId(shard), done: done.min(1.0) })
            })
            .collect())
    }

    /// The part of the server's `maintenance_work_mem` that each of `builders` may use, in kB.
    pub async fn index_memory_kb(&self, builders: usize) -> Result<u64> {
        let (kb,): (i64,) =
            sqlx::query_as("select pg_size_bytes(current_setting('maintenance_work_mem')) / 1024")
                .fetch_one(self.control())
                .await?;
        Ok((kb as u64 / builders.max(1) as u64).max(16 * 1024))
    }

    /// Bytes on disk of the tables, of the trigram indexes of texts, and of docs with its indexes.
    pub async fn size_on_disk(&self) -> Result<(i64, i64, i64)> {
        Ok(sqlx::query_as(
            "with sizes as (
                 select c.relname like 'docs\\_%' docs, pg_total_relation_size(c.oid) total,
                        coalesce((select sum(pg_relation_size(i.indexrelid)) from pg_index i
                            join pg_class x on x.oid = i.indexrelid
                            where i.indrelid = c.oid and x.relname like '%\\_trgm'), 0) trigrams
                 from pg_class c where c.relnamespace = 'codesearch'::regnamespace and c.relkind = 'r')
             select coalesce(sum(total - trigrams) filter (where not docs), 0)::bigint,
                    coalesce(sum(trigrams), 0)::bigint,
                    coalesce(sum(total) filter (where docs), 0)::bigint
             from sizes",
        )
        .fetch_one(self.control())
        .await?)
    }
}

/// Drops the index of a shard that is about to be filled: filling goes much faster without.
pub(crate) async fn drop_index(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    let sql = format!(
        "drop index if exists stretches_{0:03}_trgm; drop index if exists docs_{0:03}_lexemes",
        shard.0
    );
    conn.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

/// Empties a shard of which nothing is needed any more.
pub(crate) async fn empty(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    drop_index(conn, shard).await?;
    conn.execute(AssertSqlSafe(format!(
        "truncate chunks_{0:03}, stretches_{0:03}, docs_{0:03}",
        shard.0
    )))
    .await?;
    sqlx::query("delete from grams where shard = $1").bind(shard.0).execute(conn).await?;
    Ok(())
}

/// Builds the trigram index of the paths in a shard, unless it has one; then it moves what was inserted
/// one by one to its place.
///
/// That comes after the files: inserted one by one, 250,000 paths made an index four times as large.
/// Until it is there, lookups go through all paths of the shard.
pub(crate) async fn index_paths(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    let sql = format!(
        "create index if not exists files_{0:03}_path on files_{0:03} using gin (path gin_trgm_ops);
         select gin_clean_pending_list('files_{0:03}_path')",
        shard.0
    );
    conn.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

/// Moves what was inserted into an indexed shard from the indexes' pending lists, which every search
/// has to read through, to their places.
pub(crate) async fn flush_index(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    for index in [format!("stretches_{:03}_trgm", shard.0), format!("docs_{:03}_lexemes", shard.0)]
    {
        sqlx::query(
            "select gin_clean_pending_list(to_regclass($1)) where to_regclass($1) is not null",
        )
        .bind(index)
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}
