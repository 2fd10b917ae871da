//! Parses a query: tokens into groups of words, and these into a tree of terms.

use crate::build::{Build, Defaults};
use crate::error::QueryError;
use crate::group::Parser;
use crate::suggest;
use crate::tree::Query;

/// Longest query, in bytes. Parsing and planning one takes milliseconds, and nobody types more.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;

impl Query {
    /// Parses a query. `defaults` apply where the query has no setting.
    ///
    /// # Errors
    /// The query is wrong, or exceeds the bounds on length, terms or nesting. The error says where, why, and what to
    /// type instead. If a query is known that was probably meant, it is the error's suggestion.
    pub fn parse(source: &str, defaults: impl Into<Defaults>) -> Result<Self, QueryError> {
        let defaults = defaults.into();
        parse(source, defaults).map_err(|mut error| {
            let parse = |text: &str| parse(text, defaults);
            error.suggestion = suggest::suggestion(source, &error, &parse).map(Box::new);
            error
        })
    }
}

/// Parses a query without making a suggestion for a wrong one.
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
