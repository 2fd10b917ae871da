//! Bloom filters of n-grams: they rule out chunks, blocks of chunks and paths that cannot match.
//!
//! The trigram index ignores case and punctuation, and each lookup costs a round trip to Postgres. The filters keep
//! every byte and answer in microseconds. A filter is a Bloom filter (Bloom, *Space/time trade-offs in hash coding with
//! allowable errors*, 1970) of n-grams, that is, of runs of bytes with ASCII letters folded to lower case; n-grams with
//! capitals are added unfolded, too. An n-gram sets one bit, or two in kinds where two are more selective. The filters
//! of many texts are bit-sliced (Faloutsos and Christodoulakis, *Signature files*, 1984): each text has a column and
//! each bit a row, so one row tells which of all texts may have an n-gram.
//!
//! There are several [kinds](FilterKind). Filters of blocks and of dense chunks choose the blocks to look into; filters
//! of chunks avoid reading chunks; filters of paths avoid matching paths. All stored filters have a fixed number of
//! bits and fixed hashes; changing either takes a migration.
//!
//! This crate does no I/O and knows nothing of patterns: `query::ngram_query` turns a pattern into an [`NgramQuery`].

mod columns;
mod density;
mod filter;
mod fold;
mod hash;
mod kind;
mod query;
mod signature;
mod slices;
mod text;

pub use columns::Columns;
pub use density::Densities;
pub use filter::BloomFilter;
pub use fold::fold_beyond_ascii;
pub use kind::FilterKind;
pub use query::{Hashes, NgramQuery};
pub use signature::{BLOCK_CHUNKS, HitBitmap, ShardFilter, SignatureFile, SurvivingBlocks};
pub use slices::BitSlices;
