//! Cuts texts into words.
//!
//! A *run* is letters, digits and `_` without a gap. Its *parts* end at `_`, between a letter and a digit, and before a
//! capital that follows a small letter or precedes one (`HTTPServer`: `http`, `server`). Each part is a word; so is the run
//! as a whole, without `_`, if it has several. Both are written in lowercase, and stemmed if they are of ASCII letters. Of
//! scripts that are written without spaces, each two neighbouring characters are a word. The words of a run depend on
//! nothing around it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::FxHashMap;

use crate::Word;

/// Maximum bytes of a part, and of a whole run that is a word.
const MAX_PART: usize = 32;
const MAX_WHOLE: usize = 64;

/// Number of runs whose words each thread remembers.
const REMEMBERED: usize = 1 << 15;

/// A word of a run.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Its place in the run, in bytes.
    start: u8,
    end: u8,
    word: Word,
}

/// What a thread remembers: most runs of a text were seen before.
#[derive(Default)]
struct Memory {
    runs: FxHashMap<Box<str>, Box<[Piece]>>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Calls `each` for every word of a text, in the order of the text (a whole run before its parts), with its place: that of
/// the run, of the part, or of the two characters, in bytes.
pub fn tokens(text: &str, each: &mut dyn FnMut(Range<usize>, Word)) {
    // Taken out, so that `each` may cut a text, too.
    let mut memory = MEMORY.take();
    runs(text, &mut |range| {
        let run = &text[range.clone()];
        if run.len() > MAX_WHOLE {
            cut(run, &mut |place, form, _| {
                each(range.start + place.start..range.start + place.end, Word::of(form));
            });
            return;
        }
        let mut tell = |pieces: &[Piece]| {
            for Piece { start, end, word } in pieces {
                let (start, end) = (usize::from(*start), usize::from(*end));
                each(range.start + start..range.start + end, *word);
            }
        };
        if let Some(pieces) = memory.runs.get(run) {
            tell(pieces);
            return;
        }
        let mut pieces = Vec::new();
        cut(run, &mut |place, form, _| {
            let (start, end) = (place.start as u8, place.end as u8);
            pieces.push(Piece { start, end, word: Word::of(form) });
        });
        tell(&pieces);
        if memory.runs.len() >= REMEMBERED {
            memory.runs.clear();
        }
        memory.runs.insert(run.into(), pieces.into());
    });
    MEMORY.set(memory);
}

/// Calls `each` for the places of the runs of a text.
pub(crate) fn runs(text: &str, each: &mut dyn FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() {
            let byte = bytes[at];
            if byte.is_ascii() {
                if !is_word_byte(byte) {
                    break;
                }
                at += 1;
            } else {
                let c = text[at..].chars().next().expect("there are bytes left");
                if !(c.is_alphanumeric() || is_dense(c)) {
                    break;
                }
                at += c.len_utf8();
            }
        }
        if at > start {
            each(start..at);
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether a character is of a script that is written without spaces.
fn is_dense(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1100}'..='\u{11ff}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// What a character is, as far as parts go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Small,
    Capital,
    Digit,
    Line,
    Dense,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            '_' => Self::Line,
            'a'..='z' => Self::Small,
            'A'..='Z' => Self::Capital,
            '0'..='9' => Self::Digit,
            _ if c.is_ascii() => Self::Line,
            _ if is_dense(c) => Self::Dense,
            _ if c.is_uppercase() => Self::Capital,
            _ if c.is_numeric() => Self::Digit,
            _ => Self::Small,
        }
    }
}

/// Calls `each` for the words of a run, with their places, their forms, and whether it is the whole of several parts.
pub(crate) fn cut(run: &str, each: &mut dyn FnMut(Range<usize>, &str, bool)) {
    let parts = parts_of(run);
    let dense = parts.iter().any(|(_, class)| *class == Class::Dense);
    if parts.len() > 1 && !dense && run.len() <= MAX_WHOLE {
        each(0..run.len(), &form(run), true);
    }
    if is_noise(run, parts.len()) {
        return;
    }
    for (place, class) in parts {
        let part = &run[place.clone()];
        if class == Class::Dense {
            pairs(part, &mut |pair| {
                let start = place.start + pair.start;
                each(start..place.start + pair.end, &part[pair], false);
            });
        } else if part.len() <= MAX_PART && (part.len() > 1 || class == Class::Digit) {
            each(place, &form(part), false);
        }
    }
}

/// Calls `each` for the places of the parts of a name, which may have several runs (`read-file`, `app.config`): what
/// [`tokens`] makes words of, without their wholes.
pub fn parts(name: &str, each: &mut dyn FnMut(Range<usize>)) {
    runs(name, &mut |run| {
        for (place, class) in parts_of(&name[run.clone()]) {
            let is_word = place.len() > 1 || class == Class::Digit;
            if is_word && place.len() <= MAX_PART {
                each(run.start + place.start..run.start + place.end);
            }
        }
    });
}

/// Returns what is hashed of a part of a name: its stem, in lowercase.
pub fn stem(part: &str) -> String {
    form(part).into_owned()
}

/// Returns the places of the parts of a run, each with the class of its first character.
fn parts_of(run: &str) -> Vec<(Range<usize>, Class)> {
    let mut parts: Vec<(Range<usize>, Class)> = Vec::new();
    let mut chars = run.char_indices().map(|(at, c)| (at, Class::of(c))).peekable();
    let mut before = Class::Line;
    while let Some((at, class)) = chars.next() {
        let next = chars.peek().map(|(_, class)| *class);
        let begins = match (before, class) {
            (_, Class::Line) => false,
            (Class::Small | Class::Capital, Class::Small) => false,
            (Class::Capital, Class::Capital) => next == Some(Class::Small),
            (one, other) => one != other,
        };
        let end = chars.peek().map_or(run.len(), |(at, _)| *at);
        if begins {
            parts.push((at..end, class));
        } else if class != Class::Line
            && let Some((place, _)) = parts.last_mut()
        {
            place.end = end;
        }
        before = class;
    }
    parts
}

/// Returns whether a run is no name: a hash, a key or data in base64.
fn is_noise(run: &str, parts: usize) -> bool {
    run.len() >= 16 && parts * 4 > run.len() && !run.contains('_')
}

/// Returns the form of a run or a part that is looked up.
fn form(run: &str) -> Cow<'_, str> {
    thread_local! {
        static STEMMER: Stemmer = Stemmer::create(Algorithm::English);
    }
    let lower: String = if run.is_ascii() {
        run.bytes()
            .filter(|byte| *byte != b'_')
            .map(|byte| byte.to_ascii_lowercase() as char)
            .collect()
    } else {
        run.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
    };
    if lower.len() > 2 && lower.bytes().any(|byte| byte.is_ascii_lowercase()) && lower.is_ascii() {
        return Cow::Owned(STEMMER.with(|stemmer| stemmer.stem(&lower).into_owned()));
    }
    Cow::Owned(lower)
}

/// Calls `each` for the places of each two neighbouring characters; of a single one, for its own.
fn pairs(part: &str, each: &mut dyn FnMut(Range<usize>)) {
    let mut before: Option<usize> = None;
    let mut told = false;
    for (at, c) in part.char_indices() {
        if let Some(before) = before {
            each(before..at + c.len_utf8());
            told = true;
        }
        before = Some(at);
    }
    if !told {
        each(0..part.len());
    }
}
