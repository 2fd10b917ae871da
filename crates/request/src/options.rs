//! The options of a query, and parsing their values.

use std::time::Duration;

use query::{Case, Count};
use search::Resume;

/// Most lines of context on either side of a match over HTTP, since each match has its own.
pub const MAX_CONTEXT: usize = 100;

/// The options of a query.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Options {
    /// Whether case matters, unless the query sets it.
    pub case: Case,
    /// Whether patterns may match across lines, even if the client's default is no.
    pub multiline: bool,
    /// Number of results wanted.
    pub limit: Option<Count>,
    /// Timeout of the search.
    pub timeout: Option<Duration>,
    /// Whether to show paths instead of lines.
    pub paths_only: bool,
    /// Patterns for names of repositories, of which one must match.
    pub repos: Vec<String>,
    /// Patterns for paths, of which one must match.
    pub files: Vec<String>,
    /// Languages, of which one must be the file's.
    pub languages: Vec<String>,
    /// Number of lines to show before and after each match.
    pub context: (usize, usize),
    /// Whether to count the files that were left out of the index, even if the client's default is no.
    pub skipped: bool,
    /// Whether to add the enclosing symbol to each matching line.
    pub enclosing: bool,
    /// Whether to read every stored byte instead of using the index.
    pub brute: bool,
    /// Whether a search of the history of lines begins with the oldest commit.
    pub oldest_first: bool,
    /// The position where an earlier search ended.
    pub resume: Option<Resume>,
}

/// Parses `yes`, `no` or `auto`.
pub fn case(text: &str) -> Option<Case> {
    Some(match text {
        "yes" => Case::Sensitive,
        "no" => Case::Insensitive,
        "auto" => Case::Smart,
        _ => return None,
    })
}

/// Parses a number of results; 0 means all.
pub fn count(text: &str) -> Option<Count> {
    text.parse().ok().map(Count::of)
}

/// Parses lines of context: `2`, or `1,3` for before and after.
pub fn context(text: &str) -> Option<(usize, usize)> {
    let lines = |text: &str| text.trim().parse().ok().filter(|lines| *lines <= MAX_CONTEXT);
    match text.split_once(',') {
        Some((before, after)) => Some((lines(before)?, lines(after)?)),
        None => lines(text).map(|lines| (lines, lines)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_one_number_or_two() {
        assert_eq!(context("2"), Some((2, 2)));
        assert_eq!(context("0, 3"), Some((0, 3)));
        for wrong in ["x", "1,2,3", "-1", "1000", ","] {
            assert_eq!(context(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn zero_results_are_all() {
        assert_eq!(count("0"), Some(Count::All));
        assert_eq!(count("7"), Some(Count::Most(7)));
        assert_eq!(count("x").or(count("-1")).or(count("")), None);
    }
}
