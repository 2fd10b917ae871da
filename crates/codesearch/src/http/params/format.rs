//! Decides whether a client wants a page or JSON.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// Whether a client wants a page: browsers do, unless `format=` says otherwise.
pub(crate) fn wants_page(headers: &HeaderMap, format: Option<&str>) -> bool {
    match format.filter(|format| !format.is_empty()) {
        Some(format) => format == "html",
        None => headers
            .get(ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .is_some_and(|accept| accept.contains("text/html")),
    }
}
