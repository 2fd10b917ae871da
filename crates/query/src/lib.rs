//! The language of codesearch and its meaning.
//!
//! A query text becomes a [`Pattern`] (a regular expression, matched line by line), the pattern
//! becomes a [`Need`] (the literals that every matching text must contain, which is what an index
//! of trigrams can answer) and a [`Matcher`] (which decides, line by line, what really matches).
//!
//! The rule between the two: *the plan may over-match, but it never under-match*. Whatever the
//! index names is looked at again by the matcher, so there is one regular-expression dialect and
//! one truth.
//!
//! This crate does no I/O and knows neither tokio nor SQL.

mod fold;
mod matcher;
mod pattern;
mod plan;

pub use matcher::{LineMatch, Matcher};
pub use pattern::{Case, Pattern, PatternError};
pub use plan::{Need, has_trigram};
