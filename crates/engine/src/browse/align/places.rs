//! Paths as they are compared: letter by letter, and what it costs to begin, to go on and to end at
//! each.

use std::array;
use std::sync::LazyLock;

use super::super::typed::{Stand, fold, stand};
use super::lanes::Lanes;
use super::{
    ERROR, IN_FOLDERS, INITIALS, LEAST_INITIALS, Letter, MOST_WORDS, NEVER, SEPARATOR, START,
    START_FOLDER, START_INSIDE, TO_EXTENSION, TO_INSIDE, TO_WORD,
};

/// Of longer paths only the end is compared.
const MAX_PATH: usize = 1024;

/// A letter that was not typed, or none.
pub(super) const NO_LETTER: i16 = -1;

/// The first number that is for letters beyond ASCII.
const BEYOND: i16 = 128;

/// Paths, each in its lane.
#[derive(Debug)]
pub(super) struct Places<const LANES: usize> {
    /// The typed letters beyond ASCII.
    beyond: Vec<char>,
    /// Behind the end of a path that is shorter than others are letters that nobody types, where no
    /// way ends.
    all: Vec<Place<LANES>>,
    ends: [Ends; LANES],
    /// The places of the first letters of the words of the name.
    initials: [Vec<usize>; LANES],
    /// Where each letter begins in bytes, and the end, if it may be marked: of one path alone.
    pub(super) starts: Vec<usize>,
}

/// The letter at a place, and what that costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<const LANES: usize> {
    pub(super) letter: Lanes<LANES>,
    /// How it stands, as a number.
    stand: Lanes<LANES>,
    /// To go on here after a gap.
    pub(super) resume: Lanes<LANES>,
    /// To begin here.
    pub(super) start: Lanes<LANES>,
    /// 1 if a word begins here.
    pub(super) word: Lanes<LANES>,
    /// If another separator was typed.
    pub(super) other: Lanes<LANES>,
    /// To end here, with all that comes behind.
    pub(super) after: Lanes<LANES>,
}

/// Where the parts of a path are.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    /// The first letter of the file's name.
    name: usize,
    /// The last point in the name, else the end.
    stem: usize,
    /// The end.
    len: usize,
}

impl<const LANES: usize> Places<LANES> {
    pub(super) fn new(typed: impl Iterator<Item = char>) -> Self {
        Self {
            beyond: typed.filter(|letter| !letter.is_ascii()).collect(),
            all: Vec::new(),
            ends: [Ends::default(); LANES],
            initials: array::from_fn(|_| Vec::new()),
            starts: Vec::new(),
        }
    }

    /// The number of a letter. Letters that were typed have the same one only if they are the same.
    pub(super) fn code(&self, letter: char) -> i16 {
        if letter.is_ascii() {
            return letter as i16;
        }
        let at = self.beyond.iter().position(|other| *other == letter);
        at.map_or(NO_LETTER, |at| BEYOND + at as i16)
    }

    /// All places, up to the end of the longest path.
    pub(super) fn all(&self) -> &[Place<LANES>] {
        &self.all
    }

    /// What a part costs that is the first letters of all words of the name.
    pub(super) fn initials(&self, lane: usize, part: &[Letter]) -> Option<i16> {
        let (initials, Ends { name, len, .. }) = (&self.initials[lane], self.ends[lane]);
        if initials.len() < LEAST_INITIALS || part.len() != initials.len() {
            return None;
        }
        let same = |at: usize, letter: &Letter| self.all[at].letter.0[lane] == letter.code;
        let all = initials.iter().zip(part).all(|(at, letter)| same(*at, letter));
        let alone =
            part.len() == len - name && (name..len).zip(part).all(|(at, one)| same(at, one));
        all.then_some(if alone { 0 } else { INITIALS })
    }

    /// The bytes of the first letters of the words of the name of one path.
    pub(super) fn bytes_of_initials(&self) -> impl Iterator<Item = usize> {
        self.initials[0].iter().flat_map(|at| self.starts[*at]..self.starts[at + 1])
    }

    /// Takes paths.
    pub(super) fn read(&mut self, paths: [Option<&str>; LANES]) {
        let paths = paths.map(Option::unwrap_or_default);
        let longest = paths.iter().map(|path| path.len().min(MAX_PATH)).max().unwrap_or(0);
        let none = Lanes::all(0);
        let (letter, stand) = (Lanes::all(NO_LETTER), Lanes::all(Stand::Inside as i16));
        let (start, resume, word, other, after) = (none, none, none, none, none);
        let blank = Place { letter, stand, resume, start, word, other, after };
        self.all.clear();
        self.all.resize(longest, blank);
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
        self.all.truncate(self.ends.iter().map(|ends| ends.len).max().unwrap_or(0));
        self.weigh();
    }

