//! What a name has of the words of a question.

use rustc_hash::FxHashMap;

use super::{Known, folded, folds_to};

/// Weight of a word of the question that only begins like a part of a name (`config`, `configuration`).
const SIMILAR: f32 = 0.4;
/// The same in the name of a file.
const SIMILAR_FILE: f32 = 0.5;
/// Weight of the name of a folder, beside that of the file.
const FOLDER: f32 = 0.6;

/// Names of files that stand for their folder.
const FOLDER_FILES: [&str; 8] = ["mod", "lib", "main", "index", "init", "doc", "package", "root"];

/// Compares the names of one file with the words of a question. Parts of names repeat within a file.
pub(super) struct Matcher<'q, 'f> {
    words: &'q [Known],
    begins: &'q Beginnings,
    parts: FxHashMap<&'f str, Option<(usize, bool)>>,
}

/// The first two letters of the words of a question. Most names of a file have no part that begins like one of them, and
/// are not cut.
#[derive(Clone, Debug)]
pub(super) struct Beginnings {
    /// Bit b of element a: a word begins with the bytes a and b.
    pairs: [u128; 128],
    /// Whether a name may be a word however it begins.
    all: bool,
}

impl Beginnings {
    pub(super) fn of(words: &[Known]) -> Self {
        let mut begins = Self { pairs: [0; 128], all: false };
        for word in words.iter().filter(|word| word.share > 0.0) {
            for form in [&word.stem, &word.folded] {
                match form.as_bytes() {
                    [a, b, ..] if a.is_ascii() && b.is_ascii() => {
                        begins.pairs[usize::from(*a)] |= 1 << second(*b);
                    }
                    _ => begins.all = true,
                }
            }
        }
        begins
    }

    fn has(&self, (a, b): (u8, u8)) -> bool {
        let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
        self.all
            || !a.is_ascii()
            || !b.is_ascii()
            || self.pairs[usize::from(a)] >> second(b) & 1 == 1
    }

    /// Returns whether a part of a name may begin like a word.
    fn may_be_in(&self, name: &str) -> bool {
        let bytes = name.as_bytes();
        self.all || bytes.len() < 2 || bytes.windows(2).any(|pair| self.has((pair[0], pair[1])))
    }

    fn may_be(&self, part: &str) -> bool {
        let bytes = part.as_bytes();
        self.all || bytes.len() < 2 || self.has((bytes[0], bytes[1]))
    }
}

/// Returns the second byte of a word. Stems may have an i for a y: `dying` is `die`.
fn second(byte: u8) -> u8 {
    if byte == b'y' { b'i' } else { byte }
}

/// What a name has of the words.
#[derive(Debug, Default)]
pub(super) struct NameMatch {
    /// The words that are parts of it, each with the quality of the match.
    pub(super) words: Vec<(usize, f32)>,
    /// The word that is the whole name.
    pub(super) whole: Option<usize>,
    /// Number of its parts.
    pub(super) parts: usize,
    /// The share of its parts that are words.
    pub(super) covered: f32,
    /// The shares of these words.
    pub(super) share: f32,
}

/// What a path has of the words.
#[derive(Debug, Default)]
pub(super) struct PathMatch {
    /// The shares of its words: in full for the file's own name.
    pub(super) share: f32,
    /// The share of the parts of the file's own name that are words.
    pub(super) covered: f32,
    /// The file's own name up to its last dot, folded; of a file that stands for its folder, the folder's.
    pub(super) stem: String,
}

impl<'q, 'f> Matcher<'q, 'f> {
    pub(super) fn of((words, begins): (&'q [Known], &'q Beginnings)) -> Self {
        Self { words, begins, parts: FxHashMap::default() }
    }

    /// Returns the word that a part of a name is, and whether it is exactly this word.
    fn part(&mut self, part: &'f str) -> Option<(usize, bool)> {
        if !self.begins.may_be(part) {
            return None;
        }
        if let Some(known) = self.parts.get(part) {
            return *known;
        }
        let stem = words::stem(part);
        let is = |word: &Known| word.share > 0.0 && word.stem == stem;
        let exactly = self.words.iter().position(is).map(|word| (word, true));
        let bends = |word: &Known| word.share > 0.0 && word.bends && is_similar(&word.stem, &stem);
        let found = exactly.or_else(|| Some((self.words.iter().position(bends)?, false)));
        self.parts.insert(part, found);
        found
    }

