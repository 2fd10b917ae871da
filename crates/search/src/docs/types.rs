//! The request and the answer of a docs search.

use std::time::Duration;

use query::Matcher;

use crate::fresh::Covered;
use crate::missing::Missing;

/// Maximum number of matching contents ranked by all their words, unless a request overrides it.
pub const MAX_RANKED: usize = 5_000;

/// Maximum number of bytes of a query.
pub const MAX_QUERY: usize = 2000;

/// The texts to search, and whether to search by stems or by exact words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dictionary {
    /// All texts: those in English by the stems of their words, others by their exact words.
    #[default]
    Both,
    /// Only texts in English.
    English,
    /// Only texts that are not in English. No word of the query is ignored as an English stop word.
    Plain,
}

/// A docs search.
#[derive(Clone, Debug)]
pub struct DocsRequest {
    /// Query words. Quotes enclose a phrase, `or` between two words means either, and a minus excludes the word after
    /// it.
    pub query: String,
    /// Maximum number of results.
    pub limit: usize,
    /// Only repositories whose names match one of these; all if empty.
    pub repos: Vec<Matcher>,
    /// Only files in one of these languages, in lower case; all if empty.
    pub languages: Vec<String>,
    /// The texts to search.
    pub dictionary: Dictionary,
    /// Maximum number of texts ranked by all their words. If more match, those with the best titles and headings.
    pub ranked: usize,
    /// Timeout, if there is one.
    pub timeout: Option<Duration>,
}

/// Why a docs search has no answer.
#[derive(Debug, thiserror::Error)]
pub enum DocsError {
    /// The query has no word.
    #[error("the query is empty; give some words")]
    Empty,
    /// The query is too long.
    #[error("the query is longer than {MAX_QUERY} bytes; use fewer words")]
    Long,
    /// All its words are stop words.
    #[error("all these words are in nearly every text (the, of, how); add a more specific word")]
    Common,
    /// The query only excludes words.
    #[error("only exclusions; add a word to find")]
    Excludes,
    /// A statement failed, or the database could not be reached.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// The answer of a docs search.
#[derive(Clone, Debug, Default)]
pub struct Docs {
    /// Best docs, best first. Several files with the same contents are one result.
    pub docs: Vec<Doc>,
    /// Number of contents that match, in the shards that answered.
    pub matched: usize,
    /// Number of them that were ranked by all their words.
    pub ranked: usize,
    /// Number of shards to search.
    pub shards: usize,
    /// Why the answer is incomplete; `None` if it is complete.
    pub stopped: Option<DocsStopped>,
    /// What was not searched since a node of the index did not answer, as far as whoever sees these repositories is told.
    pub missing: Missing,
    /// How fresh the repositories are that the search covers.
    pub covered: Covered,
    /// Duration of the search.
    pub duration: Duration,
    /// The part of `duration` until the best docs are known.
    pub ranking: Duration,
}

/// Why an answer is incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocsStopped {
    /// More docs match than the limit.
    Limit,
    /// So many docs match that only those with the best titles and headings were ranked.
    Common,
    /// The timeout passed before all shards had answered.
    Timeout(Duration),
    /// Some shards could not be searched; the error of the first.
    Shards(String),
}

/// The kinds of docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocKind {
    /// A whole file: a README, a manual page or the like.
    File,
    /// The comment at the head of a source file.
    Comment,
}

/// A run of text that matches the query either completely or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRun {
    /// Whether it matches.
    pub hit: bool,
    /// The text.
    pub text: String,
}

/// A file whose doc matches.
#[derive(Clone, Debug)]
pub struct Doc {
    /// Name of its repository.
    pub repo: String,
    /// Path in its repository.
    pub path: String,
    /// Language, if it was recognised.
    pub language: Option<String>,
    /// Its kind.
    pub kind: DocKind,
    /// Title, or the first sentence of the comment.
    pub title: Vec<TextRun>,
    /// Parts of the doc that fit best.
    pub snippet: Vec<TextRun>,
    /// Rank, for comparison within this answer.
    pub rank: f32,
    /// Number of other files with the same contents.
    pub same: usize,
}

/// A hit, after the index of its shard in the catalog.
pub(super) type ShardHit = (usize, store::DocHit);
