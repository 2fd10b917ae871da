//! Ingest: stores the files read as the next epoch of the index.
//!
//! A [`Session`] holds the lock on writing. It compares the files on disk with the index ([`diff`], [`known`]), has contents
//! stored and indexed ([`fill`], [`derive`], [`index`]), compares the other [`trees`], makes the new epoch current
//! ([`publish`]) and deletes what is
//! unused ([`gc`]). [`watch`] gives up when Postgres has gone silent.
//!
//! The session's data lie in temporary tables, so the program's memory does not grow with the tree, and nothing is left
//! over when it is killed. [`Loader`]s store contents as they are read, on connections of their own. Contents that no
//! file refers to are in no epoch; the next ingest finds them by their hash.

pub(crate) mod copy;
mod derive;
mod diff;
pub(crate) mod fill;
mod gc;
pub(crate) mod index;
mod known;
mod publish;
mod queue;
mod scip;
pub(crate) mod session;
mod symbols;
mod trees;
mod watch;

pub use derive::MAX_DERIVERS;
pub use diff::{FileRow, FileTodo, RepoRow, SeenRow, SkippedRow, StoredPlace, Totals};
pub use fill::{ChunkRow, Contents, Loader};
pub use publish::Published;
pub(crate) use publish::{Counts, EPOCHS, advance, count};
pub use queue::Root;
pub use scip::{ScipFile, ScipSource, ScipWriter};
pub use session::Session;
pub(crate) use session::{end_orphans, undo_except, undo_unpublished};
pub use symbols::{BlobTodo, SymbolsTodo, SymbolsWriter, Waiting};
pub use trees::{TreeContents, TreeFile, TreeState};
