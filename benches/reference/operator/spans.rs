//! A histogram compared with a threshold: the same searches on a server with texts in memory and on one without,
//! compared by `codesearch stats --compare`.
//!
//! Servers add to the statistics of the current hour. The index's own statistics of that hour are renamed meanwhile.
//! Those of the two servers are moved to days long ago, compared there, and deleted.

use std::time::Duration;

use anyhow::{Context, Result};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use crate::Bench;
use crate::regex::PATTERNS;

/// The threshold in the reference's case; a general slowdown goes unnoticed below it.
pub(crate) const THRESHOLD: Duration = Duration::from_millis(200);

/// Requests of each pattern in each of the two spans.
const TIMES: usize = 30;

/// The two spans, on days without searches: with texts in memory, and without.
const BEFORE: (&str, &str) = ("2000-01-01T00:00Z", "2000-01-02T00:00Z");
const AFTER: (&str, &str) = ("2000-01-03T00:00Z", "2000-01-04T00:00Z");

/// The comparison of the two spans.
#[derive(Deserialize, Serialize)]
pub(crate) struct Spans {
    pub(crate) compared: String,
    /// Number of searches in each span.
    pub(crate) searches: u64,
    /// Number of searches above the threshold, before and after.
    pub(crate) slow: [u64; 2],
}

pub(crate) async fn measure(bench: &Bench<'_>) -> Result<Spans> {
    let mut conn = bench.index.sql().await?;
    // Undo the renaming of an earlier run that was interrupted.
    restore(&mut conn).await?;
    conn.execute(
        "update searches set kind = 'aside ' || kind where hour >= now() - interval '1 hour'",
    )
    .await?;
    let mut slow = [0, 0];
    for (at, (cache, name)) in
        [(&[][..], "before "), (&["--cache", "0"], "after ")].iter().enumerate()
    {
        slow[at] = serve(bench, cache, at)?;
        let sql = format!(
            "update searches set kind = '{name}' || kind
             where hour >= now() - interval '1 hour' and kind not like '% %'"
        );
        conn.execute(AssertSqlSafe(sql)).await?;
    }
    for (name, (day, _)) in [("before ", BEFORE), ("after ", AFTER)] {
        // The hour may have changed meanwhile.
        let sql = format!(
            "update searches set kind = substr(kind, length('{name}.')),
                 hour = '{day}'::timestamptz + (hour - date_trunc('day', hour))
             where kind like '{name}%'"
        );
        conn.execute(AssertSqlSafe(sql)).await?;
    }
    let compare = format!("{}..{}", BEFORE.0, BEFORE.1);
    let shown =
        bench.index.run(&["stats", "--from", AFTER.0, "--to", AFTER.1, "--compare", &compare]);
    restore(&mut conn).await?;
    Ok(Spans {
        compared: named(&shown?).context("codesearch stats printed something else")?,
        searches: (bench.steps.times(TIMES) * PATTERNS.len()) as u64,
        slow,
    })
}

/// Sends all patterns to a server, and counts the answers that took longer than the threshold.
fn serve(bench: &Bench<'_>, more: &[&str], span: usize) -> Result<u64> {
    let server = bench.index.server(&[&["--slow", "60m"], more].concat())?;
    server.settle();
    let (times, mut slow) = (bench.steps.times(TIMES), 0);
    for n in 0..times {
        for (pattern, _) in PATTERNS {
            let q = utf8_percent_encode(pattern, NON_ALPHANUMERIC);
            let (ms, _) = server.get(&format!("/search?limit=10&timeout=2m&q={q}"))?;
            slow += u64::from(ms > THRESHOLD.as_secs_f64() * 1000.0);
        }
        bench.steps.progress((span * times + n + 1) as u64, 2 * times as u64);
    }
    Ok(slow)
}

/// Restores the statistics. If other servers have added to the same hour meanwhile, their rows
/// stay, and the renamed ones are lost.
async fn restore(conn: &mut PgConnection) -> Result<()> {
    conn.execute(
        "delete from searches where hour < '2001-01-01' or kind like 'before %' or kind like 'after %';
         update searches s set kind = substr(kind, length('aside ') + 1)
         where kind like 'aside %' and not exists (
             select from searches t
             where t.hour = s.hour and t.outcome = s.outcome and 'aside ' || t.kind = s.kind);
         delete from searches where kind like 'aside %'",
    )
    .await?;
    Ok(())
}

/// Returns the text with the spans' names in place of their hours in the first two lines.
fn named(shown: &str) -> Option<String> {
    let mut lines = shown.lines();
    let searches = |line: &str| Some(line.rsplit_once(": ")?.1.to_owned());
    let (one, other) = (searches(lines.next()?)?, searches(lines.next()?)?);
    let mut text =
        format!("without texts in memory: {one}\ncompared with texts in memory: {other}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    Some(text)
}
