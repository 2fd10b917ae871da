//! Hints for a wrong query and for one that finds nothing: on the terminal, in JSON, on the page, and for agents.

use serde_json::{Value, json};

use crate::agents::agent::Agent;
use crate::harness::{Fixture, eventually};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .write("harbor/src/server.go", "package main\n\nfunc ServeHTTP() {\n\tfmt.Println(x)\n}\n");
    fixture.write("harbor/src/lib.py", "def serve():\n    it's = a[i]\n");
    fixture.write("tidepool/README.md", "# Tides\n\nHow to configure the retries.\n");
    fixture.write("tidepool/image.png", b"\x89PNG\0\0");
    fixture.write("tidepool/windows.bat", "set gamma\r\n\r\n");
    fixture.ingest();
    fixture
}

/// Returns the hints on the terminal, line by line.
fn told(fixture: &Fixture, args: &[&str]) -> Vec<String> {
    let ran = fixture.run(&[&["search", "--hints", "always"], args].concat()).code(1);
    assert_eq!(ran.out, "");
    ran.err.lines().map(str::to_owned).collect()
}

#[test]
fn a_wrong_query_names_the_command_to_run() {
    let fixture = fixture();
    let tried = |args: &[&str]| -> String {
        let ran = fixture.run(&[&["search"], args].concat()).code(2);
        assert_eq!(ran.out, "");
        ran.err.lines().last().unwrap().to_owned()
    };
    assert_eq!(tried(&["fmt.Println("]), "try: codesearch search -F 'fmt.Println('");
    assert_eq!(tried(&["it's = a[i"]), r"try: codesearch search -F 'it'\''s = a[i'");
    assert_eq!(tried(&["lnag:go", "foo("]), "try: codesearch search 'lang:go lit:foo('");
    assert_eq!(tried(&["--", "-foo", "bar("]), "try: codesearch search -- '-foo lit:bar('");
    assert_eq!(tried(&["-e", "foo("]), "try: codesearch search -F 'foo('");
    // Everything else stays as typed.
    assert_eq!(tried(&["-i", "-C", "3", "foo("]), "try: codesearch search -i -C 3 -F 'foo('");
    assert_eq!(
        tried(&["-e", "foo(", "-e", "x", "bar"]),
        r"try: codesearch search -e 'foo\(' -e x 'bar'"
    );
    assert_eq!(tried(&["-l", "||"]), "try: codesearch search -l -F '||'");
    assert_eq!(tried(&[r"\Qa.b\E"]), r"try: codesearch search 'a\.b'");
    // On request the files are counted, and the suggested command finds them.
    let counted = |args: &[&str]| tried(&[&["--hints", "always"], args].concat());
    eventually("the files are counted in time", || {
        counted(&["fmt.Println("]) == "try: codesearch search -F 'fmt.Println('  # 1 file"
    });
    assert_eq!(fixture.search(&["-l", "-F", "fmt.Println("]), ["harbor/src/server.go"]);
}

