//! Renders templates to responses, with the security headers of pages.

use askama::Template;
use axum::body::Body;
use axum::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};

/// The content security policy: pages load and run only our own style sheet and scripts, whatever text they show.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Renders a page to a response with security headers.
pub(crate) fn render(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(page) => sent(status, page),
        Err(error) => broken(&error),
    }
}

pub(super) fn sent(status: StatusCode, page: impl Into<Body>) -> Response {
    let mut response = (status, Html(page.into())).into_response();
    protect(&mut response, POLICY);
    response
}

pub(super) fn broken(error: &askama::Error) -> Response {
    tracing::error!("a page could not be rendered: {error}");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}

/// Adds the security headers.
pub(crate) fn protect(response: &mut Response, policy: &'static str) {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
}
