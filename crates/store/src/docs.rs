//! Docs as `tsvector`s: stores, matches and ranks them, and marks matches.
//!
//! The word index names those that may match: it has the lexemes of docs in a field of their own ([`index`]).
//!
//! A doc is the prose of a blob: all of a README, manual page or the like, or the comment at the head of a source file.
//! Texts and queries arrive here as words with spaces between them; `engine::docs` chooses the words.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use words::{SegmentBuilder, Word};

use crate::contents::{FILTER_PARAMETERS, bind_filter, visible};
use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::tables::Groups;
use crate::word_index::{WordField, write};
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
    /// Whether it has words of a script that is written without spaces.
    pub dense: bool,
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
    /// The blobs that may match; `None` for all.
    pub among: Option<Vec<i32>>,
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

/// A row of the word index with lexemes of docs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocsWords {
    /// The number from which its blobs are counted.
    pub first: i32,
    /// Lexemes and blobs, for [`words::decode`]. It may have other lexemes, too.
    pub entries: Vec<u8>,
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
    // The `offset 0` has Postgres choose the configuration of a text once.
    let gap = DOC_GAP.split(' ').next().unwrap_or_default();
    let sql = format!(
        "insert into {} (shard, blob, comment, plain, lexemes)
         select {}, blob, comment, plain, heads || setweight(ts_delete(to_tsvector(config, $7 || body), $8), 'D')
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

/// Stores the docs of blobs that were stored without one: before docs were indexed, or for a file without a doc. Replaces
/// docs in scripts without spaces whose words an earlier version took to be as long as a sentence. A search that sees the
/// blob sees its doc at once: until the words of all docs of the shard are in the word index again, it reads them all.
pub(crate) async fn insert_missing(
    conn: &mut PgConnection,
    rows: &[(ShardId, BlobId, DocRow)],
) -> Result<()> {
    let mut by_shard: BTreeMap<ShardId, Vec<(BlobId, &DocRow)>> = BTreeMap::new();
    for (shard, blob, row) in rows {
        by_shard.entry(*shard).or_default().push((*blob, row));
    }
    for (shard, mut rows) in by_shard {
        let mut tx = conn.begin().await?;
        let dense: Vec<i32> =
            rows.iter().filter(|(_, row)| row.dense).map(|(blob, _)| blob.0).collect();
        if !dense.is_empty() {
            delete_unpaired(&mut tx, shard, &dense).await?;
        }
        // Looks for stored docs first, since parsing a text takes long.
        let sql = format!(
            "select blob from {} where shard = {} and blob = any($1)",
            shard.docs(),
            shard.0
        );
        let stored: Vec<(i32,)> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(rows.iter().map(|(blob, _)| blob.0).collect::<Vec<_>>())
            .fetch_all(&mut *tx)
            .await?;
        let stored: HashSet<(i32,)> = stored.into_iter().collect();
        rows.retain(|(blob, _)| !stored.contains(&(blob.0,)));
        let Some(first) = rows.iter().map(|(blob, _)| blob.0).min() else {
            tx.commit().await?;
            continue;
        };
        insert(&mut tx, shard, &rows).await?;
        sqlx::query(
            "update shards set docs_indexed = false where shard = $1 and docs_indexed and worded > $2",
        )
        .bind(shard.0)
        .bind(first)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Deletes those docs of some blobs of a shard that have words of more than two characters in a script without spaces.
async fn delete_unpaired(conn: &mut PgConnection, shard: ShardId, blobs: &[i32]) -> Result<()> {
    let sql = format!(
        "delete from {} where shard = {} and blob = any($1) and exists (
             select from unnest(tsvector_to_array(lexemes)) word
             where word ~ '[\\u3041-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7af\\u0e01-\\u0e7f]{{3}}')",
        shard.docs(),
        shard.0
    );
    sqlx::query(AssertSqlSafe(sql)).bind(blobs).execute(conn).await?;
    Ok(())
}

/// Adds the lexemes of the docs of a shard, of blobs with these numbers, to the word index.
pub(crate) async fn index(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    blobs: Range<i32>,
) -> Result<()> {
    let sql = format!(
        "select blob, tsvector_to_array(lexemes) from {} where shard = {} and blob >= $1 and blob < $2 order by blob",
        shard.docs(),
        shard.0
    );
    let mut words = SegmentBuilder::new();
    let mut docs = sqlx::query_as::<_, (i32, Vec<String>)>(AssertSqlSafe(sql))
        .bind(blobs.start)
        .bind(blobs.end)
        .fetch(&mut *conn);
    while let Some((blob, lexemes)) = docs.try_next().await? {
        words.add_words(blob, lexemes.iter().map(|lexeme| Word::of(lexeme)).collect());
    }
    drop(docs);
    if let Some(segment) = words.finish() {
        write::insert(conn, groups, shard, WordField::Docs, &segment).await?;
    }
    Ok(())
}

/// Rebuilds the lexemes of a shard's docs in the word index, of blobs with numbers before `upto`.
pub(crate) async fn index_anew(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    upto: i32,
) -> Result<()> {
    write::delete(conn, groups, shard, WordField::Docs, None).await?;
    index(conn, groups, shard, 0..upto).await?;
    sqlx::query("update shards set docs_indexed = true where shard = $1")
        .bind(shard.0)
        .execute(conn)
        .await?;
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

    /// Reads which docs of some shards of one group have some lexemes. A shard whose docs are not all in the word index is
    /// missing in the answer.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses the statement.
    pub async fn docs_words(
        &mut self,
        shards: &[ShardId],
        words: &[Word],
    ) -> Result<HashMap<ShardId, Vec<DocsWords>>> {
        let Some(first) = shards.first() else { return Ok(HashMap::new()) };
        // One statement: what it reads is of one moment.
        let sql = format!(
            "with indexed as materialized (
                 select shard from shards where shard = any($1::smallint[]) and docs_indexed)
             select shard, 0 as first, null::bytea as entries from indexed
             union all
             select s.shard, s.first, w.entries
             from (select distinct s.shard, s.segment, s.first, (asked.word >> ({} - s.bits))::integer as bucket
                   from {} s cross join unnest($2::bigint[]) asked (word)
                   where s.shard in (select shard from indexed) and s.field = {} offset 0) s
             cross join lateral (
                 select w.entries from {} w
                 where w.shard = s.shard and w.segment = s.segment and w.bucket = s.bucket offset 0) w",
            words::WORD_BITS,
            first.word_segments(self.groups()),
            WordField::Docs.number(),
            first.words(self.groups()),
        );
        let numbers: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let words: Vec<i64> = words.iter().map(|word| word.0 as i64).collect();
        let rows: Vec<(i16, i32, Option<Vec<u8>>)> =
            self.fetch(BoundStatement::new(sql).bind(numbers).bind(words)).await?;
        let mut of_shards: HashMap<ShardId, Vec<DocsWords>> = HashMap::new();
        for (shard, first, entries) in rows {
            let of_shard = of_shards.entry(ShardId(shard)).or_default();
            of_shard.extend(entries.map(|entries| DocsWords { first, entries }));
        }
        Ok(of_shards)
    }

    /// Returns the blobs of a shard whose docs match a query, best first.
    ///
    /// Reading the lexemes of a doc, which Postgres stores in TOAST, outside the row, takes about a microsecond, and ranking
    /// by all of them ten times as long. If very many docs match, only the best by the lexemes of title and headings are
    /// ranked.
    ///
    /// # Errors
    /// The database cannot be reached, or refuses the statement.
    pub async fn docs(&mut self, shard: ShardId, search: &ShardDocsQuery) -> Result<ShardDocs> {
        /// The number of the first parameter of the files.
        const FIRST_OF_FILTER: usize = 6;
        let among = search.among.as_ref().map_or_else(String::new, |_| {
            format!("and blob = any(${})", FIRST_OF_FILTER + FILTER_PARAMETERS)
        });
        let sql = format!(
            "with named as (
                 select blob, comment, plain from {docs}
                 where shard = {n} {among}
                   and (not plain and lexemes @@ $1::tsquery or plain and lexemes @@ $2::tsquery)),
             matched as materialized (
                 select blob, comment, plain from named
                 where exists (select from {files} f where f.shard = {n} and f.blob = named.blob
                       and {visible})),
             counted as (select count(*) matched from matched),
             best as (
                 select m.blob from counted, matched m join {docs} d on d.shard = {n} and d.blob = m.blob
                 order by case when matched > $3 then
                              ts_rank_cd(ts_filter(d.lexemes, '{{a,b}}'),
                                         case when m.plain then $2::tsquery else $1::tsquery end) end desc,
                          m.comment, m.blob
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
            visible = visible(FIRST_OF_FILTER)
        );
        let bound = BoundStatement::new(sql)
            .bind(search.query.english.clone())
            .bind(search.query.plain.clone())
            .bind(search.ranked)
            .bind(search.limit)
            .bind(COMMENT_WEIGHT);
        let mut bound = bind_filter(bound, &search.files);
        if let Some(among) = &search.among {
            bound = bound.bind(among.clone());
        }
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
