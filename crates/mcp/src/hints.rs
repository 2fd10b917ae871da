//! Hints for agents: the query to call with instead of a wrong one, and queries that find something when a query found
//! nothing.

use std::time::{Duration, Instant};

use search::View;
use search::{Request, Stats};

use request::hints::{self, FileCount, Hint, NoResultsQuery, QueryContext, Suggested};
use request::{Client, Options, Refused};

/// Longest time to count the files that a suggested query finds.
const COUNTING: Duration = Duration::from_millis(50);

/// Longest time for all hints together. The first call of a process reads data that later calls find in memory.
const WITHIN: Duration = Duration::from_secs(1);

/// Returns the error of a call, with a suggested query.
pub(super) async fn refused(view: &View, query: &str, refused: Refused) -> anyhow::Error {
    let suggestion = match &refused {
        Refused::Query(error) => error.suggestion.clone(),
        Refused::Option { .. } => return refused.into(),
    };
    let mut hint = None;
    if let Some(suggestion) = suggestion {
        let suggested = Suggested::from(*suggestion);
        let beside = QueryContext { options: Options::default(), client: Client::AGENT };
        let until = Instant::now() + COUNTING;
        let count = hints::count(view, &suggested.query, &beside, until).await;
        hint = Some((count, suggested.query));
    }
    // The message of an error is often no query of this language.
    if hint.as_ref().is_none_or(|(count, _)| count.is_some_and(|count| count.files == 0))
        && let Some(found) = loosened(view, query).await
    {
        hint = found.query.map(|query| (found.count, query));
    }
    let Some((count, query)) = hint else { return refused.into() };
    let count = count.map_or_else(String::new, |count| format!(" ({})", count.text()));
    anyhow::anyhow!("{refused}\nTry this query{count}: {query}")
}

/// Returns whether a query has what varies in the message of an error: a number, a quoted name or a path.
pub(super) fn has_numbers(query: &str) -> bool {
    query.contains(|c: char| c.is_ascii_digit() || "'`/".contains(c))
}

/// Returns the query of an error message without its numbers and names; `None` if nothing has that either.
pub(super) async fn loosened(view: &View, query: &str) -> Option<Hint> {
    if !query.trim().contains(' ') {
        return None;
    }
    hints::without_numbers(view, query, Client::AGENT, Instant::now() + WITHIN).await
}

/// Returns hints to append to an answer; empty if there are none.
pub(super) async fn appendix(view: &View, query: &str, request: &Request, stats: &Stats) -> String {
    if request.resume.is_some() || stats.files == 0 && stats.stopped.is_some() {
        return String::new();
    }
    let hints = if stats.files > 0 {
        let parsed = query::Query::parse(query, query::Case::Smart).ok();
        let hint = parsed.and_then(|parsed| hints::meant_as_text(query, &parsed));
        hint.into_iter().collect()
    } else {
        // The answer itself says how many files were left out.
        let asked =
            NoResultsQuery { query, client: Client::AGENT, within: WITHIN, left_out: false };
        hints::for_no_results(view, &asked).await
    };
    if hints.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = hints.iter().map(line).collect();
    format!("\n\nOther queries:\n{}", lines.concat())
}

fn line(hint: &Hint) -> String {
    let count =
        hint.count.map(FileCount::text).map_or_else(String::new, |told| format!(" ({told})"));
    let query = hint.query.as_ref().map_or_else(String::new, |query| format!(": {query}"));
    format!("- {}{count}{query}\n", hint.message)
}
