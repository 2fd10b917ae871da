//! Filters of n-grams: which chunks, blocks of chunks and paths cannot hold the text that a query asks for.
//!
//! The trigram index forgets case and punctuation and is asked over a connection; the filters keep every byte and answer
//! in microseconds. A filter is a Bloom filter (Bloom, *Space/time trade-offs in hash coding with allowable errors*,
//! 1970) of n-grams: runs of bytes with ASCII letters folded, and those with capitals also as they are. It has one hash,
//! or two where that lets less through. The filters of many texts are bit-sliced (Faloutsos and Christodoulakis,
//! *Signature files*, 1984): a column for each text and a row for each bit, so that one row tells of all texts whether
//! they may hold an n-gram.
//!
//! There are several [kinds](FilterKind): filters of blocks of many chunks, and of the chunks that would fill those, say
//! where to look at all; filters of chunks spare reading them; filters of paths spare matching them. All that are stored
//! have a fixed number of bits and fixed hashes: only a migration can change either.
//!
//! This crate does no I/O and knows nothing of patterns: `query::ngram_query` makes an [`NgramQuery`] of one.

mod columns;
mod filter;
mod hash;
mod kind;
mod query;
mod signature;
mod slices;
mod text;

pub use columns::Columns;
pub use filter::BloomFilter;
pub use hash::has_non_ascii_fold;
pub use kind::FilterKind;
pub use query::{Hashes, NgramQuery};
pub use signature::{BLOCK_CHUNKS, HitBitmap, ShardFilter, SignatureFile, SurvivingBlocks};
pub use slices::BitSlices;
