//! What is known of the trees of a repository, and what becomes of them.

use std::collections::HashMap;

use crate::trees::{Tree, TreeSet, Trees};
use crate::{BlobId, RepoId, ShardId};

/// What some trees of a repository have at a path.
#[derive(Clone, Debug)]
pub struct TreeFile {
    /// The path in the repository.
    pub path: String,
    /// What is there.
    pub contents: TreeContents,
    /// Its trees in the current epoch; `None` if no tree has it.
    pub was: Option<Trees>,
    /// Whether the main tree has it in the next epoch.
    pub in_main: bool,
    /// Names of its contents in git, by SHA-1 and, if known, by SHA-256.
    pub oids: Vec<Vec<u8>>,
    /// Whether a row for it must be written even if its trees stay: it is new, or what the row says has changed.
    pub is_new: bool,
    /// Whether this version of the program recognised its language, or an older one that would have done the same.
    pub is_current: bool,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeContents {
    /// A text.
    Text {
        /// Its shard.
        shard: ShardId,
        /// Its number there.
        blob: BlobId,
        /// Its bytes.
        bytes: i32,
        /// Its language, if recognised.
        language: Option<String>,
    },
    /// A file that is left out.
    LeftOut {
        /// The reason, in one word.
        reason: String,
        /// The rule that leaves it out.
        rule: Option<String>,
        /// Its size on disk in bytes, if known.
        bytes: i64,
        /// A hash of its `stat` data in the main tree.
        fingerprint: i64,
    },
}

impl TreeContents {
    /// Returns whether trees with these have the same: their rows are one.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Text { shard, blob, .. },
                Self::Text { shard: other_shard, blob: other_blob, .. },
            ) => (shard, blob) == (other_shard, other_blob),
            (
                Self::LeftOut { reason, rule, .. },
                Self::LeftOut { reason: other_reason, rule: other_rule, .. },
            ) => (reason, rule) == (other_reason, other_rule),
            _ => false,
        }
    }
}

impl TreeFile {
    /// Makes one that no tree has yet.
    pub fn new(path: String, contents: TreeContents) -> Self {
        let (was, in_main, oids, is_new, is_current) = (None, false, Vec::new(), true, true);
        Self { path, contents, was, in_main, oids, is_new, is_current }
    }
}

/// What the index has of the trees of a repository.
#[derive(Clone, Debug)]
pub struct TreeState {
    /// The repository.
    pub repo: RepoId,
    /// The rows of files and left-out files of the current epoch, and those of the main tree in the next, by path.
    pub files: Vec<TreeFile>,
    /// The sets of the current epoch.
    pub sets: HashMap<i32, TreeSet>,
}

/// What publishing writes about the trees of a repository.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) repo: RepoId,
    /// The trees of the next epoch.
    pub(super) trees: Vec<Tree>,
    /// The sets of the next epoch that are new or have other members.
    pub(super) sets: Vec<(i32, Vec<u8>)>,
    /// The sets of the current epoch that end.
    pub(super) ended: Vec<i32>,
    /// Rows of files whose trees change, or which end although the main tree has not changed there.
    pub(super) moves: Vec<Move>,
    /// What `files.trees` of most new files of the main tree is to be, and of the others.
    pub(super) loaded: (i32, Vec<(String, i32)>),
    /// New files that the main tree lacks.
    pub(super) others: Vec<(TreeFile, i32)>,
    /// What `skipped.trees` of most files that the main tree leaves out is to be, and of the others.
    pub(super) left_out: (i32, Vec<(TreeFile, i32)>),
    /// Files that only other trees leave out.
    pub(super) others_left_out: Vec<(TreeFile, i32)>,
    /// The fingerprint of rows that the main tree lacks.
    pub(super) format: i64,
}

impl Plan {
    /// Returns the repository.
    pub(crate) fn repo(&self) -> i32 {
        self.repo.0
    }
}

/// A row of files that ends. If `trees` is given, one with these trees takes its place.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) shard: ShardId,
    pub(super) blob: BlobId,
    pub(super) path: String,
    pub(super) was: i32,
    pub(super) trees: Option<i32>,
}
