//! Why there is no request for what was asked.

use std::fmt;

use query::QueryError;

/// Why there is no request for what was asked. Each client names an option in its own way: `--repo`, `repo=`.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The query is none.
    Query(QueryError),
    /// An option has a wrong value.
    Option {
        /// The name of the option.
        name: &'static str,
        /// A sentence on what is wrong with it, perhaps with more lines that point at the place.
        why: String,
    },
}

impl From<QueryError> for Refused {
    fn from(error: QueryError) -> Self {
        Refused::Query(error)
    }
}

/// As agents read it: an option is called by its name.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Query(error) => error.fmt(f),
            Refused::Option { name, why } => write!(f, "{name}: {why}"),
        }
    }
}

impl std::error::Error for Refused {}
