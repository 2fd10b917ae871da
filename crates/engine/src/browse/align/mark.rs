//! Which bytes of a path are what was typed: the way back from where it ends.

use super::lanes::Lanes;
use super::{Aligner, LEFT_OUT, MOST_WORDS, NEVER, SWAPPED};

impl Aligner {
    /// Adds the bytes of a path that are what was typed.
    pub(crate) fn mark(&mut self, path: &str, marked: &mut Vec<usize>) {
        self.places.read([Some(path)]);
        for part in 0..self.parts.len() {
            if self.places.initials(0, &self.parts[part]).is_some() {
                marked.extend(self.places.bytes_of_initials());
            } else {
                self.align(part, Lanes::all(NEVER));
                self.mark_part(part, marked);
            }
        }
    }

    /// The same of a part, of which all rows are there.
    fn mark_part(&self, part: usize, marked: &mut Vec<usize>) {
        let (typed, starts) = (&*self.parts[part], &*self.places.starts);
        let letter = |j: usize| self.places.all()[j - 1].letter.0[0];
        let (mut i, mut j) = (typed.len(), self.end(typed.len()));
        while i > 0 && j > 0 {
            let (cost, entry) = self.cell(i, j);
            let same = typed[i - 1].code == letter(j);
            if !(same && cost == entry) {
                if cost == self.cell(i - 1, j).0 + typed[i - 1].extra {
                    i -= 1;
                    continue;
                }
                let swapped = j > 1
                    && typed[i - 1].code == letter(j - 1)
                    && typed[i - 1].before == letter(j)
                    && cost == self.cell(i - 1, j - 1).1 + SWAPPED;
                if swapped {
                    marked.extend(starts[j - 2]..starts[j]);
                    (i, j) = (i - 2, self.from(part, i - 1, j - 1));
                    continue;
                }
            }
            if same {
                marked.extend(starts[j - 1]..starts[j]);
            }
            (i, j) = (i - 1, self.from(part, i, j));
        }
    }

    /// The cost of the first i typed letters when the j-th of the path is the last one used, and
    /// that before the i-th is compared with it.
    fn cell(&self, i: usize, j: usize) -> (i16, i16) {
        let cell = self.rows[i * self.places.all().len() + j - 1];
        (cell.cost.0[0], cell.entry.0[0])
    }

    /// The place of the last letter used, the first of the best ones; 0 for none.
    fn end(&self, typed: usize) -> usize {
        let places = (1..).zip(self.places.all());
        let ends = places.map(|(j, place)| (self.cell(typed, j).0 + place.after.0[0], j));
        ends.min().map_or(0, |(_, j)| j)
    }

    /// The place of the letter used before the i-th typed one is put at `j`; 0 for none.
    fn from(&self, part: usize, i: usize, j: usize) -> usize {
        let (places, (_, entry)) = (self.places.all(), self.cell(i, j));
        let unused: i16 = self.parts[part][..i - 1].iter().map(|letter| letter.extra).sum();
        if unused + places[j - 1].start.0[0] == entry {
            return 0;
        }
        let mut words = 0;
        for k in (1..j).rev() {
            let gap = match j - k {
                1 => 0,
                2 => (LEFT_OUT + words).min(words.min(MOST_WORDS) + places[j - 1].resume.0[0]),
                _ => words.min(MOST_WORDS) + places[j - 1].resume.0[0],
            };
            if self.cell(i - 1, k).0 + gap == entry {
                return k;
            }
            words += places[k - 1].word.0[0];
        }
        0
    }
}
