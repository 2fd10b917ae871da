//! Searches over HTTP. The routes are the table of contents.

mod error;
mod gather;
mod livegrep;
mod page;
mod search;
mod zoekt;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use engine::search::Searcher;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use error::Failure;

/// Searches that run at once. Each keeps a core busy; more of them only take memory.
const MAX_SEARCHES: usize = 32;

/// How long a search waits for its turn before its client is told to come back later.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// What all handlers share.
#[derive(Clone)]
struct Server {
    searcher: Arc<Searcher>,
    turns: Arc<Semaphore>,
}

impl Server {
    /// Waits for a turn to search.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        match tokio::time::timeout(MAX_WAIT, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Failure::busy()),
        }
    }
}

/// Every address there is.
pub(crate) fn routes(searcher: Arc<Searcher>) -> Router {
    let server = Server { searcher, turns: Arc::new(Semaphore::new(MAX_SEARCHES)) };
    Router::new()
        .route("/", get(page::home))
        .route("/search", get(search::search))
        .route("/api/search", post(zoekt::search).fallback(zoekt::only_post))
        .route("/api/list", post(zoekt::list).fallback(zoekt::only_post))
        .route("/api/v1/search", get(livegrep::search).post(livegrep::search))
        .route("/api/v1/search/", get(livegrep::search).post(livegrep::search))
        // There is one index, however a client calls it.
        .route("/api/v1/search/{backend}", get(livegrep::search).post(livegrep::search))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/syntax", get(syntax))
        .route("/static/style.css", get(style))
        .fallback(|| async { Failure::not_found() })
        .method_not_allowed_fallback(|| async { Failure::method_not_allowed() })
        .with_state(server)
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

async fn style() -> impl IntoResponse {
    let headers = [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "max-age=60")];
    (StatusCode::OK, headers, include_str!("../../../../web/static/style.css"))
}
