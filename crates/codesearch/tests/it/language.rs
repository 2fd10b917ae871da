//! The query language as users see it: results, explanations, and how searches end.

use std::io::Write;
use std::net::TcpStream;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::harness::{Fixture, Ran, eventually};
use crate::symbol_search::told;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/src/server.go", "package main\n\nfunc Serve() error {\n\treturn nil\n}\n");
    fixture.write("one/src/server_test.go", "package main\n\nfunc TestServe() {\n\tServe()\n}\n");
    fixture.write("one/README.md", "# Server\n\nIt serves.\n");
    fixture.write("two/error.py", "def serve():\n    raise Error\n");
    fixture.write("two/empty.py", "");
    fixture.write("two/image.png", b"\x89PNG\0\0");
    fixture.write("two/blob_test.bin", b"\0");
    fixture.ingest();
    fixture
}

#[test]
fn terms_hold_for_a_file_wherever_they_stand_in_it() {
    let fixture = fixture();
    let check = |query: &str, expected: &[&str]| {
        assert_eq!(fixture.search(&["--", query]), expected, "{query}");
        assert_eq!(fixture.search(&["--brute", "--", query]), expected, "--brute {query}");
    };
    check(
        "func return",
        &["one/src/server.go:3:func Serve() error {", "one/src/server.go:4:\treturn nil"],
    );
    check(
        "Serve -file:_test",
        &["one/README.md:1:# Server", "one/src/server.go:3:func Serve() error {"],
    );
    // A matching path is a result without lines.
    check("error", &["one/src/server.go:3:func Serve() error {", "two/error.py:2:    raise Error"]);
    check("empty", &["two/empty.py"]);
    check("-serve", &["two/empty.py"]);
    check("file:src/ type:file", &["one/src/server.go", "one/src/server_test.go"]);
    check("serve type:repo", &["one", "two"]);
    check("lang:python -empty", &["two/error.py"]);
    check(
        "repo:^two$ (raise or def)",
        &["two/error.py:1:def serve():", "two/error.py:2:    raise Error"],
    );
    check(r"content:serve\(\)\s\{ case:no", &[r"one/src/server_test.go:3:func TestServe() {"]);
    check(
        r"\{\n\treturn",
        &["one/src/server.go:3:func Serve() error {", "one/src/server.go:4:\treturn nil"],
    );
    check(
        r"/def serve\(\):\s+raise/ multiline:yes",
        &["two/error.py:1:def serve():", "two/error.py:2:    raise Error"],
    );
    check("lit:() lang:go type:file", &["one/src/server.go", "one/src/server_test.go"]);
}

#[test]
fn more_text_than_is_read_at_once_is_read_in_parts() {
    let fixture = Fixture::new();
    for n in 0..60 {
        let text = format!(
            "file {n}\n{}",
            format!("{}marker\n", "some needle in a line\n".repeat(99)).repeat(80)
        );
        fixture.write(&format!("r/{n}.txt"), text);
    }
    fixture.ingest();
    let server = fixture.serve();
    // All lines, also those of the last file in each part of the answer.
    let answer = server.json("/search?q=c:marker&limit=0").1;
    assert_eq!(answer["stats"]["matches"], 60 * 80);
    for query in
        ["needle", "c:needle c:file", "-absent", "needle multiline:yes", r"needle\sin -absent"]
    {
        assert_eq!(fixture.search(&["-l", "--", query]).len(), 60, "{query}");
        let encoded = query.replace(' ', "+").replace('\\', "%5C");
        for _ in 0..2 {
            let answer = server.json(&format!("/search?q={encoded}+type:file&limit=0")).1;
            assert_eq!(answer["stats"]["files"], 60, "{query}");
        }
    }
}

