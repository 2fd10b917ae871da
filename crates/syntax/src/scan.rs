//! The line being read.

use crate::languages::Syntax;
use crate::words::Words;
use crate::{Class, Token};

/// State that one line passes to the next, besides the open token.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// The word that ends the text which begins after this line.
    pub(crate) heredoc: Option<String>,
    /// Whether a tag is open.
    pub(crate) in_tag: bool,
    /// How many braces are open.
    pub(crate) depth: usize,
}

/// A line, and the position in it.
#[derive(Debug)]
pub(crate) struct Scan<'l> {
    pub(crate) syntax: &'static Syntax,
    pub(crate) words: &'static Words,
    pub(crate) carried: Carried,
    pub(crate) line: &'l str,
    /// Offset of the next byte.
    pub(crate) at: usize,
    pub(crate) tokens: Vec<Token>,
    /// The last character other than a space; `None` at the beginning.
    pub(crate) last: Option<u8>,
    /// Whether a value may follow the last word.
    pub(crate) before_value: bool,
    /// The class of the next name.
    pub(crate) expects: Option<Class>,
    /// In a style sheet, whether a colon precedes in the same declaration.
    pub(crate) after_colon: bool,
}

impl Scan<'_> {
    pub(crate) fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    /// Returns the byte at an offset from here.
    pub(crate) fn byte(&self, ahead: usize) -> Option<u8> {
        self.line.as_bytes().get(self.at + ahead).copied()
    }

    /// Returns the byte before this one.
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

    /// Skips a character that is part of no token.
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

    /// Skips spaces.
    pub(crate) fn spaces(&mut self) {
        self.at = self.line.len() - self.rest().trim_start().len();
    }
}

/// Returns whether a byte is part of names. All non-ASCII bytes are.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns the length of the name with which a text begins, in bytes.
pub(crate) fn name_length(text: &str) -> usize {
    text.bytes().take_while(|byte| is_name(*byte)).count()
}

/// Reads a number and the text directly after it.
pub(crate) fn number(scan: &mut Scan<'_>) {
    let bytes = scan.line.as_bytes();
    let mut end = scan.at;
    while let Some(byte) = bytes.get(end) {
        let next_is_digit = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        let is_exponent = end > scan.at && matches!(bytes[end - 1], b'e' | b'E');
        let more = match byte {
            b'.' | b'\'' => next_is_digit,
            b'+' | b'-' => next_is_digit && is_exponent && !scan.rest().starts_with("0x"),
            byte => byte.is_ascii_alphanumeric() || *byte == b'_',
        };
        if !more {
            break;
        }
        end += 1;
    }
    scan.push(end.max(scan.at + 1), Class::Constant);
}
