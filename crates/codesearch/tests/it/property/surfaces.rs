//! Every kind of client lists or counts the true matches, and all get the same counts.

use std::collections::BTreeMap;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

use super::evaluate::{Answer, evaluate};
use super::generate::{Case, Field, File, Node, Query, Select, Term};
use crate::agents::Agent;
use crate::harness::{Fixture, Server};
use crate::terminal::on_a_terminal;
use crate::zoekt;

/// Words that mean themselves in every client's language; the last ones have a qualifier, so that near definitions are
/// searched.
const WORDS: [&str; 8] =
    ["error", "Kernel", "foo", "return", "日本語", "fmt.Println", "bytes.Buffer", "kernel.foo"];

/// Compares what ranked answers list and count with what matches: JSON, the page, and agents.
#[track_caller]
pub(super) fn check_ranked(
    server: &Server,
    agent: &mut Agent,
    query: &Query,
    expected: &Answer,
    place: &str,
) {
    let text = query.to_string();
    let place = format!("{place}: {text}");
    let typed = utf8_percent_encode(&text, NON_ALPHANUMERIC);
    let lines = lines_of(expected);
    let params = "sort=relevance&limit=1000&copies=1";
    let (status, ranked) = server.json(&format!("/search?q={typed}&{params}"));
    assert_eq!(status, 200, "{place}: {ranked}");
    let found = super::answer(&ranked);
    super::assert_same(&found, expected, &format!("{place}, sort=relevance"));
    assert_eq!(ranked["stats"]["files"], json!(expected.len()), "{place}: {ranked}");
    assert_eq!(ranked["stats"]["matches"], json!(lines), "{place}: {ranked}");
    for near in ranked["near_definitions"].as_array().into_iter().flatten() {
        assert!(!expected.contains_key(&path_of(near)), "{place}: {near} matches");
    }

    let (status, _, page) = server.get(&format!("/search?q={typed}&wait=1"), "text/html");
    assert_eq!(status, 200, "{place}: {page}");
    let summary = between(&page, "<p role=\"status\"><strong>", "</strong>");
    assert_counts(summary, expected, query.select, &place);
    if query.select != Select::Repos {
        let found = match page.split_once("<section class=\"near\"") {
            None => page.as_str(),
            Some((_, rest)) => rest.split_once("</section>").unwrap().1,
        };
        for article in found.split("<article").skip(1) {
            let link = between(article, "href=\"/file?repo=", "\"");
            let link = link.split("&#38;q=").next().unwrap().replace("&#38;path=", "/");
            let path = percent_decode_str(&link).decode_utf8().unwrap().into_owned();
            assert!(expected.contains_key(&path), "{place}: the page lists {path}");
        }
    }

    let asked = json!({ "query": text, "limit": 100, "max_bytes": 32768 });
    let meta = json!({ "codesearch/structured": true });
    let params = json!({ "name": "search", "arguments": asked, "_meta": meta });
    let called = agent.ask("tools/call", &params);
    let told = &called["result"]["structuredContent"];
    let summary = told["summary"].as_str().unwrap_or_else(|| panic!("{place}: {called}"));
    if expected.is_empty() {
        assert!(
            summary.starts_with("Nothing matches") || summary.starts_with("0 "),
            "{place}: {summary}"
        );
    } else {
        assert_counts(summary, expected, query.select, &place);
    }
    for file in told["files"].as_array().unwrap() {
        let Some(_) = file["path"].as_str() else {
            assert!(expected.contains_key(file["repo"].as_str().unwrap()), "{place}: {file}");
            continue;
        };
        let lines = &expected.get(&path_of(file)).unwrap_or_else(|| panic!("{place}: {file}"));
        for line in file["lines"].as_array().into_iter().flatten() {
            let number = line["line"].as_u64().unwrap() as usize;
            assert!(lines.contains_key(&number), "{place}: agents get {line} of {file}");
        }
    }
}

