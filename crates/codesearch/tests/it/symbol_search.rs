//! Searches for definitions, and navigation: results by name, kind and container, and their display.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::harness::{Defined, Fixture, Server, eventually};

const SERVER: &str = "\
package harbor

import \"fmt\"

// Server serves.
type Server struct {
\tname string
}

func NewServer() *Server { return &Server{} }

func (s *Server) Serve() error {
\tfmt.Println(\"Serve is called\")
\treturn nil
}
";

const MAIN: &str = "\
package main

import \"x/harbor\"

func main() {
\t// Serve it
\tharbor.NewServer().Serve()
}
";

const OTHER: &str = "\
# Serve

def Serve():
    pass
";

/// Returns the symbols of a text: `kind name line parent end-line`, with names at their `nth` place in the line.
fn symbols(text: &str, all: &[(u8, &str, usize, Option<usize>, usize)]) -> Vec<Defined> {
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    all.iter()
        .map(|(kind, name, line, parent, last)| {
            let begin = starts[line - 1];
            let start = begin + text[begin..].find(name).unwrap();
            let end = starts.get(*last).copied().unwrap_or(text.len());
            Defined {
                name: (*name).to_owned(),
                kind: *kind,
                start,
                end,
                line: *line,
                parent: *parent,
            }
        })
        .collect()
}

/// Three files, one of them in another language.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/harbor/server.go", SERVER);
    fixture.write("one/main.go", MAIN);
    fixture.write("two/serve.py", OTHER);
    fixture.write("two/notes.txt", "Serve\n");
    fixture.ingest();
    fixture.define(&HashMap::from([
        (
            "one/harbor/server.go".to_owned(),
            symbols(
                SERVER,
                &[
                    (17, "harbor", 1, None, 1),
                    (1, "Server", 6, None, 8),
                    (11, "name", 7, Some(1), 7),
                    (8, "NewServer", 10, None, 10),
                    (20, "Server", 12, None, 15),
                    (9, "Serve()", 12, Some(4), 15),
                ],
            )
            .into_iter()
            .map(|mut one| {
                // The receiver has the same letters.
                one.name = one.name.trim_end_matches("()").to_owned();
                one
            })
            .collect(),
        ),
        (
            "one/main.go".to_owned(),
            symbols(MAIN, &[(17, "main", 1, None, 1), (8, "main", 5, None, 8)]),
        ),
        ("two/serve.py".to_owned(), symbols(OTHER, &[(8, "Serve", 3, None, 4)])),
    ]));
    fixture
}

/// A server with everything in memory.
fn served(fixture: &Fixture) -> Server {
    let server = fixture.serve_with(&["--cache", "64"]);
    server.settle();
    server
}

#[test]
fn definitions_are_found_by_name_kind_and_container() {
    let fixture = fixture();
    let server = served(&fixture);
    let serve = "one/harbor/server.go:12:func (s *Server) Serve() error {";
    let new = "one/harbor/server.go:10:func NewServer() *Server { return &Server{} }";
    let of_type = "one/harbor/server.go:6:type Server struct {";
    let of_python = "two/serve.py:3:def Serve():";
    let cases: [(&str, &[&str]); 17] = [
        ("sym:^Serve$", &[serve, of_python]),
        ("sym:serve", &[new, serve, of_type, of_python]),
        ("symbol:Serve lang:go", &[new, serve, of_type]),
        ("sym:Server.Serve", &[serve]),
        ("sym:Server::^Serve$", &[serve]),
        ("sym:Other.Serve", &[]),
        ("sym:Serve kind:function", &[new, of_python]),
        ("sym:Serve (kind:struct or kind:method)", &[serve, of_type]),
        ("sym:Serve -kind:struct -kind:function", &[serve]),
        ("Serve$ type:symbol kind:method", &[serve]),
        ("sym:^Server$", &[of_type]),
        ("sym:Serve content:Println -file:py type:symbol", &[new, serve, of_type]),
        ("-sym:Serve Serve file:txt", &["two/notes.txt:1:Serve"]),
        (
            "sym:^Serve$ or sym:^main$ kind:function",
            &["one/main.go:5:func main() {", serve, of_python],
        ),
        ("kind:struct", &[of_type]),
        ("sym:nowhere", &[]),
        (r"sym:^\w{4}$ kind:field", &["one/harbor/server.go:7:\tname string"]),
    ];
    for (query, expected) in cases {
        let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        expected.sort();
        assert_eq!(fixture.search(&["--", query]), expected, "{query}");
        assert_eq!(fixture.search(&["--brute", "--", query]), expected, "--brute {query}");
        let encoded: String =
            percent_encoding::utf8_percent_encode(query, percent_encoding::NON_ALPHANUMERIC)
                .to_string();
        let answer = server.json(&format!("/search?q={encoded}&limit=0")).1;
        let mut found = lines(&answer);
        found.sort();
        assert_eq!(found, expected, "{query}: {answer}");
        assert_eq!(answer["stats"]["shards_from_postgres"], 0, "{query}: {answer}");
    }
    let files = fixture.search(&["-l", "sym:Serve"]);
    assert_eq!(files, ["one/harbor/server.go", "two/serve.py"]);
    assert_eq!(fixture.search(&["sym:Serve", "type:repo"]), ["one", "two"]);
}

