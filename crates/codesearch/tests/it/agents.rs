//! The Model Context Protocol, as an agent uses it.

pub(crate) mod agent;
mod refusals;
mod sessions;
mod transcripts;

use std::fmt::Write as _;
use std::io::BufRead;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Fixture, Ran};
pub(crate) use agent::Agent;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.go", "package a\n\nfunc A() {\n\treturn\n}\n\nfunc B() {\n}\n");
    fixture.write("one/lib/b.py", "def a():\n    return func\n");
    fixture.write("two/c.go", "// func in a comment");
    fixture.write("two/binary", b"\0func");
    fixture.ingest();
    fixture
}

#[test]
fn the_tools_say_what_they_take_in_few_bytes() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    assert!(agent.bytes_of_tools() <= 9 << 10, "{}", agent.bytes_of_tools());
    let answer = agent.ask("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let described: Vec<(&str, String, &Value)> = tools
        .iter()
        .map(|tool| {
            assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
            assert_eq!(tool["annotations"]["readOnlyHint"], true);
            assert!(tool.get("outputSchema").is_none(), "{tool}");
            let schema = &tool["inputSchema"];
            let takes = schema["properties"].as_object().unwrap();
            for (name, what) in takes {
                assert!(what["description"].is_string(), "{name}: {what}");
                // Clients build a form from the schema.
                assert!(what["type"].is_string() && what.get("format").is_none(), "{name}: {what}");
                if what["type"] == "integer" {
                    assert!(what["minimum"].is_u64(), "{name}: {what}");
                }
            }
            let names: Vec<&str> = takes.keys().map(String::as_str).collect();
            (tool["name"].as_str().unwrap(), names.join(" "), &schema["required"])
        })
        .collect();
    let expected: [(&str, &str, Value); 7] = [
        (
            "search",
            "context_lines copies cursor epoch folder fresh limit lines_per_file max_bytes order query",
            json!(["query"]),
        ),
        ("symbol", "epoch find folder from language limit name repo", Value::Null),
        (
            "read_file",
            "epoch folder from_byte from_line max_bytes outline path repo revision symbol to_line",
            json!(["repo"]),
        ),
        ("find_file", "epoch folder limit offset repo typed", json!(["typed"])),
        ("diff", "epoch folder offset path range repo", json!(["repo", "range"])),
        ("list_repos", "filter limit offset", Value::Null),
        ("sql", "limit max_bytes query", json!(["query"])),
    ];
    let expected: Vec<(&str, String, &Value)> =
        expected.iter().map(|(name, takes, needs)| (*name, (*takes).to_owned(), needs)).collect();
    assert_eq!(described, expected);
    let limit = &tools[0]["inputSchema"]["properties"]["limit"];
    assert_eq!((&limit["default"], &limit["minimum"]), (&Value::Null, &json!(1)));
    let none = agent.ask("tools/call", &json!({ "name": "raed_file", "arguments": {} }));
    assert_eq!(none["error"]["message"], "unknown tool raed_file; did you mean read_file?");
    // A program that wants JSON asks for it; a model reads the text, and nothing twice.
    let params = json!({ "name": "search", "arguments": { "query": "func" } });
    let plain = agent.ask("tools/call", &params);
    assert!(plain["result"].get("structuredContent").is_none(), "{plain}");
}

#[test]
fn searches() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    assert_eq!(
        agent.told("search", &json!({ "query": "func repo:one", "context_lines": 1 })),
        "3 matching lines in 2 files. That is all.\n\n\
         one: a.go\n2-\n3:func A() {\n4-\treturn\n--\n6-\n7:func B() {\n8-}\n\n\
         : lib/b.py\n1-def a():\nin a, 1-2:\n2:    return func\n"
    );
    // Files that were left out of the index might match.
    assert_eq!(
        agent.told("search", &json!({ "query": "nowhere" })),
        "Nothing matches.\n(left out of the index: 1 binary)"
    );
    assert_eq!(
        agent.told("search", &json!({ "query": "func type:file lang:go" })),
        "2 files of 2 repositories. That is all.\n\none: a.go\ntwo: c.go\n(1 file left out of the index)\n"
    );
    let cut = agent.told("search", &json!({ "query": "func type:repo", "limit": 1 }));
    assert!(cut.starts_with("2 repositories. Here are 1 to 1: the limit was reached. "), "{cut}");
    assert!(cut.contains("\n\none\n"), "{cut}");
}

