//! Entity tags, with which clients revalidate cached answers (<https://www.rfc-editor.org/rfc/rfc9110#name-etag>).
//!
//! The tags are weak: a text may be sent compressed or not, as different bytes.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// Returns the tag of a text composed of several files.
pub(crate) fn tag_of(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Adds the tag to a response, or replaces it with 304 if the client has that tag.
pub(crate) fn with_etag(headers: &HeaderMap, tag: &str, mut response: Response) -> Response {
    let tag = format!("\"{tag}\"");
    if is_known(headers, &tag) {
        response = StatusCode::NOT_MODIFIED.into_response();
    }
    if let Ok(tag) = HeaderValue::from_str(&format!("W/{tag}")) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// Returns whether `If-None-Match` names the tag, weak or strong, or is `*`.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|known| known.to_str().ok());
    known
        .flat_map(|known| known.split(','))
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let status = |known: &[&str]| {
            let mut headers = HeaderMap::new();
            for known in known {
                headers.append(IF_NONE_MATCH, known.parse().unwrap());
            }
            let response = with_etag(&headers, "a1", "text".into_response());
            assert_eq!(response.headers()[ETAG], "W/\"a1\"");
            response.status().as_u16()
        };
        for known in
            [&["\"a1\""][..], &["W/\"a1\""], &["*"], &["\"b\", W/\"a1\""], &["\"b\"", "\"a1\""]]
        {
            assert_eq!(status(known), 304, "{known:?}");
        }
        for other in [&[][..], &["\"b\""], &["a1"], &["W/\"a\""], &[""]] {
            assert_eq!(status(other), 200, "{other:?}");
        }
        assert_ne!(tag_of("a"), tag_of("b"));
    }
}
