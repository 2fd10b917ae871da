//! The fields of a query as typed, for callers that show them, remove one, or translate them for another search.

use std::ops::Range;

use crate::field;
use crate::lex::{Lexer, Token};

/// A field of a query as typed: `-file:"a b"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedField {
    /// The field's canonical name: `repo`, `file`, `lang`, ...
    pub name: &'static str,
    /// Whether a minus or a `not` precedes it.
    pub negated: bool,
    /// The value, without quotes and without a revision.
    pub value: String,
    /// The revisions of a repository, if it has any: those after the `@` of `repo:x@main`.
    pub revision: Option<String>,
    /// Its byte range in the query, minus included.
    pub range: Range<usize>,
}

/// Returns the fields of a query outside parentheses, in order; none if the query cannot be parsed.
pub fn typed_fields(text: &str) -> Vec<TypedField> {
    let mut lexer = Lexer::new(text);
    let mut fields = Vec::new();
    let (mut depth, mut negated) = (0_usize, None);
    loop {
        let (at, token) = match lexer.next() {
            Ok(Some(next)) => next,
            Ok(None) => return fields,
            Err(_) => return Vec::new(),
        };
        let minus = negated.take();
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            Token::Or | Token::And => {}
            // Two negations cancel out.
            Token::Not => negated = if minus.is_some() { None } else { Some(at) },
            Token::Word(word) => {
                if let Some(name) = word.field.map(field::name).filter(|_| depth == 0) {
                    let (negated, mut value) = (minus.is_some(), word.text);
                    let revision = word.revision.map(|at| value.split_off(at)[1..].to_owned());
                    let range = minus.unwrap_or(at)..lexer.position();
                    fields.push(TypedField { name, negated, value, revision, range });
                }
            }
        }
    }
}

/// An operator of a query that was probably meant as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorInText {
    /// `file not found`.
    Not,
    /// Parentheses that change nothing: `if (x == NULL)`.
    Group,
}

/// Returns the first operator of a query that was probably meant as text. Returns `None` if the query has a field.
pub fn operator_in_text(text: &str) -> Option<OperatorInText> {
    /// The content of parentheses.
    #[derive(Default)]
    struct Group {
        negated: bool,
        words: usize,
        alternatives: bool,
    }
    let mut lexer = Lexer::new(text);
    let (mut found, mut open) = (None, Vec::new());
    let (mut after_word, mut after_not) = (false, false);
    while let Ok(Some((at, token))) = lexer.next() {
        let negated = std::mem::take(&mut after_not);
        let followed = std::mem::take(&mut after_word);
        match token {
            Token::Open => open.push(Group { negated, ..Group::default() }),
            Token::Close => {
                let group = open
                    .pop()
                    .filter(|group| group.words > 0 && !group.alternatives && !group.negated);
                found = found.or(group.map(|_| OperatorInText::Group));
            }
            Token::Or => {
                if let Some(group) = open.last_mut() {
                    group.alternatives = true;
                }
            }
            Token::And => {}
            Token::Not => {
                after_not = true;
                if followed && text[at..].starts_with("not") {
                    found = found.or(Some(OperatorInText::Not));
                }
            }
            Token::Word(word) => {
                if word.field.is_some() {
                    return None;
                }
                after_word = true;
                if let Some(group) = open.last_mut() {
                    group.words += 1;
                }
            }
        }
    }
    found
}

/// Returns whether a query has only words: no field, operator, quote or sign of a regular expression. Signs after a word, as
/// at the end of a sentence, do not count.
pub fn is_only_words(text: &str) -> bool {
    let mut lexer = Lexer::new(text);
    let mut has_any = false;
    loop {
        match lexer.next() {
            Ok(Some((_, Token::Word(word)))) if word.field.is_none() => {
                let typed = text[word.range].trim_end_matches(['?', '!', '.', ',', ':', ';']);
                let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'');
                // A flag such as `--config` is searched for as it is.
                if typed.is_empty() || typed.starts_with('-') || !typed.chars().all(in_word) {
                    return false;
                }
                has_any = true;
            }
            // A word of English, without which all words must match anyway. AND is an operator.
            Ok(Some((at, Token::And))) if text[at..].starts_with("and") => {}
            Ok(None) => return has_any,
            Ok(Some(_)) | Err(_) => return false,
        }
    }
}

/// Returns a query without a byte range, such as that of a field.
pub fn without(text: &str, range: &Range<usize>) -> String {
    let (before, behind) = (text[..range.start].trim_end(), text[range.end..].trim_start());
    let blank = if before.is_empty() || behind.is_empty() { "" } else { " " };
    format!("{before}{blank}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_QUERY_BYTES;

    /// Checks which fields apply to a whole query, and what the query is without each of them.
    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let told = |field: TypedField| {
            let minus = if field.negated { "-" } else { "" };
            let rest = without(text, &field.range);
            let revision = field.revision.map_or_else(String::new, |of| format!(" at {of}"));
            (format!("{minus}{}={}{revision}", field.name, field.value), rest)
        };
        let found: Vec<_> = typed_fields(text).into_iter().map(told).collect();
        let expected: Vec<_> =
            expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn fields_as_they_were_typed() {
        check("mutex lang:go", &[("lang=go", "mutex")]);
        check(
            "r:^a\\.b$ foo  -f:\"x y\" bar",
            &[("repo=^a\\.b$", "foo  -f:\"x y\" bar"), ("-file=x y", "r:^a\\.b$ foo bar")],
        );
        check("lang:go", &[("lang=go", "")]);
        check("b:x r:a@b:c d", &[("branch=x", "r:a@b:c d"), ("repo=a at b:c", "b:x d")]);
        check("not lang:go x", &[("-lang=go", "x")]);
        check("- -lang:go x", &[("lang=go", "- - x")]);
        check("lit:\"a b\" c:x", &[("lit=a b", "c:x"), ("content=x", "lit:\"a b\"")]);
        check("a or b lang:go", &[("lang=go", "a or b")]);
        check("(a or lang:go) case:yes", &[("case=yes", "(a or lang:go)")]);
        check(
            "type:file count:3 timeout:2s x",
            &[
                ("type=file", "count:3 timeout:2s x"),
                ("count=3", "type:file timeout:2s x"),
                ("timeout=2s", "type:file count:3 x"),
            ],
        );
    }

    #[test]
    fn operators_that_were_meant_as_text() {
        for (text, expected) in [
            ("file not found", Some(OperatorInText::Not)),
            ("does not exist", Some(OperatorInText::Not)),
            ("if (x == NULL)", Some(OperatorInText::Group)),
            ("for (int i = 0; i < n; i++)", Some(OperatorInText::Group)),
            ("file NOT found", None),
            ("not found", None),
            ("foo -bar", None),
            ("(foo or bar) x", None),
            ("x -(foo bar)", None),
            ("file not found lang:go", None),
            ("foo(bar) baz", None),
        ] {
            assert_eq!(operator_in_text(text), expected, "{text}");
        }
    }

    #[test]
    fn text_is_no_field_and_a_broken_query_has_none() {
        for text in ["", "\"lang:go\"", "(lang:go x)", "lang:", "lang:go \"x"] {
            check(text, &[]);
        }
        let deep = "(".repeat(200) + " lang:go";
        let long = "lang:go ".repeat(MAX_QUERY_BYTES / 8 + 1);
        for text in [&*deep, &long] {
            check(text, &[]);
            assert_eq!(operator_in_text(text), None);
        }
    }
}
