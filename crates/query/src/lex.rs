//! Splits the text of a query into words and operators.
//!
//! The rules are Zoekt's (<https://github.com/sourcegraph/zoekt/blob/main/doc/query_syntax.md>): white space ends a
//! word, except in quotes; a parenthesis opens a group if there is white space in it, and belongs to a regular
//! expression otherwise. This lexer also accepts texts that Zoekt rejects or reads in an unlikely way: a character
//! class may hold anything, `/.../` is a regular expression that may contain spaces, and `->`, `--` and `-=` are text.

use std::cell::OnceCell;
use std::ops::Range;

use crate::classes::Classes;
use crate::error::QueryError;
use crate::field::{self, FieldName};
use crate::foreign;
use crate::property::Switch;
use crate::revision::TreeField;
use crate::write::literal;

/// Longest query, in bytes. Parsing and planning it takes milliseconds, and nobody types more.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;

/// How deeply groups and negations may nest. This bounds the recursion over the tree, and how often the lexer searches
/// for the end of the same group.
pub(crate) const MAX_NESTING: usize = 100;

/// A token of a query.
#[derive(Clone, Debug)]
pub(crate) enum Token {
    Open,
    Close,
    Or,
    And,
    Not,
    Word(Word),
}

/// A word of a query: a text, with an optional field.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) field: Option<FieldName>,
    /// The value after the field, without quotes.
    pub(crate) text: String,
    /// For each byte of `text`, and for its end, the offset of its origin in the query.
    pub(crate) origins: Vec<usize>,
    /// The byte range of the word in the query, with its field and quotes.
    pub(crate) range: Range<usize>,
    /// The offset in `text` of the `@` between the pattern of a repository and a revision: `repo:x@main`.
    pub(crate) revision: Option<usize>,
}

