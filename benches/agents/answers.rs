//! The answers of a tool and of ripgrep.

use std::io::Error;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use ureq::Agent;

use crate::Result;
use crate::shared::server::timed;
use crate::tasks::Task;

/// An answer to a task.
pub(crate) struct Answer {
    /// Size of the whole answer in bytes.
    pub(crate) bytes: usize,
    /// Bytes up to the end of the last required line; `None` if one is missing.
    pub(crate) upto: Option<usize>,
    /// Whether the answer is incomplete and does not say so.
    pub(crate) cut_silently: bool,
}

impl Answer {
    /// Returns the bytes read until the answer is known, or all bytes if it never is.
    pub(crate) fn read(&self) -> usize {
        self.upto.unwrap_or(self.bytes)
    }
}

/// Calls a tool.
pub(crate) fn of_tool(agent: &Agent, url: &str, task: &Task) -> Result<Answer> {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": task.tool, "arguments": task.arguments },
    });
    let address = format!("{}/mcp", url.trim_end_matches('/'));
    let ask = || {
        let request = agent.post(&address).header("Content-Type", "application/json");
        let request = request.header("Accept", "application/json, text/event-stream");
        request.send(body.to_string())
    };
    let (_, answer) = timed(ask, |answer| serde_json::from_slice::<Value>(answer))?;
    let answer = answer?;
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.ok_or_else(|| Error::other(format!("{}: {answer}", task.tool)))?;
    // A line `REPOSITORY: PATH` precedes its lines `NUMBER:LINE`.
    let (mut file, mut places) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some((number, _)) = line.split_once(':')
            && let Ok(number) = number.parse::<u64>()
        {
            places.push((file.clone(), number));
            continue;
        }
        if let Some((repo, path)) = line.split_once(": ") {
            let path = path.rsplit_once(" (").map_or(path, |(path, _)| path);
            file = format!("{repo}/{path}");
        }
        places.push((String::new(), 0));
    }
    let head = text.lines().next().unwrap_or_default();
    let upto = upto(text, &places, task);
    let says_all = ["That is all", "That is the rest"].iter().any(|says| head.contains(says));
    let says_cut = ["there is more", "there are more", "there may be more", "Here are", "not all"];
    let says_cut = says_cut.iter().any(|says| head.contains(says));
    Ok(Answer { bytes: text.len(), upto, cut_silently: !says_all && !says_cut })
}

/// Runs ripgrep.
pub(crate) fn of_ripgrep(tree: &Path, task: &Task) -> Result<Answer> {
    let mut command = Command::new("rg");
    command.args(["-n", "--sort", "path", "-e", &task.pattern]).current_dir(tree);
    let out = command.output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let place = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let path = parts.next().unwrap_or_default().to_owned();
        (path, parts.next().and_then(|number| number.parse().ok()).unwrap_or(0))
    };
    let places: Vec<(String, u64)> = text.lines().map(place).collect();
    let upto = upto(&text, &places, task);
    Ok(Answer { bytes: text.len(), upto, cut_silently: false })
}

/// Returns the bytes up to the end of the last required line, given the place that each line of a text names; `None` if
/// some are missing.
fn upto(text: &str, places: &[(String, u64)], task: &Task) -> Option<usize> {
    let mut last = 0;
    for sought in &task.lines {
        last = last.max(places.iter().position(|place| place == sought)?);
    }
    Some(text.split_inclusive('\n').take(last + 1).map(str::len).sum())
}