/// Compares what the command line lists and counts with what matches, on a terminal and on a pipe.
#[track_caller]
pub(super) fn check_printed(fixture: &Fixture, query: &Query, expected: &Answer, place: &str) {
    let text = query.to_string();
    let place = format!("{place}: {text}");
    let counts: Vec<String> = expected
        .iter()
        .filter(|(_, lines)| !lines.is_empty())
        .map(|(path, lines)| format!("{path}:{}", lines.len()))
        .collect();
    let paths: Vec<String> = expected.keys().cloned().collect();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for order in ["relevance", "path"] {
        let args = ["search", "--sort", order, "-l", "--", &text];
        assert_eq!(sorted(&fixture.run(&args).out), paths, "{place}: a pipe, {order}");
        let args = ["search", "--hints", "never", "--sort", order, "-l", "--", &text];
        let told = on_a_terminal(fixture, &args).replace('\r', "");
        let told: Vec<String> =
            sorted(&told).into_iter().filter(|line| !line.starts_with("codesearch: ")).collect();
        assert_eq!(told, paths, "{place}: a terminal, {order}");
    }
    // Of patterns that span lines, matches are counted, as in ripgrep.
    if query.select == Select::Lines && !query.multiline && !query.node.spans() {
        let told = fixture.run(&["search", "--sort", "relevance", "-c", "--", &text]).out;
        let told: Vec<String> =
            sorted(&told).into_iter().filter(|line| !line.ends_with(":0")).collect();
        let mut expected = counts;
        expected.sort();
        assert_eq!(told, expected, "{place}: -c");
    }
}

/// Compares the answers to clients of other engines with the true matches.
pub(super) fn check_others(server: &Server, files: &[File], place: &str) {
    for word in WORDS {
        let pattern = word.replace('.', "\\.");
        let term = |field| {
            Node::Term(Term {
                field,
                pattern: pattern.clone(),
                written: pattern.clone(),
                letters: true,
                capital: word.chars().any(char::is_uppercase),
                spans: false,
                kinds: Vec::new(),
            })
        };
        let of = |field| {
            let (case, select) = (Case::Auto, Select::Lines);
            let query = Query { node: term(field), case, multiline: false, select, limit: None };
            evaluate(&query, files)
        };
        // Zoekt searches texts and file names.
        let (expected, place) = (of(Field::Any), format!("{place}: {word}"));
        let found = zoekt::search(server, &pattern, &json!({}));
        let mut paths = Vec::new();
        for file in found["Files"].as_array().into_iter().flatten() {
            let path = format!(
                "{}/{}",
                file["Repository"].as_str().unwrap(),
                file["FileName"].as_str().unwrap()
            );
            assert!(expected.contains_key(&path), "{place}: Zoekt's clients get {path}");
            paths.push(path);
        }
        assert_eq!(paths.len(), expected.len(), "{place}: {paths:?}");
        assert_eq!(found["FileCount"], json!(expected.len()), "{place}: {found}");
        // livegrep searches lines, and lists file names separately.
        let expected = of(Field::Content);
        let typed = utf8_percent_encode(&pattern, NON_ALPHANUMERIC);
        let (status, found) = server.json(&format!("/api/v1/search/?q={typed}&fold_case=auto"));
        assert_eq!(status, 200, "{place}: {found}");
        let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for line in found["results"].as_array().unwrap() {
            let path =
                format!("{}/{}", line["tree"].as_str().unwrap(), line["path"].as_str().unwrap());
            let number = line["lno"].as_u64().unwrap() as usize;
            let matching = expected.get(&path).is_some_and(|lines| lines.contains_key(&number));
            assert!(matching, "{place}: livegrep's clients get {line}");
            lines.entry(path).or_default().push(number);
        }
        if found["info"]["why"] == "NONE" {
            let told: usize = lines.values().map(Vec::len).sum();
            assert_eq!(told, lines_of(&expected), "{place}: {found}");
        }
    }
}

/// Checks the numbers in `12 matching lines in 3 files ...`, `3 files` or `2 repositories`.
#[track_caller]
fn assert_counts(summary: &str, expected: &Answer, select: Select, place: &str) {
    let number = |text: &str| {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<usize>().unwrap_or_else(|_| panic!("{place}: {summary}"))
    };
    let found = summary.split(", ").next().unwrap();
    let found = found.split(['.', ':']).next().unwrap();
    let found = found.split(" of ").next().unwrap();
    match found.split_once(" in ").filter(|_| select == Select::Lines) {
        Some((lines, files)) => {
            assert_eq!(number(lines), lines_of(expected), "{place}: {summary}");
            assert_eq!(number(files), expected.len(), "{place}: {summary}");
        }
        None => assert_eq!(number(found), expected.len(), "{place}: {summary}"),
    }
}

fn lines_of(answer: &Answer) -> usize {
    answer.values().map(BTreeMap::len).sum()
}

fn path_of(file: &Value) -> String {
    format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap())
}

#[track_caller]
fn between<'t>(text: &'t str, from: &str, upto: &str) -> &'t str {
    text.split(from).nth(1).unwrap_or_else(|| panic!("{from}: {text}")).split(upto).next().unwrap()
}
