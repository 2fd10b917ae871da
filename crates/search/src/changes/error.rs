//! Why revisions cannot be compared.

use std::time::Duration;

/// Most repositories in which one search compares revisions.
pub const MAX_REPOS: usize = 20;

/// Why revisions cannot be compared. Each is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A revision is unknown or ambiguous, or its objects are missing.
    #[error("{repo}: {error}")]
    Revision {
        /// The name of the repository.
        repo: String,
        /// The reason.
        error: git::RevisionError,
    },
    /// The clone cannot be read.
    #[error("{repo}: {error}")]
    Clone {
        /// The name of the repository.
        repo: String,
        /// The reason.
        error: git::Error,
    },
    /// The clone has no commit.
    #[error("{repo}: the clone has no commit yet; commit something, or name both revisions")]
    Unborn {
        /// The name of the repository.
        repo: String,
    },
    /// Two revisions have no common ancestor.
    #[error("{repo}: {old} and {new} have no common ancestor; compare them with {old}..{new}")]
    NoMergeBase {
        /// The name of the repository.
        repo: String,
        /// The older revision.
        old: String,
        /// The newer revision.
        new: String,
    },
    /// The query means too many repositories.
    #[error(
        "revisions are compared in at most {MAX_REPOS} repositories, but {0} match; name fewer with repo:"
    )]
    TooMany(usize),
    /// There is no such repository.
    #[error("{0} is not in the index; codesearch repos lists the repositories")]
    NoRepo(String),
    /// Listing the changed files took too long.
    #[error(
        "the changed files were not listed within {0:?}; raise the timeout, or name nearer revisions"
    )]
    Late(Duration),
    /// The operator of the server has disabled reading clones.
    #[error("this server does not show blame and history")]
    Disabled,
}

impl CompareError {
    /// Returns whether there is no repository whose clone may be read.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::NoRepo(_) | Self::Disabled => true,
            Self::Clone { error, .. } => {
                matches!(
                    error,
                    git::Error::NoClone
                        | git::Error::NoFolder
                        | git::Error::NoWorktree
                        | git::Error::Outside
                )
            }
            _ => false,
        }
    }

    /// Returns whether another repository may still have what this one lacks.
    pub(super) fn is_of_this_repository(&self) -> bool {
        match self {
            Self::Revision { error, .. } => matches!(error, git::RevisionError::Unknown { .. }),
            Self::Clone { .. } => self.is_missing(),
            Self::Unborn { .. } => true,
            _ => false,
        }
    }
}
