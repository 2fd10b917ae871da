//! Keeps the best results of a search in the requested order, and counts all of them.

use std::collections::HashMap;

use crate::copies::{Origins, fold, keys};
use crate::ranked_file::{DroppedMatches, RankedFile};
use crate::{Explained, LinePoints, Ranking, Score, ScoredFile, Votes};
use answer::FileMatch;
use query::{Query, Select};
use rayon::prelude::*;

use crate::order::{Order, by_path};

/// Most memory for the kept results, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Fewest results that are kept before they are sorted and cut.
const MIN_FULL: usize = 1000;

/// Fewest files that are scored by several threads.
const FEW: usize = 8;

/// The best `keep` results so far, and counts of all results.
pub struct TopK {
    /// The order of the results.
    pub order: Order,
    ranking: Ranking,
    votes: Votes,
    /// Whether lines are found for ranking only, and are not shown.
    drops_lines: bool,
    /// Whether identical copies become one result.
    folds: bool,
    /// Number of files that became copies of a result.
    folded: usize,
    /// Number of results to keep.
    keep: usize,
    /// Number of kept results at which they are sorted and cut.
    full: usize,
    /// The kept results; [`TopK::settle`] sorts them.
    pub best: Vec<RankedFile>,
    /// Approximate size of the kept results in memory, in bytes.
    bytes: usize,
    /// Number of results found.
    pub files: usize,
    /// Number of matching lines found.
    pub matches: usize,
    /// A folder with a slash at its end, or empty for the root. The folders directly in it are counted.
    pub below: String,
    /// Number of files found in each repository.
    pub repos: HashMap<String, usize>,
    /// Number of files found in each language.
    pub languages: HashMap<String, usize>,
    /// Number of files found in each folder directly in `below`.
    pub folders: HashMap<String, usize>,
    /// Number of files found in each tree, of repositories with several.
    pub trees: HashMap<String, usize>,
}

impl TopK {
    /// Keeps the best `keep` results of a query in an order. Changes have an order of their own.
    pub fn new(query: &Query, order: Order, keep: usize) -> Self {
        let order = if query.changes.is_some() { Order::Found } else { order };
        Self {
            order,
            ranking: Ranking::of(query),
            votes: Votes::default(),
            drops_lines: query.settings.select == Select::Files,
            folds: false,
            folded: 0,
            keep,
            full: full(keep),
            best: Vec::new(),
            bytes: 0,
            files: 0,
            matches: 0,
            below: String::new(),
            repos: HashMap::new(),
            languages: HashMap::new(),
            folders: HashMap::new(),
            trees: HashMap::new(),
        }
    }

    /// Makes identical copies one result, if results are ranked and are files. `keep` then counts such results, while
    /// the other counts still count every file.
    pub fn fold_copies(&mut self, query: &Query) {
        self.folds = self.order == Order::Relevance && query.settings.select != Select::Repos;
    }

    /// Makes every file a result of its own.
    pub fn keep_copies(&mut self) {
        self.folds = false;
    }

    /// Returns the number of results: of files, without those folded into others as far as they are sorted.
    pub fn results(&self) -> usize {
        self.files - self.folded
    }

