//! A server's counters of searches, and `/metrics`.

mod counters;
mod exposition;
mod freshness;
mod kind;

pub use counters::{Metrics, TimedSearch, outcome_of};
pub use exposition::METRICS;
pub use kind::of_request;
