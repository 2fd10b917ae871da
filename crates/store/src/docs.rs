//! Docs as `tsvector`s: stores, finds and ranks them, and marks matches.
//!
//! A doc is the prose of a blob: all of a README, manual page or the like, or the comment at the head of a source file.
//! Texts and queries arrive here as words with spaces between them; `engine::docs` chooses the words.

use std::collections::{BTreeMap, HashSet};

use sqlx::{AssertSqlSafe, Executor, PgConnection};

use crate::contents::{bind_filter, visible};
use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::{BlobId, FileFilter, ShardId};

/// Factor for the rank of a comment, against 1 for a README or the like. This factor, with `ts_rank_cd` regardless of
/// length, was the best of 40 rankings judged by right answers (the reference experiment `prose`).
const COMMENT_WEIGHT: f32 = 0.5;

/// Separator of the title, the headings and the body, across which no phrase may match. It occurs in no text and takes
/// up positions, but is not indexed itself.
pub const DOC_GAP: &str = "zqzgapzqz zqzgapzqz zqzgapzqz zqzgapzqz ";

/// The doc of a blob, as words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocRow {
    /// Whether it is the comment at the head of a source file, not a whole file.
    pub comment: bool,
    /// Whether it is not in English.
    pub plain: bool,
    /// Its title.
    pub title: String,
    /// The headings of its sections, separated by [`DOC_GAP`].
    pub headings: String,
    /// The whole text.
    pub body: String,
}

/// A query as two `tsquery`s, one for each kind of text; `None` for a kind that is not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocsQuery {
    /// For texts in English.
    pub english: Option<String>,
    /// For all others.
    pub plain: Option<String>,
}

/// A search in one shard.
#[derive(Clone, Debug)]
pub struct ShardDocsQuery {
    /// The query.
    pub query: DocsQuery,
    /// The files to search.
    pub files: FileFilter,
    /// Maximum number of rows to rank by all their words: those whose titles and headings rank best.
    pub ranked: i64,
    /// Maximum number of rows to return.
    pub limit: i64,
}

/// The answer of one shard.
#[derive(Clone, Debug, Default)]
pub struct ShardDocs {
    /// Number of blobs that match.
    pub matched: i64,
    /// Number of blobs that were ranked by all their words.
    pub ranked: i64,
    /// The best blobs, best first.
    pub hits: Vec<DocHit>,
}

/// A blob whose doc matches.
#[derive(Clone, Copy, Debug)]
pub struct DocHit {
    /// The blob.
    pub blob: BlobId,
    /// Whether its doc is the comment at the head of a source file.
    pub comment: bool,
    /// Whether its doc is not in English.
    pub plain: bool,
    /// Its rank, for comparison only.
    pub rank: f32,
}

/// A text for `ts_headline` to mark.
#[derive(Clone, Debug)]
pub struct Headline {
    /// Whether it is not in English.
    pub plain: bool,
    /// Whether to return the whole text, not only the best fragments.
    pub whole: bool,
    /// The text.
    pub text: String,
}

/// Returns the statements that build the index of a shard's docs, unless it exists, and update the planner's
/// statistics.
pub(crate) fn index_sql(shard: ShardId) -> String {
    let docs = shard.docs();
    format!(
        "create index if not exists {docs}_lexemes on {docs} using gin (lexemes); analyze {docs}"
    )
}

/// Builds the index of a shard's docs unless it exists. Shards filled before docs were indexed lack it.
pub(crate) async fn build_index(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    conn.execute(AssertSqlSafe(index_sql(shard))).await?;
    Ok(())
}

