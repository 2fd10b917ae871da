//! The output of `codesearch search`.

use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Fixture, Ran};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.go", "package a\n\nfunc A() {\n\treturn\n}\n\nfunc B() {\n}\n");
    fixture.write("one/b.py", "def a():\n    return func\n");
    fixture.write("two/c.go", "// func in a comment");
    fixture.ingest();
    fixture
}

#[test]
fn lines_as_ripgrep_prints_them_on_a_pipe() {
    let fixture = fixture();
    let ran = fixture.run(&["search", "func"]).code(0);
    assert_eq!(
        ran.out,
        "one/a.go:3:func A() {\none/a.go:7:func B() {\none/b.py:2:    return func\ntwo/c.go:1:// func in a comment\n"
    );
    assert_eq!(ran.err, "");
    fixture.run(&["search", "nothing like it"]).code(1);
    assert_eq!(fixture.run(&["search", "-l", "func"]).out, "one/a.go\none/b.py\ntwo/c.go\n");
    assert_eq!(fixture.run(&["search", "-c", "func"]).out, "one/a.go:2\none/b.py:1\ntwo/c.go:1\n");
}

#[test]
fn several_arguments_are_one_query() {
    let fixture = fixture();
    assert_eq!(fixture.search(&["-l", "func", "A\\(\\)"]), ["one/a.go"]);
    assert_eq!(fixture.search(&["-l", "lang:python", "func"]), ["one/b.py"]);
    assert_eq!(fixture.search(&["-l", "in a", "comment"]), ["two/c.go"]);
    // Quotes removed by the shell do not make a phrase; quotes in the query do.
    assert_eq!(fixture.search(&["-l", "comment in"]), ["two/c.go"]);
    assert!(fixture.search(&["-l", "\"comment in\""]).is_empty());
    assert_eq!(fixture.search(&["-l", "--", "func", "-lang:go"]), ["one/b.py"]);
}

#[test]
fn context_and_headings() {
    let fixture = fixture();
    assert_eq!(
        fixture.run(&["search", "-C1", "--file", "a.go", "func"]).out,
        "one/a.go-2-\none/a.go:3:func A() {\none/a.go-4-\treturn\n--\none/a.go-6-\none/a.go:7:func B() {\none/a.go-8-}\n"
    );
    // Any number is accepted.
    let all =
        fixture.run(&["search", "-C18446744073709551615", "--file", "a.go", "func A"]).code(0);
    assert_eq!(all.out.lines().count(), 8);
    assert_eq!(
        fixture
            .run(&["search", "-A1", "-B0", "--heading", "--color=always", "--file", "b.py", "def"])
            .out,
        "\u{1b}[0m\u{1b}[35mone/b.py\u{1b}[0m\n\u{1b}[0m\u{1b}[32m1\u{1b}[0m:\u{1b}[0m\u{1b}[1m\u{1b}[31mdef\u{1b}[0m a():\n\u{1b}[0m\u{1b}[32m2\u{1b}[0m-    return func\n"
    );
    assert_eq!(
        fixture.run(&["search", "-M", "8", "--file", "c.go", "comment"]).out,
        "two/c.go:1:[Omitted long matching line]\n"
    );
}

#[test]
fn filters() {
    let fixture = fixture();
    assert_eq!(fixture.search(&["-l", "--repo", "^two$", "func"]), ["two/c.go"]);
    assert_eq!(
        fixture.search(&["-l", "--repo", "one", "--repo", "two", "--file", r"\.go$", "func"]),
        ["one/a.go", "two/c.go"]
    );
    assert_eq!(fixture.search(&["-l", "--lang", "python", "func"]), ["one/b.py"]);
    assert_eq!(fixture.search(&["-l", "--lang", "python", "--brute", "func"]), ["one/b.py"]);
    assert!(fixture.search(&["-l", "--lang", "haskell", "func"]).is_empty());
}

#[test]
fn a_limit_says_that_there_is_more() {
    let fixture = fixture();
    let Ran { out, err, .. } = fixture.run(&["search", "-l", "--limit", "2", "func"]).code(0);
    assert_eq!(out.lines().count(), 2);
    assert_eq!(err, "codesearch: stopped at 2 files; there are more (--limit 0 for all)\n");
    assert_eq!(fixture.run(&["search", "-l", "--limit", "3", "func"]).code(0).err, "");
    let most = usize::MAX.to_string();
    let Ran { out, err, .. } = fixture.run(&["search", "-l", "--limit", &most, "func"]).code(0);
    assert_eq!((out.lines().count(), &*err), (3, ""));
}

#[test]
fn json_lines_as_ripgrep_writes_them() {
    let fixture = fixture();
    let out = fixture
        .run(&["search", "--json", "-A1", "--file", "a.go|c.go", "-e", "func [A|i]"])
        .code(0)
        .out;
    let messages: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = messages.iter().map(|m| m["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["begin", "match", "context", "end", "begin", "match", "end", "summary"]);
    assert_eq!(
        messages[1]["data"],
        serde_json::json!({
            "path": { "text": "one/a.go" },
            "lines": { "text": "func A() {\n" },
            "line_number": 3,
            "absolute_offset": 11,
            "submatches": [{ "match": { "text": "func A" }, "start": 0, "end": 6 }],
        })
    );
    // A last line without a line feed is printed without one.
    assert_eq!(messages[5]["data"]["lines"]["text"], "// func in a comment");
    assert_eq!(messages[7]["data"]["stats"]["matches"], 2);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let fixture = Fixture::new();
    for n in 0..300 {
        fixture.write(&format!("r/many{n}.txt"), format!("{n}\n{}", "line\n".repeat(2000)));
    }
    fixture.ingest();
    // So many matches that the search is still running when the reader leaves.
    let mut child = fixture
        .command(&["search", "--limit", "0", "line"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.status.code(), ran.err.as_str()), (Some(0), ""));
    let mut child =
        fixture.command(&["repos"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.status.code(), ran.err.as_str()), (Some(0), ""));
}

/// Checks terms with the same letters, which have the same trigrams but different n-grams.
#[test]
fn a_word_in_two_cases() {
    let fixture = Fixture::new();
    let filling = "a line of a text of many chunks\n".repeat(400);
    fixture.write("r/a.txt", format!("Word here\n{filling}a word there\n{filling}WORD\n"));
    fixture.ingest();
    for (query, lines) in [
        ("c:Word c:word case:yes", 2),
        ("c:word c:Word case:yes", 2),
        ("(c:WORD or c:Word) c:word case:yes", 3),
        (r"c:Word c:word\sthere case:yes multiline:yes", 2),
        (r"c:word\sthere c:Word case:yes multiline:yes", 2),
        ("c:Word -c:words case:yes", 1),
    ] {
        let found = fixture.search(&[query]);
        assert_eq!(found.len(), lines, "{query}: {found:?}");
        assert_eq!(found, fixture.search(&["--brute", query]), "{query}");
    }
}

#[test]
fn help_names_every_command() {
    let help = Fixture::new().run(&["--help"]).code(0).out;
    for command in ["up", "ingest", "search", "serve", "mcp", "repos", "remove", "init", "db"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}\n{help}");
    }
}
