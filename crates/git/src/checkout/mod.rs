//! The git data of a checkout: where they lie, whether they may be read, and their contents.
//!
//! Anybody may have made the checkout, and its `.git` may name any folder of the machine, directly or by links,
//! worktrees and alternates. So git data are read only where they are trusted ([`Trust`]), from ordinary files of
//! limited size, and by paths without links.

mod config;
mod head;
mod index;
mod objects;
mod origin;
mod place;
mod refs;
mod trust;
mod worktrees;

use std::path::{Path, PathBuf};

use files::SkipReason;
use files::beneath;

use crate::attributes;

pub use config::{Config, Facts};
pub use index::Tracked;
pub use objects::Objects;
pub(crate) use objects::Stamp;
pub use origin::Origin;
pub use origin::{of_url, web};
pub(crate) use refs::{Head, Refs};
pub use trust::Trust;
pub use worktrees::{LinkedWorktree, WorktreePlace};

/// Maximum size of a small git file in bytes: `HEAD`, a branch, a `.git` that is a file.
const MAX_SMALL: u64 = 4 << 10;

/// Maximum size of a file of attributes in bytes.
const MAX_ATTRIBUTES: u64 = 1 << 20;

/// A part of a checkout's git data that is not read: its path, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Its path in the checkout, or in the folder of the git data.
    pub path: String,
    /// Why it is not read.
    pub reason: SkipReason,
}

/// Locations of the git data of a checkout: absolute paths without links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitData {
    /// The folder of the checkout's own data, such as `HEAD`.
    own: PathBuf,
    /// The folder that all checkouts of a clone share, such as its configuration and objects.
    common: PathBuf,
    /// The checkout.
    checkout: PathBuf,
}

impl GitData {
    /// Finds the git data of a checkout; `None` if there are none. Adds those outside the checkout that `trust` allows
    /// to it.
    ///
    /// # Errors
    /// The part whose reading is not allowed, or fails.
    pub fn of(checkout: &Path, trust: &mut Trust) -> Result<Option<Self>, Unread> {
        let unread = |reason| Unread { path: ".git".to_owned(), reason };
        let Some(place) = place::of(checkout).map_err(unread)? else { return Ok(None) };
        let data = Self { own: place.own, common: place.common, checkout: checkout.to_owned() };
        if trust.allows(checkout, &data.own) && trust.allows(checkout, &data.common) {
            return Ok(Some(data));
        }
        if !trust.is_known() && place::points_back(&data, &data.checkout) {
            trust.vouch(&data.common);
            return Ok(Some(data));
        }
        Err(unread(SkipReason::Outside))
    }

    /// Returns the git data of a folder if it is a bare clone.
    pub fn bare(folder: &Path) -> Option<Self> {
        let is_bare = ["objects", "refs"].iter().all(|part| folder.join(part).is_dir());
        let data =
            Self { own: folder.to_owned(), common: folder.to_owned(), checkout: folder.to_owned() };
        (is_bare && folder.join("HEAD").is_file()).then_some(data)
    }

    /// Returns whether the clone has a `HEAD`: without one, it is not a clone for git.
    pub fn has_head(&self) -> bool {
        self.own.join("HEAD").is_file()
    }

    /// Returns the path of a git file, with links resolved; `None` if there is none.
    fn resolve(
        &self,
        folder: &Path,
        name: &str,
        trust: &mut Trust,
    ) -> Result<Option<PathBuf>, Unread> {
        let unread = |reason| Unread { path: self.shown(folder, name), reason };
        let path = match folder.join(name).canonicalize() {
            Ok(path) => path,
            Err(error) => {
                return match beneath::reason(&error) {
                    SkipReason::Vanished => Ok(None),
                    reason => Err(unread(reason)),
                };
            }
        };
        if trust.allows(&self.checkout, &path) {
            Ok(Some(path))
        } else {
            Err(unread(SkipReason::Outside))
        }
    }

    /// Reads a git file; `None` if there is none.
    fn read(
        &self,
        folder: &Path,
        name: &str,
        most: u64,
        trust: &mut Trust,
    ) -> Result<Option<Vec<u8>>, Unread> {
        let Some(path) = self.resolve(folder, name, trust)? else { return Ok(None) };
        match beneath::read(&path, most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(SkipReason::Vanished) => Ok(None),
            Err(reason) => Err(Unread { path: self.shown(folder, name), reason }),
        }
    }

    /// Returns the name of a git file for display: its path in the checkout if it lies there.
    fn shown(&self, folder: &Path, name: &str) -> String {
        let path = folder.join(name);
        let below = path.strip_prefix(&self.checkout);
        below.map_or_else(|_| format!(".git/{name}"), |below| below.to_string_lossy().into_owned())
    }

    /// Returns the path of `info/exclude`, git's ignore rules besides `.gitignore`; `None` if the file does not exist.
    ///
    /// # Errors
    /// The path cannot be resolved, or leads to a place that `trust` does not allow.
    pub fn exclude(&self, trust: &mut Trust) -> Result<Option<PathBuf>, Unread> {
        self.resolve(&self.common, "info/exclude", trust)
    }

    /// Returns whether the clone's own attributes may have git write other contents of the same size to a file; it is
    /// so if they cannot be read.
    pub fn converts(&self, trust: &mut Trust) -> bool {
        let text = self.read(&self.common, "info/attributes", MAX_ATTRIBUTES, trust);
        text.map_or(true, |text| text.is_some_and(|text| attributes::converts(&text)))
    }
}

#[cfg(test)]
mod tests;
