//! Regular expressions over very many repositories (system 1): nine patterns at four limits, over
//! HTTP.

use anyhow::{Context, Result};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::Bench;
use crate::report::{Section, Table};
use crate::shared::summary::{quantile, share_under, trimmed_mean};

/// The patterns of the experiment, and the number of files that matched there, if known.
pub(crate) const PATTERNS: [(&str, Option<u64>); 9] = [
    ("var", None),
    ("error", Some(1_479_452)),
    ("123456789", Some(59_841)),
    (r"fmt\.Error", Some(127_895)),
    (r"fmt\.Println", Some(22_876)),
    ("bytes.Buffer", Some(34_554)),
    (r"fmt\.Print.*", Some(37_319)),
    ("ac8ac5d63b66b83b90ce41a2d4061635", Some(0)),
    ("d97f1d3ff91543[e-f]49.8b07517548877", Some(0)),
];

/// The experiment's limits; 0 is none.
const LIMITS: [usize; 4] = [10, 100, 1000, 0];

/// Shares reported by the experiment: limit, bound in milliseconds, percent with one table, percent
/// with 200.
const REFERENCE: [(usize, f64, u64, u64); 10] = [
    (10, 50.0, 33, 0),
    (10, 250.0, 44, 57),
    (10, 1e3, 77, 100),
    (100, 100.0, 29, 0),
    (100, 500.0, 50, 70),
    (100, 1e4, 80, 99),
    (1000, 250.0, 12, 0),
    (1000, 2.5e3, 77, 64),
    (1000, 2e4, 77, 100),
    (0, 2e4, 0, 4),
];

/// Requests of each pattern at each limit.
const TIMES: usize = 10;

/// The results of one pattern at one limit.
#[derive(Deserialize, Serialize)]
struct Asked {
    pattern: String,
    limit: usize,
    files: u64,
    candidates: u64,
    rechecks: u64,
    /// Milliseconds of each request, with its whole answer read.
    ms: Vec<f64>,
}

pub(crate) async fn run(bench: &Bench<'_>) -> Result<Section> {
    let asked = bench.steps.step("regex", async || ask(bench)).await?;
    let limit_name = |limit| if limit == 0 { "none".to_owned() } else { format!("{limit}") };
    let times = |limit: usize| -> Vec<f64> {
        asked.iter().filter(|row| row.limit == limit).flat_map(|row| row.ms.clone()).collect()
    };
    let mut shares = Table::new(
        "share of requests within a time",
        &["limit", "within", "one table", "200 tables", "codesearch"],
    );
    for (limit, ms, one, many) in REFERENCE {
        shares.row([
            limit_name(limit),
            bound(ms),
            format!("{one} %"),
            format!("{many} %"),
            format!("{:.0} %", share_under(&times(limit), ms) * 100.0),
        ]);
    }
    shares.note("The reference has 82 GB on 8 cores.");
    let mut durations = Table::new("milliseconds", &["limit", "p50", "p90", "p99", "trimmed mean"]);
    for limit in LIMITS {
        let times = times(limit);
        let cell = |value: f64| format!("{value:.2}");
        durations.row([
            limit_name(limit),
            cell(quantile(&times, 0.5)),
            cell(quantile(&times, 0.9)),
            cell(quantile(&times, 0.99)),
            cell(trimmed_mean(&times, 0.05)),
        ]);
    }
    durations.note("Trimmed: without the lowest and the highest 5 %.");
    let mut patterns = Table::new(
        "without a limit",
        &["pattern", "files there", "files here", "candidates", "rechecks", "p50 ms"],
    );
    for (row, (_, there)) in asked.iter().filter(|row| row.limit == 0).zip(PATTERNS) {
        patterns.row([
            row.pattern.clone(),
            there.map_or_else(|| "over 2000000".to_owned(), |files| files.to_string()),
            row.files.to_string(),
            row.candidates.to_string(),
            row.rechecks.to_string(),
            format!("{:.2}", quantile(&row.ms, 0.5)),
        ]);
    }
    Ok(Section {
        name: "regex",
        title: "Regular expressions over very many repositories".to_owned(),
        tables: vec![shares, durations, patterns],
    })
}

fn ask(bench: &Bench<'_>) -> Result<Vec<Asked>> {
    let server = bench.index.warm_server()?;
    let times = bench.steps.times(TIMES);
    let mut all = Vec::new();
    for limit in LIMITS {
        for (pattern, _) in PATTERNS {
            let q = utf8_percent_encode(pattern, NON_ALPHANUMERIC);
            let path = format!("/search?limit={limit}&timeout=2m&q={q}");
            let mut ms = Vec::new();
            let mut last = Vec::new();
            for _ in 0..times {
                let (took, answer) = server.get(&path)?;
                ms.push(took);
                last = answer;
            }
            let answer: serde_json::Value = serde_json::from_slice(&last)?;
            let count = |key: &str| {
                answer["stats"][key].as_u64().with_context(|| format!("{pattern}: {answer}"))
            };
            all.push(Asked {
                pattern: pattern.to_owned(),
                limit,
                files: count("files")?,
                candidates: count("candidates")?,
                rechecks: count("rechecks")?,
                ms,
            });
            bench.steps.progress(all.len() as u64, (LIMITS.len() * PATTERNS.len()) as u64);
        }
    }
    Ok(all)
}

/// Returns a time as the bound of a bucket.
fn bound(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms} ms") } else { format!("{} s", ms / 1000.0) }
}