#[test]
fn options_say_the_same_as_fields() {
    let fixture = fixture();
    let check =
        |args: &[&str], expected: &[&str]| assert_eq!(fixture.search(args), expected, "{args:?}");
    check(
        &["-e", "raise E", "-e", "It s"],
        &["one/README.md:3:It serves.", "two/error.py:2:    raise Error"],
    );
    check(&["-F", "Serve() e"], &["one/src/server.go:3:func Serve() error {"]);
    check(
        &["-F", "-e", "->", "-e", "serve()"],
        &[
            "one/src/server.go:3:func Serve() error {",
            "one/src/server_test.go:3:func TestServe() {",
            "one/src/server_test.go:4:\tServe()",
            "two/error.py:1:def serve():",
        ],
    );
    check(
        &["-U", "-e", r"\(\)\s+error|:\s+raise"],
        &[
            "one/src/server.go:3:func Serve() error {",
            "two/error.py:1:def serve():",
            "two/error.py:2:    raise Error",
        ],
    );
    check(&["lang:go", "-e", "nil"], &["one/src/server.go:4:\treturn nil"]);
    check(&["-l", "serve", "--lang", "py"], &["two/error.py"]);
    let Ran { err, .. } = fixture.run(&["search", "-l", "count:1 serve"]).code(0);
    assert_eq!(err, "codesearch: stopped at 1 file; there are more (--limit 0 for all)\n");
    let repos = fixture.run(&["search", "--json", "type:repo raise"]).code(0).out;
    assert!(repos.starts_with("{\"type\":\"repo\",\"data\":{\"name\":\"two\"}}\n"), "{repos}");
}

#[test]
fn the_syntax_is_explained() {
    let fixture = Fixture::new();
    let help = fixture.run(&["help", "syntax"]).code(0).out;
    assert_eq!(help.trim_end(), fixture.run(&["syntax"]).code(0).out.trim_end());
    for word in ["case:yes", "multiline:yes", "type:", "timeout:", "lit:", "-file:_test"] {
        assert!(help.contains(word), "{word}");
    }
    // Each example in the manual is a valid query.
    for line in help.split("## Examples").nth(1).unwrap().lines() {
        let example = line.strip_prefix("    ").map(|line| line.split("  ").next().unwrap());
        // A line that begins with a space continues the explanation before it.
        if let Some(example) = example.filter(|example| !example.is_empty()) {
            query::Query::parse(example, query::Case::Smart).unwrap();
        }
    }
}

