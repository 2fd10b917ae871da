//! What is known of commits: the names of their files, the files as far as they are stored, and texts that were read.

use std::collections::BTreeMap;
use std::sync::Arc;

use files::Encoding;
use git::{Clone as GitClone, Oid};
use store::{BlobId, RepoId, ShardId, SharedText, Switch};

use super::rules::CommitRules;
use crate::cache::files::ShardFiles;

/// A text that was read from a clone.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: SharedText,
    pub(crate) encoding: Encoding,
}

/// The files of a commit, as far as they are stored in a state of the index.
#[derive(Debug, Default)]
pub(crate) struct CommitFiles {
    /// Files whose contents are stored, by shard; in the order of blobs and paths.
    pub(crate) stored: BTreeMap<ShardId, Vec<StoredFile>>,
    /// Other files, by path.
    pub(crate) read: Vec<ReadFile>,
    /// What was left out, with the reason's word.
    pub(crate) left_out: Vec<(Box<str>, &'static str)>,
    /// Why files are missing, if some are: words to follow the name of the repository and a colon.
    pub(crate) cut: Option<String>,
}

/// A file of a commit whose contents are stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredFile {
    pub(crate) blob: BlobId,
    /// The number after that of the last chunk.
    pub(crate) end: i32,
    pub(crate) bytes: i32,
    pub(crate) path: Box<str>,
    pub(crate) language: Option<Arc<str>>,
}

/// A file of a commit that was read from the clone.
#[derive(Clone, Debug)]
pub(crate) struct ReadFile {
    pub(crate) path: Box<str>,
    pub(crate) name: Oid,
    pub(crate) text: Arc<Text>,
    pub(crate) language: Option<Arc<str>>,
}

impl CommitFiles {
    /// Returns its approximate size in memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let stored = self.stored.values().flatten().map(|file| file.path.len() + 72);
        let read = self.read.iter().map(|file| file.path.len() + file.text.text.len() + 160);
        let left_out = self.left_out.iter().map(|(path, _)| path.len() + 40);
        stored.chain(read).chain(left_out).sum::<usize>() as u64
    }

    /// Returns the bytes of the texts that were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.iter().map(|file| file.text.text.len() as u64).sum()
    }
}

/// The names of the files of a commit.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The files, by path, with the names of their contents in git.
    pub(crate) files: Vec<(Box<str>, Oid)>,
    /// What is left out, with the reason's word.
    pub(crate) left_out: Vec<(Box<str>, &'static str)>,
    /// What these files say of each other.
    pub(crate) rules: CommitRules,
    /// Whether the commit has more files than [`MAX_FILES`].
    pub(crate) is_cut: bool,
}

impl Listing {
    /// Returns its approximate size in memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let paths = self.files.iter().map(|(path, _)| path.len() + 56);
        let left_out = self.left_out.iter().map(|(path, _)| path.len() + 40);
        paths.chain(left_out).sum::<usize>() as u64
    }

    /// Returns the name of the contents of a file.
    pub(crate) fn get(&self, path: &str) -> Option<Oid> {
        // The order of git is that of bytes, as that of texts.
        let at = self.files.binary_search_by(|(known, _)| (**known).cmp(path)).ok()?;
        Some(self.files[at].1)
    }
}

/// A shard that was searched recently, without its texts.
#[derive(Debug)]
pub(crate) struct RecentShard {
    pub(crate) switch: Switch,
    pub(crate) files: Arc<ShardFiles>,
    pub(crate) names: Arc<[Oid]>,
    pub(crate) clones: Arc<[(RepoId, GitClone)]>,
}
