//! `codesearch stats`: prints the durations of searches, slow searches, and the statements that Postgres counts.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use store::Store;

use crate::cli::{DatabaseArgs, StatsArgs};
use crate::database::{Database, external};
use statistics::{Span, Summary, rfc3339, slow_json, text};

/// The span of time that is shown by default.
const USUAL: &str = "24h";

/// Most slow searches or statements listed.
const MAX_LISTED: i64 = 20;

/// Most characters of a statement printed.
const MAX_STATEMENT: usize = 200;

pub(crate) fn run(database: &DatabaseArgs, args: &StatsArgs) -> Result<u8> {
    let span = match &args.from {
        Some(from) => Span::between(Some(from), args.to.as_deref())?,
        None => Span::parse(args.since.as_deref().unwrap_or(USUAL))?,
    };
    let compared = match args.compare.as_deref() {
        None => None,
        Some("before") => Some(span.before()),
        Some(other) => Some(Span::parse(other)?),
    };
    // An extension may be created in the private Postgres, but not in a user's database.
    let ours = external(database).is_none();
    Database::open_index(database, 1)?.run(async |store| {
        if args.statements {
            return statements(store, args, ours).await;
        }
        if args.slow {
            return slow(store, args, span).await;
        }
        let read = async |span: Span| -> Result<Summary> {
            let summary = Summary::read(store, span).await?;
            Ok(args.kind.as_deref().map_or(summary.clone(), |kind| summary.only(kind)))
        };
        let one = read(span).await?;
        let other = match compared {
            Some(span) => Some((span, read(span).await?)),
            None => None,
        };
        if args.json {
            let mut object = one.json(args.trim);
            object.insert("span".to_owned(), span.json());
            if let Some((span, other)) = &other {
                let mut other = other.json(args.trim);
                other.insert("span".to_owned(), span.json());
                object.insert("compared".to_owned(), Value::Object(other));
            }
            say!("{}", Value::Object(object));
        } else {
            let name = other.as_ref().map(|(span, _)| format!("compared with {}", span.describe()));
            let beside = name.as_deref().zip(other.as_ref().map(|(_, other)| other));
            say!("{}", text(&span.describe(), &one, beside, args.trim).trim_end());
        }
        let nothing = one.all().total() == 0 && one.refused().is_empty();
        Ok(if nothing { crate::NOTHING } else { crate::FOUND })
    })
}

async fn slow(store: &Store, args: &StatsArgs, span: Span) -> Result<u8> {
    let mut slow = store.slow_searches(span.from, span.to, MAX_LISTED).await?;
    slow.retain(|slow| args.kind.as_deref().is_none_or(|kind| slow.kind == kind));
    for one in &slow {
        if args.json {
            say!("{}", slow_json(one));
            continue;
        }
        let ms = one.micros as f64 / 1e3;
        say!("{ms:.1} ms  {}  {}  {}", rfc3339(one.at), one.kind, one.outcome);
        for line in one.plan.lines() {
            say!("    {line}");
        }
    }
    if slow.is_empty() {
        note!("codesearch: no slow searches {}", span.describe());
        return Ok(crate::NOTHING);
    }
    if slow.len() as i64 == MAX_LISTED && !args.json {
        note!("codesearch: the slowest {MAX_LISTED}; choose a shorter span to see others");
    }
    Ok(crate::FOUND)
}

async fn statements(store: &Store, args: &StatsArgs, ours: bool) -> Result<u8> {
    let Some(statements) = store.counted_statements(ours, MAX_LISTED).await? else {
        if ours {
            bail!(
                "this Postgres has no statement statistics: pg_stat_statements is not installed, or was installed \
                 after the server started (run codesearch db stop, and try again)"
            );
        }
        bail!(
            "the database has no statement statistics; its administrator can add pg_stat_statements to \
             shared_preload_libraries, restart it, and run: create extension pg_stat_statements"
        );
    };
    if !args.json {
        say!(
            "{:>9}  {:>10}  {:>9}  {:>9}  {:>6}  STATEMENT",
            "CALLS",
            "MS",
            "MS EACH",
            "ROWS",
            "HITS"
        );
    }
    for one in &statements {
        if args.json {
            say!(
                "{}",
                json!({
                    "statement": one.query, "calls": one.calls, "total_ms": one.total_ms,
                    "rows": one.rows, "hit_share": one.hit_share,
                })
            );
            continue;
        }
        let cut = one.query.char_indices().nth(MAX_STATEMENT).map(|(at, _)| at);
        let shown = cut.map_or(one.query.clone(), |at| format!("{} ...", &one.query[..at]));
        let hits =
            one.hit_share.map_or_else(|| "-".to_owned(), |hit| format!("{:.1} %", hit * 100.0));
        say!(
            "{:>9}  {:>10.1}  {:>9.3}  {:>9}  {hits:>6}  {shown}",
            one.calls,
            one.total_ms,
            one.total_ms / one.calls.max(1) as f64,
            one.rows
        );
    }
    Ok(if statements.is_empty() { crate::NOTHING } else { crate::FOUND })
}
