//! What to say beside an answer: queries that find something where one found nothing, how many files the query finds that
//! is suggested instead of a wrong one, and what a query was taken for.
//!
//! All of it is bounded in time, and none of it is done for a search that found something.

mod count;
mod near;
mod nothing;
mod show;

use query::{Query, QueryParts, Suggestion};
use serde::Serialize;

pub(crate) use count::{Beside, FileCount, count};
pub(crate) use nothing::{Asked, of_nothing};
pub(crate) use show::{command, line};

/// Something that may help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Hint {
    /// What it is, without a full stop: `in any case`.
    pub(crate) message: String,
    /// The query that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<String>,
    /// The words to search documents for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) docs: Option<String>,
    /// How many files that finds, if it was counted.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<FileCount>,
}

/// A query to run instead of a wrong one, as programs are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Suggested {
    /// The query.
    pub(crate) query: String,
    /// The text that it searches for, if it takes the whole of the wrong query as a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// How many files it finds, if it was counted.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<FileCount>,
}

impl From<Suggestion> for Suggested {
    fn from(suggestion: Suggestion) -> Self {
        Self { query: suggestion.query, text: suggestion.text, count: None }
    }
}

/// Longest query of which something is said, in bytes: answers have bounds.
const MAX_QUERY: usize = 1000;

/// What to say of a query with a term that is an expression, but was probably meant as text: `c++`.
pub(crate) fn taken_for_expression(query: &str, parsed: &Query) -> Option<Hint> {
    if query.len() > MAX_QUERY {
        return None;
    }
    let odd = parsed.terms().into_iter().find(|term| term.pattern.reads_like_text())?;
    let as_text = QueryParts::of(query).ok()?.as_text()?;
    Some(Hint {
        message: format!("{} is a regular expression here; as text", odd.pattern.source()),
        query: Some(as_text),
        docs: None,
        count: None,
    })
}
