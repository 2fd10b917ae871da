//! Queries of the file finder.

use thiserror::Error;

use super::letters::fold;

/// Maximum number of letters of a query.
pub const MAX_LETTERS: usize = 256;

/// Maximum number of parts of a query, separated by spaces.
pub const MAX_PARTS: usize = 8;

/// A query: parts separated by spaces, which may match in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathQuery {
    /// The parts, in the order of the query.
    pub parts: Vec<QueryPart>,
}

/// A part of a query, without spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPart {
    /// Letters, folded.
    pub letters: Vec<char>,
    /// The same letters as UTF-8.
    pub text: String,
}

/// The error of a query that is too long.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum QueryTooLong {
    /// It has this many letters, more than [`MAX_LETTERS`].
    #[error(
        "the query has {0} letters; use {MAX_LETTERS} or fewer: the name of the file, or a part of its path"
    )]
    Letters(usize),
    /// It has this many parts, more than [`MAX_PARTS`].
    #[error(
        "the query has {0} words; use {MAX_PARTS} or fewer: the name of the file, or parts of its path"
    )]
    Parts(usize),
}

impl PathQuery {
    /// Parses a query. Drops slashes and `./` at the beginning of a part: they do not restrict paths.
    ///
    /// # Errors
    /// The query has too many letters or parts.
    pub fn new(text: &str) -> Result<Self, QueryTooLong> {
        let letters = text.trim().chars().count();
        if letters > MAX_LETTERS {
            return Err(QueryTooLong::Letters(letters));
        }
        let folded = |part: &str| {
            let mut part = part;
            while let Some(rest) = part.strip_prefix("./").or_else(|| part.strip_prefix('/')) {
                part = rest;
            }
            part.chars().map(fold).collect::<Vec<char>>()
        };
        let parts: Vec<QueryPart> = text
            .split_whitespace()
            .map(folded)
            .filter(|letters| !letters.is_empty())
            .map(QueryPart::new)
            .collect();
        if parts.len() > MAX_PARTS {
            return Err(QueryTooLong::Parts(parts.len()));
        }
        Ok(Self { parts })
    }
}

impl QueryPart {
    /// Makes a part from folded letters.
    pub fn new(letters: Vec<char>) -> Self {
        Self { text: letters.iter().collect(), letters }
    }

    /// Returns how many errors a near path may have.
    pub fn errors(&self) -> usize {
        match self.letters.len() {
            0..=2 => 0,
            3..=5 => 1,
            6..=11 => 2,
            _ => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_folded() {
        let parts = |text: &str| -> Vec<String> {
            PathQuery::new(text).unwrap().parts.into_iter().map(|part| part.text).collect()
        };
        assert_eq!(parts(" ./Src//Main.RS  /É "), ["src//main.rs", "e"]);
        assert_eq!(parts("/// ./"), Vec::<String>::new());
        assert_eq!(PathQuery::new(&"x".repeat(257)), Err(QueryTooLong::Letters(257)));
        assert_eq!(PathQuery::new("a b c d e f g h i"), Err(QueryTooLong::Parts(9)));
    }
}
