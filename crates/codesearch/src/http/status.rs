//! `/stats`: what the server holds, what it has done, and whether an ingest runs.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use store::{Ingest, ShardFill};

use super::error::Failure;
use super::metrics::quantile;
use super::page::{human, render};
use super::results::grouped;
use super::{Server, wants_page};

/// The quantiles that are shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Width and height of the drawing of latencies, and of its labels.
const WIDTH: usize = 640;
const HEIGHT: usize = 160;

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage<'a> {
    query: &'a str,
    facts: Vec<(&'static str, String)>,
    ingest: Option<IngestView>,
    outcomes: Vec<(String, String)>,
    quantiles: Vec<(&'static str, String)>,
    bars: Vec<Bar>,
    width: usize,
    height: usize,
    shards: Vec<ShardView>,
}

struct IngestView {
    what: String,
    /// How much of it is done, in percent, if that is known.
    done: Option<String>,
}

/// A bar of the drawing.
struct Bar {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    /// Where it ends, as it is read.
    label: String,
    count: u64,
}

struct ShardView {
    number: i16,
    size: String,
    chunks: String,
    index: String,
    /// Its text as a share of that of the fullest shard, in percent.
    fill: u64,
    health: &'static str,
}

/// Answers `/stats`.
pub(crate) async fn stats(
    State(server): State<Server>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let page = wants_page(&headers, None);
    let catalog = server.searcher.catalog().await?;
    let store = server.searcher.store();
    let (ingest, shards) = (store.ingest().await?, store.fill().await?);
    let latencies = server.metrics.latencies();
    let bytes: i64 = catalog.shards.iter().map(|shard| shard.bytes).sum();
    let (used, room) = server.searcher.memory();
    let searches: u64 = latencies.iter().map(|(_, count)| count).sum();
    let ms = |q: f64| quantile(&latencies, q).map(|took| took.as_secs_f64() * 1000.0);
    if !page {
        let buckets: Vec<_> = latencies
            .iter()
            .map(|(upper, count)| {
                json!({ "upto_ms": upper.map(|upper| upper.as_secs_f64() * 1000.0), "count": count })
            })
            .collect();
        let outcomes: serde_json::Map<_, _> = server
            .metrics
            .outcomes()
            .into_iter()
            .map(|(name, count)| (name.to_owned(), json!(count)))
            .collect();
        let quantiles: serde_json::Map<_, _> =
            QUANTILES.iter().map(|(name, q)| ((*name).to_owned(), json!(ms(*q)))).collect();
        return Ok(Json(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "repositories": catalog.repos.len(),
            "shards": catalog.shards.len(),
            "text_bytes": bytes,
            "epoch": catalog.epoch.0,
            "memory": { "used_bytes": used, "capacity_bytes": room },
            "searches": searches,
            "running": server.metrics.running(),
            "outcomes": outcomes,
            "latency_ms": quantiles,
            "histogram": buckets,
            "ingest": { "running": ingest.running, "phase": phase(&ingest), "done": ingest.done() },
        }))
        .into_response());
    }
    let index: i64 = shards.iter().map(|shard| shard.index_bytes).sum();
    let facts = vec![
        ("Repositories", grouped(catalog.repos.len())),
        ("Text", human(bytes as u64)),
        ("Shards", grouped(catalog.shards.len())),
        ("Trigram indexes", human(index as u64)),
        ("In memory", format!("{} of at most {}", human(used), human(room))),
        ("Searches running", server.metrics.running().to_string()),
        ("Searches since the start", grouped(searches as usize)),
    ];
    let ingest = ingest.running.then(|| IngestView {
        what: phase(&ingest).to_owned(),
        done: ingest.done().map(|done| format!("{:.0}", done * 100.0)),
    });
    let outcomes = server.metrics.outcomes().into_iter();
    let page = StatusPage {
        query: "",
        facts,
        ingest,
        outcomes: outcomes
            .map(|(name, count)| (name.replace('_', " "), grouped(count as usize)))
            .collect(),
        quantiles: QUANTILES
            .iter()
            .filter_map(|(name, q)| Some((*name, format!("{:.2} ms", ms(*q)?))))
            .collect(),
        bars: bars(&latencies),
        width: WIDTH,
        height: HEIGHT,
        shards: shard_views(&shards),
    };
    Ok(render(StatusCode::OK, &page))
}

/// What an ingest is doing.
fn phase(ingest: &Ingest) -> &'static str {
    match (ingest.running, ingest.indexing) {
        (false, _) => "none",
        (true, false) => "reading files",
        (true, true) => "building indexes",
    }
}

/// The bars of the histogram, from the first that is not empty to the last.
fn bars(latencies: &[(Option<std::time::Duration>, u64)]) -> Vec<Bar> {
    let some = |(_, count): &(_, u64)| *count > 0;
    let (Some(from), Some(upto)) =
        (latencies.iter().position(some), latencies.iter().rposition(some))
    else {
        return Vec::new();
    };
    let shown = &latencies[from..=upto];
    let most = shown.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let step = (WIDTH / shown.len()).min(80);
    shown
        .iter()
        .enumerate()
        .map(|(at, (upper, count))| {
            // What is there is seen, however little it is.
            let height = (*count * (HEIGHT as u64 - 40)).div_ceil(most) as usize;
            let label = match upper {
                None => "more".to_owned(),
                Some(upper) if upper.as_secs() >= 1 => format!("{:.0} s", upper.as_secs_f64()),
                Some(upper) if upper.as_millis() >= 10 => {
                    format!("{:.0} ms", upper.as_secs_f64() * 1e3)
                }
                Some(upper) => format!("{:.1} ms", upper.as_secs_f64() * 1e3),
            };
            let y = HEIGHT - 20 - height;
            Bar { x: at * step, y, width: step - 2, height, label, count: *count }
        })
        .collect()
}

fn shard_views(shards: &[ShardFill]) -> Vec<ShardView> {
    let most = shards.iter().map(|shard| shard.bytes).max().unwrap_or(1).max(1);
    shards
        .iter()
        .map(|shard| ShardView {
            number: shard.id.0,
            size: human(shard.bytes as u64),
            chunks: grouped(shard.chunks as usize),
            index: human(shard.index_bytes as u64),
            fill: (shard.bytes * 100 / most) as u64,
            health: match (shard.live, shard.valid) {
                (true, true) => "good",
                (true, false) => "its index is missing: run codesearch ingest again",
                (false, _) => "being filled",
            },
        })
        .collect()
}
