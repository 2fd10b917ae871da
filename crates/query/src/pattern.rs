//! A parsed regular expression, confined to single lines unless it spans them.
//!
//! The dialect is that of the `regex` crate. Matching is line by line, as in grep: no part of a pattern matches a line
//! feed, and `^`, `$`, `\A` and `\z` all match at the ends of a line. The syntax tree is rewritten once to ensure this.
//! Then the matcher can run over a whole text and never sees a match that crosses a line.
//!
//! A pattern spans lines if it names a line feed (`\n`), if it lets a dot match one (`(?s)`), or if the caller asks for
//! it. Then every part of it may match across lines, and `\A` and `\z` are the ends of the file.

use std::fmt;

use regex_syntax::ast::{self, Ast, ClassSet, ClassSetItem};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{
    self, Class, ClassBytes, ClassBytesRange, ClassUnicode, Hir, HirKind, Look,
};

use crate::error::QueryError;
use crate::glob::{glob, repository_glob};
use crate::smart_case;

/// Longest pattern, in bytes. It still parses and plans in milliseconds, and nobody types a longer one.
pub const MAX_PATTERN_BYTES: usize = 8 * 1024;

/// How deeply groups and repetitions may nest. This bounds the recursion over the tree.
const MAX_NESTING: u32 = 100;

/// Whether the case of letters matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Without regard to case, unless the pattern contains a capital letter.
    #[default]
    Smart,
    /// Exactly as typed.
    Sensitive,
    /// Without regard to case.
    Insensitive,
}

/// A parsed pattern.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the pattern")]
pub struct Pattern {
    source: String,
    hir: Hir,
    caseless: bool,
    spans_lines: bool,
    /// Whether no part of it matches a carriage return.
    is_crlf: bool,
    reads_like_text: bool,
}

impl Pattern {
    /// Parses `source` in the dialect of the `regex` crate. With `multiline` any pattern may match across lines.
    ///
    /// # Errors
    /// A syntax error, or a pattern that exceeds the bounds on length and nesting.
    pub fn parse(source: &str, case: Case, multiline: bool) -> Result<Self, QueryError> {
        let fail = |position: usize, message: String| QueryError::new(source, position, message);
        if source.len() > MAX_PATTERN_BYTES {
            let message =
                format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes; use a shorter one");
            return Err(fail(MAX_PATTERN_BYTES, message));
        }
        let tree = ast::parse::ParserBuilder::new()
            .nest_limit(MAX_NESTING)
            .build()
            .parse(source)
            .map_err(|e| fail(e.span().start.offset, advice(e.kind())))?;
        let caseless = match case {
            Case::Sensitive => false,
            Case::Insensitive => true,
            Case::Smart => smart_case::is_caseless(&tree),
        };
        let hir = TranslatorBuilder::new()
            .utf8(true)
            .multi_line(true)
            .case_insensitive(caseless)
            .build()
            .translate(source, &tree)
            .map_err(|e| fail(e.span().start.offset, e.kind().to_string()))?;
        // A pattern that cannot match a line feed matches the same with and without confinement.
        let spans_lines = (multiline || asks_for_lines(&tree)) && sees_lines(&hir);
        let hir = if spans_lines { hir } else { confine(hir, &['\n']) };
        let (source, reads_like_text) = (source.to_owned(), reads_like_text(&tree));
        Ok(Self { source, hir, caseless, spans_lines, is_crlf: false, reads_like_text })
    }

    /// Parses a path pattern: a regular expression, or a glob if it can only be meant as one (`*.go`).
    ///
    /// # Errors
    /// The same as [`Pattern::parse`].
    pub fn of_path(source: &str, case: Case) -> Result<Self, QueryError> {
        Self::of_glob(glob(source), source, case)
    }

    /// Parses a pattern for names of repositories: a regular expression, or a glob if it can only be meant as one.
    ///
    /// # Errors
    /// The same as [`Pattern::parse`].
    pub fn of_repository(source: &str, case: Case) -> Result<Self, QueryError> {
        Self::of_glob(repository_glob(source), source, case)
    }