#[test]
fn pages_put_together_are_the_whole_answer() {
    let fixture = Fixture::new();
    for n in 0..150 {
        let lines = "a needle here\nand hay\n".repeat(1 + n % 3);
        fixture.write(&format!("repo{}/folder/file{n}.txt", n % 7), format!("{n}\n{lines}"));
    }
    // One file with more matches than fit into an answer.
    let mut large = String::new();
    for n in 0..4000 {
        writeln!(large, "needle {n}").unwrap();
    }
    fixture.write("repo3/large.txt", large);
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    // The same results as on the command line.
    let expected = fixture.search(&["needle"]);
    for (limit, least) in [(500, 2), (7, 22)] {
        let pages = agent.pages("needle", limit);
        assert!(pages.len() >= least, "{}", pages.len());
        let mut lines = Vec::new();
        for page in &pages {
            for file in page.split("\n\n") {
                let mut shown = file.lines();
                let path = shown.next().unwrap().split(" (").next().unwrap().replace(": ", "/");
                lines.extend(shown.map(|line| format!("{path}:{line}")));
            }
        }
        lines.sort();
        assert!(lines == expected, "{} lines, not {}", lines.len(), expected.len());
    }
    for (query, least) in [("needle type:file", 22), ("needle type:repo", 1)] {
        let all = agent.pages(query, 500);
        let pages = agent.pages(query, 7);
        assert!((all.len(), pages.len()) >= (1, least), "{query}: {}", pages.len());
        assert_eq!(pages.concat(), all.concat(), "{query}");
    }
}

#[test]
fn an_answer_is_as_large_as_is_asked_for() {
    let fixture = Fixture::new();
    for n in 0..60 {
        let lines =
            "a needle in a line of some length, so that an answer is soon full\n".repeat(20);
        fixture.write(&format!("repo{}/file{n}.txt", n % 3), format!("{n}\n{lines}"));
    }
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    let first = agent.told("search", &json!({ "query": "needle" }));
    assert!(first.len() <= 8192, "{}", first.len());
    let (head, body) = first.split_once("\n\n").unwrap();
    assert!(
        head.starts_with("1,200 matching lines in 60 files of 3 repositories. Here are 1 to "),
        "{head}"
    );
    assert!(head.ends_with("\nFiles by repository: repo0 20, repo1 20, repo2 20."), "{head}");
    let file = body.split("\n\n").next().unwrap();
    assert_eq!(file.matches("needle").count(), 2, "{file}");
    assert!(file.ends_with("+18 more lines"), "{file}");
    // Of others than the best files, a line each.
    let file = body.split("\n\n").nth(5).unwrap();
    assert!(file.matches("needle").count() == 1 && file.contains("+19 more lines"), "{file}");
    assert_eq!(body.split("\n\n").count(), 10, "{body}");
    let all =
        json!({ "query": "needle", "max_bytes": "32768", "lines_per_file": 1.0, "limit": "500" });
    let all = agent.told("search", &all);
    assert!(
        all.starts_with("1,200 matching lines in 60 files of 3 repositories. That is all."),
        "{all}"
    );
    // The best files of one answer follow those of the previous one, each once.
    let (mut files, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let asked = json!({ "query": "needle", "limit": 7, "lines_per_file": 2, "cursor": cursor });
        let answer = agent.told("search", &asked);
        let (head, body) = answer.split_once("\n\n").unwrap();
        let mut repo = "";
        files.extend(body.split("\n\n").map(|file| {
            let (of, path) = file.lines().next().unwrap().split_once(": ").unwrap();
            repo = if of.is_empty() { repo } else { of };
            format!("{repo}: {path}")
        }));
        match head.split_once("cursor \"") {
            Some((_, rest)) => cursor = json!(rest.split_once('"').unwrap().0),
            None => break,
        }
    }
    let given = files.len();
    files.sort();
    files.dedup();
    assert_eq!((given, files.len()), (60, 60));
}

#[test]
fn nothing_found_is_explained() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    let nothing = agent.told("search", &json!({ "query": "func nowher[e] return" }));
    for order in ["best", "exhaustive"] {
        let asked = json!({ "query": "func nowher[e] return", "order": order });
        assert_eq!(agent.told("search", &asked), nothing, "{order}");
    }
    assert!(nothing.starts_with("Nothing matches."), "{nothing}");
    assert!(nothing.contains("\n\nOther queries:\n- "), "{nothing}");
    let nothing = agent.told("search", &json!({ "query": "func repo:onne" }));
    assert!(nothing.starts_with("Nothing matches.") && nothing.contains("one"), "{nothing}");
}

