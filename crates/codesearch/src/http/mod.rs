//! Searches over HTTP. The routes are the table of contents.

mod compat;
mod connections;
mod cursor;
mod error;
mod hosts;
mod json;
mod limits;
mod metrics;
mod order;
mod pages;
mod params;
mod request;
mod search;
mod search_stream;
mod server;
mod stream;
mod top_k;

use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;

use compat::{livegrep, zoekt};
use connections::Searches;
pub(crate) use connections::{Threads, serve};
use error::Failure;
pub(crate) use hosts::Hosts;
pub(crate) use limits::{Bounds, Limits, read_tokens};
pub(crate) use server::{Server, Settings};

/// Every address there is, for those who ask by one of these names.
pub(crate) fn routes_of(server: Server, hosts: Hosts) -> Router {
    let searches = Router::new()
        .route("/search", get(search::search))
        .route("/search/stream", get(stream::stream))
        .route("/search/lines", get(pages::lines))
        .route("/docs", get(pages::docs))
        .route("/files", get(pages::files))
        .route("/api/search", post(zoekt::search).fallback(zoekt::only_post))
        .route("/api/list", post(zoekt::list).fallback(zoekt::only_post))
        .route("/api/v1/search", get(livegrep::search).post(livegrep::search))
        .route("/api/v1/search/", get(livegrep::search).post(livegrep::search))
        // There is one index, however a client calls it.
        .route("/api/v1/search/{backend}", get(livegrep::search).post(livegrep::search))
        .route_layer(from_fn_with_state(server.clone(), limits::searches));
    let reads = Router::new()
        .route("/explain", get(search::explain))
        .route("/suggest", get(pages::suggest))
        .route("/file", get(pages::file))
        .route("/raw", get(pages::raw))
        .route("/repos", get(pages::repos))
        .route_layer(from_fn_with_state(server.clone(), limits::reads));
    let work = Router::new()
        .route("/", get(pages::home))
        .merge(searches)
        .merge(reads)
        .route("/stats", get(pages::stats))
        .route("/metrics", get(metrics::metrics))
        .route("/readyz", get(ready))
        .route_layer(from_fn_with_state(
            Searches::on(server.threads.clone()),
            connections::elsewhere,
        ));
    Router::new()
        .merge(work)
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/syntax", get(syntax))
        .route("/openapi.json", get(openapi))
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
        .layer(from_fn_with_state(hosts, hosts::check))
        .layer(CompressionLayer::new())
        .layer(map_response(mark))
        .with_state(server)
}

/// What is said where there is nothing.
async fn nothing(headers: HeaderMap) -> Response {
    let failure = Failure::not_found();
    if params::wants_page(&headers, None) {
        pages::failed("", failure)
    } else {
        failure.into_response()
    }
}

/// Says of every response that it is what it says it is, and that another client may get another one at
/// the same address.
async fn mark(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.append(VARY, HeaderValue::from_static("accept"));
    response
}

/// Whether searches can be answered now.
async fn ready(State(server): State<Server>) -> Result<&'static str, Failure> {
    server.searcher.catalog().await?;
    Ok("ready\n")
}

/// What a query can say.
async fn syntax() -> &'static str {
    include_str!("../../../../docs/syntax.md")
}

/// What can be asked over HTTP, and what is answered (<https://spec.openapis.org/oas/v3.1.0>).
async fn openapi() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], include_str!("../../../../docs/openapi.json"))
}
