//! The tail of a shard: its last chunks, whose filters stand in a few rows of their own, so that an ingest of a few files
//! rewrites these rows, and not those of thousands of chunks.
//!
//! A tail lies in one block. When it would leave the block, its rows are dropped, and the filters of its chunks are
//! rebuilt from their texts, with the others: those of texts that are deleted by then take no part any more.

use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, Columns, FilterKind};
use sqlx::{AssertSqlSafe, PgConnection};

use super::{Row, SLICE_BITS, STARTS, bit_rows, chunks_sql};
use crate::error::Result;
use crate::ingest::copy::{self, Rows};
use crate::tables::Groups;
use crate::{BlobId, ShardId};

/// The value of `filters.kind` of the filter of the whole tail; `filters.number` is its first chunk.
pub(super) const TAIL: i16 = 6;

/// The value of `filters.kind` of a slice of the filters of the tail's chunks; `filters.number` is that of the slice,
/// shifted by [`SLICE_SHIFT`] bits, and the block.
pub(super) const TAIL_CHUNKS: i16 = 7;

pub(super) const SLICE_SHIFT: i32 = 22;

/// The filters of the last chunks of a shard.
#[derive(Debug)]
pub(crate) struct Tail {
    /// The first chunk.
    pub(crate) first: i32,
    all: BloomFilter,
    /// The filters of the chunks of the block, also of those before the tail, which are empty.
    chunks: BitSlices,
}

impl Tail {
    /// Makes a tail without chunks.
    pub(crate) fn at(first: i32) -> Self {
        let chunks = BitSlices::new(FilterKind::Chunk, &[]);
        Self { first, all: BloomFilter::new(FilterKind::Block), chunks }
    }

    /// Restores a tail from its rows; `None` if some are missing.
    fn of(mut rows: Vec<Row>) -> Option<Self> {
        rows.sort_unstable_by_key(|(kind, number, _)| (*kind, *number));
        let mut rows = rows.into_iter();
        let (kind, first, all) = rows.next()?;
        let mut slices = Vec::new();
        for (place, (_, number, bits)) in (0..).zip(rows) {
            if number != slice_number(place, first / BLOCK_CHUNKS) {
                return None;
            }
            slices.extend(bits);
        }
        let columns = slices.len() / FilterKind::Chunk.bits() * 8;
        let chunks = BitSlices::from_rows(FilterKind::Chunk, columns, slices)?;
        let is_whole = kind == TAIL && all.len() * 8 == FilterKind::Block.bits() && columns > 0;
        is_whole.then(|| Self { first, all: BloomFilter::from_bytes(&all), chunks })
    }

    /// Returns whether chunks up to `upto` are all in the block of this tail.
    pub(crate) fn reaches(&self, upto: i32) -> bool {
        self.first / BLOCK_CHUNKS == (upto - 1) / BLOCK_CHUNKS
    }

    /// Adds chunks, each with its number and text.
    pub(crate) fn add(&mut self, n: i32, text: &str) {
        self.all.add(text);
        self.chunks.add((n % BLOCK_CHUNKS) as usize, &[BloomFilter::of_chunk(text)]);
    }

    /// Returns whether the filter of a chunk, and that of all, hold the n-grams of its text.
    pub(crate) fn holds(&self, n: i32, text: &str) -> (bool, bool) {
        let mut own = BloomFilter::new(FilterKind::Block);
        own.add(text);
        let column = (n % BLOCK_CHUNKS) as usize;
        (self.chunks.holds(column, &BloomFilter::of_chunk(text)), self.all.holds(&own))
    }

    fn rows(&self, shard: ShardId) -> Rows {
        let mut rows = Rows::new();
        rows.row(4).i16(shard.0).i16(TAIL).i32(self.first).bytes(&self.all.to_bytes());
        let slices = self.chunks.rows().chunks(SLICE_BITS * self.chunks.width());
        for (place, slice) in (0..).zip(slices) {
            let number = slice_number(place, self.first / BLOCK_CHUNKS);
            rows.row(4).i16(shard.0).i16(TAIL_CHUNKS).i32(number).bytes(slice);
        }
        rows
    }
}

fn slice_number(slice: i32, block: i32) -> i32 {
    (slice << SLICE_SHIFT) + block
}

/// Returns the block that `filters.number` of a slice names, as SQL.
pub(super) fn block_sql(number: &str) -> String {
    format!("({number} & {})", (1 << SLICE_SHIFT) - 1)
}

/// Takes the tail of a shard out of the tables, to add to it or to drop it. Also returns the first chunk that is in no
/// other filters; `filtered` if there is no tail. Of a damaged tail, it returns 0.
pub(crate) async fn take_tail(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    filtered: i32,
) -> Result<(Option<Tail>, i32)> {
    let sql = format!(
        "delete from {} where shard = {} and kind in ({TAIL}, {TAIL_CHUNKS}) returning kind, number, bits",
        shard.filters(groups),
        shard.0
    );
    let rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?;
    if rows.is_empty() {
        return Ok((None, filtered));
    }
    let tail = Tail::of(rows).filter(|tail| tail.first < filtered && tail.reaches(filtered));
    let first = tail.as_ref().map_or(0, |tail| tail.first);
    Ok((tail, first))
}

/// Reads the tail of a shard; an error in words if rows are missing.
pub(crate) async fn read_tail(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    filtered: i32,
) -> Result<std::result::Result<Option<Tail>, &'static str>> {
    let sql = format!(
        "select kind, number, bits from {} where shard = {} and kind in ({TAIL}, {TAIL_CHUNKS})",
        shard.filters(groups),
        shard.0
    );
    let rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(conn).await?;
    if rows.is_empty() {
        return Ok(Ok(None));
    }
    let tail = Tail::of(rows).filter(|tail| tail.first < filtered && tail.reaches(filtered));
    Ok(tail.map(Some).ok_or("the filters of its last chunks are incomplete"))
}

/// Stores the tail of a shard that now has `chunks` chunks in filters, and marks the blobs that begin among the new ones.
/// Returns whether that was possible: not if the marks of earlier blobs are missing.
pub(crate) async fn store_tail(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    (filtered, chunks): (i32, i32),
    tail: &Tail,
    starts: &[BlobId],
) -> Result<bool> {
    let sql = format!(
        "delete from {} where bit = {STARTS} and shard = {} returning bit, bits",
        shard.chunk_filters(groups),
        shard.0
    );
    let marks = bit_rows(&sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?)?.pop();
    let Some((_, marks)) = marks.filter(|(_, marks)| marks.len() * 8 >= filtered as usize) else {
        return Ok(false);
    };
    let mut marks = Columns::from(marks);
    marks.grow(chunks as usize);
    for blob in starts {
        marks.add(blob.0 as usize);
    }
    let mut rows = Rows::new();
    rows.row(4).i16(STARTS).i16(shard.0).i16(0).bits(marks.bytes());
    copy::send(conn, &chunks_sql(groups, shard), rows).await?;
    let sql = format!(
        "copy {} (shard, kind, number, bits) from stdin (format binary)",
        shard.filters(groups)
    );
    copy::send(conn, &sql, tail.rows(shard)).await?;
    Ok(true)
}
