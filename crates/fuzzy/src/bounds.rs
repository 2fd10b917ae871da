//! Computes how much of a query each folder and each name of an index contains.

use std::ops::Range;
use std::sync::atomic::AtomicU16;

use rayon::prelude::*;

use super::bound::{Bound, Buffers, LAST_LETTER, LETTER, PAIRS_SHIFT, PairHits, bound};
use super::index::PathIndex;
use super::pair_index::PairIndex;
use super::part::PartMatcher;
use super::pool::Pooled;
use super::query::QueryPart;

/// Names that one thread handles at a time: their hits fit into the cache of a core.
const BLOCK: usize = 1 << 13;

/// How much of a query all folders and all names contain.
pub(super) struct QueryBounds<'a> {
    /// Parts of the query.
    pub(super) parts: Vec<PartMatcher<'a>>,
    /// Index of the longest part; `None` if the query is empty.
    pub(super) longest: Option<usize>,
    buffers: Pooled<'a, Buffers>,
}

impl<'a> QueryBounds<'a> {
    pub(super) fn new(query: &'a [QueryPart], index: &'a PathIndex) -> Self {
        let parts: Vec<PartMatcher<'_>> = query.iter().map(PartMatcher::new).collect();
        let longest = (0..parts.len()).max_by_key(|at| parts[*at].part.text.len());
        let mut buffers = index.buffers.take();
        buffers.folders.resize(index.folders.len() * parts.len(), PairHits::default());
        buffers.folder_bounds.resize(index.folders.len(), 0);
        buffers.names.resize(index.names.len().next_multiple_of(BLOCK) * parts.len(), 0);
        buffers.name_bounds.resize_with(index.names.len(), AtomicU16::default);
        let Buffers { folders, folder_bounds, names, name_bounds, own } = &mut *buffers;
        let Some(main) = longest else {
            folder_bounds.fill(0);
            name_bounds.fill_with(AtomicU16::default);
            return Self { parts, longest, buffers };
        };
        let count = parts.len();
        rayon::join(
            || {
                for (at, part) in parts.iter().enumerate() {
                    part.hits_of_folders(index, own, folders, |folder| count * folder + at);
                }
                for (here, hits) in folder_bounds.iter_mut().zip(folders.chunks_exact(count)) {
                    let pairs = hits.iter().map(|hits| hits.pairs.count_ones()).sum();
                    *here = bound(pairs, hits[main].letters.min(LAST_LETTER));
                }
            },
            || {
                let blocks = names.par_chunks_mut(count * BLOCK);
                let blocks = blocks.zip(name_bounds.par_chunks_mut(BLOCK)).enumerate();
                blocks.for_each_init(Vec::new, |bounds, (block, (hits, name_bounds))| {
                    let first = BLOCK * block;
                    let range = first..first + name_bounds.len();
                    bounds_of_names(&parts, &parts[main], &index.names, range, hits, bounds);
                    for (here, bound) in name_bounds.iter_mut().zip(bounds) {
                        *here.get_mut() = *bound;
                    }
                });
            },
        );
        Self { parts, longest, buffers }
    }

    /// Returns the hits of a folder, for each part.
    #[inline]
    pub(super) fn folder(&self, folder: usize) -> &[PairHits] {
        &self.buffers.folders[self.parts.len() * folder..][..self.parts.len()]
    }

    /// Returns the bits of the pairs that a name contains, for each part.
    #[inline]
    pub(super) fn name(&self, name: usize) -> impl Iterator<Item = u32> {
        let parts = self.parts.len();
        let first = parts * (name - name % BLOCK) + name % BLOCK;
        (0..parts).map(move |part| self.buffers.names[first + part * BLOCK])
    }

    /// Returns the number of pairs of the first part that a path contains.
    #[inline]
    pub(super) fn pairs(&self, name: usize, folder: usize) -> u32 {
        let parts = self.parts.len();
        let own = self.buffers.names[parts * (name - name % BLOCK) + name % BLOCK];
        (own | self.buffers.folders[parts * folder].pairs).count_ones()
    }

    pub(super) fn folder_bounds(&self) -> &[Bound] {
        &self.buffers.folder_bounds
    }

    pub(super) fn name_bounds(&self) -> &[AtomicU16] {
        &self.buffers.name_bounds
    }
}

/// Computes the hits and bounds of a range of names.
fn bounds_of_names(
    parts: &[PartMatcher<'_>],
    longest: &PartMatcher<'_>,
    names: &PairIndex,
    range: Range<usize>,
    hits: &mut [u32],
    bounds: &mut Vec<Bound>,
) {
    bounds.clear();
    bounds.extend(names.letters[range.clone()].iter().map(|letters| longest.at_best(*letters)));
    hits.fill(0);
    for (part, hits) in parts.iter().zip(hits.chunks_exact_mut(BLOCK)) {
        names.note_pairs(&part.pairs, range.clone(), &mut hits[..range.len()]);
        for (here, hits) in bounds.iter_mut().zip(hits) {
            let pairs = u32::from(*here >> PAIRS_SHIFT) + hits.count_ones();
            *here = bound(pairs, *here & LETTER);
        }
    }
    for part in parts {
        part.note_likely(names, range.start, bounds);
    }
}
