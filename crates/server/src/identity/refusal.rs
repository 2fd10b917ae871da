//! The answers to clients that are not admitted.

use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use statistics::Refusal;

use super::metadata::address_for;
use crate::endpoint::Admits;
use crate::error::Failure;
use crate::limits::{Caller, refused};
use crate::pages::{failed, sign_in as page};
use crate::params::{Pairs, wants_page};
use crate::server::Shared;

/// Why what a request sends does not prove who asks. Sentences are without a full stop.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The token is unknown.
    Unknown,
    /// The token of this user ended at this time.
    Expired(Timestamp, String),
    /// The JWT does not count.
    Jwt(String),
    /// The headers of a proxy do not count.
    Header(String),
    /// The address has sent too much that does not count; the seconds until it may try again.
    TooMany(u64),
    /// It cannot be checked now.
    Unavailable(String),
}

/// Marks the answer to a client that was not admitted, for what records requests.
#[derive(Clone, Debug)]
pub(crate) struct Denied {
    /// The code of the error.
    pub(crate) code: &'static str,
    /// Who asked, if that was proven, or whose token had expired.
    pub(crate) name: Option<String>,
}

impl Wrong {
    /// Returns the failure, and the reason for which it is counted.
    pub(super) fn failure(&self) -> (Failure, Refusal) {
        let unauthorized = StatusCode::UNAUTHORIZED;
        match self {
            Self::Unknown => {
                let why = "unknown token; ask the operator of this server for one";
                (Failure::new(unauthorized, "unknown_token", why), Refusal::Token)
            }
            Self::Expired(end, _) => {
                let why = format!(
                    "this token expired at {end}; ask the operator of this server for a new one"
                );
                (Failure::new(unauthorized, "expired_token", why), Refusal::Expired)
            }
            Self::Jwt(why) => (Failure::new(unauthorized, "invalid_jwt", why), Refusal::Jwt),
            Self::Header(why) => {
                (Failure::new(unauthorized, "untrusted_header", why), Refusal::Header)
            }
            Self::TooMany(wait) => (Failure::too_many("wrong tokens", *wait), Refusal::Attempts),
            Self::Unavailable(why) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                (Failure::new(status, "identity_unavailable", why), Refusal::Identity)
            }
        }
    }

    /// Returns whose proof it was, if that is known.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Expired(_, name) => Some(name),
            _ => None,
        }
    }

    /// Returns the seconds after which the client may try again, if that is the reason.
    pub(super) fn wait(&self) -> Option<u64> {
        match self {
            Self::TooMany(wait) => Some(*wait),
            _ => None,
        }
    }
}

/// Returns the answer to a request whose proof does not count.
pub(super) fn wrong(server: &Shared, wrong: &Wrong, request: &Request) -> Response {
    let (failure, reason) = wrong.failure();
    server.metrics.refuse(reason);
    let code = failure.body.code;
    if failure.status == StatusCode::UNAUTHORIZED {
        return unauthorized(server, failure, wrong.name(), request);
    }
    let mut response = refused(failure, request);
    if let Some(wait) = wrong.wait() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
    }
    denied(response, code, None)
}

/// Returns the answer to a client that proves nothing.
pub(super) fn nobody(server: &Shared, admits: Admits, request: &Request) -> Response {
    server.metrics.refuse(Refusal::Token);
    let can_sign_in = can_sign_in(server);
    let why = if can_sign_in {
        "this server requires a token: send Authorization: Bearer TOKEN, or sign in at /sign-in"
    } else if server.identity.has_proxy() {
        "this server answers only those whom its proxy names; ask through the proxy"
    } else if admits == Admits::Ingesters {
        "without tokens, only the server's own machine may have repositories ingested, and not through a proxy; \
         start codesearch serve with --tokens FILE, and send a token marked ingest"
    } else {
        "without tokens, only the server's own machine may see what others search for, and not through a \
         proxy; start codesearch serve with --tokens FILE, and send a token marked admin"
    };
    let failure = Failure::new(StatusCode::UNAUTHORIZED, "no_token", why);
    if can_sign_in || !is_page(request) {
        unauthorized(server, failure, None, request)
    } else {
        denied(failed("", failure), "no_token", None)
    }
}

/// Returns the answer to a client without the right that an endpoint needs.
pub(super) fn forbidden(
    server: &Shared,
    admits: Admits,
    caller: &Caller,
    request: &Request,
) -> Response {
    server.metrics.refuse(Refusal::Right);
    let (code, why) = if admits == Admits::Ingesters {
        ("ingest_only", "only a token marked ingest or admin may have repositories ingested")
    } else {
        ("admin_only", "only a token marked admin may see what others search for")
    };
    let response = refused(Failure::new(StatusCode::FORBIDDEN, code, why), request);
    denied(response, code, Some(caller.name().to_owned()))
}

/// Returns whether a page to sign in is of use.
pub(super) fn can_sign_in(server: &Shared) -> bool {
    server.identity.takes_tokens() || server.identity.has_jwt()
}

/// Returns the answer with status 401 (RFC 6750, RFC 9728). A browser gets the page to sign in.
fn unauthorized(
    server: &Shared,
    failure: Failure,
    name: Option<&str>,
    request: &Request,
) -> Response {
    let code = failure.body.code;
    let mut challenge = "Bearer realm=\"codesearch\"".to_owned();
    if code != "no_token" {
        challenge.push_str(", error=\"invalid_token\"");
    }
    if let Some(address) = address_for(server, request) {
        challenge = format!("{challenge}, resource_metadata=\"{address}\"");
    }
    let mut response = if is_page(request) && can_sign_in(server) {
        let back = request.uri().path_and_query().map_or("/", |address| address.as_str());
        page(StatusCode::UNAUTHORIZED, back, "")
    } else {
        refused(failure, request)
    };
    let headers = response.headers_mut();
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    denied(response, code, name.map(str::to_owned))
}

fn denied(mut response: Response, code: &'static str, name: Option<String>) -> Response {
    response.extensions_mut().insert(Denied { code, name });
    response
}

/// Returns whether a request asks for a page.
fn is_page(request: &Request) -> bool {
    let pairs = Pairs::of(request.extensions());
    wants_page(request.headers(), pairs.get("format"))
}
