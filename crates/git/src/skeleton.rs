//! A folder of ours that is a clone to git.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::checkout::Objects;
use files::Folder;

/// A clone for git to read that has the objects of another, and nothing else of it: no configuration, no references, no
/// hooks. Whatever these say, git does not see it.
#[derive(Debug)]
pub(super) struct Skeleton {
    folder: TempDir,
    objects: Objects,
    /// The folder of the objects, held open.
    handle: Folder,
}

impl Skeleton {
    /// Makes a clone of some objects. Their hashes have as many characters as `hash`.
    ///
    /// # Errors
    /// There is no room for it, or the objects are gone.
    pub(super) fn new(objects: Objects, hash: &str) -> io::Result<Self> {
        let handle = Folder::open(&objects.folder)?;
        let folder = tempfile::Builder::new().prefix("codesearch-git-").tempdir()?;
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("refs"))?;
        fs::write(at("HEAD"), "ref: refs/heads/none\n")?;
        let format = if hash.len() == 64 {
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "[core]\n\trepositoryformatversion = 0\n"
        };
        fs::write(at("config"), format)?;
        if !objects.shallow.is_empty() {
            fs::write(at("shallow"), &objects.shallow)?;
        }
        Ok(Self { folder, objects, handle })
    }

    /// Returns the folder of git's data.
    pub(super) fn git_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a path of the folder of the objects that leads a child of this process there, even if another folder has
    /// its place by now.
    pub(super) fn objects(&self) -> PathBuf {
        self.handle.path().unwrap_or_else(|| self.objects.folder.clone())
    }

    /// Whether nothing was changed among the objects since they were looked at.
    pub(super) fn is_unchanged(&self) -> bool {
        self.objects.are_unchanged()
    }
}
