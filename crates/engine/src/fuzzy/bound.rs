//! How much of a query a folder or a name holds: in full ([`PairHits`]), and in two bytes ([`Bound`]).

use std::sync::atomic::AtomicU16;

/// How much of the query a folder or a name holds, in two bytes, since it is read for each path. The upper bits are the
/// number of pairs of all parts, up to [`MAX_PAIRS`]; the lower ones are about the longest part: how many of its first
/// letters a folder holds, or from which letter on a name holds it. Of a name that is the least it may be, unless it is
/// marked [`EXACT`].
pub(super) type Bound = u16;

/// A name that may be the query, with an error or as initials: its paths are looked at in any case.
pub(super) const LIKELY: Bound = 63 << PAIRS_SHIFT;

/// Where the number of pairs begins.
pub(super) const PAIRS_SHIFT: u32 = 10;

/// This many pairs or more.
pub(super) const MAX_PAIRS: u32 = 62;

/// The letter of a name is exact.
pub(super) const EXACT: Bound = 1 << 9;

/// The bits of the letter.
pub(super) const LETTER: Bound = EXACT - 1;

/// The last letter that a bound can tell.
pub(super) const LAST_LETTER: Bound = LETTER - 1;

/// How much a folder and those around it hold of a part of the query.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairHits {
    /// The pairs of the part that they hold, as bits.
    pub(super) pairs: u32,
    /// How many letters of the part they hold in order, from the first on.
    pub(super) letters: u16,
}

/// The buffers of one query, which are used again for the next.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// Of each folder, part by part.
    pub(super) folders: Vec<PairHits>,
    pub(super) folder_bounds: Vec<Bound>,
    /// The pairs that names hold, as bits: of the names of a block for one part, then for the next.
    pub(super) names: Vec<u32>,
    pub(super) name_bounds: Vec<AtomicU16>,
    /// The pairs that folders hold without those around them, as bits.
    pub(super) own: Vec<u32>,
}

/// A bound by a number of pairs and a letter.
pub(super) fn bound(pairs: u32, letter: Bound) -> Bound {
    (pairs.min(MAX_PAIRS) << PAIRS_SHIFT) as Bound | letter
}

/// How many pairs a path must hold to be a candidate, as a number (`u32`) or as the [`Bound`] that its name needs.
#[derive(Clone, Copy)]
pub(super) struct NeededPairs<T> {
    /// If it is not a match.
    pub(super) other: T,
    /// If it is one.
    pub(super) matched: T,
}

impl NeededPairs<u32> {
    /// How many letters a folder holds, and the bounds that names in it need. If the folder may hold more pairs than its
    /// bound can tell, so may each path.
    #[inline]
    pub(super) fn in_folder(self, folder: Bound) -> (Bound, NeededPairs<Bound>) {
        let held = u32::from(folder >> PAIRS_SHIFT);
        let rest = |pairs: u32| match held {
            MAX_PAIRS => 0,
            _ => bound(pairs.saturating_sub(held), 0),
        };
        (folder & LETTER, NeededPairs { other: rest(self.other), matched: rest(self.matched) })
    }
}
