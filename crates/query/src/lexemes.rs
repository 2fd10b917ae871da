//! The distinct words of texts, in which `pg_trgm` finds the same trigrams as in the texts.
//!
//! `pg_trgm` takes trigrams from lower-case words (runs of letters and digits), regardless of what is between them and
//! of repetitions. So an index over the distinct words names the same candidates, in a fraction of the space. Which
//! non-ASCII characters are letters depends on the server's locale and is left to the server: texts are split only at
//! ASCII characters other than letters and digits. All letters are folded, as in literals.

use ngram::fold_beyond_ascii;

/// Maps each byte to itself, to its lower case, or to 0 if it ends a word.
const FOLDED: [u8; 256] = folded();

const fn folded() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || !b.is_ascii() {
            table[byte] = b.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
}

/// An odd constant that mixes a byte into a hash.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the hash of a word with one more byte.
const fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(MIX).rotate_right(23)
}

/// Initial slots of the hash table: enough for the words of some dozens of kilobytes of text.
const PLACES: usize = 1 << 13;

/// The distinct words of some texts, in the order of their first occurrence.
#[derive(Debug)]
pub struct Lexemes {
    /// All words, with a space before, between and after them.
    text: Vec<u8>,
    /// An open-addressing hash table of the words: the start and end of each in `text`. An end of 0 marks an empty
    /// slot.
    places: Vec<(u32, u32)>,
    words: usize,
    /// Total size of the texts, in bytes.
    bytes: usize,
}

impl Default for Lexemes {
    fn default() -> Self {
        Self { text: vec![b' '], places: vec![(0, 0); PLACES], words: 0, bytes: 0 }
    }
}

impl Lexemes {
    /// Adds the words of a text.
    pub fn add(&mut self, text: &str) {
        self.bytes += text.len();
        let (mut begin, mut hash) = (self.text.len(), 0_u64);
        for byte in fold_beyond_ascii(text).bytes().chain([0]) {
            let byte = FOLDED[usize::from(byte)];
            if byte != 0 {
                self.text.push(byte);
                hash = mix(hash, byte);
            } else if self.text.len() > begin {
                self.end_word(begin, hash);
                (begin, hash) = (self.text.len(), 0);
            }
        }
    }

    /// Keeps the word from `begin` to the end of `text`; removes it if it is a duplicate.
    fn end_word(&mut self, begin: usize, hash: u64) {
        let at = self.find(begin..self.text.len(), hash);
        if self.places[at].1 != 0 {
            self.text.truncate(begin);
            return;
        }
        self.places[at] = (begin as u32, self.text.len() as u32);
        self.text.push(b' ');
        self.words += 1;
        if self.words > self.places.len() / 2 {
            self.grow();
        }
    }

    /// Returns the slot of a word: the one that has it, or the empty one where it belongs.
    fn find(&self, word: std::ops::Range<usize>, hash: u64) -> usize {
        let mask = self.places.len() - 1;
        let word = &self.text[word];
        let mut at = (hash.wrapping_mul(MIX) >> 32) as usize & mask;
        loop {
            let (begin, end) = self.places[at];
            if end == 0 || self.text[begin as usize..end as usize] == *word {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let places = vec![(0, 0); self.places.len() * 2];
        for (begin, end) in std::mem::replace(&mut self.places, places) {
            if end != 0 {
                let word = begin as usize..end as usize;
                let hash = self.text[word.clone()].iter().fold(0, |hash, byte| mix(hash, *byte));
                let at = self.find(word, hash);
                self.places[at] = (begin, end);
            }
        }
    }

    /// Returns all words, with a space before, between and after them.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.text).expect("texts were cut at ASCII")
    }

    /// Returns the total size of the texts that were added, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes all words.
    pub fn clear(&mut self) {
        if self.places.len() > PLACES {
            // Clearing an unusually large table would slow down every later text.
            *self = Self::default();
            return;
        }
        self.text.truncate(1);
        self.places.fill((0, 0));
        (self.words, self.bytes) = (0, 0);
    }
}

/// Splits a literal into the parts that must each occur in the words of a text that contains it. A space marks a known
/// beginning or end of a word: a text with `fmt.Print(` has `fmt ` and ` Print ` in its words.
pub fn word_parts(literal: &str) -> Vec<String> {
    let is_border = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric();
    let mut parts = Vec::new();
    let mut at = 0;
    for word in literal.split(is_border) {
        let end = at + word.len();
        if !word.is_empty() {
            let before = if at > 0 { " " } else { "" };
            let behind = if end < literal.len() { " " } else { "" };
            parts.push(format!("{before}{word}{behind}"));
        }
        at = end + 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_there_once() {
        let mut words = Lexemes::default();
        words.add("fmt.Println(\"a_b\", fmt)\n");
        words.add("FMT a1 naïve—x ÉÉ");
        assert_eq!(words.text(), " fmt println a b a1 naïve—x éé ");
        assert_eq!(words.bytes(), 24 + 22);
        words.clear();
        assert_eq!(words.text(), " ");
        words.add("\u{212a}elvin");
        assert_eq!(words.text(), " kelvin ");
    }

    #[test]
    fn many_words_have_room() {
        let mut words = Lexemes::default();
        let all: Vec<String> = (0..50_000).map(|n: u32| format!("w{}", n % 20_000)).collect();
        words.add(&all.join("+"));
        let found: Vec<&str> = words.text().split_whitespace().collect();
        assert_eq!(found, all[..20_000]);
    }

    #[test]
    fn a_literal_is_in_the_words_by_its_parts() {
        let check = |literal: &str, expected: &[&str]| assert_eq!(word_parts(literal), expected);
        check("fmt.Print(", &["fmt ", " Print "]);
        check("abc", &["abc"]);
        check("_b_r", &[" b ", " r"]);
        check("naïve—x y", &["naïve—x ", " y"]);
        check("=>", &[]);
    }
}
