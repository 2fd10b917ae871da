//! Memory of the server processes behind connections.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use search::{Searcher, View, Visible};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{CONNECTIONS, search};
use crate::Bench;
use crate::regex::PATTERNS;

/// Searches of each pattern on each connection before its memory is measured again.
const USED: usize = 10;

/// Longest time for the server to write a process's memory contexts to its log.
const LOGGED: Duration = Duration::from_secs(5);

/// Memory of the process at the other end of a connection, in bytes.
#[derive(Deserialize, Serialize)]
pub(crate) struct Held {
    pub(crate) name: String,
    /// Its private pages; `None` without /proc, or without the right to read it.
    pub(crate) own: Option<i64>,
    /// Memory allocated by Postgres, by its own account; `None` without the server's log.
    pub(crate) allocated: Option<i64>,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Memory {
    pub(crate) each: Vec<Held>,
    pub(crate) twenty: Vec<Held>,
}

pub(crate) async fn measure(bench: &Bench<'_>) -> Result<Memory> {
    let mut control = bench.index.sql().await?;
    let mut each = Vec::new();
    let known = pids(&mut control).await?;
    let new = bench.index.sql().await?;
    each.extend(held(bench, &mut control, "new", &known).await?);
    drop(new);
    for (name, times) in
        [("readied", 0), ("after the nine patterns", 1), ("after them ten times", USED)]
    {
        let store = bench.index.connect(1).await?;
        let known = pids(&mut control).await?;
        store.keep_warm(1).await?;
        let opened = opened(&mut control, &known).await?;
        let view = View::new(Arc::new(Searcher::new(store.clone(), 1)), Visible::ALL);
        for _ in 0..bench.steps.times(times) {
            for (pattern, _) in PATTERNS {
                search(&view, pattern).await?;
            }
        }
        each.extend(look(bench, &mut control, name, &opened).await?);
        store.close().await;
    }
    let store = bench.index.connect(CONNECTIONS as u32).await?;
    let known = pids(&mut control).await?;
    store.keep_warm(CONNECTIONS).await?;
    let opened = opened(&mut control, &known).await?;
    // Run one search per connection at a time, until each connection has had its share.
    let view = View::new(Arc::new(Searcher::new(store.clone(), 1)), Visible::ALL);
    for _ in 0..USED {
        let tasks: Vec<_> = (0..CONNECTIONS)
            .map(|n| {
                let view = view.clone();
                tokio::spawn(async move { search(&view, PATTERNS[n % PATTERNS.len()].0).await })
            })
            .collect();
        for task in tasks {
            task.await.context("a search broke off")??;
        }
    }
    let twenty = look(bench, &mut control, "one of 20", &opened).await?;
    store.close().await;
    Ok(Memory { each, twenty })
}

/// Measures the processes that exist now but were not known before.
async fn held(
    bench: &Bench<'_>,
    control: &mut PgConnection,
    name: &str,
    known: &[i32],
) -> Result<Vec<Held>> {
    let opened = opened(control, known).await?;
    look(bench, control, name, &opened).await
}

/// Returns the processes that serve clients.
async fn pids(control: &mut PgConnection) -> Result<Vec<i32>> {
    let sql = "select pid from pg_stat_activity where backend_type = 'client backend'";
    Ok(sqlx::query_scalar(sql).fetch_all(control).await?)
}

async fn opened(control: &mut PgConnection, known: &[i32]) -> Result<Vec<i32>> {
    let mut pids = pids(control).await?;
    pids.retain(|pid| !known.contains(pid));
    Ok(pids)
}

/// Measures each process.
async fn look(
    bench: &Bench<'_>,
    control: &mut PgConnection,
    name: &str,
    pids: &[i32],
) -> Result<Vec<Held>> {
    let mut all = Vec::new();
    for pid in pids {
        // Logging the contexts takes memory itself, so read the system's figure first.
        let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
        let own = rollup.ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Private_Dirty:"))?;
            line.trim().trim_end_matches(" kB").parse::<i64>().ok().map(|kb| kb * 1024)
        });
        let allocated = match bench.index.log() {
            Some(log) => allocated(control, *pid, &log).await?,
            None => None,
        };
        all.push(Held { name: name.to_owned(), own, allocated });
    }
    Ok(all)
}

/// Returns the bytes that Postgres has allocated in a process. Only the process itself knows, and
/// writes it to the server's log.
async fn allocated(control: &mut PgConnection, pid: i32, log: &Path) -> Result<Option<i64>> {
    let before = std::fs::metadata(log).map_or(0, |data| data.len()) as usize;
    let told: bool = sqlx::query_scalar("select pg_log_backend_memory_contexts($1)")
        .bind(pid)
        .fetch_one(control)
        .await?;
    let begun = std::time::Instant::now();
    while told && begun.elapsed() < LOGGED {
        let bytes = std::fs::read(log).unwrap_or_default();
        let text = String::from_utf8_lossy(bytes.get(before..).unwrap_or_default());
        let total = text.split_once("Grand total: ").and_then(|(_, total)| {
            total.split_once(" bytes").and_then(|(bytes, _)| bytes.parse().ok())
        });
        if total.is_some() {
            return Ok(total);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(None)
}
