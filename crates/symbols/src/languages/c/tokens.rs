//! The tokens of a text in C or C++, in as much detail as needed to tell where definitions begin.

use std::ops::Range;

use crate::blanks::{Blanks, is_word};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    /// A string or a character.
    Literal,
    /// `::`
    Scope,
    /// A single byte.
    Mark(u8),
    /// `#if` and the like, to the end of their lines.
    If,
    /// `#else`, `#elif` and the like.
    Else,
    Endif,
    /// Another preprocessor line.
    Directive,
}

/// A token, and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }

    pub(super) fn is(self, mark: u8) -> bool {
        self.kind == Kind::Mark(mark)
    }

    /// Returns whether it is a preprocessor line.
    pub(super) fn is_directive(self) -> bool {
        matches!(self.kind, Kind::If | Kind::Else | Kind::Endif | Kind::Directive)
    }
}

/// Returns the tokens of a text. Comments within a macro are blanked: for the grammar they end the macro, and the rest
/// of it is code.
pub(super) fn tokens(text: &mut Blanks) -> Vec<Token> {
    let all = text.text().as_bytes();
    let mut tokens = Vec::with_capacity(all.len() / 4);
    let (mut at, mut begins_line) = (0, true);
    while at < all.len() {
        let start = at;
        let kind = match all[at] {
            b'\n' => {
                begins_line = true;
                at += 1;
                continue;
            }
            byte if byte.is_ascii_whitespace() || byte == b'\\' => {
                at += 1;
                continue;
            }
            b'/' if matches!(all.get(at + 1), Some(b'*' | b'/')) => {
                at = comment_end(all, at);
                continue;
            }
            b'#' if begins_line => {
                let kind;
                (kind, at) = directive(text, at);
                kind
            }
            b'"' | b'\'' => {
                at = quote_end(all, at);
                Kind::Literal
            }
            byte if byte.is_ascii_digit() => {
                let digits = |at: usize| {
                    let next = || all.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
                    is_word(all[at]) || all[at] == b'.' || all[at] == b'\'' && next()
                };
                at = (at..all.len()).find(|at| !digits(*at)).unwrap_or(all.len());
                Kind::Number
            }
            byte if is_word(byte) || byte >= 0x80 => {
                let in_word = |byte: u8| is_word(byte) || byte >= 0x80;
                at = text.end_of(at, in_word);
                if all.get(at) == Some(&b'"') && is_raw(&all[start..at]) {
                    at = raw_end(all, at);
                    Kind::Literal
                } else {
                    Kind::Word
                }
            }
            b':' if all.get(at + 1) == Some(&b':') => {
                at += 2;
                Kind::Scope
            }
            byte => {
                at += 1;
                Kind::Mark(byte)
            }
        };
        begins_line = matches!(kind, Kind::If | Kind::Else | Kind::Endif | Kind::Directive);
        tokens.push(Token { kind, start, end: at });
    }
    tokens
}

/// Returns the end of the comment that begins at a place.
fn comment_end(all: &[u8], at: usize) -> usize {
    if all[at + 1] == b'*' {
        let end = all[at + 2..].windows(2).position(|two| two == b"*/");
        return end.map_or(all.len(), |end| at + 2 + end + 2);
    }
    let mut end = at;
    while end < all.len() && all[end] != b'\n' {
        end = continued(all, end).unwrap_or(end + 1);
    }
    end
}

/// Returns the end of the string or character that begins at a place. It ends with its line at the latest.
fn quote_end(all: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < all.len() {
        match all[at] {
            b'\\' => at = continued(all, at).unwrap_or(at + 2),
            b'\n' => return at,
            byte if byte == all[start] => return at + 1,
            _ => at += 1,
        }
    }
    all.len()
}

/// Returns whether a string after this word has no escapes: `R"x(...)x"`.
fn is_raw(word: &[u8]) -> bool {
    matches!(word, b"R" | b"LR" | b"uR" | b"UR" | b"u8R")
}

fn raw_end(all: &[u8], at: usize) -> usize {
    let rest = &all[at + 1..];
    let Some(open) = rest.iter().take(17).position(|byte| *byte == b'(') else {
        return quote_end(all, at);
    };
    let end = [b")", &rest[..open], b"\""].concat();
    let found = rest.windows(end.len()).position(|some| some == end);
    found.map_or(all.len(), |found| at + 1 + found + end.len())
}

/// Returns where the next line begins if a backslash at a place joins it to this one.
fn continued(all: &[u8], at: usize) -> Option<usize> {
    if all[at] != b'\\' {
        return None;
    }
    let blanks = all[at + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let feed = at + 1 + blanks.count();
    (all.get(feed) == Some(&b'\n')).then_some(feed + 1)
}

/// Returns the kind of the directive at a place, and the end of its last line.
fn directive(text: &mut Blanks, start: usize) -> (Kind, usize) {
    let all = text.text().as_bytes();
    let begin = text.end_of(start + 1, |byte| matches!(byte, b' ' | b'\t'));
    let end = text.end_of(begin, is_word);
    let kind = match &all[begin..end] {
        b"if" | b"ifdef" | b"ifndef" => Kind::If,
        b"else" | b"elif" | b"elifdef" | b"elifndef" => Kind::Else,
        b"endif" => Kind::Endif,
        _ => Kind::Directive,
    };
    let is_macro = &all[begin..end] == b"define";
    let mut comments: Vec<Range<usize>> = Vec::new();
    let (mut at, mut code_end) = (end, end);
    while at < all.len() && all[at] != b'\n' {
        let next = match all[at] {
            b'\\' if let Some(next) = continued(all, at) => {
                at = next;
                continue;
            }
            b'/' if matches!(all.get(at + 1), Some(b'*' | b'/')) => {
                let end = comment_end(all, at);
                comments.push(at..end);
                at = end;
                continue;
            }
            b'"' => quote_end(all, at),
            b'\'' if is_macro => quote_end(all, at),
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => at + 1,
        };
        (at, code_end) = (next, next);
    }
    if is_macro {
        for comment in comments {
            if all[comment.start + 1] == b'/' {
                // For the grammar, another comment may begin in it.
                for at in comment.start + 2..comment.end - 1 {
                    if all[at..].starts_with(b"/*") {
                        text.put(at + 1, b' ');
                    }
                }
            } else if comment.start < code_end {
                blank_comment(text, comment);
            }
        }
    }
    (kind, at.min(all.len()))
}

/// Blanks a comment. Its lines are joined, as the preprocessor does.
fn blank_comment(text: &mut Blanks, comment: Range<usize>) {
    let all = text.text().as_bytes();
    text.blank(comment.clone());
    for feed in comment.clone().filter(|at| all[*at] == b'\n') {
        let last = if all[feed - 1] == b'\r' { feed - 2 } else { feed - 1 };
        if last >= comment.start && all[last] != b'\n' {
            text.put(last, b'\\');
        }
        // A space between the two would separate them.
        if all[feed - 1] == b'\r' {
            text.put(feed - 1, b'\r');
        }
    }
}
