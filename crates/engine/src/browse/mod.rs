//! Browsing: lists files and reads them, without a search.
//!
//! A [`Tree`] lists all files of one epoch in order. Pages and tools ask it for a file, a folder, a
//! repository, or the files whose paths are nearest to a query. It takes eight bytes for each file, and
//! shares all other data with the cache.

pub(crate) mod entry;
mod file;
mod find;
mod left_out;
pub(crate) mod tree;

pub use entry::FileEntry;
pub use file::{FileText, MAX_COPIES, file_text, file_text_of};
pub use find::{FindRequest, NearFile};
pub use left_out::{LeftOut, left_out_file, why_left_out};
pub use tree::{FileTotals, FolderItem, RepoTree, Tree};
