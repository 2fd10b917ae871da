//! `/stats`: the size of the index, statistics of searches, and the progress of an ingest.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

use super::page::{
    IngestView, StatusPage, chart, first_facts, kinds, phase, shard_views, slow_view, times,
};
use super::params::{COMPARE, DEFAULT_SPAN, FROM, SINCE, SpanStats, StatsParams, TO, TRIM};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::pages::home::held;
use crate::pages::link;
use crate::pages::render::render;
use crate::pages::search_page::failed;
use crate::params::names::FORMAT;
use crate::params::{DeclaredParams, StrictParams, wants_page};
use crate::server::Shared;
use request::fresh;
use request::human::{count, grouped, size};
use statistics::Span;

/// The spans of time that the page offers.
const SPANS: [(&str, &str); 4] =
    [("1h", "last hour"), ("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days")];

/// `/stats`.
pub(crate) const STATS: Endpoint = Endpoint {
    path: "/stats",
    route: || get(stats),
    class: Class::Free,
    admits: Admits::Operators,
    params: DeclaredParams {
        documented: &[SINCE, FROM, TO, COMPARE, TRIM, FORMAT],
        undocumented: &[],
    },
    doc: Some(Doc {
        summary: "The index, and how long searches took",
        description: "",
        answers: &[Answer::ok("Status.", Content::Json(&["Status"])), Answer::BAD],
    }),
};

async fn stats(
    State(server): State<Shared>,
    headers: HeaderMap,
    StrictParams(params): StrictParams<StatsParams>,
) -> Response {
    let page = wants_page(&headers, params.format.as_deref());
    match answer(&server, &params, page).await {
        Ok(response) => response,
        Err(failure) if page => failed("", failure),
        Err(failure) => failure.into_response(),
    }
}

async fn answer(server: &Shared, params: &StatsParams, page: bool) -> Result<Response, Failure> {
    let catalog = server.admin().catalog().await?;
    let store = &server.admin().store;
    let (ingest, shards) = (store.ingest().await?, store.shard_status().await?);
    let shown = params.read(server).await?;
    let bytes: i64 = catalog.shards.iter().map(|shard| shard.bytes).sum();
    let (used, room) = server.admin().searcher.memory();
    let (busy, most) = store.connections();
    let pending = store.pending().await?.len();
    let freshness = catalog.freshness();
    let (oldest, failed) = (freshness.oldest(None), freshness.failed(None).len());
    if !page {
        let mut object = shown.json();
        let Value::Object(held) = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "repositories": catalog.repos.len(),
            "shards": catalog.shards.len(),
            "text_bytes": bytes,
            "epoch": catalog.epoch.0,
            "memory": { "used_bytes": used, "capacity_bytes": room },
            "connections": { "busy": busy, "most": most },
            "running": server.metrics.running(),
            "pending": pending,
            "failed_repositories": failed,
            "oldest_looked_at": oldest.map(|(_, of)| fresh::time(of.looked_at)),
            "ingest": { "running": ingest.running, "phase": phase(&ingest), "done": ingest.done() },
        }) else {
            unreachable!("it is written as one");
        };
        object.extend(held);
        return Ok(Json(object).into_response());
    }
    let repos = store.repos().await?;
    let index: i64 = shards.iter().map(|shard| shard.index_bytes).sum();
    let first = first_facts(&repos, &shards, &shown.one, pending);
    let facts = vec![
        ("Repositories", grouped(catalog.repos.len())),
        ("Files", held(bytes, &repos)),
        ("Shards", grouped(catalog.shards.len())),
        ("Trigram indexes", size(index as u64)),
        ("In memory", format!("{} of at most {}", size(used), size(room))),
        ("Connections in use", format!("{busy} of at most {most}")),
        ("Searches running", server.metrics.running().to_string()),
    ];
    let ingest = ingest.running.then(|| IngestView {
        what: phase(&ingest).to_owned(),
        done: ingest.done().map(|done| format!("{:.0}", done * 100.0)),
    });
    let words = |counts: &mut dyn Iterator<Item = (&str, u64)>| -> Vec<(String, String)> {
        counts.map(|(word, count)| (word.replace('_', " "), grouped(count as usize))).collect()
    };
    let SpanStats { one, other, .. } = &shown;
    let asked = params.since.as_deref().unwrap_or(DEFAULT_SPAN);
    let is_shown = |since: &str| params.from.is_none() && asked == since;
    let compare = params.compare.as_deref().filter(|compare| *compare == "before");
    let address = |since: &str, compare: Option<&str>| {
        let mut parameters = vec![("since", since)];
        parameters.extend(compare.map(|compare| ("compare", compare)));
        link::to("/stats", &parameters)
    };
    let page = StatusPage {
        query: "",
        has_audit: server.audit.is_some(),
        first,
        facts,
        ingest,
        span: shown.span.map_or_else(|| "since the start of the server".to_owned(), Span::describe),
        compared: other.as_ref().map(|(span, _)| span.describe()),
        spans: SPANS
            .iter()
            .filter(|_| shown.span.is_some())
            .map(|(since, name)| (*name, address(since, compare), is_shown(since)))
            .collect(),
        compare: address(asked, if other.is_some() { None } else { Some("before") }),
        searches: count(one.all().total() as usize, "search"),
        outcomes: words(&mut one.outcomes().iter().map(|(word, part)| (*word, part.total()))),
        refused: words(&mut one.refused().iter().map(|(word, count)| (word.as_str(), *count))),
        times: times(&shown),
        kinds: kinds(&shown),
        bars: chart(&shown),
        slow: shown.slow.iter().map(slow_view).collect(),
        shards: shard_views(&shards),
    };
    Ok(render(StatusCode::OK, &page))
}
