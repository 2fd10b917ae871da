//! A running server, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::eventually;

/// Timeout of a request. A slower one counts as hanging.
const PATIENCE: Duration = Duration::from_mins(2);

/// A running server, which is stopped when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) child: Child,
}

impl Server {
    /// Starts a server with a command that prints its address.
    pub(crate) fn start(command: Command) -> Self {
        Self::try_start(command).expect("the server starts")
    }

    /// Starts a server; `None` if it ends before it serves.
    pub(crate) fn try_start(mut command: Command) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (mut line, mut out) = (String::new(), BufReader::new(child.stdout.take().unwrap()));
        // `up` first prints what it ingested.
        while out.read_line(&mut line).unwrap() > 0 && !line.starts_with("serving on ") {
            line.clear();
        }
        if line.is_empty() {
            assert_eq!(child.wait().unwrap().code(), Some(2));
            return None;
        }
        let address = line.trim().trim_start_matches("serving on http://").trim_end_matches('/');
        Some(Self { address: address.parse().unwrap(), child })
    }

    /// Requests a path with an `Accept` header; returns status, content type and body.
    pub(crate) fn get(&self, path: &str, accept: &str) -> (u16, String, String) {
        let (status, headers, body) = self.ask(path, &[("accept", accept)]);
        let kind = headers.get("content-type").map_or("", |v| v.to_str().unwrap()).to_owned();
        (status, kind, body)
    }

    /// Sends a request with headers; returns status, headers and body.
    pub(crate) fn ask(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> (u16, ureq::http::HeaderMap, String) {
        let (status, headers, body) = self.ask_bytes(path, headers);
        (status, headers, String::from_utf8(body).unwrap())
    }

    /// Like [`Server::ask`], but the body need not be UTF-8.
    pub(crate) fn ask_bytes(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> (u16, ureq::http::HeaderMap, Vec<u8>) {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = config.timeout_global(Some(PATIENCE)).build().into();
        let mut request = agent.get(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = request.call().unwrap();
        let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        (answer.status().as_u16(), answer.headers().clone(), body)
    }

    pub(crate) fn json(&self, path: &str) -> (u16, Value) {
        let (status, kind, body) = self.get(path, "application/json");
        assert_eq!(kind, "application/json", "{body}");
        (status, serde_json::from_str(&body).unwrap())
    }

    /// Searches without a limit; returns the whole answer.
    #[track_caller]
    pub(crate) fn search(&self, query: &str) -> Value {
        let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
        let (status, answer) = self.json(&format!("/search?q={query}&limit=0"));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Waits until the texts of all shards are in memory.
    #[track_caller]
    pub(crate) fn settle(&self) {
        eventually("all texts are in memory", || {
            // No filter has this character, so each shard is searched with all of its text.
            let stats = &self.search("\\x01")["stats"];
            assert!(stats["shards_searched"].as_u64() > Some(0), "{stats}");
            stats["shards_from_postgres"] == 0
        });
    }

    /// Returns how many statements the server runs for an answer, apart from periodic ones.
    pub(crate) fn statements(&self, path: &str, accept: &str) -> u64 {
        let made = || {
            let metrics = self.get("/metrics", "*/*").2;
            let line = metrics.lines().find_map(|l| l.strip_prefix("codesearch_statements_total "));
            line.unwrap().parse::<u64>().unwrap()
        };
        // Reading the counter takes the same number of statements each time.
        let telling = (0..5).map(|_| made().abs_diff(made())).min().unwrap();
        let asking = || {
            let before = made();
            let (status, _, body) = self.get(path, accept);
            assert_eq!(status, 200, "{path}: {body}");
            made() - before - telling
        };
        (0..5).map(|_| asking()).min().unwrap()
    }

    /// Returns the bytes of compressed text in memory.
    pub(crate) fn bytes_in_memory(&self) -> u64 {
        self.json("/stats").1["memory"]["used_bytes"].as_u64().unwrap()
    }

    /// Asks it to stop, and waits until it has ended.
    #[track_caller]
    pub(crate) fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends raw bytes to an address, and returns the response.
pub(crate) fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
