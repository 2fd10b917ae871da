//! Property test: generated queries on generated files. Answers must equal those of an evaluator that reads every file
//! and uses no indexes, plans or parser. Each query goes to a server with all texts in memory, to one with half of
//! them, to one with none, and occasionally to the command line, agents, pages and ranked answers. The index has
//! several shards.
//!
//! By default a few hundred queries run. A long run, with another seed (`just property 20000 7`):
//!
//!     CODESEARCH_PROPERTY_QUERIES=20000 CODESEARCH_PROPERTY_SEED=7 \
//!         cargo test --release -p codesearch --test it property -- --nocapture

mod changes;
mod evaluate;
mod generate;
mod surfaces;
mod trees;
mod written;

use std::collections::BTreeMap;

use fastrand::Rng;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::agents::Agent;
use crate::harness::{Fixture, Server, eventually};
use evaluate::{Answer, evaluate};
use generate::{Query, files, query};

/// Queries for one set of files.
const QUERIES_PER_CORPUS: usize = 250;

/// One in this many queries also goes to the command line, which starts a new process for each.
const COMMAND_LINE_EVERY: usize = 10;

/// One in this many queries goes to ranked answers, and one in this many to terminals and pipes in each order.
const RANKED_EVERY: usize = 5;
const PRINTED_EVERY: usize = 50;

/// Shards over which each set of files is spread.
const SHARDS: usize = 6;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// The source of a server's texts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Memory,
    Mixed,
    Postgres,
}

/// Numbers of shards that were searched in memory and in Postgres.
#[derive(Clone, Copy, Debug, Default)]
struct Shards {
    memory: u64,
    postgres: u64,
}

/// The servers on one index, each with the numbers of shards that it searched in each source.
struct Servers(Vec<(Source, Server, Shards)>);

impl Servers {
    /// Starts the servers, and waits until they have filled their caches.
    fn start(fixture: &Fixture) -> Self {
        let memory = fixture.serve_with(&["--cache", "64"]);
        memory.settle();
        let all = memory.bytes_in_memory();
        // A shard heavier than half of the cache is not cached at all.
        let most = format!("{:.6}", all as f64 * 0.75 / f64::from(1 << 20));
        let mixed = fixture.serve_with(&["--cache", &most]);
        eventually("some texts are in memory", || mixed.bytes_in_memory() > 0);
        let postgres = fixture.serve_with(&["--cache", "0"]);
        Self(vec![
            (Source::Memory, memory, Shards::default()),
            (Source::Mixed, mixed, Shards::default()),
            (Source::Postgres, postgres, Shards::default()),
        ])
    }

    /// Checks that each server searched in the expected source.
    fn check(self) {
        for (source, server, shards) in self.0 {
            let kept = server.bytes_in_memory();
            let right = match source {
                Source::Memory => shards.memory > 0 && shards.postgres == 0,
                Source::Mixed => shards.memory > 0 && kept > 0,
                Source::Postgres => shards.memory == 0 && shards.postgres > 0 && kept == 0,
            };
            assert!(right, "{source:?}: {shards:?}, {kept} bytes in memory");
        }
    }
}

#[test]
fn generated_queries_are_answered_as_a_plain_scan_would() {
    let count = setting("CODESEARCH_PROPERTY_QUERIES", 400) as usize;
    let seed = setting("CODESEARCH_PROPERTY_SEED", 1);
    let (mut asked, mut found, mut empty, mut skipped) = (0, 0, 0, 0);
    for corpus in 0.. {
        if asked >= count {
            break;
        }
        // Each set of files has its own seed, so that a failure can be reproduced quickly.
        let corpus_seed = seed.wrapping_mul(1_000_003).wrapping_add(corpus);
        let mut rng = Rng::with_seed(corpus_seed);
        let files = files(&mut rng);
        let fixture = Fixture::new();
        for file in &files {
            fixture.write(&format!("{}/{}", file.repo, file.path), &file.text);
        }
        generate::configure(&fixture);
        fixture.ingest_over(SHARDS);
        let path = |file: &generate::File| format!("{}/{}", file.repo, file.path);
        fixture.define(&files.iter().map(|file| (path(file), file.symbols.clone())).collect());
        let used: i64 = fixture.sql("select count(*) from shards where chunks > 0");
        // With fewer shards, a server cannot cache a part of the texts.
        if used < 3 {
            skipped += 1;
            assert!(skipped <= 2 + corpus / 2, "{skipped} of {corpus} sets of files are small");
            continue;
        }
        let mut servers = Servers::start(&fixture);
        let mut agent = Agent::of(&fixture);
        surfaces::check_others(&servers.0[0].1, &files, &format!("seed {corpus_seed}"));
        for n in 0..QUERIES_PER_CORPUS.min(count - asked) {
            let query = query(&mut rng);
            let expected = evaluate(&query, &files);
            for (source, server, shards) in &mut servers.0 {
                let place = format!("seed {corpus_seed}, query {n}, {source:?}");
                let answer = ask(server, "", &query, &place);
                shards.memory += answer["stats"]["shards_from_memory"].as_u64().unwrap();
                shards.postgres += answer["stats"]["shards_from_postgres"].as_u64().unwrap();
                check(&answer, &query, &expected, &place);
            }
            if n % COMMAND_LINE_EVERY == 0 && query.limit.is_none() {
                let place = format!("seed {corpus_seed}, query {n}, the command line");
                check_command_line(&fixture, &query, &expected, &place);
            }
            if n % RANKED_EVERY == 0 && query.limit.is_none() {
                let place = format!("seed {corpus_seed}, query {n}");
                let server = &servers.0[n / RANKED_EVERY % servers.0.len()].1;
                surfaces::check_ranked(server, &mut agent, &query, &expected, &place);
            }
            if n % PRINTED_EVERY == 1 && query.limit.is_none() {
                let place = format!("seed {corpus_seed}, query {n}");
                surfaces::check_printed(&fixture, &query, &expected, &place);
            }
            asked += 1;
            found += expected.len();
            empty += usize::from(expected.is_empty());
        }
        servers.check();
    }
    println!("{asked} queries, seed {seed}: {found} results, {empty} queries found nothing");
    // If hardly any query found something, the test could not fail.
    assert!(empty * 4 < asked * 3, "{empty} of {asked} queries found nothing");
}

