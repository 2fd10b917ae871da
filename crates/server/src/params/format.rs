//! Decides whether a client wants a page or JSON.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// Returns whether a client wants a page. Browsers do, unless `format=` says otherwise.
pub(crate) fn wants_page(headers: &HeaderMap, format: Option<&str>) -> bool {
    match format.filter(|format| !format.is_empty()) {
        Some(format) => format == "html",
        None => is_browser(headers),
    }
}

/// Returns whether a client is a browser that shows pages. Programs may request pages, too, by `format=html`.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}
