//! The pass over all names: which paths promise most, and how many hold everything that was typed.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::super::typed::{Part, Typed};
use super::super::words::Held;
use super::fit::Fit;
use super::{Names, Scope, Way};

/// Paths that one thread goes through at a time.
const BLOCK: u32 = 1 << 14;

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

/// What a folder or a name holds at most, in a byte, since it is looked up for each path. In the upper half how
/// many pairs of all parts, up to 15; in the lower one of the longest part how many letters (a folder), or from which
/// one on (a name), by a scale.
pub(super) type Brief = u8;

/// Of a name that may be what was typed, with an error or as initials: it is looked at in any case.
pub(super) const LIKELY: Brief = 0xf0;

/// Of 15 and more pairs it is not told how many.
const MOST_PAIRS: u32 = 15;

/// What all threads have in common.
struct Pass<'a, 's, P, W> {
    names: &'a Names,
    fits: &'a [Fit<'a>],
    scope: &'a Scope<'s, P, W>,
    way: u16,
    /// What all promise, since the name of their repository is held.
    credit: u64,
    /// Most candidates, and whether these are only such as hold everything.
    most: usize,
    whole: bool,
    folders: Vec<Brief>,
    own: Vec<Brief>,
    blocks: Vec<Range<u32>>,
    /// The next block, and what less than that is not among the candidates.
    next: AtomicUsize,
    bar: AtomicU64,
}

