//! The messages that the official SDKs of Python (mcp 2.3.0) and TypeScript (@modelcontextprotocol/sdk 1.32.2) sent in one
//! session on standard input, and in one over HTTP, each against a server with the files of [`fixture`](super::fixture).
//! They were recorded by a program between the SDK and the server, and are sent here as they were.
//!
//! A line of `*-stdio.jsonl` is `{"client": MESSAGE}`, or what is known of a message of the server: `{"server": {"id",
//! "method"}}`; notifications of progress are left out. A line of `*-http.jsonl` is a request, with the status and the type
//! of its answer.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use ureq::http::Request;

use super::fixture;
use crate::harness::Fixture;

/// A method, the parameters, and the answer.
struct Exchange {
    request: Value,
    answer: Value,
}

impl Exchange {
    /// Checks that the answer is what the SDK needs.
    fn check(&self) {
        let Self { request, answer } = self;
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        assert_eq!(answer["id"], request["id"], "{answer}");
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let arguments = &request["params"]["arguments"];
        match (request["method"].as_str().unwrap(), request["params"]["name"].as_str()) {
            ("initialize", _) => {
                assert_eq!(result["protocolVersion"], request["params"]["protocolVersion"]);
                assert_eq!(result["serverInfo"]["name"], "codesearch");
            }
            ("tools/list", _) => assert!(result["tools"].as_array().unwrap().len() >= 6),
            ("tools/call", Some("read_file")) => {
                assert_eq!(result["isError"], true, "{answer}");
                assert_eq!(text, "unknown repository 'oen'; did you mean one?");
            }
            ("tools/call", Some("symbol")) => assert!(text.contains("3:func A() {"), "{text}"),
            ("tools/call", Some("search")) => {
                assert_eq!(result["isError"], false, "{answer}");
                let found = text.starts_with("4 matching lines in 3 files of 2 repositories.");
                assert!(found && text.contains("func"), "{text}");
                assert_eq!(text.contains("Here are 1 to 1"), arguments["limit"] == 1, "{text}");
            }
            ("resources/list", _) => assert_eq!(result["resources"].as_array().unwrap().len(), 3),
            ("resources/templates/list", _) => assert!(result["resourceTemplates"].is_array()),
            ("resources/read", _) => {
                assert!(result["contents"][0]["text"].as_str().unwrap().contains("lang:"));
            }
            ("ping", _) => assert_eq!(result, &json!({})),
            (other, _) => panic!("{other} is not checked"),
        }
    }
}

/// Parses the lines of a transcript.
fn lines(transcript: &str) -> Vec<Value> {
    transcript.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn sessions_of_the_sdks_on_standard_input() {
    let fixture = fixture();
    for transcript in [
        include_str!("transcripts/python-stdio.jsonl"),
        include_str!("transcripts/typescript-stdio.jsonl"),
    ] {
        replay(&fixture, &lines(transcript));
    }
}

/// Sends what a client sent, each message after those of the server that came before it.
fn replay(fixture: &Fixture, transcript: &[Value]) {
    let mut command = fixture.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut messages =
        serde_json::Deserializer::from_reader(child.stdout.take().unwrap()).into_iter();
    let (mut requests, mut heard): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    for line in transcript {
        if let Some(message) = line["client"].as_str() {
            writeln!(input, "{message}").unwrap();
            let message: Value = serde_json::from_str(message).unwrap();
            if message["method"].is_string() && !message["id"].is_null() {
                requests.push(message);
            }
            continue;
        }
        let is_it = |heard: &Value| {
            let expected = &line["server"];
            heard["id"] == expected["id"] && heard["method"] == expected["method"]
        };
        while !heard.iter().any(is_it) {
            heard.push(messages.next().expect("the program answers").unwrap());
        }
    }
    for request in &requests {
        let is_answer = |one: &&Value| one["id"] == request["id"] && one["method"].is_null();
        let answer = heard.iter().find(is_answer).unwrap_or_else(|| panic!("{request}")).clone();
        let token = &request["params"]["_meta"]["progressToken"];
        let tells = |one: &Value| {
            one["method"] == "notifications/progress" && one["params"]["progressToken"] == *token
        };
        assert_eq!(heard.iter().any(tells), !token.is_null(), "{request}");
        Exchange { request: request.clone(), answer }.check();
    }
    assert_eq!(requests.len(), 11, "the session is whole");
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn sessions_of_the_sdks_over_http() {
    let fixture = fixture();
    let server = fixture.serve();
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    for transcript in [
        include_str!("transcripts/python-http.jsonl"),
        include_str!("transcripts/typescript-http.jsonl"),
    ] {
        let requests = lines(transcript);
        assert!(requests.len() >= 12, "the session is whole");
        // As it was sent, and as clients send that accept anything, only JSON, or do not say what.
        for accept in [None, Some(Some("*/*")), Some(Some("application/json")), Some(None)] {
            for sent in &requests {
                let address = format!("http://{}/mcp", server.address);
                let mut request =
                    Request::builder().method(sent["method"].as_str().unwrap()).uri(address);
                for (name, value) in sent["headers"].as_object().unwrap() {
                    let value = value.as_str();
                    let value = if name == "accept" { accept.unwrap_or(value) } else { value };
                    // The test reads answers as they are.
                    if let Some(value) = value.filter(|_| name != "accept-encoding") {
                        request = request.header(name, value);
                    }
                }
                let body = sent["body"].as_str().unwrap();
                let mut answer = match body {
                    "" => agent.run(request.body(()).unwrap()).unwrap(),
                    body => agent.run(request.body(body).unwrap()).unwrap(),
                };
                assert_eq!(json!(answer.status().as_u16()), sent["status"], "{sent} {accept:?}");
                let kind = answer
                    .headers()
                    .get("content-type")
                    .map(|kind| kind.to_str().unwrap().to_owned());
                let text = answer.body_mut().read_to_string().unwrap();
                let request: Value = serde_json::from_str(body).unwrap_or_default();
                if request["id"].is_null() {
                    continue;
                }
                // A call with progress may get events, if it takes them.
                let is_events = kind.as_deref() == Some("text/event-stream");
                let may_be = accept.is_none() && !request["params"]["_meta"].is_null();
                assert!(!is_events || may_be, "{sent}: {kind:?}");
                let answer = if is_events {
                    last_event(&text)
                } else {
                    serde_json::from_str(&text).unwrap()
                };
                Exchange { request, answer }.check();
            }
        }
    }
}

/// Returns the last message of some events.
fn last_event(text: &str) -> Value {
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = data.rfind(|data| !data.trim().is_empty());
    serde_json::from_str(last.unwrap_or_else(|| panic!("{text}"))).unwrap()
}