/// Splits a query into tokens, each with the byte offset at which it begins.
pub(crate) struct Lexer<'a> {
    source: &'a str,
    at: usize,
    /// Number of open groups.
    depth: usize,
    opened_in_term: Option<usize>,
    /// Where character classes end; computed at the first one.
    classes: OnceCell<Classes>,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, at: 0, depth: 0, opened_in_term: None, classes: OnceCell::new() }
    }

    /// Returns the position of the first parenthesis so far that its term leaves unclosed.
    pub(crate) fn opened_in_term(&self) -> Option<usize> {
        self.opened_in_term
    }

    /// Returns the next token; `None` at the end. A query that is too long is an error.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, Token)>, QueryError> {
        if self.source.len() > MAX_QUERY_BYTES {
            let message =
                format!("the query is longer than {MAX_QUERY_BYTES} bytes; use a shorter one");
            let beginning = &self.source[..self.source.floor_char_boundary(MAX_QUERY_BYTES)];
            return Err(QueryError::new(beginning, beginning.len(), message));
        }
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        let (at, rest) = (self.at, self.rest());
        let sign = match rest.chars().next() {
            None => return Ok(None),
            Some(')') => Some(Token::Close),
            Some('|') => Some(Token::Or),
            Some('(') if self.opens_group() => Some(Token::Open),
            Some('-') if !rest[1..].starts_with(['-', '>', '=']) => Some(Token::Not),
            Some(_) => None,
        };
        if let Some(sign) = sign {
            match sign {
                Token::Open => self.depth += 1,
                Token::Close => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > MAX_NESTING {
                return Err(self.error(at, too_deep()));
            }
            self.at += 1;
            return Ok(Some((at, sign)));
        }
        let mut token = self.word()?;
        token.range = at..self.at;
        let keyword = match &self.source[at..self.at] {
            "or" | "OR" => Some(Token::Or),
            "and" | "AND" => Some(Token::And),
            "not" | "NOT" => Some(Token::Not),
            _ => None,
        };
        Ok(Some((at, keyword.unwrap_or(Token::Word(token)))))
    }

    /// Returns the byte offset after the last token.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    /// Returns whether the parenthesis at the current position opens a group of terms.
    fn opens_group(&self) -> bool {
        opens_group_at(self.source, self.at, &self.classes)
    }

    fn error(&self, position: usize, message: impl Into<String>) -> QueryError {
        QueryError::new(self.source, position, message)
    }

    fn word(&mut self) -> Result<Word, QueryError> {
        let mut word = Word {
            field: None,
            text: String::new(),
            origins: Vec::new(),
            range: 0..0,
            revision: None,
        };
        let rest = self.rest();
        if let Some(length) = delimited(rest) {
            self.slashes(&mut word, length);
            return Ok(word);
        }
        let mut opened = Vec::new();
        if let Some((name, value)) = field_name(rest) {
            word.field = field::find(name);
            self.check_field(word.field, name, value)?;
            self.at += name.len() + 1;
            // In a path, slashes are part of the path, unless the text can only be an expression.
            let slashes = match word.field {
                Some(
                    FieldName::Content
                    | FieldName::Regex
                    | FieldName::Added
                    | FieldName::Removed
                    | FieldName::History,
                ) => delimited(self.rest()),
                Some(FieldName::Path | FieldName::Repo) => {
                    delimited(self.rest()).filter(|length| is_expression(&value[..*length]))
                }
                _ => None,
            };
            if let Some(length) = slashes {
                self.slashes(&mut word, length);
                return Ok(word);
            }
        }
        while let Some(c) = self.rest().chars().next() {
            match c {
                '"' => self.quoted(&mut word)?,
                // In a literal, every character stands for itself.
                '\\' if word.field != Some(FieldName::Literal) => self.escape(&mut word)?,
                '[' if word.field != Some(FieldName::Literal) => {
                    let length = class_length(self.source, self.at, &self.classes);
                    self.take(&mut word, length.unwrap_or(1));
                }
                ')' if opened.is_empty() => break,
                c if c.is_whitespace() => break,
                c => {
                    match c {
                        '(' => opened.push(self.at),
                        ')' => drop(opened.pop()),
                        // One at the beginning is part of the name.
                        '@' if word.field == Some(FieldName::Repo)
                            && opened.is_empty()
                            && !word.text.is_empty() =>
                        {
                            word.revision = word.revision.or(Some(word.text.len()));
                        }
                        _ => {}
                    }
                    self.take(&mut word, c.len_utf8());
                }
            }
        }
        word.origins.push(self.at);
        self.opened_in_term = self.opened_in_term.or(opened.first().copied());
        Ok(word)
    }

    /// Rejects an unknown field, a field without a value, and calls of functions of other engines.
    fn check_field(
        &self,
        field: Option<FieldName>,
        name: &str,
        value: &str,
    ) -> Result<(), QueryError> {
        let blank = |c: char| c.is_whitespace() || c == ')';
        let Some(field) = field else {
            let length = word_length(value);
            let value_text = &value[..length];
            let (message, instead) =
                foreign::find(name, value_text).unwrap_or_else(|| field::unknown(name, value_text));
            let range = self.at..self.source.len() - value.len() + length;
            return Err(self.error(self.at, message).with_replacement(range, instead));
        };
        if value.is_empty() || value.starts_with(blank) {
            let message = format!(
                "{name}: needs a value right after the colon; to search for the text itself, put it in quotes"
            );
            let range = self.at..self.at + name.len() + 1;
            return Err(self
                .error(self.at, message)
                .with_replacement(range, literal(&format!("{name}:"))));
        }
        if field == FieldName::Tree(TreeField::Revision)
            && let Some((message, length)) = foreign::time(name, value)
        {
            let range = self.at..self.source.len() - value.len() + length;
            return Err(self.error(self.at, message).with_replacement(range, ""));
        }
        if matches!(field, FieldName::Repo | FieldName::Path) {
            let begin = self.source.len() - value.len();
            let call = |alone| foreign::call(name, value, alone);
            if let Some((.., length)) = call(false) {
                let others = self.source[..self.at].trim().trim_end_matches('-').len();
                let alone = others == 0 && value[length..].trim().is_empty();
                let (message, instead, _) = call(alone).unwrap_or_default();
                return Err(self
                    .error(self.at, message)
                    .with_replacement(self.at..begin + length, instead));
            }
        }
        Ok(())
    }

    /// Appends the next `bytes` bytes to the word unchanged.
    fn take(&mut self, word: &mut Word, bytes: usize) {
        word.text.push_str(&self.rest()[..bytes]);
        word.origins.extend(self.at..self.at + bytes);
        self.at += bytes;
    }

    /// Reads a quoted part. It is literal, but `\"` is a quote and `\\` a backslash.
    fn quoted(&mut self, word: &mut Word) -> Result<(), QueryError> {
        let opened = self.at;
        self.at += 1;
        loop {
            let rest = self.rest();
            if rest.starts_with("\\\"") || rest.starts_with("\\\\") {
                self.at += 1;
                self.take(word, 1);
                continue;
            }
            match rest.chars().next() {
                None => {
                    let message = "unclosed quote; to search for the character, write \\\"";
                    return Err(self.error(opened, message));
                }
                Some('"') => break,
                Some(c) => self.take(word, c.len_utf8()),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a backslash and the next character. An escaped space is a space; any other escape belongs to the
    /// expression.
    fn escape(&mut self, word: &mut Word) -> Result<(), QueryError> {
        match self.rest()[1..].chars().next() {
            None => Err(self.error(
                self.at,
                "a backslash needs a character after it; to search for the backslash itself, write \\\\",
            )),
            Some(c) if c.is_whitespace() => {
                self.at += 1;
                self.take(word, c.len_utf8());
                Ok(())
            }
            Some(c) => {
                self.take(word, 1 + c.len_utf8());
                Ok(())
            }
        }
    }

    /// Reads the text between two slashes. A `\/` is a slash.
    fn slashes(&mut self, word: &mut Word, length: usize) {
        let end = self.at + length - 1;
        self.at += 1;
        while self.at < end {
            if self.rest().starts_with("\\/") {
                self.at += 1;
                self.take(word, 1);
            } else if self.rest().starts_with('\\') {
                self.take(word, 1);
                let c = self.rest().chars().next().map_or(0, char::len_utf8);
                self.take(word, c);
            } else {
                let c = self.rest().chars().next().map_or(0, char::len_utf8);
                self.take(word, c);
            }
        }
        word.origins.push(self.at);
        self.at += 1;
    }
}

/// Returns whether the parenthesis at the start of `text` opens a group of terms: it contains white space, or begins
/// with a field or with a negated quoted text.
pub(crate) fn opens_group(text: &str) -> bool {
    opens_group_at(text, 0, &OnceCell::new())
}

fn opens_group_at(source: &str, start: usize, classes: &OnceCell<Classes>) -> bool {
    let inner = source[start + 1..].trim_start_matches('(');
    let positive = inner.trim_start_matches('-');
    if field_name(positive).is_some_and(|(name, _)| field::find(name).is_some()) {
        return true;
    }
    if positive.len() < inner.len() && positive.starts_with(['"', '/']) {
        return true;
    }
    let mut depth = 0;
    let mut at = start;
    while let Some(c) = source[at..].chars().next() {
        let length = match c {
            '\\' => 1 + source[at + 1..].chars().next().map_or(0, char::len_utf8),
            '[' => class_length(source, at, classes).unwrap_or(1),
            '"' => quoted_length(&source[at..]),
            '(' => {
                depth += 1;
                1
            }
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return false;
                }
                1
            }
            c if c.is_whitespace() => return true,
            c => c.len_utf8(),
        };
        at += length;
    }
    false
}

