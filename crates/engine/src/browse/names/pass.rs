//! The pass over all names: which paths promise most, and how many hold everything that was typed.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::super::typed::{Part, Typed};
use super::brief::{Brief, Holdings, LAST_LETTER, LETTER, LIKELY, MOST_PAIRS, PAIRS, SURE};
use super::fit::Fit;
use super::{Names, Scope, Way};

/// Paths that one thread goes through at a time.
const BLOCK: u32 = 1 << 12;

/// Most that a path promises by pairs of its name, when it does not hold everything.
const MOST_OF_PAIRS: u64 = 2;

/// After so many more candidates less can be promised that is none.
const RAISED: usize = 64;

/// A path that may be near. The greatest promises most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// What it promises, and below that how short it is.
    promise: u64,
    pub(super) file: Reverse<u32>,
    /// A bit for each part of which it holds all letters in their order.
    pub(super) holds: u8,
    /// The way that it belongs to.
    pub(super) way: u16,
}

/// What all threads have in common.
struct Pass<'a, 's, P, W> {
    names: &'a Names,
    holdings: &'a Holdings<'a>,
    scope: &'a Scope<'s, P, W>,
    way: u16,
    /// What all promise, since the name of their repository is held.
    credit: u64,
    /// Most candidates, and whether these are only such as hold everything.
    most: usize,
    whole: bool,
    blocks: Vec<Range<u32>>,
    /// The next block, how many candidates promised so much, and what less than that is not among them.
    next: AtomicUsize,
    promised: Vec<AtomicU32>,
    bar: AtomicU64,
}

/// How many pairs a path must hold to be a candidate: when it does not hold everything, and when it does.
#[derive(Clone, Copy)]
struct Need<T> {
    some: T,
    whole: T,
}

/// What one thread has found.
#[derive(Default)]
struct Found {
    /// Space for paths to be looked at.
    hits: Vec<(u32, u32)>,
    best: Vec<Candidate>,
    count: usize,
    bar: u64,
}

impl Names {
    /// The paths that promise most, so many or fewer, the best first, and how many hold everything that was typed;
    /// if wanted only paths that do.
    pub(super) fn promising<'p, P, W>(
        &self,
        typed: &Typed,
        ways: &[(&Way, Holdings<'_>)],
        scope: &Scope<'_, P, W>,
        most: usize,
        whole: bool,
    ) -> (Vec<Candidate>, usize)
    where
        P: Fn(u32) -> &'p str + Sync,
        W: Fn(u32) -> bool + Sync,
    {
        let pairs = |typed: &Typed| typed.parts.iter().map(Part::pairs).sum::<usize>() as u64;
        let (mut best, mut count) = (Vec::new(), 0);
        for (at, (way, holdings)) in (0..).zip(ways) {
            let credit = 8 * (pairs(typed) - pairs(&way.typed));
            let (some, more) = self.on_way((at, way), holdings, credit, scope, (most, whole));
            best.extend(some);
            count += more;
        }
        keep(&mut best, most);
        best.sort_unstable_by(|a, b| b.cmp(a));
        (best, count)
    }

    /// The same of one way, in any order.
    fn on_way<'p, P, W>(
        &self,
        (way, Way { among, .. }): (u16, &Way),
        holdings: &Holdings<'_>,
        credit: u64,
        scope: &Scope<'_, P, W>,
        (most, whole): (usize, bool),
    ) -> (Vec<Candidate>, usize)
    where
        P: Fn(u32) -> &'p str + Sync,
        W: Fn(u32) -> bool + Sync,
    {
        let blocks: Vec<Range<u32>> = among
            .iter()
            .flat_map(|all| {
                let cut = |from: u32| from..all.end.min(from + BLOCK);
                all.clone().step_by(BLOCK as usize).map(cut)
            })
            .collect();
        let bar = AtomicU64::new(0);
        let promised = std::iter::repeat_with(AtomicU32::default);
        let promised = promised.take(most_promised(&holdings.fits) + credit as usize + 1).collect();
        let next = AtomicUsize::new(0);
        let pass = Pass {
            names: self,
            holdings,
            scope,
            way,
            credit,
            most,
            whole,
            blocks,
            next,
            promised,
            bar,
        };
        let threads = rayon::current_num_threads().clamp(1, pass.blocks.len().max(1));
        let found = (0..threads).into_par_iter().with_max_len(1).map(|_| {
            let mut found = Found::default();
            while let Some(files) = pass.blocks.get(pass.next.fetch_add(1, Ordering::Relaxed)) {
                pass.block(files.clone(), &mut found);
            }
            (found.best, found.count)
        });
        joined(found, most)
    }
}