#[test]
fn questions_are_ranked_by_their_words() {
    let fixture = Fixture::new();
    fixture.write(
        "one/retry.py",
        "def backoff(attempt):\n    # wait longer after each retry\n    return 2 ** attempt\n",
    );
    fixture.write("one/main.py", "def main():\n    print('validators')\n");
    fixture.write(
        "two/check.py",
        "class Validators:\n    def plug_in(self, validator):\n        pass\n",
    );
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    let asked = json!({ "query": "how are validators plugged in?", "order": "words" });
    let told = agent.told("search", &asked);
    // A question needs no order.
    let asked = json!({ "query": "how are validators plugged in?" });
    assert_eq!(agent.told("search", &asked), told);
    assert!(told.starts_with("Ranked by words: "), "{told}");
    let asked = json!({ "query": "how are validators plugged in?", "order": "best" });
    assert!(agent.told("search", &asked).starts_with("Nothing matches."));
    assert!(told.contains("\n\ntwo: check.py\n"), "{told}");
    // The same words, if no file has all of them.
    let told = agent.told("search", &json!({ "query": "backoff waits of a retry" }));
    assert!(told.starts_with("Nothing matches."), "{told}");
    assert!(
        told.contains("\n\nno file has these words exactly as typed; ranked by words. "),
        "{told}"
    );
    assert!(told.contains("\n\none: retry.py\n"), "{told}");
    // What matches is never mixed with what does not.
    let told = agent.told("search", &json!({ "query": "backoff attempt retry" }));
    assert!(told.starts_with("3 matching lines in 1 file. That is all."), "{told}");
    // A field is no word.
    let told = agent.told("search", &json!({ "query": "lang:python validators nowhere" }));
    assert!(told.starts_with("Nothing matches."), "{told}");
    let told =
        agent.told("search", &json!({ "query": "retry backoff repo:two", "order": "words" }));
    assert!(!told.contains("one: "), "{told}");
}

#[test]
fn documents_are_found() {
    let fixture = Fixture::new();
    fixture.write("one/README.md", "# Retries\n\nHow to configure retries of requests.\n");
    fixture.write("two/other.md", "# Other\n\nNothing of that.\n");
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    let told = agent.told("docs", &json!({ "query": "how do I configure a retry" }));
    assert_eq!(
        told,
        "1 document has these words. That is all.\n\none: README.md\nRetries\n\
         Retries How to configure retries of requests.\n"
    );
    // The words may include fields that narrow the search.
    let none = agent.told("docs", &json!({ "query": "configure retries repo:two" }));
    assert!(none.starts_with("No document has all of these words"), "{none}");
    let some = agent.told("docs", &json!({ "query": "configure retries repo:one file:x" }));
    assert!(some.contains("file:x") && some.contains("one: "), "{some}");
    let none = agent.told("docs", &json!({ "query": "configure retries", "repo": "two" }));
    assert!(none.starts_with("No document has all of these words"), "{none}");
    // A missing repository is not blamed on the words.
    let why = "no repository matches tow; did you mean two?";
    let none = agent.told("docs", &json!({ "query": "configure retries", "repo": "tow" }));
    assert!(none.contains(why), "{none}");
    let none = fixture.run(&["docs", "--repo", "tow", "configure retries"]).code(1).err;
    assert_eq!(none, format!("codesearch: nothing found: {why}\n"));
    let page = fixture.serve().get("/docs?q=configure+retries+repo:tow", "text/html").2;
    assert!(page.contains(why), "{page}");
    let wrong = agent.refused("docs", &json!({ "query": "the" }));
    assert!(wrong.contains("add a more specific word"), "{wrong}");
}

#[test]
fn who_asks_for_it_is_told_of_progress() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    let params = json!({
        "name": "search",
        "arguments": { "query": "func" },
        "_meta": { "progressToken": "mine" },
    });
    agent.send(&json!({ "jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": params }));
    let mut told = Vec::new();
    let answer = loop {
        let mut line = String::new();
        agent.output.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == 70 {
            break message;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "mine", "{message}");
        told.push(message["params"]["progress"].as_f64().unwrap());
    };
    assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
    assert!(!told.is_empty() && told.is_sorted_by(|a, b| a < b), "{told:?}");
}

