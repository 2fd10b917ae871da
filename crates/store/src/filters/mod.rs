//! The filters of a shard: reads them, adds to them, and rebuilds those of an older format.
//!
//! The filters of blocks and of dense and large chunks are stored bit-sliced, with [`SLICE_BITS`] bits in a row of
//! `filters`. A server can load them into memory unchanged, and a search without memory reads only the bits it needs.
//!
//! The filters of chunks are in `chunk_filters`, with a row for each bit and [`PIECE_CHUNKS`] chunks.
//!
//! The last chunks of a shard may have filters in rows of their own, the *tail*.
//!
//! The shards of a group (`tables::Groups`) share a partition, and the shard comes last in its key, so that one
//! statement reads a bit of many shards from neighbouring places of the index.

mod rows;
mod stored;
mod tail;

use ngram::{BLOCK_CHUNKS, FilterKind};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::ShardId;
use crate::tables::Groups;

pub use rows::ChunkRows;
pub(crate) use rows::{AskedBits, named_shards};
pub(crate) use stored::{
    NewFilters, StoredFilters, delete, format, read, read_piece, store, store_pieces, take,
};
pub(crate) use tail::{Tail, read_tail, store_tail, take_tail};

/// The format of stored filters and documents. Change it with their contents or their layout. `state.filters_format`
/// holds the format of an index.
///
/// 1: chunk filters by bit. 2: n-grams that mix ASCII and others; densities. 3: folded letters outside ASCII, here and in
/// documents. 4: n-grams that mix ASCII and others in all filters, with four bits.
///
/// The filters of groups of symbols have the n-grams of chunk filters, so `symbols::FORMAT` changes with them.
pub(crate) const FORMAT: i32 = 4;

/// Bits in a row of the table, each for all filters of a kind.
const SLICE_BITS: usize = 128;

/// Chunks in a row of their filters, a *piece*. With more, an ingest that adds a few chunks would rewrite more than the
/// 4 MB of a piece; with fewer, a search would read more rows.
pub(crate) const PIECE_CHUNKS: i32 = 8192;

const PIECE_BLOCKS: usize = (PIECE_CHUNKS / BLOCK_CHUNKS) as usize;

/// The values of `filters.kind`.
const BLOCKS: i16 = 0;
const DENSE: i16 = 1;
const OWN_CHUNKS: i16 = 2;
const LARGE: i16 = 3;
const LARGE_SLICES: i16 = 5;

/// The values of `filters.number` of [`OWN_CHUNKS`].
const DENSE_NUMBERS: i32 = 0;
const LARGE_NUMBERS: i32 = 1;

/// `chunk_filters.bit` of the row that marks the first chunk of each blob of a shard.
const STARTS: i16 = -1;

/// `chunk_filters.bit` of the row with the densities of a shard's first piece.
const DENSITIES: i16 = -2;

/// A row of `filters`: kind, number, bits.
type Row = (i16, i32, Vec<u8>);

/// A row of `chunk_filters` of one piece: bit, bits.
type BitRow = (i16, Vec<u8>);

/// Returns the bytes of a bit string in column `at` of a row; they follow the number of bits, in 4 bytes.
fn bit_bytes(row: &PgRow, at: usize) -> sqlx::Result<&[u8]> {
    let value = row.try_get_raw(at)?.as_bytes().map_err(sqlx::Error::Decode)?;
    Ok(value.get(4..).unwrap_or_default())
}

/// Decodes rows of `chunk_filters`: bit, bits.
fn bit_rows(rows: &[PgRow]) -> sqlx::Result<Vec<BitRow>> {
    rows.iter().map(|row| Ok((row.try_get(0)?, bit_bytes(row, 1)?.to_vec()))).collect()
}

/// Returns the statement that adds rows to the chunk filters of a shard.
fn chunks_sql(groups: Groups, shard: ShardId) -> String {
    format!(
        "copy {} (bit, shard, piece, bits) from stdin (format binary)",
        shard.chunk_filters(groups)
    )
}

/// Returns the values of `chunk_filters.bit` of a piece. Statements that need all rows of a piece name them, since the
/// key begins with the bit.
fn piece_bits() -> Vec<i16> {
    (0..FilterKind::Chunk.bits() as i16).collect()
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks().0.iter().map(|n| i32::from_be_bytes(*n)).collect()
}

fn block_count(chunks: i32) -> usize {
    (chunks as usize).div_ceil(BLOCK_CHUNKS as usize)
}

#[cfg(test)]
mod tests;
