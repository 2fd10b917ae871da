//! Measured times, in a row for each query and limit.

use crate::shared::queries::Query;

/// Limits on files; 0 is none.
pub(crate) const LIMITS: [usize; 4] = [10, 100, 1000, 0];

/// Milliseconds of each run, and the number of files in the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    pub(crate) ms: Vec<f64>,
    pub(crate) files: usize,
}

/// The times of each engine for one query at one limit.
pub(crate) struct Row {
    pub(crate) query: &'static Query,
    pub(crate) limit: usize,
    pub(crate) ours: Times,
    pub(crate) server_ms: f64,
    pub(crate) zoekt: Option<Times>,
    pub(crate) ripgrep: Option<Times>,
    pub(crate) naive: Option<Times>,
    pub(crate) tables: Option<Times>,
}
