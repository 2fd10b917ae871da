//! The HTTP server. `endpoints` is its table of contents.

mod audited;
mod by_words;
mod command;
mod commands;
mod compat;
mod connections;
mod cursor;
mod endpoint;
mod error;
mod etag;
mod fresh;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
#[cfg(any(test, fuzzing))]
mod fuzz_targets;
mod hints;
mod hooks;
mod hosts;
mod identity;
mod ingest;
mod json;
mod layers;
mod limits;
mod listeners;
mod mcp;
mod metrics;
mod monitors;
mod observed_body;
mod openapi;
mod pages;
mod params;
mod request;
mod search;
mod search_stream;
mod seeing;
mod sender;
mod server;
mod sql;
mod stream;
mod timely_body;

use std::sync::LazyLock;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

pub use commands::{CommandOutput, Commands};
use compat::{livegrep, zoekt};
use connections::SearchThreads;
pub use connections::{Bounds, Threads, serve};
use endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use error::Failure;
pub use hosts::Hosts;
pub use identity::{Identity, Proxy};
pub use limits::{Fellows, Limits, Quota, TokenFile, new_token};
pub use listeners::Sockets;
pub use metrics::{Metrics, TimedSearch};
pub use server::{Access, MAX_UNREAD_BYTES, Settings, Shared, searches_at_once};

/// The declared endpoints: our own first, then those of other engines.
fn endpoints() -> Vec<Endpoint> {
    let ours = [
        HOME,
        search::SEARCH,
        stream::STREAM,
        search::EXPLANATION,
        pages::LINES,
        pages::ASK,
        pages::DOCS,
        pages::FILES,
        pages::FILE,
        pages::RAW,
        pages::BLAME,
        pages::HISTORY,
        pages::DIFF,
        pages::REPOS,
        monitors::MONITORS,
        monitors::MONITOR,
        ingest::INGEST,
        sql::SQL,
        hooks::HOOKS,
        pages::DEFINITIONS,
        pages::REFERENCES,
        pages::OUTLINE,
        mcp::MCP,
        command::COMMAND,
        pages::SUGGEST,
        pages::STATS,
        pages::AUDIT,
        metrics::METRICS,
        READY,
        HEALTHY,
        pages::SYNTAX,
        OPENAPI,
        identity::SIGN_IN,
        identity::SIGN_OUT,
        identity::WHOAMI,
        identity::METADATA,
        identity::METADATA_OF_MCP,
    ];
    ours.into_iter().chain(zoekt::ENDPOINTS).chain(livegrep::ENDPOINTS).collect()
}

/// Returns the addresses of all endpoints, so that tests can try each.
pub fn addresses() -> Vec<&'static str> {
    endpoints().iter().map(|endpoint| endpoint.path).collect()
}

const HOME: Endpoint = Endpoint::undocumented("/", Class::Free, || get(pages::home));

/// The text of `/readyz` if searches can be answered.
const READY_TEXT: &str = "ready\n";

/// Time after which `/readyz` reports an invalid token file. Before, the file may be half written, or about to change.
const WORTH_TELLING: Duration = Duration::from_mins(1);

const READY: Endpoint = Endpoint {
    doc: Some(Doc {
        summary: "Readiness: whether the server can answer searches",
        description: "It is not ready, either, if it is about to stop, or if a newer version has upgraded the index. \
                      Further lines name other problems: errors in the token file that last a minute or more.",
        answers: &[
            Answer::ok("It can: the first line is ready.", Content::Text("text/plain")),
            Answer::UNAVAILABLE,
        ],
    }),
    ..Endpoint::undocumented("/readyz", Class::Free, || get(ready))
};

const HEALTHY: Endpoint = Endpoint {
    doc: Some(Doc {
        summary: "Liveness: whether the server runs",
        description: "",
        answers: &[Answer::ok("It runs.", Content::Only("ok\n"))],
    }),
    admits: Admits::Anyone,
    ..Endpoint::undocumented("/healthz", Class::Light, || get(|| async { "ok\n" }))
};

