//! Which results are likely to be wanted most: one formula for all who show results in that order.
//!
//! The reference engines agree on its signals (Zoekt's `contentprovider.go`, Sourcegraph's notes on ranking): what is
//! called so before what mentions it, definitions before uses, whole words before parts of words, code that people write
//! and read before tests, copies and output of programs; and of what is much alike, what lies in the repository that its
//! operator ranks higher. Two are of our own: words that together are one name (`read file` is `ReadFile`), and the names
//! by way of which others call what is defined (`os.ReadFile` says that `os/file.go` is meant).
//!
//! | what | where |
//! |---|---|
//! | the words of a query | [`words`], [`name`] |
//! | whether a line defines a name | [`definition`] |
//! | what a line is worth | [`line`] |
//! | how often words stand in a file | [`coverage`] |
//! | what a path is worth | [`path`] |
//! | what other files say | [`votes`] |
//! | how a score came about | [`score`] |
//! | boost queries | [`boost`] |

pub mod boost;
mod coverage;
mod definition;
mod line;
mod name;
mod order;
mod path;
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

pub use definition::{is_comment, is_import};
pub use order::{Order, by_path};
pub use path::path_penalty;
pub use score::{Explained, Parts, Score};
pub use top_k::{BestLines, DroppedMatches, RankedFile, TopK};
pub use votes::Votes;

/// Files that are found before the best of them are shown. Fewer may not have what is wanted among them; to find and
/// score more takes longer than people wait for a page.
pub const POOL: usize = 500;

/// The file's own name is what was looked for: as good as a definition that is no type, so that a file that is called so
/// and one that defines it decide by what else they have.
const NAME: f32 = 70.0;
/// The same with its extension: who types `window-copy.c` means the file.
const WHOLE_NAME: f32 = 40.0;
/// What of that counts for who types `type` or `func`, and so looks for a definition wherever it is.
const NAME_BESIDE_KEYWORDS: f32 = 0.4;

/// For what is defined several times in a file, for each doubling; and at most. A file in which everything is about a name
/// defines it for several types.
const DEFINITIONS: f32 = 4.0;
const MAX_DEFINITIONS: f32 = 12.0;

/// All words stand in a file as often as counts.
const COVERAGE: f32 = 30.0;

/// Different words in lines that are neighbours, though in no line together.
const NEAR: f32 = 10.0;
/// Neighbours are not further apart than so many lines.
const NEIGHBOURS: u64 = 3;

/// `json.Unmarshal` is defined where json is. Elsewhere, `Unmarshal` is another thing.
const AT_HOME: f32 = 30.0;
/// The same where another word of the query is what the qualifier would be.
const WITH_HOME: f32 = 15.0;

/// Parts of the name stand in the path of the file that defines it.
const AFFINITY: f32 = 10.0;
/// The file that its folder is called by is the first to look at.
const MAIN_FILE: f32 = 4.0;

/// For the highest rank that a repository can have: less than most of the above, so that it decides between files that are
/// much alike.
const REPOSITORY: f32 = 5.0;

/// How files of one search are scored.
#[derive(Clone, Debug)]
pub struct Ranking {
    groups: Vec<Group>,
}

impl Ranking {
    /// That of a query.
    pub fn of(query: &Query) -> Self {
        Self { groups: groups(query) }
    }

    /// The score of a file and of its lines; what it says of others becomes part of the votes.
    pub fn score(&self, file: &FileMatch, votes: &mut Votes) -> (Score, LinePoints) {
        self.score_alone(file).vote(votes)
    }

    /// The same before what it says of others is counted. Threads may score files at the same time.
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

    /// The points of the lines alone.
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

/// A file that was scored, and what it says of others.
#[derive(Debug)]
pub struct ScoredFile {
    score: Score,
    lines: LinePoints,
    /// For each group of words, the names by way of which the file calls what was looked for.
    callers: Vec<Vec<String>>,
}

impl ScoredFile {
    /// Adds what it says of others to the votes; returns its score and that of its lines.
    pub fn vote(self, votes: &mut Votes) -> (Score, LinePoints) {
        for callers in &self.callers {
            votes.add(callers);
        }
        (self.score, self.lines)
    }
}

/// Places a line behind all others.
const ASIDE: f32 = -1000.0;

/// Points of each line of a file: how well it shows why the file was found.
#[derive(Clone, Debug)]
pub struct LinePoints(Vec<f32>);

impl LinePoints {
    /// Of lines that are not looked at yet.
    fn of(file: &FileMatch) -> Self {
        let points = |of: &Line| if of.ranges.is_empty() { f32::NEG_INFINITY } else { ASIDE };
        Self(file.lines.iter().map(points).collect())
    }

    fn note(&mut self, at: usize, line: &LineScore) {
        let aside = if line.aside { ASIDE } else { 0.0 };
        self.0[at] = self.0[at].max(line.points() + aside);
    }

    /// The places of the `most` matching lines that say most, in the order of the file: definitions before uses, then
    /// comments, imports and licences last.
    pub fn best(&self, most: usize) -> Vec<usize> {
        let matching = self.0.iter().enumerate().filter(|(_, points)| points.is_finite());
        let mut best: Vec<usize> = matching.map(|(at, _)| at).collect();
        if best.len() > most {
            // A stable sort: of lines that say as much, the first.
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
    /// It defines all of the name that was looked for.
    defines: bool,
    /// The names by way of which it calls that.
    callers: Vec<String>,
}

fn of_group(group: &Group, file: &FileMatch, path: &PathNames, lines: &mut LinePoints) -> Scored {
    let mut scorer = LineScorer::new(group, path);
    let names = group.names().count();
    let mut summed = Scored::default();
    let (mut definitions, mut best) = (0_u32, LineScore::default());
    let mut coverage = Coverage::new(group, path);
    // The words of the lines before that are near, with the numbers of those.
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
        // A query for a file name does not score term frequency.
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

/// How well a file is called by the words of a group, from 0 to 1.
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

/// The same where patterns say what was looked for.
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
