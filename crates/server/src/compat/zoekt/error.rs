//! Errors in Zoekt's format.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::error::{Body, Code, Failure};

/// Returns whether an endpoint answers in Zoekt's JSON, errors included.
pub(crate) fn is_zoekt_api(path: &str) -> bool {
    let path = path.strip_prefix("/zoekt").unwrap_or(path);
    matches!(path, "/api/search" | "/api/list")
}

/// Returns an error in Zoekt's format.
pub fn refused(failure: &Failure) -> Response {
    let mut response =
        (failure.status, Json(json!({ "Error": failure.body.message }))).into_response();
    response.extensions_mut().insert(Code(failure.body.code));
    response
}

pub(super) fn internal(message: String) -> Failure {
    Failure { status: StatusCode::INTERNAL_SERVER_ERROR, body: Body::new("internal", message) }
}
