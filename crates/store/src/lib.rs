//! Everything that is SQL: the catalog, the shards, loading, candidates and documents.
//!
//! No other crate names a table. The schema and its reasons are in `migrations/`; the rules that
//! hold between the tables are in `ARCHITECTURE.md`.

mod candidates;
mod catalog;
mod connect;
mod contents;
mod copy;
mod docs;
mod error;
mod filters;
mod lease;
mod repos;
mod shards;
mod statistics;
mod writer;

pub use candidates::Found;
pub use catalog::{Catalog, CatalogRepo, Changes, Shard, SkippedFile};
pub use connect::{Store, Target};
pub use contents::{Chunk, File, FileFilter};
pub use copy::{ChunkRow, Contents};
pub use docs::{DOC_GAP, DocHit, DocRow, DocsQuery, Headline, ShardDocs, ShardDocsQuery};
pub use error::{Error, Result};
pub use filters::MAX_SUMMARISERS;
pub use lease::Lease;
pub use repos::Repo;
pub use shards::{IndexProgress, Ingest, ShardFill};
pub use statistics::{HourOfSearches, Noted, SlowSearch, Statement};
pub use writer::{FileRow, Loader, RepoRow, SeenRow, SkippedRow, Switched, Todo, Totals, Writer};

/// A shard: one partition of `chunks`, of `stretches` with a trigram index, of `files` and of `docs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub i16);

impl ShardId {
    /// The name of its partition of `chunks`.
    pub(crate) fn chunks(self) -> String {
        format!("chunks_{:03}", self.0)
    }

    /// The name of its partition of `stretches`.
    pub(crate) fn stretches(self) -> String {
        format!("stretches_{:03}", self.0)
    }

    /// The name of its partition of `docs`.
    pub(crate) fn docs(self) -> String {
        format!("docs_{:03}", self.0)
    }

    /// The name of its partition of `files`.
    pub(crate) fn files(self) -> String {
        format!("files_{:03}", self.0)
    }
}

/// A blob in its shard: the number of its first chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub i32);

/// A repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoId(pub i32);

/// A state of the index; each switch makes the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i32);

/// Git's hash of a file's contents (SHA-1 over a header and the bytes).
pub type Oid = [u8; 20];
