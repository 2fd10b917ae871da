//! What a server counts of its searches, and `/metrics`: the same in Prometheus's text format
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use engine::search::{Request, Stats, Stopped};
use query::{Expr, Plan, Predicate};

use super::endpoint::{Answer, Class, Content, Doc, Endpoint};
use super::error::Failure;
use super::server::Server;
use crate::print::explained;
use crate::statistics::{Kind, Outcome, Recorder, Refusal};

/// Buckets of a doubling that Prometheus is told: it keeps a series for each.
const PER_DOUBLING: usize = 2;

/// What was counted since the server was started.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// How long searches took, and how they ended.
    pub(crate) recorder: Recorder,
    /// What takes longer goes into the log of slow searches.
    slow: Option<Duration>,
    running: AtomicU64,
    shards_searched: AtomicU64,
    shards_pruned: AtomicU64,
    candidates: AtomicU64,
    rechecks: AtomicU64,
    bytes: AtomicU64,
    results: AtomicU64,
    slow_searches: AtomicU64,
}

/// What the log says of a slow search: its query, and its plan with what was done if that is known.
type Told = dyn Fn(Option<&Stats>) -> (String, String) + Send + Sync;

/// A search that is counted, however it ends.
pub(crate) struct TimedSearch {
    metrics: Arc<Metrics>,
    kind: Kind,
    told: Box<Told>,
    begun: Instant,
    ended: bool,
}

impl Metrics {
    /// Keeps statistics in a recorder, and notes what takes longer than `slow`.
    pub(crate) fn new(recorder: Recorder, slow: Option<Duration>) -> Self {
        Self { recorder, slow, ..Self::default() }
    }

    /// Counts a search that begins. `told` is asked only if it was slow.
    pub(crate) fn begin(
        self: &Arc<Self>,
        kind: Kind,
        told: impl Fn(Option<&Stats>) -> (String, String) + Send + Sync + 'static,
    ) -> TimedSearch {
        self.running.fetch_add(1, Ordering::Relaxed);
        let metrics = Arc::clone(self);
        TimedSearch { metrics, kind, told: Box::new(told), begun: Instant::now(), ended: false }
    }

    /// Counts a request that was turned away.
    pub(crate) fn refuse(&self, reason: Refusal) {
        self.recorder.refuse(reason);
    }

    /// How many searches run.
    pub(crate) fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }
}

/// The kind of a search in lines, and what is told of it.
pub(crate) fn of_request(
    request: &Arc<Request>,
    loose: bool,
) -> (Kind, impl Fn(Option<&Stats>) -> (String, String) + Send + Sync + 'static) {
    let program = request.program();
    let kind = if program.terms.iter().any(|term| term.matcher.spans_lines()) {
        Kind::Multiline
    } else if !reads_texts(&program.expr) {
        Kind::Names
    } else if request.plan() == Plan::Scan {
        Kind::Scan
    } else {
        Kind::Indexed
    };
    let request = Arc::clone(request);
    let told = move |stats: Option<&Stats>| {
        (request.program().tree.clone(), explained(&request, loose, stats))
    };
    (kind, told)
}

/// Whether a condition is about texts.
fn reads_texts(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) => false,
        Expr::Predicate(atom) => matches!(atom, Predicate::Content(_)),
        Expr::Not(part) => reads_texts(part),
        Expr::All(parts) | Expr::Any(parts) => parts.iter().any(reads_texts),
    }
}

impl TimedSearch {
    /// Counts how the search ended.
    pub(crate) fn end(&mut self, ended: &Result<Stats, Failure>) {
        let outcome = match ended {
            Err(_) => Outcome::Failed,
            Ok(stats) => {
                self.count(stats);
                match stats.stopped {
                    None => Outcome::Complete,
                    Some(Stopped::Limit) => Outcome::Limit,
                    Some(Stopped::Timeout(_)) => Outcome::Timeout,
                    Some(Stopped::Shards(_)) => Outcome::ShardError,
                }
            }
        };
        self.note(outcome, self.begun.elapsed(), ended.as_ref().ok());
    }

