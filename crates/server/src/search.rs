//! `/search`, as JSON for programs and a page for browsers, and `/explain`.

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use super::error::Failure;
use super::params::names::{
    CASE, CONTEXT, COPIES, CURSOR, ENCLOSING, EXPLAIN, FACETS, FIELDS, FILE, FORMAT, FRESH, HINTS,
    LANG, LIMIT, NUM, Q, REPO, SORT, STALE, TIMEOUT, TYPED, WAIT,
};
use super::params::{
    DeclaredParams, RejectedParams, SearchParams, StrictParams, is_browser, wants_page,
};
use super::request::compiled;
use super::server::Server;
use super::{hints, json, pages};
use request::Client;
use request::explain::explanation;

/// `/search`.
pub(crate) const SEARCH: Endpoint = Endpoint {
    path: "/search",
    route: || get(search),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[
            Q, LIMIT, NUM, CASE, REPO, FILE, LANG, TIMEOUT, CONTEXT, CURSOR, FIELDS, EXPLAIN,
            HINTS, FORMAT, SORT, ENCLOSING, COPIES, STALE, FRESH,
        ],
        undocumented: &[WAIT, FACETS, TYPED],
    },
    doc: Some(Doc {
        summary: "Search",
        description: "",
        answers: &[
            Answer::ok(
                "Results by repository and path, unless `sort` is given; large answers are sent while the search \
                 runs, in its order.",
                Content::Json(&["Found"]),
            ),
            Answer::BAD,
            Answer::GONE,
            Answer::UNAVAILABLE,
        ],
    }),
};

/// `/explain`.
pub(crate) const EXPLANATION: Endpoint = Endpoint {
    path: "/explain",
    route: || get(explain),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[Q, CASE, REPO, FILE, LANG],
        undocumented: &[
            LIMIT, NUM, TIMEOUT, CONTEXT, CURSOR, FIELDS, EXPLAIN, HINTS, FORMAT, SORT, WAIT,
            FACETS, ENCLOSING, TYPED, COPIES, STALE, FRESH,
        ],
    },
    doc: Some(Doc {
        summary: "The parsed query and its plan",
        description: "",
        answers: &[Answer::ok("The plan.", Content::Json(&["Explanation"])), Answer::BAD],
    }),
};

/// Answers a search.
async fn search(
    server: Server,
    headers: HeaderMap,
    params: Result<StrictParams<SearchParams>, RejectedParams>,
) -> Response {
    let params = match params {
        Ok(StrictParams(params)) => params,
        Err(refused) => return refused.into_response(),
    };
    let page = wants_page(&headers, params.format());
    if page && params.is_typed() {
        return pages::typed(&server, &params).await;
    }
    // A program that requests a page gets an error if the query is missing.
    if page && params.q.trim().is_empty() && is_browser(&headers) {
        return pages::home(server).await;
    }
    let answered = if page {
        // A page shows all fields, but an unknown name in `fields=` is still an error.
        match json::FieldSet::of(&params) {
            Ok(_) => pages::page(&server, &params).await,
            Err(failure) => Err(failure),
        }
    } else {
        json::answer(&server, &params).await
    };
    match answered {
        Ok(response) => response,
        Err(failure) => {
            let failure = hints::counted(&server, &params, failure).await;
            if page { pages::failed(&params.q, failure) } else { failure.into_response() }
        }
    }
}

/// Answers with the parsed query and its plan, without searching.
async fn explain(
    server: Server,
    StrictParams(params): StrictParams<SearchParams>,
) -> Result<Response, Failure> {
    let request = compiled(&params, Client::PROGRAM).await?;
    Ok(Json(explanation(&request, server.view().no_recheck())).into_response())
}
