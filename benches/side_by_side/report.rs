//! The report: sizes on disk, a line for each row, ratios, and the record of all times.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

use crate::args::Args;
use crate::naive::{self, TABLES};
use crate::rows::{LIMITS, Row, Times};
use crate::shared::queries::Kind;
use crate::shared::server::{codesearch, run};
use crate::shared::summary::{geometric_mean, median};
use crate::shared::watch::bytes_in;
use crate::zoekt::Zoekt;
use crate::{ENOUGH, MOST_RUNS, Result, shared};

/// Returns the sizes on disk, as ratios to the size of the text.
pub(crate) fn sizes(
    home: &Path,
    zoekt: Option<&Zoekt>,
    runtime: &tokio::runtime::Runtime,
) -> Result<String> {
    let mut repos = codesearch(Some(home), None);
    repos.args(["repos", "--json"]);
    let out = run(repos)?;
    let bytes: f64 = out
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["bytes"].as_f64())
        .sum();
    let sizes = runtime.block_on(async {
        let mut conn = PgConnection::connect_with(&naive::options(home)).await?;
        let size = "select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_class c
                    join pg_namespace s on s.oid = c.relnamespace where relkind = 'r' and ";
        let mut sizes = Vec::new();
        for which in [
            "nspname = 'codesearch'",
            "nspname = 'naive' and relname = 'files'",
            "nspname = 'naive' and relname like 'files\\__%'",
        ] {
            let (bytes,): (f64,) = sqlx::query_as(AssertSqlSafe(format!("{size}{which}")))
                .fetch_one(&mut conn)
                .await?;
            sizes.push(bytes);
        }
        Ok::<_, sqlx::Error>(sizes)
    });
    let sizes = sizes.map_err(std::io::Error::other)?;
    let mut text = format!(
        "text {:.2} GB; on disk, as a ratio to it: codesearch {:.2}",
        bytes / 1e9,
        sizes[0] / bytes
    );
    if sizes[1] > 0.0 {
        let _ = write!(
            text,
            ", naive {:.2}, naive with {TABLES} tables {:.2}",
            sizes[1] / bytes,
            sizes[2] / bytes
        );
    }
    if let Some(zoekt) = zoekt {
        let _ = write!(text, ", zoekt {:.2}", bytes_in(&zoekt.index) as f64 / bytes);
    }
    Ok(text + "\n")
}

/// Returns the peers of a row, by name.
fn peers(row: &Row) -> [(&'static str, Option<&Times>); 4] {
    [
        ("zoekt", row.zoekt.as_ref()),
        ("ripgrep", row.ripgrep.as_ref()),
        ("naive", row.naive.as_ref()),
        ("naive 200", row.tables.as_ref()),
    ]
}

/// Returns the line of a row.
pub(crate) fn line(row: &Row) -> String {
    let limit = if row.limit == 0 { "none".to_owned() } else { row.limit.to_string() };
    let ours = median(&row.ours.ms);
    let mut text = format!(
        "{:<50}{limit:>5}{:>9.2}{ours:>9.2}{:>8}",
        row.query.name(),
        row.server_ms,
        row.ours.files
    );
    for (_, times) in peers(row) {
        match times {
            Some(times) => {
                let ms = median(&times.ms);
                let _ = write!(text, " |{ms:>9.1}{:>8}{:>8.3}", times.files, ours / ms);
            }
            None => text.push_str(" |         -       -       -"),
        }
    }
    text
}

/// Returns the whole report.
pub(crate) fn report(rows: &[Row], args: &Args, notes: &str, sizes: &str) -> String {
    let mut text = format!(
        "codesearch beside its peers, {}, {}\n\
         cargo bench --bench side_by_side; medians of {} runs in turn (3 without a limit), of up to \
         {MOST_RUNS} that fit in {ENOUGH:?}, over HTTP, whole answers read\n\n{sizes}{notes}\n",
        shared::today(),
        shared::machine(),
        args.runs
    );
    let _ = write!(
        text,
        "{:<50}{:>5}{:>9}{:>9}{:>8}",
        "milliseconds", "limit", "(server)", "ours", "files"
    );
    for (name, _) in peers(&rows[0]) {
        let _ = write!(text, " |{name:>9}{:>8}{:>8}", "files", "ratio");
    }
    text.push('\n');
    for row in rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text.push_str("\nours as a ratio to theirs: geometric mean, worst\n");
    text.push_str(&means(rows));
    for same in rows.chunk_by(|row, next| row.query.class == next.query.class) {
        if same.len() < rows.len() {
            let _ = write!(text, "\n{}\n{}", same[0].query.class, means(same));
        }
    }
    text
}

/// Returns the means of some rows at each limit.
fn means(rows: &[Row]) -> String {
    let mut text = String::new();
    for limit in LIMITS {
        let name = if limit == 0 { "no limit".to_owned() } else { format!("limit {limit}") };
        let _ = write!(text, "{name:<12}");
        for (i, (peer, _)) in peers(&rows[0]).iter().enumerate() {
            let ratios: Vec<f64> = rows
                .iter()
                .filter(|row| row.limit == limit)
                // grep is not compared on patterns that no index can answer.
                .filter(|row| *peer != "ripgrep" || row.query.kind != Kind::Scan)
                .filter_map(|row| Some(median(&row.ours.ms) / median(&peers(row)[i].1?.ms)))
                .collect();
            if !ratios.is_empty() {
                let worst = ratios.iter().copied().fold(0.0, f64::max);
                let _ = write!(text, "  {peer} {:.4}, {worst:.3}", geometric_mean(&ratios));
            }
        }
        text.push('\n');
    }
    text
}

/// Returns all times as JSON.
pub(crate) fn record(rows: &[Row], notes: &str) -> String {
    let times = |times: &Times| json!({ "ms": times.ms, "files": times.files });
    let row = |row: &Row| {
        let peers: serde_json::Map<String, Value> = peers(row)
            .iter()
            .filter_map(|(name, of)| Some(((*name).to_owned(), times((*of)?))))
            .collect();
        json!({
            "query": row.query.name(), "limit": row.limit, "server_ms": row.server_ms,
            "codesearch": times(&row.ours), "peers": peers,
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    let record = json!({
        "date": shared::today(), "machine": shared::machine(),
        "notes": notes.lines().collect::<Vec<_>>(), "rows": rows,
    });
    format!("{record:#}\n")
}