#[test]
fn a_search_explains_itself() {
    let fixture = fixture();
    let out =
        fixture.run(&["search", "--explain", "Serve -file:_test lang:go repo:one"]).code(0).out;
    for line in [
        "query       (and /Serve/ (not file:/_test/i) lang:go repo:/one/i)",
        "plan        (or chunk(\"serve\") path(\"serve\"))",
        "term        /_test/i: needs \"_test\"",
        "found       1 result, 1 matching line",
        "ended       everything was searched",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    let server = fixture.serve();
    let answer = server.json("/search?q=fmt.Println+error&explain=1").1;
    assert_eq!(
        answer["explain"],
        json!({
            "query": "(and /fmt.Println/ /error/i)",
            "plan": "(and (or chunk(\"fmt\" AND \"println\") path(\"fmt\" AND \"println\")) (or chunk(\"error\") path(\"error\")))",
            "terms": [
                {
                    "pattern": "/fmt.Println/",
                    "needs": "\"fmt\" AND \"println\"",
                    "lookups": [
                        { "literal": "fmt", "by": ["fmt"] },
                        { "literal": "println", "by": ["println"] },
                    ],
                },
                { "pattern": "/error/i", "needs": "\"error\"", "lookups": [{ "literal": "error", "by": ["error"] }] },
            ],
        })
    );
    let page = server.get("/search?q=Serve&explain=1&wait=1", "text/html").2;
    assert!(page.contains(">query       /Serve/"), "{page}");
}

#[test]
fn what_was_left_out_is_told_within_the_filters() {
    let fixture = fixture();
    let server = fixture.serve();
    let skipped =
        |query: &str| server.json(&format!("/search?q={query}")).1["stats"]["skipped"].clone();
    assert_eq!(skipped("serve"), json!({ "binary": 2 }));
    assert_eq!(skipped("serve+repo:one"), json!({}));
    assert_eq!(skipped("serve+file:png"), json!({ "binary": 1 }));
    assert_eq!(skipped("serve+-file:_test"), json!({ "binary": 1 }));
}

#[test]
fn a_search_for_everything_ends_when_the_operator_says() {
    let fixture = fixture();
    let server = fixture.serve_with(&["--cache", "0", "--max-time", "300ms"]);
    let held = fixture.hold("lock table chunks, documents in access exclusive mode");
    for asked in ["limit=0", "limit=10&timeout=60m", "limit=0&timeout=60m"] {
        let (_, answer) = server.json(&format!("/search?q=serve&{asked}"));
        assert_eq!(answer["stats"]["stopped_because"], "timeout", "{asked}: {answer}");
    }
    // Agents and other engines' clients get no more time.
    let said = told(&server, "search", &json!({ "query": "serve timeout:60m" }));
    assert!(said.contains("timed out after 0.3 s"), "{said}");
    let body = json!({ "Q": "serve", "Opts": { "MaxWallTime": i64::MAX } }).to_string();
    let mut answer =
        ureq::post(format!("http://{}/api/search", server.address)).send(body).unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert!(answer["Result"]["FilesSkipped"].as_u64() > Some(0), "{answer}");
    drop(held);
    assert_eq!(server.search("serve")["stats"]["complete"], true);
}

#[test]
fn a_timeout_counts_what_compiling_takes() {
    let fixture = fixture();
    let server = fixture.serve();
    // Compiling these takes longer than that, searching a few files for them does not.
    let long = (0..8).map(|n| format!(r"\w{{60}}z{n}")).collect::<Vec<_>>().join(" or ");
    let query = format!("{long} timeout:10ms");
    let why = "the patterns did not compile within 10ms; raise the timeout";
    let path = |query| format!("/search?q={}", utf8_percent_encode(query, NON_ALPHANUMERIC));
    let (status, answer) = server.json(&path(&query));
    let told = (status, &answer["error"]["message"]);
    assert_eq!(told, (400, &format!("timeout=: {why}").into()), "{answer}");
    let ran = fixture.run(&["search", &query]).code(2);
    assert!(ran.err.contains(&format!("--timeout: {why}")), "{}", ran.err);
    assert_eq!(server.json(&path(&long)).1["stats"]["complete"], true);
}

#[test]
fn a_timeout_says_so_and_ends_what_runs() {
    let fixture = fixture();
    // Reading texts ahead would wait for the lock, too.
    let server = fixture.serve_with(&["--cache", "0"]);
    let running = || {
        fixture.sql::<i64>(
            "select count(*) from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock'",
        )
    };
    // Statements of searches wait as long as this lock is held.
    let held = fixture.hold("lock table chunks, documents in access exclusive mode");
    let (status, answer) = server.json("/search?q=serve&timeout=200ms");
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["stats"]["complete"], false);
    assert_eq!(answer["stats"]["stopped_because"], "timeout");
    eventually("the statement is cancelled", || running() == 0);
    let (_, answer) = server.json("/search?q=serve+timeout:100ms&limit=0");
    assert_eq!(answer["stats"]["stopped_because"], "timeout");
    let ran = fixture.run(&["search", "--timeout", "100ms", "serve"]).code(2);
    assert!(ran.err.starts_with("codesearch: timed out after 100ms"), "{}", ran.err);
    eventually("the statements are cancelled", || running() == 0);

    // Clients that disconnect, from an answer in one piece and from a stream.
    for limit in ["10", "0"] {
        let mut client = TcpStream::connect(server.address).unwrap();
        write!(
            client,
            "GET /search?q=serve&timeout=10m&limit={limit} HTTP/1.1\r\nhost: localhost\r\n\r\n"
        )
        .unwrap();
        eventually("the search waits", || running() == 1);
        drop(client);
        eventually("the statement is cancelled", || running() == 0);
    }
    drop(held);
    assert_eq!(server.json("/search?q=serve").1["stats"]["files"], 4);
}
