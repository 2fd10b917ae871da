//! A summary of the searches in a span: their number, kinds, outcomes and durations; also as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};
use store::{SlowSearch, Store};

use super::histogram::{Histogram, Trim, used_rows};
use super::span::{Span, rfc3339};

/// The quantiles shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The searches in a span.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// A histogram for each kind and outcome.
    parts: BTreeMap<(String, String), Histogram>,
    refused: BTreeMap<String, u64>,
    all: Histogram,
}

impl Summary {
    /// Sums up histograms, each of one kind and outcome, and counts of refusals by reason.
    pub fn of(
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

    /// Reads a span from the database.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn read(store: &Store, span: Span) -> Result<Self, store::Error> {
        let searches = store.searches(span.from, span.to).await?;
        let refused = store.refusals(span.from, span.to).await?;
        Ok(Self::of(
            searches
                .into_iter()
                .map(|row| (row.kind, row.outcome, Histogram::of(&row.counts, row.micros))),
            refused.into_iter().map(|(reason, count)| (reason, count as u64)),
        ))
    }

    /// Returns the searches of one kind.
    #[must_use]
    pub fn only(&self, kind: &str) -> Self {
        // Kinds are printed with hyphens, but stored with underscores.
        let kind = kind.replace('-', "_");
        let parts = self.parts.iter().filter(|((known, _), _)| *known == kind);
        Self::of(
            parts.map(|((kind, outcome), part)| (kind.clone(), outcome.clone(), part.clone())),
            self.refused.clone().into_iter(),
        )
    }

    /// Returns the histogram of all searches.
    pub fn all(&self) -> &Histogram {
        &self.all
    }

    /// Returns the number of refused requests, by reason.
    pub fn refused(&self) -> &BTreeMap<String, u64> {
        &self.refused
    }

    /// Returns a histogram for each kind.
    pub fn kinds(&self) -> BTreeMap<&str, Histogram> {
        self.by(|(kind, _)| kind)
    }

    /// Returns a histogram for each outcome.
    pub fn outcomes(&self) -> BTreeMap<&str, Histogram> {
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

    /// Returns quantiles and means, by name.
    pub fn times(histogram: &Histogram, trim: Trim) -> Vec<(String, Option<Duration>)> {
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

    /// Returns the summary as JSON.
    pub fn json(&self, trim: Trim) -> Map<String, Value> {
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
        let rows = used_rows(&[&self.all], 8);
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

/// Returns quantiles and means as JSON, in milliseconds.
fn latency(histogram: &Histogram, trim: Trim) -> Value {
    let mut object: Map<_, _> = QUANTILES
        .iter()
        .map(|(name, part)| ((*name).to_owned(), json!(histogram.quantile(*part).map(ms))))
        .collect();
    object.insert("mean".to_owned(), json!(histogram.mean().map(ms)));
    object.insert("trimmed_mean".to_owned(), json!(histogram.trimmed_mean(trim).map(ms)));
    Value::Object(object)
}

/// Returns a slow search as JSON.
pub fn slow_json(slow: &SlowSearch) -> Value {
    json!({
        "at": rfc3339(slow.at),
        "kind": slow.kind,
        "outcome": slow.outcome,
        "duration_ms": slow.micros as f64 / 1e3,
        "query": slow.query,
        "plan": slow.plan,
    })
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
