//! Syntax highlighting: the classes of the style sheet for the tokens of a text.

use std::ops::Range;

use syntax::{Class, Lexer, Syntax};

/// Largest text that is highlighted, in bytes. Highlighting would double the page of a larger text.
pub(crate) const MAX_COLOURED: usize = 256 * 1024;

/// Longest line that is highlighted, in bytes.
const MAX_LINE: usize = 2000;

/// The grammar of a language.
#[derive(Clone, Copy)]
pub(crate) struct Grammar(&'static Syntax);

/// A range of a line and its class. The bytes between ranges have none.
pub(crate) type Coloured = (Range<usize>, &'static str);

impl Grammar {
    /// Returns the grammar for a file, by its language or its name.
    pub(crate) fn of(language: Option<&str>, path: &str) -> Option<Self> {
        let language = language.or_else(|| query::language_of(path, b""))?;
        Syntax::of(language).map(Self)
    }

    /// Highlights consecutive lines, given without their line feeds.
    pub(crate) fn colour<'t>(self, lines: impl Iterator<Item = &'t str>) -> Vec<Vec<Coloured>> {
        let mut lexer = Lexer::new(self.0);
        let coloured = lines.map(|line| {
            let tokens = lexer.line(line).into_iter().filter(|_| line.len() <= MAX_LINE);
            tokens.map(|(range, class)| (range, class_of(class))).collect()
        });
        coloured.collect()
    }
}

/// Returns the class of the style sheet.
fn class_of(class: Class) -> &'static str {
    match class {
        Class::Comment => "c",
        Class::String => "s",
        Class::Constant => "n",
        Class::Keyword => "k",
        Class::Function => "f",
        Class::Type => "t",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_classes() {
        let grammar = Grammar::of(Some("Go"), "").unwrap();
        let line = "func f() string { return \"x\" } // why";
        let long = format!("/* {}", "x".repeat(MAX_LINE));
        let lines = [line, &long, "*/ f()"];
        let colours = grammar.colour(lines.into_iter());
        let found: Vec<_> =
            colours[0].iter().map(|(at, class)| (&line[at.clone()], *class)).collect();
        for expected in
            [("func", "k"), ("f", "f"), ("return", "k"), ("\"x\"", "s"), ("// why", "c")]
        {
            assert!(found.contains(&expected), "{found:?}");
        }
        // A long line is plain, and its open tokens stay open.
        assert_eq!(colours[1..], [vec![], vec![(0..2, "c"), (3..4, "f")]]);
    }

    #[test]
    fn grammars_are_found_by_language_or_name() {
        for (language, path) in [
            (Some("Rust"), "x"),
            (Some("C++"), "x"),
            (Some("TypeScript"), "x"),
            (Some("Shell"), "x.sh"),
            (Some("TOML"), "x"),
            (None, "a/Makefile"),
            (None, "a/b.py"),
        ] {
            assert!(Grammar::of(language, path).is_some(), "{language:?} {path}");
        }
        assert!(Grammar::of(None, "a/LICENSE").is_none());
    }
}