#[test]
fn a_command_line_that_is_none_says_what_to_write() {
    let fixture = fixture();
    let said = |args: &[&str]| -> String { fixture.run(args).code(2).err.trim_end().to_owned() };
    for (args, expected) in [
        (
            &["search", "x->next", "-error"][..],
            "codesearch: -error may be options or a word of the query; for options, write -e rror; for the word, \
             write codesearch search -- 'x->next' -error",
        ),
        (
            &["search", "--x", "y"],
            "codesearch: unknown option --x of codesearch search (see --help); if it belongs to the query, write \
             codesearch search -- --x y",
        ),
        (
            &["search", "-rn", "ServeHTTP"],
            "codesearch: -rn: -r takes a text that replaces each match; leave out -rn, since a search is recursive \
             and prints line numbers anyway",
        ),
        (
            &["def", "Serve", "HTTP"],
            "codesearch: codesearch def takes one argument; to make HTTP part of it, put both in quotes",
        ),
        (&["search", "--limit", "-1", "x"], "codesearch: --limit: -1 cannot be its value"),
        (
            &["db"],
            "codesearch: codesearch db needs a command: status, start, stop, list, servers, nodes, rebalance, rebuild, url, psql-hint",
        ),
        (
            &["search", "class:Server"],
            "codesearch: class: is not supported: use sym: for names of definitions and kind: for their kinds; to \
             search for the text itself, put it in quotes (at character 1)\n    class:Server\n    ^\ntry: codesearch search \
             'sym:Server kind:class'",
        ),
    ] {
        assert_eq!(said(args), expected);
    }
    assert!(said(&["serve", "--listen", "8080"]).ends_with("0.0.0.0:8080 for all"));
    assert!(
        said(&["sql", "select * from repos"]).contains("codesearch sql --help lists the views")
    );
    // A path that is indexed restricts the search; another is a word.
    let ran = fixture.run(&["search", "--hints", "always", "func", "harbor/src"]).code(0);
    assert!(
        ran.err.contains("harbor/src exists, so the search is restricted to it"),
        "{}",
        ran.err
    );
    let ran = fixture.run(&["search", "--hints", "always", "func", "/dev/null"]).code(1);
    assert!(ran.err.contains("/dev/null is a term of the query"), "{}", ran.err);
    let ran = fixture.run(&["search", "--hints", "always", "-wg", "*.go", "Serve"]).code(1);
    assert!(ran.err.ends_with("try without -w -g\n"), "{}", ran.err);
    // A missing name is reported on a pipe, too.
    let ran = fixture.run(&["search", "--repo", "harbor@main", "Serve"]).code(1);
    assert_eq!(
        ran.err,
        "codesearch: nothing found: no repository matches harbor@main; for a revision of harbor, add rev:main to the query\n"
    );
    assert_eq!(fixture.run(&["search", "-q", "repo:nope", "Serve"]).code(1).err, "");
    // Words that begin with a minus are words of the query.
    assert_eq!(
        fixture.search(&["-l", "Serve", "-windows", "-lang:python"]),
        ["harbor/src/server.go"]
    );
    assert_eq!(fixture.search(&["-l", "Serve", "-file:server"]), Vec::<String>::new());
    assert_eq!(fixture.search(&["-l", "->nowhere"]), Vec::<String>::new());
    assert_eq!(fixture.run(&["files", "src", "server.go"]).code(0).out, "harbor/src/server.go\n");
}

#[test]
fn a_terminal_is_told_what_finds_something() {
    let fixture = fixture();
    let says = |args: &[&str], expected: &str| {
        // Counting may run out of time on a busy machine.
        eventually(expected, || {
            let told = told(&fixture, args);
            assert_eq!(told[0], "codesearch: nothing found");
            told.iter().any(|line| line.trim_start() == expected)
        });
    };
    says(&["SERVEHTTP"], "in any case (1 file): codesearch search 'SERVEHTTP case:no'");
    says(
        &["serve nowhere lang:go"],
        "no file matches nowhere; without it (1 file): codesearch search 'serve lang:go'",
    );
    says(&["serve lang:rust"], "without lang:rust (2 files): codesearch search 'serve'");
    says(&["serve", "--lang", "rust"], "without lang:rust (2 files): codesearch search 'serve'");
    says(
        &["package def"],
        "with any of the terms instead of all (2 files): codesearch search '(package or def)'",
    );
    says(
        &["serve repo:habor"],
        "no repository matches repo:habor; in harbor (2 files): codesearch search 'repo:^harbor$ serve'",
    );
    says(&["serve repo:nowhere"], "no repository matches repo:nowhere");
    says(
        &["a[i] it's"],
        r"as text instead of a regular expression (1 file): codesearch search 'lit:a[i] it'\''s'",
    );
    says(&["-i", "-F", "Nowhere"], "not in the index, but might match: 1 binary");
    says(
        &["configuring retry"],
        "documents and comments with these words (1 file): codesearch docs 'configuring retry'",
    );
    says(
        &["sever"],
        r"a file with a similar name, harbor: src/server.go: codesearch search 'repo:^harbor$ file:^src/server\.go$'",
    );
    says(
        &["file:sever.go"],
        r"a file with a similar name, harbor: src/server.go: codesearch search 'repo:^harbor$ file:^src/server\.go$'",
    );
    says(&["sym:Println"], "as text anywhere (1 file): codesearch search 'lit:Println'");
    says(&["kind:class lang:go"], "without kind:class (1 file): codesearch search 'lang:go'");
}

