//! The report: a line for each kind of task.

use std::fmt::Write as _;

use crate::answers::Answer;
use crate::shared::summary::median;
use crate::{Row, shared};

/// Returns the results of a task.
pub(crate) fn detail(row: &Row) -> String {
    let of = |answer: &Answer| {
        let hit = if answer.upto.is_some() { "hit " } else { "miss" };
        let cut = if answer.cut_silently { " cut silently" } else { "" };
        let calls = answer.calls.map_or("-".to_owned(), |calls| calls.to_string());
        format!("{hit} {calls} {:>7} of {:>7}{cut}", answer.read(), answer.bytes)
    };
    let task = &row.task;
    format!(
        "{:<11} {} | {}  {} {}",
        task.kind,
        of(&row.ours),
        of(&row.ripgrep),
        task.tool,
        task.arguments
    )
}

/// Returns the table.
pub(crate) fn report(rows: &[Row]) -> String {
    let mut text = format!(
        "What an agent reads until it knows, {}, {}\ncargo bench --bench agents\n\n{:<12}{:>6} |{:>16}{:>7}{:>10}{:>8}{:>13} |{:>14}{:>10}{:>8} |{:>10}{:>8}\n",
        shared::today(),
        shared::machine(),
        "tasks",
        "",
        "codesearch: hits",
        "calls",
        "bytes to",
        "all",
        "cut silently",
        "ripgrep: hits",
        "bytes to",
        "all",
        "ratio: to",
        "all",
    );
    let mut kinds: Vec<&str> = Vec::new();
    for row in rows {
        if !kinds.contains(&row.task.kind.as_str()) {
            kinds.push(&row.task.kind);
        }
    }
    for kind in &kinds {
        let of: Vec<&Row> = rows.iter().filter(|row| row.task.kind == *kind).collect();
        line(&mut text, kind, &of);
    }
    line(&mut text, "all", &rows.iter().collect::<Vec<_>>());
    text.push_str("\ncalls: of tasks whose answer is found, the first and those that answers suggest, on average\nbytes: medians; to: up to the last line that was sought; ratio: of these medians\n");
    text
}

fn line(text: &mut String, name: &str, rows: &[&Row]) {
    let count = |of: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| of(row)).count();
    let middle = |of: &dyn Fn(&Row) -> usize| {
        median(&rows.iter().map(|row| of(row) as f64).collect::<Vec<_>>())
    };
    let (ours, ripgrep) = (middle(&|row| row.ours.read()), middle(&|row| row.ripgrep.read()));
    let (all, all_ripgrep) = (middle(&|row| row.ours.bytes), middle(&|row| row.ripgrep.bytes));
    let known: Vec<usize> = rows.iter().filter_map(|row| row.ours.calls).collect();
    let calls = known.iter().sum::<usize>() as f64 / known.len().max(1) as f64;
    let _ = writeln!(
        text,
        "{name:<12}{:>6} |{:>16}{calls:>7.2}{ours:>10.0}{:>8.0}{:>13} |{:>14}{ripgrep:>10.0}{all_ripgrep:>8.0} |{:>10.2}{:>8.2}",
        rows.len(),
        count(&|row| row.ours.upto.is_some()),
        all,
        count(&|row| row.ours.cut_silently),
        count(&|row| row.ripgrep.upto.is_some()),
        ours / ripgrep.max(1.0),
        all / all_ripgrep.max(1.0),
    );
}
