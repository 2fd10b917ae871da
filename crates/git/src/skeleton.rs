//! A private folder that looks like a clone to git.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::checkout::Objects;
use files::Folder;

/// A clone for git to read, with the objects of another one and nothing else of it: git sees neither its configuration,
/// nor its references, nor its hooks.
#[derive(Debug)]
pub(super) struct Skeleton {
    folder: TempDir,
    objects: Objects,
    /// The open folder of the objects.
    handle: Folder,
}

impl Skeleton {
    /// Makes a clone with some objects. Their hashes are as long as `hash`.
    ///
    /// # Errors
    /// There is no space for it, or the objects are gone.
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

    /// Returns the folder of the git data.
    pub(super) fn git_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a path that leads a child of this process to the folder of the objects, even if another folder took its
    /// place.
    pub(super) fn objects(&self) -> PathBuf {
        self.handle.path().unwrap_or_else(|| self.objects.folder.clone())
    }

    /// Returns whether nothing among the objects changed since they were checked.
    pub(super) fn is_unchanged(&self) -> bool {
        self.objects.are_unchanged()
    }
}
