//! The outline beside the text of a file, from its symbols or its headings.

use browse::FileText;
use navigate::{Outline, OutlineSymbol};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use request::notes::outline_note;

/// Most entries shown; the page of the outline has all of them.
const MAX_ENTRIES: usize = 2000;

/// The outline of a file beside its text.
#[derive(Default)]
pub(super) struct Pane {
    pub(super) entries: Vec<Entry>,
    /// Number of entries that are not shown.
    pub(super) more: usize,
    /// Why there are no entries, or not all.
    pub(super) note: String,
}

/// A symbol or a heading.
pub(super) struct Entry {
    /// From 1 to 6.
    pub(super) level: usize,
    pub(super) name: String,
    /// `method`; empty for headings.
    pub(super) kind: &'static str,
    /// The lines in which it begins and ends, from 1.
    pub(super) line: u64,
    pub(super) last_line: u64,
}

/// Returns the outline of a file: its symbols, or the headings of a Markdown document.
pub(super) fn pane(document: &FileText, outline: Option<Outline>) -> Pane {
    let mut pane = Pane::default();
    if document.language.as_deref() == Some("Markdown") {
        pane.entries = headings(&document.text);
    } else if let Some(outline) = outline {
        pane.note = outline_note(&outline);
        let entry = |one: OutlineSymbol| Entry {
            level: one.depth.min(5) + 1,
            name: one.symbol.name,
            kind: one.symbol.kind,
            line: one.symbol.line,
            last_line: one.last_line,
        };
        pane.entries = outline.symbols.into_iter().map(entry).collect();
    }
    pane.more = pane.entries.len().saturating_sub(MAX_ENTRIES);
    pane.entries.truncate(MAX_ENTRIES);
    pane
}

/// Returns the names of the headings of a Markdown text, and their lines.
pub(in crate::pages) fn names_of_headings(text: &str) -> Vec<(String, u64)> {
    headings(text).into_iter().map(|entry| (entry.name, entry.line)).collect()
}

/// Returns the headings of a Markdown text, each with its lines up to the next heading that is not below it.
fn headings(text: &str) -> Vec<Entry> {
    let mut headings: Vec<Entry> = Vec::new();
    let mut open = false;
    // The start and the number of the last counted line.
    let (mut counted, mut line) = (0, 1);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                line += text[counted..range.start].matches('\n').count() as u64;
                counted = range.start;
                let level = level as usize;
                headings.push(Entry {
                    level,
                    name: String::new(),
                    kind: "",
                    line,
                    last_line: line,
                });
                open = true;
            }
            Event::End(TagEnd::Heading(_)) => open = false,
            Event::Text(piece) | Event::Code(piece) if open => {
                if let Some(heading) = headings.last_mut() {
                    heading.name.push_str(&piece);
                }
            }
            _ => {}
        }
    }
    headings.retain(|heading| !heading.name.trim().is_empty());
    // For each level, the line of the next heading that ends a section; filled from the last heading on.
    let mut next = [text.lines().count() as u64 + 1; 7];
    for heading in headings.iter_mut().rev() {
        heading.last_line = (next[heading.level] - 1).max(heading.line);
        next[heading.level..].fill(heading.line);
    }
    headings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_lines_in_which_they_begin_and_end() {
        let text = "# One `x`\n\ntext\n```\n# none\n```\n\nTwo\n---\n### Three\n#\n\n# Four\nend\n";
        let told: Vec<String> = headings(text)
            .into_iter()
            .map(|Entry { level, name, line, last_line, .. }| {
                format!("{level} {line}-{last_line} {name}")
            })
            .collect();
        assert_eq!(told, ["1 1-12 One x", "2 8-12 Two", "3 10-12 Three", "1 13-14 Four"]);
    }
}
