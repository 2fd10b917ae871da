//! Statistics of a span of time, and of another one beside it: as JSON and as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};
use store::{SlowSearch, Store};

use super::histogram::{Histogram, Row, Trim};
use super::span::{Span, rfc3339};
use crate::human::grouped;

/// The quantiles that are told.
pub(crate) const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Bars of a drawing, at most; with fewer, it is finer.
const MAX_BARS: usize = 26;

/// Characters of the longest bar.
const BAR: usize = 30;

/// Searches of some time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// By kind and outcome.
    parts: BTreeMap<(String, String), Histogram>,
    refused: BTreeMap<String, u64>,
    all: Histogram,
}

impl Summary {
    /// Of some histograms, each of one kind and outcome, and of how many were turned away for what.
    pub(crate) fn of(
        parts: impl Iterator<Item = (String, String, Histogram)>,
        refused: impl Iterator<Item = (String, u64)>,
    ) -> Self {
        let mut summary = Self { refused: refused.collect(), ..Self::default() };
        for (kind, outcome, histogram) in parts {
            summary.all.merge(&histogram);
            summary.parts.entry((kind, outcome)).or_default().merge(&histogram);
        }
        summary
    }

    /// What the database has of a span.
    pub(crate) async fn read(store: &Store, span: Span) -> Result<Self, store::Error> {
        let searches = store.searches(span.from, span.to).await?;
        let refused = store.refusals(span.from, span.to).await?;
        Ok(Self::of(
            searches
                .into_iter()
                .map(|row| (row.kind, row.outcome, Histogram::of(&row.counts, row.micros))),
            refused.into_iter().map(|(reason, count)| (reason, count as u64)),
        ))
    }

    /// Of one kind of search only.
    #[must_use]
    pub(crate) fn only(&self, kind: &str) -> Self {
        // As it is printed, too.
        let kind = kind.replace('-', "_");
        let parts = self.parts.iter().filter(|((known, _), _)| *known == kind);
        Self::of(
            parts.map(|((kind, outcome), part)| (kind.clone(), outcome.clone(), part.clone())),
            self.refused.clone().into_iter(),
        )
    }

    /// All searches.
    pub(crate) fn all(&self) -> &Histogram {
        &self.all
    }

    /// How many were turned away, by reason.
    pub(crate) fn refused(&self) -> &BTreeMap<String, u64> {
        &self.refused
    }

    /// By kind.
    pub(crate) fn kinds(&self) -> BTreeMap<&str, Histogram> {
        self.by(|(kind, _)| kind)
    }

    /// By how they ended.
    pub(crate) fn outcomes(&self) -> BTreeMap<&str, Histogram> {
        self.by(|(_, outcome)| outcome)
    }

    fn by<'a>(
        &'a self,
        key: impl Fn(&'a (String, String)) -> &'a String,
    ) -> BTreeMap<&'a str, Histogram> {
        let mut by: BTreeMap<&str, Histogram> = BTreeMap::new();
        for (both, part) in &self.parts {
            by.entry(key(both).as_str()).or_default().merge(part);
        }
        by
    }

    /// Quantiles and means, by name.
    pub(crate) fn times(histogram: &Histogram, trim: Trim) -> Vec<(String, Option<Duration>)> {
        let quantiles =
            QUANTILES.iter().map(|(name, part)| ((*name).to_owned(), histogram.quantile(*part)));
        let means = [
            ("mean".to_owned(), histogram.mean()),
            (
                format!("mean trimmed by {} %", trim.to_string().replace(',', " and ")),
                histogram.trimmed_mean(trim),
            ),
        ];
        quantiles.chain(means).collect()
    }

    /// The same for programs.
    pub(crate) fn json(&self, trim: Trim) -> Map<String, Value> {
        let kinds: Map<_, _> = self
            .kinds()
            .into_iter()
            .map(|(kind, part)| {
                let value = json!({ "searches": part.total(), "latency_ms": latency(&part, trim) });
                (kind.to_owned(), value)
            })
            .collect();
        let outcomes: Map<_, _> = self
            .outcomes()
            .into_iter()
            .map(|(outcome, part)| (outcome.to_owned(), json!(part.total())))
            .collect();
        let rows = filled(&[&self.all], 8);
        let histogram: Vec<Value> = rows
            .iter()
            .map(|row| json!({ "upto_ms": row[0].upto().map(ms), "count": row[0].count }))
            .collect();
        let Value::Object(object) = json!({
            "searches": self.all.total(),
            "outcomes": outcomes,
            "kinds": kinds,
            "refused": self.refused,
            "latency_ms": latency(&self.all, trim),
            "trimmed_percent": [trim.low, trim.high],
            "histogram": histogram,
        }) else {
            unreachable!("it is written as one");
        };
        object
    }
}

