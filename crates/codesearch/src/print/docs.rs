//! Prints the results of a search for documents.

use std::io::{self, Write};

use search::docs::{Docs, TextRun};

use super::Paths;
use super::style::{MATCH, PATH, coloured};
use crate::cli::Color;
use crate::console::Console;
use crate::terminal::escape_controls;

/// Prints an answer for people: path, title and snippet of each result.
pub(crate) fn print(
    out: &mut dyn Write,
    found: &Docs,
    paths: &Paths,
    color: Color,
    console: &Console,
) -> io::Result<()> {
    let color = coloured(color, console);
    let marked = |pieces: &[TextRun]| -> String {
        let one = |piece: &TextRun| {
            // Control characters in a text must not reach the terminal.
            let text: String = piece.text.chars().filter(|c| !c.is_control()).collect();
            if piece.hit && color { format!("{MATCH}{text}{MATCH:#}") } else { text }
        };
        pieces.iter().map(one).collect()
    };
    for (at, doc) in found.docs.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let path = paths.joined(&doc.repo, &doc.path);
        let path = escape_controls(&path).into_owned();
        let path = if color { format!("{PATH}{path}{PATH:#}") } else { path };
        let same = match doc.same {
            0 => String::new(),
            same => format!(" (and {same} more with the same contents)"),
        };
        writeln!(out, "{path}{same}")?;
        writeln!(out, "  {}", marked(&doc.title))?;
        if !doc.snippet.is_empty() {
            writeln!(out, "    {}", marked(&doc.snippet))?;
        }
    }
    Ok(())
}
