//! An index of paths in memory: those that are nearest to what was typed.
//!
//! Each folder and each file's name is kept once, however many paths have it. Lists say which of them hold a
//! pair of letters that follow each other, or that begin two words in a row. From the pairs that were typed
//! come, for each folder and name, the set of those that it holds; and going once through all folders and
//! names tells how much of what was typed each can hold, letter after letter with gaps. One pass over all
//! paths, two small numbers each, puts both together: it counts the matches, and keeps the [`CANDIDATES`]
//! that promise most. Those are compared letter by letter (`align`).
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

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;

use super::align::Aligner;
use super::typed::{Part, Typed};
use super::words::{Held, Interning, Words, letter, pair};

/// Paths that are compared letter by letter, at least.
pub(super) const CANDIDATES: usize = 1024;

/// Paths that one thread goes through at a time.
const STRETCH: usize = 1 << 14;

/// Pairs of letters of a part that are looked at: its last ones.
const PAIRS: usize = 48;

/// Pairs that an error may change.
const PAIRS_OF_ERROR: usize = 3;

/// An index of some paths, which it knows by their numbers.
#[derive(Debug, Default)]
pub struct Names {
    /// Of each path its folder and its name.
    files: Vec<(u32, u32)>,
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

/// What a part can match in folders and names.
struct Fit<'a> {
    part: &'a Part,
    /// How many of its pairs are looked at, and how many of them are in what is near.
    pairs: u32,
    least: u32,
    /// Of each folder, which pairs it holds, and how many letters from the first on.
    folders: Vec<Held>,
    /// Of each name, which pairs it holds, and the letter from which on it holds all; or that no folder
    /// holds so much that this one can hold the rest.
    names: Vec<Held>,
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

/// A path that may be near: what it promises, and how long it is; its number. The greatest promises most.
type Candidate = (u64, Reverse<u32>);

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
        let mut files = Vec::with_capacity(count);
        for file in 0..count as u32 {
            let path = path(file);
            let at = path.rfind('/').map_or(0, |at| at + 1);
            let folder = folder(&path[..at], &mut folders, &mut parents, &mut own);
            files.push((folder, names.number(&path[at..]).0));
        }
        let (texts, _) = (names.texts, names.numbers);
        let (names, folders) = rayon::join(
            || Words::new(&texts, true, |_| None),
            || Words::new(&own, false, |at| own[parents[at] as usize].chars().next()),
        );
        Self { files, folders, parents, names }
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// How many folders and how many names of files there are, each counted once.
    pub fn different(&self) -> (usize, usize) {
        (self.parents.len(), self.names.len())
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        8 * self.files.len() + 4 * self.parents.len() + self.folders.memory() + self.names.memory()
    }

