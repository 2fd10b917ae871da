//! What a configuration file says of folders, and what a clone's own configuration says of its repository.

use std::path::{Path, PathBuf};

use git::checkout::Facts;
use store::RepoMetadata;

use super::Options;

/// What a configuration file says of a folder and all that is below it. `None` for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// The folder, absolute.
    pub path: PathBuf,
    /// Levels below this folder at which every folder is a repository; not for folders below it.
    pub depth: Option<usize>,
    /// Whether to read git's data outside of this folder if the user owns them; not for folders below it.
    pub follow_git: bool,
    /// Globs of the branches and tags to index.
    pub branches: Option<Vec<String>>,
    /// Whether to index the history of lines.
    pub history: Option<bool>,
    /// Whether to take files that ignore files name.
    pub no_ignore: Option<bool>,
    /// Whether to leave out files that look like secrets.
    pub skip_secrets: Option<bool>,
    /// Whether to take the files of a clone's commit.
    pub commit: Option<bool>,
}

impl Options {
    /// Returns what the configuration file says of a folder: each value from the nearest folder at or above it that has one.
    pub(crate) fn configured(&self, folder: &Path) -> Configured {
        if self.configured.is_empty() {
            return Configured::default();
        }
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let real = |of: &Configured| of.path.canonicalize().unwrap_or_else(|_| of.path.clone());
        let mut above: Vec<(PathBuf, &Configured)> =
            self.configured.iter().map(|of| (real(of), of)).collect();
        above.retain(|(path, _)| folder.starts_with(path));
        above.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
        let mut found = Configured { path: folder.clone(), ..Configured::default() };
        for (path, of) in above {
            if path == folder {
                found.depth = found.depth.or(of.depth);
                found.follow_git |= of.follow_git;
            }
            found.branches = found.branches.or_else(|| of.branches.clone());
            found.history = found.history.or(of.history);
            found.no_ignore = found.no_ignore.or(of.no_ignore);
            found.skip_secrets = found.skip_secrets.or(of.skip_secrets);
            found.commit = found.commit.or(of.commit);
        }
        found
    }

    /// Returns what the configuration file says of a folder itself, absolute and without links.
    pub(crate) fn configured_at(&self, folder: &Path) -> Option<&Configured> {
        let is_it = |of: &&Configured| of.path.canonicalize().is_ok_and(|path| path == folder);
        self.configured.iter().find(is_it)
    }
}

/// Returns the metadata that a clone's configuration gives its repository.
pub(crate) fn metadata(facts: &Facts) -> RepoMetadata {
    let Facts { archived, fork, public, topics, stars, description, meta } = facts.clone();
    let properties = store::Properties { archived, fork, public, topics, meta };
    RepoMetadata { description, properties, stars, ..RepoMetadata::default() }
}
