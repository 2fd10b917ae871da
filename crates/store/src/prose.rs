//! Prose as words: storing it, finding and ranking it, and marking what was found.
//!
//! Texts and queries come as words with blanks between them; what the words are is decided elsewhere.

use sqlx::{AssertSqlSafe, PgConnection};

use crate::error::Result;
use crate::lease::{Ask, Lease};
use crate::{BlobId, FileFilter, ShardId};

/// The index of the prose of shard `NNN`. With it the planner is told how many rows there are.
pub(crate) const INDEX: &str =
    "create index if not exists prose_NNN_words on prose_NNN using gin (words);
     analyze prose_NNN";

/// What a comment counts for, beside a document. This, and ranking by `ts_rank_cd` without regard to length, was
/// the best of 40 ways that were judged by right answers (`codesearch bench reference --only prose`).
const COMMENT: f32 = 0.5;

/// Stands between what no phrase is to span: a title and what follows. It is in no text, takes places, and is not
/// indexed itself.
pub const PROSE_GAP: &str = "zqzgapzqz zqzgapzqz zqzgapzqz zqzgapzqz ";

/// The prose of a blob, as words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProseRow {
    /// It is the comment at the head of a source file, not a document.
    pub comment: bool,
    /// It is not in English.
    pub plain: bool,
    /// Its title.
    pub title: String,
    /// The headings of its sections, with a [`PROSE_GAP`] between them.
    pub headings: String,
    /// All of it.
    pub body: String,
}

/// A query as the server understands it, for the two kinds of texts; none for texts that are not to be
/// looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProseQuery {
    /// For texts in English.
    pub english: Option<String>,
    /// For all others.
    pub plain: Option<String>,
}

/// What is asked of a shard.
#[derive(Clone, Debug)]
pub struct ProseAsk {
    /// What is looked for.
    pub query: ProseQuery,
    /// In which files.
    pub files: FileFilter,
    /// Most rows that are ranked by all their words: those whose titles and headings fit best.
    pub ranked: i64,
    /// Most rows to give.
    pub limit: i64,
}

/// What was found in a shard.
#[derive(Clone, Debug, Default)]
pub struct ProseFound {
    /// How many contents match.
    pub matched: i64,
    /// How many of them were ranked by all their words.
    pub ranked: i64,
    /// The best of those, the best first.
    pub hits: Vec<ProseHit>,
}

/// Contents that match.
#[derive(Clone, Copy, Debug)]
pub struct ProseHit {
    /// Which.
    pub blob: BlobId,
    /// They are the comment at the head of a source file.
    pub comment: bool,
    /// They are not in English.
    pub plain: bool,
    /// How well they fit, for comparison only.
    pub rank: f32,
}

/// A text in which what was asked for is to be marked.
#[derive(Clone, Debug)]
pub struct Headline {
    /// It is not in English.
    pub plain: bool,
    /// All of it is wanted, not only the parts that fit best.
    pub whole: bool,
    /// The text.
    pub text: String,
}

/// Stores the prose of some contents of a shard.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    shard: ShardId,
    rows: &[(BlobId, &ProseRow)],
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let blobs: Vec<i32> = rows.iter().map(|(blob, _)| blob.0).collect();
    let flags = |flag: fn(&ProseRow) -> bool| -> Vec<bool> {
        rows.iter().map(|(_, row)| flag(row)).collect()
    };
    // Twice `offset 0`: each text is parsed once, not for each column that needs it.
    let gap = PROSE_GAP.split(' ').next().unwrap_or_default();
    let sql = format!(
        "insert into {} (shard, blob, comment, plain, heads, words)
         select {}, blob, comment, plain, heads, heads || setweight(ts_delete(to_tsvector(config, $7 || body), $8), 'D')
         from (select *, ts_delete(setweight(to_tsvector(config, title), 'A')
                             || setweight(to_tsvector(config, $7 || headings), 'B'), $8) heads
               from (select *, (case when plain then 'prose_plain' else 'prose_english' end)::regconfig config
                     from unnest($1::int[], $2::bool[], $3::bool[], $4::text[], $5::text[], $6::text[])
                         given (blob, comment, plain, title, headings, body) offset 0) given offset 0) parsed
         on conflict do nothing",
        shard.prose(),
        shard.0
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(blobs)
        .bind(flags(|row| row.comment))
        .bind(flags(|row| row.plain))
        .bind(texts(rows, |row| &row.title))
        .bind(texts(rows, |row| &row.headings))
        .bind(texts(rows, |row| &row.body))
        .bind(PROSE_GAP)
        .bind(gap)
        .execute(conn)
        .await?;
    Ok(())
}

