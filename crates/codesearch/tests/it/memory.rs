//! The server's cache changes how a search runs, but never its results.

use std::fmt::Write as _;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::harness::{Fixture, Server};

/// Five files of 700 KB each, over more than one block of chunks, some with long lines.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for file in 0..5 {
        let mut text = String::new();
        for line in 0..9000 {
            let number = (line * 7919 + file * 104_729) % 65_536;
            let _ = writeln!(text, "line {line}: call_{number:04x}(Value{number}, x{file}.y);");
            if line % 3000 == 1500 {
                let long: Vec<String> = (0..3000).map(|i| format!("w{}", i * line * 31)).collect();
                let _ = writeln!(text, "{} LongLine{file}_{line}", long.join(","));
            }
        }
        fixture.write(&format!("one/src/file_{file}.c"), text);
    }
    fixture.ingest();
    fixture
}

/// Returns the files that a server finds, with their line numbers.
fn asked(server: &Server, query: &str) -> Vec<(String, Vec<u64>)> {
    let (status, answer) = server.json(&format!("/search?limit=0&q={query}"));
    assert_eq!(status, 200, "{answer}");
    let mut files: Vec<(String, Vec<u64>)> = answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            let lines = file["matches"].as_array().unwrap().iter();
            let lines = lines.map(|line| line["line"].as_u64().unwrap()).collect();
            (file["path"].as_str().unwrap().to_owned(), lines)
        })
        .collect();
    files.sort();
    files
}

/// Returns the same from a brute-force scan of every stored byte.
fn scanned(fixture: &Fixture, query: &str) -> Vec<(String, Vec<u64>)> {
    let ran = fixture.run(&["search", "--brute", "--limit", "0", "--json", query]);
    let mut files: Vec<(String, Vec<u64>)> = Vec::new();
    for message in ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let path = || message["data"]["path"]["text"].as_str().unwrap();
        match message["type"].as_str() {
            Some("begin") => {
                let path = path().split_once('/').map_or(path(), |(_, path)| path);
                files.push((path.to_owned(), Vec::new()));
            }
            Some("match") => {
                let number = message["data"]["line_number"].as_u64().unwrap();
                // A match across lines is one message.
                let text = message["data"]["lines"]["text"].as_str().unwrap();
                let lines = text.lines().count().max(1) as u64;
                files.last_mut().unwrap().1.extend(number..number + lines);
            }
            _ => {}
        }
    }
    files.sort();
    files
}

fn encoded(query: &str) -> String {
    utf8_percent_encode(query, NON_ALPHANUMERIC).to_string()
}

#[test]
fn answers_are_the_same_with_texts_in_memory_and_without() {
    let fixture = fixture();
    let (with, without) = (fixture.serve(), fixture.serve_with(&["--cache", "0"]));
    with.settle();
    for query in [
        "Value7919",
        "value7919 case:no",
        "call_00f0",
        "LongLine2_1500",
        "longline[0-4]_4500",
        "(?i)LONGLINE4",
        r"Value\d+7, x3\.y",
        "call_00ff or call_0f0f",
        "call_00ff -file:file_1",
        r"x1\.y\);\nline 77",
        "file_3",
        "line 8999:",
        r"y\);$",
        "nowhere_at_all",
    ] {
        let expected = scanned(&fixture, query);
        assert_eq!(expected.is_empty(), query == "nowhere_at_all", "{query}");
        let query = encoded(query);
        assert!(asked(&with, &query) == expected, "{query}");
        assert!(asked(&without, &query) == expected, "{query}, without texts in memory");
    }
}

#[test]
fn the_time_is_up_for_what_is_in_memory_too() {
    let fixture = Fixture::new();
    // Each letter is a match, but only after the search has scanned the rest of the line.
    fixture.write("one/slow.txt", "x".repeat(60_000));
    fixture.ingest();
    let server = fixture.serve();
    server.settle();
    for limit in [0, 10] {
        let query = encoded("c:x*y|x");
        let (status, answer) =
            server.json(&format!("/search?q={query}&limit={limit}&timeout=200ms"));
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["stats"]["stopped_because"], "timeout", "{}", answer["stats"]);
    }
}

