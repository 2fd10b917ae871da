//! The place from which is asked, and why there is no answer.

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
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is empty or too long, or a pattern is invalid.
    #[error("{0}")]
    Asked(String),
    /// There is no such file.
    #[error("{0} is not in the index; codesearch files finds it by what is typed of its path")]
    NoFile(String),
    /// The search has no answer.
    #[error(transparent)]
    Search(#[from] crate::search::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Search(error.into())
    }
}

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Self {
        Self::Asked(error.message)
    }
}
