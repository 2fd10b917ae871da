//! Tasks with their answers.

use std::io::Error;
use std::path::Path;

use serde_json::Value;

use crate::Result;

/// `corpus/agent-tasks.tsv`; its first lines describe it.
const TASKS: &str = include_str!("../../corpus/agent-tasks.tsv");

/// What stands for the folder of a worktree in arguments.
const WORKTREE: &str = "$WORKTREE";

/// A task and its answer.
pub(crate) struct Task {
    pub(crate) kind: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    /// The text typed after `rg -n`.
    pub(crate) pattern: String,
    /// What the answer consists of; all of it is required.
    pub(crate) answer: Vec<Sought>,
}

/// A part of an answer.
pub(crate) enum Sought {
    /// One of these places suffices: a path, which begins with the name of the repository, and a line, unless the file is
    /// all that was sought.
    Place(Vec<(String, Option<u64>)>),
    /// A number of repositories.
    Repositories(usize),
}

impl Task {
    /// Returns whether ripgrep runs in the worktree.
    pub(crate) fn is_in_worktree(&self) -> bool {
        self.kind == "worktree"
    }
}

/// Returns the tasks; those in a worktree only if there is one.
pub(crate) fn tasks(worktree: Option<&Path>) -> Result<Vec<Task>> {
    let lines = TASKS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tasks = lines.map(|line| {
        let wrong = || Error::other(format!("agent-tasks.tsv: {line}"));
        let folder = worktree.and_then(Path::to_str).unwrap_or(WORKTREE);
        parse(&line.replace(WORKTREE, folder)).ok_or_else(wrong)
    });
    let mut tasks = tasks.collect::<Result<Vec<_>>>()?;
    tasks.retain(|task| worktree.is_some() || !task.is_in_worktree());
    Ok(tasks)
}

fn parse(line: &str) -> Option<Task> {
    let mut columns = line.split('\t');
    let (kind, tool) = (columns.next()?.to_owned(), columns.next()?.to_owned());
    let arguments = serde_json::from_str(columns.next()?).ok()?;
    let pattern = columns.next()?.to_owned();
    let answer = columns.map(sought).collect::<Option<Vec<_>>>()?;
    (!answer.is_empty()).then_some(Task { kind, tool, arguments, pattern, answer })
}

/// Parses `PATH:LINE`, `PATH`, alternatives of them between bars, or `#NUMBER`.
fn sought(column: &str) -> Option<Sought> {
    if let Some(number) = column.strip_prefix('#') {
        return Some(Sought::Repositories(number.parse().ok()?));
    }
    let place = |one: &str| match one.rsplit_once(':') {
        Some((path, line)) => (path.to_owned(), line.parse().ok()),
        None => (one.to_owned(), None),
    };
    Some(Sought::Place(column.split('|').map(place).collect()))
}
