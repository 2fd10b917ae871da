//! The only crate with SQL: the catalog, candidates, files and texts, filters, and ingest.
//!
//! No other crate names a table. No statement names the parent of a partitioned table; each names the partitions that
//! it reads or writes. So planning does not go through all partitions, and a shard can lie on another server. `tables`
//! lists them. `migrations/` holds the schema and its reasons, `ARCHITECTURE.md` the rules between the tables.

mod allowances;
mod audit;
mod bounded;
mod candidates;
mod catalog;
mod check;
mod connect;
mod contents;
mod cost;
mod disk;
mod docs;
mod error;
mod filters;
mod freshness;
mod grants;
mod history;
mod indexes;
mod ingest;
mod kept;
mod lease;
mod locks;
mod metadata;
mod mirrors;
mod monitors;
mod named;
mod nodes;
mod notified;
mod other_work;
mod pool;
mod prepare;
mod queue;
mod reader;
mod replica;
mod replicas;
mod repos;
mod schema;
mod scip;
mod servers;
mod sql;
mod statistics;
mod status;
mod store;
mod symbols;
mod tables;
mod target;
#[cfg(test)]
mod testing;
mod trees;
mod watching;
mod word_index;

pub use allowances::{AskedAllowance, TakenAllowance, WantedAllowance};
pub use audit::{AuditBatch, AuditEvent, AuditFilter, AuditWriter, MAX_AUDIT_REPOS};
pub use bounded::{More, SqlBounds, SqlRows};
pub use candidates::IndexAnswer;
pub use catalog::{Catalog, CatalogRepo, CatalogRepos, InTree, MAIN_TREE, Shard, SkippedFile};
pub use check::{Check, Problem};
pub use connect::Missing;
pub use contents::{Chunk, File, FileFilter, SharedText};
pub use disk::Recorded;
pub use docs::{
    DOC_GAP, DocHit, DocRow, DocsQuery, DocsWords, Headline, ShardDocs, ShardDocsQuery,
};
pub use error::{Error, Result};
pub use filters::ChunkRows;
pub use freshness::{FailedUpdate, Freshness, QueuePlace, RepoFreshness};
pub use grants::{AccessReader, HOST_BELIEVED, StoredAccess, StoredGrant};
pub use history::{
    ChangedFile, ChangedLine, HistoryBatch, HistoryCommit, HistoryPaths, HistoryRow,
    HistorySnapshot, HistoryState, HistoryUpdate, NewBatch, NewLines, PackedNumbers, pack_changes,
    unpack_changes,
};
pub use indexes::{Index, check_index, indexes};
pub use ingest::{
    BlobTodo, ChunkRow, Contents, FileRow, FileTodo, Loader, MAX_DERIVERS, Published, RepoRow,
    Root, ScipFile, ScipSource, ScipWriter, SeenRow, Session, SkippedRow, StoredPlace, SymbolsTodo,
    SymbolsWriter, Totals, TreeContents, TreeFile, TreeState, Waiting,
};
pub use lease::Lease;
pub use metadata::{RepoMetadata, rank_of_stars};
pub use mirrors::{
    LeftHost, Mirror, MirrorHook, MirrorHost, MirrorIndexing, MirrorLock, MirrorPage,
};
pub use monitors::{
    ChangedRows, Delivery, FileVersion, Hit, Monitor, MonitorEpoch, MonitorLock, NewMonitor,
    NewNews, News, Waiting as WaitingDelivery,
};
pub use named::{ClonePlace, NamedBlob};
pub use nodes::{LostNodes, Move, Node};
pub use notified::{Changes, Told};
pub use query::Properties;
pub use queue::{Arrivals, Change, PendingRow, Reason, Waited};
pub use reader::{READER, SqlReader, VISIBLE, reader_settings};
pub use repos::{LeftOutRow, Repo, StoredBlob};
pub use scip::{NO_KIND, Occurrence, Relation, ScipDocument, ScipImport, ScipPlace, is_local};
pub use servers::{Membership, NewServer, ServerRow, servers};
pub use sql::{SqlColumn, SqlKind, SqlQuery};
pub use statistics::{HourOfSearches, SlowSearch, Statement, StatisticsBatch};
pub use status::{IndexProgress, Ingest, ShardStatus};
pub use store::Store;
pub use symbols::{GivenUp, SymbolGroup, SymbolNames, SymbolRow, SymbolsProgress};
use tables::Groups;
pub use target::Target;
pub use trees::{ChosenTrees, RepoTrees, Tree, TreeFilter, TreeKind, TreeSet, Trees};
pub use watching::{WatchTurn, WatchedRepo};
pub use word_index::{WordField, WordLengths, WordRow};

/// A shard: one partition of `chunks`, of `documents` with a trigram index, of `files`, of `docs` and of `symbols`; it
/// shares one of `filters`, of `chunk_filters`, of `scip`, of `word_segments` and of `words` with other shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub i16);

impl ShardId {
    /// Returns the name of its partition of `chunks`.
    pub(crate) fn chunks(self) -> String {
        tables::CHUNKS.own(self)
    }

    /// Returns the name of its partition of `documents`.
    pub(crate) fn documents(self) -> String {
        tables::DOCUMENTS.own(self)
    }

    /// Returns the name of the partition of `filters` that it shares with its group.
    pub(crate) fn filters(self, groups: Groups) -> String {
        tables::FILTERS.of(self, groups)
    }

    /// Returns the name of the partition of `chunk_filters` that it shares with its group.
    pub(crate) fn chunk_filters(self, groups: Groups) -> String {
        tables::CHUNK_FILTERS.of(self, groups)
    }

    /// Returns the name of its partition of `docs`.
    pub(crate) fn docs(self) -> String {
        tables::DOCS.own(self)
    }

    /// Returns the name of its partition of `symbols`.
    pub(crate) fn symbols(self) -> String {
        tables::SYMBOLS.own(self)
    }

    /// Returns the name of the partition of `scip` that it shares with its group.
    pub(crate) fn scip(self, groups: Groups) -> String {
        tables::SCIP.of(self, groups)
    }

    /// Returns the name of its partition of `files`.
    pub(crate) fn files(self) -> String {
        tables::FILES.own(self)
    }
}

/// A blob within its shard: the number of its first chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub i32);

/// A repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoId(pub i32);

impl From<i32> for RepoId {
    fn from(id: i32) -> Self {
        Self(id)
    }
}

/// The random number of one publishing. If an epoch is lost (a server restored from a backup, say) and another is made
/// in its place, both have the same number but different switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switch(pub i64);

/// The number of a state of the index; each publishing makes the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i32);

/// Git's hash of a file's contents: SHA-1 over a header and the bytes.
pub type Oid = [u8; 20];