const OPENAPI: Endpoint = Endpoint::undocumented("/openapi.json", Class::Light, || get(openapi));

/// Makes the router of all addresses, for requests to one of the host names.
pub fn routes_of(server: Shared, hosts: Hosts) -> Router {
    let searches = SearchThreads::on(server.threads.clone());
    let mut router = Router::new();
    for endpoint in endpoints() {
        router = router.route(endpoint.path, layers::checked(&endpoint, &server, &searches));
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
        // Limits a body without a declared length.
        .layer(DefaultBodyLimit::max(layers::MAX_BODY))
        .layer(from_fn_with_state((hosts, server.clone()), layers::every_request))
        // Server-sent events are compressed as well, while they are sent.
        .layer(CompressionLayer::new().compress_when(SizeAbove::default()))
        .with_state(server)
}

/// Addresses that people guess, each with the right one.
const ALIASES: [(&str, &str); 18] = [
    ("/monitor", "/monitors"),
    ("/status", "/stats"),
    ("/statistics", "/stats"),
    ("/help", "/syntax"),
    ("/repositories", "/repos"),
    ("/repo", "/repos"),
    ("/find", "/files"),
    ("/documents", "/docs"),
    ("/login", "/sign-in"),
    ("/account", "/whoami"),
    ("/definition", "/definitions"),
    ("/def", "/definitions"),
    ("/refs", "/references"),
    ("/symbols", "/outline"),
    ("/annotate", "/blame"),
    ("/log", "/history"),
    ("/compare", "/diff"),
    ("/api", "/openapi.json"),
];

/// Returns the address to redirect to from an unknown one: an alias, or the path without trailing slashes.
fn meant(address: &Uri) -> Option<String> {
    let trimmed = address.path().trim_end_matches('/');
    let alias = ALIASES.iter().find(|(name, _)| *name == trimmed).map(|(_, meant)| *meant);
    let known = || endpoints().iter().any(|endpoint| endpoint.path == trimmed);
    let path = alias.or_else(|| (trimmed != address.path() && known()).then_some(trimmed))?;
    let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{path}{query}"))
}

/// Answers a request for an unknown address: redirects it or reports that the page does not exist.
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

/// Answers whether searches work now. Further lines name other problems.
async fn ready(State(server): State<Shared>) -> Result<String, Failure> {
    if server.fellows.is_draining() {
        return Err(Failure::not_ready("this server is about to stop; ask another one"));
    }
    if let Some(why) = server.fellows.trouble() {
        return Err(Failure::not_ready(why));
    }
    server.admin().catalog().await?;
    let wrong = server.limits.tokens_wrong_for().filter(|time| *time >= WORTH_TELLING);
    Ok(wrong.map_or_else(
        || READY_TEXT.to_owned(),
        |time| {
            let seconds = time.as_secs();
            format!(
                "{READY_TEXT}the token file has had errors for {seconds} s; see the server's log\n"
            )
        },
    ))
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
    fn every_parameter_has_a_bound_that_its_readers_stand() {
        for endpoint in endpoints() {
            for param in endpoint.params.all() {
                let (path, name, most) = (endpoint.path, param.name, param.most_bytes());
                assert!((1..=query::MAX_QUERY_BYTES).contains(&most), "{path} {name}: {most}");
                let refused = param.check(&"x".repeat(most + 1)).unwrap_err();
                assert!(refused.contains("is longer than"), "{path} {name}: {refused}");
            }
        }
    }

    #[test]
    fn the_document_is_the_one_in_docs() {
        let document = openapi::document(&endpoints());
        if document != include_str!("../../../docs/openapi.json") {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/openapi.json");
            std::fs::write(file, document).unwrap();
            panic!(
                "the endpoints say something else: copy target/openapi.json to docs/openapi.json"
            );
        }
    }
}
