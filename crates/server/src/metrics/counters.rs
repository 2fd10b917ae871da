//! Counts a server's searches, and measures their durations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use search::{Stats, Stopped};

use crate::error::Failure;
use statistics::{Kind, Outcome, Recorder, Refusal};

/// Counters since the server's start.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Durations and outcomes of searches.
    pub(crate) recorder: Recorder,
    /// Duration from which a search is logged as slow.
    slow: Option<Duration>,
    running: AtomicU64,
    pub(super) shards_searched: AtomicU64,
    pub(super) shards_pruned: AtomicU64,
    pub(super) candidates: AtomicU64,
    pub(super) rechecks: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) results: AtomicU64,
    pub(super) slow_searches: AtomicU64,
    /// Number of checked shards; and number of problems that the last check found in them and between tables.
    pub(super) shards_checked: AtomicU64,
    pub(super) problems: AtomicU64,
}

/// Describes a slow search for the log: returns its query and its plan, with the work done if known.
type DescribeSearch = dyn Fn(Option<&Stats>) -> (String, String) + Send + Sync;

/// A running search, which is counted even if it fails or is dropped.
pub struct TimedSearch {
    metrics: Arc<Metrics>,
    kind: Kind,
    told: Box<DescribeSearch>,
    begun: Instant,
    ended: bool,
}

impl Metrics {
    /// Makes metrics with a recorder; searches that take `slow` or longer are logged.
    pub(crate) fn new(recorder: Recorder, slow: Option<Duration>) -> Self {
        Self { recorder, slow, ..Self::default() }
    }

    /// Begins to count a search. `told` is called only if the search was slow.
    pub(crate) fn begin(
        self: &Arc<Self>,
        kind: Kind,
        told: impl Fn(Option<&Stats>) -> (String, String) + Send + Sync + 'static,
    ) -> TimedSearch {
        self.running.fetch_add(1, Ordering::Relaxed);
        let metrics = Arc::clone(self);
        TimedSearch { metrics, kind, told: Box::new(told), begun: Instant::now(), ended: false }
    }

    /// Records the result of a check of some shards.
    pub fn checked(&self, shards: usize, problems: usize) {
        self.shards_checked.fetch_add(shards as u64, Ordering::Relaxed);
        self.problems.store(problems as u64, Ordering::Relaxed);
    }

    /// Counts a request that was refused.
    pub(crate) fn refuse(&self, reason: Refusal) {
        self.recorder.refuse(reason);
    }

    /// Returns the number of running searches.
    pub(crate) fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }
}

/// Returns the outcome of a search that ended without a failure.
pub fn outcome_of(stats: &Stats) -> Outcome {
    match stats.stopped {
        None => Outcome::Complete,
        Some(Stopped::Limit | Stopped::Revision(_)) => Outcome::Limit,
        Some(Stopped::Timeout(_)) => Outcome::Timeout,
        Some(Stopped::Shards(_)) => Outcome::ShardError,
    }
}

impl TimedSearch {
    /// Counts the outcome of a search for lines.
    pub(crate) fn end(&mut self, ended: &Result<Stats, Failure>) {
        let outcome = match ended {
            Err(_) => Outcome::Failed,
            Ok(stats) => {
                self.count(stats);
                outcome_of(stats)
            }
        };
        self.note(outcome, self.begun.elapsed(), ended.as_ref().ok());
    }

    /// Counts the outcome of a command's search.
    pub fn done(mut self, stats: &Stats) {
        self.count(stats);
        self.note(outcome_of(stats), self.begun.elapsed(), Some(stats));
    }

    /// Counts the outcome of any other search.
    pub(crate) fn ended(mut self, outcome: Outcome) {
        self.note(outcome, self.begun.elapsed(), None);
    }

    /// Leaves the search uncounted, since another one replaces it.
    pub(crate) fn replaced(&mut self) {
        self.ended = true;
        self.metrics.running.fetch_sub(1, Ordering::Relaxed);
    }

    fn count(&self, stats: &Stats) {
        let add = |counter: &AtomicU64, count: usize| {
            counter.fetch_add(count as u64, Ordering::Relaxed);
        };
        let metrics = &self.metrics;
        add(&metrics.shards_searched, stats.shards_searched);
        add(&metrics.shards_pruned, stats.shards_pruned);
        add(&metrics.candidates, stats.candidates);
        add(&metrics.rechecks, stats.rechecks);
        add(&metrics.bytes, stats.bytes);
        add(&metrics.results, stats.files);
    }

    fn note(&mut self, outcome: Outcome, took: Duration, stats: Option<&Stats>) {
        self.ended = true;
        let metrics = &self.metrics;
        metrics.running.fetch_sub(1, Ordering::Relaxed);
        metrics.recorder.search(self.kind, outcome, took);
        if metrics.slow.is_some_and(|slow| took >= slow) {
            metrics.slow_searches.fetch_add(1, Ordering::Relaxed);
            metrics.recorder.slow(self.kind, outcome, took, || (self.told)(stats));
        }
    }
}

impl Drop for TimedSearch {
    fn drop(&mut self) {
        if !self.ended {
            self.note(Outcome::Abandoned, self.begun.elapsed(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_counted_by_how_long_they_took() {
        let metrics = Arc::new(Metrics::new(Recorder::new(true), Some(Duration::from_secs(1))));
        let begin = || metrics.begin(Kind::Indexed, |_| (String::new(), String::new()));
        for (micros, outcome) in [
            (10, Outcome::Complete),
            (60, Outcome::Limit),
            (60, Outcome::Limit),
            (u64::MAX >> 1, Outcome::Failed),
        ] {
            begin().note(outcome, Duration::from_micros(micros), None);
        }
        drop(begin());
        begin().replaced();
        let since_start = metrics.recorder.since_start();
        let outcome = |word: &str| since_start.outcomes()[word].total();
        assert_eq!((outcome("limit"), outcome("failed"), outcome("abandoned")), (2, 1, 1));
        assert_eq!(since_start.all().total(), 5);
        assert_eq!(metrics.slow_searches.load(Ordering::Relaxed), 1);
        assert_eq!(metrics.running(), 0);
    }
}
