use std::fmt;

/// Everything that can go wrong in this crate.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A line of a station file could not be understood.
    Line {
        /// Line number, from 1.
        number: usize,
        /// What was wrong with it.
        reason: String,
    },
    /// A station file has no line for something it needs.
    Missing(&'static str),
    /// The name of a constituent that this crate does not know.
    UnknownWave(String),
    /// Text that is not a date of the form `YYYY-MM-DD`.
    BadDate(String),
    /// The station has no tide to speak of, so there are no turns.
    NoTide,
}

impl Error {
    pub(crate) fn line(number: usize, reason: impl Into<String>) -> Self {
        Error::Line {
            number,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Line { number, reason } => write!(f, "line {number}: {reason}"),
            Error::Missing(what) => write!(f, "station file has no `{what}` line"),
            Error::UnknownWave(name) => write!(f, "unknown constituent {name:?}"),
            Error::BadDate(text) => write!(f, "{text:?} is not a date (want YYYY-MM-DD)"),
            Error::NoTide => f.write_str("all amplitudes are zero"),
        }
    }
}

impl std::error::Error for Error {}