/// Returns the lines of an answer, as the command line prints them.
fn lines(answer: &Value) -> Vec<String> {
    let files = answer["files"].as_array().unwrap().iter();
    let of_file = |file: &Value| {
        let place =
            format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap());
        let lines = file["matches"].as_array().unwrap().clone();
        lines
            .into_iter()
            .map(move |line| format!("{place}:{}:{}", line["line"], line["text"].as_str().unwrap()))
    };
    files.flat_map(of_file).collect()
}

#[test]
fn a_definition_is_told_with_its_kind_and_container() {
    let fixture = fixture();
    let server = served(&fixture);
    let answer = server.json("/search?q=sym:^Serve$+lang:go").1;
    let line = &answer["files"][0]["matches"][0];
    assert_eq!(line["ranges"], json!([[17, 22]]), "{answer}");
    let expected = json!([{
        "name": "Serve", "kind": "method", "container": "Server", "line": 12, "start": 17, "end": 22,
    }]);
    assert_eq!(line["symbols"], expected);
    assert!(line.get("enclosing").is_none());
    let printed = fixture.run(&["search", "--json", "sym:^Serve$ lang:go"]).code(0).out;
    let line: Value = serde_json::from_str(printed.lines().nth(1).unwrap()).unwrap();
    assert_eq!(line["data"]["symbols"][0]["kind"], "method", "{printed}");
    // The symbol around a matching line.
    for sort in ["", "&sort=relevance"] {
        let answer = server.json(&format!("/search?q=content:Println&enclosing=1{sort}")).1;
        let line = &answer["files"][0]["matches"][0];
        let expected =
            json!({ "name": "Serve", "kind": "method", "container": "Server", "line": 12 });
        assert_eq!(line["enclosing"], expected, "{answer}");
    }
}

