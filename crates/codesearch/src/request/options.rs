//! The options beside the query text, and parsing their values.

use std::time::Duration;

use engine::search::Resume;
use query::{Case, Count};

/// Most lines of context on either side of a match over HTTP, since each match has its own.
pub(crate) const MAX_CONTEXT: usize = 100;

/// The options beside the query text.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Options {
    /// Whether case counts, unless the query says so.
    pub(crate) case: Case,
    /// Whether patterns may match across lines, even if the client's default says no.
    pub(crate) multiline: bool,
    /// Number of results wanted.
    pub(crate) limit: Option<Count>,
    /// Timeout of the search.
    pub(crate) timeout: Option<Duration>,
    /// Whether to show paths instead of lines.
    pub(crate) paths_only: bool,
    /// Patterns for names of repositories, of which one must match.
    pub(crate) repos: Vec<String>,
    /// Patterns for paths, of which one must match.
    pub(crate) files: Vec<String>,
    /// Languages, of which one must be the file's.
    pub(crate) languages: Vec<String>,
    /// Number of lines to show before and after each match.
    pub(crate) context: (usize, usize),
    /// Whether to count the files that were left out of the index, even if the client's default
    /// says no.
    pub(crate) skipped: bool,
    /// Say of each matching line what symbol is around it.
    pub(crate) enclosing: bool,
    /// Whether to read every stored byte instead of using the index.
    pub(crate) brute: bool,
    /// Position where an earlier search ended.
    pub(crate) resume: Option<Resume>,
}

/// Parses `yes`, `no` or `auto`.
pub(crate) fn case(text: &str) -> Option<Case> {
    Some(match text {
        "yes" => Case::Sensitive,
        "no" => Case::Insensitive,
        "auto" => Case::Smart,
        _ => return None,
    })
}

/// Parses a number of results; 0 is all.
pub(crate) fn count(text: &str) -> Option<Count> {
    text.parse().ok().map(Count::of)
}

/// Parses lines of context: `2`, or `1,3` for before and after.
pub(crate) fn context(text: &str) -> Option<(usize, usize)> {
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
