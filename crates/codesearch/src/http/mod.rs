//! The HTTP server. `endpoints` is its table of contents.

mod access;
mod compat;
mod connections;
mod cursor;
mod endpoint;
mod error;
mod etag;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod hints;
mod hosts;
mod json;
mod limits;
mod mcp;
mod metrics;
mod openapi;
mod pages;
mod params;
mod request;
mod search;
mod search_stream;
mod server;
mod stream;
mod timely_body;

use std::future::ready as ready_made;
use std::sync::LazyLock;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_request, map_response};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

use compat::{livegrep, zoekt};
use connections::SearchThreads;
pub(crate) use connections::{Bounds, Threads, serve};
use endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use error::Failure;
pub(crate) use hosts::Hosts;
pub(crate) use limits::{Limits, Quota, TokenFile, new_token};
pub(crate) use metrics::Metrics;
pub(crate) use server::{Access, MAX_UNREAD_BYTES, Server, Settings, searches_at_once};
use timely_body::TimelyBody;

/// The declared endpoints: our own first, then those of other engines.
fn endpoints() -> Vec<Endpoint> {
    let ours = [
        HOME,
        search::SEARCH,
        stream::STREAM,
        search::EXPLANATION,
        pages::LINES,
        pages::DOCS,
        pages::FILES,
        pages::FILE,
        pages::RAW,
        pages::BLAME,
        pages::HISTORY,
        pages::REPOS,
        pages::DEFINITIONS,
        pages::REFERENCES,
        pages::OUTLINE,
        mcp::MCP,
        pages::SUGGEST,
        pages::STATS,
        metrics::METRICS,
        READY,
        HEALTHY,
        pages::SYNTAX,
        OPENAPI,
        access::SIGN_IN,
        access::SIGN_OUT,
    ];
    ours.into_iter().chain(zoekt::ENDPOINTS).chain(livegrep::ENDPOINTS).collect()
}

const HOME: Endpoint = Endpoint::undocumented("/", Class::Free, || get(pages::home));

const READY: Endpoint = Endpoint {
    doc: Some(Doc {
        summary: "Whether searches can be answered",
        description: "",
        answers: &[Answer::ok("They can.", Content::Only("ready\n")), Answer::UNAVAILABLE],
    }),
    ..Endpoint::undocumented("/readyz", Class::Free, || get(ready))
};

const HEALTHY: Endpoint = Endpoint {
    doc: Some(Doc {
        summary: "Whether the server lives",
        description: "",
        answers: &[Answer::ok("It does.", Content::Only("ok\n"))],
    }),
    admits: Admits::Anyone,
    ..Endpoint::undocumented("/healthz", Class::Light, || get(|| async { "ok\n" }))
};

const OPENAPI: Endpoint = Endpoint::undocumented("/openapi.json", Class::Light, || get(openapi));

/// Makes the router of all addresses, for requests to one of the host names.
pub(crate) fn routes_of(server: Server, hosts: Hosts) -> Router {
    let searches = SearchThreads::on(server.threads.clone());
    let mut router = Router::new();
    for endpoint in endpoints() {
        router = router.route(endpoint.path, route(&endpoint, &server, &searches));
    }
    router
        .route(
            "/static/style.css",
            get(|address: Uri| async move { pages::STYLE.answer(&address) }),
        )
        .route("/static/first.js", get(|address: Uri| async move { pages::FIRST.answer(&address) }))
        .route(
            "/static/script.js",
            get(|address: Uri| async move { pages::SCRIPT.answer(&address) }),
        )
        .fallback(nothing)
        .method_not_allowed_fallback(|| async { Failure::method_not_allowed() })
        .layer(map_request(async |request: Request| {
            request.map(|body| Body::new(TimelyBody::new(body, connections::BODY_TIMEOUT)))
        }))
        .layer(from_fn(check_length))
        .layer(from_fn_with_state(hosts, hosts::check))
        // Server-sent events are compressed as well, while they are sent.
        .layer(CompressionLayer::new().compress_when(SizeAbove::default()))
        .layer(map_response(mark))
        .with_state(server)
}