/// Quantiles and means for programs, in milliseconds.
fn latency(histogram: &Histogram, trim: Trim) -> Value {
    let mut object: Map<_, _> = QUANTILES
        .iter()
        .map(|(name, part)| ((*name).to_owned(), json!(histogram.quantile(*part).map(ms))))
        .collect();
    object.insert("mean".to_owned(), json!(histogram.mean().map(ms)));
    object.insert("trimmed_mean".to_owned(), json!(histogram.trimmed_mean(trim).map(ms)));
    Value::Object(object)
}

/// A slow search for programs.
pub(crate) fn slow_json(slow: &SlowSearch) -> Value {
    json!({
        "at": rfc3339(slow.at),
        "kind": slow.kind,
        "outcome": slow.outcome,
        "duration_ms": slow.micros as f64 / 1e3,
        "query": slow.query,
        "plan": slow.plan,
    })
}

/// The same buckets of some histograms side by side, from the first that is not empty in all of them to
/// the last.
fn filled(histograms: &[&Histogram], per_doubling: usize) -> Vec<Vec<Row>> {
    let columns: Vec<Vec<Row>> = histograms.iter().map(|one| one.rows(per_doubling)).collect();
    let rows = columns.first().map_or(0, Vec::len);
    let some = |at: &usize| columns.iter().any(|column| column[*at].count > 0);
    let (Some(first), Some(last)) = ((0..rows).find(some), (0..rows).rev().find(some)) else {
        return Vec::new();
    };
    (first..=last).map(|at| columns.iter().map(|column| column[at]).collect()).collect()
}

/// The same, as fine as there is room for.
pub(crate) fn bars(histograms: &[&Histogram]) -> Vec<Vec<Row>> {
    let finest = [4, 2].into_iter().find(|fine| filled(histograms, *fine).len() <= MAX_BARS);
    filled(histograms, finest.unwrap_or(1))
}

/// Two bounds of a bar.
pub(crate) fn bounds(row: &Row) -> String {
    match row.upto() {
        None => format!("over {}", told(row.from())),
        Some(upto) if row.from().is_zero() => format!("up to {}", told(upto)),
        Some(upto) => {
            let (from, upto) = (told(row.from()), told(upto));
            // Its unit is said once.
            match (from.split_once(' '), upto.split_once(' ')) {
                (Some((number, unit)), Some((_, other))) if unit == other => {
                    format!("{number}–{upto}")
                }
                _ => format!("{from} – {upto}"),
            }
        }
    }
}