    fn of_glob(translated: Option<String>, source: &str, case: Case) -> Result<Self, QueryError> {
        match translated {
            // The error's position is one in the translated expression, not in the glob.
            Some(regex) => Self::parse(&regex, case, false)
                .map_err(|error| QueryError::new(source, 0, error.message)),
            None => Self::parse(source, case, false),
        }
    }

    /// Parses a pattern for names of symbols. It never matches across lines: there is one name on each line.
    ///
    /// # Errors
    /// The same as [`Pattern::parse`].
    pub(crate) fn of_name(source: &str, case: Case) -> Result<Self, QueryError> {
        let parsed = Self::parse(source, case, false)?;
        let hir = if parsed.spans_lines { confine(parsed.hir, &['\n']) } else { parsed.hir };
        Ok(Self { hir, spans_lines: false, ..parsed })
    }

    /// Returns the pattern for lines that end in a carriage return and a line feed. The flag `R` must tell `^` and `$`
    /// already. Unless the pattern spans lines, no part of it matches a carriage return.
    ///
    /// # Errors
    /// The pattern matches only carriage returns.
    pub fn without_carriage_returns(self) -> Result<Self, QueryError> {
        if self.spans_lines {
            return Ok(self);
        }
        let hir = confine(self.hir.clone(), &['\n', '\r']);
        if hir.properties().minimum_len().is_none() {
            let message = "it matches only a carriage return, which is part of the line end";
            return Err(self.error(message));
        }
        Ok(Self { hir, is_crlf: true, ..self })
    }

    /// Returns the printed form of the pattern, with another text as its source.
    pub(crate) fn named(&self, source: &str) -> String {
        let letters = source.contains(char::is_alphabetic);
        format!("/{source}/{}", if self.caseless && letters { "i" } else { "" })
    }

    /// Returns the pattern that matches exactly `text`.
    ///
    /// # Errors
    /// The text is longer than a pattern may be.
    pub fn literal(text: &str, case: Case) -> Result<Self, QueryError> {
        Self::parse(&regex_syntax::escape(text), case, false)
    }

