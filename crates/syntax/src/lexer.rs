//! Finds tokens line by line.

use crate::languages::trait_bits::{DOCSTRINGS, LINE_START, NESTED, SPACED, TARGETS};
use crate::languages::{Escape, Form, Quote, Syntax};
use crate::words::Words;
use crate::{Class, Token};

/// Finds the tokens of consecutive lines.
#[derive(Debug)]
pub struct Lexer {
    pub(crate) syntax: &'static Syntax,
    pub(crate) words: &'static Words,
    state: State,
    /// The word that ends the text that begins behind this line.
    pub(crate) heredoc: Option<String>,
    /// Whether a tag is open, and how many braces are.
    pub(crate) in_tag: bool,
    pub(crate) depth: usize,
}

/// What is open at the end of a line.
#[derive(Debug, Default)]
enum State {
    #[default]
    Nothing,
    Block {
        marks: (&'static str, &'static str),
        depth: usize,
    },
    String(&'static Quote),
    /// A text up to a line that is this word.
    Heredoc(String),
    /// A block of code in prose.
    Fence,
}

/// A line, and what of it was read.
#[derive(Debug)]
pub(crate) struct Scan<'l> {
    pub(crate) line: &'l str,
    /// Offset of what comes next.
    pub(crate) at: usize,
    tokens: Vec<Token>,
    /// The last character that is no space; `None` at the beginning.
    pub(crate) last: Option<u8>,
    /// Whether the last word was one after which a value comes.
    pub(crate) before_value: bool,
    /// What the next name is.
    pub(crate) expects: Option<Class>,
    /// In a style sheet, whether a colon stands before, in the same declaration.
    pub(crate) after_colon: bool,
}

impl Scan<'_> {
    pub(crate) fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    /// The byte at an offset from here.
    pub(crate) fn byte(&self, ahead: usize) -> Option<u8> {
        self.line.as_bytes().get(self.at + ahead).copied()
    }

    /// The byte before this one.
    pub(crate) fn before(&self) -> Option<u8> {
        self.line.as_bytes()[..self.at].last().copied()
    }

    /// Takes everything up to an offset as a token.
    pub(crate) fn push(&mut self, end: usize, class: Class) {
        let range = self.at..end;
        match self.tokens.last_mut() {
            _ if range.is_empty() => {}
            Some((last, same)) if *same == class && last.end == range.start => last.end = end,
            _ => self.tokens.push((range, class)),
        }
        self.at = end;
        self.last = self.line[..end].bytes().next_back();
        self.before_value = false;
        self.expects = None;
    }

    /// Passes over a character that is part of no token.
    pub(crate) fn skip(&mut self) {
        let Some(next) = self.rest().chars().next() else { return };
        if !next.is_whitespace() {
            self.last = self.byte(0);
            self.before_value = false;
            if !matches!(next, '*' | '&') {
                self.expects = None;
            }
        }
        self.at += next.len_utf8();
    }

    /// Passes over spaces.
    pub(crate) fn spaces(&mut self) {
        self.at = self.line.len() - self.rest().trim_start().len();
    }
}

impl Lexer {
    /// Makes a lexer that begins where nothing is open.
    pub fn new(syntax: &'static Syntax) -> Self {
        let words = syntax.words();
        Self { syntax, words, state: State::Nothing, heredoc: None, in_tag: false, depth: 0 }
    }

    /// Returns the tokens of the next line, which is given without its line feed.
    pub fn line(&mut self, line: &str) -> Vec<Token> {
        let mut scan = Scan {
            line,
            at: 0,
            tokens: Vec::new(),
            last: None,
            before_value: false,
            expects: None,
            after_colon: false,
        };
        match &self.state {
            State::Nothing => self.begin(&mut scan),
            State::Fence => {
                if is_fence(line) {
                    self.state = State::Nothing;
                }
                return scan.tokens;
            }
            State::Heredoc(word) => {
                if line.trim() == word {
                    self.state = State::Nothing;
                }
                scan.push(line.len(), Class::String);
                return scan.tokens;
            }
            State::Block { .. } | State::String(_) => {}
        }
        while scan.at < line.len() {
            match self.state {
                State::Block { marks, depth } => self.block(&mut scan, marks, depth),
                State::String(quote) => self.string(&mut scan, quote),
                _ => self.next(&mut scan),
            }
        }
        if let (State::Nothing, Some(word)) = (&self.state, self.heredoc.take()) {
            self.state = State::Heredoc(word);
        }
        scan.tokens
    }

    /// Reads what is special at the beginning of a line.
    fn begin(&mut self, scan: &mut Scan<'_>) {
        match self.syntax.form {
            Form::Prose if is_fence(scan.line) => {
                self.state = State::Fence;
                scan.at = scan.line.len();
            }
            Form::Prose => crate::markup::heading(scan),
            Form::Colons => crate::markup::colon_key(scan),
            Form::Equations => crate::markup::equation_key(scan),
            Form::Code if self.syntax.has(TARGETS) => {
                crate::markup::target(scan);
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
            Form::Code => self.code(scan),
            Form::Markup => self.markup(scan),
            Form::Styles => self.style(scan),
            Form::Colons | Form::Equations => self.value(scan),
            Form::Prose => Self::prose(scan),
        };
        if !done {
            scan.skip();
        }
    }

    /// Reads a comment, or the beginning of a block comment or string.
    fn open(&mut self, scan: &mut Scan<'_>) -> bool {
        let rest = scan.rest();
        let is_start = scan.last.is_none();
        // A mark that is a word has its line for itself.
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
        if !self.in_tag && self.syntax.form == Form::Markup || !self.may_quote(scan) {
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

    /// Returns whether a string may begin here. In a value without quotes an apostrophe is one.
    fn may_quote(&self, scan: &Scan<'_>) -> bool {
        self.syntax.form != Form::Colons
            || scan.last.is_none_or(|last| matches!(last, b':' | b',' | b'-' | b'[' | b'{' | b'('))
    }

    /// Reads a block comment to its end or to that of the line.
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

    /// Reads a string to its end or to that of the line.
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
                    // The string goes on behind the line feed.
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
