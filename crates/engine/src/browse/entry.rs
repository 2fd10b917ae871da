//! A file in a listing.

use store::{BlobId, RepoId};

/// A file of a tree.
#[derive(Clone, Copy, Debug)]
pub struct FileEntry<'t> {
    /// Its path in the repository.
    pub path: &'t str,
    /// Bytes of its text.
    pub bytes: usize,
    /// Its language, when that was recognised.
    pub language: Option<&'t str>,
    pub(crate) repo: RepoId,
    pub(crate) blob: BlobId,
}
