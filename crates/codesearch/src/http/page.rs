//! The pages of searching for browsers, rendered from `web/templates`.

use std::convert::Infallible;
use std::future::ready;

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};

use futures_util::{StreamExt, stream};

use super::Server;
use super::ask::Asked;
use super::error::Failure;
use super::numbers::{grouped, human};
use super::results::Results;

/// Nothing is loaded or run but our own style sheet and script, whatever a repository holds.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Where the rest of the results stands in a page. No text of a repository looks like it: in those `<` is
/// written otherwise.
pub(crate) const SEAM: &str = "<!-- the rest -->";

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'a> {
    query: &'a str,
    /// How large the index is; on the page without results.
    size: Option<String>,
    error: Option<Trouble>,
    result: Option<Results>,
    /// Where a script hears of results while they are found, and where they are without one.
    stream: Option<(String, String)>,
}

/// What went wrong, and where in the query.
struct Trouble {
    message: String,
    /// The query before the character it is about, that character, and the query behind it.
    place: Option<(String, String, String)>,
}

/// The page without results.
pub(crate) async fn home(State(server): State<Server>) -> Response {
    let size = server.searcher.catalog().await.map(|catalog| {
        let bytes: i64 = catalog.shards.iter().map(|shard| shard.bytes).sum();
        let repos = catalog.repos.len();
        let word = if repos == 1 { "repository" } else { "repositories" };
        format!("{} {word}, {} of text", grouped(repos), human(bytes as u64))
    });
    let (size, error) = match size {
        Ok(size) => (Some(size), None),
        Err(error) => {
            let message = Failure::from(error).body.message;
            (None, Some(Trouble { message, place: None }))
        }
    };
    render(StatusCode::OK, &SearchPage { query: "", size, error, result: None, stream: None })
}

/// The page with results: first with those that are drawn, which a browser paints as soon as it has them,
/// then with the rest.
pub(crate) fn found(
    asked: &Asked,
    results: Results,
    rest: impl Future<Output = String> + Send + 'static,
) -> Response {
    let result = Some(results);
    let page = SearchPage { query: &asked.q, size: None, error: None, result, stream: None };
    let page = match page.render() {
        Ok(page) => page,
        Err(error) => return broken(&error),
    };
    let Some((first, end)) = page.split_once(SEAM) else { return sent(StatusCode::OK, page) };
    let (first, end) = (first.to_owned(), end.to_owned());
    let parts =
        stream::once(ready(first)).chain(stream::once(rest)).chain(stream::once(ready(end)));
    sent(StatusCode::OK, Body::from_stream(parts.map(Ok::<_, Infallible>)))
}

/// The page on which a script shows what is found while it is found.
pub(crate) fn searching(asked: &Asked, stream: String, whole: String) -> Response {
    let stream = Some((stream, whole));
    let page = SearchPage { query: &asked.q, size: None, error: None, result: None, stream };
    render(StatusCode::OK, &page)
}

/// The page with an error.
pub(crate) fn failed(asked: &Asked, failure: Failure) -> Response {
    let place = failure.body.position.and_then(|at| {
        let (before, rest) = (asked.q.get(..at)?, asked.q.get(at..)?);
        let mut behind = rest.chars();
        // At the end of the query a blank stands for what is missing.
        let here = behind.next().unwrap_or(' ');
        Some((before.to_owned(), here.to_string(), behind.as_str().to_owned()))
    });
    let error = Some(Trouble { message: failure.body.message, place });
    let page = SearchPage { query: &asked.q, size: None, error, result: None, stream: None };
    render(failure.status, &page)
}

/// A page, with the headers that keep it from being anything else.
pub(crate) fn render(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(page) => sent(status, page),
        Err(error) => broken(&error),
    }
}

fn sent(status: StatusCode, page: impl Into<Body>) -> Response {
    let mut response = (status, Html(page.into())).into_response();
    protect(&mut response, POLICY);
    response
}

fn broken(error: &askama::Error) -> Response {
    tracing::error!("a page could not be rendered: {error}");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

/// Adds the headers by which a browser takes a response for what it is.
pub(crate) fn protect(response: &mut Response, policy: &'static str) {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
}
