//! What a thread remembers of the runs that it has cut: most runs of a text were seen before.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::Word;

/// Maximum bytes of a run, and number of words, in a slot.
const KEY: usize = 23;
const WORDS: usize = 5;

/// Number of slots: together they take 1 MB.
const SLOTS: usize = 1 << 14;

/// Number of other runs to remember.
const OTHERS: usize = 1 << 12;

/// A word of a run, and its place in it, in bytes below 256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece(u64);

impl Piece {
    pub(crate) fn new(place: &Range<usize>, word: Word) -> Self {
        // A place is not empty, so this is not 0.
        Self(word.0 << 16 | (place.start as u64) << 8 | place.end as u64)
    }

    pub(crate) fn place(self) -> Range<usize> {
        (self.0 >> 8 & 0xff) as usize..(self.0 & 0xff) as usize
    }

    pub(crate) fn word(self) -> Word {
        Word(self.0 >> 16)
    }
}

/// A short run with few words. The last byte of the key is its length; 0 in an empty slot.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Slot {
    key: [u64; 3],
    pieces: [Piece; WORDS],
}

/// The words of runs.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Each run has two neighbouring places.
    slots: Vec<Slot>,
    others: FxHashMap<Box<str>, Box<[Piece]>>,
}

impl Memory {
    /// Calls `each` for the words of a run, if it is remembered.
    #[inline]
    pub(crate) fn recall(&self, run: &str, mut each: impl FnMut(Piece)) -> bool {
        if run.len() > KEY {
            let Some(pieces) = self.others.get(run) else { return false };
            pieces.iter().for_each(|piece| each(*piece));
            return true;
        }
        if self.slots.is_empty() {
            return false;
        }
        let key = key(run);
        let at = place(&key);
        let slot = [at, at ^ 1].into_iter().map(|at| &self.slots[at]).find(|slot| slot.key == key);
        let Some(slot) = slot else { return !run.is_empty() && self.recall_other(run, each) };
        slot.pieces.iter().take_while(|piece| piece.0 != 0).for_each(|piece| each(*piece));
        true
    }

    #[cold]
    fn recall_other(&self, run: &str, each: impl FnMut(Piece)) -> bool {
        let pieces = self.others.get(run);
        pieces.inspect(|pieces| pieces.iter().copied().for_each(each)).is_some()
    }

    /// Remembers the words of a run.
    pub(crate) fn remember(&mut self, run: &str, pieces: &[Piece]) {
        if run.len() > KEY || pieces.len() > WORDS {
            if self.others.len() >= OTHERS {
                self.others.clear();
            }
            self.others.insert(run.into(), pieces.into());
            return;
        }
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); SLOTS];
        }
        let mut slot = Slot { key: key(run), ..Slot::default() };
        slot.pieces[..pieces.len()].copy_from_slice(pieces);
        let at = place(&slot.key);
        self.slots[at ^ 1] = self.slots[at];
        self.slots[at] = slot;
    }
}

/// Returns the bytes of a run, and its length.
#[inline]
fn key(run: &str) -> [u64; 3] {
    let mut bytes = [0; 24];
    bytes[..run.len()].copy_from_slice(run.as_bytes());
    bytes[KEY] = run.len() as u8;
    let (words, _) = bytes.as_chunks::<8>();
    [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]), u64::from_le_bytes(words[2])]
}

/// Returns the first place of a run.
#[inline]
fn place(key: &[u64; 3]) -> usize {
    let mixed = (key[0] ^ key[1].rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32 ^ key[2]).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> (64 - SLOTS.ilog2())) as usize
}