/// Returns a server's answer to a query, after words that name trees.
fn ask(server: &Server, trees: &str, query: &Query, place: &str) -> Value {
    let text = format!("{trees}{query}");
    let limit = query.limit.unwrap_or(0);
    let encoded = utf8_percent_encode(&text, NON_ALPHANUMERIC);
    let (status, answer) = server.json(&format!("/search?q={encoded}&limit={limit}"));
    assert_eq!(status, 200, "{place}: {text}\n{answer}");
    answer
}

/// Compares one answer.
#[track_caller]
fn check(got: &Value, query: &Query, expected: &Answer, place: &str) {
    let got_answer = answer(got);
    let total = expected.len();
    let complete = query.limit.is_none_or(|limit| total <= limit);
    assert_eq!(got["stats"]["complete"], complete, "{place}: {query}\n{}", got["stats"]);
    if complete {
        assert_same(&got_answer, expected, &format!("{place}: {query}"));
    } else {
        assert_eq!(got["stats"]["stopped_because"], "limit", "{place}: {query}");
        assert_eq!(Some(got_answer.len()), query.limit, "{place}: {query}");
        for (key, lines) in &got_answer {
            assert_eq!(expected.get(key), Some(lines), "{place}: {query}: {key}");
        }
    }
}

/// Compares the output of the command line: paths of files, or names of repositories.
#[track_caller]
fn check_command_line(fixture: &Fixture, query: &Query, expected: &Answer, place: &str) {
    let found = fixture.search(&["-l", "--", &query.to_string()]);
    let expected: Vec<&String> = expected.keys().collect();
    assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{place}: {query}");
}

/// Converts a server's answer to the form of the evaluator's.
fn answer(got: &Value) -> Answer {
    if let Some(repos) = got["repos"].as_array() {
        return repos.iter().map(|r| (r.as_str().unwrap().to_owned(), BTreeMap::new())).collect();
    }
    let mut answer = Answer::new();
    for file in got["files"].as_array().unwrap() {
        let path_of = |of: &Value| {
            format!("{}/{}", of["repo"].as_str().unwrap(), of["path"].as_str().unwrap())
        };
        let mut lines = BTreeMap::new();
        for line in file["matches"].as_array().unwrap() {
            let text = line["text"].as_str().unwrap();
            let mut marked = vec![false; text.len()];
            for range in line["ranges"].as_array().unwrap() {
                let (start, end) = (range[0].as_u64().unwrap(), range[1].as_u64().unwrap());
                marked[start as usize..end as usize].fill(true);
            }
            lines.insert(line["line"].as_u64().unwrap() as usize, (text.to_owned(), marked));
        }
        // In order of relevance, identical copies are one result.
        for copy in file["copies"].as_array().into_iter().flatten() {
            assert!(answer.insert(path_of(copy), lines.clone()).is_none(), "a copy twice");
        }
        assert!(answer.insert(path_of(file), lines).is_none(), "a file twice");
    }
    answer
}

#[track_caller]
fn assert_same(got: &Answer, expected: &Answer, what: &str) {
    for (file, lines) in expected {
        assert!(got.contains_key(file), "{what}\nmissing {file}: {lines:?}");
        let differs = |number: &&usize| got[file].get(number) != lines.get(number);
        let mut numbers = lines.keys().chain(got[file].keys());
        if let Some(number) = numbers.find(differs) {
            let (got, expected) = (got[file].get(number), lines.get(number));
            panic!("{what}\nin {file}, line {number}\n     got {got:?}\nexpected {expected:?}");
        }
    }
    for file in got.keys() {
        assert!(expected.contains_key(file), "{what}\ntoo many: {file}: {:?}", got[file]);
    }
}
