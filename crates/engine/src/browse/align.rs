//! How near a path is to what was typed: the cheapest way to put the typed letters onto it.
//!
//! Letters are typed in the order of the path. Between two of them some of the path may be left
//! out, which is cheap up to the next word and dear to a place within a word. What was typed
//! wrongly (a letter that is another one, or too many, or two that are swapped) costs more than a
//! gap. A path that begins and ends with what was typed is nearer than one with more around it, and
//! a file's name is nearer than a folder. A cost of 0 is a file whose name is what was typed.

mod lanes;
mod mark;
mod places;

use std::array;

use super::typed::Part;
use lanes::Lanes;
use places::{NO_LETTER, Places};

/// A letter that is another one, or one too many.
const ERROR: i16 = 8;
/// Two letters in the wrong order.
const SWAPPED: i16 = 5;
/// A letter twice instead of once.
const DOUBLED: i16 = 4;
/// A separator instead of another: `a-b` for `a_b`.
const SEPARATOR: i16 = 3;
/// A gap: where it ends, at the beginning of a word or within one ...
const TO_WORD: i16 = 1;
const TO_INSIDE: i16 = 5;
/// ... or of one letter that was left out, or up to the extension, since who types that has mostly
/// typed all of the name ...
const LEFT_OUT: i16 = 3;
const TO_EXTENSION: i16 = 4;
/// ... and so much for each word that begins in it, up to so many.
const MOST_WORDS: i16 = 3;
/// To begin somewhere else than with the file's name: at a folder, at another word or a separator,
/// or within a word.
const START_FOLDER: i16 = 2;
const START: i16 = 3;
const START_INSIDE: i16 = 6;
/// The first letters of all words of the name, and nothing else: of names with at least so many
/// words.
const INITIALS: i16 = 1;
pub(super) const LEAST_INITIALS: usize = 3;
/// All of it lies in folders.
const IN_FOLDERS: i16 = 8;
/// What may stand around errors in what is still near.
const AROUND: i16 = 8;
/// No way at all. What is on a way costs far less, at eight for each of 256 letters and little
/// more; and twice this and all words of a path of the greatest length are no more than the
/// greatest number, so that nothing overflows.
const NEVER: i16 = i16::MAX / 4;
/// Less than any cost.
const NOTHING: i16 = -1;
/// What no letter is.
const NO_SWAP: i16 = -2;

impl Part {
    /// Letters that may be wrong in what is still near.
    pub(crate) fn errors(&self) -> usize {
        match self.letters.len() {
            0..=2 => 0,
            3..=5 => 1,
            6..=11 => 2,
            _ => 3,
        }
    }

    /// What costs more than this is near only if it holds all letters in their order.
    pub(crate) fn near(&self) -> u16 {
        self.errors() as u16 * ERROR.unsigned_abs() + AROUND.unsigned_abs()
    }
}

/// What was typed, as it is compared with paths: with so many at once, in a lane each, since one
/// step for all of them takes no longer than for one. It is used for one batch after another.
#[derive(Debug)]
pub(crate) struct Aligner<const LANES: usize = 1> {
    /// The letters of each part.
    parts: Vec<Vec<Letter>>,
    places: Places<LANES>,
    /// For each place what it costs when its letter is the last one that was used. A row is made in
    /// place of that with one typed letter less.
    row: Vec<Cell<LANES>>,
    /// All rows, if they may be marked: of one path alone.
    rows: Vec<Cell<LANES>>,
}

/// A typed letter.
#[derive(Clone, Copy, Debug)]
struct Letter {
    code: i16,
    /// The letter before it, which may be swapped with it if it is another one.
    before: i16,
    /// What it costs when it is one too many.
    extra: i16,
    /// All bits if it is a separator, else none.
    separator: i16,
}

#[derive(Clone, Copy, Debug)]
struct Cell<const LANES: usize> {
    cost: Lanes<LANES>,
    /// The same before the typed letter is compared with that of the place.
    entry: Lanes<LANES>,
}

impl<const LANES: usize> Aligner<LANES> {
    pub(crate) fn new(parts: &[Part]) -> Self {
        let typed = parts.iter().flat_map(|part| &part.letters);
        let places = Places::new(typed.copied());
        let parts = parts.iter().map(|part| letters(&part.letters, &places)).collect();
        Self { parts, places, row: Vec::new(), rows: Vec::new() }
    }

    /// The cost of all parts together for each path, if that of each part is no more than `most`
    /// says of lane and part.
    pub(crate) fn costs(
        &mut self,
        paths: [Option<&str>; LANES],
        most: impl Fn(usize, usize) -> u16,
    ) -> [Option<u16>; LANES] {
        let mut all = paths.map(|path| path.map(|_| 0_u16));
        if !self.parts.is_empty() {
            self.places.read(paths);
        }
        for part in 0..self.parts.len() {
            let bounds = array::from_fn(|lane| all[lane].map(|_| most(lane, part)));
            let costs = self.cost(part, bounds);
            for (all, cost) in all.iter_mut().zip(costs) {
                *all = all.zip(cost).map(|(all, cost)| all.saturating_add(cost));
            }
        }
        all
    }

