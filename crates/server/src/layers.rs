//! The layers around the handlers: checks of every request, and checks that an endpoint's declaration requires.
//!
//! Each of the two is one layer. Separate layers for each check would be as readable, but a router clones all inner
//! layers for each request: with nine layers, the clones took a tenth of a short search.

use std::sync::Arc;
use std::time::Duration;

use audit::Told;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;

use super::audited::{Audited, is_audited};
use super::compat::zoekt;
use super::connections::{BODY_TIMEOUT, OnSocket, SearchThreads};
use super::endpoint::{Admits, Class, Endpoint};
use super::error::Failure;
use super::hosts::Hosts;
use super::identity;
use super::limits::{Cost, limited};
use super::params::{DeclaredParams, read_address};
use super::server::{MAX_WAIT, Shared};
use super::timely_body::TimelyBody;

/// Largest body, in bytes: a query of [`query::MAX_QUERY_BYTES`] as JSON with each of its bytes escaped, and other
/// fields.
pub(super) const MAX_BODY: usize = 256 << 10;

/// Where the addresses of webhooks begin.
pub(super) const HOOKS_PATH: &str = "/hooks/";

/// Largest body of a webhook, in bytes: that of the hosts.
pub(super) const MAX_HOOK_BODY: usize = 25 << 20;

/// Largest oversized body that is still read, in bytes, so that its client receives the error.
const MAX_UNWANTED: u64 = 2 << 20;

/// Longest path in the audit of a request that reaches no endpoint, in bytes.
const MAX_PATH: usize = 128;

/// Longest time for the work besides a search: a few statements, which take milliseconds.
const GRACE: Duration = Duration::from_secs(20);

/// Checks every request before it reaches its route: its length, then its host and site. Limits the time in which its
/// body arrives, reads unread parts of the body, and marks the answer.
pub(super) async fn every_request(
    State((hosts, server)): State<(Hosts, Shared)>,
    request: Request,
    next: Next,
) -> Response {
    let most = max_body(&request);
    let mut response = match too_long(&request, most) {
        // A client that is still sending would miss the error.
        Some(refusal) if declared(&request) <= Some(MAX_UNWANTED) => {
            let body = TimelyBody::new(request.into_body(), BODY_TIMEOUT);
            if body.read_away(MAX_UNWANTED).await { refusal } else { closing(refusal) }
        }
        Some(refusal) => closing(refusal),
        None if request.body().is_end_stream() => answered(&hosts, &server, request, next).await,
        None => {
            let (head, body) = request.into_parts();
            let body = TimelyBody::new(body, BODY_TIMEOUT);
            let request = Request::from_parts(head, Body::new(body.clone()));
            let response = answered(&hosts, &server, request, next).await;
            // If a response precedes the end of its request, hyper closes the connection without notice. By then, the
            // client may have sent the next request.
            if body.read_away(MAX_UNWANTED.min(most as u64)).await {
                response
            } else {
                closing(response)
            }
        }
    };
    mark(&mut response);
    // The next request of this client goes to another server.
    if server.fellows.is_draining() { closing(response) } else { response }
}

async fn answered(hosts: &Hosts, server: &Shared, request: Request, next: Next) -> Response {
    match hosts.refusal(&request) {
        Some(refusal) => match Audited::begin(server, asked(&request), &request) {
            Some(audited) => audited.answered(refusal),
            None => refusal,
        },
        None => next.run(request).await,
    }
}

/// Returns the path that a request asks for, shortened if it is long.
fn asked(request: &Request) -> String {
    audit::shortened(request.uri().path().to_owned(), MAX_PATH)
}

/// Tells the client that the connection is closed after this response.
fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns the declared length of a request's body.
fn declared(request: &Request) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns the most bytes of the body of a request.
fn max_body(request: &Request) -> usize {
    if request.uri().path().starts_with(HOOKS_PATH) { MAX_HOOK_BODY } else { MAX_BODY }
}

/// Returns the answer to a request whose declared length is above `most`, before its body is read.
fn too_long(request: &Request, most: usize) -> Option<Response> {
    let length = declared(request)?;
    let is_zoekts = zoekt::is_zoekt_api(request.uri().path());
    let failure = if most == MAX_HOOK_BODY { Failure::too_large_hook } else { Failure::too_large };
    (length > most as u64).then(|| failed(is_zoekts, failure()))
}

