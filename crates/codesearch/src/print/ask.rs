//! Prints the answer to a question.

use std::io::{self, Write};

use answer::Line;
use answer::symbol::Symbol;
use search::ask::Asked;

use super::Paths;
use super::style::{COMMIT, Ink, MATCH, NUMBER, PATH, coloured};
use crate::cli::AskArgs;
use crate::console::Console;
use request::ask_answer::score;
use request::human::count;

/// Most characters printed of a line.
const MAX_CHARS: usize = 300;

/// Prints an answer for people: each file with its best lines, below the definitions around them.
pub(crate) fn print(
    out: &mut dyn Write,
    asked: &Asked,
    paths: &Paths,
    args: &AskArgs,
    console: &Console,
) -> io::Result<()> {
    // The names and texts of files must not control a terminal.
    let ink = Ink::new(coloured(args.color, console), true);
    for (at, one) in asked.files.iter().enumerate() {
        if at > 0 && args.lines > 0 {
            writeln!(out)?;
        }
        ink.styled(out, PATH, &paths.of_file(&one.file))?;
        let copies = one.file.copies.len();
        if copies > 0 {
            write!(out, " (and {})", count(copies, "identical copy"))?;
        }
        writeln!(out)?;
        if args.explain {
            writeln!(out, "score {}", score(one))?;
        }
        let mut last: Option<&Symbol> = None;
        for line in &one.file.lines {
            let around = line.enclosing.as_deref();
            if let Some(around) = around.filter(|_| around != last) {
                let container = around
                    .container
                    .as_ref()
                    .map_or_else(String::new, |(name, _)| format!("{name}."));
                let about = format!(
                    "in {container}{} ({}, line {})",
                    around.name, around.kind, around.line
                );
                ink.styled(out, COMMIT, &about)?;
                writeln!(out)?;
            }
            last = around;
            ink.styled(out, NUMBER, &line.number.to_string())?;
            out.write_all(b":")?;
            text(out, ink, line)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Prints the text of a line with its matches marked, from near the first one if it is long.
fn text(out: &mut dyn Write, ink: Ink, line: &Line) -> io::Result<()> {
    let text = line.text.as_str();
    let first = line.ranges.first().map_or(0, |range| range.start);
    let before = text[..first].char_indices().rev().take(MAX_CHARS / 4).last();
    let fits = text.chars().nth(MAX_CHARS).is_none();
    let mut from = if fits { 0 } else { before.map_or(first, |(at, _)| at) };
    let end = text[from..].char_indices().nth(MAX_CHARS).map_or(text.len(), |(at, _)| from + at);
    for range in line.ranges.iter().filter(|range| range.start < end) {
        ink.plain(out, &text[from..range.start])?;
        from = range.end.min(end);
        ink.styled(out, MATCH, &text[range.start..from])?;
    }
    ink.plain(out, &text[from..end])?;
    if end < text.len() { out.write_all(" …".as_bytes()) } else { Ok(()) }
}
