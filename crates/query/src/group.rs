//! Parses tokens into nested groups of words.
//!
//! ```text
//! query  = and { "or" and }
//! and    = term { [ "and" ] term }
//! term   = ( "-" | "not" ) term | "(" query ")" | word
//! ```

use std::ops::Range;

use crate::error::QueryError;
use crate::field::FieldName;
use crate::lex::{Lexer, MAX_NESTING, Token, Word, too_deep};

/// Maximum number of terms in a query. Each one is compiled and matched on its own.
pub const MAX_TERMS: usize = 200;

/// A group as it was typed: alternatives, each a list of parts that must all match.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) alternatives: Vec<Vec<Part>>,
}

/// A part of a group. Numbers are byte offsets in the query.
#[derive(Debug)]
pub(crate) enum Part {
    Word(usize, Word),
    Not(usize, Box<Part>),
    /// A group, and its byte range in the query, parentheses included.
    Group(Range<usize>, Group),
}

impl Part {
    /// Returns the byte range of the part in the query.
    pub(crate) fn range(&self) -> Range<usize> {
        match self {
            Part::Word(_, word) => word.range.clone(),
            Part::Not(at, part) => *at..part.range().end,
            Part::Group(range, _) => range.clone(),
        }
    }
}

/// Parses the tokens of a query.
pub(crate) struct Parser<'a> {
    source: &'a str,
    tokens: Lexer<'a>,
    ahead: Option<(usize, Token)>,
    terms: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, tokens: Lexer::new(source), ahead: None, terms: 0 }
    }

    /// Parses the whole query.
    pub(crate) fn whole(mut self) -> Result<Group, QueryError> {
        let group = self.group(0)?;
        let Some((at, _)) = self.peek()? else { return Ok(group) };
        // In `foo(a, b)` the term `foo(a,` leaves its parenthesis open; report that one.
        if let Some(opened) = self.tokens.opened_in_term() {
            let message = "the term with this parenthesis ends at the next space; put a term with spaces in quotes, \
                           or in lit:\"...\" if it is literal text";
            return Err(self.error(opened, message));
        }
        let message = "unopened parenthesis; to search for the character, write \\) or put the text in lit:\"...\"";
        Err(self.error(at, message))
    }

    fn peek(&mut self) -> Result<Option<(usize, &Token)>, QueryError> {
        if self.ahead.is_none() {
            self.ahead = self.tokens.next()?;
        }
        Ok(self.ahead.as_ref().map(|(at, token)| (*at, token)))
    }

    fn error(&self, at: usize, message: impl Into<String>) -> QueryError {
        QueryError::new(self.source, at, message)
    }

    /// Parses a list of terms, up to a closing parenthesis or the end.
    fn group(&mut self, depth: usize) -> Result<Group, QueryError> {
        let mut group = Group { alternatives: vec![Vec::new()] };
        // The position of the last operator, while it lacks a term after it.
        let mut wanting: Option<usize> = None;
        while let Some((at, token)) = self.peek()? {
            let operator = match token {
                Token::Close => break,
                Token::Or => true,
                Token::And => false,
                _ => {
                    let part = self.term(depth)?;
                    group.alternatives.last_mut().expect("never empty").push(part);
                    wanting = None;
                    continue;
                }
            };
            self.ahead = None;
            if wanting.is_some() || group.alternatives.last().is_none_or(Vec::is_empty) {
                return Err(self.operand(at, "before"));
            }
            wanting = Some(at);
            if operator {
                group.alternatives.push(Vec::new());
            }
        }
        match wanting {
            Some(at) => Err(self.operand(at, "after")),
            None => Ok(group),
        }
    }

    /// Returns the error for an operator without a term on one side.
    fn operand(&self, at: usize, side: &str) -> QueryError {
        let rest = &self.source[at..];
        let length = rest.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(rest.len());
        if rest.starts_with('|') {
            let message =
                format!("| needs a term {side} it; to search for the character, write \\|");
            // `||` is "or" in many languages.
            let double = self.source[..at].ends_with('|');
            let range = if double { at - 1..at + 1 } else { at..at + 1 };
            return self
                .error(at, message)
                .with_replacement(range, if double { "or" } else { "\\|" });
        }
        let word = &rest[..length];
        let message =
            format!("'{word}' needs a term {side} it; to search for the word, write \"{word}\"");
        self.error(at, message).with_replacement(at..at + length, format!("\"{word}\""))
    }

    fn term(&mut self, depth: usize) -> Result<Part, QueryError> {
        let Some((at, token)) = self.tokens_next()? else { unreachable!("the caller has seen it") };
        if depth > MAX_NESTING {
            return Err(self.error(at, too_deep()));
        }
        match token {
            Token::Word(word) => {
                self.terms += usize::from(!is_setting(&word));
                if self.terms > MAX_TERMS {
                    return Err(self.error(
                        at,
                        format!("the query has more than {MAX_TERMS} terms; use fewer"),
                    ));
                }
                Ok(Part::Word(at, word))
            }
            Token::Not => match self.peek()? {
                Some((_, Token::Word(_) | Token::Not | Token::Open)) => {
                    Ok(Part::Not(at, Box::new(self.term(depth + 1)?)))
                }
                _ => {
                    let (length, sign, message) = if self.source[at..].starts_with('-') {
                        (
                            1,
                            "\\-",
                            "- needs a term after it; to search for the character, write \\-",
                        )
                    } else {
                        (
                            3,
                            "\"not\"",
                            "'not' needs a term after it; to search for the word, write \"not\"",
                        )
                    };
                    Err(self.error(at, message).with_replacement(at..at + length, sign))
                }
            },
            Token::Open => {
                let group = self.group(depth + 1)?;
                match self.tokens_next()? {
                    Some((end, Token::Close)) => Ok(Part::Group(at..end + 1, group)),
                    _ => Err(self
                        .error(at, "unclosed parenthesis; to search for the character, write \\(")),
                }
            }
            Token::Close | Token::Or | Token::And => unreachable!("the caller takes these"),
        }
    }

    fn tokens_next(&mut self) -> Result<Option<(usize, Token)>, QueryError> {
        match self.ahead.take() {
            Some(token) => Ok(Some(token)),
            None => self.tokens.next(),
        }
    }
}

/// Returns whether a word is a setting of the search rather than a term.
pub(crate) fn is_setting(word: &Word) -> bool {
    match word.field {
        Some(FieldName::Case | FieldName::Multiline | FieldName::Setting(_) | FieldName::Diff) => {
            true
        }
        Some(FieldName::History) => word.text == ANY_LINE,
        _ => false,
    }
}

/// The value of `history:` that adds no term.
const ANY_LINE: &str = "*";
