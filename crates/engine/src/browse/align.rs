//! How near a path is to what was typed: the cheapest way to put the typed letters onto it.
//!
//! Letters are typed in the order of the path. Between two of them some of the path may be left out, which
//! is cheap up to the next word and dear to a place within a word. What was typed wrongly (a letter that is
//! another one, or too many, or two that are swapped) costs more than a gap. A path that begins and ends
//! with what was typed is nearer than one with more around it, and a file's name is nearer than a folder.
//! A cost of 0 is a file whose name is what was typed.

use super::typed::{Part, Stand, fold, stand};

/// A letter that is another one, or one too many.
const ERROR: u16 = 8;
/// Two letters in the wrong order.
const SWAPPED: u16 = 5;
/// A letter twice instead of once.
const DOUBLED: u16 = 4;
/// A separator instead of another: `a-b` for `a_b`.
const SEPARATOR: u16 = 3;
/// A gap: where it ends, at the beginning of a word or within one ...
const TO_WORD: u16 = 1;
const TO_INSIDE: u16 = 5;
/// ... or of one letter that was left out, or up to the extension, since who types that has mostly typed all
/// of the name ...
const LEFT_OUT: u16 = 3;
const TO_EXTENSION: u16 = 4;
/// ... and so much for each word that begins in it, up to so many.
const MOST_WORDS: u16 = 3;
/// The first letters of all words of the name, and nothing else: of names with at least so many words.
const INITIALS: u16 = 1;
pub(super) const LEAST_INITIALS: usize = 3;
/// All of it lies in folders.
const IN_FOLDERS: u16 = 8;
/// What may stand around errors in what is still near.
const AROUND: u16 = 8;
/// No way at all.
const NEVER: u16 = u16::MAX / 2;

/// Of longer paths only the end is compared.
const MAX_PATH: usize = 1024;

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
        self.errors() as u16 * ERROR + AROUND
    }
}

/// A path as it is compared. Used for one path after another.
#[derive(Debug, Default)]
pub(crate) struct Aligner {
    /// The letters of the path, folded, where each stands, and where it begins in bytes.
    letters: Vec<char>,
    stands: Vec<Stand>,
    starts: Vec<usize>,
    /// The place of the first letter of the file's name, and of the last point in it, else the end.
    name: usize,
    stem: usize,
    /// The places of the first letters of the words of the name.
    initials: Vec<usize>,
    /// `costs[i][j]`: of the first i typed letters when the last letter used is the j-th of the path; `entries[i][j]`:
    /// the same before the i-th is compared with the j-th. The first row and column are for nothing.
    costs: Vec<u16>,
    entries: Vec<u16>,
}

impl Aligner {
    /// Takes a path.
    pub(crate) fn path(&mut self, path: &str) {
        self.letters.clear();
        self.stands.clear();
        self.starts.clear();
        let over = path.len().saturating_sub(MAX_PATH);
        let from = path.ceil_char_boundary(over);
        let name = path.rfind('/').map_or(0, |at| at + 1);
        let (mut before, mut rest) = (None, path[from..].char_indices().peekable());
        self.name = 0;
        while let Some((at, letter)) = rest.next() {
            let at = from + at;
            if at == name {
                self.name = self.letters.len();
            }
            let after = rest.peek().map(|(_, after)| *after);
            self.stands.push(stand(before, letter, after, at >= name));
            self.letters.push(fold(letter));
            self.starts.push(at);
            before = Some(letter);
        }
        self.starts.push(path.len());
        let point = self.letters[self.name..].iter().rposition(|letter| *letter == '.');
        // A name that begins with a point has no other part before it.
        self.stem = point.filter(|at| *at > 0).map_or(self.letters.len(), |at| self.name + at);
        self.initials.clear();
        let (stands, letters) = (&self.stands, &self.letters);
        let initial = |at: &usize| begins(stands[*at]) && letters[*at].is_alphabetic();
        self.initials.extend((self.name..self.stem).filter(initial));
        // An extension is no word of the name.
        if let Some(at) = self.stands.get_mut(self.stem + 1) {
            *at = Stand::Inside;
        }
    }

    /// Whether a part is the first letters of all words of the name.
    fn is_initials(&self, part: &Part) -> bool {
        let initials = self.initials.iter().map(|at| self.letters[*at]);
        self.initials.len() >= LEAST_INITIALS
            && part.letters.len() == self.initials.len()
            && initials.eq(part.letters.iter().copied())
    }

    /// The cost of several parts together, if that of each is no more than `most` says.
    pub(crate) fn costs(
        &mut self,
        parts: &[Part],
        path: &str,
        most: impl Fn(usize, &Part) -> u16,
    ) -> Option<u16> {
        if !parts.is_empty() {
            self.path(path);
        }
        let mut all = 0_u16;
        for (at, part) in parts.iter().enumerate() {
            all = all.saturating_add(self.cost(part, most(at, part))?);
        }
        Some(all)
    }

