//! Signing in on a page: the browser keeps the token, or the JWT, in a cookie.

use axum::Form;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::{LOCATION, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::credentials::COOKIE_NAME;
use super::origin::is_over_tls;
use super::refusal::{Denied, can_sign_in};
use crate::endpoint::{Admits, Class, Endpoint};
use crate::error::Failure;
use crate::pages::{failed, sign_in as page};
use crate::params::wants_page;
use crate::sender::Sender;
use crate::server::Shared;

/// Longest token in a cookie, in bytes: browsers drop cookies of more than 4096 with their names and attributes. Generated
/// tokens have 32.
const MAX_COOKIE: usize = 3900;

/// The message about a longer one.
const TOO_LONG: &str = "This token is too long for a cookie. If it is a JWT, have the identity provider leave out groups, \
                        or use a proxy that signs people in.";

/// Seconds that a browser keeps the cookie at most: 30 days.
const COOKIE_AGE: i64 = 30 * 24 * 60 * 60;

/// What is encoded in a cookie. A JWT has none of it.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

pub(crate) const SIGN_IN: Endpoint = Endpoint {
    admits: Admits::Anyone,
    ..Endpoint::undocumented("/sign-in", Class::Light, || get(sign_in_page).post(sign_in))
};

pub(crate) const SIGN_OUT: Endpoint = Endpoint {
    admits: Admits::Anyone,
    ..Endpoint::undocumented("/sign-out", Class::Light, || post(sign_out))
};

/// Sends the page to sign in. A server that takes no tokens has none.
async fn sign_in_page(State(server): State<Shared>, headers: HeaderMap) -> Response {
    if can_sign_in(&server) {
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

async fn sign_in(State(server): State<Shared>, request: Request) -> Response {
    let sender = Sender::of(&request);
    let (address, secure) = (server.limits.network(sender), is_over_tls(&server, sender));
    let given = match Form::<SignInForm>::from_request(request, &()).await {
        Ok(Form(given)) => given,
        Err(error) => return error.into_response(),
    };
    let token = given.token.trim();
    let refuse = |status, why: &str, code| {
        let mut response = page(status, &given.back, why);
        response.extensions_mut().insert(Denied { code, name: None });
        response
    };
    let unauthorized = StatusCode::UNAUTHORIZED;
    if token.len() > MAX_COOKIE {
        server.metrics.refuse(statistics::Refusal::Token);
        return refuse(unauthorized, TOO_LONG, "too_long");
    }
    let caller = match server.identity.owner(&server.limits, token, address, false).await {
        Ok(caller) => caller,
        Err(wrong) => {
            let (failure, reason) = wrong.failure();
            server.metrics.refuse(reason);
            let code = failure.body.code;
            if let Some(name) = wrong.name() {
                audit::told().who(name);
            }
            let why = if code == "unknown_token" {
                "Unknown token.".to_owned()
            } else {
                sentence(&failure.body.message)
            };
            let mut response = refuse(failure.status, &why, code);
            if let Some(wait) = wrong.wait() {
                response.headers_mut().insert(RETRY_AFTER, wait.into());
            }
            return response;
        }
    };
    audit::told().who(caller.name());
    let token = utf8_percent_encode(token, ENCODED).to_string();
    if token.len() > MAX_COOKIE {
        return refuse(unauthorized, TOO_LONG, "too_long");
    }
    let left =
        caller.until().map_or(COOKIE_AGE, |end| end.as_second() - Timestamp::now().as_second());
    go(ours(&given.back), &token, left.clamp(0, COOKIE_AGE), secure)
}

/// Writes a message as a sentence of its own.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

async fn sign_out(State(server): State<Shared>, request: Request) -> Response {
    go("/sign-in", "", 0, is_over_tls(&server, Sender::of(&request)))
}

/// Redirects a browser, and sets the cookie.
fn go(place: &str, token: &str, age: i64, secure: bool) -> Response {
    let secure = if secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE_NAME}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    let headers = [(SET_COOKIE, cookie), (LOCATION, place.to_owned())];
    (StatusCode::SEE_OTHER, headers).into_response()
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
}
