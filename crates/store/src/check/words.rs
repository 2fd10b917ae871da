//! Compares the word index of a shard with its texts, symbols and docs.

use std::collections::{BTreeSet, HashMap};

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, PgConnection};
use words::{BLOB_START, Counter, Lists, Word};

use crate::ShardId;
use crate::error::Result;
use crate::symbols::SymbolRow;
use crate::tables::Groups;
use crate::word_index::definitions::names_by_chunk;

/// The words of a shard's chunks, as sums: of each chunk a sum over its words, which differs if one is missing, too many, or
/// counted otherwise.
#[derive(Debug, Default)]
pub(super) struct StoredWords {
    /// All chunks with smaller numbers are in the word index.
    worded: i32,
    /// Whether the names of symbols are.
    defined: bool,
    /// By chunk.
    bodies: HashMap<i32, u64>,
    definitions: HashMap<i32, u64>,
    /// By blob: of the word index, and of the docs that should be in it.
    docs: HashMap<i32, u64>,
    docs_stored: HashMap<i32, u64>,
    lengths: HashMap<i32, u8>,
    is_damaged: bool,
    counter: Counter,
}

impl StoredWords {
    /// Reads the word index of a shard.
    pub(super) async fn read(
        conn: &mut PgConnection,
        groups: Groups,
        shard: ShardId,
    ) -> Result<Self> {
        let (worded, defined, docs_indexed): (i32, bool, bool) =
            sqlx::query_as("select worded, defined, docs_indexed from shards where shard = $1")
                .bind(shard.0)
                .fetch_one(&mut *conn)
                .await?;
        let sql = format!(
            "select segment, field, first, bits, lengths from {} where shard = {}",
            shard.word_segments(groups),
            shard.0
        );
        let segments: Vec<(i32, i16, i32, i16, Vec<u8>)> =
            sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?;
        let mut stored = Self { worded, defined, ..Self::default() };
        for (segment, field, first, bits, lengths) in segments {
            if field == 0 {
                stored.lengths.extend((first..).zip(lengths));
            }
            let sql = format!(
                "select bucket, entries from {} where shard = {} and segment = $1 order by bucket",
                shard.words(groups),
                shard.0
            );
            let rows: Vec<(i32, Vec<u8>)> =
                sqlx::query_as(AssertSqlSafe(sql)).bind(segment).fetch_all(&mut *conn).await?;
            let sums = match field {
                0 => &mut stored.bodies,
                1 => &mut stored.definitions,
                _ => &mut stored.docs,
            };
            for (bucket, row) in rows {
                let added = add(sums, &row, (bucket, bits as u8), first);
                stored.is_damaged |= added.is_none();
            }
        }
        if docs_indexed {
            let sql = format!(
                "select blob, tsvector_to_array(lexemes) from {} where shard = {} and blob < $1",
                shard.docs(),
                shard.0
            );
            let mut docs = sqlx::query_as::<_, (i32, Vec<String>)>(AssertSqlSafe(sql))
                .bind(worded)
                .fetch(conn);
            while let Some((blob, lexemes)) = docs.try_next().await? {
                let words = lexemes.iter().map(|lexeme| Word::of(lexeme)).collect::<BTreeSet<_>>();
                let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(mix(*word, 0)));
                stored.docs_stored.insert(blob, sum);
            }
        }
        Ok(stored)
    }

    /// Returns whether a row cannot be read, or has a word of another row.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Returns whether the words of a chunk are those of its text, and its length and mark are right.
    pub(super) fn fits(&mut self, n: i32, text: &str, begins_blob: bool) -> bool {
        if n >= self.worded {
            return true;
        }
        let mut sum = 0_u64;
        let count =
            self.counter.count([text], |word, code| sum = sum.wrapping_add(mix(word, code)));
        let length = words::length_code(count) | if begins_blob { BLOB_START } else { 0 };
        self.bodies.get(&n).copied().unwrap_or_default() == sum
            && self.lengths.get(&n) == Some(&length)
    }

    /// Returns whether the words of a blob's doc are its lexemes.
    pub(super) fn fit_doc(&self, blob: i32) -> bool {
        let stored = self.docs_stored.get(&blob);
        stored.is_none_or(|sum| self.docs.get(&blob).copied().unwrap_or_default() == *sum)
    }

    /// Returns whether the words of the names that a blob defines are those of its symbols. `starts` are the beginnings of its
    /// chunks, in bytes.
    pub(super) fn fit_definitions(&mut self, row: &SymbolRow, starts: &[i32]) -> bool {
        if !self.defined {
            return true;
        }
        let mut names = names_by_chunk(row, starts);
        (row.blob.0..).take(starts.len()).all(|n| {
            let mut sum = 0_u64;
            let names = names.remove(&n).unwrap_or_default();
            self.counter.count(names, |word, code| sum = sum.wrapping_add(mix(word, code)));
            self.definitions.get(&n).copied().unwrap_or_default() == sum
        })
    }
}

/// Adds the words of a row to the sums of their chunks; `None` if it is damaged.
fn add(
    sums: &mut HashMap<i32, u64>,
    row: &[u8],
    (bucket, bits): (i32, u8),
    first: i32,
) -> Option<()> {
    let (mut lists, mut postings) = (Lists::new(row).ok()?, Vec::new());
    while let Some(word) = lists.next_list(&mut postings).ok()? {
        if words::bucket(word, bits) as i32 != bucket {
            return None;
        }
        for posting in &postings {
            let n = first.checked_add(i32::try_from(posting.chunk).ok()?)?;
            let sum = sums.entry(n).or_default();
            *sum = sum.wrapping_add(mix(word, posting.code));
        }
    }
    Some(())
}

/// Returns a number that differs for each word and code.
fn mix(word: Word, code: u8) -> u64 {
    let x = (word.0 << 3 | u64::from(code)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}