/// Wraps an endpoint's handler in the checks that its declaration asks for. They run in this order: access, parameters,
/// limits.
fn route(endpoint: &Endpoint, server: &Server, searches: &SearchThreads) -> MethodRouter<Server> {
    let route = (endpoint.route)();
    let route = match endpoint.class {
        Class::Light => route,
        class => {
            let most = answers_within(class, server);
            route.layer(from_fn(move |request, next| answer_within(most, request, next)))
        }
    };
    let route = match endpoint.class {
        Class::Search | Class::Whole => {
            route.layer(from_fn_with_state(server.clone(), limits::searches))
        }
        Class::Read => route.layer(from_fn_with_state(server.clone(), limits::reads)),
        Class::Free | Class::Light => route,
    };
    let params = endpoint.params;
    let route =
        route.layer(map_request(move |request| ready_made(params::read_address(params, request))));
    let route = match endpoint.class {
        Class::Light => route,
        Class::Whole => {
            let searches = searches.clone().only();
            route.layer(from_fn_with_state(searches, connections::on_search_threads))
        }
        _ => route.layer(from_fn_with_state(searches.clone(), connections::on_search_threads)),
    };
    match endpoint.admits {
        Admits::Anyone => route,
        Admits::Clients => route.layer(from_fn_with_state(server.clone(), access::clients)),
        Admits::Operators => route.layer(from_fn_with_state(server.clone(), access::operators)),
    }
}

/// Longest time for what an answer needs besides a search: some statements, which take milliseconds.
const GRACE: Duration = Duration::from_secs(20);

/// Returns how long an endpoint may take to begin an answer. A search ends by itself before that, unless Postgres has
/// gone silent.
fn answers_within(class: Class, server: &Server) -> Duration {
    let search = match class {
        Class::Search | Class::Whole => {
            server::MAX_WAIT + server.searcher.max_time().unwrap_or_default()
        }
        Class::Read | Class::Free | Class::Light => Duration::ZERO,
    };
    search + GRACE
}

/// Gives a request up whose answer has not begun in time: Postgres may have gone silent.
async fn answer_within(most: Duration, request: Request, next: Next) -> Response {
    let is_zoekt = zoekt::is_zoekt_api(request.uri().path());
    match tokio::time::timeout(most, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) if is_zoekt => zoekt::refused(&Failure::silent(most)),
        Err(_) => Failure::silent(most).into_response(),
    }
}

/// Addresses that people guess, and the ones that they mean.
const ALIASES: [(&str, &str); 15] = [
    ("/status", "/stats"),
    ("/statistics", "/stats"),
    ("/help", "/syntax"),
    ("/repositories", "/repos"),
    ("/repo", "/repos"),
    ("/find", "/files"),
    ("/documents", "/docs"),
    ("/login", "/sign-in"),
    ("/definition", "/definitions"),
    ("/def", "/definitions"),
    ("/refs", "/references"),
    ("/symbols", "/outline"),
    ("/annotate", "/blame"),
    ("/log", "/history"),
    ("/api", "/openapi.json"),
];

/// Returns the address to redirect to from an unknown one: an alias, or the path without slashes at its end.
fn meant(address: &Uri) -> Option<String> {
    let trimmed = address.path().trim_end_matches('/');
    let alias = ALIASES.iter().find(|(name, _)| *name == trimmed).map(|(_, meant)| *meant);
    let known = || endpoints().iter().any(|endpoint| endpoint.path == trimmed);
    let path = alias.or_else(|| (trimmed != address.path() && known()).then_some(trimmed))?;
    let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{path}{query}"))
}

/// Largest body of a request, in bytes. Also the most that is read of a body of unknown length.
const MAX_BODY: u64 = 2 << 20;

/// Refuses a request whose declared length is above [`MAX_BODY`], before its body is read.
async fn check_length(request: Request, next: Next) -> Response {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length.and_then(|length| length.parse().ok()).is_none_or(|length: u64| length <= MAX_BODY) {
        return next.run(request).await;
    }
    let failure = Failure::too_large();
    if zoekt::is_zoekt_api(request.uri().path()) {
        zoekt::refused(&failure)
    } else {
        failure.into_response()
    }
}

/// Answers a request for an unknown address: redirects it or says that there is no such page.
async fn nothing(address: Uri, headers: HeaderMap) -> Response {
    if let Some(place) = meant(&address) {
        return Redirect::to(&place).into_response();
    }
    let failure = Failure::not_found();
    if params::wants_page(&headers, None) {
        pages::failed("", failure)
    } else {
        failure.into_response()
    }
}

/// Adds headers to every response: browsers must not guess its type, other sites must not embed it, and caches must
/// keep pages and JSON apart.
async fn mark(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.append(VARY, HeaderValue::from_static("accept"));
    response
}

/// Answers whether searches work now.
async fn ready(State(server): State<Server>) -> Result<&'static str, Failure> {
    server.searcher.catalog().await?;
    Ok("ready\n")
}

/// Sends the `OpenAPI` document.
async fn openapi() -> impl IntoResponse {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| openapi::document(&endpoints()));
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_the_one_in_docs() {
        let document = openapi::document(&endpoints());
        if document != include_str!("../../../../docs/openapi.json") {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/openapi.json");
            std::fs::write(file, document).unwrap();
            panic!(
                "the endpoints say something else: copy target/openapi.json to docs/openapi.json"
            );
        }
    }
}
