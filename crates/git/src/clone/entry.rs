//! Files of commits.

use gix::objs::tree::{EntryKind, EntryMode};

use crate::Oid;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileMode {
    /// An ordinary file.
    File,
    /// A file that can be executed.
    Executable,
    /// A symbolic link. Its contents are the path that it leads to.
    Link,
    /// A commit of another repository, which the clone does not have.
    Submodule,
}

impl FileMode {
    /// Returns the mode of an entry; `None` if it is a folder.
    pub(super) fn of(mode: EntryMode) -> Option<Self> {
        match mode.kind() {
            EntryKind::Tree => None,
            EntryKind::Blob => Some(Self::File),
            EntryKind::BlobExecutable => Some(Self::Executable),
            EntryKind::Link => Some(Self::Link),
            EntryKind::Commit => Some(Self::Submodule),
        }
    }
}

/// A file of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeFile<'a> {
    /// Its path, with `/` between names.
    pub path: &'a [u8],
    /// What it is.
    pub mode: FileMode,
    /// Git's hash of its contents.
    pub oid: Oid,
}

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    /// The file of the old commit; `None` if the new one added it.
    pub old: Option<ChangedFile>,
    /// The file of the new commit; `None` if it removed it.
    pub new: Option<ChangedFile>,
}

impl TreeChange {
    /// Returns the new path or, of a removed file, the old one.
    pub fn path(&self) -> &[u8] {
        self.new.as_ref().or(self.old.as_ref()).map_or(b"", |file| &file.path)
    }
}

/// One side of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path, with `/` between names.
    pub path: Vec<u8>,
    /// Git's hash of its contents.
    pub oid: Oid,
    /// What it is.
    pub mode: FileMode,
}
