//! The hash of a word.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Number of bits of a [`Word`].
pub const WORD_BITS: u8 = 40;

/// What is looked up: the hash, of [`WORD_BITS`] bits, of a stem, of a whole identifier or of two characters. Two words of
/// an index of a million different ones share a hash with a probability of a half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(pub u64);

impl Word {
    /// Returns the word of a form: a stem, an identifier or two characters, in lowercase.
    pub fn of(form: &str) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(form.as_bytes());
        Self(hasher.finish() >> (64 - WORD_BITS))
    }
}

/// Returns the number of the row with a word, in a segment whose words are spread over `1 << bits` buckets: the first
/// `bits` of the hash.
pub fn bucket(word: Word, bits: u8) -> u32 {
    (word.0 >> (WORD_BITS - bits)) as u32
}
