//! The cost model of statements: how much one statement asks for. The rest of the model is `search::cost`;
//! `benches/levers.md` and `docs/design` record what each constant gained.

/// Chunks in a row of an answer. One row per chunk takes twice as long, here and in the server. With one row for all
/// chunks, server and client wait for each other, and the row outgrows the processor's cache.
pub(crate) const ROW_CHUNKS: usize = 8;

/// Maximum number of characters of a literal to look up if the server rechecks. Each trigram costs an index lookup, and
/// those of so many characters leave few false candidates.
pub(crate) const MAX_LOOKUP_CHARS: usize = 64;

/// Maximum number of lexemes of a literal to look up.
pub(crate) const MAX_WORDS: usize = 4;

/// Maximum number of shards that a statement names for each shard it asks: see `shard_ranges`.
pub(crate) const MAX_NAMED: usize = 4;

/// Maximum number of hashes of one literal that a search without memory looks up in the filters of chunks. Even many
/// hashes of common n-grams rule out little.
pub(crate) const MAX_HASHES: usize = 12;

/// Approximate number of hashes that it looks up for all literals.
pub(crate) const ALL_HASHES: usize = 96;

/// Maximum number of rows of chunk filters, of 1 KB each, that [`Lease::chunk_rows`](crate::Lease::chunk_rows) reads at
/// once.
pub(crate) const MAX_ROWS: usize = 8192;
