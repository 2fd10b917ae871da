//! What a watcher of the system tells.

use std::path::PathBuf;

/// What happened at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Its contents or its properties are others.
    Changed,
    /// It is new. It is not a folder if `is_file`.
    Came { is_file: bool },
    /// It is gone, or something else.
    Went,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Something happened at a path.
    At(PathBuf, What),
    /// Nobody knows what else has happened.
    Lost,
}

/// Why a folder is not watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The system watches no more.
    Full,
    /// It is gone, or may not be read.
    Other(String),
}