#[test]
fn the_time_is_up_within_one_match() {
    let fixture = Fixture::new();
    fixture.write("one/slow.txt", "a".repeat(200_000));
    let path = format!("one/{}/{}.txt", "a".repeat(250), "a".repeat(250));
    fixture.write(&path, "a word\n");
    fixture.ingest();
    // Each letter visits thousands of states, in automata too large to build ahead of time.
    let slow = "(?:[a-z]?){20000}[0-9]{9}[g-k][0-9]{9}";
    let queries = [
        format!("c:\"{slow}\""),
        format!("c:\"\\b{slow}\""),
        format!("c:\"{slow}\" multiline:yes"),
        format!("c:\"(?s){slow}.{slow}\""),
    ];
    for cache in ["0", "64"] {
        let server = fixture.serve_with(&["--cache", cache]);
        if cache != "0" {
            server.settle();
        }
        for query in &queries {
            let begun = std::time::Instant::now();
            let query = encoded(&format!("case:yes {query}"));
            let path = format!("/search?q={query}&limit=10&timeout=300ms");
            let (status, answer) = server.json(&path);
            assert_eq!(status, 200, "{answer}");
            assert_eq!(answer["stats"]["stopped_because"], "timeout", "{query}: {answer}");
            // A release build without interruption took ten seconds.
            assert!(begun.elapsed().as_secs() < 5, "{query}");
        }
    }
    // A slow search that has enough time finds its match.
    let query = encoded("case:yes c:\"(?:[a-z]?){1000}a$\"");
    let server = fixture.serve();
    let (_, answer) = server.json(&format!("/search?q={query}&limit=10&timeout=5m"));
    assert_eq!(answer["stats"]["complete"], true, "{answer}");
    assert_eq!(answer["stats"]["files"], 1, "{answer}");
}

#[test]
fn a_server_knows_of_a_change_at_once() {
    let fixture = Fixture::new();
    fixture.write("one/a.txt", "the first text\n");
    fixture.ingest();
    let server = fixture.serve();
    for n in 0..5 {
        assert_eq!(asked(&server, &format!("addition{n}")), []);
        fixture.write(&format!("one/{n}.txt"), format!("addition{n}\n"));
        fixture.ingest();
        let found = asked(&server, &format!("addition{n}"));
        assert_eq!(found, [(format!("{n}.txt"), vec![1])]);
    }
    assert_eq!(asked(&server, "addition").len(), 5);
}

#[test]
fn what_is_read_ahead_of_a_limit_comes_in_order() {
    let fixture = Fixture::new();
    for file in 0..1200 {
        let mut text = format!("needle {file}\n");
        if file % 7 == 3 {
            text.push_str("seldom = found\n");
        }
        if file % 300 == 299 {
            text.push_str("hardly ever\ndom(0) before seld(0)\n");
        }
        // Every chunk contains both words, but rarely in this order.
        for line in 0..150 {
            let _ = writeln!(text, "let value_{line} = seld({file}) + dom({line});");
        }
        fixture.write(&format!("one/src/file_{file}.c"), text);
    }
    fixture.ingest();
    let server = fixture.serve();
    server.settle();
    let queries = [
        "needle",
        "seldom",
        "seldom.*found",
        "hardly",
        "dom.*seld",
        "(needle|hardly) -seldom",
        // Files without the first term are not read for the second one.
        "seldom found",
        "c:hardly c:seldom",
        "value seldom f:_1",
        "c:value (c:seldom or c:hardly) -c:file_3",
    ];
    for query in queries {
        let search = |limit: usize| {
            let (status, answer) =
                server.json(&format!("/search?q={}&limit={limit}", encoded(query)));
            assert_eq!(status, 200, "{answer}");
            let complete = answer["stats"]["complete"].as_bool().unwrap();
            (answer["files"].as_array().unwrap().clone(), complete)
        };
        let (all, complete) = search(0);
        assert!(complete && !all.is_empty(), "{query}");
        for limit in [1, 3, 4, 10, 64, 100, 171, 172, 400, 1000, 1200] {
            let (files, complete) = search(limit);
            assert!(files == all[..limit.min(all.len())], "{query}, {limit}");
            assert_eq!(complete, limit >= all.len(), "{query}, {limit}");
        }
    }
}