/// A duration with three digits.
pub(crate) fn told(duration: Duration) -> String {
    let (number, unit) = match duration.as_secs_f64() {
        seconds if seconds >= 0.9995 => (seconds, "s"),
        seconds if seconds >= 0.000_099_95 => (seconds * 1e3, "ms"),
        seconds => (seconds * 1e6, "us"),
    };
    let digits = if number >= 99.95 {
        0
    } else if number >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{number:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The statistics of a span as text, and what another one says beside it.
pub(crate) fn text(
    name: &str,
    one: &Summary,
    other: Option<(&str, &Summary)>,
    trim: Trim,
) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ =
        writeln!(text, "{}: {} searches{}", name, grouped(one.all.total() as usize), refusals(one));
    if let Some((name, other)) = other {
        let _ = writeln!(
            text,
            "{}: {} searches{}",
            name,
            grouped(other.all.total() as usize),
            refusals(other)
        );
    }
    draw(&mut text, one, other.map(|(_, other)| other));
    times(&mut text, one, other.map(|(_, other)| other), trim);
    parts(&mut text, one, other.map(|(_, other)| other), trim);
    text
}

fn refusals(summary: &Summary) -> String {
    let parts: Vec<String> = summary
        .refused
        .iter()
        .map(|(reason, count)| format!("{count} {}", reason.replace('_', " ")))
        .collect();
    if parts.is_empty() { String::new() } else { format!(", turned away: {}", parts.join(", ")) }
}

/// Bars. Two spans are drawn as shares, so that one of more searches looks the same.
fn draw(text: &mut String, one: &Summary, other: Option<&Summary>) {
    let histograms: Vec<&Histogram> =
        std::iter::once(&one.all).chain(other.map(|other| &other.all)).collect();
    let rows = bars(&histograms);
    if rows.is_empty() {
        return;
    }
    let share = |at: usize, row: &Row| row.count as f64 / histograms[at].total().max(1) as f64;
    let cells = || rows.iter().flat_map(|row| row.iter().enumerate());
    let most = cells().map(|(at, row)| share(at, row)).fold(0.0, f64::max);
    let labels: Vec<String> = rows.iter().map(|row| bounds(&row[0])).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    text.push('\n');
    if other.is_some() {
        let _ = writeln!(text, "  {:width$}  {:<38}  compared with", "", "this span");
    }
    for (label, row) in labels.iter().zip(&rows) {
        let mut line = format!("  {label:>width$} ");
        for (at, cell) in row.iter().enumerate() {
            let share = share(at, cell);
            let bar = bar(share / most);
            let number = if other.is_some() {
                format!("{:.1} %", share * 100.0)
            } else {
                grouped(cell.count as usize)
            };
            let number = if cell.count == 0 { String::new() } else { format!(" {number}") };
            let _ = write!(line, " {:<39}", format!("{bar}{number}"));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// A bar in eighths of a character. What is there is seen, however little it is.
fn bar(part: f64) -> String {
    if part <= 0.0 {
        return String::new();
    }
    let eighths = ((part * (BAR * 8) as f64).round() as usize).max(1);
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(" ▏▎▍▌▋▊▉".chars().nth(eighths % 8).filter(|c| *c != ' '));
    bar
}

/// Quantiles and means, and how many times those of the other span they are.
fn times(text: &mut String, one: &Summary, other: Option<&Summary>, trim: Trim) {
    let mine = Summary::times(&one.all, trim);
    if one.all.total() == 0 && other.is_none_or(|other| other.all.total() == 0) {
        return;
    }
    let cell = |time: &Option<Duration>| time.map_or_else(|| "-".to_owned(), told);
    let width = mine.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    text.push('\n');
    for (at, (name, time)) in mine.iter().enumerate() {
        let _ = write!(text, "  {name:<width$}  {:>9}", cell(time));
        if let Some(other) = other {
            let theirs = Summary::times(&other.all, trim).swap_remove(at).1;
            let _ = write!(text, "  {:>9}", cell(&theirs));
            if let (Some(time), Some(theirs)) = (time, theirs) {
                let _ = write!(text, "  {:.2} times", time.as_secs_f64() / theirs.as_secs_f64());
            }
        }
        text.push('\n');
    }
}

/// Kinds and outcomes.
fn parts(text: &mut String, one: &Summary, other: Option<&Summary>, trim: Trim) {
    let (kinds, outcomes) = (one.kinds(), one.outcomes());
    if kinds.is_empty() {
        return;
    }
    let theirs = other.map(Summary::kinds).unwrap_or_default();
    text.push('\n');
    for (kind, part) in kinds {
        let time = |part: f64, histogram: &Histogram| {
            histogram.quantile(part).map_or_else(|| "-".to_owned(), told)
        };
        let _ = write!(
            text,
            "  {:<11} {:>9}   p50 {:>8}   p99 {:>8}   trimmed mean {:>8}",
            kind.replace('_', "-"),
            grouped(part.total() as usize),
            time(0.5, &part),
            time(0.99, &part),
            part.trimmed_mean(trim).map_or_else(|| "-".to_owned(), told)
        );
        if let Some(theirs) = theirs.get(kind) {
            let _ = write!(
                text,
                "   compared with p50 {:>8}   p99 {:>8}",
                time(0.5, theirs),
                time(0.99, theirs)
            );
        }
        text.push('\n');
    }
    let ended: Vec<String> = outcomes
        .into_iter()
        .map(|(outcome, part)| {
            format!("{} {}", grouped(part.total() as usize), outcome.replace('_', " "))
        })
        .collect();
    let _ = writeln!(text, "  ended: {}", ended.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(durations: &[(u64, u64)]) -> Summary {
        let mut histogram = Histogram::default();
        for (ms, times) in durations {
            (0..*times).for_each(|_| histogram.add(Duration::from_millis(*ms)));
        }
        let part = ("indexed".to_owned(), "complete".to_owned(), histogram);
        Summary::of(std::iter::once(part), std::iter::empty())
    }

    #[test]
    fn what_slows_down_below_a_threshold_is_seen() {
        // The reference's case: from 50 ms to 150 ms, under a threshold of 200 ms.
        let (now, before) = (summary(&[(150, 1000)]), summary(&[(50, 100)]));
        let text = text("today", &now, Some(("yesterday", &before)), Trim::default());
        let p50 = text.lines().find(|line| line.trim_start().starts_with("p50")).unwrap();
        assert!(p50.ends_with("times"), "{text}");
        let times: f64 = p50.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
        assert!((2.7..3.3).contains(&times), "{text}");
        let bars: Vec<&str> = text.lines().filter(|line| line.contains('█')).collect();
        assert_eq!(bars.len(), 2, "{text}");
        assert!(bars.iter().all(|bar| bar.contains("100.0 %")), "{text}");
    }

    #[test]
    fn durations_and_bounds_are_short() {
        let us = |us: u64| told(Duration::from_micros(us));
        for (micros, text) in [
            (31, "31 us"),
            (500, "0.5 ms"),
            (1234, "1.23 ms"),
            (12_345, "12.3 ms"),
            (123_456, "123 ms"),
            (999_600, "1 s"),
            (2_048_000, "2.05 s"),
            (600_000_000, "600 s"),
        ] {
            assert_eq!(us(micros), text);
        }
        let rows = bars(&[&summary(&[(1, 1), (3, 1), (900, 1), (600_000, 1)]).all]);
        let labels: Vec<String> = rows.iter().map(|row| bounds(&row[0])).collect();
        assert_eq!(labels.first().unwrap(), "0.5–1 ms");
        assert_eq!(labels[1], "1–2 ms");
        assert!(labels.contains(&"512 ms – 1.02 s".to_owned()), "{labels:?}");
        assert_eq!(labels.last().unwrap(), "over 524 s");
    }
}