#[test]
fn a_name_leads_to_its_definitions_and_references() {
    let fixture = fixture();
    let server = served(&fixture);
    let (status, answer) = server.json("/definitions?name=Serve");
    assert_eq!((status, answer["definitions"].as_array().unwrap().len()), (200, 2), "{answer}");
    assert_eq!(answer["complete"], true);
    let (_, answer) = server.json("/definitions?name=Serve&from=one/main.go:7");
    let found = answer["definitions"].as_array().unwrap();
    assert_eq!(found.len(), 1, "another language: {answer}");
    assert_eq!(
        (&found[0]["path"], &found[0]["near"]),
        (&json!("harbor/server.go"), &json!("import"))
    );
    let (_, answer) = server.json("/definitions?name=Server.Serve");
    assert_eq!(answer["definitions"][0]["container"], "Server");

    let (_, answer) = server.json("/references?name=Serve&from=one/main.go:7");
    let files = answer["files"].as_array().unwrap();
    let paths: Vec<&Value> = files.iter().map(|file| &file["path"]).collect();
    // In the second file only a string is left: its definition is not a reference.
    assert_eq!(paths, ["main.go", "harbor/server.go"], "{answer}");
    let lines = files[0]["lines"].as_array().unwrap();
    let told: Vec<_> = lines.iter().map(|line| (&line["line"], &line["labels"][0])).collect();
    assert_eq!(told, [(&json!(7), &json!("call")), (&json!(6), &json!("comment"))], "{answer}");
    assert_eq!(lines[0]["enclosing"]["name"], "main");
    assert_eq!(files[1]["lines"][0]["labels"], json!(["string"]));
    assert_eq!(answer["repos"], json!([{ "repo": "one", "lines": 3 }]));

    let def = fixture.run(&["def", "Server.Serve"]).code(0).out;
    assert_eq!(def, "one/harbor/server.go:12:method of Server: func (s *Server) Serve() error {\n");
    let from = fixture.path().join("one/main.go:7");
    let refs = fixture.run(&["refs", "NewServer", "--from", from.to_str().unwrap()]).code(0).out;
    assert_eq!(refs, "one/main.go:7:call in main: harbor.NewServer().Serve()\n");
    assert_eq!(fixture.run(&["def", "nothing"]).code(1).out, "");
    let ran = fixture.run(&["def", "x", "--from", "one/none.go:1"]).code(2);
    assert!(ran.err.contains("one/none.go is not in the index"), "{}", ran.err);
    for (path, status) in [
        ("/definitions", 400),
        ("/definitions?name=%20", 400),
        ("/definitions?name=x&from=one/none.go:1", 404),
        ("/references?name=x&repo=a(", 400),
        ("/references?name=x&lang=klingon", 400),
        ("/references?name=x&limit=0", 400),
    ] {
        assert_eq!(server.json(path).0, status, "{path}");
    }
    for page in ["/definitions?name=Serve", "/references?name=Serve&from=one/main.go:7"] {
        let (status, _, page) = server.get(page, "text/html");
        assert!(status == 200 && page.contains("server.go"), "{page}");
    }
}

#[test]
fn a_file_has_an_outline() {
    let fixture = fixture();
    let server = served(&fixture);
    let (_, answer) = server.json("/outline?repo=one&path=harbor/server.go");
    let symbols = answer["symbols"].as_array().unwrap();
    let told: Vec<_> = symbols
        .iter()
        .map(|one| {
            format!(
                "{}{} {}-{}",
                one["depth"],
                one["name"].as_str().unwrap(),
                one["line"],
                one["last_line"]
            )
        })
        .collect();
    let expected = [
        "0harbor 1-1",
        "0Server 6-8",
        "1name 7-7",
        "1Server 12-15",
        "2Serve 12-15",
        "0NewServer 10-10",
    ];
    assert_eq!(told, expected, "{answer}");
    assert_eq!(answer["state"], "taken");
    let printed = fixture.run(&["outline", "one/main.go"]).code(0).out;
    assert_eq!(printed, "     1  package main\n     5  function main\n");
    assert_eq!(server.json("/outline?repo=one&path=none").0, 404);
    let (status, _, page) = server.get("/outline?repo=one&path=harbor/server.go", "text/html");
    assert!(status == 200 && page.contains("NewServer"), "{page}");
}

#[test]
fn symbols_that_are_not_there_yet_are_told() {
    let fixture = fixture();
    fixture.exec("update shards set symbols_upto = 0; update state set symbols_languages = '{go}'");
    let server = fixture.serve_with(&["--cache", "64"]);
    server.settle();
    // Existing symbols are found.
    let answer = server.json("/search?q=sym:^Serve$").1;
    assert_eq!(answer["stats"]["files"], 2, "{answer}");
    let left = json!({ "pending": 2, "given_up": {}, "without": [] });
    assert_eq!(answer["stats"]["symbols"], left, "{answer}");
    assert_eq!(answer["stats"]["complete"], false, "{answer}");
    assert_eq!(answer["stats"]["stopped_because"], "symbols", "{answer}");
    let ran = fixture.run(&["search", "sym:^Serve$"]).code(0);
    assert!(ran.err.contains("the symbols of 2 files are not extracted yet"), "{}", ran.err);
    let ran = fixture.run(&["search", "sym:nothing lang:python"]).code(1);
    assert!(ran.err.contains("symbols of python are not supported"), "{}", ran.err);
    assert_eq!(server.json("/search?q=content:Serve").1["stats"].get("symbols"), None);
    let (_, answer) = server.json("/outline?repo=two&path=notes.txt");
    assert_eq!(answer["state"], "without");
    // A running server loads them into memory once they exist.
    fixture.exec("update shards set symbols_upto = chunks");
    eventually("the symbols are in memory", || {
        let answer = server.json("/search?q=sym:^Serve$").1;
        answer["stats"].get("symbols").is_none() && answer["stats"]["shards_from_postgres"] == 0
    });
}

