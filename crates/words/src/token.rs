//! Cuts texts into words.
//!
//! A *run* is letters, digits and `_` without a gap. Its *parts* end at `_`, between a letter and a digit, and before a
//! capital that follows a lowercase letter or precedes one (`HTTPServer`: `http`, `server`). Each part is a word; so is the run
//! as a whole, without `_`, if it has several. Both are written in lowercase, and stemmed if they are of ASCII letters. Of
//! scripts that are written without spaces, each two neighbouring characters are a word. The words of a run depend on
//! nothing around it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};

use crate::Word;
use crate::memory::{Memory, Piece};

/// Maximum bytes of a part, and of a whole run that is a word.
const MAX_PART: usize = 32;
const MAX_WHOLE: usize = 64;

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Calls `each` for every word of a text, in the order of the text (a whole run before its parts), with its place: that of
/// the run, of the part, or of the two characters, in bytes.
pub fn tokens(text: &str, each: &mut dyn FnMut(Range<usize>, Word)) {
    // Taken out, so that `each` may cut a text, too.
    let mut memory = MEMORY.take();
    let mut pieces = Vec::new();
    runs(text, |range| {
        let run = &text[range.clone()];
        let start = range.start;
        let mut tell = |piece: Piece| {
            let place = piece.place();
            each(start + place.start..start + place.end, piece.word());
        };
        if memory.recall(run, &mut tell) {
            return;
        }
        if run.len() > MAX_WHOLE {
            cut(run, &mut |place, _| {
                let word = word(&mut memory, &run[place.clone()]);
                each(start + place.start..start + place.end, word);
            });
            return;
        }
        pieces.clear();
        cut(run, &mut |place, _| {
            let is_run = place.len() == run.len();
            let word =
                if is_run { Word::of(&form(run)) } else { word(&mut memory, &run[place.clone()]) };
            pieces.push(Piece::new(&place, word));
        });
        for piece in &pieces {
            tell(*piece);
        }
        memory.remember(run, &pieces);
    });
    MEMORY.set(memory);
}

/// Returns the word of a part. It is remembered as a run: a part of several runs is stemmed once.
fn word(memory: &mut Memory, part: &str) -> Word {
    let (mut word, mut count) = (None, 0);
    memory.recall(part, |piece| {
        word = Some(piece.word());
        count += 1;
    });
    match word {
        Some(word) if count == 1 => word,
        _ => {
            let word = Word::of(&form(part));
            // What is a word as a part is the only word of itself as a run.
            if count == 0 && part.len() <= MAX_PART {
                memory.remember(part, &[Piece::new(&(0..part.len()), word)]);
            }
            word
        }
    }
}

/// Which ASCII bytes are of runs.
const IS_WORD: [bool; 256] = {
    let mut is_word = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        is_word[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    is_word
};

/// Calls `each` for the places of the runs of a text.
pub(crate) fn runs(text: &str, mut each: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let mut gap = 1;
        while at < bytes.len() {
            if IS_WORD[usize::from(bytes[at])] {
                at += 1;
                continue;
            }
            if bytes[at].is_ascii() {
                break;
            }
            let c = text[at..].chars().next().unwrap_or_default();
            if !(c.is_alphanumeric() || is_dense(c)) {
                gap = c.len_utf8();
                break;
            }
            at += c.len_utf8();
        }
        if at > start {
            each(start..at);
        }
        at += gap;
    }
}

/// Returns whether a character is of a script that is written without spaces.
pub fn is_dense(c: char) -> bool {
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

/// Calls `each` for the places of the words of a run, and whether each is the whole of several parts. The word is the
/// [`form`] of what stands there.
pub(crate) fn cut(run: &str, each: &mut dyn FnMut(Range<usize>, bool)) {
    let parts = parts_of(run);
    let dense = parts.iter().any(|(_, class)| *class == Class::Dense);
    if parts.len() > 1 && !dense && run.len() <= MAX_WHOLE {
        each(0..run.len(), true);
    }
    if is_noise(run, parts.len()) {
        return;
    }
    for (place, class) in parts {
        let part = &run[place.clone()];
        if class == Class::Dense {
            pairs(part, &mut |pair| {
                let start = place.start + pair.start;
                each(start..place.start + pair.end, false);
            });
        } else if part.len() <= MAX_PART && (part.len() > 1 || class == Class::Digit) {
            each(place, false);
        }
    }
}

/// Calls `each` for the places of the parts of a name, which may have several runs (`read-file`, `app.config`): what
/// [`tokens`] makes words of, without their wholes.
pub fn parts(name: &str, each: &mut dyn FnMut(Range<usize>)) {
    runs(name, |run: Range<usize>| {
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
            (_, Class::Line) | (Class::Small | Class::Capital, Class::Small) => false,
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
pub(crate) fn form(run: &str) -> Cow<'_, str> {
    thread_local! {
        static STEMMER: Stemmer = Stemmer::create(Algorithm::English);
    }
    let lower = if run.is_ascii() {
        let mut lower = run.to_ascii_lowercase();
        lower.retain(|c| c != '_');
        lower
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
