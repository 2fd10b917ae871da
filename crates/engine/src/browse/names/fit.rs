//! What a part of what was typed can match in folders and in names of files.

use super::super::typed::Part;
use super::super::words::{Words, initials, letter, pair};
use super::Names;
use super::brief::{Brief, Held, LAST_LETTER, LIKELY};

/// Pairs of letters of a part that are looked at: its last ones.
const PAIRS: usize = u32::BITS as usize;

/// Pairs that an error may change.
const PAIRS_OF_ERROR: usize = 3;

/// From which letter on a name can at best hold what was typed, by the letters that it does not hold: three tables,
/// each of a third of the letters. It can hold no more than from behind the last one on that it lacks.
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
    /// What was typed, and the same from its last letter on.
    forwards: Steps,
    backwards: Steps,
    /// Its letters, as bits.
    bits: Vec<u32>,
    /// The pairs that are looked at, and how many of them are in what is near.
    pub(super) pairs: Vec<u16>,
    pub(super) least: u32,
    at_best: AtBest,
    /// What was typed as a name: its length, its letters, and what it is as initials.
    name: (usize, u32, u16),
}

impl Part {
    /// How many pairs of it are looked at.
    pub(super) fn pairs(&self) -> usize {
        (self.text.len().max(1) - 1).min(PAIRS)
    }
}

impl<'a> Fit<'a> {
    pub(super) fn new(part: &'a Part) -> Self {
        let typed = part.text.as_bytes();
        let pairs: Vec<u16> = typed.windows(2).rev().take(PAIRS).map(pair).collect();
        let bits: Vec<u32> = typed.iter().map(|byte| letter(*byte)).collect();
        let least = pairs.len().saturating_sub(PAIRS_OF_ERROR * part.errors()) as u32;
        let name = typed.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let letters = bits[name..].iter().fold(0, |all, bit| all | bit);
        let name = (typed.len() - name, letters, initials(&part.letters));
        Self {
            part,
            forwards: Steps::new(typed.iter()),
            backwards: Steps::new(typed.iter().rev()),
            pairs,
            least,
            at_best: AtBest::new(&bits),
            bits,
            name,
        }
    }

    /// Finds out what each folder and those around it hold, and puts that in its place. What it holds itself is for
    /// `own`.
    pub(super) fn held_by_folders(
        &self,
        names: &Names,
        own: &mut Vec<u32>,
        held: &mut [Held],
        place: impl Fn(usize) -> usize,
    ) {
        let words = &names.folders;
        own.clear();
        own.resize(words.len(), 0);
        words.holding(&self.pairs, 0..words.len(), own);
        for (folder, own) in own.iter().enumerate() {
            let around = match folder {
                // That of everything is its own.
                0 => Held::default(),
                _ => held[place(names.parents[folder] as usize)],
            };
            let from = usize::from(around.letters);
            // Most folders do not hold the next letter.
            let more = self.bits.get(from).is_some_and(|bit| words.letters[folder] & bit != 0);
            let letters =
                if more { self.forwards.from(from, words.get(folder).iter()) } else { from };
            held[place(folder)] = Held { pairs: own | around.pairs, letters: letters as u16 };
        }
    }

    /// From which letter on a name with these letters can at best hold what was typed.
    #[inline]
    pub(super) fn at_best(&self, letters: u32) -> Brief {
        self.at_best.of(letters)
    }

    /// From which letter on a name holds what was typed.
    pub(super) fn from(&self, words: &Words, name: usize) -> u16 {
        (self.part.text.len() - self.backwards.from(0, words.get(name).iter().rev())) as u16
    }

    /// Notes in the briefs of names in a row which of them are [likely](Self::likely).
    pub(super) fn note_likely(&self, words: &Words, first: usize, briefs: &mut [Brief]) {
        let (length, letters, initials) = self.name;
        let (upto, length) = (first + briefs.len(), length.min(u8::MAX.into()) as u8);
        for ((brief, own), own_length) in
            briefs.iter_mut().zip(&words.letters[first..upto]).zip(&words.lengths[first..upto])
        {
            let near = own_length.abs_diff(length) <= 1;
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
    /// Of typed letters, as bits.
    fn new(bits: &[u32]) -> Self {
        let mut from = [0; u32::BITS as usize];
        for (at, bit) in bits.iter().enumerate() {
            from[bit.trailing_zeros() as usize] = (at + 1).min(LAST_LETTER.into()) as Brief;
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