/// Returns the message for groups or negations that nest too deeply.
pub(crate) fn too_deep() -> String {
    format!("the query nests deeper than {MAX_NESTING} levels; use fewer parentheses")
}

/// Returns the length of the quoted text at the start of `text`, both quotes included.
pub(crate) fn quoted_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the length of the character class whose bracket is at `start`, if it is closed.
fn class_length(source: &str, start: usize, classes: &OnceCell<Classes>) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut at = start + 1 + usize::from(bytes.get(start + 1) == Some(&b'^'));
    // A bracket at the very beginning is a member of the class.
    at += usize::from(bytes.get(at) == Some(&b']'));
    Some(classes.get_or_init(|| Classes::of(source)).end(at)? - start)
}

/// Returns the length of `/.../` at the start of `text`, if the closing slash also ends the word.
pub(crate) fn delimited(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'/') {
        return None;
    }
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'/' => {
                let ends =
                    text[at + 1..].chars().next().is_none_or(|c| c.is_whitespace() || c == ')');
                return (ends && at > 1).then_some(at + 1);
            }
            _ => at += 1,
        }
    }
    None
}

/// Returns whether `/.../` is an expression between slashes rather than a path: it has something that no path has.
fn is_expression(text: &str) -> bool {
    text.starts_with("/^")
        || text.starts_with("/(^")
        || text.ends_with("$/")
        || text.contains("\\/")
}

/// Returns the length of a field's value. A value in quotes or parentheses ends where these close; any other value at
/// white space or at an unopened closing parenthesis.
pub(crate) fn word_length(text: &str) -> usize {
    if text.starts_with('"') {
        return quoted_length(text);
    }
    let (mut depth, mut at) = (0_usize, 0);
    let grouped = text.starts_with('(');
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\\' => at += text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => {
                depth -= 1;
                if grouped && depth == 0 {
                    return at + 1;
                }
            }
            c if c.is_whitespace() && !grouped => return at,
            _ => {}
        }
        at += c.len_utf8();
    }
    // An unclosed group ends at its first space.
    if grouped { text.find(char::is_whitespace).unwrap_or(at) } else { at }
}

/// Splits a field into its name and the text after the colon. `std::vector` and `http://` are not fields, and a text
/// like `TODO: ` is one only if it is the name of a field.
pub(crate) fn field_name(text: &str) -> Option<(&str, &str)> {
    // The colon of another word may be far away, and this code runs for each word.
    let ends = |c: char| c == ':' || c.is_whitespace() || "\"()[]\\/|".contains(c);
    let (name, value) = text.split_at(text.find(ends)?);
    let value = value.strip_prefix(':')?;
    let letters = field::meta(name).is_some()
        || name == "max_matches"
        || name.bytes().all(|b| b.is_ascii_alphabetic());
    if name.is_empty() || !letters || value.starts_with(':') {
        return None;
    }
    let plain =
        value.is_empty() || value.starts_with(|c: char| c.is_whitespace() || c == '/' || c == ')');
    // In C++, `public:` is a line of its own.
    let is_field = |field| field != FieldName::Switch(Switch::Public);
    (field::find(name).is_some_and(is_field) || !plain).then_some((name, value))
}
