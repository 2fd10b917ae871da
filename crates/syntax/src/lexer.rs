//! Finds tokens line by line.

use std::mem::take;

use crate::languages::trait_bits::{DOCSTRINGS, LINE_START, NESTED, SPACED, TARGETS};
use crate::languages::{Escape, Form, Quote, Syntax};
use crate::scan::{Carried, Scan};
use crate::words::{self, Words};
use crate::{Class, Token};
use crate::{code, markup};

/// Finds the tokens of consecutive lines.
#[derive(Debug)]
pub struct Lexer {
    syntax: &'static Syntax,
    words: &'static Words,
    state: State,
    carried: Carried,
}

/// The token that is open at the end of a line.
#[derive(Debug, Default)]
enum State {
    #[default]
    Nothing,
    Block {
        marks: (&'static str, &'static str),
        depth: usize,
    },
    String(&'static Quote),
    /// A text that ends at a line with this word.
    Heredoc(String),
    /// A code block in prose.
    Fence,
}

impl Lexer {
    /// Makes a lexer with nothing open.
    pub fn new(syntax: &'static Syntax) -> Self {
        let words = words::of(syntax);
        Self { syntax, words, state: State::Nothing, carried: Carried::default() }
    }

    /// Returns the tokens of the next line, which is given without its line feed.
    pub fn line(&mut self, line: &str) -> Vec<Token> {
        let mut scan = Scan {
            syntax: self.syntax,
            words: self.words,
            carried: take(&mut self.carried),
            line,
            at: 0,
            tokens: Vec::new(),
            last: None,
            before_value: false,
            expects: None,
            after_colon: false,
        };
        self.read(&mut scan);
        self.carried = scan.carried;
        scan.tokens
    }

    /// Reads a line to its end.
    fn read(&mut self, scan: &mut Scan<'_>) {
        let line = scan.line;
        match &self.state {
            State::Nothing => self.begin(scan),
            State::Fence => {
                if is_fence(line) {
                    self.state = State::Nothing;
                }
                return;
            }
            State::Heredoc(word) => {
                if line.trim() == word {
                    self.state = State::Nothing;
                }
                scan.push(line.len(), Class::String);
                return;
            }
            State::Block { .. } | State::String(_) => {}
        }
        while scan.at < line.len() {
            match self.state {
                State::Block { marks, depth } => self.block(scan, marks, depth),
                State::String(quote) => self.string(scan, quote),
                _ => self.next(scan),
            }
        }
        if let (State::Nothing, Some(word)) = (&self.state, scan.carried.heredoc.take()) {
            self.state = State::Heredoc(word);
        }
    }

    /// Reads special tokens at the beginning of a line.
    fn begin(&mut self, scan: &mut Scan<'_>) {
        match self.syntax.form {
            Form::Prose if is_fence(scan.line) => {
                self.state = State::Fence;
                scan.at = scan.line.len();
            }
            Form::Prose => markup::heading(scan),
            Form::Colons => markup::colon_key(scan),
            Form::Equations => markup::equation_key(scan),
            Form::Code if self.syntax.has(TARGETS) => {
                markup::target(scan);
            }
            Form::Code | Form::Markup | Form::Styles => {}
        }
    }

    /// Reads the next token, or passes over a character.
    fn next(&mut self, scan: &mut Scan<'_>) {
        if scan.byte(0).is_some_and(|byte| byte.is_ascii_whitespace()) {
            scan.spaces();
            return;
        }
        if self.open(scan) {
            return;
        }
        let done = match self.syntax.form {
            Form::Code => code::token(scan),
            Form::Markup => markup::tag(scan),
            Form::Styles => markup::style(scan),
            Form::Colons | Form::Equations => markup::value(scan),
            Form::Prose => markup::prose(scan),
        };
        if !done {
            scan.skip();
        }
    }

