//! The page of `/stats`: its template and the rows in it.

use std::time::Duration;

use askama::Template;
use store::{Ingest, Repo, ShardStatus, SlowSearch};

use super::params::SpanStats;
use crate::pages::home::oldest;
use request::fresh;
use request::human::{ago, duration, grouped, since, size};
use statistics::{Bar, Cell, Histogram, Summary, bars, now, rfc3339};

/// Length of the longest bar, in units of the drawing.
const WIDTH: f64 = 100.0;

#[derive(Template)]
#[template(path = "status.html")]
pub(super) struct StatusPage<'a> {
    pub(super) query: &'a str,
    /// Whether there is an audit to show.
    pub(super) has_audit: bool,
    /// How fresh the index is, and what failed.
    pub(super) first: Vec<FirstFact>,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) ingest: Option<IngestView>,
    /// The description of the span of time.
    pub(super) span: String,
    /// The description of the span that it is compared with.
    pub(super) compared: Option<String>,
    /// Each offered span, its address, and whether it is the current one.
    pub(super) spans: Vec<(&'static str, String, bool)>,
    /// The address of this page with the comparison switched on or off.
    pub(super) compare: String,
    pub(super) searches: String,
    pub(super) outcomes: Vec<(String, String)>,
    pub(super) refused: Vec<(String, String)>,
    /// A name, a duration for each span, and the ratio of the two.
    pub(super) times: Vec<(String, Vec<String>, Option<String>)>,
    pub(super) kinds: Vec<(String, Vec<String>)>,
    pub(super) bars: Vec<BarView>,
    pub(super) slow: Vec<SlowView>,
    pub(super) shards: Vec<ShardView>,
}

/// A fact that an operator looks for first.
pub(super) struct FirstFact {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// The exact time, if the value is the time since then.
    pub(super) at: String,
    /// Whether somebody must do something.
    pub(super) is_bad: bool,
}

pub(super) struct IngestView {
    pub(super) what: String,
    /// Progress in percent, if it is known.
    pub(super) done: Option<String>,
}

/// A bucket of the histogram, with the number of searches in each span.
pub(super) struct BarView {
    pub(super) label: String,
    /// The length of each bar, and its label.
    pub(super) cells: Vec<(String, String)>,
}

pub(super) struct SlowView {
    pub(super) took: String,
    pub(super) at: String,
    /// The time since then.
    pub(super) ago: String,
    pub(super) what: String,
    pub(super) query: String,
    pub(super) plan: String,
}

pub(super) struct ShardView {
    pub(super) number: i16,
    pub(super) size: String,
    pub(super) chunks: String,
    pub(super) index: String,
    /// Bytes of text as a share of the fullest shard's, in percent.
    pub(super) fill: u64,
    pub(super) health: &'static str,
}

/// Returns how fresh the index is, and what failed.
pub(super) fn first_facts(
    repos: &[Repo],
    shards: &[ShardStatus],
    shown: &Summary,
    pending: usize,
) -> Vec<FirstFact> {
    let fact = |name, value: String, is_bad| FirstFact { name, value, at: String::new(), is_bad };
    let mut facts = Vec::new();
    if let Some(last) = repos.iter().map(|repo| repo.indexed_at.as_str()).max() {
        let (value, at) = (since(last), last.to_owned());
        facts.push(FirstFact { name: "Indexed", value, at, is_bad: false });
    }
    if let Some((repo, ago)) = oldest(repos) {
        let (value, at) = (format!("{}, {ago}", repo.name), repo.says);
        facts.push(FirstFact { name: "Indexed first", value, at, is_bad: false });
    }
    let old = repos.iter().min_by(|a, b| a.looked_at.total_cmp(&b.looked_at));
    if let Some(old) = old {
        let (value, at) =
            (format!("{}, {}", old.name, fresh::since(old.looked_at)), fresh::time(old.looked_at));
        facts.push(FirstFact { name: "Looked at the longest ago", value, at, is_bad: false });
    }
    facts.push(fact("In the queue", grouped(pending), false));
    let failed: Vec<&str> =
        repos.iter().filter(|repo| repo.failed.is_some()).map(|repo| &*repo.name).collect();
    let told = match &*failed {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [one, others @ ..] => format!("{one} and {} more", grouped(others.len())),
    };
    facts.push(fact("Cannot be updated", told, !failed.is_empty()));
    let outcomes = shown.outcomes();
    let ended = |names: &[&str]| -> u64 {
        names.iter().filter_map(|name| outcomes.get(name)).map(Histogram::total).sum()
    };
    for (name, outcomes) in
        [("Failed searches", &["failed", "shard_error"][..]), ("Timed out", &["timeout"])]
    {
        let all = ended(outcomes);
        facts.push(fact(name, grouped(all as usize), all > 0));
    }
    let refused: u64 = shown.refused().values().sum();
    facts.push(fact("Refused", grouped(refused as usize), false));
    let broken = shards.iter().filter(|shard| shard.live && !shard.valid).count();
    let health = if broken == 0 { "good".to_owned() } else { format!("{broken} without an index") };
    facts.push(fact("Shards", health, broken > 0));
    facts
}

/// Returns quantiles and means.
pub(super) fn times(shown: &SpanStats) -> Vec<(String, Vec<String>, Option<String>)> {
    if shown.one.all().total() == 0 {
        return Vec::new();
    }
    let theirs = shown.other.as_ref().map(|(_, other)| Summary::times(other.all(), shown.trim));
    let cell = |time: Option<Duration>| time.map_or_else(|| "–".to_owned(), duration);
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

/// Returns, for each kind of search, its number and durations.
pub(super) fn kinds(shown: &SpanStats) -> Vec<(String, Vec<String>)> {
    let cell = |time: Option<Duration>| time.map_or_else(|| "–".to_owned(), duration);
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

/// Returns the bars of the histogram. With two spans, they are shares.
pub(super) fn chart(shown: &SpanStats) -> Vec<BarView> {
    let other = shown.other.as_ref().map(|(_, other)| other.all());
    let histograms: Vec<_> = std::iter::once(shown.one.all()).chain(other).collect();
    let cell = |cell: Cell| {
        // A bar of only a few searches must still be visible.
        let least = if cell.count == 0 { 0.0 } else { 0.5 };
        (format!("{:.2}", (cell.length * WIDTH).max(least)), cell.number)
    };
    let bars = bars(&histograms).into_iter();
    bars.map(|Bar { label, cells }| BarView { label, cells: cells.into_iter().map(cell).collect() })
        .collect()
}

pub(super) fn slow_view(slow: &SlowSearch) -> SlowView {
    SlowView {
        took: duration(Duration::from_micros(slow.micros.max(0) as u64)),
        at: rfc3339(slow.at / 1000 * 1000),
        ago: ago(now() - slow.at / 1000),
        what: format!("{}, {}", slow.kind, slow.outcome).replace('_', " "),
        query: slow.query.clone(),
        plan: slow.plan.clone(),
    }
}

/// Returns the name of an ingest's phase.
pub(super) fn phase(ingest: &Ingest) -> &'static str {
    match (ingest.running, ingest.indexing) {
        (false, _) => "none",
        (true, false) => "reading files",
        (true, true) => "building indexes",
    }
}

pub(super) fn shard_views(shards: &[ShardStatus]) -> Vec<ShardView> {
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
                (true, false) => "its index is missing; run codesearch ingest again",
                (false, _) => "being filled",
            },
        })
        .collect()
}
