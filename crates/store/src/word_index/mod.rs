//! The word index: which chunks have a word, in their text or in a name that they define, and which docs have a lexeme. The
//! crate `words` cuts texts, and knows the bytes of its rows.
//!
//! What an ingest adds to a shard is a *segment*: a row of `word_segments`, and rows of `words`, each with the words of a
//! bucket ([`write`]). Small segments are merged as they become many, and large ones when much of them is of deleted texts
//! ([`tidy`]). A search reads the buckets of its words from all segments of a group of shards in one statement. Segments may
//! have chunks that an epoch does not see, and postings of texts that are deleted: the reader leaves out what is not visible.

pub(crate) mod definitions;
pub(crate) mod tidy;
pub(crate) mod write;

use sqlx::FromRow;
use words::Word;

use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::store::Store;
use crate::{ShardId, tables};

/// Where a chunk has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WordField {
    /// In its text.
    Body,
    /// In the names that it defines.
    Definitions,
    /// Its blob, of which it is the first chunk, has the lexeme in its doc.
    Docs,
}

impl WordField {
    /// Returns its number in `word_segments.field`.
    pub(crate) fn number(self) -> i16 {
        self as i16
    }
}

/// A row of the word index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordRow {
    /// The shard of its chunks.
    pub shard: ShardId,
    /// The field.
    pub field: WordField,
    /// The number from which its chunks are counted.
    pub first: i32,
    /// Words and postings, for [`words::decode`]. It may have other words, too, or none of those asked for.
    pub entries: Vec<u8>,
}

/// How many words chunks have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordLengths {
    /// The shard of the chunks.
    pub shard: ShardId,
    /// The number of the first chunk.
    pub first: i32,
    /// A byte for each chunk from the first one on: [`words::length_code`] and [`words::BLOB_START`]. The length is 0 where
    /// there is no chunk, or its text was deleted; the mark stays.
    pub codes: Vec<u8>,
}

impl ShardId {
    /// Returns the name of the partition of `words` that it shares with its group.
    pub(crate) fn words(self, groups: tables::Groups) -> String {
        tables::WORDS.of(self, groups)
    }

    /// Returns the name of the partition of `word_segments` that it shares with its group.
    pub(crate) fn word_segments(self, groups: tables::Groups) -> String {
        tables::WORD_SEGMENTS.of(self, groups)
    }
}

impl Store {
    /// Splits shards by group, both ascending: one statement reads the words of a group.
    pub fn word_groups(&self, shards: &[ShardId]) -> Vec<Vec<ShardId>> {
        let mut sorted = shards.to_vec();
        sorted.sort_unstable();
        self.in_groups(sorted, |shard| *shard)
    }

    /// Returns the bytes on disk of the word index.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn words_bytes(&self) -> Result<i64> {
        let here: i64 = sqlx::query_scalar(
            "select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
             where relnamespace = 'codesearch'::regnamespace and relkind = 'r'
               and (relname like 'words\\_%' or relname like 'word\\_segments\\_%')",
        )
        .fetch_one(self.control())
        .await?;
        Ok(here + self.bytes_on_nodes(&["words", "word_segments"]).await?)
    }
}

impl Lease {
    /// Reads the rows that have some words in texts or definitions, if any row does, of some shards of one group: of each segment and field the row
    /// of each word, once. One statement, so what it reads is of one moment: each chunk's posting of a word and field is in
    /// at most one row.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn word_rows(&mut self, shards: &[ShardId], words: &[Word]) -> Result<Vec<WordRow>> {
        let Some(first) = shards.first() else { return Ok(Vec::new()) };
        // The buckets are found first, so that no row is read twice.
        let sql = format!(
            "select s.shard, s.field, s.first, w.entries
             from (select distinct s.shard, s.segment, s.field, s.first,
                          (asked.word >> ({} - s.bits))::integer as bucket
                   from {} s cross join unnest($2::bigint[]) asked (word)
                   where s.shard = any($1::smallint[]) and s.field in (0, 1) offset 0) s
             -- Each by the index: of a small table, a plan would else read all.
             cross join lateral (
                 select w.entries from {} w
                 where w.shard = s.shard and w.segment = s.segment and w.bucket = s.bucket offset 0) w",
            words::WORD_BITS,
            first.word_segments(self.groups()),
            first.words(self.groups()),
        );
        let numbers: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let words: Vec<i64> = words.iter().map(|word| word.0 as i64).collect();
        self.fetch(BoundStatement::new(sql).bind(numbers).bind(words)).await
    }

    /// Reads how many words chunks have, of some shards of one group: of each, from the segment on that has the given chunk.
    /// Chunks of no segment are not in the word index.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn word_lengths(&mut self, shards: &[(ShardId, i32)]) -> Result<Vec<WordLengths>> {
        let Some((first, _)) = shards.first() else { return Ok(Vec::new()) };
        let sql = format!(
            "select s.shard, s.first, s.lengths
             from unnest($1::smallint[], $2::integer[]) asked (shard, chunk)
             join {} s on s.shard = asked.shard and s.field = 0 and s.first + octet_length(s.lengths) > asked.chunk
             order by s.shard, s.first",
            first.word_segments(self.groups()),
        );
        let numbers: Vec<i16> = shards.iter().map(|(shard, _)| shard.0).collect();
        let chunks: Vec<i32> = shards.iter().map(|(_, chunk)| *chunk).collect();
        self.fetch(BoundStatement::new(sql).bind(numbers).bind(chunks)).await
    }
}

impl FromRow<'_, sqlx::postgres::PgRow> for WordRow {
    fn from_row(row: &sqlx::postgres::PgRow) -> sqlx::Result<Self> {
        let (shard, field, first, entries): (i16, i16, i32, Vec<u8>) = FromRow::from_row(row)?;
        let field = if field == 0 { WordField::Body } else { WordField::Definitions };
        Ok(Self { shard: ShardId(shard), field, first, entries })
    }
}

impl FromRow<'_, sqlx::postgres::PgRow> for WordLengths {
    fn from_row(row: &sqlx::postgres::PgRow) -> sqlx::Result<Self> {
        let (shard, first, codes): (i16, i32, Vec<u8>) = FromRow::from_row(row)?;
        Ok(Self { shard: ShardId(shard), first, codes })
    }
}

#[cfg(test)]
mod tests;