    /// Returns what a name has of the words.
    pub(super) fn name(&mut self, name: &'f str) -> NameMatch {
        let mut found = NameMatch::default();
        if !self.begins.may_be_in(name) {
            return found;
        }
        let mut hits = 0.0;
        words::parts(name, &mut |range| {
            found.parts += 1;
            let Some((word, exactly)) = self.part(&name[range]) else { return };
            let quality = if exactly { 1.0 } else { SIMILAR };
            if !self.words[word].bends {
                return;
            }
            hits += quality;
            if found.words.iter().all(|(known, _)| *known != word) {
                found.words.push((word, quality));
                found.share += self.words[word].share * quality;
            }
        });
        if found.parts > 0 {
            found.covered = (hits / found.parts as f32).min(1.0);
        }
        if found.parts > 1 {
            let is = |word: &Known| word.share > 0.0 && folds_to(name, &word.folded);
            found.whole = self.words.iter().position(is);
        }
        found
    }

    /// Returns the shares of the words that are in the last part of a repository's name.
    pub(super) fn repository(&mut self, repo: &'f str) -> f32 {
        let name = repo.rsplit('/').next().unwrap_or(repo);
        let mut seen = Vec::new();
        words::parts(name, &mut |range| {
            if let Some((word, true)) = self.part(&name[range])
                && self.words[word].bends
                && !seen.contains(&word)
            {
                seen.push(word);
            }
        });
        seen.iter().map(|word| self.words[*word].share).sum()
    }
}

impl PathMatch {
    pub(super) fn of<'f>(path: &'f str, matcher: &mut Matcher<'_, 'f>) -> Self {
        let mut folders: Vec<&str> = path.split('/').collect();
        let name = folders.pop().unwrap_or_default();
        let mut stem = &name[..name.rfind('.').filter(|at| *at > 0).unwrap_or(name.len())];
        let bare = stem.trim_matches('_');
        if FOLDER_FILES.iter().any(|name| bare.eq_ignore_ascii_case(name))
            && let Some(folder) = folders.pop()
        {
            stem = folder;
        }
        let mut shares = vec![0.0_f32; matcher.words.len()];
        for folder in folders {
            words::parts(folder, &mut |range| {
                if let Some((word, exactly)) = matcher.part(&folder[range]) {
                    let quality = if exactly { 1.0 } else { SIMILAR };
                    shares[word] = shares[word].max(FOLDER * quality);
                }
            });
        }
        let (mut parts, mut hits) = (0, 0.0);
        words::parts(stem, &mut |range| {
            parts += 1;
            if let Some((word, exactly)) = matcher.part(&stem[range]) {
                let quality = if exactly { 1.0 } else { SIMILAR_FILE };
                shares[word] = shares[word].max(quality);
                hits += if matcher.words[word].bends { quality } else { 0.3 * quality };
            }
        });
        let whole = folded(stem).replace('-', "");
        let is = |word: &Known| word.share > 0.0 && word.folded == whole;
        if let Some(word) = matcher.words.iter().position(is) {
            (shares[word], hits) = (1.0, parts as f32);
        }
        let share = matcher.words.iter().zip(&shares).map(|(word, found)| word.share * found).sum();
        let covered = if parts > 0 { (hits / parts as f32).min(1.0) } else { 0.0 };
        Self { share, covered, stem: whole }
    }
}

/// Returns whether two stems are likely to mean the same: one begins with the other (`config`, `configur`), or they
/// differ in their endings (`log`, `logger`).
fn is_similar(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() < 3 || !a.is_ascii() || !b.is_ascii() {
        return false;
    }
    if let Some(rest) = long.strip_prefix(short) {
        let endings = ["er", "or", "ed", "s", "ger", "ter", "ner", "per"];
        return !rest.is_empty()
            && (short.len() >= 4 && 2 * short.len() >= long.len() || endings.contains(&rest));
    }
    short.len() >= 5
        && long.len() - short.len() <= 2
        && long[..short.len() - 1] == short[..short.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_begin_like_a_word_are_cut() {
        let word = |text: &str| Known {
            folded: text.to_owned(),
            stem: words::stem(text),
            share: 1.0,
            bends: true,
        };
        let words = ["router", "die"].map(word);
        let begins = Beginnings::of(&words);
        for (name, expected) in [
            ("HTTPRouter", 1),
            ("dying_gasp", 1),
            ("ROUTE", 1),
            ("config", 0),
            ("größe", 0),
            ("", 0),
        ] {
            let found = Matcher::of((&words, &begins)).name(name);
            assert_eq!(found.words.len(), expected, "{name}");
        }
        assert!(begins.may_be_in("größe") && !begins.may_be_in("config"));
        let one = [word("x")];
        assert!(Beginnings::of(&one).may_be_in("config"));
    }

    #[test]
    fn stems_may_be_similar() {
        for (a, b, expected) in [
            ("config", "configur", true),
            ("log", "logger", true),
            ("recoveri", "recover", true),
            ("serial", "serializ", true),
            ("log", "logic", false),
            ("rout", "router", true),
            ("in", "into", false),
            ("read", "write", false),
            ("配置", "配", false),
        ] {
            assert_eq!(is_similar(a, b), expected, "{a} {b}");
            assert_eq!(is_similar(b, a), expected, "{b} {a}");
        }
    }
}
