//! The pass over all paths: counts the matches and keeps the candidates.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::bound::{Bound, EXACT, LAST_LETTER, LETTER, LIKELY, MAX_PAIRS, NeededPairs};
use super::bounds::QueryBounds;
use super::candidates::{Candidate, coarse_score_of, keep_best, least_rank, rank};
use super::index::PathIndex;
use super::lookup::{Lookup, Variant};
use super::part::PartMatcher;
use super::query::{PathQuery, QueryPart};

/// Paths that one thread scans at a time.
const BLOCK: u32 = 1 << 12;

/// Maximum that the pairs of its name add to the coarse score of a path that is not a match.
const MAX_NAME_COARSE_SCORE: u64 = 2;

/// Candidates that a thread adds before it may raise the bar.
const RAISE_AFTER: usize = 64;

/// The scan of the paths of one variant, shared by all threads.
struct Scan<'a, 's, P, W> {
    index: &'a PathIndex,
    bounds: &'a QueryBounds<'a>,
    lookup: &'a Lookup<'s, P, W>,
    variant: u16,
    /// Coarse score added to all paths because the name of the repository contains a part of the query.
    credit: u64,
    /// Maximum number of candidates.
    most: usize,
    /// Whether only matches are candidates.
    matches_only: bool,
    blocks: Vec<Range<u32>>,
    /// Index of the next block.
    next: AtomicUsize,
    /// Number of candidates with each coarse score.
    coarse_scores: Vec<AtomicU32>,
    /// Lowest rank of a candidate.
    bar: AtomicU64,
}

/// The results of one thread.
#[derive(Default)]
struct ThreadScan {
    /// Buffer for the paths that pass the bounds, with their folders.
    hits: Vec<(u32, u32)>,
    best: Vec<Candidate>,
    matches: usize,
    bar: u64,
}

