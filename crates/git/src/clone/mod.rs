//! Reads branches, trees, files and commits of a clone by gix, without the program `git`.
//!
//! Anybody may have made the clone. What is read of it, and how it may change meanwhile, says [`store`]. Nothing of its
//! configuration takes effect, no program runs, and nothing is fetched.

mod changes;
mod finder;
mod history;
mod lines;
mod refs;
mod resolve;
mod similar;
mod store;
mod tree;

#[cfg(test)]
mod tests;

use std::clone::Clone as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::checkout::{GitData, Trust, Unread};
use crate::{Error, Oid, not_read};
use finder::{Finder, Found};
use store::Store;

pub use changes::{ChangedFile, TreeChange};
pub use history::{CommitInfo, Commits};
pub use lines::{Hunk, line_changes};
pub use refs::{GitRef, RefKind};
pub use resolve::RevisionError;
pub use tree::{FileMode, TreeFile};

/// A clone that is open for reading. It is cheap to copy, and its copies may be used by several threads.
#[derive(Clone)]
pub struct Clone(Arc<Inner>);

struct Inner {
    data: GitData,
    trust: Trust,
    /// What is open now: a clone that changed is opened again.
    store: Mutex<Arc<Store>>,
}

impl std::fmt::Debug for Clone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Clone").field(&self.0.data).finish()
    }
}

impl Clone {
    /// Opens the clone in a folder, which may be bare, after an ingest of it that allowed to read `git_folders`, too.
    ///
    /// # Errors
    /// There is no clone, or it may not or cannot be read.
    pub fn open(source: &Path, git_folders: &[PathBuf]) -> Result<Self, Error> {
        if !source.is_dir() {
            return Err(Error::NoFolder);
        }
        let mut trust = Trust::known(git_folders.to_vec());
        let data = match GitData::of(source, &mut trust) {
            Ok(Some(data)) if data.has_head() => data,
            Ok(_) => GitData::bare(source).ok_or(Error::NoClone)?,
            Err(unread) => return Err(not_read(&unread)),
        };
        Self::of(&data, &mut trust).map_err(|unread| not_read(&unread))?.ok_or(Error::NoClone)
    }

    /// Opens a clone; `None` if it has no objects.
    ///
    /// # Errors
    /// The part whose reading is not allowed, or fails.
    pub fn of(data: &GitData, trust: &mut Trust) -> Result<Option<Self>, Unread> {
        let Some(store) = Store::open(data, trust)? else { return Ok(None) };
        let (data, trust) = (data.clone(), trust.clone());
        Ok(Some(Self(Arc::new(Inner { data, trust, store: Mutex::new(Arc::new(store)) }))))
    }

    /// Returns the commit that is checked out; `None` if the branch has none yet.
    ///
    /// # Errors
    /// The commit is missing or damaged.
    pub fn head(&self) -> Result<Option<Oid>, RevisionError> {
        match self.resolve("HEAD") {
            Ok(commit) => Ok(Some(commit)),
            Err(RevisionError::Unknown { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns a reader of files, for one thread.
    pub fn reader(&self) -> BlobReader {
        BlobReader(Finder::new(self))
    }

    /// Returns a copy.
    fn another(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    fn store(&self) -> Arc<Store> {
        Arc::clone(&self.0.store.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Opens the clone again, unless another thread did since `old` was.
    ///
    /// # Errors
    /// It may not or cannot be read any more.
    fn renew(&self, old: &Arc<Store>) -> Result<Arc<Store>, Error> {
        let mut store = self.0.store.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&store, old) {
            let new = Store::open(&self.0.data, &mut self.0.trust.clone());
            *store = Arc::new(new.map_err(|unread| not_read(&unread))?.ok_or(Error::NoClone)?);
        }
        Ok(Arc::clone(&store))
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

    /// Returns the size of an object in bytes.
    ///
    /// # Errors
    /// The same as [`Self::read`].
    pub fn size(&self, object: Oid) -> Result<u64, Error> {
        let header = self.0.header(&object)?;
        header.map(|(_, size)| size).ok_or_else(|| self.0.lacks(object))
    }
}
