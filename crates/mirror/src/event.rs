//! What a pass tells while it runs, and its result.

use std::time::Duration;

/// What happens in a pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A host was listed.
    Listed {
        /// Its name.
        host: String,
        /// Number of its repositories that are listed.
        repos: usize,
        /// Number of requests for that.
        requests: usize,
    },
    /// So much is to be done.
    Working {
        /// Number of repositories to clone.
        clones: usize,
        /// Number of clones to fetch.
        fetches: usize,
    },
    /// A repository was cloned.
    Cloned {
        /// Its path on the host.
        path: String,
        /// Bytes of the clone.
        bytes: u64,
        /// How long it took.
        took: Duration,
    },
    /// A clone was fetched.
    Fetched {
        /// Its path on the host.
        path: String,
        /// Whether it has other branches or tags than before.
        changed: bool,
    },
    /// A repository was renamed.
    Renamed {
        /// Its path before.
        from: String,
        /// Its path now.
        to: String,
    },
    /// A repository is in no search any more.
    Hidden {
        /// Its path on the host.
        path: String,
        /// Why.
        why: String,
    },
    /// A hidden clone was deleted.
    Deleted {
        /// Its path on the host.
        path: String,
    },
    /// Something failed; the others go on.
    Failed {
        /// The host, or the path of a repository.
        what: String,
        /// Why, in one sentence.
        why: String,
    },
    /// A notice for the operator.
    Notice(String),
}

/// The result of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of hosts that were listed completely, and lists of addresses.
    pub hosts: usize,
    /// Number of repositories that are mirrored.
    pub mirrored: usize,
    /// Number of repositories that were cloned.
    pub cloned: usize,
    /// Number of clones that were fetched and have something new.
    pub moved: usize,
    /// Number of clones that were fetched and have nothing new.
    pub unmoved: usize,
    /// Number of clones that were hidden.
    pub hidden: usize,
    /// Number of hidden clones that were deleted.
    pub deleted: usize,
    /// Number of hosts and repositories that failed.
    pub failed: usize,
}

/// What a pass would do with a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The name of its host.
    pub host: String,
    /// Its path there.
    pub path: String,
    /// What would be done.
    pub verb: Verb,
    /// Why, or what else is known.
    pub why: String,
}

/// What a pass would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Mirror it.
    Take,
    /// Not mirror it.
    Leave,
    /// Hide its clone, and delete it later.
    Drop,
    /// Nothing, since the configuration file does not name its host.
    Stay,
}

impl Verb {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Leave => "leave",
            Self::Drop => "drop",
            Self::Stay => "stay",
        }
    }
}
