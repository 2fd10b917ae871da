//! What a part of what was typed can match in folders and in names of files.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::super::typed::Part;
use super::super::words::{Held, Words, initials, letter, pair};
use super::Names;
use super::pass::{Brief, LAST_LETTER, LETTER, LIKELY, SURE};

/// Pairs of letters of a part that are looked at: its last ones.
const PAIRS: usize = 48;

/// Names that one thread goes through at a time: what they hold fits into the cache of a core.
const BLOCK: usize = 1 << 13;

/// Pairs that an error may change.
const PAIRS_OF_ERROR: usize = 3;

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
    /// Of each typed byte its bit (see [`letter`]), and those from the one on that no folder holds.
    bits: Vec<u32>,
    rest: u32,
    /// Of each folder, which pairs it and those around it hold, and how many letters from the first on.
    pub(super) folders: Vec<Held>,
    /// Of each name, which pairs it holds.
    pub(super) names: Vec<Held>,
    /// What was typed as a name: its length, its letters, and what it is as initials.
    name: (usize, u32, u16),
    /// The most letters that a folder holds.
    pub(super) most: usize,
    spare: &'a Spare,
}

/// Space for what names hold, to be used again: it is large, and getting it anew takes longer than filling it.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<Vec<Held>>>);

/// So much of it is kept.
const SPARE: usize = 4;

impl Spare {
    /// Space for so many, with anything in it.
    fn take(&self, count: usize) -> Vec<Held> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| vec![Held::default(); count])
    }
}

impl Drop for Fit<'_> {
    fn drop(&mut self) {
        let mut spare = self.spare.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE {
            spare.push(std::mem::take(&mut self.names));
        }
    }
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
        let mut own = names.spare.take(names.names.len());
        let ((most, folders), ()) = rayon::join(
            || {
                let mut folders = vec![Held::default(); words.len()];
                words.holding(&pairs, 0..words.len(), &mut folders);
                let mut most = 0;
                for at in 1..folders.len() {
                    let (own, around) = (folders[at], folders[names.parents[at] as usize]);
                    let from = usize::from(around.letter());
                    // Most folders do not hold the next letter.
                    let more = bits.get(from).is_some_and(|bit| words.letters[at] & bit != 0);
                    let letters =
                        if more { forwards.from(from, words.get(at).iter()) } else { from };
                    folders[at] = Held(own.0 | around.0 & !0xffff | letters as u64);
                    most = most.max(letters);
                }
                (most, folders)
            },
            || {
                own.par_chunks_mut(BLOCK).enumerate().for_each(|(block, held)| {
                    let from = BLOCK * block;
                    held.fill(Held::default());
                    names.names.holding(&pairs, from..from + held.len(), held);
                });
            },
        );
        let least = pairs.len().saturating_sub(PAIRS_OF_ERROR * part.errors()) as u32;
        let rest = bits[most..].iter().fold(0, |all, bit| all | bit);
        let name = typed.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let letters = bits[name..].iter().fold(0, |all, bit| all | bit);
        let name = (typed.len() - name, letters, initials(&part.letters));
        Self {
            part,
            backwards: Steps::new(typed.iter().rev()),
            pairs,
            least,
            bits,
            rest,
            folders,
            names: own,
            name,
            most,
            spare: &names.spare,
        }
    }

    /// From which letter on a name with these letters can at best hold what was typed; none if no folder holds
    /// all before it.
    #[inline]
    pub(super) fn at_best(&self, letters: u32) -> Option<usize> {
        if letters & self.rest != self.rest {
            return None;
        }
        let mut from = self.most;
        while from > 0 && letters & self.bits[from - 1] != 0 {
            from -= 1;
        }
        Some(from)
    }

    /// The same as briefs of many names in a row.
    pub(super) fn at_best_of(&self, letters: &[u32], briefs: &mut [Brief]) {
        let most = self.most.min(LAST_LETTER);
        briefs.fill(0);
        // Letter by letter instead of name by name, so that several names are looked at at once: at best it is from
        // behind the last letter on that a name does not hold.
        for from in 1..=most {
            let bit = self.bits[from - 1];
            if self.bits[from..most].contains(&bit) {
                continue;
            }
            for (at, letters) in briefs.iter_mut().zip(letters) {
                *at = if letters & bit == 0 { from as Brief } else { *at };
            }
        }
        for (at, letters) in briefs.iter_mut().zip(letters) {
            *at = if letters & self.rest == self.rest { *at } else { LETTER | SURE };
        }
    }

    /// From which letter on a name holds what was typed.
    pub(super) fn from(&self, words: &Words, name: usize) -> u16 {
        (self.bits.len() - self.backwards.from(0, words.get(name).iter().rev())) as u16
    }

    /// Notes in the briefs of names in a row which of them are [likely](Self::likely).
    pub(super) fn note_likely(&self, words: &Words, first: usize, briefs: &mut [Brief]) {
        let (length, letters, initials) = self.name;
        let upto = first + briefs.len();
        let starts = &words.starts()[first..=upto];
        for ((brief, own), at) in
            briefs.iter_mut().zip(&words.letters[first..upto]).zip(starts.windows(2))
        {
            let others = own ^ letters;
            let two = others & others.wrapping_sub(1);
            let few = two & two.wrapping_sub(1) == 0;
            let near = (at[1] - at[0] + 1).wrapping_sub(length as u32) <= 2;
            *brief |= LIKELY * Brief::from(few & near);
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
        let all = self.bits.len();
        let letters = usize::from(letters);
        let Some(at_best) = self.at_best(words.letters[name]) else { return (false, false) };
        // Most need not be looked at letter by letter.
        if letters < at_best || letters == all && at_best > 0 || at_best == all {
            return (letters == all, false);
        }
        let from = usize::from(self.from(words, name));
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
        // None, one or two bits.
        let two = others & others.wrapping_sub(1);
        if words.length(name).abs_diff(length) > 1 || two & two.wrapping_sub(1) != 0 {
            return None;
        }
        let same = others == 0 && words.get(name) == self.part.text.as_bytes();
        Some(if same { all + 8 } else { all.saturating_sub(8) })
    }

    /// What a path promises by how many pairs it and of them its name hold; and by whether it and its name hold all
    /// letters.
    #[inline]
    pub(super) fn promise(&self, pairs: u32, own: Held, (holds, in_name): (bool, bool)) -> u64 {
        let in_name = match in_name {
            true => 3,
            false if own.0 >> 16 == 0 => 0,
            false => 2 * (own.0 >> 16).count_ones() / self.pairs.len() as u32,
        };
        u64::from(8 * pairs + 4 * u32::from(holds) + in_name)
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