    /// Returns the pattern as typed.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether another pattern has the same source and matches in the same way.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.source, self.caseless, self.spans_lines, self.is_crlf)
            == (&other.source, other.caseless, other.spans_lines, other.is_crlf)
    }

    /// Returns whether a match may cross lines.
    pub fn spans_lines(&self) -> bool {
        self.spans_lines
    }

    /// Returns whether the pattern matches letters of either case.
    pub fn is_caseless(&self) -> bool {
        self.caseless
    }

    /// Returns whether it requires the end of a line, and accepts only a line feed as such. Then lines that end in a
    /// carriage return and a line feed may fail to match.
    pub fn ends_at_line_feed(&self) -> bool {
        let looks = self.hir.properties().look_set();
        looks.contains(Look::EndLF) || looks.contains(Look::End)
    }

    /// Returns whether it is a valid expression that was probably meant as literal text: `c++`, `main()`.
    pub fn reads_like_text(&self) -> bool {
        self.reads_like_text
    }

    /// Returns the syntax tree, confined to single lines unless the pattern spans them.
    pub(crate) fn hir(&self) -> &Hir {
        &self.hir
    }

    /// Returns the part between the ends of a line, if the pattern begins and ends with these and so matches whole
    /// lines.
    pub(crate) fn whole_line(&self) -> Option<Hir> {
        let begins = |hir: &Hir| matches!(hir.kind(), HirKind::Look(Look::Start | Look::StartLF));
        let ends = |hir: &Hir| matches!(hir.kind(), HirKind::Look(Look::End | Look::EndLF));
        match self.hir.kind() {
            HirKind::Concat(parts) => match &parts[..] {
                [first, inside @ .., last] if begins(first) && ends(last) => {
                    Some(Hir::concat(inside.to_vec()))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes an error about the pattern as a whole.
    pub(crate) fn error(&self, message: impl Into<String>) -> QueryError {
        QueryError::new(&self.source, 0, message)
    }
}

/// Prints as `/source/`, followed by `i` if it matches either case, and by `m` if it spans lines.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source)?;
        let letters = self.source.contains(char::is_alphabetic);
        f.write_str(if self.caseless && letters { "i" } else { "" })?;
        f.write_str(if self.spans_lines { "m" } else { "" })
    }
}

/// Returns the message of a syntax error, with advice for the most common ones.
fn advice(error: &ast::ErrorKind) -> String {
    let advice = match error {
        ast::ErrorKind::GroupUnclosed => "write \\( for the character",
        ast::ErrorKind::GroupUnopened => "write \\) for the character",
        ast::ErrorKind::ClassUnclosed => "write \\[ for the character",
        ast::ErrorKind::RepetitionMissing => {
            "write \\*, \\+, \\? or \\{ for the character, and .* for a glob's *"
        }
        ast::ErrorKind::RepetitionCountUnclosed
        | ast::ErrorKind::RepetitionCountInvalid
        | ast::ErrorKind::RepetitionCountDecimalEmpty => "write \\{ for the character",
        ast::ErrorKind::UnsupportedLookAround => {
            "combine terms instead: foo -bar finds files with foo and without bar"
        }
        ast::ErrorKind::EscapeUnexpectedEof => {
            "write \\\\ for the backslash itself, in quotes \\\\\\\\"
        }
        ast::ErrorKind::EscapeUnrecognized => "write \\\\ for the backslash itself",
        _ => return error.to_string(),
    };
    format!("{error}: {advice}")
}

/// Returns whether a pattern contains a line feed that it can match, or lets a dot match one.
fn asks_for_lines(tree: &Ast) -> bool {
    let dots = |flags: &ast::Flags| flags.flag_state(ast::Flag::DotMatchesNewLine) == Some(true);
    match tree {
        Ast::Literal(literal) => literal.c == '\n',
        Ast::Flags(set) => dots(&set.flags),
        Ast::ClassBracketed(class) => !class.negated && names_line_feed(&class.kind),
        Ast::Repetition(repetition) => asks_for_lines(&repetition.ast),
        Ast::Group(group) => group.flags().is_some_and(dots) || asks_for_lines(&group.ast),
        Ast::Alternation(parts) => parts.asts.iter().any(asks_for_lines),
        Ast::Concat(parts) => parts.asts.iter().any(asks_for_lines),
        _ => false,
    }
}

fn names_line_feed(set: &ClassSet) -> bool {
    fn names(item: &ClassSetItem) -> bool {
        match item {
            ClassSetItem::Literal(literal) => literal.c == '\n',
            ClassSetItem::Bracketed(class) => !class.negated && names_line_feed(&class.kind),
            ClassSetItem::Union(union) => union.items.iter().any(names),
            _ => false,
        }
    }
    match set {
        ClassSet::Item(item) => names(item),
        ClassSet::BinaryOp(operation) => names_line_feed(&operation.lhs),
    }
}

/// Returns whether a repetition is repeated (`c++`), or a group is empty (`main()`).
fn reads_like_text(tree: &Ast) -> bool {
    match tree {
        Ast::Repetition(repetition) => {
            let signs = !matches!(repetition.op.kind, ast::RepetitionKind::Range(_));
            signs && matches!(*repetition.ast, Ast::Repetition(_))
                || reads_like_text(&repetition.ast)
        }
        Ast::Group(group) => {
            let captures = matches!(group.kind, ast::GroupKind::CaptureIndex(_));
            captures && matches!(*group.ast, Ast::Empty(_)) || reads_like_text(&group.ast)
        }
        Ast::Alternation(parts) => parts.asts.iter().any(reads_like_text),
        Ast::Concat(parts) => parts.asts.iter().any(reads_like_text),
        _ => false,
    }
}

/// Returns whether the pattern can tell a line from a whole text: it can match a line feed, or has `\A` or `\z`.
fn sees_lines(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty => false,
        HirKind::Literal(hir::Literal(bytes)) => bytes.contains(&b'\n'),
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().any(|r| r.start() <= '\n' && '\n' <= r.end())
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().iter().any(|r| r.start() <= b'\n' && b'\n' <= r.end())
        }
        HirKind::Look(look) => matches!(look, Look::Start | Look::End),
        HirKind::Repetition(repetition) => sees_lines(&repetition.sub),
        HirKind::Capture(capture) => sees_lines(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(sees_lines),
    }
}

