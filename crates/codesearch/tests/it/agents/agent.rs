//! A client of the Model Context Protocol on the program's standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use regex::Regex;
use serde_json::{Value, json};

use crate::harness::{Fixture, Ran};

/// Largest answer, in bytes.
const MAX_BYTES: usize = 32 * 1024;

/// The running program, with its input and output.
pub(crate) struct Agent {
    child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: BufReader<ChildStdout>,
    calls: u64,
    /// The tools, with the schemas of their answers.
    tools: Value,
}

impl Agent {
    /// Starts the program and initialises the session.
    pub(crate) fn of(fixture: &Fixture) -> Self {
        Self::start(fixture.command(&["mcp"]))
    }

    /// Does the same with a command.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut agent = Self { child, input, output, calls: 0, tools: Value::Null };
        let hello = agent.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
        assert_eq!(hello["result"]["serverInfo"]["name"], "codesearch");
        assert!(hello["result"]["capabilities"]["tools"].is_object());
        agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent.tools = agent.ask("tools/list", &json!({}))["result"]["tools"].take();
        agent
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request and returns the answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool; returns whether it failed, and its text.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let (failed, text) = self.call_whole(tool, arguments);
        let age = Regex::new(r"\n?\((oldest repository )?looked at [^()]*\)").unwrap();
        (failed, age.replace(&text, "").into_owned())
    }

    /// Like [`call`](Self::call), with the age of the answer.
    #[track_caller]
    pub(crate) fn call_whole(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let content = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(content.len(), 1);
        assert_eq!(content[0]["type"], "text");
        let text = content[0]["text"].as_str().unwrap().to_owned();
        assert!(text.len() <= MAX_BYTES, "{} bytes", text.len());
        let failed = answer["result"]["isError"] == true;
        if !failed {
            self.check(tool, arguments, &text, &answer["result"]["structuredContent"]);
        }
        (failed, text)
    }

    /// Checks a tool's answer as JSON: it follows the tool's schema, is no larger than requested, and begins like the
    /// text.
    #[track_caller]
    fn check(&self, tool: &str, arguments: &Value, text: &str, structured: &Value) {
        let tools = self.tools.as_array().unwrap();
        let described = tools.iter().find(|one| one["name"] == tool).unwrap();
        let schema = &described["outputSchema"];
        assert_eq!(schema["type"], "object", "{described}");
        let validator = jsonschema::validator_for(schema).unwrap();
        let wrong: Vec<String> =
            validator.iter_errors(structured).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{tool} {arguments}: {wrong:#?}\n{structured:#}");
        let most = match &arguments["max_bytes"] {
            Value::String(most) => most.parse().unwrap(),
            Value::Null => described["inputSchema"]["properties"]["max_bytes"]["default"]
                .as_u64()
                .unwrap() as usize,
            most => most.as_f64().unwrap() as usize,
        };
        let bytes = structured.to_string().len();
        assert!(bytes <= most, "{tool} {arguments}: {bytes} bytes of JSON");
        let summary = structured["summary"].as_str().unwrap();
        // The summary of what was not searched, or is old, follows the list.
        let ends = [" Not in the index", " Note: "];
        let (head, left_out) = match ends.iter().filter_map(|end| summary.find(end)).min() {
            Some(at) => summary.split_at(at),
            None => (summary, ""),
        };
        assert!(text.starts_with(head) && text.contains(left_out.trim()), "{summary}\n{text}");
    }

    /// Calls a tool that must succeed; returns its text.
    #[track_caller]
    pub(crate) fn told(&mut self, tool: &str, arguments: &Value) -> String {
        let (failed, text) = self.call(tool, arguments);
        assert!(!failed, "{text}");
        text
    }

    /// Calls a tool that must fail; returns its message.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let (failed, text) = self.call(tool, arguments);
        assert!(failed, "{text}");
        text
    }

    /// Returns all pages of a search, each without its first line.
    pub(crate) fn pages(&mut self, query: &str, limit: usize) -> Vec<String> {
        let (mut pages, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let asked = json!({
                "query": query,
                "limit": limit,
                "cursor": cursor,
                "order": "exhaustive",
                "max_bytes": 32768,
            });
            let answer = self.told("search", &asked);
            let (head, body) = answer.split_once("\n\n").unwrap_or((&answer, ""));
            pages.push(body.to_owned());
            match head.split_once("cursor \"") {
                Some((_, rest)) => cursor = json!(rest.split_once('"').unwrap().0),
                None => return pages,
            }
            assert!(head.contains("there is more"), "{head}");
        }
    }

    /// Closes standard input, and waits for the program to end.
    pub(crate) fn end(mut self) -> Ran {
        drop(self.input.take());
        Ran::of(self.child.wait_with_output().unwrap())
    }
}