    /// The cost of a part, if it is no more than `most`.
    pub(crate) fn cost(&mut self, part: &Part, most: u16) -> Option<u16> {
        if self.is_initials(part) {
            let cost = if self.letters[self.name..] == part.letters { 0 } else { INITIALS };
            return (cost <= most).then_some(cost);
        }
        let (typed, wide) = (&*part.letters, self.letters.len() + 1);
        let cells = (typed.len() + 1) * wide;
        if self.costs.len() < cells {
            self.costs.resize(cells, NEVER);
            self.entries.resize(cells, NEVER);
        }
        self.costs[0] = 0;
        self.costs[1..wide].fill(NEVER);
        let mut lowest_before = 0;
        for i in 1..=typed.len() {
            let lowest = self.row(typed, i);
            // The next row is built on these two.
            if lowest.min(lowest_before) > most {
                return None;
            }
            lowest_before = lowest;
        }
        let (_, cost) = self.end(typed.len());
        (cost <= most).then_some(cost)
    }

    /// Fills a row, and gives the least cost in it.
    fn row(&mut self, typed: &[char], i: usize) -> u16 {
        let wide = self.letters.len() + 1;
        let letter = typed[i - 1];
        let last = (i > 1).then(|| typed[i - 2]);
        let extra = extra(typed, i);
        let separator = !letter.is_alphanumeric() && !letter.is_control();
        let (above, here) = self.costs[(i - 1) * wide..(i + 1) * wide].split_at_mut(wide);
        let (entries_above, entries) =
            self.entries[(i - 1) * wide..(i + 1) * wide].split_at_mut(wide);
        // Letters before the first one that is used are all too many.
        here[0] = above[0] + extra;
        let mut lowest = here[0];
        // The best way to a letter before the one before: with the words between, or with as many as count.
        let (mut near, mut far, nothing) = (NEVER, NEVER, above[0]);
        let mut before = '\0';
        for j in 1..wide {
            let (other, at) = (self.letters[j - 1], self.stands[j - 1]);
            let resume = resume(at, j == self.stem + 1);
            let mut entry = (near.min(far + MOST_WORDS) + resume).min(nothing + start(at));
            if j > 2 {
                let word = u16::from(begins(self.stands[j - 2]));
                entry = entry.min(above[j - 2] + LEFT_OUT + word);
            }
            if j > 1 {
                entry = entry.min(above[j - 1]);
                near = (near + u16::from(begins(at))).min(above[j - 1] + u16::from(begins(at)));
                far = far.min(above[j - 1]);
            }
            entries[j] = entry;
            let step = if letter == other {
                0
            } else if separator && at == Stand::Separator {
                SEPARATOR
            } else {
                ERROR
            };
            let mut cost = (entry + step).min(above[j] + extra);
            if j > 1 && last == Some(other) && letter == before && letter != other {
                cost = cost.min(entries_above[j - 1] + SWAPPED);
            }
            here[j] = cost.min(NEVER);
            lowest = lowest.min(cost);
            before = other;
        }
        lowest
    }

    /// The place of the last letter used, and the whole cost.
    fn end(&self, typed: usize) -> (usize, u16) {
        let wide = self.letters.len() + 1;
        let row = &self.costs[typed * wide..(typed + 1) * wide];
        let (mut best, mut words) = ((0, NEVER), 0);
        for j in (1..wide).rev() {
            let after = if j + 1 == wide {
                0
            } else if j == self.stem {
                1
            } else {
                1 + words.min(MOST_WORDS) + u16::from(self.stands[j] == Stand::Inside)
            };
            let cost = row[j] + after + if j <= self.name { IN_FOLDERS } else { 0 };
            if cost <= best.1 {
                best = (j, cost);
            }
            // An extension is no word that is missed.
            words += u16::from(begins(self.stands[j - 1]) && j <= self.stem);
        }
        best
    }

    /// Adds the bytes of the path that are what was typed, after [`cost`](Self::cost) gave a cost.
    pub(crate) fn mark(&self, part: &Part, marked: &mut Vec<usize>) {
        if self.is_initials(part) {
            let letters = self.initials.iter();
            return marked.extend(letters.flat_map(|at| self.starts[*at]..self.starts[at + 1]));
        }
        let (typed, wide) = (&*part.letters, self.letters.len() + 1);
        let cost = |i: usize, j: usize| self.costs[i * wide + j];
        let entry = |i: usize, j: usize| self.entries[i * wide + j];
        let (mut i, mut j) = (typed.len(), self.end(typed.len()).0);
        while i > 0 && j > 0 {
            let here = cost(i, j);
            let same = typed[i - 1] == self.letters[j - 1];
            let swapped = i > 1
                && j > 1
                && typed[i - 1] == self.letters[j - 2]
                && typed[i - 2] == self.letters[j - 1]
                && here == entry(i - 1, j - 1) + SWAPPED;
            if !(same && here == entry(i, j)) {
                if here == cost(i - 1, j) + extra(typed, i) {
                    i -= 1;
                    continue;
                }
                if swapped {
                    marked.extend(self.starts[j - 2]..self.starts[j]);
                    (i, j) = (i - 2, self.from(i - 1, j - 1));
                    continue;
                }
            }
            if same {
                marked.extend(self.starts[j - 1]..self.starts[j]);
            }
            (i, j) = (i - 1, self.from(i, j));
        }
    }

