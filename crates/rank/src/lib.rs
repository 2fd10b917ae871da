//! Ranking: one formula, which all clients share, estimates which results the user wants most.
//!
//! The reference engines agree on its signals (Zoekt's `contentprovider.go`, Sourcegraph's notes on ranking). Things
//! with the searched name rank above mentions, definitions above uses, and whole words above parts of words. Code that
//! people write and read ranks above tests, copies and generated code; among similar files, those in a repository to
//! which its operator gives a higher rank win. Two signals are our own: words that together form one name (`read file`
//! is `ReadFile`), and the qualifiers by which callers name a definition (`os.ReadFile` points to `os/file.go`).
//!
//! | topic | module |
//! |---|---|
//! | the words of a query | [`words`], [`name`] |
//! | whether a line defines a name | [`definition`] |
//! | the score of a line | [`line`] |
//! | term frequency in a file | [`coverage`] |
//! | the score of a path | [`path`] |
//! | votes of other files | [`votes`] |
//! | the parts of a score | [`score`] |
//! | boost queries | [`boost`] |
//! | identical copies as one result | [`copies`] |
//! | questions in words | [`question`] |

pub mod boost;
mod copies;
mod coverage;
mod definition;
mod line;
mod name;
mod order;
mod path;
pub mod question;
mod ranked_file;
mod score;
mod top_k;
mod votes;
mod words;

use std::mem::take;

use query::Query;

use self::coverage::Coverage;
use self::line::{LineScore, LineScorer};
use self::path::PathNames;
use self::words::{Group, groups};
use answer::{FileMatch, Line};

pub use copies::Origins;
pub use definition::{is_comment, is_import};
pub use order::{Order, by_path, walked};
pub use path::path_penalty;
pub use ranked_file::{DroppedMatches, RankedFile};
pub use score::{Explained, Parts, Score};
pub use top_k::{BestLines, TopK};
pub use votes::Votes;

/// Number of files found before the best are shown. Fewer may miss the wanted file; more take longer to find and score
/// than people wait for a page.
pub const POOL: usize = 500;

/// Points for a file with the searched name: comparable to a definition other than a type, so that other signals decide
/// between a file called so and one that defines the name.
const NAME: f32 = 70.0;
/// Further points if the query has the extension, too: `window-copy.c` means the file.
const WHOLE_NAME: f32 = 40.0;
/// Factor for those points if the query has a keyword (`type`, `func`) and so asks for a definition.
const NAME_BESIDE_KEYWORDS: f32 = 0.4;

/// Points for each doubling of the definitions of the name in a file, and the most. A file all about a name defines it
/// for several types.
const DEFINITIONS: f32 = 4.0;
const MAX_DEFINITIONS: f32 = 12.0;

/// Most points for term frequency.
const COVERAGE: f32 = 30.0;

/// Points for different words on neighbouring lines, if not on the same line.
const NEAR: f32 = 10.0;
/// Largest distance between neighbouring lines.
const NEIGHBOURS: u64 = 3;

/// Points for a definition where its qualifier says: `Unmarshal` in `json` for `json.Unmarshal`.
const AT_HOME: f32 = 30.0;
/// Points if another word of the query takes the place of the qualifier.
const WITH_HOME: f32 = 15.0;

/// Points if the path of the defining file contains parts of the name.
const AFFINITY: f32 = 10.0;
/// Points for the main file of a folder, which people open first.
const MAIN_FILE: f32 = 4.0;

/// Points for the highest rank of a repository: less than most of the above, so that it decides only between similar
/// files.
const REPOSITORY: f32 = 5.0;

/// The formula for the files of one search.
#[derive(Clone, Debug)]
pub struct Ranking {
    groups: Vec<Group>,
}

impl Ranking {
    /// Returns the ranking of a query.
    pub fn of(query: &Query) -> Self {
        Self { groups: groups(query) }
    }

