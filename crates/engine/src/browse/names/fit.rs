//! What a part of what was typed can match in folders and in names of files.

use rayon::prelude::*;

use super::super::typed::Part;
use super::super::words::{Held, Words, initials, letter, pair};
use super::Names;
use super::pass::{Brief, LAST_LETTER, LIKELY, NOWHERE};
use super::spare::Spared;

/// Pairs of letters of a part that are looked at: its last ones.
const PAIRS: usize = u32::BITS as usize;

/// Names that one thread goes through at a time: what they hold fits into the cache of a core.
const BLOCK: usize = 1 << 13;

/// Pairs that an error may change.
const PAIRS_OF_ERROR: usize = 3;

/// From which letter on a name can at best hold what was typed, by the letters that it does not hold: three tables,
/// each of a third of the letters. It can hold no more from behind the last one on that it lacks, and nothing if it
/// lacks one that no folder holds.
struct AtBest([Vec<Brief>; 3]);

/// Letters that are to be found one after the other.
struct Steps {
    /// Of each byte its places among them, as bits.
    places: [u64; 256],
    /// The letters themselves, if they are more than there are bits.
    typed: Vec<u8>,
}

/// What a part can match.
pub(super) struct Fit<'a> {
    pub(super) part: &'a Part,
    /// What was typed, from its last letter on.
    backwards: Steps,
    /// The pairs that are looked at, and how many of them are in what is near.
    pub(super) pairs: Vec<u16>,
    pub(super) least: u32,
    at_best: AtBest,
    pub(super) held: Spared<'a, FitSpace>,
    /// What was typed as a name: its length, its letters, and what it is as initials.
    name: (usize, u32, u16),
}

/// What folders and names hold of a part.
#[derive(Debug, Default)]
pub(super) struct FitSpace {
    /// Of each folder what it and those around it hold.
    pub(super) folders: Vec<Held>,
    /// Of each name, which pairs it holds, as bits.
    pub(super) names: Vec<u32>,
    /// The same of folders, without those around.
    own: Vec<u32>,
}

impl Part {
    /// How many pairs of it are looked at.
    pub(super) fn pairs(&self) -> usize {
        (self.text.len().max(1) - 1).min(PAIRS)
    }
}

impl<'a> Fit<'a> {
    pub(super) fn new(part: &'a Part, names: &'a Names) -> Self {
        let typed = part.text.as_bytes();
        let pairs: Vec<u16> = typed.windows(2).rev().take(PAIRS).map(pair).collect();
        let words = &names.folders;
        let bits: Vec<u32> = typed.iter().map(|byte| letter(*byte)).collect();
        let forwards = Steps::new(typed.iter());
        let mut held = names.fits.take();
        let FitSpace { folders, names: own_names, own } = &mut *held;
        own.clear();
        own.resize(words.len(), 0);
        own_names.resize(names.names.len(), 0);
        folders.clear();
        folders.reserve(words.len());
        let (most, ()) = rayon::join(
            || {
                words.holding(&pairs, 0..words.len(), own);
                let mut most = 0;
                for (at, own) in own.iter().enumerate() {
                    // That of everything is its own.
                    let around = folders.get(names.parents[at] as usize).copied();
                    let around = around.unwrap_or_default();
                    let from = usize::from(around.letters);
                    // Most folders do not hold the next letter.
                    let more = bits.get(from).is_some_and(|bit| words.letters[at] & bit != 0);
                    let letters =
                        if more { forwards.from(from, words.get(at).iter()) } else { from };
                    folders.push(Held { pairs: own | around.pairs, letters: letters as u16 });
                    most = most.max(letters);
                }
                most
            },
            || {
                own_names.par_chunks_mut(BLOCK).enumerate().for_each(|(block, held)| {
                    let from = BLOCK * block;
                    held.fill(0);
                    names.names.holding(&pairs, from..from + held.len(), held);
                });
            },
        );
        let least = pairs.len().saturating_sub(PAIRS_OF_ERROR * part.errors()) as u32;
        let name = typed.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let letters = bits[name..].iter().fold(0, |all, bit| all | bit);
        let name = (typed.len() - name, letters, initials(&part.letters));
        Self {
            part,
            backwards: Steps::new(typed.iter().rev()),
            pairs,
            least,
            at_best: AtBest::new(&bits, most),
            held,
            name,
        }
    }

    /// As briefs, from which letter on names with these letters can at best hold what was typed.
    pub(super) fn at_best_of(&self, letters: &[u32], briefs: &mut [Brief]) {
        for (brief, letters) in briefs.iter_mut().zip(letters) {
            *brief = self.at_best.of(*letters);
        }
    }

    /// From which letter on a name holds what was typed.
    pub(super) fn from(&self, words: &Words, name: usize) -> u16 {
        (self.part.text.len() - self.backwards.from(0, words.get(name).iter().rev())) as u16
    }

