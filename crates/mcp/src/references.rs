//! Who uses a name.

use anyhow::Result;
use navigate::{self, Reference, ReferenceFile, References};
use search::View;
use serde_json::{Value, json};

use super::answer::{Answer, Text, brief, count};
use super::file::{named_kind, qualified};
use super::name::{self, Name};

/// Most repositories that are named with their numbers of lines.
const NAMED: usize = 6;

pub(super) async fn references(view: &View, asked: &Name) -> Result<Answer> {
    let max = asked.max_bytes;
    let request = name::request(view, asked, asked.limit).await?;
    let found = navigate::references(view, &request).await?;
    let is_precise = !found.symbols.is_empty();
    let mut text = Text::of(max);
    let (mut files, mut cut) = (0, false);
    for file in &found.files {
        let gap = if text.is_empty() { "" } else { "\n" };
        let mut piece = format!("{gap}{}: {}\n", file.repo, file.path);
        let mut shown = 0;
        for line in &file.lines {
            let told = reference(line, name::basis(file.basis, is_precise));
            // The first file is cut rather than left out.
            if text.is_empty() && piece.len() + told.len() > text.room() {
                cut = true;
                break;
            }
            piece.push_str(&told);
            shown += 1;
        }
        if !text.add(&piece) {
            break;
        }
        text.note(file_json(file, shown));
        files += 1;
    }
    let lines = count(found.lines, "line", "lines");
    let what = format!("{lines} in {}", count(found.count, "file", "files"));
    let mut head = name::head(&what, (files, found.count, "files"), &found.stats, max);
    if cut {
        head += " The first file has more lines; use search for them.";
    }
    if found.count == 0 {
        head = format!("Nothing uses that name{} {head}", name::nearest(view, asked).await);
    }
    head += &by_repository(&found);
    Ok(text.below(&head, "files", "").about(name::about(&found.stats)))
}

/// Returns a line with the numbers of lines by repository; empty if there are not several.
pub(super) fn by_repository(found: &References) -> String {
    if found.repos.len() < 2 {
        return String::new();
    }
    let repos = found.repos.iter().take(NAMED).map(|(repo, lines)| format!("{repo} {lines}"));
    let more = found.repos.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("\nLines by repository: {}{more}", repos.collect::<Vec<_>>().join(", "))
}

fn reference(line: &Reference, basis: &str) -> String {
    let matched = line.ranges.first().map_or(0, |(range, _)| range.start);
    let around = line.enclosing.as_ref().map(|of| format!(" in {}", qualified(of)));
    let (text, around) = (brief(&line.text, matched), around.unwrap_or_default());
    format!("{}:{text}  [{basis}{}{around}]\n", line.line, line.label().word())
}

/// Returns a file with its first lines as JSON.
pub(super) fn file_json(file: &ReferenceFile, most: usize) -> Value {
    let lines: Vec<Value> = file.lines.iter().take(most).map(reference_json).collect();
    json!({ "repo": file.repo, "path": file.path, "lines": lines, "basis": file.basis.word() })
}

fn reference_json(line: &Reference) -> Value {
    let matched = line.ranges.first().map_or(0, |(range, _)| range.start);
    let text = brief(&line.text, matched);
    let mut told = json!({ "line": line.line, "text": text, "label": line.label().word() });
    if let Some(around) = &line.enclosing {
        told["in"] = json!(named_kind(around));
    }
    told
}
