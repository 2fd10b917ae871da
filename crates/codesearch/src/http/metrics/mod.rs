//! A server's counters of searches, and `/metrics`.

mod counters;
mod exposition;
mod kind;

pub(crate) use counters::{Metrics, TimedSearch, outcome_of};
pub(crate) use exposition::METRICS;
pub(crate) use kind::of_request;
