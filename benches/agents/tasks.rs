//! Tasks with their answers.

use std::io::Error;

use serde_json::Value;

use crate::Result;

/// `corpus/agent-tasks.tsv`; its first lines describe it.
const TASKS: &str = include_str!("../../corpus/agent-tasks.tsv");

/// A task and its answer.
pub(crate) struct Task {
    pub(crate) kind: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    /// The text typed after `rg -n`.
    pub(crate) pattern: String,
    /// Paths, which begin with the name of the repository, and line numbers.
    pub(crate) lines: Vec<(String, u64)>,
}

/// Returns the tasks.
pub(crate) fn tasks() -> Result<Vec<Task>> {
    let lines = TASKS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| parse(line).ok_or_else(|| Error::other(format!("agent-tasks.tsv: {line}"))))
        .collect()
}

fn parse(line: &str) -> Option<Task> {
    let mut columns = line.split('\t');
    let (kind, tool) = (columns.next()?.to_owned(), columns.next()?.to_owned());
    let arguments = serde_json::from_str(columns.next()?).ok()?;
    let pattern = columns.next()?.to_owned();
    let place = |column: &str| {
        let (path, line) = column.rsplit_once(':')?;
        Some((path.to_owned(), line.parse().ok()?))
    };
    let lines = columns.map(place).collect::<Option<Vec<_>>>()?;
    (!lines.is_empty()).then_some(Task { kind, tool, arguments, pattern, lines })
}
