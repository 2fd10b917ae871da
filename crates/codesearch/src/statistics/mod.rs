//! How long searches take: noted by servers, kept in the database by the hour, and shown by
//! `codesearch stats`, `/stats` and `/metrics`.

mod book;
mod histogram;
mod span;
mod summary;

pub(crate) use book::{Book, Kind, Outcome, Refusal};
pub(crate) use histogram::{Histogram, Trim};
pub(crate) use span::{FORMS, Span, rfc3339};
pub(crate) use summary::{Summary, bars, bounds, slow_json, text, told};
