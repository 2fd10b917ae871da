//! The filters of a shard: reading them, adding to them, and remaking those of an older format.
//!
//! The filters of blocks and of dense and large chunks are stored bit-sliced, with [`SLICE_BITS`]
//! bits in a row of the table. Those of chunks have a row for each bit and [`PIECE_CHUNKS`] chunks.
//! So a server can load them into memory as they are, and a search without memory reads only the
//! bits it asks for.

mod rows;
mod stored;

use ngram::{BLOCK_CHUNKS, FilterKind};

pub use rows::ChunkRows;
pub(crate) use rows::SelectiveRows;
pub(crate) use stored::{
    NewFilters, StoredFilters, format, read, read_piece, store, store_pieces, take,
};

/// The format of stored filters and documents, to be changed with their contents or their layout.
/// `state.filters_format` holds the format of an index.
///
/// 1: chunk filters by bit. 2: n-grams that mix ASCII and others; densities. 3: folded letters outside ASCII, here and in
/// documents.
///
/// The filters of groups of symbols have the n-grams of chunk filters: `symbols::FORMAT` changes with these.
pub(crate) const FORMAT: i32 = 3;

/// Bits in a row of the table, each for all filters of a kind.
const SLICE_BITS: usize = 128;

/// Chunks in a row of their filters, a *piece*. With more, an ingest that adds a few chunks would
/// rewrite more than the 4 MB of a piece; with fewer, a search would read more rows.
pub(crate) const PIECE_CHUNKS: i32 = 8192;

const PIECE_BLOCKS: usize = (PIECE_CHUNKS / BLOCK_CHUNKS) as usize;

/// Rows of a piece, one for each bit.
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

/// `filters.number` of the row of [`CHUNKS`] that marks the first chunk of each blob.
const STARTS: i32 = -1;

/// `filters.number` of the row of [`CHUNKS`] with the densities of the first piece.
const DENSITIES: i32 = -2;

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
