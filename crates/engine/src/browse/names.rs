//! An index of paths in memory: those that are nearest to what was typed.
//!
//! Each folder and each file's name is kept once, however many paths have it. Lists say which of them hold a
//! pair of letters that follow each other, or that begin two words in a row. From the pairs that were typed
//! come, for each folder and name, the set of those that it holds; and going once through all folders and
//! names tells how much of what was typed each can hold, letter after letter with gaps: exactly for folders,
//! for names at most (`fit`, `brief`). One pass over all paths puts both together (`pass`): of most of them it looks at two
//! bytes only, which say that they can neither match nor be among the best; of a name in whose folders it may match it
//! then knows the letters exactly. It counts the matches, and keeps the [`CANDIDATES`] that promise most: by the pairs
//! that they hold; before all others names that are what was typed or whose words begin with its letters, and far ahead
//! those with about the same letters. Candidates are compared letter by letter, several at once (`align`).
//!
//! What is promised:
//!
//! 1. A path that holds all typed letters in their order (of each part, for itself) is a match, and all of
//!    these are counted.
//! 2. A path to which what was typed can be put with few errors (`Part::near`) is a match, too, if it is among
//!    the candidates. When there are no more candidates than are kept, these are all.
//! 3. Candidates are in the order of their costs, then the shortest first, then in the order of the paths. A file
//!    whose name is what was typed comes before all others. Behind the candidates come the other paths that hold
//!    all typed letters: those that promise most, as many as there are candidates, in that order, and then the next.
//! 4. How many are wanted changes neither the order nor the count: fewer are the beginning of more.
//! 5. With a filter, the answer is that of an index of nothing but the files that pass it.
//! 6. Where what is typed begins with the end of a repository's name, that name is a folder around its paths, which
//!    what was typed may match or not ([`Way`]).

mod brief;
mod fit;
mod pass;
mod spare;

use std::array;
use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;

use super::align::Aligner;
use super::typed::Typed;
use super::words::{Interning, Words};
use brief::{Holdings, Space};
use pass::Candidate;
use spare::Spare;

/// Paths that are compared letter by letter, at least.
pub(super) const CANDIDATES: usize = 512;

/// As many are compared at once: numbers of two bytes that baseline processors calculate with in one step.
const LANES: usize = 8;

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
    /// Only one search at a time has the threads: of two that share them each takes as long as both, and a thread that
    /// waits for the rest of one may begin with the next.
    turn: tokio::sync::Mutex<()>,
    spare: Spare<Space>,
}

/// The paths that are near.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nearest {
    /// The number of each, with its cost, the nearest first.
    pub best: Vec<(u32, u16)>,
    /// How many paths hold what was typed, with gaps, and how many others were found to be near.
    pub found: usize,
}

/// What paths must hold, and which ones. Each path belongs to one way.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// What was typed; without the name of a repository if that is a folder around the paths.
    pub(crate) typed: Typed,
    /// The numbers of the paths, ascending.
    pub(crate) among: Vec<Range<u32>>,
    /// Whether the name of a repository is a folder around the paths.
    pub(crate) in_repo: bool,
}

/// Where one looks for paths.
pub(crate) struct Scope<'a, P, W> {
    /// The path of a number.
    pub(crate) path: P,
    /// The repository of a number.
    pub(crate) repo: &'a (dyn Fn(u32) -> &'a str + Sync),
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
        Self { own: own_names, stretches, folders, parents, names, ..Self::default() }
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

    /// Bytes of memory; what searches take while they run, and what is kept of it for the next ones, comes on top.
    pub fn memory(&self) -> usize {
        4 * (self.own.len() + 2 * self.stretches.len() + self.parents.len())
            + self.folders.memory()
            + self.names.memory()
    }

    /// The paths nearest to what was typed, of all of them.
    ///
    /// # Panics
    /// On a thread of a runtime that drives futures: it waits there for its turn.
    pub fn nearest<'p>(
        &self,
        typed: &Typed,
        limit: usize,
        path: &(dyn Fn(u32) -> &'p str + Sync),
    ) -> Nearest {
        let among = std::iter::once(0..self.own.len() as u32).collect();
        let way = Way { typed: typed.clone(), among, in_repo: false };
        let (repo, candidates) = (&|_| "", CANDIDATES);
        self.nearest_in(typed, &[way], &Scope { path, repo, wanted: |_| true, limit, candidates })
    }

    /// The same, of some of them: what was typed, and the ways to it.
    pub(crate) fn nearest_in<'p, P, W>(
        &self,
        typed: &Typed,
        ways: &[Way],
        scope: &Scope<'_, P, W>,
    ) -> Nearest
    where
        P: Fn(u32) -> &'p str + Sync,
        W: Fn(u32) -> bool + Sync,
    {
        let _turn = self.turn.blocking_lock();
        // In the pool, so that it is entered once only: its threads sleep until then.
        rayon::scope(|_| {
            let ways: Vec<(&Way, Holdings<'_>)> =
                ways.iter().map(|way| (way, Holdings::new(&way.typed.parts, self))).collect();
            let (all, whole) = self.promising(typed, &ways, scope, scope.candidates, false);
            let (mut best, near) = nearest_of(typed, &all, &ways, scope, scope.limit);
            let found = whole + near;
            let more = scope.limit.min(found).saturating_sub(best.len());
            if more > 0 {
                // Always whole groups, so that the order in one does not depend on where it ends.
                let group = scope.candidates.max(1);
                let most = all.len() + more.next_multiple_of(group);
                let (mut others, _) = self.promising(typed, &ways, scope, most, true);
                others.retain(|one| all.binary_search_by(|other| one.cmp(other)).is_err());
                for group in others.chunks(group) {
                    let rest = scope.limit - best.len();
                    best.extend(nearest_of(typed, group, &ways, scope, rest).0);
                }
            }
            Nearest { best, found }
        })
    }
}