/// Rewrites a tree so that it matches none of these ASCII characters, and the ends of the text become the ends of a
/// line.
fn confine(hir: Hir, not: &[char]) -> Hir {
    let all = |parts: Vec<Hir>| parts.into_iter().map(|part| confine(part, not)).collect();
    match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        // A literal line feed comes from a class such as `[\s&&\n]`; a plain `\n` makes a pattern span lines.
        HirKind::Literal(hir::Literal(bytes))
            if not.iter().any(|c| bytes.contains(&(*c as u8))) =>
        {
            Hir::fail()
        }
        HirKind::Literal(hir::Literal(bytes)) => Hir::literal(bytes),
        HirKind::Class(Class::Unicode(mut class)) => {
            class.difference(&ClassUnicode::new(
                not.iter().map(|c| hir::ClassUnicodeRange::new(*c, *c)),
            ));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            let bytes = not.iter().map(|c| *c as u8);
            class.difference(&ClassBytes::new(bytes.map(|c| ClassBytesRange::new(c, c))));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Look(Look::Start) => Hir::look(Look::StartLF),
        HirKind::Look(Look::End) => Hir::look(Look::EndLF),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(confine(*repetition.sub, not));
            Hir::repetition(hir::Repetition { sub, ..repetition })
        }
        // Captures are not used, and the engine is faster without them.
        HirKind::Capture(capture) => confine(*capture.sub, not),
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_error(pattern: &str, expected: &str) {
        let error = Pattern::parse(pattern, Case::Smart, false).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_error_points_at_its_character() {
        check_error(
            "foo(bar",
            "unclosed group: write \\( for the character (at character 4)\n    foo(bar\n       ^",
        );
        check_error(
            "é[z-a]",
            "invalid character class range, the start must be <= the end (at character 3)\n    é[z-a]\n      ^",
        );
    }

    #[test]
    fn what_nobody_writes_as_an_expression_reads_like_text() {
        for (pattern, expected) in [
            ("c++", true),
            ("x++;", true),
            ("main()", true),
            ("(a|b())", true),
            ("a+?", false),
            ("(a+)+", false),
            ("a{2}{3}", false),
            ("(?:)", false),
            ("[()]", false),
            (r"\(\)", false),
        ] {
            let parsed = Pattern::parse(pattern, Case::Smart, false).unwrap();
            assert_eq!(parsed.reads_like_text(), expected, "{pattern}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_refused() {
        assert!(Pattern::parse(r"(?-u:\xFF)", Case::Smart, false).is_err());
    }

    #[test]
    fn length_and_nesting_are_bounded() {
        let long = "é".repeat(MAX_PATTERN_BYTES);
        let error = Pattern::parse(&long, Case::Smart, false).unwrap_err();
        assert!(error.message.contains("longer than 8192"));
        let deep = format!("{}a{}", "(".repeat(5000), ")".repeat(5000));
        assert!(Pattern::parse(&deep, Case::Smart, false).is_err());
    }

    #[test]
    fn a_pattern_spans_lines_if_it_asks_to() {
        let check = |pattern: &str, multiline: bool, expected: bool| {
            let pattern = Pattern::parse(pattern, Case::Smart, multiline).unwrap();
            assert_eq!(pattern.spans_lines(), expected, "{pattern}");
        };
        for spans in
            [r"a\nb", "(?s)a.b", "(?s:.)", r"[a\n]", r"\x0A", "a\nb", r"(x|\n)+", r"[[\n]--a]"]
        {
            check(spans, false, true);
        }
        for lines in [r"a\s+b", "[^a]", r"[^\n]", "(?s)ab", "(?-s).", "a.b", r"\Aa\z", r"\\n"] {
            check(lines, false, false);
        }
        for spans in [r"a\s+b", "[^a]", r"\Aa", r"\W"] {
            check(spans, true, true);
        }
        for lines in ["ab", "a.b", "^a$", r"\w+"] {
            check(lines, true, false);
        }
    }
}
