//! Small Postgres tools for operators (system 3): connections that are ready, a histogram beside a
//! threshold, and what statistics and limits cost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use engine::search::{Request, Searcher};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use query::{Case, Count, Query};
use serde::{Deserialize, Serialize};
use store::Store;
use tokio::sync::mpsc;

use super::Bench;
use super::regex::PATTERNS;
use super::report::{Section, Table};
use super::serving::Serving;
use super::summary::{median, quantile};
use crate::commands::serve;
use crate::http::{self, Bounds, Hosts, Limits, Settings};
use crate::statistics::{Summary, Trim, text};

/// How often a first search is made, each on a connection of its own.
const FIRST: usize = 20;

/// Searches after the first one on the same connection.
const LATER: usize = 20;

/// Searches on each connection before its memory is looked at again, so many of each pattern.
const USED: usize = 10;

/// The reference has so many connections, each with so many MB of dictionaries.
const CONNECTIONS: usize = 20;
const REFERENCE_MB: f64 = 25.0;

/// The threshold of the reference's case; what everything takes is slower below it.
const THRESHOLD: Duration = Duration::from_millis(200);

/// How often each pattern is asked in each of the two spans.
const TIMES: usize = 30;

/// Rounds with statistics and limits, each beside one without, and how long one takes.
const ROUNDS: usize = 8;
const ROUND: Duration = Duration::from_secs(2);
const CLIENTS: usize = 4;

/// A search that asks Postgres for little.
const PATTERN: &str = r"fmt\.Println";

pub(crate) async fn run(bench: &Bench<'_>) -> Result<Section> {
    let firsts = bench.step("operator-first", async || first(bench).await).await?;
    let memory = bench.step("operator-memory", async || memory(bench).await).await?;
    let spans = bench.step("operator-spans", async || spans(bench).await).await?;
    let cost = bench.step("operator-cost", async || cost(bench).await).await?;

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
        let own = row.own.map_or_else(|| "not told".to_owned(), |bytes| mb(bytes as f64));
        held.row([row.name.clone(), own, mb(row.allocated as f64)]);
    }
    held.note("Its own pages: Private_Dirty of /proc/PID/smaps_rollup, without the buffers that all share.");
    let mut sum = Table::new("20 connections, MB", &["whose", "each", "together"]);
    sum.row([
        "reference".to_owned(),
        format!("{REFERENCE_MB:.1}"),
        format!("{:.1}", REFERENCE_MB * CONNECTIONS as f64),
    ]);
    let own: Option<Vec<i64>> = memory.twenty.iter().map(|row| row.own).collect();
    if let Some(own) = own {
        let all = own.iter().sum::<i64>() as f64;
        sum.row(["here, own pages".to_owned(), mb(all / CONNECTIONS as f64), mb(all)]);
    }
    let all = memory.twenty.iter().map(|row| row.allocated).sum::<i64>() as f64;
    sum.row(["here, allocated".to_owned(), mb(all / CONNECTIONS as f64), mb(all)]);
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
        THRESHOLD.as_millis(),
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
        // Each round beside the one without right before it.
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
        "Medians of {ROUNDS} rounds each, {CLIENTS} clients, a search that finds nothing. On: histogram, log of \
         slow searches, and all three limits of a client and of the server, none of them met."
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

/// First searches on new connections, and the ones after them.
#[derive(Deserialize, Serialize)]
struct First {
    name: String,
    first: Vec<f64>,
    later: Vec<f64>,
}

async fn first(bench: &Bench<'_>) -> Result<Vec<First>> {
    // What is measured is the connection: what the search reads is in the server's memory by then.
    search(&bench.searcher, PATTERN).await?;
    let ways = [
        ("made when it is needed", false, false),
        ("made before", true, false),
        ("made before, and readied", true, true),
    ];
    let mut all = ways.map(|(name, ..)| First {
        name: name.to_owned(),
        first: Vec::new(),
        later: Vec::new(),
    });
    // In turn, so that what else the machine does meanwhile is shared by all of them.
    for n in 0..FIRST {
        for (row, (_, opened, warming)) in all.iter_mut().zip(ways) {
            let store = bench.store.apart(1, warming);
            if opened {
                store.keep_warm(1).await?;
            }
            let searcher = Searcher::new(store, 1);
            searcher.catalog().await?;
            row.first.push(search(&searcher, PATTERN).await?);
            for _ in 0..LATER {
                row.later.push(search(&searcher, PATTERN).await?);
            }
        }
        bench.progress(n as u64 + 1, FIRST as u64);
    }
    Ok(all.into())
}

/// Searches, and says how many milliseconds that took.
async fn search(searcher: &Searcher, pattern: &str) -> Result<f64> {
    let mut query = Query::parse(pattern, Case::Smart)?;
    query.settings.count = Some(Count::Most(10));
    let request = Arc::new(Request::new(&query)?);
    let begun = Instant::now();
    let (found, mut files) = mpsc::channel(2);
    let drain = async { while files.recv().await.is_some() {} };
    let (stats, ()) = tokio::join!(searcher.search(&request, found), drain);
    stats?;
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}

/// What the process at the other end of a connection holds, in bytes.
#[derive(Deserialize, Serialize)]
struct Held {
    name: String,
    /// Pages that are its alone; not told where there is no /proc, or it is not ours to look into.
    own: Option<i64>,
    allocated: i64,
}

