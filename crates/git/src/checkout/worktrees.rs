//! The worktrees of a clone: which checkouts share its git data.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{GitData, MAX_SMALL, Trust, Unread, place};
use files::SkipReason;
use files::beneath;

/// Maximum number of worktrees of a clone that are looked at.
const MAX_WORKTREES: usize = 10_000;

/// A worktree that a clone lists, besides its main checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedWorktree {
    /// Its name: that of its folder in `worktrees` of the clone's git data.
    pub name: String,
    /// Where it lies.
    pub place: WorktreePlace,
}

/// Where a worktree lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreePlace {
    /// In this folder, whose `.git` leads back to the clone. An absolute path without links.
    At(PathBuf),
    /// In a folder that no longer exists; `is_locked` if git was told to keep it (`git worktree lock`).
    Gone {
        /// The folder.
        folder: PathBuf,
        /// Whether it is locked.
        is_locked: bool,
    },
    /// In a folder whose `.git` does not lead to this worktree.
    Elsewhere(PathBuf),
    /// Its data cannot be read.
    Broken(SkipReason),
}

impl GitData {
    /// Returns the folder of the checkout's own data, such as `HEAD` and `index`.
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// Returns the folder that all checkouts of the clone share.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// Returns the name of the checkout if it is a worktree other than the main one.
    pub fn worktree(&self) -> Option<&str> {
        let is_listed = self.own.parent().is_some_and(|above| above == self.common.join(WORKTREES));
        self.own.file_name().filter(|_| is_listed)?.to_str()
    }

    /// Returns the folder whose `.git` is the clone's git data; `None` if there is none: the clone is bare.
    pub fn main_checkout(&self, trust: &mut Trust) -> Option<PathBuf> {
        let config = self.config(trust).ok().flatten();
        let named = config.as_ref().and_then(super::Config::work_tree);
        let candidate = match &named {
            Some(named) => self.common.join(place::path(named)),
            None if config.is_some_and(|config| config.is_bare()) => return None,
            None => self.common.parent()?.to_owned(),
        };
        let folder = candidate.canonicalize().ok()?;
        let place = place::of(&folder).ok().flatten()?;
        (place.own == self.common).then_some(folder)
    }

    /// Lists the worktrees besides the main one, by name.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn worktrees(&self, trust: &mut Trust) -> Result<Vec<LinkedWorktree>, Unread> {
        let Some(folder) = self.resolve(&self.common, WORKTREES, trust)? else {
            return Ok(Vec::new());
        };
        let unread = |reason| Unread { path: self.shown(&self.common, WORKTREES), reason };
        let entries = folder.read_dir().map_err(|error| unread(beneath::reason(&error)))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| unread(beneath::reason(&error)))?;
            // Git makes no such names.
            let Ok(name) = entry.file_name().into_string() else { continue };
            names.push(name);
            if names.len() > MAX_WORKTREES {
                return Err(unread(SkipReason::TooLarge));
            }
        }
        names.sort();
        let listed = names.into_iter().map(|name| {
            let place = self.place_of(&folder.join(&name), trust);
            LinkedWorktree { name, place }
        });
        Ok(listed.collect())
    }

    /// Returns the same git data with the `HEAD` of the worktree with a name; `None` if the clone lists no such worktree.
    ///
    /// # Errors
    /// Its data may not be read.
    pub fn of_worktree(&self, name: &str, trust: &mut Trust) -> Result<Option<Self>, Unread> {
        let is_plain = Path::new(name).components().count() == 1 && !matches!(name, "." | "..");
        if !is_plain || name.contains('/') {
            return Ok(None);
        }
        let path = Path::new(WORKTREES).join(name).join("HEAD");
        let Some(head) = self.resolve(&self.common, &path.to_string_lossy(), trust)? else {
            return Ok(None);
        };
        let own = head.parent().filter(|_| head.is_file()).map(Path::to_owned);
        Ok(own.map(|own| Self { own, ..self.clone() }))
    }

    /// Returns where the worktree with these data lies.
    fn place_of(&self, own: &Path, trust: &mut Trust) -> WorktreePlace {
        let named = match self.read(own, "gitdir", MAX_SMALL, trust) {
            Ok(Some(named)) => named,
            Ok(None) => return WorktreePlace::Broken(SkipReason::Vanished),
            Err(Unread { reason, .. }) => return WorktreePlace::Broken(reason),
        };
        // The path of its `.git`, since git 2.48 perhaps relative to these data.
        let file = own.join(place::path(&named));
        let Some(folder) = file.parent() else {
            return WorktreePlace::Broken(SkipReason::Special);
        };
        match folder.canonicalize() {
            Ok(folder) => match place::of(&folder) {
                Ok(Some(place)) if place.own == own && place.common == self.common => {
                    WorktreePlace::At(folder)
                }
                Ok(None) if !folder.join(".git").exists() => {
                    WorktreePlace::Gone { folder, is_locked: own.join("locked").exists() }
                }
                _ => WorktreePlace::Elsewhere(folder),
            },
            Err(error) if beneath::reason(&error) == SkipReason::Vanished => WorktreePlace::Gone {
                folder: folder.to_owned(),
                is_locked: own.join("locked").exists(),
            },
            Err(error) => WorktreePlace::Broken(beneath::reason(&error)),
        }
    }

    /// Returns whether the git data themselves name the checkout.
    pub fn points_back(&self) -> bool {
        place::points_back(self, &self.checkout)
    }

    /// Returns whether the user owns the git data, and a checkout of them with its `.git`.
    pub fn is_owned(&self, checkout: &Path) -> bool {
        let user = nix::unistd::geteuid().as_raw();
        let is_ours = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.uid() == user);
        let file = checkout.join(".git");
        let is_bare = checkout == self.common;
        [&*self.common, &*self.own, checkout].into_iter().all(is_ours)
            && (is_bare || is_ours(&file))
    }
}

/// The folder of a clone's git data that lists its worktrees.
const WORKTREES: &str = "worktrees";
