//! `/stats`: what the server holds, what it has done, and whether an ingest runs.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Map, Value, json};
use store::{Ingest, ShardFill, SlowSearch};

use super::link;
use super::render::render;
use super::search_page::failed;
use crate::http::endpoint::{Answer, Class, Content, Doc, Endpoint};
use crate::http::error::Failure;
use crate::http::params::names::FORMAT;
use crate::http::params::{Given, Known, Param, StrictParams, wants_page};
use crate::http::server::Server;
use crate::human::{duration, grouped, size};
use crate::statistics::{Bar, Cell, FORMS, Span, Summary, Trim, bars, rfc3339, slow_json};

/// The span that is shown unless another one is asked for, and those that the page offers.
const USUAL: &str = "24h";
const SPANS: [(&str, &str); 4] =
    [("1h", "last hour"), ("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days")];

/// Slow searches that are shown.
const MAX_SLOW: i64 = 20;

/// How wide the drawing of a bar is, in its own units.
const WIDTH: f64 = 100.0;

const SINCE: Param = Param::text(
    "since",
    "The span of time: 24h (the default), 7d, 48h-24h. Spans are whole hours.",
);
const FROM: Param = Param::text("from", "Its beginning instead: 2026-01-31, 2026-01-31T12:00Z.");
const TO: Param = Param::text("to", "Its end; now unless it is said.");
const COMPARE: Param =
    Param::text("compare", "Another span, or before: as many hours right before this one.");
const TRIM: Param = Param::text(
    "trim",
    "Percentages of the quickest and of the slowest that the trimmed mean leaves out: 5,5.",
);

/// `/stats`.
pub(crate) const STATS: Endpoint = Endpoint {
    path: "/stats",
    route: || get(stats),
    class: Class::Free,
    params: Known { told: &[SINCE, FROM, TO, COMPARE, TRIM, FORMAT], untold: &[] },
    doc: Some(Doc {
        summary: "What the server holds, and how long searches took",
        description: "",
        answers: &[Answer::ok("The status.", Content::Json(&["Status"])), Answer::BAD],
    }),
};

/// Which statistics are wanted.
#[derive(Clone, Debug)]
struct Wanted {
    /// So long until now, or any other span.
    since: Option<String>,
    from: Option<String>,
    to: Option<String>,
    /// Another span, or `before`.
    compare: Option<String>,
    /// What the trimmed mean leaves out.
    trim: Option<String>,
    format: Option<String>,
}

