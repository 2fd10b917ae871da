//! Scores lines.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::definition::{defines, is_comment, is_import, is_licence, is_one_liner, of_kind, wraps};
use super::name::{Name, Share, folded};
use super::path::PathNames;
use super::words::{Group, Word, is_name};
use answer::Line;

/// Points for a line that defines the searched name.
const DEFINITION: f32 = 80.0;

/// Points for a match of a whole word.
const WORD: f32 = 20.0;
/// Points for the same capitals.
const SPELLED: f32 = 3.0;

/// Points for several words that form one name, or a part of one.
const ONE_NAME: f32 = 40.0;
/// Points for words that follow each other, with hardly anything between.
const FOLLOWS: f32 = 30.0;
/// Points for words on the same line.
const TOGETHER: f32 = 15.0;

/// Penalty of a definition that only delegates to another one of the same name.
const WRAPPER: f32 = -45.0;
/// Penalty of a one-line function: another function does the work.
const ONE_LINER: f32 = -12.0;

/// Factor for a name that consists of only some of the words.
const SOME: f32 = 0.8;

/// Factor for a definition that is guessed from its line; one from the symbol index is certain.
const GUESSED: f32 = 0.8;

/// Factors for a configuration key that a line defines: in the tag of a field; as a whole string or before a value; as
/// part of a longer key.
const TAG: f32 = 0.6;
const KEY: f32 = 0.45;
const PART_OF_KEY: f32 = 0.3;

/// Factors for a comment and an import: the words occur, but not the thing.
const COMMENT: f32 = 0.2;
const IMPORT: f32 = 0.3;

/// Factor for a definition without the keywords of the query: `class Command` for `def Command`. Another language may
/// use another keyword for the same thing.
const OTHER_KEYWORDS: f32 = 0.6;

/// Factor for a qualified name that is defined elsewhere than the qualifier says.
const ELSEWHERE: f32 = 0.3;

/// Most matches of a line that are scored, and most bytes of it: a line may be a megabyte of matches.
const MAX_RANGES: usize = 16;
const MAX_BYTES: usize = 4096;

/// Most bytes between words that follow each other.
const MAX_BETWEEN: usize = 3;

/// Lines within which a definition delegates.
const HANDS_OVER: u64 = 2;

/// The score of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct LineScore {
    /// Points for the definition.
    pub(super) definition: f32,
    /// Points for the words.
    pub(super) word_points: f32,
    /// The words on the line: a bit for each name of the group.
    pub(super) words: u64,
    /// Whether it defines the whole searched name.
    pub(super) defines: bool,
    /// The qualifier with which it calls the searched name, folded.
    pub(super) caller: Option<String>,
    /// Whether it is an import or part of a licence, which nobody wants to read.
    pub(super) aside: bool,
}

impl LineScore {
    pub(super) fn points(&self) -> f32 {
        self.definition + self.word_points
    }
}

/// Scores lines of a file for a group of words.
pub(super) struct LineScorer<'g, 'l> {
    group: &'g Group,
    names: Vec<&'g Word>,
    /// All names as one.
    joined: String,
    /// For each name, whether the path contains all others: a definition of the name then counts as one of all.
    others_in_path: Vec<bool>,
    /// Whether the file is where the qualifier says.
    at_home: bool,
    /// Cache: the share of each name that each word covers, since names repeat within a file.
    known: HashMap<&'l str, Rc<Shares>>,
}

/// The share of a name that each word of the group covers, and that all words as one cover.
#[derive(Debug)]
struct Shares {
    /// In the order of the group's words.
    words: Vec<Option<Share>>,
    joined: Option<Share>,
}

/// A name on a line that a match touches.
struct NameMatch<'l> {
    range: Range<usize>,
    text: &'l str,
    shares: Rc<Shares>,
    /// Whether the match covers all of it.
    whole: bool,
}

