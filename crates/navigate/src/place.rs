//! The place of a request, and the reasons why a request has no answer.

use query::QueryError;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the repository.
    pub repo: String,
    /// Path in it.
    pub path: String,
    /// Line, from 1.
    pub line: Option<u64>,
    /// Column in the line, in bytes from 1.
    pub column: Option<u64>,
}

impl Place {
    /// A file, at no line of it.
    pub fn file(repo: impl Into<String>, path: impl Into<String>) -> Self {
        Self { repo: repo.into(), path: path.into(), line: None, column: None }
    }

    /// Splits the optional line and column from the end of `path:line:column`.
    pub fn split(text: &str) -> (&str, Option<u64>, Option<u64>) {
        fn number(text: &str) -> Option<(usize, u64)> {
            let (before, digits) = text.rsplit_once(':')?;
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            Some((before.len(), digits.parse().ok().filter(|_| is_number)?))
        }
        let text = text.strip_suffix(':').unwrap_or(text);
        let Some((end, last)) = number(text) else { return (text, None, None) };
        match number(&text[..end]) {
            Some((file, line)) => (&text[..file], Some(line), Some(last)),
            None => (&text[..end], Some(last), None),
        }
    }
}

/// The reason why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is empty or too long, or a pattern is invalid.
    #[error("{0}")]
    Invalid(String),
    /// There is no such file.
    #[error("{0} is not in the index; codesearch files finds files by parts of their paths")]
    NoFile(String),
    /// A revision has no such file: the repository, the path and the revision.
    #[error("{0} has no file {1} at {2}")]
    NoFileAt(String, String, String),
    /// The file was left out of the index: its name, and why.
    #[error("{0} is not in the index: it was left out ({1})")]
    LeftOut(String, String),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] search::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Search(error.into())
    }
}

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Self {
        Self::Invalid(error.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_line_and_a_column() {
        for (text, expected) in [
            ("a/b.rs", ("a/b.rs", None, None)),
            ("a/b.rs:", ("a/b.rs", None, None)),
            ("a/b.rs:12", ("a/b.rs", Some(12), None)),
            ("a/b.rs:12:", ("a/b.rs", Some(12), None)),
            ("a/b.rs:12:3", ("a/b.rs", Some(12), Some(3))),
            ("a:1/b.rs:x", ("a:1/b.rs:x", None, None)),
            ("", ("", None, None)),
        ] {
            assert_eq!(Place::split(text), expected, "{text}");
        }
    }
}