    /// The paths nearest to what was typed, of all of them.
    pub fn nearest<'p>(
        &self,
        typed: &Typed,
        limit: usize,
        path: &(dyn Fn(u32) -> &'p str + Sync),
    ) -> Nearest {
        let all = 0..self.files.len() as u32;
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
        let fits: Vec<Fit<'_>> = typed.parts.iter().map(|part| self.fit(part)).collect();
        let stretches: Vec<Range<u32>> = scope
            .among
            .iter()
            .flat_map(|all| {
                let cut = |from: u32| from..all.end.min(from + STRETCH as u32);
                all.clone().step_by(STRETCH).map(cut)
            })
            .collect();
        let parts: Vec<(Vec<Candidate>, usize)> =
            stretches.into_par_iter().map(|files| self.promising(&fits, files, scope)).collect();
        let mut found = parts.iter().map(|(_, count)| count).sum();
        let mut all: Vec<Candidate> = parts.into_iter().flat_map(|(some, _)| some).collect();
        keep(&mut all, scope.candidates);
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

    /// What a part can match in each folder and name.
    fn fit<'a>(&self, part: &'a Part) -> Fit<'a> {
        let typed = part.text.as_bytes();
        let pairs: Vec<u16> = typed.windows(2).rev().take(PAIRS).map(pair).collect();
        let (mut names, folders) = rayon::join(
            || self.names.holding(&pairs),
            || {
                let mut folders = self.folders.holding(&pairs);
                for at in 1..folders.len() {
                    let around = folders[self.parents[at] as usize];
                    let letters = forwards(typed, around.letter(), self.folders.get(at));
                    folders[at] = Held(folders[at].0 | around.0 & !0xffff | u64::from(letters));
                }
                folders
            },
        );
        // The letters that no folder can hold after those before them have to be in the name.
        let most = folders.iter().map(|held| held.letter()).max().unwrap_or(0);
        let rest = typed[usize::from(most)..].iter().fold(0, |all, byte| all | letter(*byte));
        let cut = names.par_iter_mut().enumerate().with_min_len(STRETCH);
        cut.for_each(|(at, held)| {
            let can = self.names.letters[at] & rest == rest;
            let upto = if can { backwards(typed, self.names.get(at)) } else { u16::MAX };
            held.0 |= u64::from(upto);
        });
        let least = pairs.len().saturating_sub(PAIRS_OF_ERROR * part.errors()) as u32;
        Fit { part, pairs: pairs.len() as u32, least, folders, names }
    }

    /// Of some paths those that promise most, and how many of them hold everything that was typed.
    fn promising<'p, P, W>(
        &self,
        fits: &[Fit<'_>],
        files: Range<u32>,
        scope: &Scope<'_, P, W>,
    ) -> (Vec<Candidate>, usize)
    where
        P: Fn(u32) -> &'p str + Sync,
        W: Fn(u32) -> bool + Sync,
    {
        let (mut best, mut count, mut bar) = (Vec::new(), 0, 0);
        for file in files {
            let (folder, name) = self.files[file as usize];
            let Some((promise, whole)) = promise(fits, folder as usize, name as usize) else {
                continue;
            };
            // Of equal ones the shortest name, and when nothing was typed the shortest path.
            let length = if fits.is_empty() {
                (scope.path)(file).len()
            } else {
                self.names.get(name as usize).len()
            };
            let promise =
                promise << 16 | u64::from(u16::MAX - length.min(usize::from(u16::MAX)) as u16);
            if (!whole && promise < bar) || !(scope.wanted)(file) {
                continue;
            }
            count += usize::from(whole);
            if promise >= bar {
                best.push((promise, Reverse(file)));
                if best.len() >= 2 * scope.candidates {
                    keep(&mut best, scope.candidates);
                    bar = best.iter().map(|(promise, _)| *promise).min().unwrap_or(0);
                }
            }
        }
        keep(&mut best, scope.candidates);
        (best, count)
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
        for (_, Reverse(file)) in candidates {
            let (folder, name) = self.files[*file as usize];
            let (path, worst) = ((scope.path)(*file), ranking.worst());
            if !fits.is_empty() {
                aligner.path(path);
            }
            let (mut all, mut whole) = (Some(0_u16), true);
            for fit in fits {
                let holds = fit.holds(folder as usize, name as usize);
                whole &= holds;
                // What holds everything was counted; what does not has to be near, and is counted then.
                let most = if holds { worst } else { fit.part.near() };
                let cost = aligner.cost(fit.part, most);
                all = all.zip(cost).map(|(all, cost)| all.saturating_add(cost));
                if all.is_none() {
                    break;
                }
            }
            if let Some(cost) = all {
                count += usize::from(!whole);
                ranking.add((cost, path.len() as u32, *file));
            }
        }
        (ranking.best.into_vec(), count)
    }
}

impl Fit<'_> {
    /// Whether a path holds all letters in their order.
    fn holds(&self, folder: usize, name: usize) -> bool {
        self.folders[folder].letter() >= self.names[name].letter()
    }
}

/// What a path promises, and whether it holds everything that was typed; none if it cannot be near.
#[inline]
fn promise(fits: &[Fit<'_>], folder: usize, name: usize) -> Option<(u64, bool)> {
    let (mut sum, mut whole) = (0, true);
    for fit in fits {
        let (own, around) = (fit.names[name], fit.folders[folder]);
        let pairs = ((own.0 | around.0) >> 16).count_ones();
        let holds = around.letter() >= own.letter();
        if !holds && pairs < fit.least {
            return None;
        }
        let in_name = match own.letter() {
            0 => 3,
            _ => ((own.0 >> 16).count_ones() * 2).checked_div(fit.pairs).unwrap_or(0),
        };
        sum += u64::from(8 * pairs + 4 * u32::from(holds) + in_name);
        whole &= holds;
    }
    Some((sum, whole))
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

/// Leaves the greatest, in any order.
fn keep(best: &mut Vec<Candidate>, most: usize) {
    if most == 0 {
        best.clear();
    } else if best.len() > most {
        best.select_nth_unstable_by(most - 1, |a, b| b.cmp(a));
        best.truncate(most);
    }
}

/// How many letters of what was typed are held when so many were before.
fn forwards(typed: &[u8], from: u16, text: &[u8]) -> u16 {
    let mut next = usize::from(from);
    for byte in text {
        if typed.get(next) == Some(byte) {
            next += 1;
        }
    }
    next as u16
}

/// From which letter on a text holds what was typed.
fn backwards(typed: &[u8], text: &[u8]) -> u16 {
    let mut rest = typed;
    for byte in text.iter().rev() {
        let Some((last, before)) = rest.split_last() else { break };
        if last == byte {
            rest = before;
        }
    }
    rest.len() as u16
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
