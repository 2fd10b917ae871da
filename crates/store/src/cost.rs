//! The cost model of statements: how much one of them asks for. The rest of the model is `search::cost`;
//! `benches/levers.md` records what each constant gained.

/// Chunks in a row of an answer. One row per chunk takes twice as long, here and in the server. With one row for all
/// chunks, server and client wait for each other, and the row outgrows the processor's cache.
pub(crate) const ROW_CHUNKS: usize = 8;

/// Most characters of a literal that are looked up if the server rechecks. Each trigram costs an index lookup, and those of
/// so many characters leave few false candidates.
pub(crate) const MAX_LOOKUP_CHARS: usize = 64;

/// Most lexemes of a literal that are looked up.
pub(crate) const MAX_WORDS: usize = 4;

/// Most shards that a statement names for each shard that is asked for: see `shard_ranges`.
pub(crate) const MAX_NAMED: usize = 4;

/// Most hashes of one literal that a search without memory looks up in the filters of chunks. Of common n-grams even many
/// rule out little.
pub(crate) const MAX_HASHES: usize = 12;

/// Approximate number of hashes of all literals that it looks up.
pub(crate) const ALL_HASHES: usize = 96;

/// Most rows of the filters of chunks, of 1 KB each, that [`Lease::chunk_rows`](crate::Lease::chunk_rows) reads at once.
pub(crate) const MAX_ROWS: usize = 8192;
