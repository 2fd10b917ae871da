//! Matches one part of a query with folders and file names.

use super::bound::{Bound, LAST_LETTER, LIKELY, PairHits};
use super::index::PathIndex;
use super::pair_index::{PairIndex, initials, letter_bit, pair_of};
use super::query::QueryPart;

/// Maximum number of pairs of a part that are looked up: its last ones.
const PAIRS: usize = u32::BITS as usize;

/// Maximum number of pairs that one error changes.
const PAIRS_OF_ERROR: usize = 3;

/// Lower bound of the letter from which a name can contain the part: the one after the last letter that the name lacks.
/// Three tables, each for a third of the bits of [`letter_bit`].
struct AtBest([Vec<Bound>; 3]);

/// A subsequence to find in texts.
struct Subsequence {
    /// Positions of each byte in the subsequence, as bits.
    positions: [u64; 256],
    /// Its bytes, if there are too many for bits.
    long: Vec<u8>,
}

/// A part of a query, prepared for matching.
pub(super) struct PartMatcher<'a> {
    pub(super) part: &'a QueryPart,
    /// The part, and the part reversed.
    forwards: Subsequence,
    backwards: Subsequence,
    /// Bit of each of its letters.
    bits: Vec<u32>,
    /// Pairs that are looked up.
    pub(super) pairs: Vec<u16>,
    /// Minimum number of them in a near path.
    pub(super) least: u32,
    at_best: AtBest,
    /// The part as a name: its length, the bits of its letters, and its hash as initials.
    name: (usize, u32, u16),
}

impl QueryPart {
    /// Returns how many of its pairs are looked up.
    pub(super) fn pairs(&self) -> usize {
        (self.text.len().max(1) - 1).min(PAIRS)
    }
}

impl<'a> PartMatcher<'a> {
    pub(super) fn new(part: &'a QueryPart) -> Self {
        let text = part.text.as_bytes();
        let pairs: Vec<u16> = text.windows(2).rev().take(PAIRS).map(pair_of).collect();
        let bits: Vec<u32> = text.iter().map(|byte| letter_bit(*byte)).collect();
        let least = pairs.len().saturating_sub(PAIRS_OF_ERROR * part.errors()) as u32;
        let name = text.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let letters = bits[name..].iter().fold(0, |all, bit| all | bit);
        let name = (text.len() - name, letters, initials(&part.letters));
        Self {
            part,
            forwards: Subsequence::new(text.iter()),
            backwards: Subsequence::new(text.iter().rev()),
            pairs,
            least,
            at_best: AtBest::new(&bits),
            bits,
            name,
        }
    }

    /// Computes the hits of each folder together with those around it, and stores them in `hits` at `slot`.
    /// `own` is a buffer for the pairs of each folder alone.
    pub(super) fn hits_of_folders(
        &self,
        index: &PathIndex,
        own: &mut Vec<u32>,
        hits: &mut [PairHits],
        slot: impl Fn(usize) -> usize,
    ) {
        let folders = &index.folders;
        own.clear();
        own.resize(folders.len(), 0);
        folders.note_pairs(&self.pairs, 0..folders.len(), own);
        for (folder, own) in own.iter().enumerate() {
            let around = match folder {
                // The root is its own parent.
                0 => PairHits::default(),
                _ => hits[slot(index.parents[folder] as usize)],
            };
            let from = usize::from(around.letters);
            // Most folders do not contain the next letter.
            let more = self.bits.get(from).is_some_and(|bit| folders.letters[folder] & bit != 0);
            let letters =
                if more { self.forwards.advance(from, folders.get(folder).iter()) } else { from };
            hits[slot(folder)] = PairHits { pairs: own | around.pairs, letters: letters as u16 };
        }
    }

    /// Returns a lower bound of the letter from which a name with these letters contains the part.
    #[inline]
    pub(super) fn at_best(&self, letters: u32) -> Bound {
        self.at_best.of(letters)
    }

    /// Returns the letter from which a name contains the part.
    pub(super) fn held_from(&self, names: &PairIndex, name: usize) -> u16 {
        (self.part.text.len() - self.backwards.advance(0, names.get(name).iter().rev())) as u16
    }

