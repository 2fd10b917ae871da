//! Generated queries on generated files: the answer of a running server equals that of an evaluator
//! that reads every file and knows nothing of indexes, plans or the parser.
//!
//! By default a few hundred queries. A long run, with another seed:
//!
//!     CODESEARCH_PROPERTY_QUERIES=20000 CODESEARCH_PROPERTY_SEED=7 \
//!         cargo test --release -p codesearch --test it property -- --nocapture

mod evaluate;
mod generate;

use std::collections::BTreeMap;

use fastrand::Rng;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::harness::{Fixture, Server};
use evaluate::{Answer, evaluate};
use generate::{File, Query, files, query};

/// Queries asked of one set of files.
const QUERIES_PER_CORPUS: usize = 250;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

#[test]
fn generated_queries_are_answered_as_a_plain_scan_would() {
    let count = setting("CODESEARCH_PROPERTY_QUERIES", 400) as usize;
    let seed = setting("CODESEARCH_PROPERTY_SEED", 1);
    let (mut asked, mut found, mut empty) = (0, 0, 0);
    for corpus in 0.. {
        if asked >= count {
            break;
        }
        // Each set of files has a seed of its own, so that a failure can be had again quickly.
        let corpus_seed = seed.wrapping_mul(1_000_003).wrapping_add(corpus);
        let mut rng = Rng::with_seed(corpus_seed);
        let files = files(&mut rng);
        let fixture = Fixture::new();
        for file in &files {
            fixture.write(&format!("{}/{}", file.repo, file.path), &file.text);
        }
        fixture.ingest();
        // One verifies texts that are in memory, the other asks Postgres for candidates and texts.
        let (server, without) = (fixture.serve(), fixture.serve_with(&["--cache", "0"]));
        for n in 0..QUERIES_PER_CORPUS.min(count - asked) {
            let query = query(&mut rng);
            let place = format!("seed {corpus_seed}, query {n}");
            let results = check(&server, &files, &query, &place);
            check(&without, &files, &query, &format!("{place}, without texts in memory"));
            asked += 1;
            found += results;
            empty += usize::from(results == 0);
        }
    }
    println!("{asked} queries, seed {seed}: {found} results, {empty} queries found nothing");
    // A test in which nothing is ever found could not fail.
    assert!(empty * 4 < asked * 3, "{empty} of {asked} queries found nothing");
}

/// Compares one answer; gives the number of its results.
#[track_caller]
fn check(server: &Server, files: &[File], query: &Query, place: &str) -> usize {
    let text = query.to_string();
    let limit = query.limit.map_or("0".to_owned(), |limit| limit.to_string());
    let encoded = utf8_percent_encode(&text, NON_ALPHANUMERIC);
    let (status, got) = server.json(&format!("/search?q={encoded}&limit={limit}"));
    assert_eq!(status, 200, "{place}: {text}\n{got}");
    let expected = evaluate(query, files);
    let got_answer = answer(&got);
    let total = expected.len();
    let complete = query.limit.is_none_or(|limit| total <= limit);
    assert_eq!(got["stats"]["complete"], complete, "{place}: {text}\n{}", got["stats"]);
    if complete {
        assert_same(&got_answer, &expected, &format!("{place}: {text}"));
    } else {
        assert_eq!(got["stats"]["stopped_because"], "limit", "{place}: {text}");
        assert_eq!(Some(got_answer.len()), query.limit, "{place}: {text}");
        for (key, lines) in &got_answer {
            assert_eq!(expected.get(key), Some(lines), "{place}: {text}: {key}");
        }
    }
    total
}

/// What a server found, in the form of the evaluator's answer.
fn answer(got: &Value) -> Answer {
    if let Some(repos) = got["repos"].as_array() {
        return repos.iter().map(|r| (r.as_str().unwrap().to_owned(), BTreeMap::new())).collect();
    }
    let mut answer = Answer::new();
    for file in got["files"].as_array().unwrap() {
        let path = format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap());
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
        assert!(answer.insert(path, lines).is_none(), "a file twice");
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
