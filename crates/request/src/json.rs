//! How answers write times and ranges in JSON.

use std::ops::Range;
use std::time::Duration;

/// Returns a time in milliseconds, with one digit after the point.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

/// Returns the beginnings and ends of ranges.
pub(crate) fn pairs(ranges: &[Range<usize>]) -> Vec<(usize, usize)> {
    ranges.iter().map(|range| (range.start, range.end)).collect()
}