    /// The place of the letter used before the i-th typed one is put at `j`; 0 for none.
    fn from(&self, i: usize, j: usize) -> usize {
        let wide = self.letters.len() + 1;
        let above = &self.costs[(i - 1) * wide..i * wide];
        let (entry, at) = (self.entries[i * wide + j], self.stands[j - 1]);
        if above[0] + start(at) == entry {
            return 0;
        }
        let mut words = 0;
        for k in (1..j).rev() {
            let mut gap = words.min(MOST_WORDS) + resume(at, j == self.stem + 1);
            if k + 2 == j {
                gap = gap.min(LEFT_OUT + words);
            } else if k + 1 == j {
                gap = 0;
            }
            if above[k] + gap == entry {
                return k;
            }
            words += u16::from(begins(self.stands[k - 1]));
        }
        0
    }
}

/// What the i-th typed letter costs when it is one too many.
fn extra(typed: &[char], i: usize) -> u16 {
    if i > 1 && typed[i - 1] == typed[i - 2] { DOUBLED } else { ERROR }
}

/// Whether a word begins.
fn begins(at: Stand) -> bool {
    matches!(at, Stand::Word | Stand::Folder | Stand::Name)
}

/// What it costs to go on at a letter, or at the extension, after a gap.
fn resume(at: Stand, extension: bool) -> u16 {
    match at {
        Stand::Inside => TO_INSIDE,
        _ if extension => TO_EXTENSION,
        _ => TO_WORD,
    }
}

/// What it costs to begin at a letter.
fn start(at: Stand) -> u16 {
    match at {
        Stand::Name => 0,
        Stand::Folder => 2,
        Stand::Word | Stand::Separator => 3,
        Stand::Inside => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::super::typed::Typed;
    use super::*;

    fn costs(typed: &str, path: &str) -> (u16, String) {
        let part = &Typed::new(typed).unwrap().parts[0];
        let mut aligner = Aligner::default();
        aligner.path(path);
        let cost = aligner.cost(part, NEVER - 1).unwrap();
        let mut marked = Vec::new();
        aligner.mark(part, &mut marked);
        let shown = path
            .char_indices()
            .map(|(at, letter)| if marked.contains(&at) { letter } else { '.' })
            .collect();
        (cost, shown)
    }

    #[test]
    fn costs_and_marks() {
        for (typed, path, cost, marked) in [
            ("main.go", "src/main.go", 0, "....main.go"),
            ("MAIN", "src/main.go", 1, "....main..."),
            ("src/main.go", "src/main.go", 2, "src/main.go"),
            ("srch/candidats", "a/search/candidates.rs", 11, "..s..rch/candidat.s..."),
            ("mian.go", "main.go", 5, "main.go"),
            ("maain.go", "main.go", 4, "main.go"),
            ("mein.go", "main.go", 8, "m.in.go"),
            ("amain.go", "main.go", 8, "main.go"),
            ("man.go", "main.go", 3, "ma.n.go"),
            ("fmtprint", "src/fmt/print.go", 4, "....fmt.print..."),
            ("sc", "search/candidates.rs", 5, "s......c............"),
            ("read-me", "read_me.md", 4, "read.me..."),
            ("größe", "maß/größe.txt", 1, "....größe...."),
            ("grosse", "größe.txt", 5, "größe...."),
            ("utl.c", "mm/util.c", 3, "...ut.l.c"),
            ("utl.c", "utlock.c", 4, "utl....c"),
            ("hsr", "a/http_server_routes.rs", 1, "..h....s......r........"),
            ("HSR", "a/HTTPServerRoutes.rs", 1, "..H...S.....R........"),
            ("hsr", "a/http/server_routes.rs", 6, "..h....s......r........"),
        ] {
            let (got, shown) = costs(typed, path);
            assert_eq!((got, &*shown), (cost, marked), "{typed} in {path}");
        }
    }

    #[test]
    fn a_bound_leaves_out_what_costs_more() {
        let part = &Typed::new("mian.go").unwrap().parts[0];
        let mut aligner = Aligner::default();
        aligner.path("main.go");
        assert_eq!(aligner.cost(part, 4), None);
        assert_eq!(aligner.cost(part, 5), Some(5));
        aligner.path("");
        assert_eq!(aligner.cost(part, 100), None);
    }
}
