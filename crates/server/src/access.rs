//! Access control. A server that has tokens answers only clients that send one, unless it is open;
//! a server that listens for other machines must have tokens or be open. A program sends its token
//! with each request (RFC 6750). A person enters it once on a page, and the browser then sends it
//! in a cookie, only from this server's own pages.

use std::convert::Infallible;

use axum::Form;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, COOKIE, LOCATION, SET_COOKIE, VARY, WWW_AUTHENTICATE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Deserialize;

use super::connections::OnSocket;
use super::endpoint::{Admits, Class, Endpoint};
use super::error::{Body, Failure};
use super::limits::{Caller, refused};
use super::pages::{failed, sign_in as page};
use super::params::{Pairs, wants_page};
use super::sender::Sender;
use super::server::{Access, Shared};
use statistics::Refusal;

/// The name of the cookie that holds a person's token.
const COOKIE_NAME: &str = "codesearch_token";

/// Longest token that is looked up, in bytes; generated tokens have 32.
const MAX_TOKEN: usize = 4096;

/// Seconds that a browser keeps the cookie: 30 days.
const COOKIE_AGE: u32 = 30 * 24 * 60 * 60;

/// The header in which a proxy states that its client used TLS.
const FORWARDED_PROTO: &str = "x-forwarded-proto";

pub(super) const SIGN_IN: Endpoint = Endpoint {
    admits: Admits::Anyone,
    ..Endpoint::undocumented("/sign-in", Class::Light, || get(sign_in_page).post(sign_in))
};

pub(super) const SIGN_OUT: Endpoint = Endpoint {
    admits: Admits::Anyone,
    ..Endpoint::undocumented("/sign-out", Class::Light, || post(sign_out))
};

/// Admits the caller of a request, and attaches it to the request.
///
/// # Errors
/// The response to a caller that is not admitted.
pub(super) fn admit(
    server: &Shared,
    admits: Admits,
    request: &mut Request,
) -> Result<(), Box<Response>> {
    // The socket is open to its user only.
    if request.extensions().get::<OnSocket>().is_some() {
        return Ok(());
    }
    let Access { needs_token, is_public } = server.access;
    let (needs_token, may): (bool, fn(&Caller) -> bool) = match admits {
        Admits::Anyone => return Ok(()),
        Admits::Clients => (needs_token, |_| true),
        // Without tokens, everyone on this machine may see what others search for.
        Admits::Operators => {
            let is_elsewhere = is_public || !Sender::of(request).is_here();
            (needs_token || is_elsewhere, Caller::is_operator)
        }
        // Nor is anybody else to have them read folders again and again.
        Admits::Ingesters => {
            let is_elsewhere = is_public || !Sender::of(request).is_here();
            (needs_token || is_elsewhere, Caller::may_ingest)
        }
    };
    let (sent, kept) = (bearer(request.headers()), cookie(request.headers()));
    let token = sent.map(str::to_owned).or(kept).filter(|_| server.limits.has_tokens());
    let caller = token.as_deref().and_then(|token| server.limits.caller(token));
    if sent.is_some() && token.is_some() && caller.is_none() {
        server.metrics.refuse(Refusal::Token);
        let message = "unknown token; ask the operator of this server for one";
        return Err(Box::new(unauthorized("unknown_token", message, request)));
    }
    match &caller {
        _ if !needs_token => {}
        Some(caller) if may(caller) => {}
        Some(_) => {
            let (code, message) = if admits == Admits::Ingesters {
                (
                    "ingest_only",
                    "only a token marked ingest or admin may have repositories ingested",
                )
            } else {
                ("admin_only", "only a token marked admin may see what others search for")
            };
            let failure = failure(StatusCode::FORBIDDEN, code, message);
            return Err(Box::new(refused(failure, request)));
        }
        None => {
            server.metrics.refuse(Refusal::Token);
            let message = if server.access.needs_token || server.limits.has_tokens() {
                "this server requires a token: send Authorization: Bearer TOKEN, or sign in at /sign-in"
            } else if admits == Admits::Ingesters {
                "without tokens, only the server's own machine may have repositories ingested, and not through a proxy; \
                 start codesearch serve with --tokens FILE, and send a token marked ingest"
            } else {
                "without tokens, only the server's own machine may see what others search for, and not through a \
                 proxy; start codesearch serve with --tokens FILE, and send a token marked admin"
            };
            let can_sign_in = server.access.needs_token || server.limits.has_tokens();
            return Err(Box::new(if can_sign_in || !is_page(request) {
                unauthorized("no_token", message, request)
            } else {
                failed("", failure(StatusCode::UNAUTHORIZED, "no_token", message))
            }));
        }
    }
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    Ok(())
}

/// Whether the client of a request may have repositories ingested.
pub(super) struct MayIngest(pub(super) bool);

