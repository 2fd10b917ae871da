//! Aligns a query with several paths at once.

use std::array;

use super::costs::{DOUBLED, ERROR, LEFT_OUT, MAX_GAP_WORDS, NEVER, NOTHING, SWAPPED};
use super::lanes::Lanes;
use super::paths::{NO_LETTER, PathBatch};
use crate::query::QueryPart;

/// A code that no letter has.
const NO_SWAP: i16 = -2;

/// Compares a query with batches of paths, each path in its lane: a step for all lanes takes no longer than for one. It
/// is reused for further batches.
#[derive(Debug)]
pub struct Scorer<const LANES: usize = 1> {
    /// Letters of each part.
    pub(super) parts: Vec<Vec<QueryLetter>>,
    pub(super) paths: PathBatch<LANES>,
    /// Cost at each letter of the paths if it is the last one used. The row of the next letter of the query
    /// overwrites it.
    row: Vec<Cell<LANES>>,
    /// All rows, kept for marking if there is only one path.
    pub(super) rows: Vec<Cell<LANES>>,
}

/// A letter of the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryLetter {
    pub(super) code: i16,
    /// Letter before it, with which it may be swapped; [`NO_SWAP`] if that is the same letter.
    pub(super) before: i16,
    /// Cost of it as an extra letter.
    pub(super) extra: i16,
    /// All bits if it is a separator, else none.
    separator: i16,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<const LANES: usize> {
    pub(super) cost: Lanes<LANES>,
    /// The cost before the letter of the query is compared with that of the path.
    pub(super) entry: Lanes<LANES>,
}

impl<const LANES: usize> Scorer<LANES> {
    /// Prepares to score paths for the parts of a query, `LANES` at a time.
    pub fn new(parts: &[QueryPart]) -> Self {
        let letters = parts.iter().flat_map(|part| &part.letters);
        let paths = PathBatch::new(letters.copied());
        let parts = parts.iter().map(|part| letters_of(&part.letters, &paths)).collect();
        Self { parts, paths, row: Vec::new(), rows: Vec::new() }
    }

    /// Returns for each path the sum of the costs of all parts; `None` if a part costs more than
    /// `most` returns for the lane and the part.
    pub fn costs(
        &mut self,
        paths: [Option<&str>; LANES],
        most: impl Fn(usize, usize) -> u16,
    ) -> [Option<u16>; LANES] {
        let mut all = paths.map(|path| path.map(|_| 0_u16));
        if !self.parts.is_empty() {
            self.paths.read(paths);
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

    /// Returns the cost of a part for each path of the batch; `None` if it is above its bound or has no
    /// bound.
    fn cost(&mut self, part: usize, most: [Option<u16>; LANES]) -> [Option<u16>; LANES] {
        let bound = |most: u16| i16::try_from(most).unwrap_or(NEVER).min(NEVER);
        let most = most.map(|most| most.map_or(NOTHING, bound));
        let initials: [Option<i16>; LANES] = array::from_fn(|lane| self.initials(lane, part));
        // A lane whose cost is known from initials needs no alignment: its bound is below any cost.
        let open = array::from_fn(|lane| initials[lane].map_or(most[lane], |_| NOTHING));
        let others = self.align(part, Lanes(open));
        array::from_fn(|lane| {
            let cost = initials[lane].or(others.map(|costs| costs.0[lane]))?;
            (cost <= most[lane]).then_some(cost.unsigned_abs())
        })
    }

    /// Returns the cost of a part that is the first letters of all words of the name; `None` if it is not.
    pub(super) fn initials(&self, lane: usize, part: usize) -> Option<i16> {
        self.paths.initials(lane, self.parts[part].iter().map(|letter| letter.code))
    }

    /// Aligns a part letter by letter, and returns its costs; `None` if all are above their bounds.
    pub(super) fn align(&mut self, part: usize, most: Lanes<LANES>) -> Option<Lanes<LANES>> {
        let (never, all_above) = (Lanes::all(NEVER), Lanes::all(NOTHING));
        self.row.clear();
        self.row.resize(self.paths.letters().len(), Cell { cost: never, entry: never });
        self.rows.clear();
        self.keep();
        let (mut unused, mut lowest_before) = (0, Lanes::all(0));
        for at in 0..self.parts[part].len() {
            let letter = self.parts[part][at];
            let lowest = self.next(letter, unused);
            self.keep();
            // The next row builds on these two rows only.
            if lowest.min(lowest_before).above(most) == all_above {
                return None;
            }
            unused += letter.extra;
            lowest_before = lowest;
        }
        let ends = self.paths.letters().iter().zip(&self.row);
        Some(ends.fold(never, |best, (letter, cell)| best.min(cell.cost + letter.after)))
    }

    /// Keeps the row for marking if there is only one path.
    fn keep(&mut self) {
        if LANES == 1 {
            self.rows.extend_from_slice(&self.row);
        }
    }

    /// Computes the row with one more letter of the query, and returns the least cost in it. `unused` is the
    /// cost of all letters before this one as extra letters.
    fn next(&mut self, letter: QueryLetter, unused: i16) -> Lanes<LANES> {
        let all = Lanes::all;
        let mut lowest = all(unused + letter.extra);
        // From the row before: the cost at the previous letter of the path, and the cost of leaving out one
        // letter after it.
        let (mut last, mut left_out) = (all(NEVER), all(NEVER));
        // Least costs before that: with one added for each word since, and without. The latter serves gaps
        // with more words than count.
        let (mut near, mut far) = (all(NEVER), all(NEVER));
        let (mut last_entry, mut last_code) = (all(NEVER), all(NO_LETTER));
        for (here, cell) in self.paths.letters().iter().zip(&mut self.row) {
            let gap = near.min(far + all(MAX_GAP_WORDS)) + here.resume;
            let entry = gap.min(here.start + all(unused)).min(left_out).min(last);
            let other = here.other.or(all(letter.separator), all(ERROR));
            let step = other.unless(here.code.equal(all(letter.code)));
            let back = here.code.equal(all(letter.before));
            let swap = last_code.equal(all(letter.code)).when(back);
            let swapped = last_entry + all(SWAPPED) + all(NEVER).unless(swap);
            let cost = (entry + step).min(cell.cost + all(letter.extra)).min(swapped);
            near = near.min(last) + here.word;
            far = far.min(last);
            left_out = last + here.word + all(LEFT_OUT);
            (last, last_entry, last_code) = (cell.cost, cell.entry, here.code);
            *cell = Cell { cost, entry };
            lowest = lowest.min(cost);
        }
        lowest
    }
}

/// Prepares the letters of a part of the query.
fn letters_of<const LANES: usize>(part: &[char], paths: &PathBatch<LANES>) -> Vec<QueryLetter> {
    let before = std::iter::once(None).chain(part.iter().copied().map(Some));
    let letters = part.iter().zip(before).map(|(letter, before)| {
        let doubled = before == Some(*letter);
        let separator = !letter.is_alphanumeric() && !letter.is_control();
        QueryLetter {
            code: paths.code(*letter),
            before: before.filter(|_| !doubled).map_or(NO_SWAP, |before| paths.code(before)),
            extra: if doubled { DOUBLED } else { ERROR },
            separator: if separator { -1 } else { 0 },
        }
    });
    letters.collect()
}
