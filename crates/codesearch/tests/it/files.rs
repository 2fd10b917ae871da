//! Finding files by approximate paths, on the command line and over HTTP.

use serde_json::{Value, json};

use crate::harness::{Fixture, Server};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for (path, text) in [
        ("one/src/search/candidates.rs", "fn a() {}\n"),
        ("one/src/search/candid.rs", "fn b() {}\n"),
        ("one/src/fmt/print.go", "package fmt\n"),
        ("one/docs/größe-日本.md", "# a\n"),
        ("two/src/search/candidates.go", "package search\n"),
        ("two/main.go", "package main\n"),
    ] {
        fixture.write(path, text);
    }
    fixture.ingest();
    fixture
}

/// Returns the printed lines, the nearest file first.
fn printed(fixture: &Fixture, args: &[&str]) -> Vec<String> {
    let ran = fixture.run(&[&["files"], args].concat()).code(0);
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn the_nearest_comes_first_and_errors_are_forgiven() {
    let fixture = fixture();
    for (typed, first) in [
        ("srch/candidats", "one/src/search/candidates.rs"),
        ("srch/candidats.go", "two/src/search/candidates.go"),
        ("cnadidates.rs", "one/src/search/candidates.rs"),
        ("canddidates.rs", "one/src/search/candidates.rs"),
        ("candixates.rs", "one/src/search/candidates.rs"),
        ("mian.go", "two/main.go"),
        ("candid", "one/src/search/candid.rs"),
        ("fmtprint", "one/src/fmt/print.go"),
        ("sfp", "one/src/fmt/print.go"),
        ("print fmt", "one/src/fmt/print.go"),
        ("./src/fmt/print.go", "one/src/fmt/print.go"),
        // A repository works like a folder around its paths.
        ("two/main.go", "two/main.go"),
        ("two/candidates", "two/src/search/candidates.go"),
        ("one/candidates", "one/src/search/candidates.rs"),
        ("GRÖSSE", "one/docs/größe-日本.md"),
        ("日本", "one/docs/größe-日本.md"),
    ] {
        assert_eq!(printed(&fixture, &[typed])[0], first, "{typed}");
    }
    let none = fixture.run(&["files", "zzzqqq"]).code(1);
    let said = "codesearch: nothing found: no path is similar to zzzqqq\n";
    assert_eq!((none.out.as_str(), none.err.as_str()), ("", said));
}

#[test]
fn limits_filters_and_forms() {
    let fixture = fixture();
    // Approximate matches come after exact ones.
    let [rust, go, near] = [
        "one/src/search/candidates.rs",
        "two/src/search/candidates.go",
        "one/src/search/candid.rs",
    ];
    assert_eq!(printed(&fixture, &["candidates"]), [rust, go, near]);
    assert_eq!(printed(&fixture, &["candidates", "--repo", "TWO"]), [go]);
    for language in ["rust", "Rust", "rs"] {
        assert_eq!(printed(&fixture, &["candidates", "--lang", language]), [rust, near]);
    }
    let cut = fixture.run(&["files", "candidates", "--limit", "1"]).code(0);
    assert_eq!(cut.out, "one/src/search/candidates.rs\n");
    assert_eq!(cut.err, "codesearch: the 1 nearest of 3 files (--limit for more, 0 for all)\n");
    assert_eq!(printed(&fixture, &["", "--limit", "0"]).len(), 6);
    let local = printed(&fixture, &["print.go", "--local"]);
    assert_eq!(std::fs::read_to_string(&local[0]).unwrap(), "package fmt\n");
    let line = &printed(&fixture, &["mian.go", "--json", "--local"])[0];
    let mut line: Value = serde_json::from_str(line).unwrap();
    let file = line["file"].take();
    assert!(file.as_str().unwrap().ends_with("/two/main.go"));
    assert_eq!(
        line,
        json!({
            "repo": "two", "path": "main.go", "language": "Go", "matched": [0, 1, 2, 3, 4, 5, 6], "file": null
        })
    );
    let help = fixture.run(&["files", "--help"]).code(0);
    assert!(help.out.contains("codesearch files srch/candidats"));
}

#[test]
fn what_cannot_be_asked_is_told() {
    let fixture = fixture();
    let long = "x".repeat(10 << 10);
    let words = "a ".repeat(9);
    for (args, told) in [
        (vec![&*long], "the query has 10240 letters; use 256 or fewer"),
        (vec![&*words], "the query has 9 words; use 8 or fewer"),
        (vec!["a", "--lang", "klingon"], "--lang: unknown language \"klingon\""),
        (vec!["a", "--limit=-1"], "--limit"),
    ] {
        let ran = fixture.run(&[vec!["files"], args].concat()).code(2);
        assert!(ran.err.contains(told), "{}", ran.err);
    }
    let empty = Fixture::new();
    empty.run(&["init", "--shards", "1"]).code(0);
    let empty = empty.run(&["files", "a"]).code(2);
    assert!(empty.err.contains("codesearch ingest"), "{}", empty.err);
}

/// Returns the paths in an answer of `/files`, and the number of all files found.
fn found(server: &Server, query: &str) -> (Vec<String>, u64) {
    let (status, answer) = server.json(&format!("/files?{query}"));
    assert_eq!(status, 200, "{answer}");
    let files = answer["files"].as_array().unwrap();
    let paths = files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect();
    (paths, answer["found"].as_u64().unwrap())
}

#[test]
fn over_http() {
    let fixture = fixture();
    let server = fixture.serve();
    let (paths, count) = found(&server, "q=srch/candidats");
    assert_eq!((&*paths[0], paths.len() as u64), ("src/search/candidates.rs", count));
    assert_eq!(found(&server, "q=candidates&lang=golang").0, ["src/search/candidates.go"]);
    assert_eq!(found(&server, "q=candidates&repo=two").0, ["src/search/candidates.go"]);
    assert_eq!(
        found(&server, "q=candidates&limit=1"),
        (vec!["src/search/candidates.rs".to_owned()], 3)
    );
    assert_eq!(found(&server, "q=candidates&limit=0").0.len(), 0);
    // An empty query, or one of separators only, matches everything.
    for everything in ["q=", "q=%2F%2F%2F", "q=.%2F", "q=%20"] {
        assert_eq!(found(&server, everything).1, 6, "{everything}");
    }
    for nothing in ["q=%00", "q=zzzqqq", "q=%F0%9F%A6%80", "q=a&repo=nowhere"] {
        assert_eq!(found(&server, nothing), (vec![], 0), "{nothing}");
    }
    for (query, told) in [
        (format!("q={}", "x".repeat(10 << 10)), "10240 letters"),
        ("q=a&limit=1001".to_owned(), "limit=1001"),
        ("q=a&lang=klingon".to_owned(), "klingon"),
    ] {
        let (status, answer) = server.json(&format!("/files?{query}"));
        assert_eq!(status, 400);
        assert!(answer["error"]["message"].as_str().unwrap().contains(told), "{answer}");
    }
}

#[test]
fn what_is_marked_is_what_was_typed() {
    let fixture = fixture();
    let server = fixture.serve();
    let (_, answer) = server.json("/files?q=GRSSE-%E6%97%A5");
    let file = &answer["files"][0];
    assert_eq!(file["path"], "docs/größe-日本.md");
    let path = file["path"].as_str().unwrap().as_bytes();
    let marked: Vec<u8> = file["matched"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| path[at.as_u64().unwrap() as usize])
        .collect();
    assert_eq!(String::from_utf8(marked).unwrap(), "grße-日");
    let (_, _, page) = server.get("/files?q=GRSSE-%E6%97%A5", "text/html");
    assert!(page.contains("<mark>gr</mark>ö<mark>ße-日</mark>本.md"), "{page}");
}
