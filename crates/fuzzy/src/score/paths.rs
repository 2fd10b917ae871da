//! A batch of paths, letter by letter, with the costs to begin, to go on and to end at each.

use std::array;
use std::sync::LazyLock;

use super::costs::{
    ERROR, GAP_INSIDE, GAP_TO_EXTENSION, GAP_TO_WORD, IN_FOLDERS, INITIALS, MAX_GAP_WORDS, NEVER,
    SEPARATOR, START, START_FOLDER, START_INSIDE,
};
use super::lanes::Lanes;
use crate::letters::{LetterRole, MIN_INITIALS, fold, role};

/// Maximum number of bytes of a path that are compared: the last ones.
const MAX_PATH: usize = 1024;

/// The code of a letter that is not in the query, and of no letter.
pub(super) const NO_LETTER: i16 = -1;

/// The first code of letters beyond ASCII.
const BEYOND: i16 = 128;

/// Paths, each in its lane.
#[derive(Debug)]
pub(super) struct PathBatch<const LANES: usize> {
    /// Letters of the query beyond ASCII.
    beyond: Vec<char>,
    /// Letters of all paths. A shorter path is padded with letters that no query has, at which no alignment
    /// ends.
    letters: Vec<PathLetter<LANES>>,
    ends: [PathEnds; LANES],
    /// Indices of the first letters of the words of each name.
    initials: [Vec<usize>; LANES],
    /// Offset of each letter, and of the end, for marking; only if there is a single lane.
    pub(super) starts: Vec<usize>,
}

/// A letter of each path, and its costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathLetter<const LANES: usize> {
    pub(super) code: Lanes<LANES>,
    /// Its [`LetterRole`], as a number.
    role: Lanes<LANES>,
    /// Cost to continue here after a gap.
    pub(super) resume: Lanes<LANES>,
    /// Cost to begin here.
    pub(super) start: Lanes<LANES>,
    /// 1 if a word begins here.
    pub(super) word: Lanes<LANES>,
    /// Cost if the query has another separator here.
    pub(super) other: Lanes<LANES>,
    /// Cost to end here, for everything after it.
    pub(super) after: Lanes<LANES>,
}

/// The boundaries of a path, as indices of letters.
#[derive(Clone, Copy, Debug, Default)]
struct PathEnds {
    /// First letter of the file's name.
    name: usize,
    /// Last point in the name, else the end.
    stem: usize,
    /// The end.
    len: usize,
}

impl<const LANES: usize> PathBatch<LANES> {
    pub(super) fn new(query: impl Iterator<Item = char>) -> Self {
        Self {
            beyond: query.filter(|letter| !letter.is_ascii()).collect(),
            letters: Vec::new(),
            ends: [PathEnds::default(); LANES],
            initials: array::from_fn(|_| Vec::new()),
            starts: Vec::new(),
        }
    }

    /// Returns the code of a letter. Different letters of the query have different codes.
    pub(super) fn code(&self, letter: char) -> i16 {
        if letter.is_ascii() {
            return letter as i16;
        }
        let at = self.beyond.iter().position(|other| *other == letter);
        at.map_or(NO_LETTER, |at| BEYOND + at as i16)
    }

    /// Returns all letters, up to the end of the longest path.
    pub(super) fn letters(&self) -> &[PathLetter<LANES>] {
        &self.letters
    }

    /// Returns the cost of a part of the query, given as codes, that is the first letters of all words of the
    /// name; `None` if it is not.
    pub(super) fn initials(
        &self,
        lane: usize,
        part: impl ExactSizeIterator<Item = i16> + Clone,
    ) -> Option<i16> {
        let (initials, PathEnds { name, len, .. }) = (&self.initials[lane], self.ends[lane]);
        if initials.len() < MIN_INITIALS || part.len() != initials.len() {
            return None;
        }
        let same = |at: usize, code: i16| self.letters[at].code.0[lane] == code;
        let all = initials.iter().zip(part.clone()).all(|(at, code)| same(*at, code));
        let alone =
            part.len() == len - name && (name..len).zip(part).all(|(at, code)| same(at, code));
        all.then_some(if alone { 0 } else { INITIALS })
    }

    /// Returns the bytes of the first letters of the words of the name, of a single path.
    pub(super) fn bytes_of_initials(&self) -> impl Iterator<Item = usize> {
        self.initials[0].iter().flat_map(|at| self.starts[*at]..self.starts[at + 1])
    }

    /// Reads a batch of paths, replacing the previous batch.
    pub(super) fn read(&mut self, paths: [Option<&str>; LANES]) {
        let paths = paths.map(Option::unwrap_or_default);
        let longest = paths.iter().map(|path| path.len().min(MAX_PATH)).max().unwrap_or(0);
        let none = Lanes::all(0);
        let (code, role) = (Lanes::all(NO_LETTER), Lanes::all(LetterRole::Inside as i16));
        let (start, resume, word, other, after) = (none, none, none, none, none);
        let blank = PathLetter { code, role, resume, start, word, other, after };
        self.letters.clear();
        self.letters.resize(longest, blank);
        for (lane, path) in paths.into_iter().enumerate() {
            let from = path.ceil_char_boundary(path.len().saturating_sub(MAX_PATH));
            let (name, text) = (path.rfind('/').map_or(0, |at| at + 1).max(from), &path[from..]);
            self.starts.clear();
            if text.is_ascii() {
                self.read_one(lane, (from, name), of_ascii(text.as_bytes(), name - from));
            } else {
                self.read_one(lane, (from, name), of_any(text, name - from));
            }
            self.starts.push(path.len());
        }
        self.letters.truncate(self.ends.iter().map(|ends| ends.len).max().unwrap_or(0));
        self.weigh();
    }