    /// Returns the scores of a file and of its lines, and adds the file's votes for others.
    pub fn score(&self, file: &FileMatch, votes: &mut Votes) -> (Score, LinePoints) {
        self.score_alone(file).vote(votes)
    }

    /// Scores a file without adding its votes. Threads may score files at the same time.
    pub fn score_alone(&self, file: &FileMatch) -> ScoredFile {
        let path = PathNames::of(&file.repo, &file.path);
        let mut lines = LinePoints::of(file);
        let mut best: Option<Scored> = None;
        let mut callers = Vec::new();
        for group in &self.groups {
            let mut summed = of_group(group, file, &path, &mut lines);
            callers.push(take(&mut summed.callers));
            if best.as_ref().is_none_or(|best| summed.parts.points() > best.parts.points()) {
                best = Some(summed);
            }
        }
        let best = best.unwrap_or_default();
        let main = if path.is_main() { MAIN_FILE } else { 0.0 };
        let homes =
            if best.defines { path.homes().map(str::to_owned).collect() } else { Vec::new() };
        let parts = Parts {
            place: path_penalty(&file.path) + main,
            repository: REPOSITORY * f32::from(file.rank) / f32::from(u16::MAX),
            ..best.parts
        };
        ScoredFile { score: Score::new(parts, best.line, homes), lines, callers }
    }

    /// Returns the points of the lines alone.
    pub fn score_lines(&self, file: &FileMatch) -> LinePoints {
        let path = PathNames::of(&file.repo, &file.path);
        let mut lines = LinePoints::of(file);
        for group in &self.groups {
            let mut scorer = LineScorer::new(group, &path);
            for at in 0..file.lines.len() {
                if !file.lines[at].ranges.is_empty() {
                    lines.note(at, &scorer.score(&file.lines, at));
                }
            }
        }
        lines
    }
}

/// A scored file, with its votes for others.
#[derive(Debug)]
pub struct ScoredFile {
    score: Score,
    lines: LinePoints,
    /// For each group of words, the qualifiers with which the file calls the searched name.
    callers: Vec<Vec<String>>,
}

impl ScoredFile {
    /// Adds the file's votes; returns its score and the points of its lines.
    pub fn vote(self, votes: &mut Votes) -> (Score, LinePoints) {
        for callers in &self.callers {
            votes.add(callers);
        }
        (self.score, self.lines)
    }
}

/// Places a line after all others.
const ASIDE: f32 = -1000.0;

/// Points of each line of a file: how well the line shows why the file matches.
#[derive(Clone, Debug)]
pub struct LinePoints(Vec<f32>);

impl LinePoints {
    /// Returns the points before any line is scored.
    fn of(file: &FileMatch) -> Self {
        let points = |of: &Line| if of.ranges.is_empty() { f32::NEG_INFINITY } else { ASIDE };
        Self(file.lines.iter().map(points).collect())
    }

    fn note(&mut self, at: usize, line: &LineScore) {
        let aside = if line.aside { ASIDE } else { 0.0 };
        self.0[at] = self.0[at].max(line.points() + aside);
    }

    /// Returns the indexes of the `most` best matching lines, in the order of the file. Definitions rank before uses;
    /// comments, imports and licences rank last.
    pub fn best(&self, most: usize) -> Vec<usize> {
        let matching = self.0.iter().enumerate().filter(|(_, points)| points.is_finite());
        let mut best: Vec<usize> = matching.map(|(at, _)| at).collect();
        if best.len() > most {
            // The sort is stable: of equal lines, the first one wins.
            best.sort_by(|a, b| self.0[*b].total_cmp(&self.0[*a]));
            best.truncate(most);
            best.sort_unstable();
        }
        best
    }
}

/// A file scored for one group of words.
#[derive(Debug, Default)]
struct Scored {
    parts: Parts,
    /// The number of its best line.
    line: Option<u64>,
    /// Whether the file defines the whole name that is searched for.
    defines: bool,
    /// The qualifiers with which the file calls the name.
    callers: Vec<String>,
}