impl From<Given> for Wanted {
    fn from(given: Given) -> Self {
        let some = |param| given.get(param).map(str::to_owned);
        Self {
            since: some(&SINCE),
            from: some(&FROM),
            to: some(&TO),
            compare: some(&COMPARE),
            trim: some(&TRIM),
            format: some(&FORMAT),
        }
    }
}

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage<'a> {
    query: &'a str,
    facts: Vec<(&'static str, String)>,
    ingest: Option<IngestView>,
    /// What is shown: of which time.
    span: String,
    /// The span beside it.
    compared: Option<String>,
    /// Each span that is offered, its address, and whether it is this one.
    spans: Vec<(&'static str, String, bool)>,
    /// The address of this page with the span before beside it, or without.
    compare: String,
    searches: String,
    outcomes: Vec<(String, String)>,
    refused: Vec<(String, String)>,
    /// Names, and for each span a duration; how many times the other one it is.
    times: Vec<(String, Vec<String>, Option<String>)>,
    kinds: Vec<(String, Vec<String>)>,
    bars: Vec<BarView>,
    slow: Vec<SlowView>,
    shards: Vec<ShardView>,
}

struct IngestView {
    what: String,
    /// How much of it is done, in percent, if that is known.
    done: Option<String>,
}

/// Some durations, and how many searches took them in each span.
struct BarView {
    label: String,
    /// How long the bar is, and what is said of it.
    cells: Vec<(String, String)>,
}

struct SlowView {
    took: String,
    at: String,
    what: String,
    query: String,
    plan: String,
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

/// What the database has of a span, and of another one beside it.
struct Shown {
    /// None when statistics are not kept: then it is what was counted since the start.
    span: Option<Span>,
    one: Summary,
    other: Option<(Span, Summary)>,
    slow: Vec<SlowSearch>,
    trim: Trim,
}

impl Wanted {
    fn span(&self) -> Result<Span, Failure> {
        match &self.from {
            Some(from) => Span::between(Some(from), self.to.as_deref()),
            None => Span::parse(self.since.as_deref().unwrap_or(USUAL)),
        }
        .map_err(|error| Failure::bad_request(format!("{error:#}")))
    }

    async fn read(&self, server: &Server) -> Result<Shown, Failure> {
        let span = self.span()?;
        let trim = self.trim.as_deref().map_or_else(|| Ok(Trim::default()), str::parse);
        let trim = trim.map_err(|why| Failure::bad_request(format!("trim: {why}")))?;
        let compared = match self.compare.as_deref() {
            None => None,
            Some("before") => Some(span.before()),
            Some(other) => Some(Span::parse(other).map_err(|_| {
                Failure::bad_request(format!("compare={other}: use before, {FORMS}"))
            })?),
        };
        let (store, recorder) = (server.searcher.store(), server.recorder());
        if !recorder.is_stored() {
            let (one, slow) = (recorder.since_start(), Vec::new());
            return Ok(Shown { span: None, one, other: None, slow, trim });
        }
        // With what was counted a moment ago.
        recorder.flush(store).await?;
        let other = match compared {
            Some(other) => Some((other, Summary::read(store, other).await?)),
            None => None,
        };
        Ok(Shown {
            span: Some(span),
            one: Summary::read(store, span).await?,
            other,
            slow: store.slow_searches(span.from, span.to, MAX_SLOW).await?,
            trim,
        })
    }
}

impl Shown {
    fn json(&self) -> Map<String, Value> {
        let mut object = self.one.json(self.trim);
        object.insert("span".to_owned(), json!(self.span.map(Span::json)));
        if let Some((span, other)) = &self.other {
            let mut compared = other.json(self.trim);
            compared.insert("span".to_owned(), span.json());
            object.insert("compared".to_owned(), Value::Object(compared));
        }
        let slow: Vec<Value> = self.slow.iter().map(slow_json).collect();
        object.insert("slow".to_owned(), json!(slow));
        object
    }
}

async fn stats(
    State(server): State<Server>,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<Wanted>,
) -> Response {
    let page = wants_page(&headers, wanted.format.as_deref());
    match answer(&server, &wanted, page).await {
        Ok(response) => response,
        Err(failure) if page => failed("", failure),
        Err(failure) => failure.into_response(),
    }
}

async fn answer(server: &Server, wanted: &Wanted, page: bool) -> Result<Response, Failure> {
    let catalog = server.searcher.catalog().await?;
    let store = server.searcher.store();
    let (ingest, shards) = (store.ingest().await?, store.fill().await?);
    let shown = wanted.read(server).await?;
    let bytes: i64 = catalog.shards.iter().map(|shard| shard.bytes).sum();
    let (used, room) = server.searcher.memory();
    let (busy, most) = store.connections();
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
            "ingest": { "running": ingest.running, "phase": phase(&ingest), "done": ingest.done() },
        }) else {
            unreachable!("it is written as one");
        };
        object.extend(held);
        return Ok(Json(object).into_response());
    }
    let index: i64 = shards.iter().map(|shard| shard.index_bytes).sum();
    let facts = vec![
        ("Repositories", grouped(catalog.repos.len())),
        ("Text", size(bytes as u64)),
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
    let Shown { one, other, .. } = &shown;
    let params = wanted.since.as_deref().unwrap_or(USUAL);
    let is_shown = |since: &str| wanted.from.is_none() && params == since;
    let compare = wanted.compare.as_deref().filter(|compare| *compare == "before");
    let address = |since: &str, compare: Option<&str>| {
        let mut parameters = vec![("since", since)];
        parameters.extend(compare.map(|compare| ("compare", compare)));
        link::to("/stats", &parameters)
    };
    let page = StatusPage {
        query: "",
        facts,
        ingest,
        span: shown.span.map_or_else(|| "since the start of the server".to_owned(), Span::describe),
        compared: other.as_ref().map(|(span, _)| span.describe()),
        spans: SPANS
            .iter()
            .filter(|_| shown.span.is_some())
            .map(|(since, name)| (*name, address(since, compare), is_shown(since)))
            .collect(),
        compare: address(params, if other.is_some() { None } else { Some("before") }),
        searches: grouped(one.all().total() as usize),
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

/// Quantiles and means.
fn times(shown: &Shown) -> Vec<(String, Vec<String>, Option<String>)> {
    if shown.one.all().total() == 0 {
        return Vec::new();
    }
    let theirs = shown.other.as_ref().map(|(_, other)| Summary::times(other.all(), shown.trim));
    let cell = |time: Option<std::time::Duration>| time.map_or_else(|| "–".to_owned(), duration);
    let rows = Summary::times(shown.one.all(), shown.trim).into_iter().enumerate();
    rows.map(|(at, (name, time))| {
        let their = theirs.as_ref().map(|theirs| theirs[at].1);
        let ratio = time.zip(their.flatten());
        let ratio = ratio
            .map(|(time, their)| format!("{:.2} times", time.as_secs_f64() / their.as_secs_f64()));
        let cells = std::iter::once(time).chain(their).map(cell).collect();
        (name, cells, ratio)
    })
    .collect()
}

/// Kinds of searches: how many, and how long they took.
fn kinds(shown: &Shown) -> Vec<(String, Vec<String>)> {
    let cell = |time: Option<std::time::Duration>| time.map_or_else(|| "–".to_owned(), duration);
    let kinds = shown.one.kinds().into_iter();
    kinds
        .map(|(kind, part)| {
            let cells = vec![
                grouped(part.total() as usize),
                cell(part.quantile(0.5)),
                cell(part.quantile(0.99)),
                cell(part.trimmed_mean(shown.trim)),
            ];
            (kind.replace('_', "-"), cells)
        })
        .collect()
}

/// The histogram. Beside another one, bars are shares.
fn chart(shown: &Shown) -> Vec<BarView> {
    let other = shown.other.as_ref().map(|(_, other)| other.all());
    let histograms: Vec<_> = std::iter::once(shown.one.all()).chain(other).collect();
    let cell = |cell: Cell| {
        // A bar of a few searches is seen, however short.
        let least = if cell.count == 0 { 0.0 } else { 0.5 };
        (format!("{:.2}", (cell.length * WIDTH).max(least)), cell.number)
    };
    let bars = bars(&histograms).into_iter();
    bars.map(|Bar { label, cells }| BarView { label, cells: cells.into_iter().map(cell).collect() })
        .collect()
}

fn slow_view(slow: &SlowSearch) -> SlowView {
    SlowView {
        took: duration(std::time::Duration::from_micros(slow.micros.max(0) as u64)),
        at: rfc3339(slow.at / 1000 * 1000),
        what: format!("{}, {}", slow.kind, slow.outcome).replace('_', " "),
        query: slow.query.clone(),
        plan: slow.plan.clone(),
    }
}

/// What an ingest is doing.
fn phase(ingest: &Ingest) -> &'static str {
    match (ingest.running, ingest.indexing) {
        (false, _) => "none",
        (true, false) => "reading files",
        (true, true) => "building indexes",
    }
}

fn shard_views(shards: &[ShardFill]) -> Vec<ShardView> {
    let most = shards.iter().map(|shard| shard.bytes).max().unwrap_or(1).max(1);
    shards
        .iter()
        .map(|shard| ShardView {
            number: shard.id.0,
            size: size(shard.bytes as u64),
            chunks: grouped(shard.chunks as usize),
            index: size(shard.index_bytes as u64),
            fill: (shard.bytes * 100 / most) as u64,
            health: match (shard.live, shard.valid) {
                (true, true) => "good",
                (true, false) => "its index is missing: run codesearch ingest again",
                (false, _) => "being filled",
            },
        })
        .collect()
}
