//! How long searches take: recorded by servers, stored in the database by the hour, and shown by
//! `codesearch stats`, `/stats` and `/metrics`.

mod bars;
mod histogram;
mod recorder;
mod span;
mod summary;
mod text;
mod words;

pub(crate) use bars::{Bar, Cell, bars};
pub(crate) use histogram::{Histogram, Trim};
pub(crate) use recorder::Recorder;
pub(crate) use span::{FORMS, Span, rfc3339};
pub(crate) use summary::{Summary, slow_json};
pub(crate) use text::text;
pub(crate) use words::{Kind, Outcome, Refusal};
