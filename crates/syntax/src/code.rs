//! Finds tokens of programs by the text around them.

use std::mem::take;

use crate::Class;
use crate::languages::Syntax;
use crate::languages::trait_bits::{
    ANNOTATIONS, ANY_CASE, CAPITALS, CHARS, COMMANDS, DIRECTIVES, HEREDOCS, LISP, MACROS, PRIMES,
    REGEX, SYMBOLS, T_TYPES,
};
use crate::scan::{Scan, is_name, name_length, number};
use crate::words::Word;

/// Maximum length, in bytes, of a regular expression or character to look for.
const MAX_AHEAD: usize = 300;

/// Words before values, after which a slash begins a regular expression.
const BEFORE_VALUES: &[&str] = &[
    "return", "case", "typeof", "in", "and", "or", "not", "if", "unless", "when", "while", "split",
];

/// Reads a token of a programming language; returns false if none begins here.
pub(crate) fn token(scan: &mut Scan<'_>) -> bool {
    let Some(byte) = scan.byte(0) else { return false };
    let next = scan.byte(1);
    let begins_name = next.is_some_and(|next| next.is_ascii_alphabetic() || next == b'_');
    let after_name = scan.before().is_some_and(is_name);
    let syntax = scan.syntax;
    let has = |traits| syntax.has(traits);
    match byte {
        // An escaped quote does not begin a string.
        b'\\' if next.is_some_and(|next| matches!(next, b'"' | b'\'' | b'#' | b'`')) => {
            scan.skip();
            false
        }
        b'\\' if begins_name && has(COMMANDS) => {
            scan.push(scan.at + 1 + name_length(&scan.rest()[1..]), Class::Keyword);
            true
        }
        b'\'' if has(CHARS) => character(scan),
        b'/' if has(REGEX) => regex(scan),
        b'#' if has(DIRECTIVES) && scan.last.is_none() => directive(scan),
        b'@' if begins_name && has(ANNOTATIONS) && !after_name => {
            scan.push(scan.at + 1 + name_length(&scan.rest()[1..]), Class::Function);
            true
        }
        b':' if begins_name
            && has(SYMBOLS)
            && !after_name
            && !matches!(scan.before(), Some(b':' | b')')) =>
        {
            scan.push(scan.at + 1 + length(scan.syntax, &scan.rest()[1..]), Class::Constant);
            true
        }
        b'<' if next == Some(b'<') && has(HEREDOCS) => {
            let announced = heredoc(&scan.rest()[2..], has(REGEX));
            scan.carried.heredoc = announced.or(scan.carried.heredoc.take());
            scan.at += 1;
            false
        }
        b'0'..=b'9' => {
            number(scan);
            true
        }
        _ if is_name(byte) || byte == b'$' && !has(LISP) => {
            word(scan);
            true
        }
        _ => false,
    }
}

/// Returns the length of the name with which a text begins, in bytes.
fn length(syntax: &Syntax, text: &str) -> usize {
    let primes = syntax.has(PRIMES);
    let lisp = syntax.has(LISP);
    let more = |byte: &u8| {
        is_name(*byte)
            || *byte == b'$'
            || primes && *byte == b'\''
            || lisp && b"-!?*<>=/+.%&:".contains(byte)
    };
    text.bytes().take_while(|byte| more(byte)).count()
}