#[test]
fn commands_name_what_is_near() {
    let fixture = fixture();
    for (args, code, expected) in [
        (&["repos", "habor"][..], 1, "no repository's name contains habor; did you mean harbor?"),
        (
            &["repos", "--skipped", "tidepol"],
            2,
            "no repository is named 'tidepol'; did you mean tidepool?",
        ),
        (
            &["outline", "harbor/src/serve.go"],
            2,
            "harbor/src/serve.go is not in the index; did you mean harbor/src/server.go?",
        ),
        (
            &["outline", "harbor/src/sevrer.go"],
            2,
            "harbor/src/sevrer.go is not in the index; did you mean harbor/src/server.go?",
        ),
        (
            &["outline", "nope"],
            2,
            "nope is not in the index; codesearch files finds files by parts of their paths",
        ),
        (
            &["func", "main"],
            2,
            "unknown command func; to search for it, write codesearch search func main",
        ),
    ] {
        assert_eq!(fixture.run(args).code(code).err, format!("codesearch: {expected}\n"));
    }
}

#[test]
fn a_pipe_is_told_nothing() {
    let fixture = fixture();
    let ran = fixture.run(&["search", "SERVEHTTP"]).code(1);
    assert_eq!((&*ran.out, &*ran.err), ("", ""));
    // A query with results gets only the hint that it may have been meant as text.
    let ran = fixture.run(&["search", "--hints", "always", "-l", "ServeHTTP()"]).code(0);
    assert_eq!(ran.out, "harbor/src/server.go\n");
    assert_eq!(
        ran.err,
        "codesearch: ServeHTTP() is a regular expression; as text: codesearch search 'lit:ServeHTTP()'\n"
    );
    let ran = fixture.run(&["search", "--hints", "always", "-l", "ServeHTTP"]).code(0);
    assert_eq!(ran.err, "");
}

#[test]
fn programs_and_pages_are_told() {
    let fixture = fixture();
    let server = fixture.serve();
    let (status, answer) = server.json("/search?q=fmt.Println(");
    assert_eq!(status, 400);
    let suggestion = &answer["error"]["suggestion"];
    assert_eq!(
        (&suggestion["query"], &suggestion["text"]),
        (&json!("lit:fmt.Println("), &json!("fmt.Println("))
    );
    assert_eq!(answer["error"]["position"], 11);
    // Counting may run out of time on a busy machine.
    eventually("the files are counted in time", || {
        let answer = server.json("/search?q=fmt.Println(").1;
        let suggestion = &answer["error"]["suggestion"];
        (&suggestion["files"], &suggestion["complete"]) == (&json!(1), &json!(true))
    });
    let page = server.get("/search?q=fmt.Println(", "text/html").2;
    let link = r#"<a href="/search?q=lit:fmt.Println%28">Search for this text: <code>fmt.Println(</code></a>"#;
    assert!(page.contains(link), "{page}");

    let hints = |path: &str| server.json(path).1["hints"].clone();
    assert_eq!(hints("/search?q=SERVEHTTP"), Value::Null);
    assert_eq!(hints("/search?q=ServeHTTP&hints=1"), json!([]));
    eventually("other cases are counted in time", || {
        let first = &hints("/search?q=SERVEHTTP&hints=1")[0];
        first
            == &json!({ "message": "in any case", "query": "SERVEHTTP case:no", "files": 1, "complete": true })
    });
    eventually("lines that end as on Windows are counted in time", || {
        let found = hints("/search?q=%22^set%20gamma$%22&hints=1");
        found.as_array().unwrap().iter().any(|hint| {
            let query = hint["query"].as_str().unwrap_or_default();
            query.contains("(?R)^set gamma$")
                && hint["files"] == 1
                && server.search(query)["files"].as_array().unwrap().len() == 1
        })
    });
    // Options outside the query are part of it.
    eventually("the query without its language is counted in time", || {
        let found = hints("/search?q=serve&lang=rust&hints=1");
        found.as_array().unwrap().iter().any(|hint| hint["query"] == "serve" && hint["files"] == 2)
    });
    eventually("the page has the link", || {
        let page = server.get("/search?q=SERVEHTTP&wait=1", "text/html").2;
        page.contains(r#"in any case: <a href="/search?q=SERVEHTTP%20case:no">"#)
    });
}

#[test]
fn agents_are_told() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    let (failed, text) = agent.call("search", &json!({ "query": "fmt.Println(" }));
    assert!(failed && text.ends_with(": lit:fmt.Println("), "{text}");
    assert!(text.contains("\nTry this query"), "{text}");
    eventually("other cases are counted in time", || {
        let text = agent.told("search", &json!({ "query": "SERVEHTTP" }));
        assert!(text.starts_with("Nothing matches."), "{text}");
        text.contains("\n- in any case (1 file): SERVEHTTP case:no\n")
    });
}