    /// The cost of a part for each path that was read, if it is no more than a bound; none where
    /// there is no bound.
    fn cost(&mut self, part: usize, most: [Option<u16>; LANES]) -> [Option<u16>; LANES] {
        let bound = |most: u16| i16::try_from(most).unwrap_or(NEVER).min(NEVER);
        let most = most.map(|most| most.map_or(NOTHING, bound));
        let initials: [Option<i16>; LANES] =
            array::from_fn(|lane| self.places.initials(lane, &self.parts[part]));
        // Where nothing else is to be known, no cost is low enough.
        let open = array::from_fn(|lane| initials[lane].map_or(most[lane], |_| NOTHING));
        let others = self.align(part, Lanes(open));
        array::from_fn(|lane| {
            let cost = initials[lane].or(others.map(|costs| costs.0[lane]))?;
            (cost <= most[lane]).then_some(cost.unsigned_abs())
        })
    }

    /// The costs of a part by its letters; none if all of them are above their bounds.
    fn align(&mut self, part: usize, most: Lanes<LANES>) -> Option<Lanes<LANES>> {
        let (no_way, all_above) = (Lanes::all(NEVER), Lanes::all(NOTHING));
        self.row.clear();
        self.row.resize(self.places.all().len(), Cell { cost: no_way, entry: no_way });
        self.rows.clear();
        self.keep();
        let (mut unused, mut lowest_before) = (0, Lanes::all(0));
        for at in 0..self.parts[part].len() {
            let letter = self.parts[part][at];
            let lowest = self.next(letter, unused);
            self.keep();
            // The next row is built on these two.
            if lowest.min(lowest_before).above(most) == all_above {
                return None;
            }
            unused += letter.extra;
            lowest_before = lowest;
        }
        let ends = self.places.all().iter().zip(&self.row);
        Some(ends.fold(no_way, |best, (place, cell)| best.min(cell.cost + place.after)))
    }

    /// Keeps the row if it may be marked.
    fn keep(&mut self) {
        if LANES == 1 {
            self.rows.extend_from_slice(&self.row);
        }
    }

    /// Makes the row with one more letter, and gives the least cost in it. `unused` is what it
    /// costs when all letters before this one are too many.
    fn next(&mut self, letter: Letter, unused: i16) -> Lanes<LANES> {
        let all = Lanes::all;
        let mut lowest = all(unused + letter.extra);
        // Of the row above: the cost at the place before, and of going on behind the one that is
        // left out after it.
        let (mut last, mut left_out) = (all(NEVER), all(NEVER));
        // The best way to a place before that: with the words between, or with as many as count.
        let (mut near, mut far) = (all(NEVER), all(NEVER));
        let (mut last_entry, mut last_letter) = (all(NEVER), all(NO_LETTER));
        for (place, cell) in self.places.all().iter().zip(&mut self.row) {
            let gap = near.min(far + all(MOST_WORDS)) + place.resume;
            let entry = gap.min(place.start + all(unused)).min(left_out).min(last);
            let other = place.other.or(all(letter.separator), all(ERROR));
            let step = other.unless(place.letter.equal(all(letter.code)));
            let back = place.letter.equal(all(letter.before));
            let swap = last_letter.equal(all(letter.code)).when(back);
            let swapped = last_entry + all(SWAPPED) + all(NEVER).unless(swap);
            let cost = (entry + step).min(cell.cost + all(letter.extra)).min(swapped);
            near = near.min(last) + place.word;
            far = far.min(last);
            left_out = last + place.word + all(LEFT_OUT);
            (last, last_entry, last_letter) = (cell.cost, cell.entry, place.letter);
            *cell = Cell { cost, entry };
            lowest = lowest.min(cost);
        }
        lowest
    }
}

/// The typed letters of a part.
fn letters<const LANES: usize>(part: &[char], places: &Places<LANES>) -> Vec<Letter> {
    let before = std::iter::once(None).chain(part.iter().copied().map(Some));
    let letters = part.iter().zip(before).map(|(letter, before)| {
        let doubled = before == Some(*letter);
        let separator = !letter.is_alphanumeric() && !letter.is_control();
        Letter {
            code: places.code(*letter),
            before: before.filter(|_| !doubled).map_or(NO_SWAP, |before| places.code(before)),
            extra: if doubled { DOUBLED } else { ERROR },
            separator: if separator { -1 } else { 0 },
        }
    });
    letters.collect()
}

#[cfg(test)]
mod tests;
