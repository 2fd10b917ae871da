//! Results as they are gathered: the best of them in their order, and counts of all.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use engine::search::{FileMatch, Line, score};

use crate::http::ask::Asked;
use crate::http::error::Failure;
use crate::http::view;

/// Of a longer line so many bytes are kept, around its first match.
const MAX_LINE: usize = 4096;

/// In which order results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Relevance,
    Path,
    Repo,
}

impl Order {
    pub(super) const ALL: [Order; 3] = [Order::Relevance, Order::Path, Order::Repo];

    pub(crate) fn of(asked: &Asked) -> Result<Self, Failure> {
        match asked.sort.as_deref() {
            None | Some("") => Ok(Order::Relevance),
            Some(name) => Self::named(name).ok_or_else(|| {
                Failure::bad_request(format!("sort={name}: use relevance, path or repo"))
            }),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Order::Relevance => "relevance",
            Order::Path => "path",
            Order::Repo => "repo",
        }
    }
}

/// A result, and where it belongs.
pub(super) struct Ranked {
    pub(super) score: f32,
    pub(super) file: FileMatch,
    /// Its matching lines, of which some may not be kept.
    pub(super) matches: usize,
    /// What matches in lines that are not kept and will be shown around those that are: their numbers and ranges.
    pub(super) beyond: Vec<(u64, Vec<Range<usize>>)>,
}

/// What was found so far: the best of it, and counts of all.
pub(crate) struct Gathering {
    pub(super) order: Order,
    /// Results to keep.
    keep: usize,
    /// Of these all lines, not only what a page shows.
    whole: bool,
    pub(super) best: Vec<Ranked>,
    /// Bytes that they take.
    bytes: usize,
    /// How many were found.
    pub(crate) files: usize,
    pub(super) repos: HashMap<String, usize>,
    pub(super) languages: HashMap<String, usize>,
    pub(super) folders: HashMap<String, usize>,
}

impl Gathering {
    /// For a page.
    pub(super) fn new(order: Order, keep: usize) -> Self {
        let (repos, languages, folders) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (best, bytes, files) = (Vec::new(), 0, 0);
        Self { order, keep, whole: false, best, bytes, files, repos, languages, folders }
    }

    /// For programs.
    pub(crate) fn whole(order: Order, keep: usize) -> Self {
        Self { whole: true, ..Self::new(order, keep) }
    }

    pub(crate) fn add(&mut self, mut file: FileMatch) {
        self.files += 1;
        let count = |counts: &mut HashMap<String, usize>, name: &str| match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(counts.insert(name.to_owned(), 1)),
        };
        count(&mut self.repos, &file.repo);
        if let Some(language) = &file.language {
            count(&mut self.languages, language);
        }
        if let Some((folder, _)) = file.path.split_once('/') {
            count(&mut self.folders, folder);
        }
        let score = if self.order == Order::Relevance { score(&file) } else { 0.0 };
        let matches = file.matches();
        let mut beyond = Vec::new();
        if !self.whole {
            beyond = cut(&mut file.lines);
            file.lines.iter_mut().for_each(shorten);
        }
        self.bytes += file.size();
        self.best.push(Ranked { score, file, matches, beyond });
        if self.best.len() >= self.keep.saturating_mul(2) {
            self.settle();
        }
    }

    /// Puts the best in order, and forgets the others.
    pub(crate) fn settle(&mut self) {
        let order = self.order;
        self.best.sort_by(|a, b| a.before(b, order));
        self.best.truncate(self.keep);
        self.bytes = self.best.iter().map(|ranked| ranked.file.size()).sum();
    }

    /// What is kept takes so many bytes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The best, in order.
    pub(crate) fn into_best(mut self) -> impl Iterator<Item = FileMatch> {
        self.settle();
        self.best.into_iter().map(|ranked| ranked.file)
    }
}

impl Ranked {
    fn before(&self, other: &Self, order: Order) -> Ordering {
        let by_repo =
            || (&self.file.repo, &self.file.path).cmp(&(&other.file.repo, &other.file.path));
        match order {
            Order::Relevance => other.score.total_cmp(&self.score).then_with(by_repo),
            Order::Path => self.file.path.cmp(&other.file.path).then_with(by_repo),
            Order::Repo => by_repo(),
        }
    }
}

/// Keeps the lines that are shown at first, and gives what matches in those that will be seen around them.
fn cut(lines: &mut Vec<Line>) -> Vec<(u64, Vec<Range<usize>>)> {
    let rest = lines.split_off(lines.len().min(view::MAX_LINES));
    let last = lines.last().map_or(0, |line| line.number);
    let seen = rest.into_iter().take_while(|line| line.number <= last + view::CONTEXT as u64);
    // A line may be a megabyte of matches.
    seen.map(|line| (line.number, line.ranges.into_iter().take(64).collect())).collect()
}

/// Keeps of a long line what is around its first match.
fn shorten(line: &mut Line) {
    if line.text.len() <= MAX_LINE {
        return;
    }
    let first = line.ranges.first().map_or(0, |range| range.start);
    let from = line.text.floor_char_boundary(first.saturating_sub(MAX_LINE / 4));
    let upto = line.text.floor_char_boundary(from + MAX_LINE);
    line.text = line.text[from..upto].to_owned();
    line.offset += from as u64;
    line.ranges.retain_mut(|range| {
        *range = range.start.saturating_sub(from)..range.end.min(upto).saturating_sub(from);
        range.start <= range.end && range.end <= upto - from
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_kept_around_its_first_match() {
        let text = format!("{}needle{}needle", "é".repeat(5000), "y".repeat(5000));
        let second = text.len() - 6;
        let ranges = vec![10_000..10_006, second..text.len()];
        let mut line = Line { number: 1, offset: 7, text, ended: true, ranges };
        shorten(&mut line);
        assert!(line.text.len() <= MAX_LINE);
        assert_eq!(line.ranges.len(), 1);
        assert_eq!(&line.text[line.ranges[0].clone()], "needle");
        assert_eq!(line.offset + line.ranges[0].start as u64, 10_007);
    }
}