    /// Marks the [likely](Self::likely) names of a range in their bounds.
    pub(super) fn note_likely(&self, names: &PairIndex, first: usize, bounds: &mut [Bound]) {
        let (length, letters, initials) = self.name;
        let (upto, length) = (first + bounds.len(), length.min(u8::MAX.into()) as u8);
        for ((bound, own), own_length) in
            bounds.iter_mut().zip(&names.letters[first..upto]).zip(&names.lengths[first..upto])
        {
            let near = own_length.abs_diff(length) <= 1;
            *bound |= LIKELY * Bound::from(near & two_at_most(own ^ letters));
        }
        if initials != 0 {
            for (bound, own) in bounds.iter_mut().zip(&names.initials[first..upto]) {
                *bound |= LIKELY * Bound::from(*own == initials);
            }
        }
    }

    /// Returns whether a name contains all letters of the part in order, given how many of the first ones its folder
    /// contains; and whether it does so without the folder.
    #[inline]
    pub(super) fn holds(&self, names: &PairIndex, name: usize, letters: u16) -> (bool, bool) {
        // Most names need not be read letter by letter.
        if letters.min(LAST_LETTER) < self.at_best.of(names.letters[name]) {
            return (false, false);
        }
        let from = self.held_from(names, name);
        (letters >= from, from == 0)
    }

    /// Returns the coarse score of a name that may be the part with an error: its length differs by at most one,
    /// and its set of letters by at most two. The coarse score is above all others if the name equals the part, or
    /// if the first letters of its words do.
    #[inline]
    pub(super) fn likely(&self, names: &PairIndex, name: usize) -> Option<u64> {
        let (length, letters, initials) = self.name;
        let all = 8 * self.pairs.len() as u64;
        if initials != 0 && names.initials[name] == initials {
            return Some(all + 8);
        }
        let others = names.letters[name] ^ letters;
        if names.length(name).abs_diff(length) > 1 || !two_at_most(others) {
            return None;
        }
        let same = others == 0 && names.get(name) == self.part.text.as_bytes();
        Some(if same { all + 8 } else { all.saturating_sub(8) })
    }

    /// Returns the coarse score of a path, by the number of pairs in the path and in its name, and by whether each
    /// contains all letters.
    #[inline]
    pub(super) fn coarse_score(&self, pairs: u32, own: u32, (holds, in_name): (bool, bool)) -> u64 {
        let in_name = match in_name {
            true => 3,
            false if own == 0 => 0,
            false => 2 * own.count_ones() / self.pairs.len() as u32,
        };
        u64::from(8 * pairs + 4 * u32::from(holds) + in_name)
    }
}

/// Returns whether at most two bits are set.
#[inline]
fn two_at_most(bits: u32) -> bool {
    let without_first = bits & bits.wrapping_sub(1);
    without_first & without_first.wrapping_sub(1) == 0
}

impl AtBest {
    /// Builds the tables for a part, given the bits of its letters.
    fn new(bits: &[u32]) -> Self {
        let mut from = [0; u32::BITS as usize];
        for (at, bit) in bits.iter().enumerate() {
            from[bit.trailing_zeros() as usize] = (at + 1).min(LAST_LETTER.into()) as Bound;
        }
        Self(std::array::from_fn(|third| {
            let from = &from[11 * third..from.len().min(11 * third + 11)];
            let mut all = vec![0; 1 << 11];
            for held in (0..all.len() - 1).rev() {
                let lacks = held.trailing_ones() as usize;
                let others: Bound = all[held | 1 << lacks];
                all[held] = others.max(from.get(lacks).copied().unwrap_or(0));
            }
            all
        }))
    }

    #[inline]
    fn of(&self, letters: u32) -> Bound {
        let [first, second, third] = &self.0;
        let at = |shift: u32| letters as usize >> shift & 0x7ff;
        first[at(0)].max(second[at(11)]).max(third[at(22)])
    }
}

impl Subsequence {
    fn new<'t>(bytes: impl ExactSizeIterator<Item = &'t u8>) -> Self {
        let mut positions = [0; 256];
        if bytes.len() >= u64::BITS as usize {
            return Self { positions, long: bytes.copied().collect() };
        }
        for (at, byte) in bytes.enumerate() {
            positions[usize::from(*byte)] |= 1_u64 << at;
        }
        Self { positions, long: Vec::new() }
    }

    /// Returns how many of its first bytes were found after a text, if `held` were found before it.
    #[inline]
    fn advance<'t>(&self, held: usize, text: impl Iterator<Item = &'t u8>) -> usize {
        if !self.long.is_empty() {
            return text
                .fold(held, |held, byte| held + usize::from(self.long.get(held) == Some(byte)));
        }
        // A single bit moves up each time the text has the byte at its position.
        let next = text
            .fold(1_u64 << held, |next, byte| next + (next & self.positions[usize::from(*byte)]));
        next.trailing_zeros() as usize
    }
}
