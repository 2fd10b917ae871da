//! What is given in an address. A browser whose address cannot be read gets a page, a program JSON.

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use super::wants_page;
use crate::http::error::Failure;
use crate::http::pages::failed;

/// The parameters of an address.
#[derive(Clone, Debug)]
pub(crate) struct StrictParams<T>(pub(crate) T);

/// Why they are not what they should be.
#[derive(Debug)]
pub(crate) struct RejectedParams {
    pub(crate) failure: Failure,
    /// The client wants a page, with this query in its box.
    page: Option<String>,
}

/// What each address takes.
fn known(path: &str) -> &'static [&'static str] {
    match path {
        "/search" | "/search/stream" | "/explain" => &[
            "q", "limit", "num", "case", "repo", "file", "lang", "timeout", "context", "cursor",
            "fields", "explain", "format", "sort", "wait",
        ],
        "/search/lines" => &["repo", "path", "q"],
        "/file" => &["repo", "path", "lines", "q", "format"],
        "/raw" => &["repo", "path", "download"],
        "/docs" => &["q", "limit", "repo", "lang", "dictionary", "timeout", "format"],
        "/files" => &["q", "repo", "lang", "limit", "format"],
        "/repos" => &["q", "repo", "path", "format"],
        "/suggest" => &["word"],
        "/stats" => &["since", "from", "to", "compare", "trim", "format"],
        _ => &[],
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for StrictParams<T> {
    type Rejection = RejectedParams;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RejectedParams> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let pairs = pairs.map(|Query(pairs)| pairs).unwrap_or_default();
        let value = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, v)| v.as_str());
        let page = wants_page(&parts.headers, value("format"));
        read(&parts.uri, &pairs, page).map(Self).map_err(|failure| {
            let page = page.then(|| value("q").unwrap_or_default().to_owned());
            RejectedParams { failure, page }
        })
    }
}

fn read<T: DeserializeOwned>(
    uri: &Uri,
    pairs: &[(String, String)],
    page: bool,
) -> Result<T, Failure> {
    let known = known(uri.path());
    for (at, (name, _)) in pairs.iter().enumerate() {
        let is_known = known.contains(&name.as_str());
        if is_known && pairs[..at].iter().any(|(before, _)| before == name) {
            return Err(Failure::bad_request(format!("{name}= is there twice: give it once")));
        }
        // Whoever links to a page may add something to its address. A program that is misunderstood is
        // to hear of it.
        if !is_known && !page {
            return Err(Failure::bad_request(unknown(name, known)));
        }
    }
    let parameters = Query::<T>::try_from_uri(uri);
    parameters.map(|Query(parameters)| parameters).map_err(|_| Failure::unreadable())
}

/// What to say of a parameter that is none.
fn unknown(name: &str, known: &[&str]) -> String {
    let lower = name.to_lowercase();
    let nearest = known.iter().min_by_key(|known| strsim::damerau_levenshtein(known, &lower));
    let nearest =
        nearest.map_or_else(String::new, |nearest| format!("; the nearest is {nearest}="));
    format!("there is no parameter {name}= here{nearest}, and /openapi.json lists all of them")
}

impl IntoResponse for RejectedParams {
    fn into_response(self) -> Response {
        match self.page {
            Some(q) => failed(&q, self.failure),
            None => self.failure.into_response(),
        }
    }
}
