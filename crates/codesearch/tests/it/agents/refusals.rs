//! Bad calls of each tool: a sentence that says what to do.

use serde_json::{Value, json};

use super::{Agent, fixture};

#[test]
fn a_bad_call_of_any_tool_gets_one_short_sentence() {
    let fixture = fixture();
    fixture.commit("one", "first");
    fixture.ingest();
    let mut agent = Agent::of(&fixture);
    let long = "x".repeat(5000);
    // Every tool, and each of its arguments with wrong values.
    let listed = agent.ask("tools/list", &json!({}))["result"]["tools"].take();
    let mut calls: Vec<(String, Value)> = Vec::new();
    for tool in listed.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let schema = &tool["inputSchema"];
        let needed = schema["required"].as_array().cloned().unwrap_or_default();
        let needed = needed.iter().map(|one| (one.as_str().unwrap().to_owned(), json!("a")));
        let needed: serde_json::Map<String, Value> = needed.collect();
        if !needed.is_empty() {
            calls.push((name.to_owned(), json!({})));
        }
        let with = |argument: &str, value: Value| {
            let mut arguments = Value::Object(needed.clone());
            arguments[argument] = value;
            (name.to_owned(), arguments)
        };
        calls.push(with("nonsense", json!(1)));
        for (argument, takes) in schema["properties"].as_object().unwrap() {
            calls.push(with(argument, json!({ "a": 1 })));
            calls.push(with(argument, json!([1, 2])));
            match takes["type"].as_str().unwrap() {
                "integer" => {
                    for wrong in [json!(-1), json!(1.5), json!("many"), json!(1e18), json!(true)] {
                        calls.push(with(argument, wrong));
                    }
                    calls.push(with(argument, json!("9".repeat(100))));
                }
                "boolean" => {
                    calls.push(with(argument, json!("perhaps")));
                    calls.push(with(argument, json!(2)));
                }
                _ if takes["enum"].is_array() => calls.push(with(argument, json!("worst"))),
                _ => calls.push(with(argument, json!("x".repeat(200_000)))),
            }
        }
    }
    assert!(calls.len() > 150, "{}", calls.len());
    // Values that only the tool itself can refuse.
    for (tool, arguments) in [
        ("search", json!({ "query": "" })),
        ("search", json!({ "query": "func", "cursor": "nonsense" })),
        ("search", json!({ "query": "func", "epoch": 999_999 })),
        ("search", json!({ "query": "func", "folder": "relative/folder" })),
        ("search", json!({ "query": "?", "order": "words" })),
        ("symbol", json!({})),
        ("symbol", json!({ "name": "a", "from": "nowhere" })),
        ("symbol", json!({ "from": "one/a.go:999" })),
        ("symbol", json!({ "name": "a", "repo": "(" })),
        ("symbol", json!({ "name": "a", "language": "klingon" })),
        ("read_file", json!({ "repo": "nowhere" })),
        ("read_file", json!({ "repo": "one", "path": "nothing.go" })),
        ("read_file", json!({ "repo": "one", "path": "a.go", "symbol": "Z" })),
        ("read_file", json!({ "repo": "one", "path": "a.go", "from_line": 100 })),
        ("read_file", json!({ "repo": "one", "path": "a.go", "from_line": 3, "to_line": 2 })),
        ("read_file", json!({ "repo": "one", "path": "a.go", "revision": "nowhere" })),
        ("find_file", json!({ "typed": " " })),
        ("find_file", json!({ "typed": "a", "language": "klingon" })),
        ("diff", json!({ "repo": "one", "range": "nowhere..HEAD" })),
        ("diff", json!({ "repo": "two", "range": "HEAD" })),
        ("diff", json!({ "repo": "nowhere", "range": "HEAD" })),
        ("list_repos", json!({ "limit": 0 })),
        ("read_file", json!({ "repo": &long })),
        ("symbol", json!({ "name": &long })),
    ] {
        calls.push((tool.to_owned(), arguments));
    }
    let mut wrong = Vec::new();
    for (tool, arguments) in calls {
        let (failed, text) = agent.call(&tool, &arguments);
        let is_short = (40..=100).contains(&text.len()) && !text.contains('\n');
        if !failed || !is_short {
            let arguments = query::shortened(&arguments.to_string(), 80).into_owned();
            wrong.push(format!("{tool} {arguments}: {failed}, {} bytes: {text:.300}", text.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn odd_questions_and_queries_are_answered_within_bounds() {
    let fixture = fixture();
    let server = fixture.serve();
    let mut agent = Agent::of(&fixture);
    let many = "retry ".repeat(10_000);
    let distinct: Vec<String> = (0..10_000).map(|n| format!("word{n}")).collect();
    let distinct = distinct.join(" ");
    let huge = "x ".repeat(1 << 20);
    // Each with whether it is refused as a question; all three ways of asking agree in the others, too.
    for (asked, refused) in [
        (many.as_str(), None),
        (&distinct, None),
        ("a", None),
        ("the of and", None),
        ("🦀 🚢", Some(true)),
        ("🦀 func", None),
        ("???", Some(true)),
        ("\u{0}func", None),
        ("где задаётся повтор", None),
        ("ფუნქცია სად არის", None),
    ] {
        let short = query::shortened(asked, 40);
        let mut refused = refused;
        // Of an agent, in both orders.
        for order in ["words", "best"] {
            let (failed, text) = agent.call("search", &json!({ "query": asked, "order": order }));
            // A refused query is shown with the place of its error.
            let is_short = (20..=300).contains(&text.len()) && text.lines().count() <= 4;
            assert!(text.len() <= 8192 && (!failed || is_short), "{order} {short}: {text:.300}");
            if order == "words" && asked.len() < 1000 {
                assert_eq!(failed, *refused.get_or_insert(failed), "{short}: {text}");
            }
        }
        if asked.contains('\0') {
            continue;
        }
        // On the command line, and of a server.
        let ran = fixture.run(&["ask", "--", asked]);
        assert!(ran.err.len() <= 300, "{short}: {:.300}", ran.err);
        let code = ran.status.code().unwrap();
        assert!(code <= 2, "{short}: {code} {:.300}", ran.err);
        let encoded =
            percent_encoding::utf8_percent_encode(asked, percent_encoding::NON_ALPHANUMERIC);
        if asked.len() < 1000 {
            let refused = refused.unwrap();
            assert_eq!(code == 2, refused, "{short}: {}", ran.err);
            let (status, answer) = server.json(&format!("/ask?q={encoded}"));
            assert_eq!(status == 400, refused, "{short}: {status} {answer}");
            let said = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(said.len() <= 200, "{short}: {said}");
        }
    }
    let params = json!({ "name": "search", "arguments": { "query": huge, "order": "words" } });
    let answer = agent.ask("tools/call", &params);
    let said = &answer["error"]["message"];
    let said = said.as_str().or(answer["result"]["content"][0]["text"].as_str()).unwrap();
    assert!((40..=100).contains(&said.len()), "{said}");
    // A language that nobody knows.
    let asked = json!({ "query": "func lang:klingon", "order": "words" });
    let refused = agent.refused("search", &asked);
    assert!(refused.contains("klingon") && refused.len() <= 200, "{refused}");
    let ran = fixture.run(&["ask", "--lang", "klingon", "func"]).code(2);
    assert!(ran.err.contains("klingon") && ran.err.len() <= 200, "{}", ran.err);
    let (status, answer) = server.json("/ask?q=func&lang=klingon");
    assert!(status == 400 && answer.to_string().contains("klingon"), "{status} {answer}");
}