impl FromRequestParts<Shared> for MayIngest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, server: &Shared) -> Result<Self, Infallible> {
        if parts.extensions.get::<OnSocket>().is_some() {
            return Ok(Self(true));
        }
        let sender = Sender::of_head(parts);
        let Access { needs_token, is_public } = server.access;
        let has_right = parts.extensions.get::<Caller>().is_some_and(Caller::may_ingest);
        Ok(Self(has_right || !needs_token && !is_public && sender.is_here()))
    }
}

/// Whether the client of a request may see what others search for, as it may at addresses for operators.
pub(super) struct IsOperator(pub(super) bool);

impl FromRequestParts<Shared> for IsOperator {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, server: &Shared) -> Result<Self, Infallible> {
        if parts.extensions.get::<OnSocket>().is_some() {
            return Ok(Self(true));
        }
        let Access { needs_token, is_public } = server.access;
        let has_right = parts.extensions.get::<Caller>().is_some_and(Caller::is_operator);
        let is_here = Sender::of_head(parts).is_here();
        Ok(Self(has_right || !needs_token && !is_public && is_here))
    }
}

/// Marks an answer as dependent on the token, so that shared caches do not give it to other clients.
pub(super) fn mark(server: &Shared, admits: Admits, response: &mut Response) {
    if server.access.needs_token && admits != Admits::Anyone {
        response.headers_mut().append(VARY, HeaderValue::from_static("authorization, cookie"));
    }
}

fn failure(status: StatusCode, code: &'static str, message: &str) -> Failure {
    Failure { status, body: Body::new(code, message) }
}

/// Returns the response to a client without a token or with a wrong one. A browser gets the page to sign in.
fn unauthorized(code: &'static str, message: &str, request: &Request) -> Response {
    let mut response = if is_page(request) {
        let back = request.uri().path_and_query().map_or("/", |address| address.as_str());
        page(StatusCode::UNAUTHORIZED, back, "")
    } else {
        refused(failure(StatusCode::UNAUTHORIZED, code, message), request)
    };
    let headers = response.headers_mut();
    headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"codesearch\""));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns whether a request asks for a page.
fn is_page(request: &Request) -> bool {
    let pairs = Pairs::of(request.extensions());
    wants_page(request.headers(), pairs.get("format"))
}

/// Returns the token that a program sends. Ignores other schemes.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the token in a browser's cookie.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';')).filter_map(|one| one.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim() == COOKIE_NAME)?;
    Some(percent_decode_str(value.trim()).decode_utf8().ok()?.into_owned())
}

/// Sends the page to sign in. A server without tokens has none.
async fn sign_in_page(State(server): State<Shared>, headers: HeaderMap) -> Response {
    if server.access.needs_token || server.limits.has_tokens() {
        return page(StatusCode::OK, "/", "");
    }
    let missing = Failure::not_found();
    if wants_page(&headers, None) { failed("", missing) } else { missing.into_response() }
}

/// The form to sign in: the token, and the page to continue at.
#[derive(Debug, Deserialize)]
struct SignInForm {
    token: String,
    #[serde(default)]
    back: String,
}

async fn sign_in(
    State(server): State<Shared>,
    headers: HeaderMap,
    Form(given): Form<SignInForm>,
) -> Response {
    let token = given.token.trim();
    if token.len() > MAX_TOKEN || server.limits.caller(token).is_none() {
        server.metrics.refuse(Refusal::Token);
        return page(StatusCode::UNAUTHORIZED, &given.back, "Unknown token.");
    }
    let token = utf8_percent_encode(token, NON_ALPHANUMERIC).to_string();
    go(ours(&given.back), &token, COOKIE_AGE, is_over_tls(&server, &headers))
}

async fn sign_out(State(server): State<Shared>, headers: HeaderMap) -> Response {
    go("/sign-in", "", 0, is_over_tls(&server, &headers))
}

/// Redirects a browser, and sets the cookie.
fn go(place: &str, token: &str, age: u32, secure: bool) -> Response {
    let secure = if secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE_NAME}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    let headers = [(SET_COOKIE, cookie), (LOCATION, place.to_owned())];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// Returns whether the client uses TLS, according to a trusted proxy.
fn is_over_tls(server: &Shared, headers: &HeaderMap) -> bool {
    server.limits.is_forwarded(headers)
        && headers.get(FORWARDED_PROTO).is_some_and(|scheme| scheme == "https")
}

/// Returns an address on this server; the start page in place of any other address.
fn ours(address: &str) -> &str {
    let is_ours = address.starts_with('/')
        && !address.starts_with("//")
        && address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_ours { address } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_site() {
        for address in ["/", "/search?q=a%20b&limit=1", "/file?path=x//y"] {
            assert_eq!(ours(address), address);
        }
        for address in
            ["", "x", "//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nb: c"]
        {
            assert_eq!(ours(address), "/", "{address}");
        }
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, value.parse().unwrap());
            cookie(&headers)
        };
        assert_eq!(of("a=b; codesearch_token=0f; c=d").as_deref(), Some("0f"));
        assert_eq!(of("codesearch_token=a%2Bb").as_deref(), Some("a+b"));
        assert_eq!(of("xcodesearch_token=0f"), None);
    }
}
