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
    /// The tools.
    tools: Value,
    /// The schemas of their answers.
    schemas: Value,
    /// The epoch of the last answer.
    pub(crate) epoch: Value,
}

impl Agent {
    /// Starts the program and initialises the session.
    pub(crate) fn of(fixture: &Fixture) -> Self {
        Self::start(fixture.command(&["mcp"]))
    }

    /// Does the same with a command.
    pub(crate) fn start(command: Command) -> Self {
        let mut agent = Self::with_capabilities(command, &json!({}));
        agent.tools = agent.ask("tools/list", &json!({}))["result"]["tools"].take();
        let schemas = agent.ask("resources/read", &json!({ "uri": "codesearch://schemas" }));
        let schemas = schemas["result"]["contents"][0]["text"].as_str().unwrap();
        agent.schemas = serde_json::from_str(schemas).unwrap();
        agent
    }

    /// Starts a command and initialises the session, with the client's capabilities.
    pub(crate) fn with_capabilities(mut command: Command, capabilities: &Value) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (calls, tools, schemas, epoch) = (0, Value::Null, Value::Null, Value::Null);
        let mut agent = Self { child, input, output, calls, tools, schemas, epoch };
        let hello = agent.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
        assert_eq!(hello["result"]["serverInfo"]["name"], "codesearch");
        assert!(hello["result"]["capabilities"]["tools"].is_object());
        agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    /// Reads the next message.
    pub(crate) fn message(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request and returns the answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool; returns whether it failed, and its text.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let (failed, text) = self.call_whole(tool, arguments);
        let age = Regex::new(r"\n\(as of [^;()]*\)$|\(as of [^;()]*\)\n$").unwrap();
        let text = age.replace(&text, "").into_owned();
        let age = Regex::new(r"; as of [^;()]*|as of [^;()]*; ").unwrap();
        (failed, age.replace(&text, "").into_owned())
    }

    /// Like [`call`](Self::call), with the age of the answer.
    #[track_caller]
    pub(crate) fn call_whole(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let meta = json!({ "codesearch/structured": true });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let answer = self.ask("tools/call", &params);
        let content = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(content.len(), 1);
        assert_eq!(content[0]["type"], "text");
        let text = content[0]["text"].as_str().unwrap().to_owned();
        assert!(text.len() <= MAX_BYTES, "{} bytes", text.len());
        let failed = answer["result"]["isError"] == true;
        if failed {
            return (failed, text);
        }
        let structured = &answer["result"]["structuredContent"];
        self.check(tool, arguments, &text, structured);
        self.epoch = structured["epoch"].clone();
        let end =
            Regex::new(r"\n\(epoch [0-9]+\)$|\(epoch [0-9]+\)\n$|; epoch [0-9]+\)\n?$").unwrap();
        assert_eq!(end.is_match(&text), self.epoch.is_u64(), "{text}");
        let rest =
            end.replace(&text, |found: &regex::Captures<'_>| match found[0].strip_prefix("; ") {
                Some(end) => end.replace(|c: char| c.is_ascii_alphanumeric() || c == ' ', ""),
                None => String::new(),
            });
        (failed, rest.into_owned())
    }

    /// Checks a tool's answer as JSON: it follows the tool's schema, is no larger than requested, and begins like the
    /// text.
    #[track_caller]
    fn check(&self, tool: &str, arguments: &Value, text: &str, structured: &Value) {
        let schema = &self.schemas[tool];
        assert_eq!(schema["type"], "object", "{tool}");
        let validator = jsonschema::validator_for(schema).unwrap();
        let wrong: Vec<String> =
            validator.iter_errors(structured).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{tool} {arguments}: {wrong:#?}\n{structured:#}");
        let most = match &arguments["max_bytes"] {
            Value::String(most) => most.parse().unwrap(),
            Value::Null => 8192,
            most => most.as_f64().unwrap() as usize,
        };
        let bytes = structured.to_string().len();
        assert!(bytes <= most, "{tool} {arguments}: {bytes} bytes of JSON");
        let summary = structured["summary"].as_str().unwrap();
        // The last line of the text adds the epoch to what the summary says of the index; notes follow the list.
        let (rest, index) = match summary.rsplit_once(" (") {
            Some((rest, end)) if end.ends_with(')') && !end.contains('\n') => {
                (rest, &end[..end.len() - 1])
            }
            _ => (summary, ""),
        };
        let (head, notes) = rest.split_once(" Note: ").unwrap_or((rest, ""));
        let has_all = head.lines().chain([notes, index]).all(|part| text.contains(part));
        assert!(text.starts_with(head.lines().next().unwrap()) && has_all, "{summary}\n{text}");
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

    /// Returns the bytes of the list of tools.
    pub(crate) fn bytes_of_tools(&self) -> usize {
        self.tools.to_string().len()
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