fn of_group(group: &Group, file: &FileMatch, path: &PathNames, lines: &mut LinePoints) -> Scored {
    let mut scorer = LineScorer::new(group, path);
    let names = group.names().count();
    let mut summed = Scored::default();
    let (mut definitions, mut best) = (0_u32, LineScore::default());
    let mut coverage = Coverage::new(group, path);
    // The words of near preceding lines, with the numbers of these lines.
    let (mut near, mut seen) = (0_u32, Vec::<(u64, u64)>::new());
    for (at, line) in file.lines.iter().enumerate().filter(|(_, line)| !line.ranges.is_empty()) {
        let found = scorer.score(&file.lines, at);
        lines.note(at, &found);
        definitions += u32::from(found.defines);
        coverage.add(&found);
        if names > 1 {
            seen.retain(|(number, _)| line.number - number <= NEIGHBOURS);
            seen.push((line.number, found.words));
            near = near.max(seen.iter().fold(0, |all, (_, words)| all | words).count_ones());
        }
        if let Some(caller) = &found.caller
            && !summed.callers.contains(caller)
        {
            summed.callers.push(caller.clone());
        }
        if summed.line.is_none() || found.points() > best.points() {
            summed.line = Some(line.number);
            best = found;
        }
    }
    summed.defines = definitions > 0;
    let parts = &mut summed.parts;
    (parts.definition, parts.words) = (best.definition, best.word_points);
    let doublings = (definitions.max(1) as f32).log2();
    parts.definitions = (DEFINITIONS * doublings).min(MAX_DEFINITIONS);
    parts.coverage = COVERAGE * coverage.share(file.bytes);
    let together = best.words.count_ones();
    if near > together {
        parts.near = NEAR * (near - together) as f32 / names as f32;
    }
    let beside = group.words.iter().any(|word| word.keyword);
    let name = if beside { NAME * NAME_BESIDE_KEYWORDS } else { NAME };
    parts.name = name * called(group, file, path);
    if group.names().any(|word| word.in_paths && path.is_whole(word)) {
        parts.name += WHOLE_NAME;
        // A query for a file name ignores term frequency.
        parts.coverage = COVERAGE;
    }
    if summed.defines {
        if names > 1 && group.names().any(|word| path.is_home(&word.folded)) {
            parts.home += WITH_HOME;
        }
        if let Some(qualifier) = group.names().find_map(|word| word.qualifier.as_ref()) {
            parts.home += if path.is_home(qualifier) { AT_HOME } else { 0.0 };
        }
        let mut names = group.names();
        if let (Some(only), None) = (names.next(), names.next()) {
            parts.home += AFFINITY * path.affinity(only);
        }
    }
    summed
}

/// Returns how well the words of a group name a file, from 0 to 1.
fn called(group: &Group, file: &FileMatch, path: &PathNames) -> f32 {
    let names = group.names().filter(|word| word.in_paths);
    let count = names.clone().count();
    if count == 0 {
        return if group.words.is_empty() { called_by_ranges(file) } else { 0.0 };
    }
    let joined: String = names.clone().map(|word| word.folded.as_str()).collect();
    if path.stem.folded == joined {
        return 1.0;
    }
    names.map(|word| path.called_by(word)).sum::<f32>() / count as f32
}

/// Returns the same for patterns that spell no words.
fn called_by_ranges(file: &FileMatch) -> f32 {
    let path = file.path.as_str();
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let stem = path[name..].find('.').filter(|at| *at > 0).map_or(path.len(), |at| name + at);
    let of = |range: &std::ops::Range<usize>| {
        if range.is_empty() {
            0.0
        } else if range.start == name && (range.end == stem || range.end == path.len()) {
            1.0
        } else if range.start >= name {
            0.5
        } else {
            0.25
        }
    };
    file.path_ranges.iter().map(of).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests;
