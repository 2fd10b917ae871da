//! A regular expression as typed, parsed and confined to single lines.
//!
//! The dialect is that of the `regex` crate. Matching is line by line, as grep does: no part of a
//! pattern can match a line feed, and `^`, `$`, `\A` and `\z` all hold at the ends of a line. This
//! is done once, on the syntax tree, so that the matcher can run over a whole text at once and
//! still never see a match that crosses a line.

use std::fmt;

use regex_syntax::ast;
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{
    self, Class, ClassBytes, ClassBytesRange, ClassUnicode, Hir, HirKind, Look,
};

use crate::fold;

/// Longest pattern accepted, in bytes. A pattern of this length still parses and plans in
/// milliseconds; anything longer is not something a person typed.
const MAX_PATTERN_BYTES: usize = 8 * 1024;

/// How deeply groups and repetitions may nest; it bounds the stack that walking the tree takes.
const MAX_NESTING: u32 = 100;

/// What a capital and a small letter have to do with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Without regard to case, unless the pattern holds a capital letter.
    #[default]
    Smart,
    /// Exactly as typed.
    Sensitive,
    /// Without regard to case.
    Insensitive,
}

/// A parsed pattern, confined to single lines.
#[derive(Clone, Debug)]
pub struct Pattern {
    source: String,
    hir: Hir,
}

/// Why a text is not a pattern, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The byte of the pattern at which it is wrong.
    pub position: usize,
    source: String,
}

impl Pattern {
    /// Parses `source` in the dialect of the `regex` crate.
    ///
    /// # Errors
    /// A syntax error, a pattern that asks for a line feed, or one beyond the bounds on length and
    /// nesting.
    pub fn parse(source: &str, case: Case) -> Result<Self, PatternError> {
        let fail = |message: String, position: usize| PatternError {
            message,
            position,
            source: source.to_owned(),
        };
        if source.len() > MAX_PATTERN_BYTES {
            let message = format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes");
            return Err(fail(message, floor_char_boundary(source, MAX_PATTERN_BYTES)));
        }
        let tree = ast::parse::ParserBuilder::new()
            .nest_limit(MAX_NESTING)
            .build()
            .parse(source)
            .map_err(|e| fail(e.kind().to_string(), e.span().start.offset))?;
        let caseless = match case {
            Case::Sensitive => false,
            Case::Insensitive => true,
            Case::Smart => fold::is_caseless(&tree),
        };
        let hir = TranslatorBuilder::new()
            .utf8(true)
            .multi_line(true)
            .case_insensitive(caseless)
            .build()
            .translate(source, &tree)
            .map_err(|e| fail(e.kind().to_string(), e.span().start.offset))?;
        let hir = confine(hir).map_err(|LineFeed| {
            let position = source.find("\\n").or_else(|| source.find('\n')).unwrap_or(0);
            let message = "a line feed can never match, because patterns are matched line by line";
            fail(message.to_owned(), position)
        })?;
        Ok(Self { source: source.to_owned(), hir })
    }

    /// The pattern as it was typed.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The syntax tree, confined to single lines.
    pub(crate) fn hir(&self) -> &Hir {
        &self.hir
    }

    /// An error about this pattern as a whole.
    pub(crate) fn error(&self, message: String) -> PatternError {
        PatternError { message, position: 0, source: self.source.clone() }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.source[..self.position].chars().count();
        write!(f, "{} (at character {})", self.message, column + 1)?;
        if self.source.len() <= MAX_SHOWN_BYTES && !self.source.contains('\n') {
            write!(f, "\n    {}\n    {}^", self.source, " ".repeat(column))?;
        }
        Ok(())
    }
}

impl std::error::Error for PatternError {}

/// Longest pattern repeated under an error with a caret below it: about one terminal line.
const MAX_SHOWN_BYTES: usize = 120;

/// The pattern names a line feed.
struct LineFeed;

/// Rewrites a tree so that nothing in it can match a line feed, and the ends of the text are the
/// ends of a line.
fn confine(hir: Hir) -> Result<Hir, LineFeed> {
    Ok(match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(hir::Literal(bytes)) if bytes.contains(&b'\n') => return Err(LineFeed),
        HirKind::Literal(hir::Literal(bytes)) => Hir::literal(bytes),
        HirKind::Class(Class::Unicode(mut class)) => {
            class.difference(&ClassUnicode::new([hir::ClassUnicodeRange::new('\n', '\n')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Look(Look::Start) => Hir::look(Look::StartLF),
        HirKind::Look(Look::End) => Hir::look(Look::EndLF),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(confine(*repetition.sub)?);
            Hir::repetition(hir::Repetition { sub, ..repetition })
        }
        // Groups are not asked for, and the engine is faster without them.
        HirKind::Capture(capture) => confine(*capture.sub)?,
        HirKind::Concat(parts) => {
            Hir::concat(parts.into_iter().map(confine).collect::<Result<_, _>>()?)
        }
        HirKind::Alternation(parts) => {
            Hir::alternation(parts.into_iter().map(confine).collect::<Result<_, _>>()?)
        }
    })
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_error(pattern: &str, expected: &str) {
        let error = Pattern::parse(pattern, Case::Smart).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_error_points_at_its_character() {
        check_error("foo(bar", "unclosed group (at character 4)\n    foo(bar\n       ^");
        check_error(
            "é[z-a]",
            "invalid character class range, the start must be <= the end (at character 3)\n    é[z-a]\n      ^",
        );
        check_error(
            "a\\nb",
            "a line feed can never match, because patterns are matched line by line (at character 2)\n    a\\nb\n     ^",
        );
    }

    #[test]
    fn bytes_that_are_not_text_are_refused() {
        assert!(Pattern::parse(r"(?-u:\xFF)", Case::Smart).is_err());
    }

    #[test]
    fn length_and_nesting_are_bounded() {
        let long = "é".repeat(MAX_PATTERN_BYTES);
        assert!(
            Pattern::parse(&long, Case::Smart).unwrap_err().message.contains("longer than 8192")
        );
        let deep = format!("{}a{}", "(".repeat(5000), ")".repeat(5000));
        assert!(Pattern::parse(&deep, Case::Smart).is_err());
    }
}