#[test]
fn pages_that_cannot_go_on() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    let first = agent.told("search", &json!({ "query": "func", "limit": 1 }));
    let cursor = first.split('"').nth(1).unwrap().to_owned();
    assert_eq!(
        agent.refused("search", &json!({ "query": "return", "cursor": cursor })),
        "this cursor belongs to another query or user; send the original query unchanged"
    );
    assert_eq!(
        agent.refused("search", &json!({ "query": "func", "cursor": "1.2" })),
        "invalid cursor; copy the one from the previous answer"
    );
    let other = json!({ "query": "func", "cursor": cursor, "order": "exhaustive" });
    assert_eq!(
        agent.refused("search", &other),
        "this cursor belongs to the other order; use the order of the original call"
    );
    fixture.write("two/d.go", "func D() {}\n");
    fixture.ingest();
    // The state of the first page is kept for some minutes.
    let next = agent.told("search", &json!({ "query": "func", "cursor": cursor }));
    assert!(
        next.starts_with("4 matching lines in 3 files of 2 repositories. Here are 2 to 3."),
        "{next}"
    );
    let again = agent.told("search", &json!({ "query": "func repo:two" }));
    assert!(again.starts_with("2 matching lines in 2 files. "), "{again}");
}

#[test]
fn files_are_read_in_parts() {
    let fixture = fixture();
    let mut text = String::new();
    for n in 0..3000 {
        writeln!(text, "line {n} of a file that is larger than an answer").unwrap();
    }
    fixture.write("three/large.txt", &text);
    let wide = format!("short\n{}\nlast\n", "é".repeat(40_000));
    fixture.write("three/wide.txt", &wide);
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    let read = |agent: &mut Agent, arguments: Value| agent.told("read_file", &arguments);
    assert_eq!(
        read(&mut agent, json!({ "repo": "one", "path": "lib/b.py" })),
        "Python, 25 bytes. Lines 1 to 2 of 2.\n\n1:def a():\n2:    return func\n"
    );
    assert_eq!(
        read(&mut agent, json!({ "repo": "one", "path": "a.go", "from_line": 3, "to_line": 4 })),
        "Go, 46 bytes. Lines 3 to 4 of 8.\n\n3:func A() {\n4:\treturn\n"
    );
    for path in ["./lib/b.py", "/lib//b.py", "lib/../lib/./b.py"] {
        let told = read(&mut agent, json!({ "repo": "one", "path": path }));
        assert!(told.starts_with("Python, 25 bytes. Lines 1 to 2 of 2."), "{path}: {told}");
    }
    for (path, expected) in [("large.txt", &text), ("wide.txt", &wide)] {
        let (mut whole, mut parts) = (String::new(), 0);
        let (mut line, mut byte) = (json!(1), json!(0));
        loop {
            let part = json!({ "repo": "three", "path": path, "from_line": line, "from_byte": byte, "max_bytes": 32768 });
            let part = read(&mut agent, part);
            parts += 1;
            let (head, body) = part.split_once("\n\n").unwrap();
            // A line that was cut continues in the next part.
            let goes_on = byte != json!(0);
            for (n, shown) in body.lines().enumerate() {
                if !(n == 0 && (goes_on || whole.is_empty())) {
                    whole.push('\n');
                }
                whole.push_str(shown.split_once(':').unwrap().1);
            }
            let number = |name: &str| -> Option<usize> {
                let rest = head.split_once(name)?.1;
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap();
                rest[..end].parse().ok()
            };
            match number("from_line=") {
                None => break,
                Some(next) => line = json!(next),
            }
            byte = json!(number("from_byte=").unwrap_or(0));
            assert!(head.contains("the answer is full, at 32768 bytes"), "{head}");
        }
        assert!(parts > 2);
        assert!(whole + "\n" == *expected, "{path}");
    }
    assert_eq!(
        read(&mut agent, json!({ "repo": "one" })),
        "A folder. Lines 1 to 2 of 2.\n\n1:lib/ (1 file)\n2:a.go (Go, 46 bytes)\n"
    );
    for (arguments, expected) in [
        (
            json!({ "repo": "four", "path": "a.go" }),
            "unknown repository 'four'; list_repos lists those that exist",
        ),
        (
            json!({ "repo": "thre", "path": "a.go" }),
            "unknown repository 'thre'; did you mean three?",
        ),
        (
            json!({ "repo": "one", "path": "src/b.py" }),
            "one has no file 'src/b.py'; did you mean lib/b.py?",
        ),
        (
            json!({ "repo": "one", "path": "zzz" }),
            "one has no file 'zzz'; find_file finds files by their paths",
        ),
        (
            json!({ "repo": "two", "path": "binary" }),
            "'binary' in two is not in the index: it was left out (binary)",
        ),
        (
            json!({ "repo": "one", "path": "a.go", "from_line": 9 }),
            "the argument from_line takes a line of the file, from 1 to 8",
        ),
        (
            json!({ "repo": "one", "path": "a.go", "from_line": 3, "to_line": 2 }),
            "the argument to_line must not be less than from_line",
        ),
    ] {
        assert_eq!(agent.refused("read_file", &arguments), expected);
    }
    // Tools that do not read texts give the same message.
    let left_out = "two/binary is not in the index: it was left out (binary)";
    let of = json!({ "repo": "two", "path": "binary" });
    assert_eq!(agent.refused("outline", &of), left_out);
    for tool in ["definitions", "references"] {
        assert_eq!(agent.refused(tool, &json!({ "name": "x", "from": "two: binary:1" })), left_out);
    }
    let found = agent.told("find_file", &json!({ "typed": "two/binary" }));
    assert_eq!(found, "No similar file. two: binary was left out of the index (binary).");
    // So do other commands that ask for it.
    let ran = fixture.run(&["outline", "two/binary"]).code(2);
    assert!(ran.err.contains(left_out), "{}", ran.err);
    let ran = fixture.run(&["def", "--from", "two/binary:1", "x"]).code(2);
    assert!(ran.err.contains(left_out), "{}", ran.err);
    let ran = fixture.run(&["files", "two/binary"]).code(1);
    assert!(ran.err.contains("two/binary was left out of the index (binary)"), "{}", ran.err);
    let server = fixture.serve();
    for path in ["/file", "/raw", "/outline", "/blame", "/history"] {
        let (status, _, body) = server.get(&format!("{path}?repo=two&path=binary"), "*/*");
        assert!(status == 404 && body.contains(left_out), "{path}: {body}");
    }
    let (_, _, body) = server.get("/print?r=two&f=binary&format=raw", "*/*");
    assert_eq!(body, left_out);
}

