//! Statistics of search durations: servers record them, the database stores them by the hour, and
//! `codesearch stats`, `/stats` and `/metrics` show them.

mod bars;
mod histogram;
mod recorder;
mod span;
mod summary;
mod text;
mod words;

pub use bars::{Bar, Cell, bars};
pub use histogram::{Histogram, Trim};
pub use recorder::Recorder;
pub use span::{FORMS, Span, now, rfc3339, time};
pub use summary::{Summary, slow_json};
pub use text::text;
pub use words::{Kind, Outcome, Refusal};