impl NameMatch<'_> {
    /// Returns the length of the name without underscores.
    fn letters(&self) -> usize {
        self.text.bytes().filter(|byte| *byte != b'_').count()
    }

    /// Returns the share of it that each name of the group covers, in the group's order.
    fn names(&self, group: &Group) -> impl Iterator<Item = Option<Share>> {
        let words = group.words.iter().zip(&self.shares.words);
        words.filter(|(word, _)| !word.keyword).map(|(_, share)| *share)
    }
}

impl<'g, 'l> LineScorer<'g, 'l> {
    pub(super) fn new(group: &'g Group, path: &PathNames) -> Self {
        let names: Vec<&Word> = group.names().collect();
        let in_path: Vec<bool> = names.iter().map(|word| path.called_by(word) >= 0.4).collect();
        let others = |at: usize| in_path.iter().enumerate().all(|(other, is)| other == at || *is);
        let qualifier = names.iter().find_map(|word| word.qualifier.as_ref());
        Self {
            group,
            joined: names.iter().map(|word| word.folded.as_str()).collect(),
            others_in_path: (0..names.len()).map(others).collect(),
            at_home: qualifier.is_none_or(|qualifier| path.is_home(qualifier)),
            known: HashMap::new(),
            names,
        }
    }

    /// Returns the shares of a name that the words cover.
    fn shares(&mut self, text: &'l str) -> Rc<Shares> {
        if let Some(known) = self.known.get(text) {
            return Rc::clone(known);
        }
        let name = Name::new(text);
        let words = self.group.words.iter().map(|word| name.share(&word.folded)).collect();
        let joined = if self.names.len() > 1 { name.share(&self.joined) } else { None };
        let shares = Rc::new(Shares { words, joined });
        self.known.insert(text, Rc::clone(&shares));
        shares
    }

    /// Scores the line at an index among the lines of a file.
    pub(super) fn score(&mut self, lines: &'l [Line], at: usize) -> LineScore {
        let line = &lines[at];
        let text = line.text.as_str();
        let spots = self.spots(line);
        let next = lines[at + 1..].iter().find(|next| !next.ranges.is_empty());
        let next = next.filter(|next| next.number - line.number <= HANDS_OVER);
        let mut found = self.words(text, &spots);
        found.aside = is_import(text) || is_licence(line);
        found.definition = self.key(line);
        let said = self.says_keywords(&spots);
        for spot in &spots {
            let Some((strength, all)) = self.strength(spot) else { continue };
            // The symbol index is certain about definitions; for other names the line is a guess.
            let known = line.symbols.iter().find(|found| found.range == spot.range);
            let known = known.map(|found| of_kind(found.symbol.kind));
            let guessed = || defines(text, &spot.range).map(|weight| weight * GUESSED);
            if let Some(weight) = known.or_else(guessed) {
                let mut points = DEFINITION * weight * strength;
                points *= if said { 1.0 } else { OTHER_KEYWORDS };
                points *= if self.at_home { 1.0 } else { ELSEWHERE };
                points += if is_one_liner(text, &spot.range) { ONE_LINER } else { 0.0 };
                if wraps(text, &spot.range, next.map(|next| next.text.as_str())) {
                    points += WRAPPER;
                } else if all && self.at_home {
                    found.defines = true;
                    // The path contains the words that are not on the line.
                    points += if self.names.len() > 1 { TOGETHER } else { 0.0 };
                }
                found.definition = found.definition.max(points);
            } else if all && found.caller.is_none() {
                found.caller = caller(&text[..spot.range.start]);
            }
        }
        let share = if is_comment(text) {
            COMMENT
        } else if is_import(text) {
            IMPORT
        } else {
            return found;
        };
        found.definition *= share;
        found.word_points *= share;
        found.defines = false;
        found
    }

