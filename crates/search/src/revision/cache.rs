//! The commits that were searched recently, so that the next page, or the next letter of a query, need not list and read
//! them again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use git::Oid;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use store::{RepoId, Switch};
use tokio::sync::Semaphore;

use super::commit_files::{CommitFiles, Listing, RecentShard, Text};

/// Maximum bytes of the texts that are kept.
const TEXTS: u64 = 64 << 20;

/// Maximum bytes of the lists of files that are kept.
const LISTS: u64 = 32 << 20;

/// Number of the shards in memory that are remembered after their searches, without their texts.
const RECENT: usize = 8;

/// Number of searches that may read clones at a time: each may hold `read::MAX_BYTES` of text.
const READERS: usize = 2;

/// The commits that were searched recently.
#[derive(Debug)]
pub(crate) struct Commits {
    /// Texts by their names in git; `None` for contents that are not text.
    texts: Cache<Oid, Option<Arc<Text>>, Weight>,
    /// The names of the files of commits.
    listings: Cache<Oid, Arc<Listing>, Weight>,
    /// The files of commits of repositories, as far as they are stored in a state of the index.
    files: Cache<FilesKey, Arc<CommitFiles>, Weight>,
    /// The shards in memory that were searched last.
    recent: Mutex<VecDeque<Arc<RecentShard>>>,
    /// The right to read clones.
    pub(crate) readers: Arc<Semaphore>,
}

/// A commit of a repository, in a state of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilesKey {
    pub(crate) switch: Switch,
    pub(crate) repo: RepoId,
    pub(crate) commit: Oid,
}

impl std::hash::Hash for FilesKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.switch.0, self.repo, self.commit).hash(state);
    }
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Oid, Option<Arc<Text>>> for Weight {
    fn weight(&self, _: &Oid, text: &Option<Arc<Text>>) -> u64 {
        128 + text.as_ref().map_or(0, |text| text.text.len() as u64)
    }
}

impl Weighter<Oid, Arc<Listing>> for Weight {
    fn weight(&self, _: &Oid, listing: &Arc<Listing>) -> u64 {
        listing.memory()
    }
}

impl Weighter<FilesKey, Arc<CommitFiles>> for Weight {
    fn weight(&self, _: &FilesKey, files: &Arc<CommitFiles>) -> u64 {
        files.memory()
    }
}

impl Default for Commits {
    fn default() -> Self {
        Self {
            texts: Cache::with_weighter(10_000, TEXTS, Weight),
            listings: Cache::with_weighter(100, LISTS, Weight),
            files: Cache::with_weighter(100, TEXTS + LISTS, Weight),
            recent: Mutex::default(),
            readers: Arc::new(Semaphore::new(READERS)),
        }
    }
}

impl Commits {
    /// Returns a text, if it was read recently; `Some(None)` for contents that are not text.
    #[expect(clippy::option_option, reason = "what is not text is known, too")]
    pub(crate) fn text(&self, name: &Oid) -> Option<Option<Arc<Text>>> {
        self.texts.get(name)
    }

    pub(crate) fn add_text(&self, name: Oid, text: Option<Arc<Text>>) {
        self.texts.insert(name, text);
    }

    pub(crate) fn listing(&self, commit: &Oid) -> Option<Arc<Listing>> {
        self.listings.get(commit)
    }

    pub(crate) fn add_listing(&self, commit: Oid, listing: &Arc<Listing>) {
        self.listings.insert(commit, Arc::clone(listing));
    }

    pub(crate) fn files(&self, key: &FilesKey) -> Option<Arc<CommitFiles>> {
        self.files.get(key)
    }

    /// Returns the shards in memory that were searched last, newest first.
    pub(crate) fn recent(&self) -> Vec<Arc<RecentShard>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub(crate) fn add_recent(&self, shard: RecentShard) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_front(Arc::new(shard));
        recent.truncate(RECENT);
    }

    pub(crate) fn add_files(&self, key: FilesKey, files: &Arc<CommitFiles>) {
        self.files.insert(key, Arc::clone(files));
    }
}