#[test]
fn files_and_repositories_are_found() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    assert_eq!(
        agent.told("find_file", &json!({ "typed": "lbpy" })),
        "1 to 1 of 1 file. That is all.\n\none: lib/b.py (Python)\n"
    );
    assert_eq!(
        agent.told("find_file", &json!({ "typed": "go", "repo": "TWO", "language": "go" })),
        "1 to 1 of 1 file. That is all.\n\ntwo: c.go (Go)\n"
    );
    assert_eq!(
        agent.told("find_file", &json!({ "typed": "b", "language": "py" })),
        "1 to 1 of 1 file. That is all.\n\none: lib/b.py (Python)\n"
    );
    let unknown = agent.refused("find_file", &json!({ "typed": "b", "language": "pyhton" }));
    assert!(unknown.contains("did you mean lang:python?"), "{unknown}");
    assert_eq!(agent.told("find_file", &json!({ "typed": "zzz" })), "No similar file.");
    let first = agent.told("find_file", &json!({ "typed": "go", "limit": 1 }));
    assert_eq!(
        first,
        "1 to 1 of 2 files: the limit was reached. For the rest, call again with offset=1, or narrow the \
         search.\n\none: a.go (Go)\n"
    );
    assert_eq!(
        agent.told("find_file", &json!({ "typed": "go", "limit": 1, "offset": 1 })),
        "2 to 2 of 2 files. That is all.\n\ntwo: c.go (Go)\n"
    );

    let repos = agent.told("list_repos", &json!({}));
    let lines: Vec<&str> = repos.lines().collect();
    assert_eq!(lines[0], "1 to 2 of 2 repositories. That is all.");
    assert!(
        lines[2].starts_with("one (2 files, 0.0 MB of text, 0 left out, looked at 2"),
        "{repos}"
    );
    assert!(
        lines[3].starts_with("two (1 file, 0.0 MB of text, 1 left out, looked at 2"),
        "{repos}"
    );
    let second = agent.told("list_repos", &json!({ "limit": 1, "offset": 1 }));
    assert!(second.starts_with("2 to 2 of 2 repositories. That is all.\n\ntwo ("), "{second}");
    assert_eq!(
        agent.told("list_repos", &json!({ "offset": 2 })),
        "No more: the total is 2 repositories."
    );
    let filtered = agent.told("list_repos", &json!({ "filter": "TW" }));
    assert!(filtered.starts_with("1 to 1 of 1 repository. That is all.\n\ntwo ("), "{filtered}");
}