/// A text of each of some rows.
fn texts<'r>(rows: &[(BlobId, &'r ProseRow)], text: fn(&ProseRow) -> &str) -> Vec<&'r str> {
    rows.iter().map(|(_, row)| text(row)).collect()
}

impl Lease {
    /// How the server understands a query in the syntax of `websearch_to_tsquery`: for texts in English, for
    /// all others if they are looked at beside those, and for all others if only they are. Of each, whether it asks
    /// for a word at all, and does not only rule words out.
    pub async fn prose_query(&mut self, words: &str) -> Result<[(String, bool); 3]> {
        let sql = "select q::text, querytree(q) not in ('', 'T')
                   from unnest(array['prose_english', 'prose_asked', 'prose_plain']::regconfig[])
                            with ordinality configs (config, n),
                        websearch_to_tsquery(config, $1) q order by n";
        let mut rows: Vec<(String, bool)> =
            self.fetch(Ask::new(sql.to_owned()).bind(words)).await?;
        Ok(std::array::from_fn(|n| std::mem::take(&mut rows[n])))
    }

    /// The contents of a shard that match a query, the best first.
    ///
    /// Ranking reads all words of a text, which lie beside its row. Of very many, only those are read that
    /// fit best by their titles and headings, which lie in the row. The two kinds of texts are asked for one after
    /// the other: with `or` between them, the server would read the words of all that match to tell them apart
    /// (measured on one shard: 1.7 times the time).
    pub async fn prose(&mut self, shard: ShardId, asked: &ProseAsk) -> Result<ProseFound> {
        let sql = format!(
            "with named as (
                 select blob, comment, plain, heads from {prose}
                 where shard = {n} and words @@ $1::tsquery and not plain
                 union all
                 select blob, comment, plain, heads from {prose}
                 where shard = {n} and words @@ $2::tsquery and plain),
             matched as materialized (
                 select blob, comment, plain, heads from named
                 where exists (select from {files} f where f.shard = {n} and f.blob = named.blob
                       and f.valid_from <= $3 and f.valid_to > $3
                       and ($4::int[] is null or f.repo = any($4))
                       and ($5::text[] is null or lower(f.language) = any($5)))),
             counted as (select count(*) matched from matched),
             best as (
                 select blob from matched, counted
                 order by case when matched > $6 then
                              ts_rank_cd(heads, case when plain then $2::tsquery else $1::tsquery end) end desc,
                          comment, blob
                 limit $6)
             select matched, least(matched, $6), p.blob, p.comment, p.plain,
                    (case when p.comment then $8 else 1 end
                        * ts_rank_cd(p.words, case when p.plain then $2::tsquery else $1::tsquery end))::real
                    as rank
             from counted, best join {prose} p on p.shard = {n} and p.blob = best.blob
             order by rank desc, p.blob limit $7",
            prose = shard.prose(),
            files = shard.files(),
            n = shard.0
        );
        let repos: Option<Vec<i32>> =
            asked.files.repos.as_ref().map(|ids| ids.iter().map(|r| r.0).collect());
        let ask = Ask::new(sql)
            .bind(asked.query.english.clone())
            .bind(asked.query.plain.clone())
            .bind(asked.files.epoch.0)
            .bind(repos)
            .bind(asked.files.languages.clone())
            .bind(asked.ranked)
            .bind(asked.limit)
            .bind(COMMENT);
        let rows: Vec<(i64, i64, i32, bool, bool, f32)> = self.fetch(ask).await?;
        let mut found = ProseFound::default();
        for (matched, ranked, blob, comment, plain, rank) in rows {
            (found.matched, found.ranked) = (matched, ranked);
            found.hits.push(ProseHit { blob: BlobId(blob), comment, plain, rank });
        }
        Ok(found)
    }

    /// Marks what a query asks for in some texts, and cuts them to the parts that fit best. `query` is in the
    /// syntax of `websearch_to_tsquery`; `between` stands between parts.
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
                        lateral (select (case when plain then 'prose_asked' else 'prose_english' end)::regconfig config) c
                   order by n";
        let ask = Ask::new(sql.to_owned())
            .bind(query)
            .bind(texts.iter().map(|text| text.plain).collect::<Vec<_>>())
            .bind(texts.iter().map(|text| text.whole).collect::<Vec<_>>())
            .bind(texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>())
            .bind(marks[0].to_string())
            .bind(marks[1].to_string())
            .bind(between);
        let rows: Vec<(String,)> = self.fetch(ask).await?;
        Ok(rows.into_iter().map(|(text,)| text).collect())
    }
}
