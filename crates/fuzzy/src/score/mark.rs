//! Finds the bytes of a path that the query matches, by tracing the alignment back from its end.

use super::costs::{LEFT_OUT, MAX_GAP_WORDS, NEVER, SWAPPED};
use super::lanes::Lanes;
use super::scorer::Scorer;

impl Scorer {
    /// Adds the bytes of a path that the query matches to `marked`.
    pub fn mark(&mut self, path: &str, marked: &mut Vec<usize>) {
        self.paths.read([Some(path)]);
        for part in 0..self.parts.len() {
            if self.initials(0, part).is_some() {
                marked.extend(self.paths.bytes_of_initials());
            } else {
                self.align(part, Lanes::all(NEVER));
                self.mark_part(part, marked);
            }
        }
    }

    /// Adds the bytes that one part matches. All rows of the part must have been kept.
    fn mark_part(&self, part: usize, marked: &mut Vec<usize>) {
        let (query, starts) = (&*self.parts[part], &*self.paths.starts);
        let letter = |j: usize| self.paths.letters()[j - 1].code.0[0];
        let (mut i, mut j) = (query.len(), self.end(query.len()));
        while i > 0 && j > 0 {
            let (cost, entry) = self.cell(i, j);
            let same = query[i - 1].code == letter(j);
            if !(same && cost == entry) {
                if cost == self.cell(i - 1, j).0 + query[i - 1].extra {
                    i -= 1;
                    continue;
                }
                let swapped = j > 1
                    && query[i - 1].code == letter(j - 1)
                    && query[i - 1].before == letter(j)
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

    /// Returns the cost of the first i letters of the query if the j-th letter of the path is the last one
    /// used; and the cost before the i-th letter is compared with it.
    fn cell(&self, i: usize, j: usize) -> (i16, i16) {
        let cell = self.rows[i * self.paths.letters().len() + j - 1];
        (cell.cost.0[0], cell.entry.0[0])
    }

    /// Returns the number of the last letter used by the best alignment, the first one among equals; 0 for
    /// none.
    fn end(&self, len: usize) -> usize {
        let letters = (1..).zip(self.paths.letters());
        let ends = letters.map(|(j, letter)| (self.cell(len, j).0 + letter.after.0[0], j));
        ends.min().map_or(0, |(_, j)| j)
    }

    /// Returns the number of the letter used before the i-th letter of the query was put at `j`; 0 for none.
    fn from(&self, part: usize, i: usize, j: usize) -> usize {
        let (letters, (_, entry)) = (self.paths.letters(), self.cell(i, j));
        let unused: i16 = self.parts[part][..i - 1].iter().map(|letter| letter.extra).sum();
        if unused + letters[j - 1].start.0[0] == entry {
            return 0;
        }
        let mut words = 0;
        for k in (1..j).rev() {
            let gap = match j - k {
                1 => 0,
                2 => (LEFT_OUT + words).min(words.min(MAX_GAP_WORDS) + letters[j - 1].resume.0[0]),
                _ => words.min(MAX_GAP_WORDS) + letters[j - 1].resume.0[0],
            };
            if self.cell(i - 1, k).0 + gap == entry {
                return k;
            }
            words += letters[k - 1].word.0[0];
        }
        0
    }
}
