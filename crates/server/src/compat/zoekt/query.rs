//! Parses a query with Zoekt's meaning, and compiles it to a request.

use query::{Case, Field, Pattern, Query, Tree};
use search::Request;

use crate::error::Failure;
use crate::request::{build, compile};
use request::{self, Client, Options as QueryContext};

/// Parses a query as Zoekt would: patterns may match line feeds, and an empty query matches everything.
pub(super) fn parse(text: &str) -> Result<Query, Failure> {
    let text = without_head(text);
    if text.trim().is_empty() {
        let mut query = Query::of(Field::Path, Pattern::literal("", Case::Smart)?);
        query.tree = Tree::All(Vec::new());
        return Ok(query);
    }
    Ok(request::parse(&text, &QueryContext::default(), &Client::ZOEKT)?)
}

/// Removes the terms for the branch HEAD, which is the only branch. Replaces them by spaces, so that positions in
/// errors stay right.
fn without_head(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut quoted = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let begins = left.chars().next_back().is_none_or(|c| c.is_whitespace() || c == '(');
        if begins && !quoted {
            let term = ["branch:HEAD", "b:HEAD", "branch:\"HEAD\"", "b:\"HEAD\""].into_iter().find(
                |term| {
                    rest.strip_prefix(term).is_some_and(|behind| {
                        behind.chars().next().is_none_or(|c| c.is_whitespace() || c == ')')
                    })
                },
            );
            if let Some(term) = term {
                left.push_str(&" ".repeat(term.len()));
                rest = &rest[term.len()..];
                continue;
            }
        }
        let taken =
            if c == '\\' { rest.chars().take(2).map(char::len_utf8).sum() } else { c.len_utf8() };
        quoted ^= c == '"';
        left.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    left
}

/// Builds the request of a query and its options, on a thread for blocking work.
pub(super) async fn compiled(query: Query, beside: QueryContext) -> Result<Request, Failure> {
    compile(false, move |turn| Ok(build(query, &beside, &Client::ZOEKT, turn)?)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_that_there_is_need_not_be_named() {
        for (text, expected) in [
            ("a branch:HEAD", "a            "),
            ("branch:HEAD (b:HEAD a)", "            (       a)"),
            ("b:\"HEAD\" a", "         a"),
            ("branch:main a", "branch:main a"),
            ("-branch:HEAD", "-branch:HEAD"),
            ("branch:HEADS xbranch:HEAD", "branch:HEADS xbranch:HEAD"),
            ("\"x branch:HEAD y\"", "\"x branch:HEAD y\""),
            ("\\\" branch:HEAD é", "\\\"             é"),
        ] {
            assert_eq!(without_head(text), expected);
        }
        assert!(parse("branch:HEAD").is_ok());
        assert!(parse("branch:main").is_err());
    }
}
