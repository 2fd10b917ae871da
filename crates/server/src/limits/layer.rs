//! Applies the limits of clients to a handler, and counts the bytes of its answer.

use axum::extract::Request;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::caller::Caller;
use super::clients::{Admission, Cost};
use super::part::Rejection;
use crate::compat::zoekt;
use crate::error::{Body as ErrorBody, Failure};
use crate::observed_body::{Observer, observed};
use crate::pages::failed;
use crate::params::{Pairs, wants_page};
use crate::sender::Sender;
use crate::server::Shared;
use statistics::Refusal;

impl Observer for Admission {
    fn sends(&mut self, bytes: usize) {
        self.pay(bytes);
    }
}

/// Applies the limits of clients to a request.
pub async fn limited<F: Future<Output = Response>>(
    server: &Shared,
    cost: Cost,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let limits = &server.limits;
    let caller = request.extensions().get::<Caller>();
    let ticket = limits.admit(limits.client(caller, Sender::of(&request)), cost);
    match ticket.await {
        Ok(ticket) => {
            let address = Address::of(&request);
            let answer = answer(request).await;
            let Some(answer) = server.unread.hold(answer) else {
                server.metrics.refuse(Refusal::Busy);
                return address.refused(Failure::unread());
            };
            answer.map(|body| observed(body, ticket))
        }
        Err(rejection) => {
            server.metrics.refuse(rejection.reason);
            reject(&rejection, &request)
        }
    }
}

/// Returns the answer to a request that exceeds its limits.
fn reject(rejection: &Rejection, request: &Request) -> Response {
    let what = match rejection.reason {
        Refusal::AtOnce => "you have reached your limit of concurrent searches",
        Refusal::PerMinute => "you have reached your limit of searches per minute",
        Refusal::Bytes => "you have reached your limit of answer bytes per minute",
        Refusal::ServerBytes => "this server has reached its limit of answer bytes per minute",
        _ => "this server has reached its limit of searches per minute",
    };
    let seconds = if rejection.wait == 1 { "second" } else { "seconds" };
    let message = format!("{what}; try again in {} {seconds}", rejection.wait);
    let body = ErrorBody::new("too_many_requests", message);
    let mut response = refused(Failure { status: StatusCode::TOO_MANY_REQUESTS, body }, request);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(rejection.wait));
    response
}

/// Returns the answer to a refused request, in the format of errors at its address.
pub fn refused(failure: Failure, request: &Request) -> Response {
    Address::of(request).refused(failure)
}

/// The parts of a request that determine the format of errors.
struct Address {
    pairs: Pairs,
    is_zoekts: bool,
    is_page: bool,
}

impl Address {
    fn of(request: &Request) -> Self {
        let pairs = Pairs::of(request.extensions());
        let is_page = wants_page(request.headers(), pairs.get("format"));
        Self { is_zoekts: zoekt::is_zoekt_api(request.uri().path()), is_page, pairs }
    }

    pub fn refused(&self, failure: Failure) -> Response {
        if self.is_zoekts {
            zoekt::refused(&failure)
        } else if self.is_page {
            failed(self.pairs.get("q").unwrap_or_default(), failure)
        } else {
            failure.into_response()
        }
    }
}
