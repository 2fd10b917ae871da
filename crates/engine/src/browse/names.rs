//! An index of paths in memory: those that are nearest to what was typed.
//!
//! Each folder and each file's name is kept once, however many paths have it. Lists say which of them hold a
//! pair of letters that follow each other, or that begin two words in a row. From the pairs that were typed
//! come, for each folder and name, the set of those that it holds; and going once through all folders and
//! names tells how much of what was typed each can hold, letter after letter with gaps: exactly for folders,
//! for names at most (`fit`). One pass over all paths puts both together (`pass`): of most of them it looks at two
//! bytes only, which say that they can neither match nor be among the best. It counts the matches, and keeps
//! the [`CANDIDATES`] that promise most. Those are compared letter by letter (`align`).
//!
//! What is promised:
//!
//! 1. A path that holds all typed letters in their order (of each part, for itself) is a match, and all of
//!    these are counted.
//! 2. A path to which what was typed can be put with few errors ([`Part::near`]) is a match, too, if it is among
//!    the candidates. When there are no more candidates than are kept, these are all.
//! 3. Candidates are in the order of their costs, then the shortest first, then in the order of the paths. A file
//!    whose name is what was typed comes before all others.
//! 4. With a filter, the answer is that of an index of nothing but the files that pass it.

mod fit;
mod pass;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;

use super::align::Aligner;
use super::typed::Typed;
use super::words::{Interning, Words};
use fit::Fit;
use pass::Candidate;

/// Paths that are compared letter by letter, at least.
pub(super) const CANDIDATES: usize = 1024;

/// An index of some paths, which it knows by their numbers.
#[derive(Debug, Default)]
pub struct Names {
    /// Of each path its name.
    own: Vec<u32>,
    /// Stretches of paths that lie in one folder: where each begins, and its folder. Behind them is the end.
    stretches: Vec<(u32, u32)>,
    folders: Words,
    /// The folder around each folder; it comes before it. The first is that of everything.
    parents: Vec<u32>,
    names: Words,
}

/// The paths that are near.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nearest {
    /// The number of each, with its cost, the nearest first.
    pub best: Vec<(u32, u16)>,
    /// How many paths hold what was typed, with gaps, and how many others were found to be near.
    pub found: usize,
}

/// Where one looks for paths.
pub(crate) struct Scope<'a, P, W> {
    /// The numbers of the paths, ascending.
    pub(crate) among: &'a [Range<u32>],
    /// The path of a number.
    pub(crate) path: P,
    /// Whether it is looked for.
    pub(crate) wanted: W,
    /// Most that are given.
    pub(crate) limit: usize,
    /// Most that are compared letter by letter.
    pub(crate) candidates: usize,
}

/// Costs above which a candidate need not be known, and what was found so far.
struct Ranking {
    best: BinaryHeap<(u16, u32, u32)>,
    limit: usize,
}

