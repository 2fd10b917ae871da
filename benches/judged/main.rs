//! `cargo bench --bench judged -- --ours URL [--zoekt URL]`: how high the right files rank, in codesearch
//! (`sort=relevance`), in Zoekt, and in Zoekt with BM25, on the fetched corpus.
//!
//! The queries are those of `corpus/judged-code.tsv`, by class and set, and *known items*: names that are defined
//! exactly once in the index, both as written and as their words (`GoroutinesHandlerFunc`, `goroutines handler func`).
//! The right file is the one that defines them.
//!
//!     --ours URL       a running `codesearch serve`
//!     --zoekt URL      a running `zoekt-webserver -rpc` on the same corpus; without one, Zoekt is left out
//!     --home HOME      the index from which known items are taken; without one, they are left out
//!     --index NAME     as for codesearch
//!     --items N        known items of each language (24)
//!     --seed N         which ones (1)
//!     --known FILE     where known items are kept: read if it exists, else written
//!     --only CLASS     only this class (known: the known items)
//!     --details        also print where each query of the set `tuned`, and each known item, was found
//!     --name NAME      name of the record (judged)
//!
//! Columns: recall@1 and recall@5 are the shares of queries with a file of grade 3 among the first one and five, MRR is
//! the mean of 1 / the place of the first such file, or 0 if it is not among the first ten; nDCG@10 counts all grades.

#[path = "../shared/mod.rs"]
mod shared;

mod args;
mod engines;
mod known;
mod queries;
mod report;
mod score;

use args::args;
use engines::Engine;
use queries::{Query, Set};
use score::Outcome;

/// Number of files requested.
const FILES: usize = 10;

type Result<T> = std::io::Result<T>;

/// A query, and each engine's outcome.
struct Row {
    query: Query,
    /// In the order of the engines.
    outcomes: Vec<Outcome>,
}

fn main() {
    shared::end("judged", bench());
}

fn bench() -> Result<()> {
    let args = args();
    let mut engines = vec![Engine::Ours(args.ours.clone())];
    let mut notes = String::new();
    match &args.zoekt {
        Some(url) => {
            engines.push(Engine::Zoekt { url: url.clone(), bm25: false });
            engines.push(Engine::Zoekt { url: url.clone(), bm25: true });
        }
        None => notes.push_str("zoekt is left out: no --zoekt\n"),
    }
    let mut queries = queries::judged()?;
    match known::items(&args)? {
        Some(items) => queries.extend(known::queries(&items)),
        None => notes.push_str("known items are left out: no --home and no file of --known\n"),
    }
    if let Some(only) = &args.only {
        queries.retain(|query| query.class.starts_with(only.as_str()));
    }
    let agent = shared::server::agent();
    let mut rows = Vec::new();
    for query in queries {
        let mut outcomes = Vec::new();
        for engine in &engines {
            let (ms, files) = engine.ask(&agent, &query.text, FILES)?;
            outcomes.push(Outcome::of(&query, &files, ms));
        }
        if args.details && query.set != Set::Aside {
            println!("{}", report::detail(&query, &outcomes));
        }
        rows.push(Row { query, outcomes });
    }
    let names: Vec<&str> = engines.iter().map(Engine::name).collect();
    let text = report::report(&rows, &names, &notes);
    print!("{text}");
    shared::record(&format!("{}.txt", args.name), &text)?;
    shared::record(&format!("{}.json", args.name), &report::record(&rows, &names, &notes))
}