    /// Counts a search that is not one for lines.
    pub(crate) fn ended(mut self, outcome: Outcome) {
        self.note(outcome, self.begun.elapsed(), None);
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

/// `/metrics`.
pub(crate) const METRICS: Endpoint = Endpoint {
    doc: Some(Doc {
        summary: "The same for Prometheus",
        description: "",
        answers: &[Answer::ok("Prometheus's text format.", Content::Text("text/plain"))],
    }),
    ..Endpoint::untold("/metrics", Class::Free, || get(metrics))
};

async fn metrics(State(server): State<Server>) -> Result<Response, Failure> {
    let metrics = &server.metrics;
    let since_start = metrics.recorder.since_start();
    let mut text = String::new();
    let head = |text: &mut String, name: &str, kind: &str, help: &str| {
        // Writing to a text does not fail.
        let _ = writeln!(text, "# HELP codesearch_{name} {help}\n# TYPE codesearch_{name} {kind}");
    };
    let outcomes = since_start.outcomes();
    let kinds = since_start.kinds();
    let refused = since_start.refused();
    let by = |text: &mut String, name: &str, label: &str, help: &str, counts: Vec<(&str, u64)>| {
        head(text, name, "counter", help);
        for (word, count) in counts {
            let _ = writeln!(text, "codesearch_{name}{{{label}=\"{word}\"}} {count}");
        }
    };
    // A word that was never counted is told all the same: a series that begins at 1 has no increase.
    let counts = |of: &dyn Fn(&str) -> u64, words: Vec<&'static str>| -> Vec<(&str, u64)> {
        words.into_iter().map(|word| (word, of(word))).collect()
    };
    by(
        &mut text,
        "searches_total",
        "outcome",
        "Searches that ended, by how they did.",
        counts(
            &|word| outcomes.get(word).map_or(0, crate::statistics::Histogram::total),
            Outcome::ALL.iter().map(|outcome| outcome.word()).collect(),
        ),
    );
    by(
        &mut text,
        "searches_by_kind_total",
        "kind",
        "Searches that ended, by what their plan was.",
        counts(
            &|word| kinds.get(word).map_or(0, crate::statistics::Histogram::total),
            Kind::ALL.iter().map(|kind| kind.word()).collect(),
        ),
    );
    by(
        &mut text,
        "refused_total",
        "reason",
        "Requests that were turned away, by the limit that they met.",
        counts(
            &|word| refused.get(word).copied().unwrap_or(0),
            Refusal::ALL.iter().map(|reason| reason.word()).collect(),
        ),
    );
    let name = "search_duration_seconds";
    head(&mut text, name, "histogram", "How long searches took, until their last result.");
    let mut sum = 0;
    for row in since_start.all().rows(PER_DOUBLING) {
        sum += row.count;
        let upper =
            row.upto().map_or_else(|| "+Inf".to_owned(), |upper| upper.as_secs_f64().to_string());
        let _ = writeln!(text, "codesearch_{name}_bucket{{le=\"{upper}\"}} {sum}");
    }
    let seconds = since_start.all().micros() as f64 / 1e6;
    let _ = writeln!(text, "codesearch_{name}_sum {seconds}\ncodesearch_{name}_count {sum}");
    for (name, counter, help) in [
        ("slow_searches_total", &metrics.slow_searches, "Searches that took longer than --slow."),
        ("shards_searched_total", &metrics.shards_searched, "Shards that searches asked."),
        ("shards_pruned_total", &metrics.shards_pruned, "Shards that were ruled out unasked."),
        (
            "candidates_total",
            &metrics.candidates,
            "Chunks that the trigram indexes named and their n-grams did not rule out.",
        ),
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

    #[test]
    fn kinds_are_told_by_the_plan() {
        for (query, kind) in [
            ("foo", Kind::Indexed),
            ("foo file:a", Kind::Indexed),
            (".", Kind::Scan),
            ("-foo", Kind::Scan),
            (r"foo\n\s*bar", Kind::Multiline),
            ("file:foo", Kind::Names),
            ("repo:foo lang:go", Kind::Names),
        ] {
            let parsed = query::Query::parse(query, query::Case::Smart).unwrap();
            let request = Arc::new(Request::new(&parsed).unwrap());
            assert_eq!(of_request(&request, true).0, kind, "{query}");
        }
    }
}
