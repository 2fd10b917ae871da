//! The search page: with results, while searching, or with an error.

use std::convert::Infallible;
use std::future::ready;

use askama::Template;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};

use super::link;
use super::render::{broken, render, sent};
use super::results::Results;
use crate::error::{Code, Failure};
use crate::params::RejectedParams;
use request::hints::{FileCount, Suggested};

/// The placeholder of the second part of the results. No text of a repository contains it, since templates escape `<`.
pub(crate) const REST_PLACEHOLDER: &str = "<!-- the rest -->";

/// Links on a page that does not exist.
const PLACES: [(&str, &str); 5] = [
    ("/", "Search code"),
    ("/docs", "Search documents"),
    ("/files", "Find a file"),
    ("/repos", "Repositories"),
    ("/syntax", "Query syntax"),
];

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'a> {
    query: &'a str,
    error: Option<PageError>,
    result: Option<Results>,
    /// The address from which a script streams results, and that of the complete page for browsers without scripts.
    stream: Option<(String, String)>,
}

/// An error, and its place in the query.
struct PageError {
    /// Whether there is no page at the address.
    is_missing: bool,
    message: String,
    /// The query before the character at fault, that character, and the query after it.
    place: Option<(String, String, String)>,
    /// A query to run instead.
    instead: Option<SuggestedQuery>,
    /// Links to continue from: addresses and names.
    links: Vec<(&'static str, &'static str)>,
}

/// A query to run instead of a wrong one.
struct SuggestedQuery {
    href: String,
    /// Whether it searches for the whole query as literal text.
    is_text: bool,
    /// The query, or the literal text.
    shown: String,
    /// The number of files that it finds; empty if unknown.
    count: String,
}

impl From<Suggested> for SuggestedQuery {
    fn from(suggested: Suggested) -> Self {
        Self {
            href: link::to("/search", &[("q", &suggested.query)]),
            is_text: suggested.text.is_some(),
            shown: suggested.text.unwrap_or(suggested.query),
            count: suggested.count.map_or_else(String::new, FileCount::text),
        }
    }
}

/// Sends the page with results. The first part goes out at once, for the browser to paint, and `rest` when it is
/// rendered.
pub(crate) fn found(
    q: &str,
    results: Results,
    rest: impl Future<Output = String> + Send + 'static,
) -> Response {
    let result = Some(results);
    let page = SearchPage { query: q, error: None, result, stream: None };
    let page = match page.render() {
        Ok(page) => page,
        Err(error) => return broken(&error),
    };
    let Some((first, end)) = page.split_once(REST_PLACEHOLDER) else {
        return sent(StatusCode::OK, page);
    };
    let (first, end) = (first.to_owned(), end.to_owned());
    let parts =
        stream::once(ready(first)).chain(stream::once(rest)).chain(stream::once(ready(end)));
    sent(StatusCode::OK, Body::from_stream(parts.map(Ok::<_, Infallible>)))
}

/// Sends the page whose script shows results while they are found.
pub(crate) fn searching(q: &str, stream: String, whole: String) -> Response {
    let stream = Some((stream, whole));
    let page = SearchPage { query: q, error: None, result: None, stream };
    render(StatusCode::OK, &page)
}

/// Sends the page with an error.
pub(crate) fn failed(q: &str, failure: Failure) -> Response {
    let place = failure.body.position.and_then(|at| {
        let (before, rest) = (q.get(..at)?, q.get(at..)?);
        let mut behind = rest.chars();
        // At the end of the query, a space stands for the missing character.
        let here = behind.next().unwrap_or(' ');
        Some((before.to_owned(), here.to_string(), behind.as_str().to_owned()))
    });
    let is_missing = failure.body.code == "not_found";
    let links = if is_missing { PLACES.to_vec() } else { Vec::new() };
    let instead = failure.body.suggestion.map(|suggested| SuggestedQuery::from(*suggested));
    let error =
        Some(PageError { is_missing, message: failure.body.message, place, instead, links });
    let page = SearchPage { query: q, error, result: None, stream: None };
    let mut response = render(failure.status, &page);
    response.extensions_mut().insert(Code(failure.body.code));
    response
}

impl IntoResponse for RejectedParams {
    fn into_response(self) -> Response {
        match self.page {
            Some(q) => failed(&q, self.failure),
            None => self.failure.into_response(),
        }
    }
}
