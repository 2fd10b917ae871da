//! Browsing: which files there are and what is in them, without a search.
//!
//! A [`Tree`] is the list of all files of one state of the index, in order, and answers what pages and tools ask beside
//! searches: one file, a folder, a repository, the files whose paths are nearest to a query. It takes eight bytes for
//! each file, which refer to what a server keeps in memory anyway.

pub(crate) mod entry;
mod file;
mod find;
pub(crate) mod tree;

pub use entry::FileEntry;
pub use file::{FileText, MAX_COPIES};
pub use find::{FindRequest, NearFile};
pub use tree::{FileTotals, FolderItem, RepoTree, Tree};
