//! Finds the nearest paths: scores the candidates and sorts them.

use std::array;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::bounds::QueryBounds;
use super::candidates::Candidate;
use super::index::PathIndex;
use super::lookup::{CANDIDATES, Lookup, Variant};
use super::query::PathQuery;
use super::score::Scorer;

/// Paths scored at once: as many `i16` as fit into an SSE2 register.
const LANES: usize = 8;

/// Number of candidates for which one more thread pays off.
const PER_THREAD: usize = 128;

/// The nearest paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NearestPaths {
    /// Number and cost of each path, nearest first.
    pub best: Vec<(u32, u16)>,
    /// Number of matches, and of other near paths found.
    pub found: usize,
}

/// Cost of a path, its length in bytes, and its number.
pub(super) type Scored = (u16, u32, u32);

/// The best of the paths scored so far.
struct TopPaths {
    best: BinaryHeap<Scored>,
    limit: usize,
}

impl PathIndex {
    /// Returns the paths nearest to a query, of all paths.
    ///
    /// # Panics
    /// When called on a thread of an async runtime: it blocks until other lookups are done.
    pub fn nearest<'p>(
        &self,
        query: &PathQuery,
        limit: usize,
        path: &(dyn Fn(u32) -> &'p str + Sync),
    ) -> NearestPaths {
        let among = std::iter::once(0..self.len() as u32).collect();
        let variant = Variant { query: query.clone(), among, in_repo: false };
        let (repo, candidates) = (&|_| "", CANDIDATES);
        let lookup = Lookup { path, repo, wanted: |_| true, limit, candidates };
        self.lookup(query, &[variant], &lookup)
    }

    /// Returns the paths nearest to a query, of the paths of its variants.
    pub fn lookup<'p, P, W>(
        &self,
        query: &PathQuery,
        variants: &[Variant],
        lookup: &Lookup<'_, P, W>,
    ) -> NearestPaths
    where
        P: Fn(u32) -> &'p str + Sync,
        W: Fn(u32) -> bool + Sync,
    {
        let _turn = self.turn.blocking_lock();
        // Enter rayon's pool once: its threads sleep until then.
        rayon::scope(|_| {
            let variants: Vec<(&Variant, QueryBounds<'_>)> = variants
                .iter()
                .map(|one| (one, QueryBounds::new(&one.query.parts, self)))
                .collect();
            let (all, matches) =
                self.candidates(query, &variants, lookup, lookup.candidates, false);
            let (mut best, near) = score_all(query, &all, &variants, lookup, lookup.limit);
            let found = matches + near;
            let more = lookup.limit.min(found).saturating_sub(best.len());
            if more > 0 {
                // Score whole groups, so that the order in a group does not depend on the limit.
                let group = lookup.candidates.max(1);
                let most = all.len() + more.next_multiple_of(group);
                let (mut others, _) = self.candidates(query, &variants, lookup, most, true);
                others.retain(|one| all.binary_search_by(|other| one.cmp(other)).is_err());
                for group in others.chunks(group) {
                    let rest = lookup.limit - best.len();
                    best.extend(score_all(query, group, &variants, lookup, rest).0);
                }
            }
            NearestPaths { best, found }
        })
    }
}

/// Scores candidates on all threads. Returns the nearest with their costs, best first, and the number of near
/// paths that are not matches.
fn score_all<'p, P, W>(
    query: &PathQuery,
    candidates: &[Candidate],
    variants: &[(&Variant, QueryBounds<'_>)],
    lookup: &Lookup<'_, P, W>,
    limit: usize,
) -> (Vec<(u32, u16)>, usize)
where
    P: Fn(u32) -> &'p str + Sync,
    W: Fn(u32) -> bool + Sync,
{
    let threads = rayon::current_num_threads().clamp(1, 1 + candidates.len() / PER_THREAD);
    let (mut scored, near) = (0..threads)
        .into_par_iter()
        .map(|thread| {
            let own: Vec<&Candidate> = candidates.iter().skip(thread).step_by(threads).collect();
            score(query, &own, variants, lookup, limit)
        })
        .reduce(
            || (Vec::new(), 0),
            |(mut some, near), (others, more)| {
                some.extend(others);
                (some, near + more)
            },
        );
    scored.sort_unstable();
    scored.truncate(limit);
    (scored.into_iter().map(|(cost, _, file)| (file, cost)).collect(), near)
}

/// Scores candidates on one thread. Returns the nearest in any order, and the number of near paths that are
/// not matches.
fn score<'p, P, W>(
    query: &PathQuery,
    candidates: &[&Candidate],
    variants: &[(&Variant, QueryBounds<'_>)],
    lookup: &Lookup<'_, P, W>,
    limit: usize,
) -> (Vec<Scored>, usize)
where
    P: Fn(u32) -> &'p str + Sync,
{
    let mut top = TopPaths { best: BinaryHeap::new(), limit };
    let (mut scorer, mut near) = (Scorer::<LANES>::new(&query.parts), 0);
    let is_match = |one: &Candidate| one.is_match(query.parts.len());
    let path = |one: &Candidate| (lookup.path)(one.file.0);
    for batch in candidates.chunks(LANES) {
        let worst = top.worst();
        // Matches are counted already. Any other candidate is counted here if it is near.
        let most = |lane: usize, part: usize| match batch[lane].holds >> part & 1 {
            _ if is_match(batch[lane]) => worst,
            0 => query.parts[part].near(),
            _ => u16::MAX,
        };
        let paths = array::from_fn(|lane| batch.get(lane).map(|one| path(one)));
        let mut costs: [Option<u16>; LANES] = scorer.costs(paths, most);
        let in_repo = |one: &&&Candidate| variants[usize::from(one.variant)].0.in_repo;
        let with_repo: [Option<String>; LANES] = array::from_fn(|lane| {
            let one = batch.get(lane).filter(in_repo)?;
            Some([(lookup.repo)(one.file.0), "/", path(one)].concat())
        });
        if with_repo.iter().any(Option::is_some) {
            let others = scorer.costs(with_repo.each_ref().map(Option::as_deref), most);
            for (cost, other) in costs.iter_mut().zip(others) {
                *cost = [*cost, other].into_iter().flatten().min();
            }
        }
        for (one, cost) in batch.iter().zip(costs) {
            if let Some(cost) = cost {
                near += usize::from(!is_match(one));
                top.add((cost, path(one).len() as u32, one.file.0));
            }
        }
    }
    (top.best.into_vec(), near)
}

impl TopPaths {
    /// Returns the cost above which a path is not among the best.
    fn worst(&self) -> u16 {
        match self.best.peek() {
            Some((cost, _, _)) if self.best.len() >= self.limit => *cost,
            _ => u16::MAX,
        }
    }

    fn add(&mut self, one: Scored) {
        self.best.push(one);
        if self.best.len() > self.limit {
            self.best.pop();
        }
    }
}
