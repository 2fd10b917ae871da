//! Statistics of search durations: servers record them, the database stores them by the hour, and
//! `codesearch stats`, `/stats` and `/metrics` show them.

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
pub(crate) use span::{FORMS, Span, now, rfc3339};
pub(crate) use summary::{Summary, slow_json};
pub(crate) use text::text;
pub(crate) use words::{Kind, Outcome, Refusal};