/// Stores the docs of blobs of a shard, except those already stored.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    shard: ShardId,
    rows: &[(BlobId, &DocRow)],
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let flags = |flag: fn(&DocRow) -> bool| -> Vec<bool> {
        rows.iter().map(|(_, row)| flag(row)).collect()
    };
    let texts = |text: fn(&DocRow) -> &str| -> Vec<&str> {
        rows.iter().map(|(_, row)| text(row)).collect()
    };
    // The two `offset 0` make Postgres parse each text once, not once per column that uses it.
    let gap = DOC_GAP.split(' ').next().unwrap_or_default();
    let sql = format!(
        "insert into {} (shard, blob, comment, plain, heading_lexemes, lexemes)
         select {}, blob, comment, plain, heads, heads || setweight(ts_delete(to_tsvector(config, $7 || body), $8), 'D')
         from (select *, ts_delete(setweight(to_tsvector(config, title), 'A')
                             || setweight(to_tsvector(config, $7 || headings), 'B'), $8) heads
               from (select *, (case when plain then 'docs_plain' else 'docs_english' end)::regconfig config
                     from unnest($1::int[], $2::bool[], $3::bool[], $4::text[], $5::text[], $6::text[])
                         given (blob, comment, plain, title, headings, body) offset 0) given offset 0) parsed
         on conflict do nothing",
        shard.docs(),
        shard.0
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(rows.iter().map(|(blob, _)| blob.0).collect::<Vec<_>>())
        .bind(flags(|row| row.comment))
        .bind(flags(|row| row.plain))
        .bind(texts(|row| &row.title))
        .bind(texts(|row| &row.headings))
        .bind(texts(|row| &row.body))
        .bind(DOC_GAP)
        .bind(gap)
        .execute(conn)
        .await?;
    Ok(())
}

/// Stores the docs of blobs that were stored without one: before docs were indexed, or for a file without a doc. A
/// search that sees the blob sees its doc at once.
pub(crate) async fn insert_missing(
    conn: &mut PgConnection,
    rows: &[(ShardId, BlobId, DocRow)],
) -> Result<()> {
    let mut by_shard: BTreeMap<ShardId, Vec<(BlobId, &DocRow)>> = BTreeMap::new();
    for (shard, blob, row) in rows {
        by_shard.entry(*shard).or_default().push((*blob, row));
    }
    for (shard, mut rows) in by_shard {
        // Looks for stored docs first, since parsing a text takes long.
        let sql = format!(
            "select blob from {} where shard = {} and blob = any($1)",
            shard.docs(),
            shard.0
        );
        let stored: Vec<(i32,)> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(rows.iter().map(|(blob, _)| blob.0).collect::<Vec<_>>())
            .fetch_all(&mut *conn)
            .await?;
        let stored: HashSet<(i32,)> = stored.into_iter().collect();
        rows.retain(|(blob, _)| !stored.contains(&(blob.0,)));
        insert(conn, shard, &rows).await?;
    }
    Ok(())
}

/// Deletes the docs of some blobs of a shard.
pub(crate) async fn delete(conn: &mut PgConnection, shard: ShardId, blobs: &[i32]) -> Result<()> {
    let sql = format!("delete from {} where shard = {} and blob = any($1)", shard.docs(), shard.0);
    sqlx::query(AssertSqlSafe(sql)).bind(blobs).execute(conn).await?;
    Ok(())
}

impl Lease {
    /// Parses a query in the syntax of `websearch_to_tsquery` three times: for texts in English, for other texts
    /// searched along with those, and for other texts searched alone. Each result tells whether the query asks for any
    /// word, and does not only exclude some.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses the statement.
    pub async fn docs_query(&mut self, words: &str) -> Result<[(String, bool); 3]> {
        let sql = "select q::text, querytree(q) not in ('', 'T')
                   from unnest(array['docs_english', 'docs_plain_query', 'docs_plain']::regconfig[])
                            with ordinality configs (config, n),
                        websearch_to_tsquery(config, $1) q order by n";
        let mut rows: Vec<(String, bool)> =
            self.fetch(BoundStatement::new(sql.to_owned()).bind(words)).await?;
        Ok(std::array::from_fn(|n| std::mem::take(&mut rows[n])))
    }

