//! `cargo bench --bench judged -- --ours URL [--zoekt URL]`: how high the right files rank, in codesearch (`/ask`, and
//! `/search` with `sort=relevance`), in Zoekt, and in Zoekt with BM25.
//!
//! The queries are:
//! - those of `corpus/judged-code.tsv`, by class and set, on the fetched corpus;
//! - *known items*: names that are defined exactly once in the index, both as written and as their words
//!   (`GoroutinesHandlerFunc`, `goroutines handler func`); the right file is the one that defines them;
//! - a *given* set of questions about repositories at certain revisions: each as typed, restricted to its repository, and
//!   over all these repositories at once. The bench verifies the checkouts, and names those that are missing.
//!
//! Options:
//!
//!     --ours URL       a running `codesearch serve`
//!     --zoekt URL      a running `zoekt-webserver -rpc` on the same repositories; without one, Zoekt is left out
//!     --home HOME      the index from which known items are taken; without one, they are left out
//!     --index NAME     as for codesearch
//!     --items N        known items of each language (24)
//!     --seed N         which ones (1)
//!     --known FILE     where known items are kept: read if it exists, else written
//!     --given FOLDER   a given set: `repos.json` and `annotations/NAME.json`
//!     --checkouts FOLDER  the repositories that it is about, `FOLDER/NAME`, all of which are in the index
//!     --only CLASS     only this class (known: the known items; given: the given set)
//!     --details        also print where each query of the sets `tuned` and `given`, and each known item, was found
//!     --name NAME      name of the record (judged)
//!
//! Columns: recall@1 and recall@5 are the shares of queries with a file of grade 3 among the first one and five, MRR is
//! the mean of 1 / the place of the first such file, or 0 if it is not among the first ten; nDCG@10 counts all grades; the
//! last is the share of queries that find nothing. The targets of a given set have one grade. A target counts once, at the
//! first file whose path is the target or ends with it.

#[path = "../shared/mod.rs"]
mod shared;

mod args;
mod engines;
mod given;
mod known;
mod published;
mod queries;
mod repo;
mod report;
mod score;

use args::{Args, args};
use engines::{Engine, Scope};
use queries::{Query, Set};
use repo::Repo;
use score::Outcome;

/// Number of files that count.
const FILES: usize = 10;

type Result<T> = std::io::Result<T>;

/// A query, and each engine's outcome.
struct Row {
    query: Query,
    /// Whether it was asked over all repositories of its set at once.
    at_once: bool,
    /// In the order of the engines.
    outcomes: Vec<Outcome>,
}

fn main() {
    shared::end("judged", bench());
}

fn bench() -> Result<()> {
    let args = args();
    let agent = shared::server::agent();
    let mut notes = String::new();
    let mut engines = Vec::new();
    if Engine::answers_questions(&agent, &args.ours) {
        engines.push(Engine::Ask(args.ours.clone()));
    } else {
        notes.push_str("ask is left out: the server has no /ask\n");
    }
    engines.push(Engine::Search(args.ours.clone()));
    match &args.zoekt {
        Some(url) => {
            engines.push(Engine::Zoekt { url: url.clone(), bm25: false });
            engines.push(Engine::Zoekt { url: url.clone(), bm25: true });
        }
        None => notes.push_str("zoekt is left out: no --zoekt\n"),
    }
    let (queries, repos) = queries(&args, &mut notes)?;
    let mut rows = Vec::new();
    for query in queries {
        let scopes = match query.set {
            Set::Given => vec![(false, Scope::Repository), (true, Scope::Repositories(&repos))],
            _ => vec![(false, Scope::Index)],
        };
        for (at_once, scope) in scopes {
            let mut outcomes = Vec::new();
            for engine in &engines {
                let (ms, files) = engine.ask(&agent, &query, scope)?;
                outcomes.push(Outcome::of(&query, files, ms));
            }
            if args.details && query.set != Set::Aside {
                println!("{}", report::detail(&query, at_once, &outcomes));
            }
            rows.push(Row { query: query.clone(), at_once, outcomes });
        }
    }
    let names: Vec<&str> = engines.iter().map(Engine::name).collect();
    let text = report::report(&rows, &names, &notes);
    print!("{text}");
    shared::record(&format!("{}.txt", args.name), &text)?;
    shared::record(&format!("{}.json", args.name), &report::record(&rows, &names, &notes))
}

/// Returns the queries, and the repositories of the given set.
fn queries(args: &Args, notes: &mut String) -> Result<(Vec<Query>, Vec<Repo>)> {
    let mut queries = queries::judged()?;
    match known::items(args)? {
        Some(items) => queries.extend(known::queries(&items)),
        None => notes.push_str("known items are left out: no --home and no file of --known\n"),
    }
    let mut repos = Vec::new();
    match (&args.given, &args.checkouts) {
        (Some(set), Some(folder)) => {
            let found = given::checkouts(set, folder)?;
            for missing in &found.missing {
                notes.push_str(&format!("left out of the given set: {missing}\n"));
            }
            repos = found.repos;
            queries.extend(given::queries(set, &repos)?);
        }
        _ => notes.push_str("the given set is left out: no --given and --checkouts\n"),
    }
    if let Some(only) = &args.only {
        let is_given = |query: &Query| only == "given" && query.set == Set::Given;
        let is_class = |query: &Query| query.set != Set::Given && query.class.starts_with(only);
        queries.retain(|query| is_given(query) || is_class(query));
    }
    Ok((queries, repos))
}
