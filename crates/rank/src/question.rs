//! Questions in words: how likely a file answers one, by its text, what it defines, its path and its kind.
//!
//! The words of a question need not all occur. Each has a *share*: how rare it is, so that all shares are 1 together. A
//! file's score is a sum of [`SIGNALS`], times a factor for its kind. All signals are counted in shares, so that scores of
//! long and short questions are alike. Which words a text has is known from the index; this module reads no text.
//!
//! | topic | module |
//! |---|---|
//! | the kinds of files | [`kind`] |
//! | what a name has of the words | [`matching`] |

mod kind;
mod matching;

use query::SymbolKind;
use words::{QuestionWord, Role};

use self::kind::factor;
use self::matching::{Beginnings, Matcher, PathMatch};
use crate::definition::{is_comment, is_import, of_kind};

/// The signals of a score, in the order of [`Scored::parts`]; the last one is the factor of the file's kind.
pub const SIGNALS: [&str; 8] =
    ["text", "names", "name", "exact", "path", "file name", "repository", "kind"];

/// How much the rarity of a word counts, outside of the text: the power of its inverse document frequency.
const RARITY: f32 = 0.5;

/// Points for each signal where all words are found: words of definitions' names; one definition whose name consists of
/// the words; a name typed as an identifier; the path; how much of the file's own name the words are; a file called like
/// an identifier; the repository.
const NAMES: f32 = 40.0;
const NAME: f32 = 80.0;
const EXACT: f32 = 100.0;
const PATH: f32 = 150.0;
const OWN_NAME: f32 = 105.0;
const CALLED: f32 = 100.0;
const REPOSITORY: f32 = 30.0;
/// Points for the text, where BM25 gives each word its inverse document frequency.
const TEXT: f32 = 100.0;

/// Points for the highest rank of a repository: it decides between similar files.
const RANK: f32 = 3.0;

/// Weight of a word that is a part of a definition's name, beside one that is the whole name.
const PART: f32 = 0.55;
/// Weight of further definitions with the same word, and the number of definitions that have half of it.
const SEVERAL: f32 = 0.4;
const HALF: f32 = 3.0;

/// Factor for an identifier in another spelling (`read_file` for `ReadFile`), and for one defined inside of another.
const OTHER_SPELLING: f32 = 0.4;
const INSIDE: f32 = 0.7;

/// A definition of a file.
#[derive(Clone, Copy, Debug)]
pub struct Definition<'f> {
    /// Its name, as written.
    pub name: &'f str,
    /// Its kind.
    pub kind: SymbolKind,
    /// Whether no other definition contains it.
    pub top: bool,
}

/// A file that may answer a question.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'f> {
    /// The name of its repository.
    pub repo: &'f str,
    /// The rank that the repository was given.
    pub repo_rank: u16,
    /// Its path.
    pub path: &'f str,
    /// Its language.
    pub language: Option<&'f str>,
    /// The BM25 of its text: the sum over words of inverse document frequency, weight, and saturated frequency.
    pub bm25: f32,
    /// What it defines.
    pub definitions: &'f [Definition<'f>],
}

/// The score of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scored {
    /// The score, for comparison with others of the same question.
    pub points: f32,
    /// Its parts: the score is the sum of all but the last, times the last.
    pub parts: [(&'static str, f32); SIGNALS.len()],
}

/// A word of a question.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// In lowercase, without underscores.
    folded: String,
    stem: String,
    /// What it counts, outside of the text; all together are 1.
    share: f32,
    /// Whether it may begin a longer word, or be one that begins with it: no stop word.
    bends: bool,
}

/// A question, and what its words weigh.
#[derive(Clone, Debug)]
pub struct Question {
    /// Parallel to the words that were looked up; the share of those that no file has is 0.
    words: Vec<Known>,
    begins: Beginnings,
    /// The words typed like identifiers, or the only one: as typed, and folded.
    identifiers: Vec<(String, String)>,
    /// The sum over words of what BM25 gives them at most, without saturation.
    most: f32,
}

impl Question {
    /// Returns a question with the words that were looked up, and the inverse document frequency of each: 0 if no file has
    /// it.
    pub fn of(text: &str, words: &[QuestionWord], idf: &[f32]) -> Self {
        let counts = |word: &QuestionWord| word.role != Role::Joined;
        let both = || words.iter().zip(idf).filter(|(word, _)| counts(word));
        let share = |word: &QuestionWord, idf: f32| idf.max(0.0).powf(RARITY) * word.weight;
        let all: f32 = both().map(|(word, idf)| share(word, *idf)).sum();
        let known = words.iter().zip(idf).map(|(word, idf)| Known {
            folded: folded(&word.text),
            stem: word.stem.clone(),
            share: if counts(word) && all > 0.0 { share(word, *idf) / all } else { 0.0 },
            bends: matches!(word.role, Role::Plain | Role::Part | Role::Whole),
        });
        let most = both().map(|(word, idf)| idf * word.weight).sum::<f32>();
        let most = most.max(f32::MIN_POSITIVE);
        let words: Vec<Known> = known.collect();
        Self { begins: Beginnings::of(&words), words, identifiers: identifiers(text), most }
    }

