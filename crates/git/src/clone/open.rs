//! An opened clone, which is opened again when it changes.

use std::clone::Clone as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::store::Store;
use crate::checkout::{GitData, Trust, Unread};
use crate::{Error, Oid, not_read};

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
        Self::open_at(source, git_folders, None)
    }

    /// Opens the clone in a folder like [`open`](Self::open). Its `HEAD` is that of the worktree with a name, if one is
    /// given.
    ///
    /// # Errors
    /// There is no clone or no such worktree, or it may not or cannot be read.
    pub fn open_at(
        source: &Path,
        git_folders: &[PathBuf],
        worktree: Option<&str>,
    ) -> Result<Self, Error> {
        if !source.is_dir() {
            return Err(Error::NoFolder);
        }
        let mut trust = Trust::known(git_folders.to_vec());
        let data = match GitData::of(source, &mut trust) {
            Ok(Some(data)) if data.has_head() => data,
            Ok(_) => GitData::bare(source).ok_or(Error::NoClone)?,
            Err(unread) => return Err(not_read(&unread)),
        };
        let data = match worktree.filter(|name| data.worktree() != Some(name)) {
            Some(name) => {
                let found = data.of_worktree(name, &mut trust);
                found.map_err(|unread| not_read(&unread))?.ok_or(Error::NoWorktree)?
            }
            None => data,
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

    /// Returns the commits at which a shallow clone ends, sorted. None of them has parents here.
    pub fn shallow(&self) -> Vec<Oid> {
        self.store().shallow.clone()
    }

    /// Returns a copy.
    pub(super) fn another(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    pub(super) fn store(&self) -> Arc<Store> {
        Arc::clone(&self.0.store.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Opens the clone again, unless another thread did since `old` was.
    ///
    /// # Errors
    /// It may not or cannot be read any more.
    pub(super) fn renew(&self, old: &Arc<Store>) -> Result<Arc<Store>, Error> {
        let mut store = self.0.store.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&store, old) {
            let new = Store::open(&self.0.data, &mut self.0.trust.clone());
            *store = Arc::new(new.map_err(|unread| not_read(&unread))?.ok_or(Error::NoClone)?);
        }
        Ok(Arc::clone(&store))
    }
}
