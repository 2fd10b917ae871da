//! Symbols: definitions in a blob, as results of searches and outlines show them.

use std::ops::Range;

use pulldown_cmark::{Event, Parser};
use query::{SymbolKind, SymbolKinds};
use store::SymbolRow;

/// A definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The defined name.
    pub name: String,
    /// Its kind, as in `kind:`.
    pub kind: &'static str,
    /// The name and kind of the symbol around it.
    pub container: Option<(String, &'static str)>,
    /// The line of the name, from 1.
    pub line: u64,
    /// Where the name begins in the text, in bytes.
    pub start: u64,
    /// Where the definition ends, in bytes.
    pub end: u64,
}

impl Symbol {
    /// Returns the symbol for display: without Markdown's marks in names of headings.
    #[must_use]
    pub fn shown(mut self) -> Self {
        let heading = SymbolKind::Heading.word();
        if self.kind == heading {
            self.name = unmarked(self.name);
        }
        self.container = self
            .container
            .map(|(name, kind)| (if kind == heading { unmarked(name) } else { name }, kind));
        self
    }
}

/// Returns the text of a heading without backticks, stars, and the addresses of links.
fn unmarked(heading: String) -> String {
    if !heading.contains(['`', '*', '_', '[', '<', '&', '\\']) {
        return heading;
    }
    let mut text = String::new();
    for event in Parser::new(&format!("# {heading}")) {
        if let Event::Text(piece) | Event::Code(piece) = event {
            text.push_str(&piece);
        }
    }
    // Headings of only an image or a comment are shown as they are.
    if text.trim().is_empty() { heading } else { text }
}

/// A symbol whose name is a match in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSymbol {
    /// The name, as a byte range of the line.
    pub range: Range<usize>,
    /// The symbol.
    pub symbol: Symbol,
}

/// The word for a kind that a newer program wrote.
const OTHER: &str = "symbol";

/// Returns the word for the kind with a byte.
fn word(byte: u8) -> &'static str {
    SymbolKind::from_byte(byte).map_or(OTHER, SymbolKind::word)
}

/// Reads the symbols of a row by index.
pub struct Symbols<'r> {
    row: &'r SymbolRow,
    names: Vec<&'r str>,
}

impl<'r> Symbols<'r> {
    /// Reads a row, and finds the names in it.
    pub fn of(row: &'r SymbolRow) -> Self {
        Self { row, names: row.names().collect() }
    }

    /// Returns the name of a symbol.
    pub fn name(&self, at: usize) -> &'r str {
        self.names.get(at).copied().unwrap_or_default()
    }

    /// Returns the index of the symbol around another one.
    pub fn container(&self, at: usize) -> Option<usize> {
        // A container begins before its contents; checking that avoids cycles in a damaged row.
        let parent = usize::try_from(*self.row.parents.get(at)?).ok()?;
        (parent < self.names.len() && parent != at).then_some(parent)
    }

    /// Returns the kind of a symbol; `None` if a newer program wrote it.
    pub fn kind(&self, at: usize) -> Option<SymbolKind> {
        self.row.kinds.get(at).copied().and_then(SymbolKind::from_byte)
    }

    /// Returns a symbol.
    pub fn get(&self, at: usize) -> Symbol {
        let row = self.row;
        let kind = |at: usize| word(row.kinds.get(at).copied().unwrap_or(u8::MAX));
        let number = |numbers: &[i32]| numbers.get(at).map_or(0, |n| u64::from(n.unsigned_abs()));
        Symbol {
            name: self.name(at).to_owned(),
            kind: kind(at),
            container: self.container(at).map(|of| (self.name(of).to_owned(), kind(of))),
            line: number(&row.lines),
            start: number(&row.starts),
            end: number(&row.ends),
        }
    }

    /// Returns the indexes of the package clauses in the text, ascending.
    pub fn packages(&self) -> Vec<usize> {
        let is_package = |at: &usize| self.row.kinds.get(*at) == Some(&SymbolKind::Package.byte());
        (0..self.len()).filter(is_package).collect()
    }

    /// Returns whether a symbol is a definition, not only a container of members.
    pub fn defines(&self, at: usize) -> bool {
        let kind = self.row.kinds.get(at).copied().unwrap_or(u8::MAX);
        SymbolKinds::DEFINITIONS.has(kind)
    }

    /// Returns whether the name of a symbol qualifies that of a symbol which it contains: `a` of `namespace a::b`.
    pub fn goes_on(&self, at: usize, within: usize, text: &str) -> bool {
        let is_part = matches!(
            self.kind(at),
            Some(
                SymbolKind::Implementation
                    | SymbolKind::Module
                    | SymbolKind::Namespace
                    | SymbolKind::Package
            )
        );
        let start = |at: usize| self.row.starts.get(at).map_or(0, |start| *start as usize);
        let between = text.get(start(at) + self.name(at).len()..start(within)).unwrap_or_default();
        is_part
            && !between.contains(['\n', '{', '(', ' '])
            && ["::", ".", "\\"].iter().any(|separator| between.ends_with(separator))
    }

    /// Returns the number of symbols.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the index of the innermost symbol whose definition contains a byte of the text.
    pub fn enclosing(&self, byte: u64) -> Option<usize> {
        let row = self.row;
        let starts_before = row.starts.partition_point(|start| (*start as u64) <= byte);
        (0..starts_before).rev().find(|at| byte < row.ends[*at] as u64)
    }
}

#[cfg(test)]
mod tests {
    use store::BlobId;

    use super::*;

    #[test]
    fn headings_are_shown_as_they_are_read() {
        for (marked, read) in [
            ("Plain, 2 < 3", "Plain, 2 < 3"),
            ("The `open` call", "The open call"),
            ("`Buffer.Write` and *more* of __it__", "Buffer.Write and more of it"),
            ("[Guide](https://example.org/a_b) to snake_case", "Guide to snake_case"),
            ("a \\* b &amp; c", "a * b & c"),
            ("![](x.png)", "![](x.png)"),
        ] {
            let (kind, parent) = (SymbolKind::Heading.word(), Some((marked.to_owned(), "heading")));
            let name = marked.to_owned();
            let symbol = Symbol { name, kind, container: parent, line: 1, start: 0, end: 9 };
            let shown = symbol.clone().shown();
            assert_eq!(shown.name, read);
            assert_eq!(shown.container.unwrap().0, read);
            // Names in code have no marks.
            let (kind, container) = ("function", Some((marked.to_owned(), "class")));
            let code = Symbol { kind, container, ..symbol };
            assert_eq!(code.clone().shown(), code);
        }
    }

    #[test]
    fn the_innermost_definition_encloses_a_byte() {
        let row = SymbolRow {
            blob: BlobId(1),
            names: "A\nb\nc\nd".to_owned(),
            kinds: vec![0, 9, 200, 8],
            starts: vec![0, 10, 20, 60],
            ends: vec![50, 15, 40, 70],
            lines: vec![1, 2, 3, 9],
            parents: vec![-1, 0, 0, -1],
        };
        let symbols = Symbols::of(&row);
        let at = |byte| symbols.enclosing(byte).map(|at| symbols.name(at));
        let found = [0, 9, 10, 14, 15, 39, 40, 49, 50, 69, 70].map(at);
        let (a, b, c, d) = (Some("A"), Some("b"), Some("c"), Some("d"));
        assert_eq!(found, [a, a, b, b, a, c, a, a, None, d, None]);
        let of = symbols.get(2);
        assert_eq!((&*of.name, of.kind, of.line), ("c", "symbol", 3));
        assert_eq!(of.container, Some(("A".to_owned(), "class")));
    }
}
