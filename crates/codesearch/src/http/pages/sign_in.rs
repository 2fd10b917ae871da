//! The page on which a person gives a token.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::render::render;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    back: &'a str,
    error: &'a str,
}

/// The page, from which it goes on to `back`; with an error, if that is not empty.
pub(crate) fn sign_in(status: StatusCode, back: &str, error: &str) -> Response {
    render(status, &SignInPage { back, error })
}
