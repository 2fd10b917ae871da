//! An inverted index from pairs of letters to texts: folders, or file names.

use std::collections::HashMap;
use std::ops::Range;

use super::letters::{LetterRole, MIN_INITIALS, fold, role};

/// Texts, and for each pair of letters the list of texts that contain it.
#[derive(Debug, Default)]
pub(super) struct PairIndex {
    /// All texts, folded and concatenated.
    text: Vec<u8>,
    /// Offset of each text in `text`, and of the end.
    starts: Vec<u32>,
    /// Numbers of the texts that contain each pair, pair by pair.
    lists: Vec<u32>,
    /// Offset of each pair's list in `lists`, and of the end.
    pairs: Vec<u32>,
    /// Letters of each text, as bits: see [`letter_bit`].
    pub(super) letters: Vec<u32>,
    /// Length of each text in bytes, at most 255. A quarter of the size of `starts`, for a pass over all
    /// texts.
    pub(super) lengths: Vec<u8>,
    /// Hash of the first letters of each name's words: see [`initials`].
    pub(super) initials: Vec<u16>,
}

/// Numbers texts, each once.
#[derive(Default)]
pub(super) struct Interner<'p> {
    numbers: HashMap<&'p str, u32>,
    texts: Vec<&'p str>,
}

impl<'p> Interner<'p> {
    /// Returns the number of a text that has one.
    pub(super) fn get(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// Returns the number of a text, and assigns one if the text is new.
    pub(super) fn number(&mut self, text: &'p str) -> u32 {
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry(text).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        number
    }

    /// Returns all texts, by number.
    pub(super) fn into_texts(self) -> Vec<&'p str> {
        self.texts
    }
}

impl PairIndex {
    /// Indexes file names or folder names. `before` returns the letter before each text.
    pub(super) fn new(texts: &[&str], names: bool, before: impl Fn(usize) -> Option<char>) -> Self {
        let bytes = texts.iter().map(|text| text.len()).sum();
        let mut all = Self { text: Vec::with_capacity(bytes), ..Self::default() };
        all.starts.reserve(texts.len() + 1);
        let mut held: Vec<(u16, u32)> = Vec::with_capacity(bytes);
        let mut own: Vec<u16> = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            all.starts.push(all.text.len() as u32);
            let (mut buffer, mut last) = ([0; 4], None);
            // First letter of the previous word. For a folder, it begins with that of the folder around it.
            let mut word = before(number).map(fold);
            own.clear();
            let (mut first, mut before_point) = (Vec::new(), 0);
            let mut rest = text.chars().peekable();
            while let Some(letter) = rest.next() {
                let small = fold(letter);
                let begins = match role(last, letter, rest.peek().copied(), names) {
                    LetterRole::Word | LetterRole::Folder | LetterRole::Name => true,
                    LetterRole::Inside | LetterRole::Separator => false,
                };
                if letter == '.' && last.is_some() {
                    before_point = first.len();
                }
                if begins && names && small.is_alphabetic() {
                    first.push(small);
                }
                if begins {
                    own.extend(word.replace(small).map(|before| pair_across(before, small)));
                }
                if last.is_none() {
                    own.push(pair_across('/', small));
                }
                all.text.extend_from_slice(small.encode_utf8(&mut buffer).as_bytes());
                last = Some(letter);
            }
            if names {
                // Words of the extension do not count as words of the name.
                first.truncate(if before_point > 0 { before_point } else { first.len() });
                all.initials.push(initials(&first));
            }
            let from = all.starts[number] as usize;
            all.lengths.push((all.text.len() - from).min(u8::MAX.into()) as u8);
            all.letters.push(all.text[from..].iter().fold(0, |all, byte| all | letter_bit(*byte)));
            own.extend(all.text[from..].windows(2).map(pair_of));
            own.sort_unstable();
            own.dedup();
            held.extend(own.iter().map(|pair| (*pair, number as u32)));
        }
        all.starts.push(all.text.len() as u32);
        all.text.shrink_to_fit();
        all.pairs = vec![0; 1 << 16 | 1];
        for (pair, _) in &held {
            all.pairs[usize::from(*pair) + 1] += 1;
        }
        for at in 1..all.pairs.len() {
            all.pairs[at] += all.pairs[at - 1];
        }
        let mut next = all.pairs.clone();
        all.lists = vec![0; held.len()];
        for (pair, number) in held {
            let place = &mut next[usize::from(pair)];
            all.lists[*place as usize] = number;
            *place += 1;
        }
        all
    }

    /// Returns the bytes of memory in use.
    pub(super) fn memory(&self) -> usize {
        let numbers = [&self.starts, &self.lists, &self.pairs, &self.letters];
        self.text.len()
            + self.lengths.len()
            + 2 * self.initials.len()
            + 4 * numbers.iter().map(|some| some.len()).sum::<usize>()
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub(super) fn length(&self, at: usize) -> usize {
        (self.starts[at + 1] - self.starts[at]) as usize
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        &self.text[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Sets a bit of `held` for each of some pairs that a text contains, for a range of texts.
    pub(super) fn note_pairs(&self, pairs: &[u16], texts: Range<usize>, held: &mut [u32]) {
        for (bit, pair) in (0..).zip(pairs) {
            let pair = usize::from(*pair);
            let list = &self.lists[self.pairs[pair] as usize..self.pairs[pair + 1] as usize];
            let from = list.partition_point(|number| (*number as usize) < texts.start);
            for number in &list[from..] {
                let Some(held) = held.get_mut(*number as usize - texts.start) else { break };
                *held |= 1 << bit;
            }
        }
    }
}

/// Hashes the first letters of words. Returns 0 if there are fewer than [`MIN_INITIALS`].
pub(super) fn initials(letters: &[char]) -> u16 {
    if letters.len() < MIN_INITIALS {
        return 0;
    }
    let hash = letters.iter().fold(0_u32, |hash, letter| {
        (hash ^ u32::from(*letter)).wrapping_mul(0x9e37_79b1).rotate_left(5)
    });
    ((hash >> 16 ^ hash) as u16).max(1)
}

/// Returns the pair of the last byte of one letter and the first byte of the next.
fn pair_across(before: char, after: char) -> u16 {
    let (mut left, mut right) = ([0; 4], [0; 4]);
    let left = before.encode_utf8(&mut left).as_bytes();
    pair_of(&[left[left.len() - 1], after.encode_utf8(&mut right).as_bytes()[0]])
}

/// Returns the bit of a byte. All digits share one, and so do all bytes that are not letters, digits or common
/// separators.
pub(super) fn letter_bit(byte: u8) -> u32 {
    1 << match byte {
        b'a'..=b'z' => byte - b'a',
        b'0'..=b'9' => 26,
        b'.' => 27,
        b'_' => 28,
        b'-' => 29,
        b'/' => 30,
        _ => 31,
    }
}

/// Returns the pair of two successive bytes.
pub(super) fn pair_of(two: &[u8]) -> u16 {
    u16::from_be_bytes([two[0], two[1]])
}
