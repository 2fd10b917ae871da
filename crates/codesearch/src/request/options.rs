//! What is asked beside the query text, and how its values are read.

use std::time::Duration;

use engine::search::Resume;
use query::{Case, Count};

/// Lines of context on either side over HTTP, at most: each match may have its own.
pub(crate) const MAX_CONTEXT: usize = 100;

/// What is asked beside the query text. What is not said is none.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Options {
    /// Whether case counts, where the query does not say so.
    pub(crate) case: Case,
    /// Patterns may match across lines, for a client whose patterns may not.
    pub(crate) multiline: bool,
    /// How many results are wanted.
    pub(crate) limit: Option<Count>,
    /// How long the search may take.
    pub(crate) timeout: Option<Duration>,
    /// Paths are shown instead of lines.
    pub(crate) paths_only: bool,
    /// Patterns for names of repositories, of which one must match.
    pub(crate) repos: Vec<String>,
    /// Patterns for paths, of which one must match.
    pub(crate) files: Vec<String>,
    /// Languages, of which one must be the file's.
    pub(crate) languages: Vec<String>,
    /// Lines shown before and after each match.
    pub(crate) context: (usize, usize),
    /// The files that were left out of the index are counted, also for a client that is not told otherwise.
    pub(crate) skipped: bool,
    /// Every stored byte is read instead of asking the index.
    pub(crate) brute: bool,
    /// Where an earlier search ended.
    pub(crate) resume: Option<Resume>,
}

/// `yes`, `no` or `auto`.
pub(crate) fn case(text: &str) -> Option<Case> {
    Some(match text {
        "yes" => Case::Sensitive,
        "no" => Case::Insensitive,
        "auto" => Case::Smart,
        _ => return None,
    })
}

/// A number of results, 0 for all.
pub(crate) fn count(text: &str) -> Option<Count> {
    text.parse().ok().map(Count::of)
}

/// Lines of context: `2`, or `1,3` for before and after.
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
