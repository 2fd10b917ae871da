//! The answers of a tool and of ripgrep.

use std::collections::HashSet;
use std::io::Error;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use ureq::Agent;

use crate::Result;
use crate::shared::server::timed;
use crate::tasks::{Sought, Task};

/// Most calls for a task: the first, and those that answers suggest.
const MOST_CALLS: usize = 3;

/// An answer to a task.
pub(crate) struct Answer {
    /// Size of the whole answer in bytes.
    pub(crate) bytes: usize,
    /// Bytes up to the end of the last required line; `None` if one is missing.
    pub(crate) upto: Option<usize>,
    /// Whether the answer is incomplete and does not say so.
    pub(crate) cut_silently: bool,
    /// Calls until the answer is known, if the next one is what the answer suggests first; `None` if it never is.
    pub(crate) calls: Option<usize>,
}

impl Answer {
    /// Returns the bytes read until the answer is known, or all bytes if it never is.
    pub(crate) fn read(&self) -> usize {
        self.upto.unwrap_or(self.bytes)
    }
}

/// What a line of an answer names: a file, and a line of it; the line 0 is the file itself.
type Place = (String, u64);

/// Calls a tool.
pub(crate) fn of_tool(agent: &Agent, url: &str, task: &Task) -> Result<Answer> {
    let text = called(agent, url, &task.tool, &task.arguments)?;
    let upto = upto(&text, &places(&text), &task.answer);
    let head = text.split("\n\n").next().unwrap_or_default();
    let says = ["That is all", "That is the rest", "there is more", "there are more", "Here are"];
    let says_why = ["there may be more", "At least", "These are the best", "Nothing matches."];
    let says = says.iter().chain(&says_why).any(|says| head.contains(says));
    let mut calls = upto.map(|_| 1);
    let mut next = suggested(&text);
    for call in 2..=MOST_CALLS {
        let Some(query) = next.filter(|_| calls.is_none()) else { break };
        let text = called(agent, url, "search", &json!({ "query": query }))?;
        calls = self::upto(&text, &places(&text), &task.answer).map(|_| call);
        next = suggested(&text);
    }
    Ok(Answer { bytes: text.len(), upto, cut_silently: !says, calls })
}

fn called(agent: &Agent, url: &str, tool: &str, arguments: &Value) -> Result<String> {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    });
    let address = format!("{}/mcp", url.trim_end_matches('/'));
    let ask = || {
        let request = agent.post(&address).header("Content-Type", "application/json");
        request.send(body.to_string())
    };
    let (_, answer) = timed(ask, |answer| serde_json::from_slice::<Value>(answer))?;
    let answer = answer?;
    let text = answer["result"]["content"][0]["text"].as_str();
    Ok(text.ok_or_else(|| Error::other(format!("{tool}: {answer}")))?.to_owned())
}

/// Returns the first query that an answer suggests.
fn suggested(text: &str) -> Option<String> {
    let (_, others) = text.split_once("\nOther queries:\n- ")?;
    let (_, query) = others.lines().next()?.split_once("): ")?;
    Some(query.to_owned())
}

/// Returns the places that each line of an answer names. `REPOSITORY: PATH` precedes its lines `NUMBER:LINE`; without a
/// repository, it is that of the file before. Below `REPOSITORY:` stand `PATH: call NUMBER in NAME, NUMBER; +1 comment`.
fn places(text: &str) -> Vec<Vec<Place>> {
    let (mut repo, mut file, mut is_list) = (String::new(), String::new(), false);
    let mut of = |line: &str| {
        if line.is_empty() || line.starts_with('(') {
            is_list &= !line.is_empty();
            return Vec::new();
        }
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.contains([' ', ':'])) {
            (repo, is_list) = (name.to_owned(), true);
            return Vec::new();
        }
        let numbered = line.split_once(':').and_then(|(number, _)| number.parse::<u64>().ok());
        if let Some(number) = numbered {
            return vec![(file.clone(), number)];
        }
        let Some((before, rest)) = line.split_once(": ") else { return Vec::new() };
        if is_list {
            let numbers = rest.split([' ', ',', ';']).filter_map(|word| word.parse().ok());
            return numbers.map(|number| (format!("{repo}/{before}"), number)).collect();
        }
        if !before.is_empty() {
            before.clone_into(&mut repo);
        }
        let path = rest.rsplit_once(" (").map_or(rest, |(path, _)| path);
        let path = path.rsplit_once(" [").map_or(path, |(path, _)| path);
        file = format!("{repo}/{path}");
        vec![(file.clone(), 0)]
    };
    text.lines().map(&mut of).collect()
}

/// Runs ripgrep.
pub(crate) fn of_ripgrep(tree: &Path, worktree: Option<&Path>, task: &Task) -> Result<Answer> {
    let mut command = Command::new("rg");
    let counts = task.answer.iter().any(|sought| matches!(sought, Sought::Repositories(_)));
    let (folder, pattern) = match task.pattern.split_once("/ ") {
        Some((folder, pattern)) if counts => (tree.join(folder), pattern),
        _ => {
            (worktree.filter(|_| task.is_in_worktree()).unwrap_or(tree).to_owned(), &*task.pattern)
        }
    };
    command.args([if counts { "-l" } else { "-n" }, "--sort", "path", "-e", pattern]);
    command.current_dir(folder);
    let out = command.output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let place = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let path = parts.next().unwrap_or_default().to_owned();
        vec![(path, parts.next().and_then(|number| number.parse().ok()).unwrap_or(0))]
    };
    let places: Vec<Vec<Place>> = text.lines().map(place).collect();
    let upto = upto(&text, &places, &task.answer);
    Ok(Answer { bytes: text.len(), upto, cut_silently: false, calls: upto.map(|_| 1) })
}

/// Returns the bytes up to the end of the last required line, given the place that each line of a text names; `None` if
/// some are missing.
fn upto(text: &str, places: &[Vec<Place>], answer: &[Sought]) -> Option<usize> {
    let is = |place: &Place, path: &str, line: Option<u64>| {
        let is_file = place.0 == path || place.0.ends_with(&format!("/{path}"));
        is_file && line.is_none_or(|line| line == place.1)
    };
    let mut last = 0;
    for sought in answer {
        let found = match sought {
            Sought::Place(any) => {
                let is_one = |at: &Place| any.iter().any(|(path, line)| is(at, path, *line));
                places.iter().position(|all| all.iter().any(is_one))?
            }
            Sought::Repositories(number) => counted(text, places, *number)?,
        };
        last = last.max(found);
    }
    Some(text.split_inclusive('\n').take(last + 1).map(str::len).sum())
}

/// Returns the line after which a number of repositories is known: the one that tells it, or the last one if all files
/// are listed.
fn counted(text: &str, places: &[Vec<Place>], number: usize) -> Option<usize> {
    let said = [format!("{number} repositories"), format!("{number} repository")];
    let says = |line: &str| {
        let is_number = |at: usize| !line[..at].ends_with(|c: char| c.is_ascii_digit() || c == ',');
        !line.contains("at least")
            && said.iter().any(|said| line.find(said.as_str()).is_some_and(is_number))
    };
    if let Some(at) = text.lines().position(says) {
        return Some(at);
    }
    let repository = |path: &str| path.split('/').next().map(str::to_owned);
    // Only ripgrep's answers begin with a path.
    let is_list = text.lines().next().is_some_and(|line| !line.contains(' '));
    let all: HashSet<_> =
        places.iter().flatten().filter_map(|(path, _)| repository(path)).collect();
    (is_list && all.len() == number).then(|| places.len().saturating_sub(1))
}
