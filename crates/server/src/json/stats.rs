//! The statistics of a search as JSON.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::time::Duration;

use request::fresh::{self, OldestJson};
use request::notes::MissingJson;
use search::{Stats, Stopped, SymbolsLeft};
use serde::Serialize;

use crate::search_stream::stopped;

/// The statistics of a search, as they are sent.
#[derive(Debug, Serialize)]
pub(crate) struct StatsJson {
    duration_ms: f64,
    files: usize,
    matches: usize,
    /// `None` for a view that does not show all repositories: these count the others, too.
    #[serde(flatten)]
    costs: Option<CostsJson>,
    complete: bool,
    stopped_because: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingJson>,
    skipped: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbols: Option<SymbolsLeftJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<OldestJson>,
}

/// What a search cost.
#[derive(Debug, Serialize)]
struct CostsJson {
    shards: usize,
    shards_pruned: usize,
    shards_searched: usize,
    shards_from_memory: usize,
    shards_from_postgres: usize,
    candidates: usize,
    files_considered: usize,
    rechecks: usize,
    bytes: usize,
    phases_ms: PhasesJson,
}

/// Symbols that a search could not find.
#[derive(Debug, Serialize)]
struct SymbolsLeftJson {
    pending: usize,
    given_up: BTreeMap<String, usize>,
    without: Vec<String>,
}

impl Display for StatsJson {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        to.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

/// Milliseconds in each phase, summed over shards that were searched concurrently.
#[derive(Debug, Serialize)]
struct PhasesJson {
    lookup: f64,
    files: f64,
    load: f64,
    verify: f64,
}

impl StatsJson {
    /// Marks the answer as cut at its limit although the search found more.
    pub(super) fn cut_at_limit(&mut self) {
        (self.complete, self.stopped_because) = (false, Some("limit"));
    }
}

impl From<&Stats> for StatsJson {
    fn from(stats: &Stats) -> Self {
        let stopped = stopped(stats);
        let mut notes = stats.notes.clone();
        if let Some(Stopped::Revision(why)) = &stats.stopped {
            notes.push(why.clone());
        }
        notes.extend(fresh::outdated(&stats.covered));
        let oldest = OldestJson::of(&stats.covered);
        Self {
            notes,
            oldest,
            duration_ms: ms(stats.duration),
            files: stats.files,
            matches: stats.matches,
            costs: (!stats.is_restricted).then(|| CostsJson::of(stats)),
            complete: stats.is_complete(),
            stopped_because: stopped
                .map(|(word, _)| word)
                .or((!stats.is_complete()).then_some("symbols")),
            missing: MissingJson::of(&stats.shown_missing()),
            skipped: stats.skipped.clone(),
            symbols: (stats.symbols != SymbolsLeft::default()).then(|| SymbolsLeftJson {
                pending: stats.symbols.pending,
                given_up: stats.symbols.given_up.clone(),
                without: stats.symbols.without.clone(),
            }),
        }
    }
}

impl CostsJson {
    fn of(stats: &Stats) -> Self {
        Self {
            shards: stats.shards,
            shards_pruned: stats.shards_pruned,
            shards_searched: stats.shards_searched,
            shards_from_memory: stats.shards_from_memory,
            shards_from_postgres: stats.shards_from_postgres,
            candidates: stats.candidates,
            files_considered: stats.files_considered,
            rechecks: stats.rechecks,
            bytes: stats.bytes,
            phases_ms: PhasesJson {
                lookup: ms(stats.phases.lookup),
                files: ms(stats.phases.files),
                load: ms(stats.phases.load),
                verify: ms(stats.phases.verify),
            },
        }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