    /// Returns the blobs of a shard whose docs match a query, best first.
    ///
    /// Ranking reads all lexemes of a doc, which Postgres stores in TOAST, outside the row. If very many docs match,
    /// only the best by the lexemes of title and headings, which lie in the row, are ranked. The two kinds of texts are
    /// looked up separately: with `or` between them, Postgres would read the lexemes of all matches to tell the kinds
    /// apart (1.7 times the time, measured on one shard).
    ///
    /// # Errors
    /// The database cannot be reached, or refuses the statement.
    pub async fn docs(&mut self, shard: ShardId, search: &ShardDocsQuery) -> Result<ShardDocs> {
        let sql = format!(
            "with named as (
                 select blob, comment, plain, heading_lexemes from {docs}
                 where shard = {n} and lexemes @@ $1::tsquery and not plain
                 union all
                 select blob, comment, plain, heading_lexemes from {docs}
                 where shard = {n} and lexemes @@ $2::tsquery and plain),
             matched as materialized (
                 select blob, comment, plain, heading_lexemes from named
                 where exists (select from {files} f where f.shard = {n} and f.blob = named.blob
                       and {visible})),
             counted as (select count(*) matched from matched),
             best as (
                 select blob from matched, counted
                 order by case when matched > $3 then
                              ts_rank_cd(heading_lexemes, case when plain then $2::tsquery else $1::tsquery end) end desc,
                          comment, blob
                 limit $3)
             select matched, least(matched, $3), d.blob, d.comment, d.plain,
                    (case when d.comment then $5 else 1 end
                        * ts_rank_cd(d.lexemes, case when d.plain then $2::tsquery else $1::tsquery end))::real
                    as rank
             from counted, best join {docs} d on d.shard = {n} and d.blob = best.blob
             order by rank desc, d.blob limit $4",
            docs = shard.docs(),
            files = shard.files(),
            n = shard.0,
            visible = visible(6)
        );
        let bound = BoundStatement::new(sql)
            .bind(search.query.english.clone())
            .bind(search.query.plain.clone())
            .bind(search.ranked)
            .bind(search.limit)
            .bind(COMMENT_WEIGHT);
        let bound = bind_filter(bound, &search.files);
        let rows: Vec<(i64, i64, i32, bool, bool, f32)> = self.fetch(bound).await?;
        let mut found = ShardDocs::default();
        for (matched, ranked, blob, comment, plain, rank) in rows {
            (found.matched, found.ranked) = (matched, ranked);
            found.hits.push(DocHit { blob: BlobId(blob), comment, plain, rank });
        }
        Ok(found)
    }

    /// Marks the words of a query in some texts, and cuts the texts to the best fragments. `query` is in the syntax of
    /// `websearch_to_tsquery`; `between` separates fragments.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses the statement.
    pub async fn headlines(
        &mut self,
        query: &str,
        texts: &[Headline],
        marks: [char; 2],
        between: &str,
    ) -> Result<Vec<String>> {
        let sql = "select ts_headline(config, text,
                       websearch_to_tsquery(config, $1),
                       case when whole then 'HighlightAll=true' else 'MaxFragments=2, MaxWords=32, MinWords=16' end
                           || format(', StartSel=\"%s\", StopSel=\"%s\", FragmentDelimiter=\"%s\"', $5::text, $6::text, $7::text))
                   from unnest($2::bool[], $3::bool[], $4::text[]) with ordinality given (plain, whole, text, n),
                        lateral (select (case when plain then 'docs_plain_query' else 'docs_english' end)::regconfig config) c
                   order by n";
        let bound = BoundStatement::new(sql.to_owned())
            .bind(query)
            .bind(texts.iter().map(|text| text.plain).collect::<Vec<_>>())
            .bind(texts.iter().map(|text| text.whole).collect::<Vec<_>>())
            .bind(texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>())
            .bind(marks[0].to_string())
            .bind(marks[1].to_string())
            .bind(between);
        let rows: Vec<(String,)> = self.fetch(bound).await?;
        Ok(rows.into_iter().map(|(text,)| text).collect())
    }
}
