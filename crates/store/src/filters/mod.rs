//! The filters of a shard: reading them, adding to them, and making those of an older index anew.
//!
//! How they are stored: the filters of blocks and of dense and large chunks are bit-sliced, in rows of [`SLICE_BITS`] bits;
//! those of chunks have a row for each bit and [`PIECE_CHUNKS`] chunks. So a server's memory takes them as they are, and a
//! search without memory reads just the bits it asks for.

mod rows;
mod stored;

use ngram::{BLOCK_CHUNKS, FilterKind};

pub use rows::{ChunkRows, sample};
pub(crate) use stored::{
    NewFilters, StoredFilters, format, read, read_piece, store, store_pieces, take,
};

/// The form in which filters are stored: it changes with what they hold and how. `state.filters_format` has that of an
/// index.
pub(crate) const FORMAT: i32 = 1;

/// Bits of all filters of a kind in one row.
const SLICE_BITS: usize = 128;

/// Chunks in a row of their filters: with more, an ingest that adds a few would write more anew (4 MB), and with fewer a
/// search would ask for more rows.
pub(crate) const PIECE_CHUNKS: i32 = 8192;

const PIECE_BLOCKS: usize = (PIECE_CHUNKS / BLOCK_CHUNKS) as usize;

/// Rows of a piece.
const PIECE_ROWS: i32 = FilterKind::Chunk.bits() as i32;

/// The values of `filters.kind`.
const BLOCKS: i16 = 0;
const DENSE: i16 = 1;
const OWN_CHUNKS: i16 = 2;
const LARGE: i16 = 3;
const CHUNKS: i16 = 4;
const LARGE_SLICES: i16 = 5;

/// The values of `filters.number` of [`OWN_CHUNKS`].
const DENSE_NUMBERS: i32 = 0;
const LARGE_NUMBERS: i32 = 1;

/// That of the row of [`CHUNKS`] that says with which of them a blob begins.
const STARTS: i32 = -1;

/// A row of `filters`: kind, number, bits.
type Row = (i16, i32, Vec<u8>);

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks().0.iter().map(|n| i32::from_be_bytes(*n)).collect()
}

fn block_count(chunks: i32) -> usize {
    (chunks as usize).div_ceil(BLOCK_CHUNKS as usize)
}

#[cfg(test)]
mod tests;
