//! The request and the answer of a question.

use std::path::PathBuf;
use std::sync::Arc;

use answer::FileMatch;

use crate::stale::Stale;
use crate::stats::Stats;
use crate::types::{Error, Request};

/// Maximum number of bytes of a question.
pub const MAX_QUESTION: usize = 8 * 1024;

/// Maximum number of files of an answer: those whose texts are read.
pub const MAX_FILES: usize = 100;

/// Default number of files of an answer.
pub const USUAL_FILES: usize = 10;

/// Default number of lines of a file.
pub const USUAL_LINES: usize = 5;

/// A question in words.
#[derive(Clone, Debug)]
pub struct AskRequest {
    /// The question as typed. All of it is words.
    pub question: String,
    /// Which files are asked: the query has only fields. Its timeout applies, and its notes are those of the answer.
    pub among: Arc<Request>,
    /// Maximum number of files, up to [`MAX_FILES`]. Identical copies are one.
    pub limit: usize,
    /// Maximum number of lines of a file.
    pub lines: usize,
    /// The folder in which the user works: a file of its repository stands for copies elsewhere.
    pub current: Option<PathBuf>,
    /// Whether to tell which files of the answer have changed on disk.
    pub checks_disk: bool,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It has no word.
    #[error("the question has no word to look up; use words of two letters or more")]
    Empty,
    /// It is too long.
    #[error("the question is longer than {MAX_QUESTION} bytes; use fewer words")]
    Long,
    /// The files cannot be searched.
    #[error(transparent)]
    Search(#[from] Error),
}

impl From<store::Error> for AskError {
    fn from(error: store::Error) -> Self {
        Self::Search(error.into())
    }
}

/// The answer to a question.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The best files, best first, each with its best lines in order.
    pub files: Vec<AskedFile>,
    /// The words of the question, as they were looked up.
    pub words: Vec<AskedWord>,
    /// Whether the question has more words than are looked up.
    pub is_cut: bool,
    /// Number of files with at least one of the words that tell files apart. The index has hashes of words, so that it may
    /// be a few too many.
    pub matched: usize,
    /// Number of those with all words of the question but stop words.
    pub matched_all: usize,
    /// Number of files whose texts are not in the index of words yet.
    pub unindexed: usize,
    /// Counters, and whether the answer is complete: it is not if there are more files than the limit.
    pub stats: Stats,
    /// The files of the answer that have changed on disk, if requested.
    pub stale: Stale,
}

/// A word of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedWord {
    /// The word as typed.
    pub text: String,
    /// The number of chunks (up to 4 KB of text) that have it, among the asked files.
    pub chunks: usize,
    /// Whether it tells files apart: it is not in most chunks. If no word does, all count.
    pub tells: bool,
}

/// A file of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedFile {
    /// The file, with its best lines and its copies.
    pub file: FileMatch,
    /// The number of lines that have a word of the question, in the parts of the file that were read.
    pub matches: usize,
    /// Its score, for comparison within this answer.
    pub points: f32,
    /// The parts of the score, each with its name.
    pub parts: Vec<(&'static str, f32)>,
}
