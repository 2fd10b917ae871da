//! How much of a query a folder or a name contains: in full ([`PairHits`]), and packed into two bytes ([`Bound`]).

use std::sync::atomic::AtomicU16;

/// How much of the query a folder or a name contains, packed into two bytes since it is read for each path. The upper
/// six bits are the number of pairs of all parts, up to [`MAX_PAIRS`]. The lower bits are about the longest part: for a
/// folder, how many of its first letters the folder contains; for a name, the letter from which the name contains the
/// part. For a name this is a lower bound unless [`EXACT`] is set.
pub(super) type Bound = u16;

/// Marks a name that may be the query, with an error or as initials. Its paths are always examined.
pub(super) const LIKELY: Bound = 63 << PAIRS_SHIFT;

/// Position of the lowest bit of the number of pairs.
pub(super) const PAIRS_SHIFT: u32 = 10;

/// Largest number of pairs in a bound; stands for this many or more.
pub(super) const MAX_PAIRS: u32 = 62;

/// Flag of a name whose letter is exact.
pub(super) const EXACT: Bound = 1 << 9;

/// Mask of the bits of the letter.
pub(super) const LETTER: Bound = EXACT - 1;

/// Largest letter that a bound can hold.
pub(super) const LAST_LETTER: Bound = LETTER - 1;

/// How much of a part of the query a folder contains, together with the folders around it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairHits {
    /// Bits of the pairs that they contain.
    pub(super) pairs: u32,
    /// Number of the part's first letters that they contain in order.
    pub(super) letters: u16,
}

/// The buffers of one query, reused for the next.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// Hits of each folder, one entry for each part.
    pub(super) folders: Vec<PairHits>,
    pub(super) folder_bounds: Vec<Bound>,
    /// Bits of the pairs that names contain. In blocks of names: those of a block for one part, then for the next part.
    pub(super) names: Vec<u32>,
    pub(super) name_bounds: Vec<AtomicU16>,
    /// Bits of the pairs that each folder contains, without the folders around it.
    pub(super) own: Vec<u32>,
}

/// Packs a number of pairs and a letter into a bound.
pub(super) fn bound(pairs: u32, letter: Bound) -> Bound {
    (pairs.min(MAX_PAIRS) << PAIRS_SHIFT) as Bound | letter
}

/// The number of pairs that a path must contain to be a candidate: as a number (`u32`), or as the [`Bound`] that its
/// name must reach.
#[derive(Clone, Copy)]
pub(super) struct NeededPairs<T> {
    /// For a path that is not a match.
    pub(super) other: T,
    /// For a match.
    pub(super) matched: T,
}

impl NeededPairs<u32> {
    /// Returns how many letters a folder contains, and the bounds that names in it must reach. A folder with the
    /// largest number may contain more pairs than its bound tells, so it requires nothing of its names.
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
