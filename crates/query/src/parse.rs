//! Parses a query: tokens into groups of words, and these into a tree of terms.

use crate::build::{Build, Defaults};
use crate::error::QueryError;
use crate::group::Parser;
use crate::suggest;
use crate::tree::Query;

impl Query {
    /// Parses a query. `defaults` apply where the query has no setting.
    ///
    /// # Errors
    /// The query is wrong, or exceeds the bounds on length, terms or nesting. The error tells where, why, and what to
    /// type instead. Its suggestion is the query that was probably meant, if that is known.
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
    if source.trim().is_empty() {
        return Err(QueryError::new(source, 0, "the query is empty; type what to search for"));
    }
    let group = Parser::new(source).whole()?;
    Build::new(source).query(group, defaults)
}
