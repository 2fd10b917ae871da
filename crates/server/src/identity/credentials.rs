//! What a request sends to prove who asks.

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use percent_encoding::percent_decode_str;

/// The name of the cookie that holds a person's token.
pub(super) const COOKIE_NAME: &str = "codesearch_token";

/// Returns the token that a program sends. Ignores other schemes.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the token in a browser's cookie.
pub(super) fn cookie(headers: &HeaderMap) -> Option<String> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';')).filter_map(|one| one.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim() == COOKIE_NAME)?;
    Some(percent_decode_str(value.trim()).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
