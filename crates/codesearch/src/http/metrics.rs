//! What a server counts of its searches, and `/metrics`: the same in Prometheus's text format
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use engine::search::{Stats, Stopped};

use super::Server;
use super::ask::Ended;
use super::error::Failure;

/// Buckets of the histogram: the first ends at [`FIRST_US`], and each at twice what the one before it does.
pub(crate) const BUCKETS: usize = 22;
const FIRST_US: u64 = 50;

/// How searches end.
const OUTCOMES: [&str; 6] = ["complete", "limit", "timeout", "shard_error", "failed", "abandoned"];

/// What was counted since the server was started.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By [`OUTCOMES`].
    outcomes: [AtomicU64; OUTCOMES.len()],
    /// Requests that were turned away because too many searches ran.
    refused: AtomicU64,
    running: AtomicU64,
    /// Searches by how long they took; one more for what took longer than all buckets.
    buckets: [AtomicU64; BUCKETS + 1],
    micros: AtomicU64,
    shards_searched: AtomicU64,
    shards_pruned: AtomicU64,
    candidates: AtomicU64,
    rechecks: AtomicU64,
    bytes: AtomicU64,
    results: AtomicU64,
}

/// A search that is counted, however it ends.
pub(crate) struct Counted {
    metrics: Arc<Metrics>,
    begun: Instant,
    ended: bool,
}

impl Metrics {
    /// Counts a search that begins.
    pub(crate) fn begin(self: &Arc<Self>) -> Counted {
        self.running.fetch_add(1, Ordering::Relaxed);
        Counted { metrics: Arc::clone(self), begun: Instant::now(), ended: false }
    }

    /// Counts a request that was turned away.
    pub(crate) fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// How many searches took how long: for each bucket its upper end, and at last those beyond.
    pub(crate) fn latencies(&self) -> Vec<(Option<Duration>, u64)> {
        let counts = self.buckets.iter().map(|count| count.load(Ordering::Relaxed));
        counts.enumerate().map(|(at, count)| (upper(at), count)).collect()
    }

    /// How many searches ended in each way.
    pub(crate) fn outcomes(&self) -> Vec<(&'static str, u64)> {
        let counts = self.outcomes.iter().map(|count| count.load(Ordering::Relaxed));
        OUTCOMES.into_iter().zip(counts).collect()
    }

    /// How many searches run.
    pub(crate) fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }
}

impl Counted {
    /// Counts how the search ended.
    pub(crate) fn end(&mut self, ended: &Ended) {
        let outcome = match ended {
            Err(_) => "failed",
            Ok(stats) => {
                self.count(stats);
                match stats.stopped {
                    None => "complete",
                    Some(Stopped::Limit) => "limit",
                    Some(Stopped::Timeout(_)) => "timeout",
                    Some(Stopped::Shards(_)) => "shard_error",
                }
            }
        };
        self.note(outcome, self.begun.elapsed());
    }

    /// Does not count the search: another one takes its place.
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

    fn note(&mut self, outcome: &str, took: Duration) {
        self.ended = true;
        let metrics = &self.metrics;
        metrics.running.fetch_sub(1, Ordering::Relaxed);
        if let Some(at) = OUTCOMES.iter().position(|known| *known == outcome) {
            metrics.outcomes[at].fetch_add(1, Ordering::Relaxed);
        }
        let micros = took.as_micros() as u64;
        let at = (0..BUCKETS).find(|at| micros <= FIRST_US << at).unwrap_or(BUCKETS);
        metrics.buckets[at].fetch_add(1, Ordering::Relaxed);
        metrics.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if !self.ended {
            self.note("abandoned", self.begun.elapsed());
        }
    }
}

/// Where a bucket ends; the last one does not.
fn upper(at: usize) -> Option<Duration> {
    (at < BUCKETS).then(|| Duration::from_micros(FIRST_US << at))
}

/// A quantile of what a histogram holds, within a bucket as if all of it were spread evenly over it.
pub(crate) fn quantile(latencies: &[(Option<Duration>, u64)], q: f64) -> Option<Duration> {
    let all: u64 = latencies.iter().map(|(_, count)| count).sum();
    let mut wanted = q * all as f64;
    let mut lower = Duration::ZERO;
    for (upper, count) in latencies.iter().filter(|_| all > 0) {
        let upper = upper.unwrap_or(lower * 2);
        if *count > 0 && wanted <= *count as f64 {
            return Some(lower + upper.saturating_sub(lower).mul_f64(wanted / *count as f64));
        }
        wanted -= *count as f64;
        lower = upper;
    }
    None
}