#[derive(Deserialize, Serialize)]
struct Memory {
    each: Vec<Held>,
    twenty: Vec<Held>,
}

async fn memory(bench: &Bench<'_>) -> Result<Memory> {
    let mut each = Vec::new();
    for (name, warming, times) in [
        ("new", false, 0),
        ("readied", true, 0),
        ("after the nine patterns", true, 1),
        ("after them ten times", true, USED),
    ] {
        let store = bench.store.apart(1, warming);
        store.keep_warm(1).await?;
        let searcher = Searcher::new(store.clone(), 1);
        for _ in 0..times {
            for (pattern, _) in PATTERNS {
                search(&searcher, pattern).await?;
            }
        }
        each.extend(held(&store, name, 1).await?);
    }
    let store = bench.store.apart(CONNECTIONS as u32, true);
    store.keep_warm(CONNECTIONS).await?;
    // One for each connection at a time, until each has had its share.
    let searcher = Arc::new(Searcher::new(store.clone(), 1));
    for _ in 0..USED {
        let tasks: Vec<_> = (0..CONNECTIONS)
            .map(|n| {
                let searcher = Arc::clone(&searcher);
                tokio::spawn(async move { search(&searcher, PATTERNS[n % PATTERNS.len()].0).await })
            })
            .collect();
        for task in tasks {
            task.await.context("a search broke off")??;
        }
    }
    Ok(Memory { each, twenty: held(&store, "one of 20", CONNECTIONS).await? })
}

/// What each of a store's connections holds.
async fn held(store: &Store, name: &str, connections: usize) -> Result<Vec<Held>> {
    let mut leases = Vec::new();
    for _ in 0..connections {
        leases.push(store.lease().await?);
    }
    let mut all = Vec::new();
    for mut lease in leases {
        // Looking takes memory itself, so what the system says is read first.
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", lease.pid()));
        let own = rollup.ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Private_Dirty:"))?;
            line.trim().trim_end_matches(" kB").parse::<i64>().ok().map(|kb| kb * 1024)
        });
        let allocated = lease.memory().await?;
        lease.done();
        all.push(Held { name: name.to_owned(), own, allocated });
    }
    Ok(all)
}

/// What two spans look like.
#[derive(Deserialize, Serialize)]
struct Spans {
    compared: String,
    searches: u64,
    /// Those that a threshold shows, before and after.
    slow: [u64; 2],
}

async fn spans(bench: &Bench<'_>) -> Result<Spans> {
    let mut all: Vec<(Summary, u64)> = Vec::new();
    for cache in [postgres::machine_memory() / 4, 0] {
        let searcher = Searcher::new(bench.store.clone(), serve::cores()).keeping(cache);
        searcher.read_ahead().await?;
        let server = http::Server::new(Arc::new(searcher), Settings::default());
        let serving = Serving::of(http::routes_of(server.clone(), Hosts::any())).await?;
        let mut slow = 0;
        for n in 0..TIMES {
            for (pattern, _) in PATTERNS {
                let q = utf8_percent_encode(pattern, NON_ALPHANUMERIC);
                let begun = Instant::now();
                serving.get(&format!("/search?limit=10&timeout=2m&q={q}")).await?;
                slow += u64::from(begun.elapsed() > THRESHOLD);
            }
            bench.progress((all.len() * TIMES + n + 1) as u64, 2 * TIMES as u64);
        }
        all.push((server.book().since_start(), slow));
        serving.stop(Duration::from_secs(5)).await;
    }
    let [(before, slow_before), (after, slow_after)] = &all[..] else { unreachable!("two spans") };
    let compared = Some(("compared with texts in memory", before));
    Ok(Spans {
        compared: text("without texts in memory", after, compared, Trim::default()),
        searches: before.all().total(),
        slow: [*slow_before, *slow_after],
    })
}

/// Milliseconds of the requests of each round.
#[derive(Deserialize, Serialize)]
struct Cost {
    off: Vec<Vec<f64>>,
    on: Vec<Vec<f64>>,
}

async fn cost(bench: &Bench<'_>) -> Result<Cost> {
    let searcher =
        Searcher::new(bench.store.clone(), serve::cores()).keeping(postgres::machine_memory() / 4);
    let searcher = Arc::new(searcher);
    searcher.read_ahead().await?;
    // So much that nobody has it all.
    let most = Some(u32::MAX);
    let bounds = Bounds { at_once: Some(1 << 16), per_minute: most, mib_per_minute: most };
    let on = Settings {
        slow: Some(Duration::from_secs(1)),
        statistics: true,
        limits: Limits::new(bounds, bounds, Vec::new(), false),
        ..Settings::default()
    };
    let (off, on) = (
        http::routes(Arc::clone(&searcher), Hosts::any()),
        http::routes_of(http::Server::new(Arc::clone(&searcher), on), Hosts::any()),
    );
    let (off, on) = (Arc::new(Serving::of(off).await?), Arc::new(Serving::of(on).await?));
    let (nothing, _) = PATTERNS[7];
    let mut cost = Cost { off: Vec::new(), on: Vec::new() };
    for n in 0..ROUNDS {
        let path = move |_| format!("/search?limit=10&q={nothing}");
        cost.off.push(off.load(CLIENTS, ROUND, path).await?);
        cost.on.push(on.load(CLIENTS, ROUND, path).await?);
        bench.progress(n as u64 + 1, ROUNDS as u64);
    }
    Ok(cost)
}
