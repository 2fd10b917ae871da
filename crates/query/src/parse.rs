//! From tokens to a tree.
//!
//! ```text
//! query  = and { "or" and }
//! and    = term { [ "and" ] term }
//! term   = ( "-" | "not" ) term | "(" query ")" | word
//! ```
//!
//! `case:` and `multiline:` hold for the group they stand in, wherever in it they stand, and for the
//! groups inside; so the tree is read first, and its patterns are parsed once all is known.

use crate::error::QueryError;
use crate::field::FieldName;
use crate::language::check_language;
use crate::lex::{Lexer, Token, Word};
use crate::pattern::{Case, Pattern};
use crate::settings::Settings;
use crate::tree::{Field, Query, Term, Tree};

/// Longest query, in bytes. Nobody types more, and parsing and planning it takes milliseconds.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;

/// Most terms in a query. Each is compiled and run on its own.
pub const MAX_TERMS: usize = 200;

/// How deeply groups and negations may nest; it bounds the stack that walking the tree takes.
const MAX_NESTING: usize = 100;

impl Query {
    /// Parses a query. The defaults hold where the query says nothing about it.
    ///
    /// # Errors
    /// What is wrong, where, and what to type instead; also a query beyond the bounds on length,
    /// terms and nesting.
    pub fn parse(source: &str, defaults: impl Into<Defaults>) -> Result<Self, QueryError> {
        if source.len() > MAX_QUERY_BYTES {
            let message = format!("the query is longer than {MAX_QUERY_BYTES} bytes");
            return Err(QueryError::new(source, MAX_QUERY_BYTES, message));
        }
        if source.trim().is_empty() {
            return Err(QueryError::new(source, 0, "the query is empty; type what to search for"));
        }
        let mut parser = Parser { source, tokens: Lexer::new(source), ahead: None, terms: 0 };
        let group = parser.group(0)?;
        if let Some((at, _)) = parser.peek()? {
            // foo(a, b): the one that is meant is open in an earlier term.
            if let Some(opened) = parser.tokens.opened_in_term() {
                let message = "the term with this parenthesis ends at the next blank; put a term with blanks in \
                               quotes, or lit: and quotes if it is no regular expression";
                return Err(QueryError::new(source, opened, message));
            }
            let message = "there is no parenthesis that this one closes; to search for the character, write \\) or \
                           put the text in quotes behind lit:";
            return Err(QueryError::new(source, at, message));
        }
        let mut build = Build { source, settings: Settings::default() };
        let tree = build.group(group, defaults.into(), true)?;
        Ok(Query { source: source.to_owned(), tree, settings: build.settings })
    }
}

/// How patterns match, as far as a query does not say so itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// What `case:` would say.
    pub case: Case,
    /// What `multiline:` would say.
    pub multiline: bool,
}

impl From<Case> for Defaults {
    fn from(case: Case) -> Self {
        Self { case, multiline: false }
    }
}

/// A group as it was typed: alternatives, each of parts that must all hold.
#[derive(Debug, Default)]
struct Group {
    alternatives: Vec<Vec<Part>>,
}

#[derive(Debug)]
enum Part {
    Word(usize, Word),
    Not(usize, Box<Part>),
    Group(Group),
}