/// Reads a word, and classifies it by the text around it.
fn word(scan: &mut Scan<'_>) {
    let rest = scan.rest();
    let mut end = scan.at + length(scan.syntax, rest).max(1);
    let word = &scan.line[scan.at..end];
    let dotted = scan.before() == Some(b'.') && scan.last == Some(b'.');
    let spread = scan.line[..scan.at].ends_with("..");
    let lower = scan.syntax.has(ANY_CASE).then(|| word.to_ascii_lowercase());
    let known = scan.words.get(lower.as_deref().unwrap_or(word));
    let known = known.copied().filter(|_| !dotted || spread);
    let expected = take(&mut scan.expects);
    let next = scan.line.as_bytes().get(end).copied();
    let syntax = scan.syntax;
    let has = |traits| syntax.has(traits);
    let is_macro = || {
        let after = scan.line.as_bytes().get(end + 1);
        next == Some(b'!') && after.is_none_or(|after| b"([{ ".contains(after))
    };
    let is_type = || {
        let capital = has(CAPITALS)
            && word.starts_with(|c: char| c.is_uppercase())
            && word.contains(|c: char| c.is_lowercase());
        capital || has(T_TYPES) && word.len() > 2 && word.ends_with("_t")
    };
    let mut expects = None;
    let class = match known {
        Some(Word::Keyword) => Some(Class::Keyword),
        Some(Word::Constant) => Some(Class::Constant),
        Some(Word::Function) => {
            expects = Some(Class::Function);
            Some(Class::Keyword)
        }
        Some(Word::Type) => {
            expects = Some(Class::Type);
            Some(Class::Keyword)
        }
        None if expected.is_some() => expected,
        None if has(MACROS) && is_macro() => {
            end += 1;
            Some(Class::Function)
        }
        None if word == "$" => None,
        None if next == Some(b'(') && !has(LISP) => Some(Class::Function),
        None => is_type().then_some(Class::Type),
    };
    let before_value = BEFORE_VALUES.contains(&word);
    match class {
        Some(class) => scan.push(end, class),
        None => {
            scan.at = end;
            scan.last = scan.before();
        }
    }
    (scan.before_value, scan.expects) = (before_value, expects);
}

/// Reads a character: `'a'`, `'\n'`, `'\u{1f600}'`, or a few as in C.
fn character(scan: &mut Scan<'_>) -> bool {
    let inside = &scan.rest()[1..];
    let mut chars = inside.char_indices();
    let end = match chars.next() {
        Some((_, '\\')) => {
            let escaped = chars.next().map_or(1, |(at, c)| at + c.len_utf8());
            let upto = inside.floor_char_boundary(inside.len().min(14));
            inside.get(escaped..upto).and_then(|rest| rest.find('\'')).map(|at| escaped + at)
        }
        Some((_, c)) if c != '\'' && inside[c.len_utf8()..].starts_with('\'') => Some(c.len_utf8()),
        _ => None,
    };
    if let Some(end) = end {
        scan.push(scan.at + end + 2, Class::String);
    }
    end.is_some()
}

/// Reads a regular expression, where a value may begin.
fn regex(scan: &mut Scan<'_>) -> bool {
    let before = scan.last.is_none_or(|last| b"(,=:[!&|?{};+-*%<>~^".contains(&last));
    if !before && !scan.before_value {
        return false;
    }
    let mut in_class = false;
    let mut bytes = scan.rest().bytes().enumerate().skip(1).take(MAX_AHEAD);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => {
                if at == 1 {
                    return false;
                }
                let flags = scan.rest()[at + 1..].bytes();
                let flags = flags.take_while(u8::is_ascii_alphabetic).count();
                scan.push(scan.at + at + 1 + flags, Class::String);
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Reads `#include <file>`, or another word after a hash.
fn directive(scan: &mut Scan<'_>) -> bool {
    let rest = &scan.rest()[1..];
    let spaces = rest.len() - rest.trim_start().len();
    let word = name_length(&rest[spaces..]);
    if word == 0 {
        return false;
    }
    let name = rest[spaces..spaces + word].to_owned();
    scan.push(scan.at + 1 + spaces + word, Class::Keyword);
    if matches!(name.as_str(), "include" | "import" | "include_next") {
        scan.spaces();
        if let Some(length) = scan.rest().strip_prefix('<').and_then(|rest| rest.find('>')) {
            scan.push(scan.at + length + 2, Class::String);
        }
    }
    true
}

/// Returns the word at the end of the text that `<<` announces. `marked` tells that a sign precedes it; `<<` alone is
/// an operator.
fn heredoc(rest: &str, marked: bool) -> Option<String> {
    let sign = rest.strip_prefix(['-', '~']);
    let rest = if marked { sign? } else { sign.unwrap_or(rest).trim_start() };
    let rest = rest.strip_prefix(['"', '\'', '\\']).unwrap_or(rest);
    let begins = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins.then(|| rest[..name_length(rest)].to_owned())
}