    /// Counts and ranks files, and keeps as much of each as `trim` leaves. `trim` can ask for its best lines.
    pub fn add(
        &mut self,
        files: Vec<FileMatch>,
        mut trim: impl FnMut(&mut FileMatch, &BestLines<'_>) -> DroppedMatches,
    ) {
        let scored: Vec<Option<ScoredFile>> = match self.order {
            // Scoring a file takes some ten microseconds.
            Order::Relevance if files.len() >= FEW => {
                files.par_iter().map(|file| Some(self.ranking.score_alone(file))).collect()
            }
            Order::Relevance => {
                files.iter().map(|file| Some(self.ranking.score_alone(file))).collect()
            }
            Order::Path | Order::Found => files.iter().map(|_| None).collect(),
        };
        for (file, scored) in files.into_iter().zip(scored) {
            self.add_scored(file, scored, &mut trim);
        }
    }

    fn add_scored(
        &mut self,
        mut file: FileMatch,
        scored: Option<ScoredFile>,
        trim: &mut impl FnMut(&mut FileMatch, &BestLines<'_>) -> DroppedMatches,
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
        for tree in &file.trees {
            count(&mut self.trees, tree);
        }
        let within = file.path.strip_prefix(&self.below);
        if let Some((folder, _)) = within.and_then(|path| path.split_once('/')) {
            count(&mut self.folders, folder);
        }
        let (score, points) = match scored {
            Some(scored) => {
                let (score, points) = scored.vote(&mut self.votes);
                (score, Some(points))
            }
            None => (Score::default(), None),
        };
        if self.drops_lines {
            file.lines.clear();
        }
        let matches = file.matches();
        self.matches += matches;
        let keys = self.folds.then(|| keys(&file)).flatten();
        let dropped = trim(&mut file, &BestLines { ranking: &self.ranking, points });
        self.bytes += file.size();
        self.best.push(RankedFile { score, keys, file, matches, dropped });
        if self.best.len() >= self.full {
            self.settle();
        }
    }

    /// Sorts the kept results, folds copies, and drops those that can no longer be among the best.
    pub fn settle(&mut self) {
        let (order, votes) = (self.order, &self.votes);
        match order {
            Order::Relevance => {
                let points = |ranked: &RankedFile| votes.points(&ranked.score);
                let by = |a: &RankedFile, b: &RankedFile| {
                    points(b).total_cmp(&points(a)).then_with(|| by_path(&a.file, &b.file))
                };
                self.best.sort_by(by);
                if self.folds {
                    let before = self.best.len();
                    self.best = fold(std::mem::take(&mut self.best));
                    self.folded += before - self.best.len();
                }
                // Files found later may still vote for a file, so its score may rise by up to [`Votes::most`].
                let alone = |ranked: &RankedFile| ranked.score.alone;
                let mut kept: Vec<f32> = self.best.iter().map(alone).collect();
                kept.sort_by(|a, b| b.total_cmp(a));
                if let Some(last) = self.keep.checked_sub(1).and_then(|last| kept.get(last)) {
                    self.best.retain(|ranked| alone(ranked) + Votes::most(&ranked.score) >= *last);
                }
            }
            Order::Path => self.best.sort_by(|a, b| by_path(&a.file, &b.file)),
            Order::Found => {}
        }
        if order != Order::Relevance {
            self.best.truncate(self.keep);
        }
        self.full = full(self.keep.max(self.best.len()));
        self.bytes = self.best.iter().map(|ranked| ranked.file.size()).sum();
    }

    /// Returns about how many bytes the kept results take in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether the kept results take more memory than one answer may. A cursor says how many are kept.
    pub fn is_too_large(&mut self) -> bool {
        if self.bytes > MAX_BYTES {
            self.settle();
        }
        self.bytes > MAX_BYTES
    }

    /// Returns the parts of a result's score; `None` in an order without scores.
    pub fn explain(&self, ranked: &RankedFile) -> Option<Explained> {
        (self.order == Order::Relevance).then(|| self.votes.explain(&ranked.score))
    }

    /// Returns the best results in order, after the first `skip`, each with the parts of its score. Of identical
    /// copies, the result is the one that `origins` prefers, with the score of the best.
    pub fn into_best(
        mut self,
        skip: usize,
        origins: &Origins,
    ) -> impl Iterator<Item = (RankedFile, Option<Explained>)> {
        self.settle();
        let best = std::mem::take(&mut self.best).into_iter().take(self.keep).skip(skip);
        best.map(move |mut ranked| {
            origins.order(&mut ranked.file);
            let explained = self.explain(&ranked);
            (ranked, explained)
        })
    }
}

/// Returns the number of kept results at which they are sorted and cut: enough that a search does not sort most of the
/// time.
fn full(kept: usize) -> usize {
    kept.saturating_mul(2).max(MIN_FULL)
}

/// Chooses the best lines of a file.
pub struct BestLines<'r> {
    ranking: &'r Ranking,
    /// The points of the lines, if they are known.
    points: Option<LinePoints>,
}

impl BestLines<'_> {
    /// Returns the indexes of the best lines among those found, in ascending order.
    pub fn of(&self, file: &FileMatch, most: usize) -> Vec<usize> {
        match &self.points {
            Some(points) => points.best(most),
            None => self.ranking.score_lines(file).best(most),
        }
    }

    /// Keeps the best lines of a file, in the order of their numbers.
    pub fn keep(&self, file: &mut FileMatch, most: usize) {
        if file.lines.len() > most {
            let best = self.of(file, most);
            let mut at = 0;
            file.lines.retain(|_| {
                at += 1;
                best.binary_search(&(at - 1)).is_ok()
            });
        }
    }
}