impl<'p, P, W> Pass<'_, '_, P, W>
where
    P: Fn(u32) -> &'p str + Sync,
    W: Fn(u32) -> bool + Sync,
{
    /// Goes through some paths.
    fn block(&self, files: Range<u32>, found: &mut Found) {
        found.bar = found.bar.max(self.bar.load(Ordering::Relaxed));
        let (mut bar, mut need) = (found.bar, self.need(found.bar));
        let mut hits = std::mem::take(&mut found.hits);
        self.hits(files, need, &mut hits);
        self.settle(&hits);
        for (file, folder) in hits.drain(..) {
            let name = self.names.own[file as usize] as usize;
            let (letters, rest) = rest(self.holdings.folders_in_brief()[folder as usize], need);
            let own = self.holdings.names_in_brief()[name].load(Ordering::Relaxed);
            let holds = own & LETTER <= letters;
            if own >= if holds { rest.whole } else { rest.some } || holds && !self.is_told(own) {
                self.path(file, folder as usize, own, holds, found);
            } else if holds && (self.scope.wanted)(file) {
                found.count += 1;
            }
            if found.bar > bar {
                (bar, need) = (found.bar, self.need(found.bar));
            }
        }
        found.hits = hits;
    }

    /// The paths, with their folders, that may hold everything or enough pairs, by their briefs.
    fn hits(&self, files: Range<u32>, need: Need<u32>, hits: &mut Vec<(u32, u32)>) {
        let stretches = &self.names.stretches;
        let first = stretches.partition_point(|(from, _)| *from <= files.start) - 1;
        let briefs = self.holdings.names_in_brief();
        for two in stretches[first..].windows(2) {
            let (from, upto) = (two[0].0.max(files.start), two[1].0.min(files.end));
            if from >= upto {
                break;
            }
            let folder = two[0].1;
            let (letters, rest) = rest(self.holdings.folders_in_brief()[folder as usize], need);
            for (file, name) in (from..).zip(&self.names.own[from as usize..upto as usize]) {
                let own = briefs[*name as usize].load(Ordering::Relaxed);
                if own & LETTER <= letters || own >= rest.some {
                    hits.push((file, folder));
                }
            }
        }
    }

    /// Whether the brief of a name says whether its paths hold everything.
    fn is_told(&self, own: Brief) -> bool {
        self.holdings.fits.len() == 1 && own & SURE != 0
    }

    /// Finds out from which letter on names hold the longest part, and notes that for all of their paths.
    fn settle(&self, hits: &[(u32, u32)]) {
        let main = self.holdings.main.map(|main| &self.holdings.fits[main]);
        let Some(main) = main.filter(|main| main.part.text.len() <= usize::from(LAST_LETTER))
        else {
            return;
        };
        for (file, folder) in hits {
            let name = self.names.own[*file as usize] as usize;
            let letters = self.holdings.folders_in_brief()[*folder as usize] & LETTER;
            let brief = &self.holdings.names_in_brief()[name];
            let own = brief.load(Ordering::Relaxed);
            if own & LETTER <= letters && own & SURE == 0 {
                let from = main.from(&self.names.names, name) as Brief;
                brief.store(own & !LETTER | from | SURE, Ordering::Relaxed);
            }
        }
    }

    /// What a path must hold to be a candidate.
    fn need(&self, bar: u64) -> Need<u32> {
        let parts = self.holdings.fits.len() as u64;
        // What else is promised, at most; names that are likely are looked at in any case.
        let pairs = |parts_held: u64| {
            let more = 4 * parts_held + 3 * parts;
            (bar >> 16).saturating_sub(more + self.credit).div_ceil(8) as u32
        };
        let some = match self.holdings.fits.as_slice() {
            _ if self.whole => MOST_PAIRS,
            [fit] => pairs(0).max(fit.least),
            _ => pairs(parts.saturating_sub(1)),
        };
        Need { some, whole: pairs(parts) }
    }

    /// Looks at a path whose name has a brief; `holds` is whether it may hold everything.
    fn path(&self, file: u32, folder: usize, own: Brief, holds: bool, found: &mut Found) {
        let (name, words) = (self.names.own[file as usize] as usize, &self.names.names);
        let (is_told, is_likely) = (!holds || self.is_told(own), own >= LIKELY);
        // Most hold the same pairs as their folders, and so fewer than their briefs say.
        if let [fit] = self.holdings.fits.as_slice()
            && !holds
            && !is_likely
        {
            let held = self.holdings.held(name, folder);
            let promise = 8 * u64::from(held) + MOST_OF_PAIRS + self.credit;
            if held < fit.least || promise < found.bar >> 16 {
                return;
            }
        }
        let (mut promise, mut held, mut possible) = (0, 0_u8, true);
        let parts = self.holdings.name(name).zip(self.holdings.folder(folder));
        for (at, (fit, (own_pairs, around))) in self.holdings.fits.iter().zip(parts).enumerate() {
            let (whole, in_name) = if is_told && self.holdings.fits.len() == 1 {
                (holds, holds && own & LETTER == 0)
            } else {
                fit.holds(words, name, around.letters)
            };
            let pairs = (own_pairs | around.pairs).count_ones();
            let likely = if is_likely { fit.likely(words, name) } else { None };
            possible &= whole || pairs >= fit.least || likely.is_some();
            held |= u8::from(whole) << at;
            promise += fit.promise(pairs, own_pairs, (whole, in_name)).max(likely.unwrap_or(0));
        }
        let (promise, whole) =
            (promise + self.credit, held.count_ones() == self.holdings.fits.len() as u32);
        if !possible || !whole && (self.whole || promise < found.bar >> 16) {
            return;
        }
        if !(self.scope.wanted)(file) {
            return;
        }
        found.count += usize::from(whole);
        // Of equal ones the shortest name, and when nothing was typed the shortest path.
        let length = match self.holdings.fits.as_slice() {
            [] => (self.scope.path)(file).len(),
            _ => words.length(name),
        };
        let promise = promise << 16 | short(length);
        if promise < found.bar {
            return;
        }
        found.best.push(Candidate { promise, file: Reverse(file), holds: held, way: self.way });
        self.promised[(promise >> 16) as usize].fetch_add(1, Ordering::Relaxed);
        if found.best.len() >= 2 * self.most {
            keep(&mut found.best, self.most);
            found.bar = found.best.iter().map(|one| one.promise).min().unwrap_or(0).max(found.bar);
        } else if found.best.len().is_multiple_of(RAISED) {
            found.bar = found.bar.max(self.promised_by_most() << 16);
        } else {
            return;
        }
        self.bar.fetch_max(found.bar, Ordering::Relaxed);
    }

    /// What as many candidates as are kept promise, without their lengths.
    fn promised_by_most(&self) -> u64 {
        let mut rest = self.most as u32;
        let at = self.promised.iter().rposition(|count| {
            rest = rest.saturating_sub(count.load(Ordering::Relaxed));
            rest == 0
        });
        at.unwrap_or(0) as u64
    }
}

