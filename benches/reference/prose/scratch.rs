//! Prose for experiments: copies of its words in a separate schema, and all matches of a judged query, ranked in all
//! ways.

use anyhow::Result;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Row};

use crate::index::Index;

/// A schema for an experiment, on a separate connection.
#[derive(Debug)]
pub(crate) struct Scratch {
    conn: PgConnection,
}

/// A text that matches a judged query.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// The files that have it, as repository, slash, path.
    pub(crate) files: Vec<String>,
    /// Whether it is the comment at the head of a source file.
    pub(crate) comment: bool,
    /// Its rank by each of [`RANKINGS`].
    pub(crate) ranks: Vec<f32>,
}

/// Rankings: a function of Postgres and its normalisation (divide 1: by 1 + the logarithm of the
/// length, 2: by the length, 8: by the number of unique words, 16: by 1 + its logarithm;
/// <https://www.postgresql.org/docs/current/textsearch-controls.html>).
pub(crate) const RANKINGS: [(&str, i32); 10] = [
    ("ts_rank", 0),
    ("ts_rank", 1),
    ("ts_rank", 2),
    ("ts_rank", 8),
    ("ts_rank", 16),
    ("ts_rank_cd", 0),
    ("ts_rank_cd", 1),
    ("ts_rank_cd", 2),
    ("ts_rank_cd", 8),
    ("ts_rank_cd", 16),
];

impl Scratch {
    /// Recreates the schema.
    pub(crate) async fn open(index: &Index) -> Result<Self> {
        let mut conn = index.sql().await?;
        conn.execute(
            "drop schema if exists codesearch_bench cascade;
             create schema codesearch_bench;
             set enable_seqscan = off;
             set jit = off;
             set max_parallel_workers_per_gather = 0;
             set max_parallel_maintenance_workers = 0",
        )
        .await?;
        Ok(Self { conn })
    }

    /// Copies the titles and bodies of all texts in English. Returns their number, and the bytes of
    /// their words.
    pub(crate) async fn copy_prose(&mut self) -> Result<(i64, i64)> {
        self.conn
            .execute(
                "create table codesearch_bench.prose as
                     select row_number() over ()::int id, ts_filter(lexemes, '{a}') title, lexemes body, ts_filter(lexemes, '{a,b}') heads, comment
                     from docs where not plain;
                 alter table codesearch_bench.prose
                     alter column title set statistics 0, alter column body set statistics 0",
            )
            .await?;
        self.conn.execute("vacuum analyze codesearch_bench.prose").await?;
        let sql = "select count(*), sum(pg_column_size(body))::bigint from codesearch_bench.prose";
        Ok(sqlx::query_as(sql).fetch_one(&mut self.conn).await?)
    }

