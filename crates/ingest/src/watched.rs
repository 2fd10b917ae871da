//! What an ingest would look at in a folder, for who watches or polls it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::source::Entry;
use crate::source::folder::{Choice, FolderSource};

/// The folder of a repository or worktree.
pub struct WatchedFolder {
    source: FolderSource,
}

impl WatchedFolder {
    /// Makes one of a folder; `all` are the folders of all repositories and worktrees, of which those inside of it are no
    /// parts of it. `git_folders` may be read, too.
    pub fn new(folder: &Path, all: &[PathBuf], no_ignore: bool, git_folders: Vec<PathBuf>) -> Self {
        // Whoever ingests tells if the file cannot be read.
        let of_user = Arc::new(git::user::excludes().unwrap_or_default());
        let choice = Choice { no_ignore, skips_secrets: false, git_folders, of_user };
        Self { source: FolderSource::new(folder, all, choice) }
    }

    /// Passes each folder in which an ingest would look for files to `each`, before it is listed, in any order and from
    /// several threads: all, or those at some paths in it (`only`) and below them. Ends early if `each` breaks.
    pub fn folders(
        &self,
        only: Option<&[PathBuf]>,
        each: &(dyn Fn(&Path) -> ControlFlow<()> + Sync),
    ) {
        self.source.folders(only, each);
    }

    /// Returns a hash of what `stat` says of all files that an ingest would index or list, without reading one; `None` if
    /// `stop` was set meanwhile. If a file changed a moment ago, the next hash will be another one.
    pub fn state(&self, stop: &AtomicBool) -> Option<u64> {
        let sum = AtomicU64::new(0);
        let seen = |entry: Entry| {
            if stop.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            let mut hash = DefaultHasher::new();
            (&entry.path, entry.bytes, entry.fingerprint, entry.left_out.is_some()).hash(&mut hash);
            // In any order.
            sum.fetch_add(hash.finish(), Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        let languages = self.source.walk(&seen, None, None).languages;
        let languages = files::languages_of(&languages) as u64;
        let all = sum.into_inner().wrapping_add(languages);
        (!stop.load(Ordering::Relaxed)).then_some(all)
    }
}