#[test]
fn a_search_for_definitions_goes_on_at_a_cursor() {
    let fixture = fixture();
    let server = served(&fixture);
    let first = server.json("/search?q=sym:Serve&limit=1").1;
    assert_eq!(first["stats"]["stopped_because"], "limit", "{first}");
    let next = first["next"].as_str().unwrap();
    let second = server.json(&format!("/search?q=sym:Serve&limit=1&cursor={next}")).1;
    let paths: Vec<&Value> =
        [&first, &second].iter().map(|answer| &answer["files"][0]["path"]).collect();
    assert_ne!(paths[0], paths[1]);
    // The kind is a part of the query.
    let (status, _) =
        server.json(&format!("/search?q=sym:Serve+kind:method&limit=1&cursor={next}"));
    assert_eq!(status, 410);
    let explained = fixture.run(&["search", "--explain", "sym:Serve"]).code(0).out;
    assert!(
        explained.contains(r#"symbol("serve")"#) || explained.contains("symbol(\"serve\")"),
        "{explained}"
    );
}

#[test]
fn a_large_shard_is_searched_for_definitions_in_ranges() {
    let fixture = Fixture::new();
    // One chunk each: more than the first range of a shard has (`cost::first_range_of_names`).
    for n in 0..2000 {
        let padding = format!("// {n} is padded\n").repeat(250);
        fixture.write(&format!("r/{n}.go"), format!("package r\n{padding}func Needle{n}() {{}}\n"));
    }
    fixture.run(&["ingest", "--shards", "1", "r"]).code(0);
    let server = fixture.serve();
    for is_settled in [false, true] {
        if is_settled {
            server.settle();
        }
        // Very common definitions, and those of five files.
        for (query, all) in [("sym:Needle", 2000), ("sym:Needle77[3-7]%24", 5)] {
            for limit in [10, 700] {
                let (mut found, mut next) = (Vec::new(), String::new());
                loop {
                    let path = format!("/search?q={query}&limit={limit}{next}");
                    let answer = server.json(&path).1;
                    found.extend(lines(&answer));
                    let Some(cursor) = answer["next"].as_str() else { break };
                    next = format!("&cursor={cursor}");
                }
                let pages = found.len();
                found.sort();
                found.dedup();
                assert_eq!((found.len(), pages), (all, all), "{query}, limit {limit}");
            }
        }
    }
}

#[test]
fn other_engines_are_told_of_symbols() {
    let fixture = fixture();
    let server = served(&fixture);
    let base = format!("http://{}", server.address);
    let ask = |chunks: bool| {
        let body = json!({ "Q": "sym:^Serve$ lang:go", "Opts": { "ChunkMatches": chunks } });
        let mut answer = ureq::post(format!("{base}/api/search")).send(body.to_string()).unwrap();
        let answer: Value =
            serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        answer["Result"]["Files"][0].clone()
    };
    let expected = json!({ "Sym": "Serve", "Kind": "method", "Parent": "Server", "ParentKind": "implementation" });
    assert_eq!(ask(false)["LineMatches"][0]["LineFragments"][0]["SymbolInfo"], expected);
    assert_eq!(ask(true)["ChunkMatches"][0]["SymbolInfo"], json!([expected]));
    let answer = server.json("/api/v1/search/?q=Serve$+tags:m").1;
    let found = answer["results"].as_array().unwrap();
    assert_eq!((found.len(), &found[0]["lno"]), (1, &json!(12)), "{answer}");
    assert_eq!(
        server.json("/api/v1/search/?q=Serve+tags:function").1["results"].as_array().unwrap().len(),
        2
    );
    assert_eq!(
        server.json("/api/v1/search/?q=Serve+tags:").1["results"].as_array().unwrap().len(),
        4
    );
}

/// Returns the answer of `/mcp` to a request.
fn agent(server: &Server, method: &str, params: &Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let mut answer = ureq::post(format!("http://{}/mcp", server.address))
        .header("Accept", "application/json, text/event-stream")
        .header("Content-Type", "application/json")
        .header("MCP-Protocol-Version", "2025-06-18")
        .send(body.to_string())
        .unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    assert_eq!(answer["id"], 7, "{answer}");
    answer["result"].clone()
}

/// Returns the text of a tool's answer.
pub(crate) fn told(server: &Server, tool: &str, arguments: &Value) -> String {
    let result = agent(server, "tools/call", &json!({ "name": tool, "arguments": arguments }));
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    let end = regex::Regex::new(r"\n\([^()]*epoch [0-9]+\)$|\([^()]*epoch [0-9]+\)\n$").unwrap();
    end.replace(text, "").into_owned()
}

#[test]
fn ordinary_clients_call_tools_over_http() {
    let fixture = fixture();
    let server = served(&fixture);
    let ask = |method: &str, headers: &[(&str, &str)], body: &str| {
        let mut text =
            format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        crate::harness::raw(server.address, text.as_bytes())
    };
    let json_rpc = |method: &str, params: &Value| {
        json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
    };
    let hello = json_rpc(
        "initialize",
        &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
    );
    let call = json_rpc(
        "tools/call",
        &json!({ "name": "list_repos", "arguments": {}, "_meta": { "progressToken": 1 } }),
    );
    let json = ("Content-Type", "application/json");
    for headers in [
        &[json, ("Accept", "application/json, text/event-stream")][..],
        &[json, ("Accept", "*/*")],
        &[json, ("Accept", "application/json")],
        &[json],
        &[("Content-Type", "application/json; charset=utf-8"), ("Accept", "application/*")],
        &[("Accept", "*/*")],
        // curl's defaults.
        &[("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "*/*")],
    ] {
        // Repeated, and without a session.
        for (body, part) in [(&hello, "serverInfo"), (&hello, "serverInfo"), (&call, "That is all")]
        {
            let answer = ask("POST", headers, body);
            let takes_events = headers.iter().any(|(_, value)| value.contains("event-stream"));
            assert!(answer.starts_with("HTTP/1.1 200"), "{headers:?}: {answer}");
            assert!(answer.contains(part) && answer.contains("\"id\":7"), "{headers:?}: {answer}");
            let is_json = answer.contains("content-type: application/json");
            assert!(is_json || takes_events, "{headers:?}: {answer}");
        }
    }
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    assert!(ask("POST", &[json], &told).starts_with("HTTP/1.1 202"));
    let unknown = ("Mcp-Session-Id", "nobody");
    assert!(ask("POST", &[json, unknown], &call).starts_with("HTTP/1.1 200"));
    for (headers, body, code, part) in [
        (&[json][..], "{", "-32700", "the body is not JSON"),
        (&[json], "", "-32700", "the body is not JSON"),
        (
            &[json],
            &format!("[{call}]"),
            "-32600",
            "batches are not supported: send each message separately",
        ),
        (&[json], "{\"a\": 1}", "-32600", "not a message of the protocol"),
        (&[json, ("MCP-Protocol-Version", "1999-01-01")], &call, "-32600", "1999-01-01"),
    ] {
        let answer = ask("POST", headers, body);
        assert!(answer.starts_with("HTTP/1.1 400"), "{body}: {answer}");
        assert!(answer.contains(code) && answer.contains(part), "{body}: {answer}");
        assert!(answer.contains("\"jsonrpc\":\"2.0\""), "{body}: {answer}");
    }
    let answer = ask("POST", &[json], &json_rpc("nosuch", &json!({})));
    assert!(answer.contains("-32601"), "{answer}");
    for method in ["GET", "DELETE", "PUT"] {
        let answer = ask(method, &[("Accept", "text/event-stream"), unknown], "");
        assert!(answer.starts_with("HTTP/1.1 405") && answer.contains("allow: POST"), "{answer}");
    }
    let large = ask("POST", &[json], &" ".repeat((256 << 10) + 1));
    assert!(large.starts_with("HTTP/1.1 413"), "{large}");
}

#[test]
fn agents_follow_names_over_http() {
    let fixture = fixture();
    let server = served(&fixture);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let info = agent(&server, "initialize", &hello);
    assert_eq!(info["serverInfo"]["name"], "codesearch", "{info}");
    let tools = agent(&server, "tools/list", &json!({}));
    let mut names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    let expected = ["diff", "find_file", "list_repos", "read_file", "search", "sql", "symbol"];
    assert_eq!(names, expected);
    assert_eq!(
        told(&server, "definitions", &json!({ "name": "Serve", "from": "one: main.go:7" })),
        "1 definition. That is all.\n\none: harbor/server.go\n12:func (s *Server) Serve() error {  [method of Server]\n"
    );
    let refs = told(&server, "references", &json!({ "name": "NewServer" }));
    assert_eq!(
        refs,
        "1 line in 1 file. That is all.\n\none: main.go\n7:harbor.NewServer().Serve()  [call in main]\n"
    );
    let both = told(&server, "symbol", &json!({ "name": "NewServer" }));
    assert_eq!(
        both,
        "1 definition. That is all.\n\none: harbor/server.go\n\
         10:func NewServer() *Server { return &Server{} }  [function]\n\n\
         1 line in 1 file uses it. That is all.\none:\nmain.go: 7 in main\n"
    );
    let outline = json!({ "repo": "one", "path": "main.go", "outline": true });
    assert_eq!(
        told(&server, "read_file", &outline),
        "1 to 2 of 2 definitions. That is all.\n\n1-1: package main\n5-8: function main\n"
    );
    let outline = told(&server, "outline", &json!({ "repo": "one", "path": "main.go" }));
    assert_eq!(
        outline,
        "1 to 2 of 2 symbols. That is all.\n\n1-1: package main\n5-8: function main\n"
    );
    let read = json!({ "repo": "one", "path": "harbor/server.go", "symbol": "Server.Serve" });
    let read = told(&server, "read_file", &read);
    assert!(read.contains("Server.Serve is in lines 12 to 15. Lines 12 to 15 of 15."), "{read}");
    assert!(read.contains("\n12:func (s *Server) Serve() error {\n"), "{read}");
    let missing = json!({ "repo": "one", "path": "main.go", "symbol": "none" });
    assert!(
        told(&server, "read_file", &missing)
            .contains("main.go defines no none; outline=true lists")
    );
    for order in ["best", "exhaustive"] {
        let found = told(&server, "search", &json!({ "query": "content:Println", "order": order }));
        let (lines, indent) = if order == "best" { (", 12-15", "") } else { ("", "\t") };
        let part = format!("\nin Server.Serve{lines}:\n13:{indent}fmt.Println");
        assert!(found.contains(&part), "{found}");
    }
    assert!(
        told(&server, "definitions", &json!({ "name": "nothing" })).starts_with("No definition")
    );
    assert!(told(&server, "outline", &json!({ "repo": "one", "path": "x" })).contains("find_file"));
}

#[test]
fn what_an_ingest_takes_is_found() {
    let fixture = Fixture::new();
    fixture.write("one/harbor/server.go", SERVER);
    fixture.write("two/ship.rs", "struct Ship;\n\nimpl Ship {\n    fn sail(&self) {}\n}\n");
    fixture.write("two/Ship.java", "class Ship {\n  void sail() {}\n  class Mast {}\n}\n");
    fixture.ingest();
    let server = served(&fixture);
    for (query, expected) in [
        ("sym:Server.Serve$", vec!["one/harbor/server.go:12:func (s *Server) Serve() error {"]),
        ("sym:^Ship$", vec!["two/Ship.java:1:class Ship {", "two/ship.rs:1:struct Ship;"]),
        (
            "sym:Ship::sail",
            vec!["two/Ship.java:2:  void sail() {}", "two/ship.rs:4:    fn sail(&self) {}"],
        ),
        ("kind:struct lang:rust", vec!["two/ship.rs:1:struct Ship;"]),
    ] {
        assert_eq!(fixture.search(&["--", query]), expected, "{query}");
        assert_eq!(fixture.search(&["--brute", "--", query]), expected, "--brute {query}");
        let query =
            query.replace(':', "%3A").replace('$', "%24").replace('^', "%5E").replace(' ', "+");
        let mut found = lines(&server.json(&format!("/search?q={query}")).1);
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
    let def = fixture.run(&["def", "Ship.sail", "--lang", "rust"]).code(0).out;
    assert_eq!(def, "two/ship.rs:4:method of Ship: fn sail(&self) {}\n");
    // A page in order of relevance has the definitions first.
    let answer = server.json("/search?q=Ship&sort=relevance").1;
    assert!(answer["files"][0]["path"].as_str().unwrap().starts_with(['S', 's']), "{answer}");
}