/// What a path promises at most: it holds all pairs, and each part is likely.
fn most_promised(fits: &[Fit<'_>]) -> usize {
    fits.iter().map(|fit| 8 * (fit.pairs.len() + 1)).sum()
}

/// What several threads have found: the paths that promise most, and how many there are in all.
fn joined(
    found: impl ParallelIterator<Item = (Vec<Candidate>, usize)>,
    most: usize,
) -> (Vec<Candidate>, usize) {
    let (mut best, count) = found.reduce(
        || (Vec::new(), 0),
        |(mut some, count), (others, more)| {
            some.extend(others);
            (some, count + more)
        },
    );
    keep(&mut best, most);
    (best, count)
}

/// Which letters a folder holds, and what the brief of a name in it needs. When the folder may hold more than
/// it says, so may each path.
#[inline]
fn rest(around: Brief, need: Need<u32>) -> (Brief, Need<Brief>) {
    let held = u32::from(around >> PAIRS);
    let rest = |pairs: u32| match held {
        MOST_PAIRS => 0,
        _ => (pairs.saturating_sub(held).min(MOST_PAIRS) << PAIRS) as Brief,
    };
    (around & LETTER, Need { some: rest(need.some), whole: rest(need.whole) })
}

/// The greater, the shorter a text is.
fn short(length: usize) -> u64 {
    u64::from(u16::MAX - length.min(usize::from(u16::MAX)) as u16)
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