    /// Reads a comment, or the beginning of a block comment or string.
    fn open(&mut self, scan: &mut Scan<'_>) -> bool {
        let rest = scan.rest();
        let is_start = scan.last.is_none();
        // A mark that is a word must be alone on its line.
        let whole_line = |mark: &str| mark.starts_with('=');
        let block = self
            .syntax
            .blocks
            .iter()
            .find(|(open, _)| rest.starts_with(open) && (scan.at == 0 || !whole_line(open)));
        if let Some(marks) = block {
            self.state = State::Block { marks: *marks, depth: 0 };
            let end = if whole_line(marks.0) { scan.line.len() } else { scan.at + marks.0.len() };
            scan.push(end, Class::Comment);
            return true;
        }
        let spaced = scan.before().is_none_or(|byte| byte.is_ascii_whitespace() || byte == b';');
        let allowed =
            if self.syntax.has(LINE_START) { is_start } else { spaced || !self.syntax.has(SPACED) };
        if allowed && self.syntax.lines.iter().any(|mark| rest.starts_with(mark)) {
            scan.push(scan.line.len(), Class::Comment);
            return true;
        }
        if !scan.carried.in_tag && self.syntax.form == Form::Markup || !self.may_quote(scan) {
            return false;
        }
        let Some(quote) = self.syntax.quotes.iter().find(|quote| rest.starts_with(quote.open))
        else {
            return false;
        };
        if is_start && quote.lines && self.syntax.has(DOCSTRINGS) {
            self.state = State::Block { marks: (quote.open, quote.close), depth: 0 };
            scan.push(scan.at + quote.open.len(), Class::Comment);
            return true;
        }
        self.state = State::String(quote);
        scan.push(scan.at + quote.open.len(), Class::String);
        if scan.at == scan.line.len() && !quote.lines {
            self.state = State::Nothing;
        }
        true
    }

    /// Returns whether a string may begin here. In an unquoted value, an apostrophe is an apostrophe.
    fn may_quote(&self, scan: &Scan<'_>) -> bool {
        self.syntax.form != Form::Colons
            || scan.last.is_none_or(|last| matches!(last, b':' | b',' | b'-' | b'[' | b'{' | b'('))
    }

    /// Reads a block comment to its end or the end of the line.
    fn block(
        &mut self,
        scan: &mut Scan<'_>,
        marks: (&'static str, &'static str),
        mut depth: usize,
    ) {
        let (open, close) = marks;
        if open.starts_with('=') {
            if scan.line.starts_with(close) {
                self.state = State::Nothing;
            }
            return scan.push(scan.line.len(), Class::Comment);
        }
        let nests = self.syntax.has(NESTED);
        let mut end = scan.at;
        while let Some(rest) = scan.line.get(end..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(close) {
                end += close.len();
                if depth == 0 {
                    self.state = State::Nothing;
                    return scan.push(end, Class::Comment);
                }
                depth -= 1;
            } else if nests && rest.starts_with(open) {
                end += open.len();
                depth += 1;
            } else {
                end += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        self.state = State::Block { marks, depth };
        scan.push(end, Class::Comment);
    }

    /// Reads a string to its end or the end of the line.
    fn string(&mut self, scan: &mut Scan<'_>, quote: &'static Quote) {
        let mut end = scan.at;
        while let Some(rest) = scan.line.get(end..).filter(|rest| !rest.is_empty()) {
            let escaped = rest.strip_prefix('\\').filter(|_| quote.escape == Escape::Backslash);
            if let Some(escaped) = escaped {
                scan.push(end, Class::String);
                let next = escaped.chars().next();
                end += 1 + next.map_or(0, char::len_utf8);
                scan.push(end, Class::Constant);
                if next.is_none() {
                    // The string continues after the line feed.
                    return;
                }
            } else if let Some(after) = rest.strip_prefix(quote.close) {
                end += quote.close.len();
                if quote.escape == Escape::Doubled && after.starts_with(quote.close) {
                    end += quote.close.len();
                } else {
                    self.state = State::Nothing;
                    return scan.push(end, Class::String);
                }
            } else {
                end += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        scan.push(end, Class::String);
        if !quote.lines {
            self.state = State::Nothing;
        }
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}
