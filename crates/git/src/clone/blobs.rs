//! Reads the contents of files.

use super::changes;
use super::entry::TreeChange;
use super::finder::{Finder, Found};
use super::history::CommitInfo;
use super::open::Clone;
use crate::{Error, Oid};

impl Clone {
    /// Returns a reader of files, for one thread.
    pub fn reader(&self) -> BlobReader {
        BlobReader(Finder::new(self))
    }
}

/// Reads the contents of files, for one thread: it has a cache of 64 MB. Objects are read fastest in the order of their
/// paths.
pub struct BlobReader(Finder);

impl std::fmt::Debug for BlobReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BlobReader")
    }
}

impl BlobReader {
    /// Reads a file of at most `most` bytes; `None` if it is larger, or no file.
    ///
    /// # Errors
    /// The object is missing or damaged, or the clone cannot be read any more.
    pub fn read(&self, object: Oid, most: u64) -> Result<Option<Vec<u8>>, Error> {
        match self.0.read(&object, most)? {
            Found::Object(gix::objs::Kind::Blob, bytes) => Ok(Some(bytes)),
            Found::Object(..) | Found::Large(_) => Ok(None),
            Found::Missing => Err(self.0.lacks(object)),
        }
    }

    /// Reads a commit.
    ///
    /// # Errors
    /// It is missing or damaged, or the clone cannot be read any more.
    pub fn commit(&self, commit: Oid) -> Result<CommitInfo, Error> {
        self.0.commit(commit)
    }

    /// Like [`Clone::changes`], for many commits.
    ///
    /// # Errors
    /// The same as [`Clone::changes`].
    pub fn changes(&self, old: Option<Oid>, new: Option<Oid>) -> Result<Vec<TreeChange>, Error> {
        changes::between(&self.0, old, new)
    }

    /// Returns the size of an object in bytes.
    ///
    /// # Errors
    /// The same as [`Self::read`].
    pub fn size(&self, object: Oid) -> Result<u64, Error> {
        let header = self.0.header(&object)?;
        header.map(|(_, size)| size).ok_or_else(|| self.0.lacks(object))
    }
}