/// Adds headers to a response: browsers must not guess its type, other sites must not embed it, and caches must
/// distinguish pages from JSON.
fn mark(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.append(VARY, HeaderValue::from_static("accept"));
}

/// The checks that an endpoint's declaration requires.
struct Checks {
    server: Shared,
    admits: Admits,
    params: DeclaredParams,
    /// Its address in the audit; `None` if it is not audited.
    audited: Option<&'static str>,
    /// Its cost for the limits of clients; `None` if they do not apply.
    cost: Option<Cost>,
    /// The threads on which it runs; `None` for its connection's thread.
    threads: Option<SearchThreads>,
    /// Longest time until its answer begins.
    most: Duration,
}

/// Wraps an endpoint's handler in the checks that its declaration requires.
pub(super) fn checked(
    endpoint: &Endpoint,
    server: &Shared,
    searches: &SearchThreads,
) -> MethodRouter<Shared> {
    let checks = Checks::of(endpoint, server, searches);
    (endpoint.route)().layer(from_fn_with_state(Arc::new(checks), check))
}

/// Checks access, then the limits of clients, and gives the handler a time limit.
async fn check(State(checks): State<Arc<Checks>>, request: Request, next: Next) -> Response {
    let request = read_address(checks.params, request);
    let path = checks.audited;
    match path.and_then(|path| Audited::begin(&checks.server, path, &request)) {
        None => admitted(&checks, request, next, None).await,
        Some(mut audited) => {
            let response = admitted(&checks, request, next, Some(&mut audited)).await;
            audited.answered(response)
        }
    }
}

/// Checks access, and answers a request that is admitted.
async fn admitted(
    checks: &Arc<Checks>,
    mut request: Request,
    next: Next,
    audited: Option<&mut Audited>,
) -> Response {
    if let Err(refused) = identity::admit(&checks.server, checks.admits, &mut request).await {
        return *refused;
    }
    let told = audited.map_or_else(Told::default, |audited| {
        audited.asked_by(&request);
        audited.told()
    });
    let mut response = match &checks.threads {
        None => told.scope(next.run(request)).await,
        Some(threads) => threads.run(told.scope(answer(Arc::clone(checks), request, next))).await,
    };
    identity::mark(&checks.server, checks.admits, &mut response);
    response
}

/// Answers a request within the client's limits.
async fn answer(checks: Arc<Checks>, request: Request, next: Next) -> Response {
    let answering = |request| in_time(checks.most, request, next);
    match checks.cost {
        None => answering(request).await,
        // The limits of clients are for those on the network.
        Some(_) if request.extensions().get::<OnSocket>().is_some() => answering(request).await,
        Some(cost) => limited(&checks.server, cost, request, answering).await,
    }
}

/// Gives up a request whose answer has not begun in time: Postgres may not respond.
async fn in_time(most: Duration, request: Request, next: Next) -> Response {
    let is_zoekts = zoekt::is_zoekt_api(request.uri().path());
    let answered = tokio::time::timeout(most, next.run(request)).await;
    answered.unwrap_or_else(|_| failed(is_zoekts, Failure::silent(most)))
}

fn failed(is_zoekts: bool, failure: Failure) -> Response {
    if is_zoekts { zoekt::refused(&failure) } else { failure.into_response() }
}

impl Checks {
    fn of(endpoint: &Endpoint, server: &Shared, searches: &SearchThreads) -> Self {
        // Before that, a search ends by itself, unless Postgres does not respond.
        let search = MAX_WAIT + server.admin().searcher.max_time().unwrap_or_default();
        let (cost, threads, search) = match endpoint.class {
            Class::Search => (Some(Cost::Search), Some(searches.clone()), search),
            Class::Whole => (Some(Cost::Search), Some(searches.clone().only()), search),
            Class::Read => (Some(Cost::Nothing), Some(searches.clone().only()), Duration::ZERO),
            Class::Queue | Class::Free => (None, Some(searches.clone().only()), Duration::ZERO),
            Class::Light => (None, None, Duration::ZERO),
        };
        let Endpoint { admits, params, .. } = *endpoint;
        let audited = is_audited(endpoint).then_some(endpoint.path);
        let (server, most) = (server.clone(), search + GRACE);
        Self { server, admits, params, audited, cost, threads, most }
    }
}
