//! Searches over HTTP. The routes are the table of contents.

mod ask;
mod assets;
mod browse;
mod colour;
mod connections;
mod docs;
mod error;
mod gather;
mod given;
mod hosts;
mod limits;
mod link;
mod livegrep;
mod metrics;
mod numbers;
mod page;
mod results;
mod search;
mod sorted;
mod status;
mod stream;
mod suggest;
mod view;
mod written;
mod zoekt;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use engine::search::Searcher;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_http::compression::CompressionLayer;

use connections::Searches;
pub(crate) use connections::{Threads, serve};
use error::Failure;
pub(crate) use hosts::Hosts;
pub(crate) use limits::{Bounds, Limits, read_tokens};
use metrics::Metrics;
pub(crate) use numbers::grouped;

use crate::statistics::{Book, Refusal};

/// Searches that run at once, for each core: they wait for Postgres and for their clients, too. More of
/// them would keep all others waiting, and those who only ask whether the server lives.
const SEARCHES_PER_CORE: usize = 4;

/// How long a search waits for its turn before its client is told to come back later.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// What a server is told by its operator.
pub(crate) struct Settings {
    /// What takes longer goes into the log of slow searches.
    pub(crate) slow: Option<Duration>,
    /// Statistics are kept in the database.
    pub(crate) statistics: bool,
    /// Searches that run at once, for all clients together.
    pub(crate) at_once: usize,
    pub(crate) limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            slow: None,
            statistics: false,
            at_once: SEARCHES_PER_CORE * cores,
            limits: Limits::default(),
        }
    }
}

/// What all handlers share.
#[derive(Clone)]
pub(crate) struct Server {
    searcher: Arc<Searcher>,
    turns: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    limits: Arc<Limits>,
    /// Where searches are made.
    threads: Handle,
}

impl Server {
    /// Searches are made on the threads of the runtime in which this is called.
    pub(crate) fn new(searcher: Arc<Searcher>, settings: Settings) -> Self {
        Self {
            searcher,
            turns: Arc::new(Semaphore::new(settings.at_once)),
            metrics: Arc::new(Metrics::new(Book::new(settings.statistics), settings.slow)),
            limits: Arc::new(settings.limits),
            threads: Handle::current(),
        }
    }

    /// Its statistics.
    pub(crate) fn book(&self) -> &Book {
        &self.metrics.book
    }

    /// Waits for a turn to search.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        match tokio::time::timeout(MAX_WAIT, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => {
                self.metrics.refuse(Refusal::Busy);
                Err(Failure::busy())
            }
        }
    }
}

/// Every address there is, for those who ask by one of these names.
pub(crate) fn routes_of(server: Server, hosts: Hosts) -> Router {
    let searches = Router::new()
        .route("/search", get(search::search))
        .route("/search/stream", get(stream::stream))
        .route("/search/lines", get(browse::lines))
        .route("/docs", get(docs::docs))
        .route("/files", get(browse::files))
        .route("/api/search", post(zoekt::search).fallback(zoekt::only_post))
        .route("/api/list", post(zoekt::list).fallback(zoekt::only_post))
        .route("/api/v1/search", get(livegrep::search).post(livegrep::search))
        .route("/api/v1/search/", get(livegrep::search).post(livegrep::search))
        // There is one index, however a client calls it.
        .route("/api/v1/search/{backend}", get(livegrep::search).post(livegrep::search))
        .route_layer(from_fn_with_state(server.clone(), limits::searches));
    let reads = Router::new()
        .route("/explain", get(search::explain))
        .route("/suggest", get(suggest::suggest))
        .route("/file", get(browse::file))
        .route("/raw", get(browse::raw))
        .route("/repos", get(browse::repos))
        .route_layer(from_fn_with_state(server.clone(), limits::reads));
    let work = Router::new()
        .route("/", get(page::home))
        .merge(searches)
        .merge(reads)
        .route("/stats", get(status::stats))
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
            get(|address: Uri| async move { assets::STYLE.answer(&address) }),
        )
        .route(
            "/static/first.js",
            get(|address: Uri| async move { assets::FIRST.answer(&address) }),
        )
        .route(
            "/static/script.js",
            get(|address: Uri| async move { assets::SCRIPT.answer(&address) }),
        )
        .fallback(nothing)
        .method_not_allowed_fallback(|| async { Failure::method_not_allowed() })
        .layer(from_fn_with_state(hosts, hosts::check))
        .layer(CompressionLayer::new())
        .layer(map_response(mark))
        .with_state(server)
}

/// Whether a client wants a page: a browser does, unless it says otherwise.
fn wants_page(headers: &HeaderMap, format: Option<&str>) -> bool {
    match format {
        Some(format) => format == "html",
        None => headers
            .get(ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .is_some_and(|accept| accept.contains("text/html")),
    }
}

/// What is said where there is nothing.
async fn nothing(headers: HeaderMap) -> Response {
    let failure = Failure::not_found();
    if wants_page(&headers, None) {
        page::failed(&ask::Asked::default(), failure)
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
