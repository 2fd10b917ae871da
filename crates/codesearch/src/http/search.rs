//! `/search`: JSON for programs, a page for browsers; and `/explain`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};

use super::compat::zoekt;
use super::error::Failure;
use super::params::{RejectedParams, SearchParams, StrictParams, wants_page};
use super::request::compiled;
use super::server::Server;
use super::{json, pages};
use crate::print::explanation;

/// Answers a search.
pub(crate) async fn search(
    State(server): State<Server>,
    headers: HeaderMap,
    address: Uri,
    params: Result<StrictParams<SearchParams>, RejectedParams>,
) -> Response {
    if let Some(answer) = zoekt::answer_web(&server, &address).await {
        return answer;
    }
    let params = match params {
        Ok(StrictParams(params)) => params,
        Err(refused) => return refused.into_response(),
    };
    let page = wants_page(&headers, params.format.as_deref());
    if page && params.q.trim().is_empty() {
        return pages::home(State(server)).await;
    }
    let answered = if page {
        pages::page(&server, &params).await
    } else {
        json::answer(&server, &params).await
    };
    match answered {
        Ok(response) => response,
        Err(failure) if page => pages::failed(&params.q, failure),
        Err(failure) => failure.into_response(),
    }
}

/// `/explain`: how a query is understood and planned, without searching.
pub(crate) async fn explain(
    State(server): State<Server>,
    StrictParams(params): StrictParams<SearchParams>,
) -> Result<Response, Failure> {
    let request = compiled(&params, None).await?;
    Ok(Json(explanation(&request, server.searcher.store().no_recheck())).into_response())
}