    /// Takes the letters of a path, folded, each with its first byte and where it stands.
    fn read_one(
        &mut self,
        lane: usize,
        (from, name): (usize, usize),
        letters: impl Iterator<Item = (usize, char, Stand)>,
    ) {
        let (mut ends, mut point) = (Ends::default(), None);
        let mut initials = std::mem::take(&mut self.initials[lane]);
        initials.clear();
        for (at, letter, stand) in letters {
            let (at, len) = (from + at, ends.len);
            let code = self.code(letter);
            let place = &mut self.all[len];
            place.letter.0[lane] = code;
            place.stand.0[lane] = stand as i16;
            if LANES == 1 {
                self.starts.push(at);
            }
            if at >= name {
                if at == name {
                    ends.name = len;
                } else if letter == '.' {
                    // A name that begins with a point has no other part before it.
                    point = Some(len);
                }
                let word = matches!(stand, Stand::Word | Stand::Name);
                if word && letter.is_alphabetic() {
                    initials.push(len);
                }
            }
            ends.len += 1;
        }
        ends.stem = point.unwrap_or(ends.len);
        // An extension is no word of the name.
        initials.truncate(initials.partition_point(|at| *at < ends.stem));
        if ends.stem + 1 < ends.len {
            self.all[ends.stem + 1].stand.0[lane] = Stand::Inside as i16;
        }
        self.initials[lane] = initials;
        self.ends[lane] = ends;
    }

    /// What each place costs, by how its letter stands.
    fn weigh(&mut self) {
        let all = Lanes::all;
        let name = Lanes(self.ends.map(|ends| ends.name as i16));
        let stem = Lanes(self.ends.map(|ends| ends.stem as i16));
        let len = Lanes(self.ends.map(|ends| ends.len as i16));
        // Behind a place: the words, and whether it goes on within one.
        let (mut words, mut goes_on) = (all(0), all(0));
        for (at, place) in self.all.iter_mut().enumerate().rev() {
            let (at, behind) = (all(at as i16), all(at as i16 + 1));
            let stands = |stand: Stand| place.stand.equal(all(stand as i16));
            let (inside, separator) = (stands(Stand::Inside), stands(Stand::Separator));
            let resume = all(TO_EXTENSION).or(at.equal(stem), all(TO_WORD));
            place.resume = all(TO_INSIDE).or(inside, resume);
            let start = all(START_INSIDE).or(inside, all(START));
            let start = all(START_FOLDER).or(stands(Stand::Folder), start);
            place.start = start.unless(stands(Stand::Name));
            place.word = all(1).unless(inside).unless(separator);
            place.other = all(SEPARATOR).or(separator, all(ERROR));
            let rest = words.min(all(MOST_WORDS)) + goes_on;
            let rest = (all(1) + rest.unless(behind.equal(stem))).unless(behind.equal(len));
            let whole = rest + all(IN_FOLDERS).when(name.above(at));
            place.after = whole.or(len.above(at), all(NEVER));
            // An extension is no word that is missed.
            words = words + place.word.when(stem.above(at));
            goes_on = all(1).when(inside);
        }
    }
}

/// The letters of a text, folded, each with its first byte and where it stands; `name` is where the
/// file's name begins.
pub(super) fn of_any(text: &str, name: usize) -> impl Iterator<Item = (usize, char, Stand)> {
    let (mut before, mut rest) = (None, text.char_indices().peekable());
    std::iter::from_fn(move || {
        let (at, letter) = rest.next()?;
        let after = rest.peek().map(|(_, after)| *after);
        let stand = stand(before, letter, after, at >= name);
        before = Some(letter);
        Some((at, fold(letter), stand))
    })
}

/// The same of ASCII alone, which is most paths, by what kinds of letters follow each other.
pub(super) fn of_ascii(text: &[u8], name: usize) -> impl Iterator<Item = (usize, char, Stand)> {
    let stands: &[Stand; 512] = &STANDS;
    // What is outside counts as a slash, which is kind 0.
    let mut kinds = text.first().map_or(0, |first| kind(*first));
    let after = text.iter().skip(1).chain(std::iter::once(&b'/'));
    text.iter().zip(after).enumerate().map(move |(at, (letter, after))| {
        kinds = (kinds << 3 | kind(*after)) % 512;
        let stand = if at == name { Stand::Name } else { stands[kinds] };
        (at, letter.to_ascii_lowercase() as char, stand)
    })
}

/// One letter of each kind.
const KINDS: [char; 5] = ['/', '-', 'a', 'A', '0'];

/// The kind of an ASCII letter.
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

/// Where a letter stands that is not the first of the name: by the kinds of the one before, of
/// itself and of the one after it, in three bits each.
static STANDS: LazyLock<[Stand; 512]> = LazyLock::new(|| {
    array::from_fn(|kinds| {
        let letter = |shift: usize| KINDS.get(kinds >> shift & 7).copied();
        match (letter(6), letter(3), letter(0)) {
            (Some(before), Some(here), after) => stand(Some(before), here, after, false),
            _ => Stand::Inside,
        }
    })
});