    /// Reads the letters of a path, folded, each with its offset and its role.
    fn read_one(
        &mut self,
        lane: usize,
        (from, name): (usize, usize),
        letters: impl Iterator<Item = (usize, char, LetterRole)>,
    ) {
        let (mut ends, mut point) = (PathEnds::default(), None);
        let mut initials = std::mem::take(&mut self.initials[lane]);
        initials.clear();
        for (at, letter, role) in letters {
            let (at, len) = (from + at, ends.len);
            let code = self.code(letter);
            let here = &mut self.letters[len];
            here.code.0[lane] = code;
            here.role.0[lane] = role as i16;
            if LANES == 1 {
                self.starts.push(at);
            }
            if at >= name {
                if at == name {
                    ends.name = len;
                } else if letter == '.' {
                    // A point at the start of the name does not begin an extension.
                    point = Some(len);
                }
                let word = matches!(role, LetterRole::Word | LetterRole::Name);
                if word && letter.is_alphabetic() {
                    initials.push(len);
                }
            }
            ends.len += 1;
        }
        ends.stem = point.unwrap_or(ends.len);
        // Words of the extension do not count as words of the name.
        initials.truncate(initials.partition_point(|at| *at < ends.stem));
        if ends.stem + 1 < ends.len {
            self.letters[ends.stem + 1].role.0[lane] = LetterRole::Inside as i16;
        }
        self.initials[lane] = initials;
        self.ends[lane] = ends;
    }

    /// Computes the costs of each letter by its role.
    fn weigh(&mut self) {
        let all = Lanes::all;
        let name = Lanes(self.ends.map(|ends| ends.name as i16));
        let stem = Lanes(self.ends.map(|ends| ends.stem as i16));
        let len = Lanes(self.ends.map(|ends| ends.len as i16));
        // After the current letter: the number of words, and whether the path continues inside a word.
        let (mut words, mut goes_on) = (all(0), all(0));
        for (at, here) in self.letters.iter_mut().enumerate().rev() {
            let (at, behind) = (all(at as i16), all(at as i16 + 1));
            let is = |role: LetterRole| here.role.equal(all(role as i16));
            let (inside, separator) = (is(LetterRole::Inside), is(LetterRole::Separator));
            let resume = all(GAP_TO_EXTENSION).or(at.equal(stem), all(GAP_TO_WORD));
            here.resume = all(GAP_INSIDE).or(inside, resume);
            let start = all(START_INSIDE).or(inside, all(START));
            let start = all(START_FOLDER).or(is(LetterRole::Folder), start);
            here.start = start.unless(is(LetterRole::Name));
            here.word = all(1).unless(inside).unless(separator);
            here.other = all(SEPARATOR).or(separator, all(ERROR));
            let rest = words.min(all(MAX_GAP_WORDS)) + goes_on;
            let rest = (all(1) + rest.unless(behind.equal(stem))).unless(behind.equal(len));
            let whole = rest + all(IN_FOLDERS).when(name.above(at));
            here.after = whole.or(len.above(at), all(NEVER));
            // Words of the extension do not count as missed.
            words = words + here.word.when(stem.above(at));
            goes_on = all(1).when(inside);
        }
    }
}

/// Returns the letters of a text, folded, each with its offset and its role. `name` is the offset of the
/// file's name.
pub(super) fn of_any(text: &str, name: usize) -> impl Iterator<Item = (usize, char, LetterRole)> {
    let (mut before, mut rest) = (None, text.char_indices().peekable());
    std::iter::from_fn(move || {
        let (at, letter) = rest.next()?;
        let after = rest.peek().map(|(_, after)| *after);
        let role = role(before, letter, after, at >= name);
        before = Some(letter);
        Some((at, fold(letter), role))
    })
}

/// Does the same for ASCII, which most paths are, with a table of the kinds of three letters in a row.
pub(super) fn of_ascii(
    text: &[u8],
    name: usize,
) -> impl Iterator<Item = (usize, char, LetterRole)> {
    let roles: &[LetterRole; 512] = &ROLES;
    // A slash, which is kind 0, precedes and follows the text.
    let mut kinds = text.first().map_or(0, |first| kind(*first));
    let after = text.iter().skip(1).chain(std::iter::once(&b'/'));
    text.iter().zip(after).enumerate().map(move |(at, (letter, after))| {
        kinds = (kinds << 3 | kind(*after)) % 512;
        let role = if at == name { LetterRole::Name } else { roles[kinds] };
        (at, letter.to_ascii_lowercase() as char, role)
    })
}

/// One letter of each kind.
const KINDS: [char; 5] = ['/', '-', 'a', 'A', '0'];

/// Returns the kind of an ASCII letter.
fn kind(letter: u8) -> usize {
    usize::from(KIND[usize::from(letter % 128)])
}

static KIND: [u8; 128] = {
    let mut kinds = [1; 128];
    let mut at = 0;
    while at < 128 {
        let letter = at as u8;
        if letter == b'/' {
            kinds[at] = 0;
        } else if letter.is_ascii_lowercase() {
            kinds[at] = 2;
        } else if letter.is_ascii_uppercase() {
            kinds[at] = 3;
        } else if letter.is_ascii_digit() {
            kinds[at] = 4;
        }
        at += 1;
    }
    kinds
};

/// The role of a letter that does not begin the name, by the kinds of the letter before it, of itself and of
/// the one after it, three bits each.
static ROLES: LazyLock<[LetterRole; 512]> = LazyLock::new(|| {
    array::from_fn(|kinds| {
        let letter = |shift: usize| KINDS.get(kinds >> shift & 7).copied();
        match (letter(6), letter(3), letter(0)) {
            (Some(before), Some(here), after) => role(Some(before), here, after, false),
            _ => LetterRole::Inside,
        }
    })
});
