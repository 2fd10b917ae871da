//! The history of lines: which commits of chosen repositories added or removed which lines.
//!
//! The commits of a repository lie in batches ([`HistoryBatch`]). A batch has its own distinct lines and paths; a line is
//! stored beside the numbers of the commits that changed it. Rows are not changed, only added, and deleted with a batch
//! or a commit. They have no epoch: a build is visible once it is complete, an update is one transaction, and a search
//! reads one state in a transaction of its own.

pub(crate) mod keep;
mod packed;
mod read;
mod write;

pub use packed::{ChangedFile, ChangedLine, PackedNumbers, pack_changes, unpack_changes};
pub use read::{HistoryBatch, HistoryPaths, HistoryRow, HistorySnapshot};
pub use write::{HistoryState, HistoryUpdate, NewBatch, NewLines};

/// A commit of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryCommit {
    /// Its number; a child has a higher one than its parents, and a repository none of another's.
    pub number: i32,
    /// Its name in git.
    pub oid: Vec<u8>,
    /// The name of its author.
    pub author: String,
    /// When it was made, in seconds since 1970.
    pub time: i64,
    /// The first line of its message.
    pub summary: String,
    /// Its changed files: see [`unpack_changes`].
    pub changes: Vec<u8>,
}
