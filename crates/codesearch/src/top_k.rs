//! The best results of a search in the order that was asked for, and counts of all of them: for pages, programs, agents
//! and terminals.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use engine::search::FileMatch;
use engine::search::rank::{LinePoints, Ranking, Score, Votes};
use query::Query;

use crate::order::Order;

pub(crate) use engine::search::rank::POOL;

/// Matches in lines of a file that are not kept: the number of each line, and its ranges in bytes.
pub(crate) type DroppedMatches = Vec<(u64, Vec<Range<usize>>)>;

/// A result and its score.
pub(crate) struct RankedFile {
    score: Score,
    pub(crate) file: FileMatch,
    /// Matching lines of the whole file, kept or not.
    pub(crate) matches: usize,
    /// Matches in lines that a page will show as context of lines that are kept.
    pub(crate) dropped: DroppedMatches,
}

/// The best `keep` of the results so far, and counts of all.
pub(crate) struct TopK {
    pub(crate) order: Order,
    ranking: Ranking,
    votes: Votes,
    /// Results to keep.
    keep: usize,
    /// They are put in order when there are so many.
    full: usize,
    pub(crate) best: Vec<RankedFile>,
    /// Bytes that they take in memory, about.
    bytes: usize,
    /// How many were found.
    pub(crate) files: usize,
    /// Matching lines that were found.
    pub(crate) matches: usize,
    /// A folder with a slash at its end, or nothing: the folders directly in it are counted.
    pub(crate) below: String,
    /// Files found in each repository, in each language, and in each folder.
    pub(crate) repos: HashMap<String, usize>,
    pub(crate) languages: HashMap<String, usize>,
    pub(crate) folders: HashMap<String, usize>,
}

impl TopK {
    pub(crate) fn new(query: &Query, order: Order, keep: usize) -> Self {
        Self {
            order,
            ranking: Ranking::of(query),
            votes: Votes::default(),
            keep,
            full: keep.saturating_mul(2),
            best: Vec::new(),
            bytes: 0,
            files: 0,
            matches: 0,
            below: String::new(),
            repos: HashMap::new(),
            languages: HashMap::new(),
            folders: HashMap::new(),
        }
    }

    /// Counts and ranks a file, and keeps of it what `trim` leaves, which is told which of its lines are the best.
    pub(crate) fn add(
        &mut self,
        mut file: FileMatch,
        trim: impl FnOnce(&mut FileMatch, &BestLines<'_>) -> DroppedMatches,
    ) {
        self.files += 1;
        let count = |counts: &mut HashMap<String, usize>, name: &str| match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(counts.insert(name.to_owned(), 1)),
        };
        count(&mut self.repos, &file.repo);
        if let Some(language) = &file.language {
            count(&mut self.languages, language);
        }
        let within = file.path.strip_prefix(&self.below);
        if let Some((folder, _)) = within.and_then(|path| path.split_once('/')) {
            count(&mut self.folders, folder);
        }
        let (score, points) = match self.order {
            Order::Relevance => {
                let (score, points) = self.ranking.score(&file, &mut self.votes);
                (score, Some(points))
            }
            Order::Path | Order::Repo => (Score::default(), None),
        };
        let matches = file.matches();
        self.matches += matches;
        let dropped = trim(&mut file, &BestLines { ranking: &self.ranking, points });
        self.bytes += file.size();
        self.best.push(RankedFile { score, file, matches, dropped });
        if self.best.len() >= self.full {
            self.settle();
        }
    }

    /// Sorts the best, and drops those that can no longer be among them.
    pub(crate) fn settle(&mut self) {
        let (order, votes) = (self.order, &self.votes);
        match order {
            Order::Relevance => {
                let points = |ranked: &RankedFile| votes.points(&ranked.score);
                let by = |a: &RankedFile, b: &RankedFile| {
                    points(b).total_cmp(&points(a)).then_with(|| a.by_repo(b))
                };
                self.best.sort_by(by);
                // Others may still vote for a file.
                let alone = |ranked: &RankedFile| ranked.score.alone;
                let mut kept: Vec<f32> = self.best.iter().map(alone).collect();
                kept.sort_by(|a, b| b.total_cmp(a));
                if let Some(last) = self.keep.checked_sub(1).and_then(|last| kept.get(last)) {
                    self.best.retain(|ranked| alone(ranked) + Votes::MOST >= *last);
                }
            }
            Order::Path => self.best.sort_by(RankedFile::by_path),
            Order::Repo => self.best.sort_by(RankedFile::by_repo),
        }
        if order != Order::Relevance {
            self.best.truncate(self.keep);
        }
        self.full = self.keep.max(self.best.len()).saturating_mul(2);
        self.bytes = self.best.iter().map(|ranked| ranked.file.size()).sum();
    }

    /// Bytes that the kept files take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The best, in order.
    pub(crate) fn into_best(mut self) -> impl Iterator<Item = RankedFile> {
        self.settle();
        self.best.into_iter().take(self.keep)
    }
}

/// Which lines of a file say most.
pub(crate) struct BestLines<'r> {
    ranking: &'r Ranking,
    /// If they are known already.
    points: Option<LinePoints>,
}

impl BestLines<'_> {
    /// The places of the best lines of the file, as it was found, in their order.
    pub(crate) fn of(&self, file: &FileMatch, most: usize) -> Vec<usize> {
        match &self.points {
            Some(points) => points.best(most),
            None => self.ranking.score_lines(file).best(most),
        }
    }
}

impl RankedFile {
    fn by_repo(&self, other: &Self) -> Ordering {
        (&self.file.repo, &self.file.path).cmp(&(&other.file.repo, &other.file.path))
    }

    fn by_path(&self, other: &Self) -> Ordering {
        self.file.path.cmp(&other.file.path).then_with(|| self.by_repo(other))
    }
}
