//! The state of the index: the contents of its shards, its size, and the progress of an ingest.

use std::collections::HashMap;

use sqlx::{Connection, Executor};

use crate::error::Result;
use crate::locks::WRITE_LOCK;
use crate::store::Store;
use crate::{ShardId, nodes};

/// Progress of building the index of one shard.
#[derive(Clone, Copy, Debug)]
pub struct IndexProgress {
    /// The shard.
    pub shard: ShardId,
    /// The part that is done, from 0 to 1.
    pub done: f64,
}

/// Whether an ingest runs, and its progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ingest {
    /// Whether an ingest is running.
    pub running: bool,
    /// Number of shards that it is filling or has filled, and that are not searched yet.
    pub fresh: usize,
    /// Whether it is building indexes.
    pub indexing: bool,
    /// Number of those shards' indexes that are built; an index being built counts by its finished part.
    pub built: f64,
}

impl Ingest {
    /// Returns the finished part of the indexes, from 0 to 1; `None` unless it is building them.
    pub fn done(&self) -> Option<f64> {
        self.indexing.then(|| (self.built / self.fresh.max(1) as f64).min(1.0))
    }
}

/// The contents of a shard.
#[derive(Clone, Copy, Debug)]
pub struct ShardStatus {
    /// Its number.
    pub id: ShardId,
    /// Bytes of text in it.
    pub bytes: i64,
    /// Number of chunks ever stored in it.
    pub chunks: i32,
    /// Whether its files are searched.
    pub live: bool,
    /// Bytes of its trigram index.
    pub index_bytes: i64,
    /// Whether its trigram index is complete.
    pub valid: bool,
}

impl Store {
    /// Returns whether an ingest runs, and its progress.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn ingest(&self) -> Result<Ingest> {
        // An advisory lock of 64 bits is shown in two halves
        // (<https://www.postgresql.org/docs/current/view-pg-locks.html>).
        let (running, fresh, built): (bool, i64, i64) = sqlx::query_as(
            "select exists (select from pg_locks l join pg_database d on d.oid = l.database
                            where l.locktype = 'advisory' and d.datname = current_database()
                              and l.classid::bigint = $1 and l.objid::bigint = $2
                              and l.objsubid = 1 and l.granted),
                    count(*), count(to_regclass(format('documents_%s_trgm', to_char(shard, 'FM000'))))
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

    /// Returns the contents of each shard that is not empty.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn shard_status(&self) -> Result<Vec<ShardStatus>> {
        let rows: Vec<(i16, i64, i32, bool, i64, bool)> = sqlx::query_as(
            "select shard, bytes, chunks, live_from is not null,
                    coalesce(pg_relation_size(i.indexrelid), 0), coalesce(i.indisvalid, false)
             from shards left join pg_index i on i.indexrelid =
                 to_regclass(format('documents_%s_trgm', to_char(shard, 'FM000')))
             where chunks > 0 order by shard",
        )
        .fetch_all(self.control())
        .await?;
        let on_nodes: HashMap<String, i64> = if self.is_distributed() {
            let sizes = nodes::sizes(self.control()).await?.into_iter();
            sizes.map(|table| (table.name, table.trigrams)).collect()
        } else {
            HashMap::new()
        };
        let of_node =
            |shard: i16| on_nodes.get(&ShardId(shard).documents()).copied().unwrap_or_default();
        Ok(rows
            .into_iter()
            .map(|(shard, bytes, chunks, live, index_bytes, valid)| ShardStatus {
                id: ShardId(shard),
                bytes,
                chunks,
                live,
                index_bytes: if on_nodes.is_empty() { index_bytes } else { of_node(shard) },
                valid,
            })
            .collect())
    }

    /// Returns the progress of the builds that run.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn index_progress(&self) -> Result<Vec<IndexProgress>> {
        let rows: Vec<(String, f64)> = if self.is_distributed() {
            nodes::builds(self.control()).await?
        } else {
            sqlx::query_as(
                "select c.relname::text, p.blocks_done::float8 / greatest(p.blocks_total, 1)
                 from pg_stat_progress_create_index p join pg_class c on c.oid = p.relid
                 where c.relname like 'documents\\_%' and p.datname = current_database()",
            )
            .fetch_all(self.control())
            .await?
        };
        Ok(rows
            .into_iter()
            .filter_map(|(table, done)| {
                let shard = table.strip_prefix("documents_")?.parse().ok()?;
                Some(IndexProgress { shard: ShardId(shard), done: done.min(1.0) })
            })
            .collect())
    }

    /// Has the server write all changes to its tables, so that it deletes its log. An ingest on a private server ends
    /// with it; otherwise the log would keep a disk full.
    ///
    /// # Errors
    /// The server cannot be reached, or the role lacks the right.
    pub async fn checkpoint(&self) -> Result<()> {
        let mut conn = self.connection().await?;
        conn.execute("checkpoint").await?;
        Ok(conn.close().await?)
    }

    /// Returns the bytes on disk of the tables, of the trigram indexes, of docs with their indexes, and of the word index;
    /// without symbols and SCIP indexes.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn size_on_disk(&self) -> Result<(i64, i64, i64, i64)> {
        let (tables, trigrams, docs, words) = self.size_here().await?;
        let mut all = (tables, trigrams, docs, words);
        for table in self.sizes_on_nodes().await? {
            let of = |name: &str| {
                table.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'))
            };
            if of("docs") {
                all.2 += table.bytes;
            } else if of("words") || of("word_segments") {
                all.3 += table.bytes;
            } else if !of("symbols") && !of("scip") {
                all.0 += table.bytes - table.trigrams;
                all.1 += table.trigrams;
            }
        }
        Ok(all)
    }

    /// Returns the sizes of the tables of shards on nodes of Citus; none on plain Postgres.
    pub(crate) async fn sizes_on_nodes(&self) -> Result<Vec<nodes::TableSize>> {
        if self.is_distributed() { nodes::sizes(self.control()).await } else { Ok(Vec::new()) }
    }

    /// Returns the bytes on nodes of the tables with these names before the number of their shard or group.
    pub(crate) async fn bytes_on_nodes(&self, names: &[&str]) -> Result<i64> {
        let of = |table: &nodes::TableSize| {
            table.name.rsplit_once('_').is_some_and(|(name, _)| names.contains(&name))
        };
        Ok(self.sizes_on_nodes().await?.iter().filter(|table| of(table)).map(|t| t.bytes).sum())
    }

    async fn size_here(&self) -> Result<(i64, i64, i64, i64)> {
        // These are added later.
        Ok(sqlx::query_as(
            "with sizes as (
                 select c.relname like 'docs\\_%' docs,
                        c.relname like 'words\\_%' or c.relname like 'word\\_segments\\_%' words, pg_total_relation_size(c.oid) total,
                        coalesce((select sum(pg_relation_size(i.indexrelid)) from pg_index i
                            join pg_class x on x.oid = i.indexrelid
                            where i.indrelid = c.oid and x.relname like '%\\_trgm'), 0) trigrams
                 from pg_class c where c.relnamespace = 'codesearch'::regnamespace and c.relkind = 'r'
                   and c.relname not like 'symbols\\_%' and c.relname not like 'scip\\_%')
             select coalesce(sum(total - trigrams) filter (where not docs and not words), 0)::bigint,
                    coalesce(sum(trigrams), 0)::bigint,
                    coalesce(sum(total) filter (where docs), 0)::bigint,
                    coalesce(sum(total) filter (where words), 0)::bigint
             from sizes",
        )
        .fetch_one(self.control())
        .await?)
    }
}
