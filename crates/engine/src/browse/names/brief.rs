//! What folders and names of files hold of what was typed: in full, and in two bytes each.

use std::ops::Range;
use std::sync::atomic::AtomicU16;

use rayon::prelude::*;

use super::super::typed::Part;
use super::super::words::Words;
use super::Names;
use super::fit::Fit;
use super::spare::Spared;

/// Names that one thread goes through at a time: what they hold fits into the cache of a core.
const BLOCK: usize = 1 << 13;

/// What a folder or a name holds, in two bytes, since it is looked up for each path. In the upper bits how many
/// pairs of all parts, up to [`MOST_PAIRS`]; in the lower ones of the longest part how many letters (a folder), or
/// from which one on (a name): at best, or exactly if it is [`SURE`].
pub(super) type Brief = u16;

/// Of a name that may be what was typed, with an error or as initials: it is looked at in any case.
pub(super) const LIKELY: Brief = 63 << PAIRS;

/// Where the number of pairs begins. Of so many and more it is not told how many.
pub(super) const PAIRS: u32 = 10;
pub(super) const MOST_PAIRS: u32 = 62;

/// The letter of a name is no guess.
pub(super) const SURE: Brief = 1 << 9;

/// The bits of the letter, and the last one.
pub(super) const LETTER: Brief = SURE - 1;
pub(super) const LAST_LETTER: Brief = LETTER - 1;

/// What a folder and those around it hold of a part: the pairs, as bits, and how many letters from the first on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) pairs: u32,
    pub(super) letters: u16,
}

/// What all folders and all names hold of what was typed.
pub(super) struct Holdings<'a> {
    /// The parts that were typed, and which of them is the longest.
    pub(super) fits: Vec<Fit<'a>>,
    pub(super) main: Option<usize>,
    space: Spared<'a, Space>,
}

/// The same, in full of each part after the other, and in brief.
#[derive(Debug, Default)]
pub(super) struct Space {
    folders: Vec<Held>,
    folders_in_brief: Vec<Brief>,
    /// Which pairs names hold, as bits: of the names of a block for one part, then for the next.
    names: Vec<u32>,
    names_in_brief: Vec<AtomicU16>,
    /// Which pairs folders hold without those around them.
    own: Vec<u32>,
}

impl<'a> Holdings<'a> {
    pub(super) fn new(parts: &'a [Part], names: &'a Names) -> Self {
        let fits: Vec<Fit<'_>> = parts.iter().map(Fit::new).collect();
        let main = (0..fits.len()).max_by_key(|at| fits[*at].part.text.len());
        let mut space = names.spare.take();
        space.folders.resize(names.folders.len() * fits.len(), Held::default());
        space.folders_in_brief.resize(names.folders.len(), 0);
        space.names.resize(names.names.len().next_multiple_of(BLOCK) * fits.len(), 0);
        space.names_in_brief.resize_with(names.names.len(), AtomicU16::default);
        let Space { folders, folders_in_brief, names: own_names, names_in_brief, own } =
            &mut *space;
        let Some(longest) = main else {
            folders_in_brief.fill(0);
            names_in_brief.fill_with(AtomicU16::default);
            return Self { fits, main, space };
        };
        let parts = fits.len();
        rayon::join(
            || {
                for (at, fit) in fits.iter().enumerate() {
                    fit.held_by_folders(names, own, folders, |folder| parts * folder + at);
                }
                for (brief, held) in folders_in_brief.iter_mut().zip(folders.chunks_exact(parts)) {
                    let pairs = held.iter().map(|held| held.pairs.count_ones()).sum();
                    *brief = in_brief(pairs, held[longest].letters.min(LAST_LETTER));
                }
            },
            || {
                let blocks = own_names.par_chunks_mut(parts * BLOCK);
                let blocks = blocks.zip(names_in_brief.par_chunks_mut(BLOCK)).enumerate();
                blocks.for_each_init(Vec::new, |briefs, (block, (held, in_brief))| {
                    let first = BLOCK * block;
                    let range = first..first + in_brief.len();
                    names_hold(&fits, &fits[longest], &names.names, range, held, briefs);
                    for (here, brief) in in_brief.iter_mut().zip(briefs) {
                        *here.get_mut() = *brief;
                    }
                });
            },
        );
        Self { fits, main, space }
    }

    /// What a folder holds of each part.
    #[inline]
    pub(super) fn folder(&self, folder: usize) -> &[Held] {
        &self.space.folders[self.fits.len() * folder..][..self.fits.len()]
    }

    /// Which pairs of each part a name holds, as bits.
    #[inline]
    pub(super) fn name(&self, name: usize) -> impl Iterator<Item = u32> {
        let parts = self.fits.len();
        let first = parts * (name - name % BLOCK) + name % BLOCK;
        (0..parts).map(move |part| self.space.names[first + part * BLOCK])
    }

    /// How many pairs of the first part a path holds.
    #[inline]
    pub(super) fn held(&self, name: usize, folder: usize) -> u32 {
        let parts = self.fits.len();
        let own = self.space.names[parts * (name - name % BLOCK) + name % BLOCK];
        (own | self.space.folders[parts * folder].pairs).count_ones()
    }

    pub(super) fn folders_in_brief(&self) -> &[Brief] {
        &self.space.folders_in_brief
    }

    pub(super) fn names_in_brief(&self) -> &[AtomicU16] {
        &self.space.names_in_brief
    }
}

/// Finds out what names in a row hold.
fn names_hold(
    fits: &[Fit<'_>],
    longest: &Fit<'_>,
    names: &Words,
    range: Range<usize>,
    held: &mut [u32],
    briefs: &mut Vec<Brief>,
) {
    briefs.clear();
    briefs.extend(names.letters[range.clone()].iter().map(|letters| longest.at_best(*letters)));
    held.fill(0);
    for (fit, held) in fits.iter().zip(held.chunks_exact_mut(BLOCK)) {
        names.holding(&fit.pairs, range.clone(), &mut held[..range.len()]);
        for (brief, held) in briefs.iter_mut().zip(held) {
            let pairs = u32::from(*brief >> PAIRS) + held.count_ones();
            *brief = in_brief(pairs, *brief & LETTER);
        }
    }
    for fit in fits {
        fit.note_likely(names, range.start, briefs);
    }
}

fn in_brief(pairs: u32, letter: Brief) -> Brief {
    (pairs.min(MOST_PAIRS) << PAIRS) as Brief | letter
}
