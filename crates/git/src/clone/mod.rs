//! Reads branches, trees, files and commits of a clone by gix, without the program `git`.
//!
//! Anybody may have made the clone. What is read of it, and how it may change meanwhile, says [`store`]. Nothing of its
//! configuration takes effect, no program runs, and nothing is fetched.

mod blobs;
mod changes;
mod entry;
mod finder;
mod history;
mod lines;
mod open;
mod refs;
mod resolve;
mod similar;
mod store;
mod tree;

#[cfg(test)]
mod tests;

pub use blobs::BlobReader;
pub use entry::{ChangedFile, FileMode, TreeChange, TreeFile};
pub use history::{CommitInfo, Commits};
pub use lines::{Hunk, line_changes};
pub use open::Clone;
pub use refs::{GitRef, RefKind};
pub use resolve::RevisionError;
