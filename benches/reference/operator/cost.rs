//! The cost of statistics and limits: a server with all of them and one with none take turns.

use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::Bench;
use crate::regex::PATTERNS;

/// Rounds with statistics and limits, each next to one without, and the duration of a round.
const ROUNDS: usize = 8;
const ROUND: Duration = Duration::from_secs(2);
pub(crate) const CLIENTS: usize = 4;

/// Statistics, and limits too high to be reached.
const ALL: [&str; 12] = [
    "--slow",
    "1s",
    "--client-at-once",
    "65536",
    "--client-per-minute",
    "4294967295",
    "--client-mib-per-minute",
    "4294967295",
    "--server-per-minute",
    "4294967295",
    "--server-mib-per-minute",
    "4294967295",
];

/// Milliseconds of the requests of each round.
#[derive(Deserialize, Serialize)]
pub(crate) struct Cost {
    pub(crate) off: Vec<Vec<f64>>,
    pub(crate) on: Vec<Vec<f64>>,
}

pub(crate) fn measure(bench: &Bench<'_>) -> Result<Cost> {
    // The two servers share the memory of one.
    let cache = (postgres::Memory::available().bytes >> 23).to_string();
    let cache = ["--cache", &cache];
    let off = bench.index.server(&[&cache[..], &["--no-statistics", "--slow", "60m"]].concat())?;
    let on = bench.index.server(&[&cache[..], &ALL].concat())?;
    off.settle();
    on.settle();
    let (nothing, _) = PATTERNS[7];
    let path = |_| format!("/search?limit=10&q={nothing}");
    let (rounds, round) = (bench.steps.times(ROUNDS), bench.steps.span(ROUND));
    let mut cost = Cost { off: Vec::new(), on: Vec::new() };
    for n in 0..rounds {
        cost.off.push(off.load(CLIENTS, round, path)?);
        cost.on.push(on.load(CLIENTS, round, path)?);
        bench.steps.progress(n as u64 + 1, rounds as u64);
    }
    Ok(cost)
}
