//! The best results of a search in the order that was asked for, and counts of all of them.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use engine::search::{FileMatch, score};

use super::order::Order;

/// Files that are found before the best of them are shown.
pub(crate) const WINDOW: usize = 1000;

/// Matches in lines of a file that are not kept: the number of each line, and its ranges in bytes.
pub(crate) type DroppedMatches = Vec<(u64, Vec<Range<usize>>)>;

/// A result and its score.
pub(crate) struct RankedFile {
    score: f32,
    pub(crate) file: FileMatch,
    /// Matching lines of the whole file, kept or not.
    pub(crate) matches: usize,
    /// Matches in lines that a page will show as context of lines that are kept.
    pub(crate) dropped: DroppedMatches,
}

/// The best `keep` of the results so far, and counts of all.
pub(crate) struct TopK {
    pub(crate) order: Order,
    /// Results to keep.
    keep: usize,
    pub(crate) best: Vec<RankedFile>,
    /// Bytes that they take in memory, about.
    bytes: usize,
    /// How many were found.
    pub(crate) files: usize,
    /// A folder with a slash at its end, or nothing: folders are counted that lie directly in it.
    pub(crate) below: String,
    /// Files found in each repository, in each language, and in each folder.
    pub(crate) repos: HashMap<String, usize>,
    pub(crate) languages: HashMap<String, usize>,
    pub(crate) folders: HashMap<String, usize>,
}

impl TopK {
    pub(crate) fn new(order: Order, keep: usize) -> Self {
        let (repos, languages, folders) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (best, below) = (Vec::new(), String::new());
        Self { order, keep, best, bytes: 0, files: 0, below, repos, languages, folders }
    }

    /// Counts and ranks a file, and keeps of it what `trim` leaves.
    pub(crate) fn add(
        &mut self,
        mut file: FileMatch,
        trim: impl FnOnce(&mut FileMatch) -> DroppedMatches,
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
        let score = if self.order == Order::Relevance { score(&file) } else { 0.0 };
        let matches = file.matches();
        let dropped = trim(&mut file);
        self.bytes += file.size();
        self.best.push(RankedFile { score, file, matches, dropped });
        if self.best.len() >= self.keep.saturating_mul(2) {
            self.settle();
        }
    }

    /// Sorts the best, and drops the others.
    pub(crate) fn settle(&mut self) {
        let order = self.order;
        self.best.sort_by(|a, b| a.cmp_in(b, order));
        self.best.truncate(self.keep);
        self.bytes = self.best.iter().map(|ranked| ranked.file.size()).sum();
    }

    /// Bytes that the kept files take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The best, in order.
    pub(crate) fn into_best(mut self) -> impl Iterator<Item = FileMatch> {
        self.settle();
        self.best.into_iter().map(|ranked| ranked.file)
    }
}

impl RankedFile {
    fn cmp_in(&self, other: &Self, order: Order) -> Ordering {
        let by_repo =
            || (&self.file.repo, &self.file.path).cmp(&(&other.file.repo, &other.file.path));
        match order {
            Order::Relevance => other.score.total_cmp(&self.score).then_with(by_repo),
            Order::Path => self.file.path.cmp(&other.file.path).then_with(by_repo),
            Order::Repo => by_repo(),
        }
    }
}
