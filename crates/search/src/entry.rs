//! A file in a listing.

use store::{BlobId, RepoId};

/// A file of a [`Tree`](super::Tree).
#[derive(Clone, Copy, Debug)]
pub struct FileEntry<'t> {
    /// Path in its repository.
    pub path: &'t str,
    /// Size of its text in bytes.
    pub bytes: usize,
    /// Language, if it was recognised.
    pub language: Option<&'t str>,
    /// Its repository.
    pub repo: RepoId,
    /// The blob of its text, in its shard.
    pub blob: BlobId,
}
