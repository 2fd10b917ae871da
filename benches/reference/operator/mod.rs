//! Small Postgres tools for operators (system 3): warm connections, a histogram compared with a threshold, and the cost
//! of statistics and limits.

mod cost;
mod memory;
mod ready;
mod spans;

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use query::{Case, Count, Query};
use search::Request;
use search::View;
use tokio::sync::mpsc;

use crate::Bench;
use crate::report::{Section, Table};
use crate::shared::summary::{median, quantile};

/// Connections of the reference, and MB of dictionaries in each.
const CONNECTIONS: usize = 20;
const REFERENCE_MB: f64 = 25.0;

pub(crate) async fn run(bench: &Bench<'_>) -> Result<Section> {
    let firsts = bench.steps.step("operator-first", async || ready::measure(bench).await).await?;
    let memory = bench.steps.step("operator-memory", async || memory::measure(bench).await).await?;
    let spans = bench.steps.step("operator-spans", async || spans::measure(bench).await).await?;
    let cost = bench.steps.step("operator-cost", async || cost::measure(bench)).await?;

    let mut ready = Table::new(
        "a search that asks Postgres, milliseconds (p50)",
        &["connection", "first search", "later ones", "ratio"],
    );
    for row in &firsts {
        let (first, later) = (median(&row.first), median(&row.later));
        ready.row([
            row.name.clone(),
            format!("{first:.2}"),
            format!("{later:.2}"),
            format!("{:.1}", first / later),
        ]);
    }
    ready.note(
        "A server makes connections and readies them before searches need them (the last row).",
    );

    let mut held = Table::new(
        "memory of one server process, MB",
        &["connection", "its own pages", "allocated by Postgres"],
    );
    for row in &memory.each {
        let told = |bytes: Option<i64>| {
            bytes.map_or_else(|| "not told".to_owned(), |bytes| mb(bytes as f64))
        };
        held.row([row.name.clone(), told(row.own), told(row.allocated)]);
    }
    held.note("Its own pages: Private_Dirty of /proc/PID/smaps_rollup, without the buffers that all share.");
    let mut sum = Table::new("20 connections, MB", &["whose", "each", "together"]);
    sum.row([
        "reference".to_owned(),
        format!("{REFERENCE_MB:.1}"),
        format!("{:.1}", REFERENCE_MB * CONNECTIONS as f64),
    ]);
    let all = |of: fn(&memory::Held) -> Option<i64>| -> Option<f64> {
        memory.twenty.iter().map(|row| Some(of(row)? as f64)).sum()
    };
    for (name, all) in
        [("here, own pages", all(|row| row.own)), ("here, allocated", all(|row| row.allocated))]
    {
        if let Some(all) = all {
            sum.row([name.to_owned(), mb(all / CONNECTIONS as f64), mb(all)]);
        }
    }
    sum.note(
        "The reference's 25 MB are its text search dictionaries, parsed anew for each connection.",
    );

    let mut seen = Table::new(
        "everything slower below a threshold: the nine patterns with texts in memory, and without",
        &["what codesearch stats --compare prints"],
    );
    for line in spans.compared.lines() {
        seen.row([line.to_owned()]);
    }
    seen.note(&format!(
        "Slower than {} ms, which is all that a threshold shows: {} of {} before, {} of {} after.",
        spans::THRESHOLD.as_millis(),
        spans.slow[0],
        spans.searches,
        spans.slow[1],
        spans.searches
    ));

    let mut costs = Table::new(
        "what statistics and limits cost a request, milliseconds",
        &["", "off", "on", "ratio"],
    );
    for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        // Compare each round with the one without, directly before it.
        let [off, on] = [&cost.off, &cost.on]
            .map(|rounds| rounds.iter().map(|ms| quantile(ms, part)).collect::<Vec<f64>>());
        let ratios: Vec<f64> = on.iter().zip(&off).map(|(on, off)| on / off).collect();
        costs.row([
            name.to_owned(),
            format!("{:.3}", median(&off)),
            format!("{:.3}", median(&on)),
            format!("{:.3}", median(&ratios)),
        ]);
    }
    costs.note(&format!(
        "Medians of {} rounds each, {} clients, a search that finds nothing. On: histogram, log of \
         slow searches, and all three limits of a client and of the server, none of them met.",
        cost.on.len(),
        cost::CLIENTS
    ));
    Ok(Section {
        name: "operator",
        title: "Small Postgres tools for operators".to_owned(),
        tables: vec![ready, held, sum, seen, costs],
    })
}

fn mb(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}

/// Runs a search, and returns its milliseconds.
async fn search(view: &View, pattern: &str) -> Result<f64> {
    let mut query = Query::parse(pattern, Case::Smart)?;
    query.settings.count = Some(Count::Most(10));
    let request = Arc::new(Request::new(&query)?);
    let begun = Instant::now();
    let (found, mut files) = mpsc::channel(2);
    let drain = async { while files.recv().await.is_some() {} };
    let (stats, ()) = tokio::join!(view.search(&request, found), drain);
    stats?;
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}
