//! Parses a query with Zoekt's meaning, and compiles it to a request.

use query::{Case, Field, Pattern, Query, Tree};
use search::Request;

use crate::error::Failure;
use crate::request::{build, compile};
use request::{self, Client, Options as QueryContext};

/// Parses a query as Zoekt would: patterns may match line feeds, and an empty query matches everything.
pub(super) fn parse(text: &str) -> Result<Query, Failure> {
    if text.trim().is_empty() {
        let mut query = Query::of(Field::Path, Pattern::literal("", Case::Smart)?);
        query.tree = Tree::All(Vec::new());
        return Ok(query);
    }
    Ok(request::parse(text, &QueryContext::default(), &Client::ZOEKT)?)
}

/// Builds the request of a query and its options, on a thread for blocking work.
pub(super) async fn compiled(query: Query, beside: QueryContext) -> Result<Request, Failure> {
    compile(false, move |turn| Ok(build(query, &beside, &Client::ZOEKT, turn)?)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_named_as_in_zoekt() {
        for (text, expected) in [
            ("", "everything"),
            ("a branch:HEAD", "(and /a/i branch:HEAD)"),
            ("(b:HEAD or branch:\"dev\") a", "(and (or branch:HEAD branch:dev) /a/i)"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), expected);
        }
    }
}