impl PathIndex {
    /// Returns up to `most` candidates, best first, and the number of matches. With `matches_only`, all
    /// candidates are matches.
    pub(super) fn candidates<'p, P, W>(
        &self,
        query: &PathQuery,
        variants: &[(&Variant, QueryBounds<'_>)],
        lookup: &Lookup<'_, P, W>,
        most: usize,
        matches_only: bool,
    ) -> (Vec<Candidate>, usize)
    where
        P: Fn(u32) -> &'p str + Sync,
        W: Fn(u32) -> bool + Sync,
    {
        let pairs =
            |query: &PathQuery| query.parts.iter().map(QueryPart::pairs).sum::<usize>() as u64;
        let (mut best, mut matches) = (Vec::new(), 0);
        for (variant, (Variant { query: own, among, .. }, bounds)) in (0..).zip(variants) {
            let credit = 8 * (pairs(query) - pairs(own));
            let coarse_scores = std::iter::repeat_with(AtomicU32::default);
            let scan = Scan {
                index: self,
                bounds,
                lookup,
                variant,
                credit,
                most,
                matches_only,
                blocks: blocks(among),
                next: AtomicUsize::new(0),
                coarse_scores: coarse_scores
                    .take(max_coarse_score(&bounds.parts) + credit as usize + 1)
                    .collect(),
                bar: AtomicU64::new(0),
            };
            let (some, more) = scan.run();
            best.extend(some);
            matches += more;
        }
        keep_best(&mut best, most);
        best.sort_unstable_by(|a, b| b.cmp(a));
        (best, matches)
    }
}

impl<'p, P, W> Scan<'_, '_, P, W>
where
    P: Fn(u32) -> &'p str + Sync,
    W: Fn(u32) -> bool + Sync,
{
    /// Scans all blocks on all threads. Returns the candidates in any order, and the number of matches.
    fn run(&self) -> (Vec<Candidate>, usize) {
        let threads = rayon::current_num_threads().clamp(1, self.blocks.len().max(1));
        let scans = (0..threads).into_par_iter().with_max_len(1).map(|_| {
            let mut own = ThreadScan::default();
            while let Some(files) = self.blocks.get(self.next.fetch_add(1, Ordering::Relaxed)) {
                self.block(files.clone(), &mut own);
            }
            (own.best, own.matches)
        });
        let (mut best, matches) = scans.reduce(
            || (Vec::new(), 0),
            |(mut some, matches), (others, more)| {
                some.extend(others);
                (some, matches + more)
            },
        );
        keep_best(&mut best, self.most);
        (best, matches)
    }

    /// Scans a range of paths.
    fn block(&self, files: Range<u32>, own: &mut ThreadScan) {
        own.bar = own.bar.max(self.bar.load(Ordering::Relaxed));
        let (mut bar, mut needed) = (own.bar, self.needed(own.bar));
        let mut hits = std::mem::take(&mut own.hits);
        self.hits(files, needed, &mut hits);
        self.make_exact(&hits);
        for (file, folder) in hits.drain(..) {
            let name = self.index.own[file as usize] as usize;
            let (letters, rest) = needed.in_folder(self.bounds.folder_bounds()[folder as usize]);
            let bound = self.bounds.name_bounds()[name].load(Ordering::Relaxed);
            let holds = bound & LETTER <= letters;
            let enough = bound >= if holds { rest.matched } else { rest.other };
            if enough || holds && !self.is_exact(bound) {
                self.path(file, folder as usize, bound, holds, own);
            } else if holds && (self.lookup.wanted)(file) {
                own.matches += 1;
            }
            if own.bar > bar {
                (bar, needed) = (own.bar, self.needed(own.bar));
            }
        }
        own.hits = hits;
    }

    /// Collects the paths that by their bounds may be matches or contain enough pairs, with their folders.
    fn hits(&self, files: Range<u32>, needed: NeededPairs<u32>, hits: &mut Vec<(u32, u32)>) {
        let runs = &self.index.runs;
        let first = runs.partition_point(|(from, _)| *from <= files.start) - 1;
        let bounds = self.bounds.name_bounds();
        for two in runs[first..].windows(2) {
            let (from, upto) = (two[0].0.max(files.start), two[1].0.min(files.end));
            if from >= upto {
                break;
            }
            let folder = two[0].1;
            let (letters, rest) = needed.in_folder(self.bounds.folder_bounds()[folder as usize]);
            for (file, name) in (from..).zip(&self.index.own[from as usize..upto as usize]) {
                let bound = bounds[*name as usize].load(Ordering::Relaxed);
                if bound & LETTER <= letters || bound >= rest.other {
                    hits.push((file, folder));
                }
            }
        }
    }

    /// Returns whether the bound of a name decides which of its paths are matches.
    fn is_exact(&self, bound: Bound) -> bool {
        self.bounds.parts.len() == 1 && bound & EXACT != 0
    }

    /// Makes the bounds of these names exact: computes the letter from which each contains the longest part.
    fn make_exact(&self, hits: &[(u32, u32)]) {
        let longest = self.bounds.longest.map(|longest| &self.bounds.parts[longest]);
        let Some(longest) =
            longest.filter(|longest| longest.part.text.len() <= usize::from(LAST_LETTER))
        else {
            return;
        };
        for (file, folder) in hits {
            let name = self.index.own[*file as usize] as usize;
            let letters = self.bounds.folder_bounds()[*folder as usize] & LETTER;
            let here = &self.bounds.name_bounds()[name];
            let bound = here.load(Ordering::Relaxed);
            if bound & LETTER <= letters && bound & EXACT == 0 {
                let from = longest.held_from(&self.index.names, name) as Bound;
                here.store(bound & !LETTER | from | EXACT, Ordering::Relaxed);
            }
        }
    }

    /// Returns how many pairs a path must contain to reach the bar.
    fn needed(&self, bar: u64) -> NeededPairs<u32> {
        let parts = self.bounds.parts.len() as u64;
        // The largest rest of a coarse score besides its pairs. Likely names are always examined.
        let pairs = |parts_held: u64| {
            let more = 4 * parts_held + 3 * parts;
            coarse_score_of(bar).saturating_sub(more + self.credit).div_ceil(8) as u32
        };
        let other = match self.bounds.parts.as_slice() {
            _ if self.matches_only => MAX_PAIRS,
            [part] => pairs(0).max(part.least),
            _ => pairs(parts.saturating_sub(1)),
        };
        NeededPairs { other, matched: pairs(parts) }
    }

    /// Examines a path. `bound` is that of its name; `holds` tells that the path may be a match.
    fn path(&self, file: u32, folder: usize, bound: Bound, holds: bool, own: &mut ThreadScan) {
        let (name, names) = (self.index.own[file as usize] as usize, &self.index.names);
        let (is_exact, is_likely) = (!holds || self.is_exact(bound), bound >= LIKELY);
        // Name and folder often contain the same pairs. Then the path contains fewer than the sum of their bounds.
        if let [part] = self.bounds.parts.as_slice()
            && !holds
            && !is_likely
        {
            let pairs = self.bounds.pairs(name, folder);
            let coarse_score = 8 * u64::from(pairs) + MAX_NAME_COARSE_SCORE + self.credit;
            if pairs < part.least || coarse_score < coarse_score_of(own.bar) {
                return;
            }
        }
        let (mut coarse_score, mut held, mut possible) = (self.credit, 0_u8, true);
        let hits = self.bounds.name(name).zip(self.bounds.folder(folder));
        for (at, (part, (own_pairs, around))) in self.bounds.parts.iter().zip(hits).enumerate() {
            let (whole, in_name) = if is_exact && self.bounds.parts.len() == 1 {
                (holds, holds && bound & LETTER == 0)
            } else {
                part.holds(names, name, around.letters)
            };
            let pairs = (own_pairs | around.pairs).count_ones();
            let likely = if is_likely { part.likely(names, name) } else { None };
            possible &= whole || pairs >= part.least || likely.is_some();
            held |= u8::from(whole) << at;
            coarse_score +=
                part.coarse_score(pairs, own_pairs, (whole, in_name)).max(likely.unwrap_or(0));
        }
        let is_match = held.count_ones() == self.bounds.parts.len() as u32;
        let too_low = self.matches_only || coarse_score < coarse_score_of(own.bar);
        if !possible || !is_match && too_low || !(self.lookup.wanted)(file) {
            return;
        }
        own.matches += usize::from(is_match);
        // Among equal coarse scores, the shortest name wins; with an empty query, the shortest path.
        let length = match self.bounds.parts.as_slice() {
            [] => (self.lookup.path)(file).len(),
            _ => names.length(name),
        };
        let rank = rank(coarse_score, length);
        if rank >= own.bar {
            let variant = self.variant;
            self.add(Candidate { rank, file: Reverse(file), holds: held, variant }, own);
        }
    }

    /// Adds a candidate of a thread, and raises the bar from time to time.
    fn add(&self, candidate: Candidate, own: &mut ThreadScan) {
        own.best.push(candidate);
        self.coarse_scores[coarse_score_of(candidate.rank) as usize]
            .fetch_add(1, Ordering::Relaxed);
        if own.best.len() >= 2 * self.most {
            keep_best(&mut own.best, self.most);
            own.bar = own.best.iter().map(|one| one.rank).min().unwrap_or(0).max(own.bar);
        } else if own.best.len().is_multiple_of(RAISE_AFTER) {
            own.bar = own.bar.max(least_rank(self.coarse_score_of_most()));
        } else {
            return;
        }
        self.bar.fetch_max(own.bar, Ordering::Relaxed);
    }

    /// Returns the greatest coarse score that at least `most` candidates reach.
    fn coarse_score_of_most(&self) -> u64 {
        let mut rest = self.most as u32;
        let at = self.coarse_scores.iter().rposition(|count| {
            rest = rest.saturating_sub(count.load(Ordering::Relaxed));
            rest == 0
        });
        at.unwrap_or(0) as u64
    }
}

/// Splits ranges of paths into blocks.
fn blocks(among: &[Range<u32>]) -> Vec<Range<u32>> {
    let cut = |all: &Range<u32>| {
        let end = all.end;
        all.clone().step_by(BLOCK as usize).map(move |from| from..end.min(from + BLOCK))
    };
    among.iter().flat_map(cut).collect()
}

/// Returns the greatest coarse score of any path: it contains all pairs, and each part is likely.
fn max_coarse_score(parts: &[PartMatcher<'_>]) -> usize {
    parts.iter().map(|part| 8 * (part.pairs.len() + 1)).sum()
}