    /// Returns whether the keywords of the query are on the line, too.
    fn says_keywords(&self, spots: &[NameMatch<'_>]) -> bool {
        let mut words = self.group.words.iter().enumerate();
        words.all(|(at, word)| {
            !word.keyword || spots.iter().any(|spot| spot.shares.words[at] == Some(Share::Whole))
        })
    }

    /// Returns the points of a line on which a term is a configuration key.
    fn key(&self, line: &Line) -> f32 {
        let text = line.text.as_str();
        let near = line.ranges.iter().take(MAX_RANGES).filter(|range| range.end <= MAX_BYTES);
        let keys = near.filter(|range| !range.is_empty()).filter_map(|range| {
            let weight = key_weight(&text[..range.start], &text[range.end..])?;
            let term = folded(&text[range.clone()]);
            self.names.iter().any(|word| word.text == term).then_some(weight)
        });
        DEFINITION * keys.fold(0.0, f32::max)
    }

    /// Scores the words of a line, whether or not it defines anything.
    fn words(&self, text: &str, spots: &[NameMatch<'_>]) -> LineScore {
        let mut found = LineScore::default();
        let mut points = 0.0;
        for (at, word) in self.names.iter().enumerate() {
            let of = |spot: &NameMatch<'_>| {
                let share = spot.names(self.group).nth(at)??.weight();
                let spelled = if spot.text == word.typed { SPELLED } else { 0.0 };
                Some(share * WORD + spelled)
            };
            if let Some(best) = spots.iter().filter_map(of).reduce(f32::max) {
                points += best;
                found.words |= 1 << (at % 64);
            }
        }
        if self.names.is_empty() || self.group.patterns && found.words == 0 {
            let of = |spot: &NameMatch<'_>| if spot.whole { WORD } else { WORD / 3.0 };
            found.word_points = spots.iter().map(of).fold(0.0, f32::max);
            let first = spots.first().map(|spot| spot.text);
            if spots.iter().any(|spot| Some(spot.text) != first) {
                found.word_points += TOGETHER;
            }
            return found;
        }
        let count = self.names.len() as f32;
        found.word_points = points / count;
        if self.names.len() > 1 {
            let one = |spot: &NameMatch<'_>| spot.shares.joined.map_or(0.0, Share::weight);
            let one = spots.iter().map(one).fold(0.0, f32::max);
            let covered = found.words.count_ones() as f32;
            if one > 0.0 {
                found.word_points += ONE_NAME * one;
            } else if covered > 1.0 {
                found.word_points += TOGETHER * covered / count;
            }
        }
        let pairs = self.group.words.len().saturating_sub(1);
        if pairs > 0 {
            found.word_points += FOLLOWS * self.following(text, spots) as f32 / pairs as f32;
        }
        found
    }

    /// Returns how many of the words directly follow the word before.
    fn following(&self, text: &str, spots: &[NameMatch<'_>]) -> usize {
        let is = |spot: &NameMatch<'_>, word: usize| spot.shares.words[word] >= Some(Share::Parts);
        let follows = |word: &usize| {
            spots.windows(2).any(|two| {
                let between = &text[two[0].range.end..two[1].range.start];
                between.len() <= MAX_BETWEEN && is(&two[0], word - 1) && is(&two[1], *word)
            })
        };
        (1..self.group.words.len()).filter(follows).count()
    }

    /// Returns how well a name matches the words, and whether it matches entirely; `None` if it does not match.
    fn strength(&self, spot: &NameMatch<'_>) -> Option<(f32, bool)> {
        if self.names.is_empty() || self.group.patterns {
            let weight = if spot.whole { 1.0 } else { Share::Parts.weight() };
            return Some((weight, spot.whole));
        }
        let whole = |share: Share| (share.weight(), share == Share::Whole);
        if self.names.len() == 1 {
            return spot.names(self.group).next()?.map(whole);
        }
        if let Some(share) = spot.shares.joined {
            return Some(whole(share));
        }
        let count = self.names.len() as f32;
        let (mut best, mut parts, mut letters) = (None::<(f32, bool)>, 0, 0);
        for (at, share) in spot.names(self.group).enumerate() {
            let Some(share) = share else { continue };
            if share >= Share::Parts {
                parts += 1;
                letters += self.names[at].folded.len();
            }
            // The path contains the others: `json decoder` matches `Decoder` below `json/`.
            let part = if self.others_in_path[at] { 0.9 } else { 0.5 / count };
            let all = share == Share::Whole && self.others_in_path[at];
            let weight = share.weight() * part;
            if best.is_none_or(|(best, _)| weight > best) {
                best = Some((weight, all));
            }
        }
        let (weight, all) = best?;
        // All words in another order or with others between, or only some of the words.
        let scattered = if parts == self.names.len() { 0.5 } else { 0.0 };
        let only =
            if parts > 1 && letters >= spot.letters() { SOME * parts as f32 / count } else { 0.0 };
        Some((weight.max(scattered).max(only), all))
    }

    /// Returns the names on a line that a match touches, in order, each once. A match outside of names counts as one.
    fn spots(&mut self, line: &'l Line) -> Vec<NameMatch<'l>> {
        let text = line.text.as_str();
        let mut spots: Vec<NameMatch<'l>> = Vec::new();
        let near = |range: &&Range<usize>| range.end <= MAX_BYTES && !range.is_empty();
        for range in line.ranges.iter().take(MAX_RANGES).filter(near) {
            let names = names_at(text, range);
            let is_none = names.is_empty();
            for (name, whole) in names {
                if spots.last().is_none_or(|last| last.range.end <= name.start) {
                    let shares = self.shares(&text[name.clone()]);
                    spots.push(NameMatch { text: &text[name.clone()], range: name, shares, whole });
                }
            }
            if is_none && spots.last().is_none_or(|last| last.range.end <= range.start) {
                let words = vec![None; self.group.words.len()];
                let shares = Rc::new(Shares { words, joined: None });
                let text = &text[range.clone()];
                spots.push(NameMatch { range: range.clone(), text, shares, whole: true });
            }
        }
        spots
    }
}

/// Returns the weight of the text between `before` and `after` as a configuration key; `None` if it is none.
fn key_weight(before: &str, after: &str) -> Option<f32> {
    // The string around it, if that is a key: `"server.maxUploadSize"`, `yaml:"scrape_interval,omitempty"`.
    let in_key = |c: char| is_name(c) || matches!(c, '.' | '-');
    let (start, end) = (before.trim_end_matches(in_key), after.trim_start_matches(in_key));
    let is_all = start.len() == before.len() && end.len() == after.len();
    let quote = start.chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
    if let Some(quote) = quote {
        let is_tag = quote == '"' && start.ends_with(":\"") && end.starts_with([',', '"']);
        if is_tag && is_all {
            return Some(TAG);
        }
        if end.starts_with(quote) {
            return Some(if is_all { KEY } else { PART_OF_KEY });
        }
    }
    // The text at the start of a line that gets a value.
    let begins = start.chars().all(|c| c.is_whitespace() || matches!(c, '-' | '#' | ';'));
    let value = end.trim_start();
    let is_given = begins && value.starts_with([':', '=']) && !value.starts_with("==");
    is_given.then_some(if is_all { KEY } else { PART_OF_KEY })
}

/// Returns the names that a range touches, each with whether the range covers all of it.
fn names_at(text: &str, range: &Range<usize>) -> Vec<(Range<usize>, bool)> {
    let mut names = Vec::new();
    let length = |chars: &mut dyn Iterator<Item = char>| -> usize {
        chars.take_while(|c| is_name(*c)).map(char::len_utf8).sum()
    };
    let mut at = range.start;
    while at < range.end {
        let inside = length(&mut text[at..range.end].chars());
        if inside == 0 {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let end = at + inside;
        let before = if at == range.start { length(&mut text[..at].chars().rev()) } else { 0 };
        let after = if end == range.end { length(&mut text[end..].chars()) } else { 0 };
        names.push((at - before..end + after, before + after == 0));
        at = end;
    }
    names
}

/// Returns the name before a `.`, `::` or `->`.
fn caller(before: &str) -> Option<String> {
    let rest = [".", "::", "->"].iter().find_map(|sign| before.strip_suffix(sign))?;
    let start = rest.char_indices().rev().take_while(|(_, c)| is_name(*c)).last()?.0;
    Some(folded(&rest[start..]))
}
