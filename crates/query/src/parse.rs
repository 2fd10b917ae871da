//! Parses a query: tokens become groups of words, and those a tree of terms.

use crate::build::{Build, Defaults};
use crate::error::QueryError;
use crate::group::Parser;
use crate::suggest;
use crate::tree::Query;

/// Longest query, in bytes. Nobody types more, and parsing and planning it takes milliseconds.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;

impl Query {
    /// Parses a query. The defaults hold where the query says nothing about it.
    ///
    /// # Errors
    /// The query is wrong: the error says where, why, and what to type instead. Or it is longer, has more terms or nests
    /// deeper than a query may. If another query can be told that says what may have been meant, it is the error's
    /// suggestion.
    pub fn parse(source: &str, defaults: impl Into<Defaults>) -> Result<Self, QueryError> {
        let defaults = defaults.into();
        parse(source, defaults).map_err(|mut error| {
            let check = |text: &str| parse(text, defaults).map(drop);
            error.suggestion = suggest::suggestion(source, &error, &check).map(Box::new);
            error
        })
    }
}

/// Parses a query as it stands.
fn parse(source: &str, defaults: Defaults) -> Result<Query, QueryError> {
    if source.len() > MAX_QUERY_BYTES {
        let message =
            format!("the query is longer than {MAX_QUERY_BYTES} bytes; search for less at once");
        return Err(QueryError::new(source, MAX_QUERY_BYTES, message));
    }
    if source.trim().is_empty() {
        return Err(QueryError::new(source, 0, "the query is empty; type what to search for"));
    }
    let group = Parser::new(source).whole()?;
    Build::new(source).query(group, defaults)
}
