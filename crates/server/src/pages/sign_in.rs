//! The page on which a person enters a token.

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

/// Sends the page. After signing in, the browser continues at `back`. `error` is empty or a message.
pub(crate) fn sign_in(status: StatusCode, back: &str, error: &str) -> Response {
    render(status, &SignInPage { back, error })
}
