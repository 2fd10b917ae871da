//! Zoekt's JSON: its API, and its web pages with `format=json`.
//!
//! Names of fields, numbering, defaults and status codes are Zoekt's. `docs/protocols.md` lists the differences.

mod api;
mod arguments;
mod error;
mod find;
mod list;
mod matches;
mod print;
mod query;
mod result;
mod web;

pub(crate) use api::ENDPOINTS;
pub(crate) use error::{is_zoekt_api, refused};

/// Parses a body, compiles its query, and computes its limits.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(bytes: &[u8]) {
    use request::{Client, build};

    let body = axum::body::Bytes::copy_from_slice(bytes);
    let Ok(args) = arguments::read::<arguments::SearchArgs>(Ok(body)) else { return };
    let (limits, beside) = (args.opts.limits(1000), args.opts.beside());
    assert!(limits.repo > 0 && limits.total > 0);
    if let Ok(query) = query::parse(&args.q) {
        let _ = build(query, &beside, &Client::ZOEKT);
    }
}
