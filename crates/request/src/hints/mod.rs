//! Hints for an answer: queries that find something if the original found nothing, the number of files that a suggested
//! query finds, and a warning about a query that was probably meant as literal text.
//!
//! All hints are bounded in time. Queries are counted only if the original search found nothing or was invalid.

mod count;
mod loosened;
mod near;
mod nothing;
mod property;
mod show;
mod typo;

use std::time::Instant;

use query::{OperatorInText, Query, QueryParts, Suggestion, operator_in_text};
use search::View;
use serde::Serialize;

use crate::{Client, Options};

pub use count::{FileCount, QueryContext, count};
pub use near::{missing_repository, near_name, near_path};
pub use nothing::{NoResultsQuery, for_no_results};
pub use show::{line, with_query};
pub use typo::near_symbol;

/// A change to the query that may help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hint {
    /// A description of the change, without a full stop: `in any case`.
    pub message: String,
    /// The changed query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The words for a search in documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs: Option<String>,
    /// The number of files that it finds, if it was counted.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub count: Option<FileCount>,
}

/// A query to run instead of a wrong one, as it is sent to programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggested {
    /// The query.
    pub query: String,
    /// The literal text that it searches for, if the whole wrong query was probably meant as literal text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The number of files that it finds, if it was counted.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub count: Option<FileCount>,
}

impl From<Suggestion> for Suggested {
    fn from(suggestion: Suggestion) -> Self {
        Self { query: suggestion.query, text: suggestion.text, count: None }
    }
}

/// Returns the query that finds the text of an error message without its numbers and names, with the number of its files;
/// `None` if the query is no message, or nothing is found until `until`.
pub async fn without_numbers(
    view: &View,
    query: &str,
    client: Client,
    until: Instant,
) -> Option<Hint> {
    let beside = QueryContext { options: Options::default(), client };
    loosened::hint(view, query, &beside, until).await
}

/// Longest query that gets hints, in bytes, since hints repeat it.
const MAX_QUERY: usize = 1000;

/// Returns a hint if a term parsed as a regular expression, or a word parsed as an operator, was probably meant as
/// literal text: `c++`, `file not found`.
pub fn meant_as_text(query: &str, parsed: &Query) -> Option<Hint> {
    if query.len() > MAX_QUERY {
        return None;
    }
    let operator = operator_in_text(query).map(|operator| match operator {
        OperatorInText::Not => "'not' excludes files with the next term; as text",
        OperatorInText::Group => "parentheses group terms; as text",
    });
    if let Some(message) = operator {
        let message = message.to_owned();
        let query = Some(query::literal(query.trim()));
        return Some(Hint { message, query, docs: None, count: None });
    }
    let odd = parsed.terms().into_iter().find(|term| term.pattern.reads_like_text())?;
    let as_text = QueryParts::of(query).ok()?.as_text()?;
    Some(Hint {
        message: format!("{} is a regular expression; as text", odd.pattern.source()),
        query: Some(as_text),
        docs: None,
        count: None,
    })
}