/// Compares candidates on all threads. Gives the nearest, the best first, with their costs, and how many are near
/// that do not hold everything that was typed.
fn nearest_of<'p, P, W>(
    typed: &Typed,
    candidates: &[Candidate],
    ways: &[(&Way, Holdings<'_>)],
    scope: &Scope<'_, P, W>,
    limit: usize,
) -> (Vec<(u32, u16)>, usize)
where
    P: Fn(u32) -> &'p str + Sync,
    W: Fn(u32) -> bool + Sync,
{
    let threads = rayon::current_num_threads().clamp(1, 1 + candidates.len() / 128);
    let (mut ranked, near) = (0..threads)
        .into_par_iter()
        .map(|thread| {
            let mine: Vec<&Candidate> = candidates.iter().skip(thread).step_by(threads).collect();
            compared(typed, &mine, ways, scope, limit)
        })
        .reduce(
            || (Vec::new(), 0),
            |(mut some, count), (others, more)| {
                some.extend(others);
                (some, count + more)
            },
        );
    ranked.sort_unstable();
    ranked.truncate(limit);
    (ranked.into_iter().map(|(cost, _, file)| (file, cost)).collect(), near)
}

/// Compares candidates letter by letter. Gives the nearest, with their costs and lengths, and how many are near
/// that do not hold everything that was typed.
fn compared<'p, P, W>(
    typed: &Typed,
    candidates: &[&Candidate],
    ways: &[(&Way, Holdings<'_>)],
    scope: &Scope<'_, P, W>,
    limit: usize,
) -> (Vec<(u16, u32, u32)>, usize)
where
    P: Fn(u32) -> &'p str + Sync,
{
    let mut ranking = Ranking { best: BinaryHeap::new(), limit };
    let (mut aligner, mut count) = (Aligner::<LANES>::new(&typed.parts), 0);
    let whole = |one: &Candidate| one.holds.count_ones() == typed.parts.len() as u32;
    let path = |one: &Candidate| (scope.path)(one.file.0);
    for batch in candidates.chunks(LANES) {
        let worst = ranking.worst();
        // What holds everything was counted; what does not has to be near, and is counted then.
        let most = |lane: usize, part: usize| match batch[lane].holds >> part & 1 {
            _ if whole(batch[lane]) => worst,
            0 => typed.parts[part].near(),
            _ => u16::MAX,
        };
        let paths = array::from_fn(|lane| batch.get(lane).map(|one| path(one)));
        let mut costs: [Option<u16>; LANES] = aligner.costs(paths, most);
        let in_repo = |one: &&&Candidate| ways[usize::from(one.way)].0.in_repo;
        let with_repo: [Option<String>; LANES] = array::from_fn(|lane| {
            let one = batch.get(lane).filter(in_repo)?;
            Some([(scope.repo)(one.file.0), "/", path(one)].concat())
        });
        if with_repo.iter().any(Option::is_some) {
            let others = aligner.costs(with_repo.each_ref().map(Option::as_deref), most);
            for (cost, other) in costs.iter_mut().zip(others) {
                *cost = [*cost, other].into_iter().flatten().min();
            }
        }
        for (one, cost) in batch.iter().zip(costs) {
            if let Some(cost) = cost {
                count += usize::from(!whole(one));
                ranking.add((cost, path(one).len() as u32, one.file.0));
            }
        }
    }
    (ranking.best.into_vec(), count)
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