#[test]
fn many_long_paths_are_listed_in_parts() {
    let fixture = Fixture::new();
    let deep = "folder/".repeat(25);
    for n in 0..300 {
        fixture.write(&format!("r/{deep}{n}.txt"), format!("{n}\n"));
    }
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    let (mut found, mut offset, mut answers) = (Vec::new(), 0, 0);
    while offset < 300 {
        let asked = json!({ "typed": "txt", "limit": 500, "offset": offset, "max_bytes": 32768 });
        let answer = agent.told("find_file", &asked);
        let (head, body) = answer.split_once("\n\n").unwrap();
        let full = "the answer is full, at 32768 bytes. For the rest, call again with offset=";
        assert!(head.contains(full) || head.ends_with("That is all."), "{head}");
        found.extend(body.lines().map(str::to_owned));
        offset = found.len();
        answers += 1;
    }
    found.sort();
    found.dedup();
    assert_eq!((found.len(), answers), (300, 2));
}

#[test]
fn errors_are_answers_that_say_what_to_do() {
    let empty = Fixture::new();
    empty.run(&["init", "--shards", "4"]).code(0);
    let mut agent = Agent::of(&empty);
    let nothing =
        "nothing is indexed yet; run: codesearch ingest FOLDER (or: codesearch up FOLDER)";
    assert_eq!(agent.refused("search", &json!({ "query": "a" })), nothing);
    assert_eq!(agent.refused("list_repos", &json!({})), nothing);
    assert_eq!(agent.refused("read_file", &json!({ "repo": "a" })), nothing);
    // The first ingest is visible without a restart.
    empty.write("r/a.txt", "kept\n");
    empty.ingest();
    assert_eq!(
        agent.told("search", &json!({ "query": "kept" })),
        "1 matching line in 1 file. That is all.\n\nr: a.txt\n1:kept\n"
    );
    let told = agent.refused("search", &json!({ "query": "foo(bar" }));
    let why = "unclosed group: write \\( for the character (at character 4)\n    foo(bar\n       ^\nTry this query";
    assert!(told.starts_with(why) && told.ends_with(": lit:foo(bar"), "{told}");
    for (arguments, expected) in [
        (json!({}), "search needs the argument query; give a text"),
        (json!({ "query": [] }), "the argument query takes a text, not a list"),
        (
            json!({ "query": "a", "limit": 0 }),
            "the argument limit takes a whole number from 1 to 500, not 0",
        ),
        (
            json!({ "query": "a", "limit": "many" }),
            "the argument limit takes a whole number from 1 to 500, not many",
        ),
        (
            json!({ "query": "a", "order": "worst" }),
            "the argument order takes best or words or exhaustive or docs, not worst",
        ),
        (
            json!({ "query": "a", "lines": 1 }),
            "search has no argument lines; use context_lines, limit, lines_per_file, order, query",
        ),
        (json!({ "query": " " }), "the query is empty; type what to search for"),
    ] {
        let told = agent.refused("search", &arguments);
        assert!(told.starts_with(expected), "{told}");
        assert!((40..=100).contains(&told.len()), "{told}");
    }
    assert_eq!(
        agent.refused("find_file", &json!({ "typed": " " })),
        "the argument typed is empty; give some letters of a path"
    );
    assert_eq!(
        agent.refused("list_repos", &json!({ "limit": 501 })),
        "the argument limit takes a whole number from 1 to 500, not 501"
    );
    assert_eq!(agent.end().code(0).err, "");
}

#[test]
fn it_ends_with_its_input() {
    let fixture = fixture();
    let ran = fixture.command(&["mcp"]).stdin(Stdio::null()).output().unwrap();
    let ran = Ran::of(ran).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    // Requests sent before the end of input are still answered.
    let mut agent = Agent::of(&fixture);
    let params = json!({ "name": "search", "arguments": { "query": "func" } });
    agent.send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }));
    drop(agent.input.take());
    let mut line = String::new();
    agent.output.read_line(&mut line).unwrap();
    assert!(line.contains("4 matching lines in 3 files of 2 repositories."), "{line}");
    agent.end().code(0);
}