    /// Notes in the briefs of names in a row which of them are [likely](Self::likely).
    pub(super) fn note_likely(&self, words: &Words, first: usize, briefs: &mut [Brief]) {
        let (length, letters, initials) = self.name;
        let upto = first + briefs.len();
        let starts = &words.starts()[first..=upto];
        for ((brief, own), at) in
            briefs.iter_mut().zip(&words.letters[first..upto]).zip(starts.windows(2))
        {
            let near = (at[1] - at[0] + 1).wrapping_sub(length as u32) <= 2;
            *brief |= LIKELY * Brief::from(near & two_at_most(own ^ letters));
        }
        if initials != 0 {
            for (brief, own) in briefs.iter_mut().zip(&words.initials[first..upto]) {
                *brief |= LIKELY * Brief::from(*own == initials);
            }
        }
    }

    /// Whether a name in a folder holds all letters in their order, and whether it does so without the folder.
    #[inline]
    pub(super) fn holds(&self, words: &Words, name: usize, letters: u16) -> (bool, bool) {
        // Most need not be looked at letter by letter.
        if letters.min(LAST_LETTER) < self.at_best.of(words.letters[name]) {
            return (false, false);
        }
        let from = self.from(words, name);
        (letters >= from, from == 0)
    }

    /// What a name promises when it has as many letters as what was typed, but for one, and the same ones, but for
    /// two: it may be it with an error. It promises more than all others when it is that, or when what was typed
    /// are the first letters of its words.
    #[inline]
    pub(super) fn likely(&self, words: &Words, name: usize) -> Option<u64> {
        let (length, letters, initials) = self.name;
        let all = 8 * self.pairs.len() as u64;
        if initials != 0 && words.initials[name] == initials {
            return Some(all + 8);
        }
        let others = words.letters[name] ^ letters;
        if words.length(name).abs_diff(length) > 1 || !two_at_most(others) {
            return None;
        }
        let same = others == 0 && words.get(name) == self.part.text.as_bytes();
        Some(if same { all + 8 } else { all.saturating_sub(8) })
    }

    /// What a path promises by how many pairs it and of them its name hold; and by whether it and its name hold all
    /// letters.
    #[inline]
    pub(super) fn promise(&self, pairs: u32, own: u32, (holds, in_name): (bool, bool)) -> u64 {
        let in_name = match in_name {
            true => 3,
            false if own == 0 => 0,
            false => 2 * own.count_ones() / self.pairs.len() as u32,
        };
        u64::from(8 * pairs + 4 * u32::from(holds) + in_name)
    }
}

/// Whether no more than two bits are set.
#[inline]
fn two_at_most(bits: u32) -> bool {
    let without_first = bits & bits.wrapping_sub(1);
    without_first & without_first.wrapping_sub(1) == 0
}

impl AtBest {
    /// Of typed letters, as bits, of which folders hold so many at most.
    fn new(bits: &[u32], most: usize) -> Self {
        let mut from = [0; u32::BITS as usize];
        for (at, bit) in bits.iter().enumerate() {
            let letter = &mut from[bit.trailing_zeros() as usize];
            *letter = if at < most { (at + 1).min(LAST_LETTER.into()) as Brief } else { NOWHERE };
        }
        Self(std::array::from_fn(|third| {
            let from = &from[11 * third..from.len().min(11 * third + 11)];
            let mut all = vec![0; 1 << 11];
            for held in (0..all.len() - 1).rev() {
                let lacks = held.trailing_ones() as usize;
                let others: Brief = all[held | 1 << lacks];
                all[held] = others.max(from.get(lacks).copied().unwrap_or(0));
            }
            all
        }))
    }

    #[inline]
    fn of(&self, letters: u32) -> Brief {
        let [first, second, third] = &self.0;
        let at = |shift: u32| letters as usize >> shift & 0x7ff;
        first[at(0)].max(second[at(11)]).max(third[at(22)])
    }
}

impl Steps {
    fn new<'t>(typed: impl ExactSizeIterator<Item = &'t u8>) -> Self {
        let (mut places, letters) = ([0; 256], typed.len());
        if letters >= u64::BITS as usize {
            return Self { places, typed: typed.copied().collect() };
        }
        for (at, byte) in typed.enumerate() {
            places[usize::from(*byte)] |= 1_u64 << at;
        }
        Self { places, typed: Vec::new() }
    }

    /// How many letters a text holds one after the other when so many were held before.
    #[inline]
    fn from<'t>(&self, held: usize, text: impl Iterator<Item = &'t u8>) -> usize {
        if !self.typed.is_empty() {
            return text
                .fold(held, |held, byte| held + usize::from(self.typed.get(held) == Some(byte)));
        }
        // The bit of the next letter moves up where that is the byte.
        let next =
            text.fold(1_u64 << held, |next, byte| next + (next & self.places[usize::from(*byte)]));
        next.trailing_zeros() as usize
    }
}
