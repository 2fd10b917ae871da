//! Lists the files of a commit.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use gix::objs::tree::EntryRef;
use gix::objs::{CommitRefIter, Kind, TreeRefIter};

use super::entry::{FileMode, TreeFile};
use super::finder::Finder;
use super::open::Clone;
use crate::{Error, Oid};

/// Maximum depth of folders. Linux opens no path of more than 2048.
pub(super) const MAX_DEPTH: usize = 500;

/// Maximum number of files and folders of a commit. A tree may have the same tree a thousand times, which has another
/// one a thousand times.
pub(super) const MAX_ENTRIES: usize = if cfg!(test) { 100_000 } else { 20_000_000 };

/// Maximum length of a path in bytes.
pub(super) const MAX_PATH: usize = 1 << 16;

/// A folder that is being listed.
struct Level {
    tree: Vec<u8>,
    /// The rest of the tree begins here.
    at: usize,
    /// The length of its path, with a slash at the end.
    path: usize,
}

impl Clone {
    /// Passes all files of a commit to `each`, in the order of their paths, until it breaks.
    ///
    /// # Errors
    /// An object is missing or damaged, a path is one that git forbids, or the clone cannot be read any more. Then files
    /// may have been passed on.
    pub fn list(
        &self,
        commit: Oid,
        each: &mut dyn FnMut(TreeFile<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let finder = Finder::new(self);
        let tree = finder.tree_of(commit)?;
        let mut levels = vec![Level { tree: finder.tree(&tree)?, at: 0, path: 0 }];
        let mut path = Vec::new();
        let mut entries = 0;
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { return Ok(()) };
            path.truncate(level.path);
            let rest = &level.tree[level.at..];
            let mut iter = TreeRefIter::from_bytes(rest, commit.kind());
            let Some(entry) = iter.next() else {
                levels.pop();
                continue;
            };
            let entry = entry.map_err(|_| Error::Damaged(tree))?;
            level.at += iter.offset_to_next_entry(rest);
            entries += 1;
            join(&mut path, entry.filename)?;
            if entries > MAX_ENTRIES {
                return Err(Error::Huge);
            }
            match FileMode::of(entry.mode) {
                Some(mode) => {
                    let file = TreeFile { path: &path, mode, oid: entry.oid.to_owned() };
                    if each(file).is_break() {
                        return Ok(());
                    }
                }
                None if depth >= MAX_DEPTH => return Err(Error::Huge),
                None => {
                    let tree = finder.tree(entry.oid)?;
                    path.push(b'/');
                    levels.push(Level { tree, at: 0, path: path.len() });
                }
            }
        }
    }
}

/// Adds a name to the path of a folder.
///
/// # Errors
/// Git forbids the name, or the path is too long.
pub(super) fn join(path: &mut Vec<u8>, name: &[u8]) -> Result<(), Error> {
    path.extend(name);
    let is_forbidden = matches!(name, b"" | b"." | b"..")
        || name.eq_ignore_ascii_case(b".git")
        || name.contains(&b'/');
    if is_forbidden {
        return Err(Error::Forbidden(String::from_utf8_lossy(path).into_owned()));
    }
    if path.len() > MAX_PATH { Err(Error::Huge) } else { Ok(()) }
}

impl Finder {
    /// Returns the tree of a commit.
    pub(super) fn tree_of(&self, commit: Oid) -> Result<Oid, Error> {
        let bytes = self.expect(&commit, Kind::Commit)?;
        let tree = CommitRefIter::from_bytes(&bytes, commit.kind()).tree_id();
        tree.map_err(|_| Error::Damaged(commit))
    }

    /// Reads a tree, whose entries are sorted and whose names are different. Git knows the empty tree even if it is not
    /// there.
    pub(super) fn tree(&self, tree: &gix::oid) -> Result<Vec<u8>, Error> {
        if tree.is_empty_tree() {
            return Ok(Vec::new());
        }
        let bytes = self.expect(tree, Kind::Tree)?;
        let mut before: Option<EntryRef<'_>> = None;
        let mut is_sorted = true;
        for entry in TreeRefIter::from_bytes(&bytes, tree.kind()) {
            let entry = entry.map_err(|_| Error::Damaged(tree.to_owned()))?;
            is_sorted &= before.is_none_or(|before| order(&before, &entry).is_lt());
            before = Some(entry);
        }
        Ok(if is_sorted { bytes } else { sorted(&bytes, tree.kind()) })
    }
}

/// Returns the tree with the entries of one that git did not write: sorted, and each name once.
fn sorted(tree: &[u8], hash: gix::hash::Kind) -> Vec<u8> {
    let mut entries: Vec<EntryRef<'_>> = TreeRefIter::from_bytes(tree, hash).flatten().collect();
    entries.sort_by(order);
    entries.dedup_by(|later, first| order(later, first).is_eq());
    let mut bytes = Vec::with_capacity(tree.len());
    for entry in entries {
        bytes.extend_from_slice(entry.mode.as_bytes(&mut Default::default()));
        bytes.push(b' ');
        bytes.extend_from_slice(entry.filename);
        bytes.push(0);
        bytes.extend_from_slice(entry.oid.as_bytes());
    }
    bytes
}

/// Compares names as git does: that of a folder ends with a slash.
pub(super) fn order(a: &EntryRef<'_>, b: &EntryRef<'_>) -> Ordering {
    gix::objs::tree::name_order(a.filename, a.mode.is_tree(), b.filename, b.mode.is_tree())
        .then(a.mode.is_tree().cmp(&b.mode.is_tree()))
}
