//! Search results: files, their lines, and the symbols in these.

mod lines;
pub mod symbol;

use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use store::{BlobId, RepoId, ShardId};

use crate::symbol::{LineSymbol, Symbol};

pub use lines::{apart, merge, with_symbols};

/// A file that matches the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMatch {
    /// Its repository.
    pub repo_id: RepoId,
    /// Shard and number of its blob.
    pub blob_key: (ShardId, BlobId),
    /// Name of its repository.
    pub repo: String,
    /// Rank of its repository; 0 for none.
    pub rank: u16,
    /// Path in its repository.
    pub path: String,
    /// Matches in the path, as byte ranges.
    pub path_ranges: Vec<Range<usize>>,
    /// Language, if it was recognised.
    pub language: Option<String>,
    /// Size of its text in bytes.
    pub bytes: usize,
    /// Matching lines and the requested context lines, in order.
    pub lines: Vec<Line>,
    /// The trees with the file, among those that were searched: names of worktrees, branches and tags, or a revision as
    /// it was typed. Empty if its repository has one tree.
    pub trees: Vec<String>,
    /// The commit that changed these lines; only the history of lines has one.
    pub commit: Option<Arc<Commit>>,
    /// Its path in the older of two revisions, if it was another one.
    pub renamed_from: Option<String>,
    /// Files with the same contents that are folded into this one, the most original first. Only ranked results have
    /// any.
    pub copies: Vec<FileCopy>,
}

/// A commit that changed lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its name in git, in hexadecimal.
    pub hash: String,
    /// The name of its author.
    pub author: String,
    /// When it was authored, in seconds since 1970.
    pub time: i64,
    /// The first line of its message.
    pub summary: String,
}

/// How a line changed between two revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    /// The newer one has it. Its number is that in the newer text.
    Added,
    /// The older one had it. Its number is that in the older text.
    Removed,
}

impl LineChange {
    /// Returns its word in answers to programs.
    pub fn word(self) -> &'static str {
        match self {
            LineChange::Added => "added",
            LineChange::Removed => "removed",
        }
    }

    /// Returns its sign in front of a line.
    pub fn sign(self) -> &'static str {
        match self {
            LineChange::Added => "+",
            LineChange::Removed => "-",
        }
    }
}

/// Another file with the same contents as a result, and the same matching lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCopy {
    /// Its repository.
    pub repo_id: RepoId,
    /// Name of its repository.
    pub repo: String,
    /// Rank of its repository; 0 for none.
    pub rank: u16,
    /// Path in its repository.
    pub path: String,
    /// Matches in the path, as byte ranges.
    pub path_ranges: Vec<Range<usize>>,
    /// Language, if it was recognised.
    pub language: Option<String>,
    /// The trees with it, as [`FileMatch::trees`].
    pub trees: Vec<String>,
}

/// A line of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Number in the file, from 1.
    pub number: u64,
    /// Offset of its start in the file's text, in bytes.
    pub offset: u64,
    /// Text without the line feed.
    pub text: String,
    /// Whether a line feed follows. Only the last line of a file can lack it.
    pub ended: bool,
    /// Matches, as byte ranges of `text`. Empty only for a context line: an empty match is a range too.
    pub ranges: Vec<Range<usize>>,
    /// Whether the first match begins in the previous line.
    pub continues: bool,
    /// Whether the last match includes the line feed.
    pub takes_feed: bool,
    /// Symbols whose names match a term about symbols, in order.
    pub symbols: Vec<LineSymbol>,
    /// The innermost symbol around the line's first match, once added.
    pub enclosing: Option<Box<Symbol>>,
    /// How it changed; only comparisons of revisions and the history of lines say so. A line of the history has the
    /// number 0, and no offset.
    pub change: Option<LineChange>,
}

impl FileMatch {
    /// The key of a file whose text is not stored, as in comparisons of revisions: no shard has this number.
    pub const NOT_STORED: (ShardId, BlobId) = (ShardId(i16::MAX), BlobId(0));

    /// Returns the number of matching lines.
    pub fn matches(&self) -> usize {
        self.lines.iter().filter(|line| !line.ranges.is_empty()).count()
    }

    /// Returns the approximate size of the file in memory and in an answer, in bytes.
    pub fn size(&self) -> usize {
        let line =
            |line: &Line| 96 + line.text.len() + 16 * line.ranges.len() + 128 * line.symbols.len();
        let copies: usize = self.copies.iter().map(|copy| 128 + copy.path.len()).sum();
        128 + self.path.len() + copies + self.lines.iter().map(line).sum::<usize>()
    }

    /// Takes the file's place out of it, followed by those of its copies, until [`lead`](Self::lead) gives it one back.
    pub fn take_copies(&mut self) -> Vec<FileCopy> {
        let mut copies = take(&mut self.copies);
        let own = FileCopy {
            repo_id: self.repo_id,
            repo: take(&mut self.repo),
            rank: self.rank,
            path: take(&mut self.path),
            path_ranges: take(&mut self.path_ranges),
            language: self.language.take(),
            trees: take(&mut self.trees),
        };
        copies.insert(0, own);
        copies
    }

    /// Makes the first of some copies this file, and the others its copies.
    pub fn lead(&mut self, copies: Vec<FileCopy>) {
        let mut copies = copies.into_iter();
        let Some(first) = copies.next() else { return };
        let FileCopy { repo_id, repo, rank, path, path_ranges, language, trees } = first;
        (self.repo_id, self.repo, self.rank) = (repo_id, repo, rank);
        (self.path, self.path_ranges, self.language) = (path, path_ranges, language);
        self.trees = trees;
        self.copies = copies.collect();
    }

    /// Folds another file into this one: it and its copies become copies.
    pub fn fold(&mut self, other: Self) {
        let Self { repo_id, repo, rank, path, path_ranges, language, trees, copies, .. } = other;
        self.copies.push(FileCopy { repo_id, repo, rank, path, path_ranges, language, trees });
        self.copies.extend(copies);
    }
}
