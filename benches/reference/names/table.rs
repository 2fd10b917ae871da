//! Paths in a separate table, and the nearest of them by the indexes of `pg_trgm`.

use std::time::{Duration, Instant};

use anyhow::Result;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::index::Index;

/// Paths sent in one statement.
const BATCH: usize = 10_000;

/// A way for Postgres to find the paths nearest to a typed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamesIndex {
    /// `order by path <-> $1` by a `GiST` index with signatures of this many bytes: compares the whole path.
    Gist(u16),
    /// `order by path <->> $1` by a `GiST` index: compares the most similar part of the path.
    GistWord(u16),
    /// `path %> $1` by a GIN index, then ordered.
    Gin,
}

impl NamesIndex {
    fn definition(self) -> String {
        match self {
            Self::Gist(bytes) | Self::GistWord(bytes) => {
                format!("gist (path gist_trgm_ops (siglen = {bytes}))")
            }
            Self::Gin => "gin (path gin_trgm_ops)".to_owned(),
        }
    }

    /// Returns the statement. For `GiST`, the inner query takes the nearest by the index's order,
    /// and the outer one sorts them.
    fn statement(self) -> &'static str {
        match self {
            Self::Gist(_) => {
                "select n from (select n, path from codesearch_bench_names.paths order by path <-> $1 limit $2) near
                 order by path <-> $1"
            }
            Self::GistWord(_) => {
                "select n from (select n, path from codesearch_bench_names.paths order by path <->> $1 limit $2) near
                 order by path <->> $1, length(path)"
            }
            Self::Gin => {
                "select n from codesearch_bench_names.paths where path %> $1
                 order by path <->> $1, length(path) limit $2"
            }
        }
    }
}

/// A connection to the table of paths.
#[derive(Debug)]
pub(crate) struct NamesConnection(PgConnection);

/// Recreates the table of paths, numbered from 0.
pub(crate) async fn fill(index: &Index, paths: &[String]) -> Result<()> {
    let mut conn = index.sql().await?;
    conn.execute(
        "drop schema if exists codesearch_bench_names cascade; create schema codesearch_bench_names;
         create table codesearch_bench_names.paths (n integer not null, path text not null)",
    )
    .await?;
    for (first, paths) in (0_i64..).step_by(BATCH).zip(paths.chunks(BATCH)) {
        let sql = "insert into codesearch_bench_names.paths
                   select n + $1 - 1, path from unnest($2::text[]) with ordinality given (path, n)";
        sqlx::query(sql).bind(first).bind(paths).execute(&mut conn).await?;
    }
    conn.execute("vacuum analyze codesearch_bench_names.paths").await?;
    Ok(conn.close().await?)
}

/// Builds an index that replaces the previous one, with the server's `maintenance_work_mem`. Returns the time and the
/// index's bytes.
pub(crate) async fn build(index: &Index, kind: NamesIndex) -> Result<(Duration, i64)> {
    let mut conn = index.sql().await?;
    conn.execute("drop index if exists codesearch_bench_names.near").await?;
    let begun = Instant::now();
    let definition = kind.definition();
    let create = format!("create index near on codesearch_bench_names.paths using {definition}");
    conn.execute(AssertSqlSafe(create)).await?;
    let took = begun.elapsed();
    let (bytes,) = sqlx::query_as("select pg_relation_size('codesearch_bench_names.near')")
        .fetch_one(&mut conn)
        .await?;
    conn.close().await?;
    Ok((took, bytes))
}

/// Drops the table.
pub(crate) async fn drop(index: &Index) -> Result<()> {
    let mut conn = index.sql().await?;
    conn.execute("drop schema if exists codesearch_bench_names cascade").await?;
    Ok(conn.close().await?)
}

impl NamesConnection {
    /// Opens a connection; each client has its own.
    pub(crate) async fn open(index: &Index) -> Result<Self> {
        let mut conn = index.sql().await?;
        conn.execute(
            "set enable_seqscan = off; set jit = off; set max_parallel_workers_per_gather = 0",
        )
        .await?;
        Ok(Self(conn))
    }

    /// Returns the numbers of the nearest paths, best first.
    pub(crate) async fn nearest(
        &mut self,
        index: NamesIndex,
        typed: &str,
        limit: i32,
    ) -> Result<Vec<u32>> {
        let rows: Vec<(i32,)> = sqlx::query_as(index.statement())
            .bind(typed)
            .bind(limit)
            .fetch_all(&mut self.0)
            .await?;
        Ok(rows.into_iter().map(|(n,)| n as u32).collect())
    }

    /// Returns Postgres's plan with its costs.
    pub(crate) async fn explain(
        &mut self,
        index: NamesIndex,
        typed: &str,
        limit: i32,
    ) -> Result<Vec<String>> {
        let sql = format!("explain (analyze, buffers) {}", index.statement());
        let rows: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(typed)
            .bind(limit)
            .fetch_all(&mut self.0)
            .await?;
        Ok(rows.into_iter().map(|(line,)| line).collect())
    }
}