    /// Returns queries of one to three words that are adjacent in the titles and headings of documents.
    pub(crate) async fn heading_queries(&mut self, most: i64) -> Result<Vec<String>> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "select string_agg(quote_literal(lexeme), ' & ' order by pos)
             from (select id, heads, (id::bigint * 7919 % 3) more, (id::bigint * 104729 % greatest(length(heads), 1)) start
                   from codesearch_bench.prose where not comment order by md5(id::text) limit 2 * $1) d,
                  lateral (select lexeme, unnest(positions) pos from unnest(heads)) w
             where pos between start + 1 and start + 1 + more and lexeme ~ '^[a-z]{3,20}$'
             group by id order by md5(id::text) limit $1",
        )
        .bind(most)
        .fetch_all(&mut self.conn)
        .await?;
        Ok(rows.into_iter().map(|(query,)| query).collect())
    }

    /// Builds an index (`gin`, `gist`) of a column (`title`, `body`) in place of any other. Returns
    /// its bytes.
    pub(crate) async fn index_prose(&mut self, column: &str, method: &str) -> Result<i64> {
        let sql = format!(
            "drop index if exists codesearch_bench.prose_words;
             create index prose_words on codesearch_bench.prose using {method} ({column})"
        );
        self.conn.execute(AssertSqlSafe(sql)).await?;
        let sql = "select pg_relation_size('codesearch_bench.prose_words')";
        let (bytes,): (i64,) = sqlx::query_as(sql).fetch_one(&mut self.conn).await?;
        Ok(bytes)
    }

    /// Returns the number of texts that match in a column.
    pub(crate) async fn all(&mut self, column: &str, query: &str) -> Result<i64> {
        let sql =
            format!("select count(id) from codesearch_bench.prose where {column} @@ $1::tsquery");
        let (count,): (i64,) =
            sqlx::query_as(AssertSqlSafe(sql)).bind(query).fetch_one(&mut self.conn).await?;
        Ok(count)
    }

    /// Returns the 100 best matches by `ts_rank`.
    pub(crate) async fn best(&mut self, column: &str, query: &str) -> Result<Vec<i32>> {
        let sql = format!(
            "select id from codesearch_bench.prose where {column} @@ $1::tsquery
             order by ts_rank({column}, $1::tsquery) desc limit 100"
        );
        let rows: Vec<(i32,)> =
            sqlx::query_as(AssertSqlSafe(sql)).bind(query).fetch_all(&mut self.conn).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    /// Returns words that occur in about these numbers of texts, with the actual numbers; each word
    /// is its own stem.
    pub(crate) async fn words_in(&mut self, texts: &[i64]) -> Result<Vec<(String, i64)>> {
        let sql = "with words as materialized (
                       select word, ndoc::bigint from ts_stat('select body from codesearch_bench.prose')
                       where word ~ '^[a-z]{3,12}$'
                         and plainto_tsquery('docs_english', word)::text = quote_literal(word))
                   select near.word, near.ndoc from unnest($1::bigint[]) with ordinality asked (wanted, n),
                        lateral (select * from words order by abs(ndoc - wanted), word limit 1) near
                   order by n";
        Ok(sqlx::query_as(sql).bind(texts).fetch_all(&mut self.conn).await?)
    }

    /// Returns all texts that match a query in the syntax of `websearch_to_tsquery`, with their
    /// ranks by each of [`RANKINGS`].
    pub(crate) async fn judged(&mut self, words: &str) -> Result<Vec<Judged>> {
        let ranks: Vec<String> = RANKINGS
            .iter()
            .map(|(function, normalisation)| format!("{function}(words, q, {normalisation})"))
            .collect();
        let sql = format!(
            "select array_agg(r.name || '/' || f.path) files, comment, array[{}] ranks
             from (select websearch_to_tsquery('docs_english', $1) english,
                          websearch_to_tsquery('docs_plain_query', $1) plain) asked,
                  lateral (select shard, blob, comment, lexemes words, case when p.plain then asked.plain else english end q
                           from docs p where lexemes @@ english and not p.plain
                                           or lexemes @@ asked.plain and p.plain) p
                  join files f using (shard, blob) join repos r on r.id = f.repo
             where f.valid_to = 2147483647
             group by shard, blob, comment, words, q",
            ranks.join(", ")
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).bind(words).fetch_all(&mut self.conn).await?;
        rows.iter()
            .map(|row| {
                Ok(Judged {
                    files: row.try_get("files")?,
                    comment: row.try_get("comment")?,
                    ranks: row.try_get("ranks")?,
                })
            })
            .collect()
    }

    /// Returns whether a file exists, given as repository, slash, path.
    pub(crate) async fn has_file(&mut self, file: &str) -> Result<bool> {
        let sql = "select exists (select from files f join repos r on r.id = f.repo
                       where starts_with($1, r.name || '/') and f.path = substr($1, length(r.name) + 2)
                         and f.valid_to = 2147483647)";
        let (exists,): (bool,) = sqlx::query_as(sql).bind(file).fetch_one(&mut self.conn).await?;
        Ok(exists)
    }

    /// Drops the schema.
    pub(crate) async fn drop(mut self) -> Result<()> {
        self.conn.execute("drop schema codesearch_bench cascade").await?;
        Ok(())
    }
}
