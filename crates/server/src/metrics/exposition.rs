//! `/metrics`: the counters in Prometheus's text format
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::freshness;
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::server::Shared;
use statistics::{Histogram, Kind, Outcome, Refusal};

/// Buckets for each doubling: few, since Prometheus keeps a series for each bucket.
const PER_DOUBLING: usize = 2;

/// `/metrics`.
pub const METRICS: Endpoint = Endpoint {
    doc: Some(Doc {
        summary: "Metrics for Prometheus",
        description: "",
        answers: &[Answer::ok("Metrics in Prometheus's text format.", Content::Text("text/plain"))],
    }),
    admits: Admits::Operators,
    ..Endpoint::undocumented("/metrics", Class::Free, || get(metrics))
};

async fn metrics(State(server): State<Shared>) -> Result<Response, Failure> {
    let metrics = &server.metrics;
    let since_start = metrics.recorder.since_start();
    let mut text = String::new();
    let head = |text: &mut String, name: &str, kind: &str, help: &str| {
        // Writing to a string does not fail.
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
    // Words with a count of 0 are included: Prometheus sees no increase in a series that begins at 1.
    let counts = |of: &dyn Fn(&str) -> u64, words: Vec<&'static str>| -> Vec<(&str, u64)> {
        words.into_iter().map(|word| (word, of(word))).collect()
    };
    by(
        &mut text,
        "searches_total",
        "outcome",
        "Ended searches, by outcome.",
        counts(
            &|word| outcomes.get(word).map_or(0, Histogram::total),
            Outcome::ALL.iter().map(|outcome| outcome.word()).collect(),
        ),
    );
    by(
        &mut text,
        "searches_by_kind_total",
        "kind",
        "Ended searches, by plan.",
        counts(
            &|word| kinds.get(word).map_or(0, Histogram::total),
            Kind::ALL.iter().map(|kind| kind.word()).collect(),
        ),
    );
    by(
        &mut text,
        "refused_total",
        "reason",
        "Refused requests, by limit.",
        counts(
            &|word| refused.get(word).copied().unwrap_or(0),
            Refusal::ALL.iter().map(|reason| reason.word()).collect(),
        ),
    );
    if let Some(audit) = &server.audit {
        let counts = audit.counts();
        for (name, kind, help, value) in [
            (
                "audit_written_total",
                "counter",
                "Events of the audit that were written.",
                counts.written,
            ),
            ("audit_lost_total", "counter", "Events of the audit that were dropped.", counts.lost),
            (
                "audit_waiting",
                "gauge",
                "Events of the audit that wait for the database.",
                counts.waiting,
            ),
        ] {
            head(&mut text, name, kind, help);
            let _ = writeln!(text, "codesearch_{name} {value}");
        }
    }
    let name = "search_duration_seconds";
    head(&mut text, name, "histogram", "Duration of searches until their last result.");
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
        ("shards_searched_total", &metrics.shards_searched, "Shards that were searched."),
        (
            "shards_pruned_total",
            &metrics.shards_pruned,
            "Shards that were excluded before searching.",
        ),
        (
            "candidates_total",
            &metrics.candidates,
            "Chunks that the trigram indexes named and their n-grams did not rule out.",
        ),
        ("rechecks_total", &metrics.rechecks, "Texts that were read and matched."),
        ("read_bytes_total", &metrics.bytes, "Bytes of text in these."),
        ("results_total", &metrics.results, "Files in answers."),
        ("shards_checked_total", &metrics.shards_checked, "Random shards that were checked."),
    ] {
        head(&mut text, name, "counter", help);
        let _ = writeln!(text, "codesearch_{name} {}", counter.load(Ordering::Relaxed));
    }
    head(&mut text, "statements_total", "counter", "SQL statements of searches and pages.");
    let statements = server.admin().store.statements();
    let _ = writeln!(text, "codesearch_statements_total {statements}");
    let (used, room) = server.admin().searcher.memory();
    let (busy, most) = server.admin().store.connections();
    let mut gauges = vec![
        ("searches_running", metrics.running(), "Searches that are running."),
        (
            "problems",
            metrics.problems.load(Ordering::Relaxed),
            "Problems found by the last check of a shard.",
        ),
        ("cache_used_bytes", used, "Bytes of compressed text in memory."),
        ("cache_capacity_bytes", room, "Limit of compressed text in memory, in bytes."),
        ("connections_busy", busy as u64, "Connections to Postgres in use by searches."),
        (
            "tokens_wrong_seconds",
            server.limits.tokens_wrong_for().map_or(0, |time| time.as_secs()),
            "Seconds since the token file has had errors; 0 if it has none.",
        ),
        (
            "identity_keys_age_seconds",
            server.identity.age_of_keys().map_or(0, |age| age.as_secs()),
            "Seconds since the keys for JWTs were fetched; 0 if they were not.",
        ),
        ("connections_max", most as u64, "Limit of connections to Postgres for searches."),
        ("servers", server.fellows.others() as u64 + 1, "Servers of the index that run."),
        (
            "leads",
            u64::from(*server.fellows.leads().borrow()),
            "Whether this server ingests and mirrors for the index.",
        ),
    ];
    let replicas = server.admin().store.replica_states();
    if !replicas.is_empty() {
        let help = "Whether a replica has the newest state of the index that this server reads.";
        head(&mut text, "replica_ready", "gauge", help);
    }
    for (name, is_ready) in replicas {
        let name = name.replace(['"', '\\', '\n'], "_");
        let ready = u64::from(is_ready);
        let _ = writeln!(text, "codesearch_replica_ready{{replica=\"{name}\"}} {ready}");
    }
    // Without an index or a database, the server's own values are still exposed.
    if let Ok(catalog) = server.admin().catalog().await {
        let bytes: i64 = catalog.shards.iter().map(|shard| shard.bytes).sum();
        gauges.push(("repositories", catalog.repos.len() as u64, "Repositories in the index."));
        gauges.push(("shards", catalog.shards.len() as u64, "Shards with files."));
        gauges.push((
            "text_bytes",
            bytes as u64,
            "Bytes of text in the index, equal contents counted once.",
        ));
        gauges.push(("epoch", catalog.epoch.0 as u64, "Number of changes of the index."));
    }
    if let Ok(catalog) = server.admin().catalog().await {
        freshness::write(&mut text, &catalog);
    }
    if let Ok(pending) = server.admin().store.pending().await {
        let now = jiff::Timestamp::now().as_second() as f64;
        let oldest = pending.iter().map(|row| row.since).fold(now, f64::min);
        gauges.push(("pending", pending.len() as u64, "Changes in the queue."));
        gauges.push((
            "pending_seconds",
            (now - oldest) as u64,
            "Age of the oldest of them, in seconds.",
        ));
    }
    if let Ok(ingest) = server.admin().store.ingest().await {
        gauges.push(("ingest_running", u64::from(ingest.running), "Whether an ingest is running."));
        gauges.push(("ingest_shards", ingest.fresh as u64, "Shards that an ingest is filling."));
    }
    gauges.push((
        "configuration_ok",
        u64::from(server.configuration.error().is_none()),
        "Whether the configuration file is in use as it is; 0 while it has a mistake.",
    ));
    for (name, value, help) in gauges {
        head(&mut text, name, "gauge", help);
        let _ = writeln!(text, "codesearch_{name} {value}");
    }
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
