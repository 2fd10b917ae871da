//! Reads objects, in one thread.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use gix::objs::Kind;
use gix::odb;
use gix::odb::pack::cache::lru::MemoryCappedHashmap;
use gix::prelude::*;

use super::open::Clone;
use super::store::Store;
use crate::{Error, Oid};

/// Size in bytes of a reader's cache of objects that others are made of.
const MAX_CACHE: usize = 64 << 20;

/// How often an object is read again when the clone changes meanwhile.
const ATTEMPTS: usize = 4;

/// Maximum size in bytes of a commit, a tag or a tree. A folder with a million files has a tree of some 40 MB.
pub(super) const MAX_OBJECT: u64 = 128 << 20;

/// An object, or why it has no contents.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Object(Kind, Vec<u8>),
    /// It is larger than the limit. Its size in bytes.
    Large(u64),
    Missing,
}

/// Reads objects of a clone.
pub(super) struct Finder {
    clone: Clone,
    at: RefCell<(Arc<Store>, odb::HandleArc)>,
    /// The first object that was looked for through gix in vain.
    missing: Cell<Option<Oid>>,
    failed: RefCell<Option<Error>>,
}

impl Finder {
    pub(super) fn new(clone: &Clone) -> Self {
        let store = clone.store();
        let handle = handle(&store);
        let clone = clone.another();
        Self {
            clone,
            at: RefCell::new((store, handle)),
            missing: Cell::new(None),
            failed: RefCell::new(None),
        }
    }

    /// Returns the opened clone.
    pub(super) fn store(&self) -> Arc<Store> {
        Arc::clone(&self.at.borrow().0)
    }

    /// Reads an object of at most `most` bytes.
    ///
    /// # Errors
    /// It is damaged, or the clone changes all the time.
    pub(super) fn read(&self, object: &gix::oid, most: u64) -> Result<Found, Error> {
        self.attempt(object, |handle| {
            // The size alone takes a third of the time. What is no file is rarely large.
            if most < MAX_OBJECT {
                let Some(header) = handle.try_header(object)? else { return Ok(Found::Missing) };
                if header.size() > most {
                    return Ok(Found::Large(header.size()));
                }
            }
            let mut bytes = Vec::new();
            let kind = handle.try_find(object, &mut bytes)?.map(|found| found.kind);
            // The size that a pack claims may be wrong.
            Ok(match kind {
                Some(_) if bytes.len() as u64 > most => Found::Large(bytes.len() as u64),
                Some(kind) => Found::Object(kind, bytes),
                None => Found::Missing,
            })
        })
    }

    /// Returns the kind and the size in bytes of an object; `None` if it is missing.
    ///
    /// # Errors
    /// The same as [`Self::read`].
    pub(super) fn header(&self, object: &gix::oid) -> Result<Option<(Kind, u64)>, Error> {
        self.attempt(object, |handle| {
            Ok(handle.try_header(object)?.map(|header| (header.kind(), header.size())))
        })
    }

    /// Reads an object of a kind.
    ///
    /// # Errors
    /// It is missing, damaged, of another kind, or too large.
    pub(super) fn expect(&self, object: &gix::oid, kind: Kind) -> Result<Vec<u8>, Error> {
        match self.read(object, MAX_OBJECT)? {
            Found::Object(found, bytes) if found == kind => Ok(bytes),
            Found::Object(..) => Err(Error::Damaged(object.to_owned())),
            Found::Large(_) => Err(Error::Huge),
            Found::Missing => Err(self.lacks(object.to_owned())),
        }
    }

    /// Returns the error for a missing object.
    pub(super) fn lacks(&self, object: Oid) -> Error {
        self.at.borrow().0.lacks(object)
    }

    /// Looks for something until the clone did not change meanwhile.
    pub(super) fn attempt<T>(
        &self,
        object: &gix::oid,
        mut look: impl FnMut(&odb::HandleArc) -> gix::Result<T>,
    ) -> Result<T, Error> {
        for _ in 0..ATTEMPTS {
            let (looked, is_unchanged) = {
                let at = self.at.borrow();
                if object.kind() != at.0.hash {
                    return Err(at.0.lacks(object.to_owned()));
                }
                let looked = look(&at.1);
                (looked, at.0.is_unchanged(object))
            };
            if is_unchanged {
                return looked.map_err(|_| Error::Damaged(object.to_owned()));
            }
            self.renew()?;
        }
        Err(Error::Changed)
    }

    /// Opens the clone again.
    pub(super) fn renew(&self) -> Result<(), Error> {
        let store = self.clone.renew(&self.store())?;
        let handle = handle(&store);
        *self.at.borrow_mut() = (store, handle);
        Ok(())
    }

    /// Returns the error that gix met through this reader, if any.
    pub(super) fn error(&self) -> Option<Error> {
        let failed = self.failed.borrow_mut().take();
        failed.or_else(|| self.missing.take().map(|object| self.lacks(object)))
    }
}

fn handle(store: &Store) -> odb::HandleArc {
    let mut handle = store.handle();
    handle.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(MAX_CACHE)));
    handle
}

/// For gix, the parents of the commits at which a shallow clone ends do not exist.
impl gix::objs::Find for Finder {
    fn try_find<'a>(
        &self,
        id: &gix::oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix::Result<Option<gix::objs::Data<'a>>> {
        let (kind, bytes) = match self.read(id, MAX_OBJECT) {
            Ok(Found::Object(kind, bytes)) => (kind, bytes),
            Ok(Found::Large(_)) => {
                self.failed.replace(Some(Error::Huge));
                return Ok(None);
            }
            Ok(Found::Missing) => {
                self.missing.set(self.missing.get().or(Some(id.to_owned())));
                return Ok(None);
            }
            Err(error) => {
                self.failed.replace(Some(error));
                return Ok(None);
            }
        };
        *buffer = bytes;
        if kind == Kind::Commit && self.at.borrow().0.shallow.binary_search(&id.to_owned()).is_ok()
        {
            without_parents(buffer);
        }
        Ok(Some(gix::objs::Data { kind, object_hash: id.kind(), data: buffer }))
    }
}

/// Removes the lines of a commit that name its parents.
fn without_parents(commit: &mut Vec<u8>) {
    let mut rest = commit.as_slice();
    let mut kept = Vec::with_capacity(commit.len());
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = rest.split_at(end + 1);
        if line == b"\n" {
            break;
        }
        if !line.starts_with(b"parent ") {
            kept.extend(line);
        }
        rest = after;
    }
    kept.extend(rest);
    *commit = kept;
}
