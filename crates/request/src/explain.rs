//! Explains a search: the parsed query, its plan, the work and time that it took, and why it ended.

use std::io::{self, Write};
use std::sync::Arc;

use answer::FileMatch;
use query::{CompiledTerm, Plan, rarest_parts};
use rank::Explained;
use search::{Request, Stats, Stopped};
use serde_json::{Value, json};

use crate::human::count;
use crate::notes::{skipped, unsearched};

/// Prints the explanation of a search instead of its files.
pub struct Explain {
    request: Arc<Request>,
    /// Whether only the rarest trigrams of literals are looked up.
    loose: bool,
}

impl Explain {
    /// Explains a request. `loose` says that only the rarest trigrams of literals are looked up.
    pub fn new(request: Arc<Request>, loose: bool) -> Self {
        Self { request, loose }
    }
}

impl Explain {
    /// Prints the parsed query and its plan.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn planned(&self, out: &mut dyn Write) -> io::Result<()> {
        let compiled = self.request.compiled_query();
        writeln!(out, "query       {}", compiled.tree)?;
        writeln!(out, "plan        {}", self.request.plan())?;
        if self.request.plan() == Plan::Scan {
            writeln!(
                out,
                "            (no index can help: the search reads every file until it reaches the limit)"
            )?;
        }
        for term in &compiled.terms {
            writeln!(
                out,
                "term        {}: needs {}{}",
                term.name,
                term.literals,
                looked_up(term, self.loose)
            )?;
        }
        Ok(())
    }
}

/// Prints the work done.
///
/// # Errors
/// Writing to `out` fails.
pub fn done(out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
    let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1000.0;
    if stats.is_restricted {
        let (files, lines) = (count(stats.files, "result"), count(stats.matches, "matching line"));
        return writeln!(out, "found       {files}, {lines}");
    }
    writeln!(
        out,
        "shards      {}, {} excluded by repository names or filters, {} searched: {} in memory, {} in Postgres",
        stats.shards,
        stats.shards_pruned,
        stats.shards_searched,
        stats.shards_from_memory,
        stats.shards_from_postgres
    )?;
    writeln!(
        out,
        "candidates  {} from the index that have all n-grams",
        count(stats.candidates, "chunk")
    )?;
    writeln!(
        out,
        "rechecks    {}, {:.1} KB in all; {} considered",
        count(stats.rechecks, "text"),
        stats.bytes as f64 / 1e3,
        count(stats.files_considered, "file")
    )?;
    let (files, lines) = (count(stats.files, "result"), count(stats.matches, "matching line"));
    writeln!(out, "found       {files}, {lines}")?;
    writeln!(out, "left out    {} (files not in the index that might match)", skipped(stats))?;
    if let Some(left) = unsearched(stats) {
        writeln!(out, "symbols     {left}")?;
    }
    let phases = stats.phases;
    writeln!(
        out,
        "time        {:.1} ms; over all shards: index {:.1}, files {:.1}, texts {:.1}, matching {:.1}",
        ms(stats.duration),
        ms(phases.lookup),
        ms(phases.files),
        ms(phases.load),
        ms(phases.verify)
    )?;
    let why = match &stats.stopped {
        None if !stats.is_complete() => {
            "everything was searched, except missing symbols".to_owned()
        }
        None => "everything was searched".to_owned(),
        Some(Stopped::Limit) => {
            format!("the search reached the limit of {}", count(stats.files, "result"))
        }
        Some(Stopped::Timeout(timeout)) => format!("timed out after {timeout:?}"),
        Some(Stopped::Shards(error)) => crate::notes::missing(&stats.shown_missing())
            .unwrap_or_else(|| format!("incomplete: {error}")),
        Some(Stopped::Revision(why)) => why.clone(),
    };
    writeln!(out, "ended       {why}")
}

/// Returns the explanation as text; without `stats` the search was abandoned.
pub fn explained(request: &Arc<Request>, loose: bool, stats: Option<&Stats>) -> String {
    let explain = Explain::new(Arc::clone(request), loose);
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = explain.planned(&mut text).and_then(|()| match stats {
        Some(stats) => done(&mut text, stats),
        None => writeln!(text, "ended       before the search was complete"),
    });
    String::from_utf8_lossy(&text).into_owned()
}

/// Formats a file's score and its parts on one line: `151.2 = definition 68.0 (line 7) + name 70.0 + place -3.0`.
pub fn score(explained: &Explained) -> String {
    let parts = explained.parts.named().into_iter().filter(|(_, points)| *points != 0.0);
    let parts: Vec<String> = parts
        .map(|(name, points)| match explained.line {
            Some(line) if matches!(name, "definition" | "words") => {
                format!("{name} {points:.1} (line {line})")
            }
            _ => format!("{name} {points:.1}"),
        })
        .collect();
    format!("{:.1} = {}", explained.parts.points(), parts.join(" + "))
}

/// Formats the score of each file on a line of its own.
pub fn scores(files: &[FileMatch], explained: &[Explained]) -> String {
    let line = |(file, explained): (&FileMatch, &Explained)| {
        format!("score       {}/{}: {}\n", file.repo, file.path, score(explained))
    };
    files.iter().zip(explained).map(line).collect()
}

/// Describes which parts of a term's literals are looked up, if not all.
fn looked_up(term: &CompiledTerm, loose: bool) -> String {
    let mut parts = Vec::new();
    term.literals.literals(&mut |literal| {
        let rarest_parts = rarest_parts(literal);
        if loose && rarest_parts != [literal] {
            parts.push(format!(
                "{literal:?} by {}",
                rarest_parts.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(" and ")
            ));
        }
    });
    if parts.is_empty() { String::new() } else { format!("; looked up: {}", parts.join(", ")) }
}

/// Returns the query and its plan as JSON, without statistics.
pub fn explanation(request: &Request, loose: bool) -> Value {
    let compiled = request.compiled_query();
    let terms: Vec<Value> = compiled
        .terms
        .iter()
        .map(|term| {
            let mut lookups = Vec::new();
            term.literals.literals(&mut |literal| {
                let by = if loose { rarest_parts(literal) } else { vec![literal] };
                lookups.push(json!({ "literal": literal, "by": by }));
            });
            json!({ "pattern": term.name, "needs": term.literals.to_string(), "lookups": lookups })
        })
        .collect();
    json!({ "query": compiled.tree, "plan": request.plan().to_string(), "terms": terms })
}