struct Parser<'a> {
    source: &'a str,
    tokens: Lexer<'a>,
    ahead: Option<(usize, Token)>,
    terms: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Result<Option<(usize, &Token)>, QueryError> {
        if self.ahead.is_none() {
            self.ahead = self.tokens.next()?;
        }
        Ok(self.ahead.as_ref().map(|(at, token)| (*at, token)))
    }

    fn error(&self, at: usize, message: impl Into<String>) -> QueryError {
        QueryError::new(self.source, at, message)
    }

    /// A list of terms, up to a closing parenthesis or the end.
    fn group(&mut self, depth: usize) -> Result<Group, QueryError> {
        let mut group = Group { alternatives: vec![Vec::new()] };
        // Where an operator stands that still wants a term behind it.
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
            Some(at) => Err(self.operand(at, "behind")),
            None => Ok(group),
        }
    }

    /// The error of an operator without a term on one side.
    fn operand(&self, at: usize, side: &str) -> QueryError {
        let rest = &self.source[at..];
        let length = rest.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(rest.len());
        let message = if rest.starts_with('|') {
            format!("there is no term {side} this |; to search for the character, write \\|")
        } else {
            let word = &rest[..length];
            format!(
                "there is no term {side} this '{word}'; to search for the word, write \"{word}\""
            )
        };
        self.error(at, message)
    }

    fn term(&mut self, depth: usize) -> Result<Part, QueryError> {
        let Some((at, token)) = self.tokens_next()? else { unreachable!("the caller has seen it") };
        if depth > MAX_NESTING {
            return Err(self.error(at, format!("the query nests deeper than {MAX_NESTING} levels")));
        }
        match token {
            Token::Word(word) => {
                self.terms += usize::from(!is_setting(&word));
                if self.terms > MAX_TERMS {
                    return Err(
                        self.error(at, format!("the query has more than {MAX_TERMS} terms"))
                    );
                }
                Ok(Part::Word(at, word))
            }
            Token::Not => match self.peek()? {
                Some((_, Token::Word(_) | Token::Not | Token::Open)) => {
                    Ok(Part::Not(at, Box::new(self.term(depth + 1)?)))
                }
                _ => {
                    let message = if self.source[at..].starts_with('-') {
                        "there is no term behind this minus; to search for the character, write \\-"
                    } else {
                        "there is no term behind this 'not'; to search for the word, write \"not\""
                    };
                    Err(self.error(at, message))
                }
            },
            Token::Open => {
                let group = self.group(depth + 1)?;
                match self.tokens_next()? {
                    Some((_, Token::Close)) => Ok(Part::Group(group)),
                    _ => Err(self.error(
                        at,
                        "this parenthesis is not closed; to search for the character, write \\(",
                    )),
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

struct Build<'a> {
    source: &'a str,
    settings: Settings,
}

impl Build<'_> {
    fn error(&self, at: usize, message: impl Into<String>) -> QueryError {
        QueryError::new(self.source, at, message)
    }

    /// `whole` says that this group is the whole query, so that `type:` and its like may stand in it.
    fn group(
        &mut self,
        mut group: Group,
        outer: Defaults,
        whole: bool,
    ) -> Result<Tree, QueryError> {
        let mut scope = outer;
        let several = group.alternatives.len() > 1;
        // A query in parentheses is still the whole of it.
        let only = group.alternatives.len() == 1 && group.alternatives[0].len() == 1;
        for alternative in &mut group.alternatives {
            let mut parts = Vec::with_capacity(alternative.len());
            let mut setting = None;
            for part in alternative.drain(..) {
                match part {
                    Part::Word(at, word) if is_setting(&word) => {
                        self.set(at, &word, &mut scope, whole)?;
                        setting = Some(at);
                    }
                    other => parts.push(other),
                }
            }
            // Nothing but settings is every file; as an alternative, that is a slip.
            if let (true, true, Some(at)) = (several, parts.is_empty(), setting) {
                let message = "there is no term beside this on its side of the 'or'";
                return Err(self.error(at, message));
            }
            *alternative = parts;
        }
        let mut any = Vec::with_capacity(group.alternatives.len());
        for alternative in group.alternatives {
            let all: Result<_, _> =
                alternative.into_iter().map(|part| self.part(part, scope, whole && only)).collect();
            any.push(Tree::all(all?));
        }
        Ok(Tree::any(any))
    }

    fn part(&mut self, part: Part, scope: Defaults, whole: bool) -> Result<Tree, QueryError> {
        match part {
            Part::Group(group) => self.group(group, scope, whole),
            Part::Not(at, part) => match *part {
                Part::Word(_, word) if is_setting(&word) => {
                    Err(self.error(at, "this says how to search, so it cannot be negated"))
                }
                part => Ok(!self.part(part, scope, false)?),
            },
            Part::Word(at, word) => self.word(at, &word, scope),
        }
    }

    fn word(&self, at: usize, word: &Word, scope: Defaults) -> Result<Tree, QueryError> {
        let field = match word.field {
            Some(FieldName::Content) => Field::Content,
            Some(FieldName::Path) => Field::Path,
            Some(FieldName::Repo) => Field::Repo,
            Some(FieldName::Language) => {
                check_language(&word.text).map_err(|why| self.error(word.origins[0], why))?;
                return Ok(Tree::Language(word.text.clone()));
            }
            _ => Field::Anywhere,
        };
        let pattern = if word.field == Some(FieldName::Literal) {
            Pattern::literal(&word.text, scope.case)
        } else {
            Pattern::parse(&word.text, scope.case, scope.multiline)
        };
        let pattern = pattern.map_err(|error| {
            let origin = word.origins.get(error.position).copied().unwrap_or(at);
            self.error(origin, error.message)
        })?;
        Ok(Tree::Term(Term { field, pattern, at }))
    }

    fn set(
        &mut self,
        at: usize,
        word: &Word,
        scope: &mut Defaults,
        whole: bool,
    ) -> Result<(), QueryError> {
        let value = word.text.as_str();
        let field = word.field.expect("a setting has a field");
        if !whole && !matches!(field, FieldName::Case | FieldName::Multiline) {
            let message = "this holds for the whole query; put it outside of all parentheses";
            return Err(self.error(at, message));
        }
        let unknown = |wanted: &str| {
            QueryError::new(
                self.source,
                word.origins[0],
                format!("\"{value}\" cannot stand here; use {wanted}"),
            )
        };
        match field {
            FieldName::Case => {
                scope.case = match value {
                    "yes" => Case::Sensitive,
                    "no" => Case::Insensitive,
                    "auto" => Case::Smart,
                    _ => return Err(unknown("case:yes, case:no or case:auto")),
                }
            }
            FieldName::Multiline => {
                scope.multiline = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(unknown("multiline:yes or multiline:no")),
                }
            }
            FieldName::Setting(setting) => {
                self.settings.set(setting, value).map_err(|why| self.error(word.origins[0], why))?
            }
            _ => unreachable!("not a setting"),
        }
        Ok(())
    }
}

/// Whether a word says how to search, not for what.
fn is_setting(word: &Word) -> bool {
    matches!(word.field, Some(FieldName::Case | FieldName::Multiline | FieldName::Setting(_)))
}