    /// Scores a file. Threads may score files at the same time.
    pub fn score(&self, file: &Candidate<'_>) -> Scored {
        let mut matcher = Matcher::of((&self.words, &self.begins));
        let (names, name, exact) = self.definitions(file, &mut matcher);
        let path = PathMatch::of(file.path, &mut matcher);
        let is_called = self.identifiers.iter().any(|(_, folded)| *folded == path.stem);
        let rank = RANK * f32::from(file.repo_rank) / f32::from(u16::MAX);
        let kind = factor(file.path, file.language);
        let points = [
            TEXT * file.bm25 / self.most,
            NAMES * names,
            NAME * name,
            EXACT * exact,
            PATH * path.share,
            OWN_NAME * path.covered * path.share.sqrt() + if is_called { CALLED } else { 0.0 },
            REPOSITORY * matcher.repository(file.repo) + rank,
        ];
        let mut parts = SIGNALS.map(|signal| (signal, kind));
        for (part, points) in parts.iter_mut().zip(points) {
            part.1 = points;
        }
        Scored { points: points.iter().sum::<f32>() * kind, parts }
    }

    /// Returns what the definitions of a file have of the words: of all their names, of the best name, and of a name that was
    /// typed.
    fn definitions<'f>(
        &self,
        file: &Candidate<'f>,
        matcher: &mut Matcher<'_, 'f>,
    ) -> (f32, f32, f32) {
        let mut best = vec![0.0_f32; self.words.len()];
        let mut counts = vec![0.0_f32; self.words.len()];
        let (mut name, mut exact) = (0.0_f32, 0.0_f32);
        for one in file.definitions {
            let weight = of_kind(one.kind.word());
            let found = matcher.name(one.name);
            for (word, quality) in &found.words {
                let part = if found.parts == 1 { 1.0 } else { PART };
                best[*word] = best[*word].max(weight * part * quality);
                counts[*word] += 1.0;
            }
            if let Some(word) = found.whole {
                best[word] = best[word].max(weight);
            }
            name = name.max(weight * found.covered * found.share);
            let typed = self.identifiers.iter().find(|(_, folded)| folds_to(one.name, folded));
            if let Some((typed, _)) = typed {
                let spelled = if typed == one.name { 1.0 } else { OTHER_SPELLING };
                exact = exact.max(weight * spelled * if one.top { 1.0 } else { INSIDE });
            }
        }
        let of_word = |(at, word): (usize, &Known)| {
            word.share * (best[at] + SEVERAL * counts[at] / (counts[at] + HALF))
        };
        (self.words.iter().enumerate().map(of_word).sum(), name, exact)
    }

    /// Returns the points of a line with some of the words, by their numbers, for comparison with other lines of its file.
    /// Definitions come before other lines; comments and imports come last.
    pub fn line(&self, text: &str, words: &[usize], defines: bool) -> f32 {
        let shares = words.iter().filter_map(|word| self.words.get(*word));
        let points: f32 = shares.map(|word| word.share).sum();
        let points = if defines { points * 2.0 } else { points };
        if is_import(text) {
            points * 0.3
        } else if is_comment(text) && !defines {
            points * 0.8
        } else {
            points
        }
    }
}

/// Returns the words that are typed like identifiers (`ReadFile`, `read_file`), or the only one, each also folded.
fn identifiers(text: &str) -> Vec<(String, String)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_like_one = |word: &&str| {
        let small = word.chars().filter(|c| c.is_lowercase()).count();
        word.chars().skip(1).any(char::is_uppercase) && small > 1
            || word.trim_matches('_').contains('_')
            || *word == text.trim()
    };
    let all = text.split(|c| !is_name(c)).filter(|word| !word.is_empty());
    all.filter(is_like_one).map(|word| (word.to_owned(), folded(word))).collect()
}

/// Returns whether a name is this one in lowercase and without underscores.
fn folds_to(name: &str, folded: &str) -> bool {
    let chars = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase);
    chars.eq(folded.chars())
}

/// Returns a name in lowercase and without underscores.
fn folded(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
