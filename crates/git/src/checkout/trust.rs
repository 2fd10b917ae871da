//! Decides which git data are read.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folders of git data that may be read, besides the checkout itself. Each is an absolute path without links.
#[derive(Clone, Debug)]
pub struct Trust {
    rule: Rule,
    /// Folders outside the checkout that were read, or that git may read for it.
    folders: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
enum Rule {
    /// During an ingest: paths below the ingested folder and, if `follows`, paths that its user owns.
    Ingest { below: PathBuf, follows: bool },
    /// Later: the folders allowed then.
    Known,
}

impl Trust {
    /// Makes the rule for an ingest of the folder `below`. If `follows`, it also allows paths that the user owns
    /// elsewhere.
    pub fn of_ingest(below: &Path, follows: bool) -> Self {
        Self { rule: Rule::Ingest { below: below.to_owned(), follows }, folders: Vec::new() }
    }

    /// Allows the folders that an ingest allowed.
    pub fn known(folders: Vec<PathBuf>) -> Self {
        Self { rule: Rule::Known, folders }
    }

    /// Also allows folders that an earlier ingest allowed.
    #[must_use]
    pub fn with(mut self, folders: Vec<PathBuf>) -> Self {
        self.folders.extend(folders);
        self
    }

    /// Returns whether only folders that an ingest allowed may be read.
    pub fn is_known(&self) -> bool {
        matches!(self.rule, Rule::Known)
    }

    /// Returns whether a file or folder may be read for a checkout. Notes it if it lies outside the checkout.
    pub fn allows(&mut self, checkout: &Path, path: &Path) -> bool {
        if path.starts_with(checkout) || self.folders.iter().any(|folder| path.starts_with(folder))
        {
            return true;
        }
        let Rule::Ingest { below, follows } = &self.rule else { return false };
        let is_ours =
            || path.metadata().is_ok_and(|found| found.uid() == nix::unistd::geteuid().as_raw());
        if path.starts_with(below) || (*follows && is_ours()) {
            self.vouch(path);
            return true;
        }
        false
    }

    /// Allows a folder and everything below it.
    pub(super) fn vouch(&mut self, folder: &Path) {
        self.folders.push(folder.to_owned());
    }

    /// Returns the allowed folders and files outside the checkout.
    pub fn into_folders(self) -> Vec<PathBuf> {
        self.folders
    }
}
