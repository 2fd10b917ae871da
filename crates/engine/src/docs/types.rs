//! The request and the answer of a search for docs.

use std::time::Duration;

use query::Matcher;

/// How many of the contents that match are ranked by all their words, unless a request says otherwise.
pub const MAX_RANKED: usize = 5_000;

/// Bytes of the longest query.
pub(super) const MAX_QUERY: usize = 2000;

/// Which texts are searched, and by which words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dictionary {
    /// All: texts in English by the stems of their words, the others by their words as they are.
    #[default]
    Both,
    /// Texts in English only.
    English,
    /// All others only. No word of the query is ignored for being in every English text.
    Plain,
}

/// A search for docs.
#[derive(Clone, Debug)]
pub struct DocsRequest {
    /// Words. Quotes hold a phrase, `or` stands between two words of which one suffices, and a minus before a word that
    /// must not occur.
    pub query: String,
    /// Most results.
    pub limit: usize,
    /// Only in repositories whose names match one of these, if there are any.
    pub repos: Vec<Matcher>,
    /// Only in these languages, if there are any: names in lower case.
    pub languages: Vec<String>,
    /// Which texts are searched.
    pub dictionary: Dictionary,
    /// Most texts that are ranked by all their words; of more, those whose titles and headings fit best.
    pub ranked: usize,
    /// The time limit, if there is one.
    pub timeout: Option<Duration>,
}

/// The reasons why a search for docs has no answer.
#[derive(Debug, thiserror::Error)]
pub enum DocsError {
    /// The query has no word.
    #[error("nothing to look for: give some words")]
    Empty,
    /// It is too long.
    #[error("the query is longer than {MAX_QUERY} bytes: a few words find more")]
    Long,
    /// All its words are in nearly every text.
    #[error(
        "all these words are in nearly every text (the, of, how): add one that tells what the text is about"
    )]
    Common,
    /// It only excludes words.
    #[error("this only rules words out: add one to look for")]
    Excludes,
    /// The database could not do its part.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// The answer of a search for docs.
#[derive(Clone, Debug, Default)]
pub struct Docs {
    /// The best docs, the best first. The same contents in several files are one result.
    pub docs: Vec<Doc>,
    /// How many contents match, in the shards that answered.
    pub matched: usize,
    /// How many of them were ranked by all their words.
    pub ranked: usize,
    /// How many shards were to be searched.
    pub shards: usize,
    /// Why the answer is not complete; none if it is.
    pub stopped: Option<DocsStopped>,
    /// The duration of the search.
    pub duration: Duration,
    /// The part of it until the best were known.
    pub ranking: Duration,
}

/// Why an answer is not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocsStopped {
    /// There are more than the limit.
    Limit,
    /// There are so many that only those were ranked whose titles and headings fit best.
    Common,
    /// The time limit was reached before all shards had answered.
    Timeout(Duration),
    /// Some shards could not be searched, for this reason.
    Shards(String),
}

/// The kinds of docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocKind {
    /// All of a README, manual page or the like.
    File,
    /// The comment at the head of a source file.
    Comment,
}

/// A run of a text that matches the query, or that does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRun {
    /// It matches.
    pub hit: bool,
    /// The text.
    pub text: String,
}

/// A file whose doc matches.
#[derive(Clone, Debug)]
pub struct Doc {
    /// The name of its repository.
    pub repo: String,
    /// Its path in the repository.
    pub path: String,
    /// Its language, when that was recognised.
    pub language: Option<String>,
    /// Its kind.
    pub kind: DocKind,
    /// Its title, or the first sentence of the comment.
    pub title: Vec<TextRun>,
    /// The parts of it that fit best.
    pub snippet: Vec<TextRun>,
    /// How well it fits, for comparison only.
    pub rank: f32,
    /// How many other files have the same contents.
    pub same: usize,
}
