//! Compares the files of two commits.

use std::cmp::Ordering;

use gix::objs::TreeRefIter;
use gix::objs::tree::EntryRef;

use super::entry::{ChangedFile, FileMode, TreeChange};
use super::finder::Finder;
use super::open::Clone;
use super::similar;
use super::tree::{MAX_DEPTH, MAX_ENTRIES, join, order};
use crate::{Error, Oid};

/// Maximum number of changed files between two commits.
const MAX_CHANGES: usize = 1_000_000;

impl Clone {
    /// Returns the files that differ between two commits, by path. `None` is a commit without files. A removed and an
    /// added file are one change if their contents are equal, or else so similar that git would call it a rename.
    ///
    /// # Errors
    /// An object is missing or damaged, a path is one that git forbids, there are more than 1,000,000 changes, or the
    /// clone cannot be read any more.
    pub fn changes(&self, old: Option<Oid>, new: Option<Oid>) -> Result<Vec<TreeChange>, Error> {
        between(&Finder::new(self), old, new)
    }
}

impl Clone {
    /// Returns the files that differ between two commits, by path. No file is read: a renamed one is a removed and an
    /// added one.
    ///
    /// # Errors
    /// As those of [`Clone::changes`].
    pub fn differences(&self, old: Oid, new: Oid) -> Result<Vec<TreeChange>, Error> {
        apart(&Finder::new(self), Some(old), Some(new))
    }
}

/// Returns the files that differ between two commits: see [`Clone::changes`].
pub(super) fn between(
    finder: &Finder,
    old: Option<Oid>,
    new: Option<Oid>,
) -> Result<Vec<TreeChange>, Error> {
    similar::join(finder, apart(finder, old, new)?)
}

fn apart(finder: &Finder, old: Option<Oid>, new: Option<Oid>) -> Result<Vec<TreeChange>, Error> {
    let tree = |commit: Option<Oid>| commit.map(|commit| finder.tree_of(commit)).transpose();
    let (old, new) = (tree(old)?, tree(new)?);
    let mut walk = Walk { finder, path: Vec::new(), entries: 0, changes: Vec::new() };
    if old != new {
        walk.trees(old.as_deref(), new.as_deref(), 0)?;
    }
    Ok(walk.changes)
}

/// A walk through two trees.
struct Walk<'f> {
    finder: &'f Finder,
    /// The path of the current folder, with a slash at the end.
    path: Vec<u8>,
    entries: usize,
    changes: Vec<TreeChange>,
}

impl Walk<'_> {
    /// Compares two folders that differ.
    fn trees(
        &mut self,
        old: Option<&gix::oid>,
        new: Option<&gix::oid>,
        depth: usize,
    ) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::Huge);
        }
        let read = |tree: Option<&gix::oid>| tree.map(|tree| self.finder.tree(tree)).transpose();
        let (old_tree, new_tree) = (read(old)?, read(new)?);
        let (old, new) = (entries(old, old_tree.as_deref())?, entries(new, new_tree.as_deref())?);
        self.entries += old.len() + new.len();
        if self.entries > MAX_ENTRIES || self.changes.len() > MAX_CHANGES {
            return Err(Error::Huge);
        }
        let (mut olds, mut news) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (olds.peek(), news.peek()) {
                (Some(old), Some(new)) => order(old, new),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(()),
            };
            let old = if order.is_le() { olds.next() } else { None };
            let new = if order.is_ge() { news.next() } else { None };
            self.entry(old, new, depth)?;
        }
    }

    /// Compares two entries of the same name, both folders or neither.
    fn entry(
        &mut self,
        old: Option<&EntryRef<'_>>,
        new: Option<&EntryRef<'_>>,
        depth: usize,
    ) -> Result<(), Error> {
        let Some(one) = new.or(old) else { return Ok(()) };
        let folder = self.path.len();
        join(&mut self.path, one.filename)?;
        let file = |entry: &EntryRef<'_>| {
            let mode = FileMode::of(entry.mode)?;
            Some(ChangedFile { path: self.path.clone(), oid: entry.oid.to_owned(), mode })
        };
        if one.mode.is_tree() {
            if old.map(|entry| entry.oid) != new.map(|entry| entry.oid) {
                self.path.push(b'/');
                self.trees(old.map(|entry| entry.oid), new.map(|entry| entry.oid), depth + 1)?;
            }
        } else {
            let (old, new) = (old.and_then(file), new.and_then(file));
            if old != new {
                self.changes.push(TreeChange { old, new });
            }
        }
        self.path.truncate(folder);
        Ok(())
    }
}

/// Returns the entries of a tree.
fn entries<'t>(
    tree: Option<&gix::oid>,
    bytes: Option<&'t [u8]>,
) -> Result<Vec<EntryRef<'t>>, Error> {
    let (Some(tree), Some(bytes)) = (tree, bytes) else { return Ok(Vec::new()) };
    let entries: Result<Vec<_>, _> = TreeRefIter::from_bytes(bytes, tree.kind()).collect();
    entries.map_err(|_| Error::Damaged(tree.to_owned()))
}