/// `/metrics`.
pub(crate) async fn metrics(State(server): State<Server>) -> Result<Response, Failure> {
    let metrics = &server.metrics;
    let mut text = String::new();
    let head = |text: &mut String, name: &str, kind: &str, help: &str| {
        // Writing to a text does not fail.
        let _ = writeln!(text, "# HELP codesearch_{name} {help}\n# TYPE codesearch_{name} {kind}");
    };
    head(&mut text, "searches_total", "counter", "Searches that ended, by how they did.");
    for (outcome, count) in metrics.outcomes() {
        let _ = writeln!(text, "codesearch_searches_total{{outcome=\"{outcome}\"}} {count}");
    }
    let name = "search_duration_seconds";
    head(&mut text, name, "histogram", "How long searches took, until their last result.");
    let mut sum = 0;
    for (upper, count) in metrics.latencies() {
        sum += count;
        let upper =
            upper.map_or_else(|| "+Inf".to_owned(), |upper| upper.as_secs_f64().to_string());
        let _ = writeln!(text, "codesearch_{name}_bucket{{le=\"{upper}\"}} {sum}");
    }
    let seconds = metrics.micros.load(Ordering::Relaxed) as f64 / 1e6;
    let _ = writeln!(text, "codesearch_{name}_sum {seconds}\ncodesearch_{name}_count {sum}");
    for (name, counter, help) in [
        ("refused_total", &metrics.refused, "Requests turned away because too many searches ran."),
        ("shards_searched_total", &metrics.shards_searched, "Shards that searches asked."),
        ("shards_pruned_total", &metrics.shards_pruned, "Shards that were ruled out unasked."),
        ("candidates_total", &metrics.candidates, "Chunks that the trigram indexes named."),
        ("rechecks_total", &metrics.rechecks, "Texts that were read and matched."),
        ("read_bytes_total", &metrics.bytes, "Bytes of text in those."),
        ("results_total", &metrics.results, "Files in answers."),
    ] {
        head(&mut text, name, "counter", help);
        let _ = writeln!(text, "codesearch_{name} {}", counter.load(Ordering::Relaxed));
    }
    head(&mut text, "statements_total", "counter", "Statements that searches and pages made.");
    let statements = server.searcher.store().statements();
    let _ = writeln!(text, "codesearch_statements_total {statements}");
    let (used, room) = server.searcher.memory();
    let (busy, most) = server.searcher.store().connections();
    let mut gauges = vec![
        ("searches_running", metrics.running(), "Searches that run now."),
        ("cache_used_bytes", used, "Bytes of compressed text in memory."),
        ("cache_capacity_bytes", room, "Bytes of compressed text that may be in memory."),
        ("connections_busy", busy as u64, "Connections to Postgres that searches use now."),
        ("connections_max", most as u64, "Connections to Postgres that searches may use."),
    ];
    // Without an index, or without a database, what is known of the server is told all the same.
    if let Ok(catalog) = server.searcher.catalog().await {
        let bytes: i64 = catalog.shards.iter().map(|shard| shard.bytes).sum();
        gauges.push(("repositories", catalog.repos.len() as u64, "Repositories in the index."));
        gauges.push(("shards", catalog.shards.len() as u64, "Shards that hold files."));
        gauges.push((
            "text_bytes",
            bytes as u64,
            "Bytes of text in the index, each contents once.",
        ));
        gauges.push(("epoch", catalog.epoch.0 as u64, "How often the index has changed."));
    }
    if let Ok(ingest) = server.searcher.store().ingest().await {
        gauges.push(("ingest_running", u64::from(ingest.running), "Whether an ingest runs."));
        gauges.push(("ingest_shards", ingest.fresh as u64, "Shards that an ingest is filling."));
    }
    for (name, value, help) in gauges {
        head(&mut text, name, "gauge", help);
        let _ = writeln!(text, "codesearch_{name} {value}");
    }
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_counted_by_how_long_they_took() {
        let metrics = Arc::new(Metrics::default());
        for (micros, outcome) in
            [(10, "complete"), (60, "limit"), (60, "limit"), (u64::MAX >> 1, "failed")]
        {
            metrics.begin().note(outcome, Duration::from_micros(micros));
        }
        drop(metrics.begin());
        let counts: Vec<u64> = metrics.latencies().iter().map(|(_, count)| *count).collect();
        assert_eq!((counts[0], counts[1], counts[BUCKETS]), (2, 2, 1));
        assert_eq!(metrics.outcomes()[1], ("limit", 2));
        assert_eq!(metrics.outcomes()[5], ("abandoned", 1));
        assert_eq!(metrics.running(), 0);
    }

    #[test]
    fn quantiles_lie_in_their_buckets() {
        let ms = Duration::from_millis;
        let latencies = [(Some(ms(1)), 50), (Some(ms(2)), 0), (Some(ms(4)), 50), (None, 0)];
        assert_eq!(quantile(&latencies, 0.25), Some(Duration::from_micros(500)));
        assert_eq!(quantile(&latencies, 0.5), Some(ms(1)));
        assert_eq!(quantile(&latencies, 0.75), Some(ms(3)));
        assert_eq!(quantile(&latencies, 1.0), Some(ms(4)));
        assert_eq!(quantile(&[(None, 0)], 0.5), None);
    }
}
