//! Static files of the pages, compiled into the program: a style sheet and two scripts.
//!
//! The address of each contains a hash of its contents, so that browsers cache it without asking again.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::http::Uri;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

/// A static file.
#[derive(Debug)]
pub(crate) struct Asset {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

pub(crate) static STYLE: Asset = Asset {
    path: "/static/style.css",
    kind: "text/css; charset=utf-8",
    text: include_str!("../../../../web/static/style.css"),
};

/// The script that runs before a page is painted.
pub(crate) static FIRST: Asset = Asset {
    path: "/static/first.js",
    kind: "text/javascript; charset=utf-8",
    text: include_str!("../../../../web/static/first.js"),
};

/// The script that runs after a page is painted.
pub(crate) static SCRIPT: Asset = Asset {
    path: "/static/script.js",
    kind: "text/javascript; charset=utf-8",
    text: concat!(
        include_str!("../../../../web/static/script.js"),
        include_str!("../../../../web/static/reading.js")
    ),
};

impl Asset {
    /// Returns its address, with the hash of its contents.
    pub(crate) fn address(&self) -> String {
        format!("{}?{}", self.path, self.version())
    }

    fn version(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Answers a request for it.
    pub(crate) fn answer(&self, address: &Uri) -> Response {
        let kept = if address.query() == Some(self.version().as_str()) {
            "max-age=31536000, immutable"
        } else {
            "max-age=60"
        };
        ([(CONTENT_TYPE, self.kind), (CACHE_CONTROL, kept)], self.text).into_response()
    }
}