impl Names {
    /// Indexes so many paths. Takes its time, and so is for a thread of its own.
    pub fn new<'p>(count: usize, path: impl Fn(u32) -> &'p str) -> Self {
        let mut names = Interning::default();
        let mut folders = Interning::default();
        let (mut parents, mut own) = (vec![0], vec![""]);
        folders.number("");
        let mut own_names = Vec::with_capacity(count);
        let mut stretches: Vec<(u32, u32)> = Vec::new();
        for file in 0..count as u32 {
            let path = path(file);
            let at = path.rfind('/').map_or(0, |at| at + 1);
            let folder = folder(&path[..at], &mut folders, &mut parents, &mut own);
            if stretches.last().is_none_or(|(_, last)| *last != folder) {
                stretches.push((file, folder));
            }
            own_names.push(names.number(&path[at..]).0);
        }
        stretches.push((count as u32, 0));
        stretches.shrink_to_fit();
        let (texts, _) = (names.texts, names.numbers);
        let (names, folders) = rayon::join(
            || Words::new(&texts, true, |_| None),
            || Words::new(&own, false, |at| own[parents[at] as usize].chars().next()),
        );
        Self { own: own_names, stretches, folders, parents, names }
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.own.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// How many folders and how many names of files there are, each counted once.
    pub fn different(&self) -> (usize, usize) {
        (self.parents.len(), self.names.len())
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        4 * (self.own.len() + 2 * self.stretches.len() + self.parents.len())
            + self.folders.memory()
            + self.names.memory()
    }

    /// The paths nearest to what was typed, of all of them.
    pub fn nearest<'p>(
        &self,
        typed: &Typed,
        limit: usize,
        path: &(dyn Fn(u32) -> &'p str + Sync),
    ) -> Nearest {
        let all = 0..self.own.len() as u32;
        let candidates = CANDIDATES.max(2 * limit);
        let among = std::slice::from_ref(&all);
        self.nearest_in(typed, &Scope { among, path, wanted: |_| true, limit, candidates })
    }

    /// The same, of some of them.
    pub(crate) fn nearest_in<'p, P, W>(&self, typed: &Typed, scope: &Scope<'_, P, W>) -> Nearest
    where
        P: Fn(u32) -> &'p str + Sync,
        W: Fn(u32) -> bool + Sync,
    {
        let fits: Vec<Fit<'_>> = typed.parts.par_iter().map(|part| Fit::new(part, self)).collect();
        let (mut all, mut found) = self.promising(&fits, scope);
        // The best first, so that others need not be compared to their end.
        all.sort_unstable_by(|a, b| b.cmp(a));
        let threads = rayon::current_num_threads().clamp(1, 1 + all.len() / 128);
        let (mut ranked, more) = (0..threads)
            .into_par_iter()
            .map(|thread| {
                let mine = all.iter().skip(thread).step_by(threads);
                self.compared(&fits, mine, scope)
            })
            .reduce(
                || (Vec::new(), 0),
                |(mut some, count), (others, more)| {
                    some.extend(others);
                    (some, count + more)
                },
            );
        found += more;
        ranked.sort_unstable();
        ranked.truncate(scope.limit);
        Nearest { best: ranked.into_iter().map(|(cost, _, file)| (file, cost)).collect(), found }
    }

    /// Compares candidates letter by letter. Gives the nearest, with their costs and lengths, and how many are near
    /// that do not hold everything that was typed.
    fn compared<'p, 'c, P, W>(
        &self,
        fits: &[Fit<'_>],
        candidates: impl Iterator<Item = &'c Candidate>,
        scope: &Scope<'_, P, W>,
    ) -> (Vec<(u16, u32, u32)>, usize)
    where
        P: Fn(u32) -> &'p str + Sync,
    {
        let mut ranking = Ranking { best: BinaryHeap::new(), limit: scope.limit };
        let (mut aligner, mut count) = (Aligner::default(), 0);
        for Candidate { file: Reverse(file), holds, .. } in candidates {
            let (path, worst) = ((scope.path)(*file), ranking.worst());
            if !fits.is_empty() {
                aligner.path(path);
            }
            let mut all = Some(0_u16);
            for (at, fit) in fits.iter().enumerate() {
                let holds = holds >> at & 1 == 1;
                // What holds everything was counted; what does not has to be near, and is counted then.
                let most = if holds { worst } else { fit.part.near() };
                let cost = aligner.cost(fit.part, most);
                all = all.zip(cost).map(|(all, cost)| all.saturating_add(cost));
                if all.is_none() {
                    break;
                }
            }
            if let Some(cost) = all {
                count += usize::from(holds.count_ones() < fits.len() as u32);
                ranking.add((cost, path.len() as u32, *file));
            }
        }
        (ranking.best.into_vec(), count)
    }
}

impl Ranking {
    /// A greater cost is not among the best.
    fn worst(&self) -> u16 {
        match self.best.peek() {
            Some((cost, _, _)) if self.best.len() >= self.limit => *cost,
            _ => u16::MAX,
        }
    }

    fn add(&mut self, one: (u16, u32, u32)) {
        self.best.push(one);
        if self.best.len() > self.limit {
            self.best.pop();
        }
    }
}

/// The number of a folder, whose text ends with a slash, and of those around it.
fn folder<'p>(
    path: &'p str,
    folders: &mut Interning<'p>,
    parents: &mut Vec<u32>,
    own: &mut Vec<&'p str>,
) -> u32 {
    if let Some(known) = folders.numbers.get(path) {
        return *known;
    }
    let at = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    let parent = folder(&path[..at], folders, parents, own);
    parents.push(parent);
    own.push(&path[at..]);
    folders.number(path).0
}

#[cfg(test)]
mod tests;