/// What one thread has found.
#[derive(Default)]
struct Found {
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
        ways: &[(&Way, Vec<Fit<'_>>)],
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
        for (at, (way, fits)) in (0..).zip(ways) {
            let credit = 8 * (pairs(typed) - pairs(&way.typed));
            let (some, more) = self.on_way((at, way), fits, credit, scope, (most, whole));
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
        fits: &[Fit<'_>],
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
        let (folders, own) = self.briefs(fits);
        let (next, bar) = (AtomicUsize::new(0), AtomicU64::new(0));
        let pass = Pass {
            names: self,
            fits,
            scope,
            way,
            credit,
            most,
            whole,
            folders,
            own,
            blocks,
            next,
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
        let stretches = &self.names.stretches;
        let first = stretches.partition_point(|(from, _)| *from <= files.start) - 1;
        found.bar = found.bar.max(self.bar.load(Ordering::Relaxed));
        let mut need = self.need(found.bar);
        for two in stretches[first..].windows(2) {
            let (from, upto) = (two[0].0.max(files.start), two[1].0.min(files.end));
            if from >= upto {
                break;
            }
            need = self.stretch(from..upto, two[0].1 as usize, need, found);
        }
    }

    /// Goes through some paths in one folder. Takes and gives how many pairs a path must hold: see
    /// [`need`](Self::need).
    #[inline]
    fn stretch(&self, files: Range<u32>, folder: usize, need: u32, found: &mut Found) -> u32 {
        let around = self.folders[folder];
        let (letters, held) = (around & 15, u32::from(around >> 4));
        // When the folder may hold more than it says, so may each path.
        let rest =
            if held < MOST_PAIRS { need.saturating_sub(held).min(MOST_PAIRS) as u8 } else { 0 };
        let names = &self.names.own[files.start as usize..files.end as usize];
        let briefs = self.own.as_slice();
        let bar = found.bar;
        for (file, name) in (files.start..).zip(names) {
            let own = briefs[*name as usize];
            if own >> 4 >= rest || own & 15 <= letters {
                self.path(file, folder, *name as usize, found);
            }
        }
        if found.bar > bar { self.need(found.bar) } else { need }
    }

    /// How many pairs a path must hold to be a candidate when it does not hold everything.
    fn need(&self, bar: u64) -> u32 {
        let parts = self.fits.len() as u64;
        // What else is promised, at most; names that are likely are looked at in any case.
        let more = 4 * parts.saturating_sub(1) + 3 * parts;
        let pairs = (bar >> 16).saturating_sub(more + self.credit).div_ceil(8) as u32;
        match self.fits {
            [fit] => pairs.max(fit.least),
            _ => pairs,
        }
    }

    /// Looks at a path.
    fn path(&self, file: u32, folder: usize, name: usize, found: &mut Found) {
        let (mut promise, mut holds, mut possible) = (0, 0_u8, true);
        for (at, fit) in self.fits.iter().enumerate() {
            let (own, around) = (fit.names[name], fit.folders[folder]);
            let (held, in_name) = fit.holds(&self.names.names, name, around.letter());
            let pairs = (own.0 >> 16 | around.0 >> 16).count_ones();
            let likely = fit.likely(&self.names.names, name);
            possible &= held || pairs >= fit.least || likely.is_some();
            holds |= u8::from(held) << at;
            promise += fit.promise(pairs, own, (held, in_name)).max(likely.unwrap_or(0));
        }
        let whole = holds.count_ones() == self.fits.len() as u32;
        // Of equal ones the shortest name, and when nothing was typed the shortest path.
        let length = if self.fits.is_empty() {
            (self.scope.path)(file).len()
        } else {
            self.names.names.length(name)
        };
        let promise = (promise + self.credit) << 16 | short(length);
        if !possible || !whole && (self.whole || promise < found.bar) || !(self.scope.wanted)(file)
        {
            return;
        }
        found.count += usize::from(whole);
        if promise < found.bar {
            return;
        }
        found.best.push(Candidate { promise, file: Reverse(file), holds, way: self.way });
        if found.best.len() >= 2 * self.most {
            keep(&mut found.best, self.most);
            found.bar = found.best.iter().map(|one| one.promise).min().unwrap_or(0).max(found.bar);
            self.bar.fetch_max(found.bar, Ordering::Relaxed);
        }
    }
}

impl Names {
    /// What all folders and all names hold at most.
    fn briefs(&self, fits: &[Fit<'_>]) -> (Vec<Brief>, Vec<Brief>) {
        let (mut folders, mut own) = (vec![0; self.folders.len()], vec![0; self.names.len()]);
        let Some(main) = fits.iter().max_by_key(|fit| fit.part.text.len()) else {
            return (folders, own);
        };
        // From letter to scale; what no folder holds is more than all of them hold.
        let scale: Vec<u8> = (0..=main.most)
            .map(|letter| if main.most < 15 { letter } else { letter * 14 / main.most } as u8)
            .collect();
        let brief = |pairs: u32, letter: u8| (pairs.min(MOST_PAIRS) << 4) as u8 | letter;
        for (at, folder) in folders.iter_mut().enumerate() {
            let letter = scale[usize::from(main.folders[at].letter())];
            *folder = brief(fits.iter().map(|fit| count(fit.folders[at])).sum(), letter);
        }
        let blocks = own.par_chunks_mut(BLOCK as usize).enumerate();
        blocks.for_each_init(Vec::new, |at_best, (block, own)| {
            let from = block * BLOCK as usize;
            at_best.resize(own.len(), 0);
            main.at_best_of(&self.names.letters[from..from + own.len()], at_best);
            for (own, at) in own.iter_mut().zip(at_best) {
                *own = scale.get(*at as usize).copied().unwrap_or(15);
            }
            for fit in fits {
                for (own, held) in own.iter_mut().zip(&fit.names[from..]) {
                    let pairs = count(*held);
                    if pairs != 0 {
                        *own = brief(u32::from(*own >> 4) + pairs, *own & 15);
                    }
                }
                fit.note_likely(&self.names, from, own);
            }
        });
        (folders, own)
    }
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

/// How many pairs are held. Mostly none.
#[inline]
fn count(held: Held) -> u32 {
    if held.0 >> 16 == 0 { 0 } else { (held.0 >> 16).count_ones() }
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
