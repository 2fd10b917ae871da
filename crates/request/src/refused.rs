//! The reasons why a request cannot be built.

use std::fmt;

use query::QueryError;

/// The reason why a request cannot be built. Each client names an option in its own way: `--repo`, `repo=`.
#[derive(Debug)]
pub enum Refused {
    /// The query is invalid.
    Query(QueryError),
    /// An option has a wrong value.
    Option {
        /// The name of the option.
        name: &'static str,
        /// A sentence about the error; further lines may point at its place.
        why: String,
    },
}

impl From<QueryError> for Refused {
    fn from(error: QueryError) -> Self {
        Refused::Query(error)
    }
}

/// Returns the refusal of an option with a wrong value.
pub(super) fn option(name: &'static str, why: &impl ToString) -> Refused {
    Refused::Option { name, why: why.to_string() }
}

/// For agents: names an option by its plain name.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Query(error) => error.fmt(f),
            Refused::Option { name, why } => write!(f, "{name}: {why}"),
        }
    }
}

impl std::error::Error for Refused {}
