//! Sets of chunks of one shard, and the blobs that they belong to.
//!
//! The chunks of a blob have neighbouring numbers, and the number of the first is the blob's own. So a bitmap of the
//! first chunks maps each chunk to its blob.

use std::iter::once;
use std::ops::Range;

use ngram::Columns;
use store::BlobId;

/// Some chunks of a shard: bit n stands for chunk n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkSet(Columns);

/// The known blobs of a shard: bit n is set if a blob begins with chunk n. A chunk of another blob counts as part of
/// the blob before it.
#[derive(Debug)]
pub(crate) struct BlobStarts(Columns);

impl ChunkSet {
    /// Returns the empty set of a shard with this number of chunks.
    pub(crate) fn none(chunks: i32) -> Self {
        let mut columns = Columns::first(0);
        columns.grow(chunks.max(0) as usize);
        Self(columns)
    }

    /// Returns the chunks of a shard that lie in some ranges.
    pub(crate) fn of_ranges(chunks: i32, ranges: impl IntoIterator<Item = Range<i32>>) -> Self {
        let mut set = Self::none(chunks);
        ranges.into_iter().for_each(|range| set.add_range(range));
        set
    }

    /// Returns all chunks of some blobs of a shard.
    pub(crate) fn of_blobs(chunks: i32, blobs: &[BlobId], starts: &BlobStarts) -> Self {
        Self::of_ranges(chunks, blobs.iter().map(|blob| starts.extent(*blob)))
    }

    /// Adds those chunks of a range that the shard has.
    pub(crate) fn add_range(&mut self, range: Range<i32>) {
        self.0.add_range(range.start.max(0) as usize..range.end.max(0) as usize);
    }

    /// Sets the chunks from `first` on, a multiple of 8, to those in `columns`.
    pub(crate) fn set(&mut self, first: i32, columns: &Columns) {
        self.0.set_bytes(first as usize / 8, columns.bytes());
    }

    /// Keeps only the chunks that are also in another set.
    pub(crate) fn and(&mut self, other: &Self) {
        self.0.and(&other.0);
    }

    /// Keeps only the chunks of some blobs, which are in ascending order.
    pub(crate) fn retain_blobs(&mut self, blobs: &[BlobId], starts: &BlobStarts) {
        // The set may have few of the blobs, or the blobs few of the set's chunks.
        let kept = intersection(&self.blobs(starts), blobs);
        self.0.retain_ranges(kept.iter().map(|blob| {
            let extent = starts.extent(*blob);
            extent.start as usize..extent.end as usize
        }));
    }

    /// Keeps only the chunks with numbers in a range.
    pub(crate) fn retain_range(&mut self, range: &Range<i32>) {
        self.0.retain_ranges(once(range.start.max(0) as usize..range.end.max(0) as usize));
    }

    /// Adds the chunks of another set of the shard.
    pub(crate) fn or(&mut self, other: &Self) {
        self.0.or(&other.0);
    }

    /// Returns whether the set has no chunk.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of its chunks.
    pub(crate) fn count(&self) -> usize {
        self.0.count()
    }

    /// Returns its chunks with numbers in a range, ascending.
    pub(crate) fn within(&self, range: Range<i32>) -> impl Iterator<Item = i32> {
        let first = range.start.max(0) as usize;
        self.0.iter_from(first).map(|n| n as i32).take_while(move |n| *n < range.end)
    }

    /// Returns its chunks, ascending.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i32> {
        self.within(0..i32::MAX)
    }

    /// Returns whether it has a chunk in a range.
    pub(crate) fn meets(&self, range: Range<i32>) -> bool {
        self.within(range).next().is_some()
    }

    /// Returns the blobs of its chunks, ascending. Leaves out chunks before the first blob.
    pub(crate) fn blobs(&self, starts: &BlobStarts) -> Vec<BlobId> {
        let (mut blobs, mut end) = (Vec::new(), 0);
        for n in self.numbers() {
            // Most chunks belong to the previous chunk's blob.
            if n >= end
                && let Some(blob) = starts.blob_of(n)
            {
                blobs.push(blob);
                end = starts.extent(blob).end;
            }
        }
        blobs
    }
}

impl From<Columns> for ChunkSet {
    fn from(columns: Columns) -> Self {
        Self(columns)
    }
}

impl BlobStarts {
    /// Makes the table of some blobs, in ascending order.
    pub(crate) fn new(blobs: impl DoubleEndedIterator<Item = BlobId> + Clone) -> Self {
        let mut columns = Columns::first(0);
        columns.grow(blobs.clone().next_back().map_or(0, |last| last.0 as usize + 1));
        blobs.for_each(|blob| columns.add(blob.0 as usize));
        Self(columns)
    }

    /// Returns the blob of a chunk; `None` before the first blob.
    pub(crate) fn blob_of(&self, n: i32) -> Option<BlobId> {
        self.0.last_to(n as usize).map(|start| BlobId(start as i32))
    }

    /// Returns the first blob with this number or a larger one.
    pub(crate) fn next(&self, n: i32) -> Option<BlobId> {
        self.0.iter_from(n as usize).next().map(|start| BlobId(start as i32))
    }

    /// Returns the range of the chunks of a blob, which may end beyond the last chunk of the shard; empty if the blob
    /// is unknown.
    pub(crate) fn extent(&self, blob: BlobId) -> Range<i32> {
        if !self.0.contains(blob.0 as usize) {
            return blob.0..blob.0;
        }
        blob.0..self.next(blob.0 + 1).map_or(i32::MAX, |next| next.0)
    }
}

impl From<Columns> for BlobStarts {
    fn from(columns: Columns) -> Self {
        Self(columns)
    }
}

/// Returns the union of two ascending lists.
pub(crate) fn union(mut one: Vec<BlobId>, other: Vec<BlobId>) -> Vec<BlobId> {
    one.extend(other);
    // The stable sort detects the runs, which are sorted, and merges them.
    one.sort();
    one.dedup();
    one
}

/// Returns the intersection of two ascending lists.
pub(crate) fn intersection(left: &[BlobId], right: &[BlobId]) -> Vec<BlobId> {
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    short.iter().filter(|blob| long.binary_search(blob).is_ok()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(of: &[i32]) -> BlobStarts {
        BlobStarts::new(of.iter().copied().map(BlobId))
    }

    #[test]
    fn chunks_belong_to_the_blob_that_begins_before_them() {
        let starts = starts(&[3, 5, 9, 1025]);
        let set = |of: &[i32]| ChunkSet::of_ranges(2000, of.iter().map(|n| *n..n + 1));
        let blobs = |of: &[i32]| -> Vec<i32> {
            set(of).blobs(&starts).into_iter().map(|blob| blob.0).collect()
        };
        assert!(blobs(&[0, 2]).is_empty());
        assert_eq!(blobs(&[2, 3, 4, 10, 1024, 1025, 1999]), [3, 9, 1025]);
        assert_eq!(blobs(&[5, 9]), [5, 9]);
        assert_eq!(starts.extent(BlobId(9)), 9..1025);
        assert_eq!(starts.extent(BlobId(1025)), 1025..i32::MAX);
        assert!(starts.extent(BlobId(4)).is_empty());
        assert_eq!((starts.next(6), starts.next(1026)), (Some(BlobId(9)), None));
        let all = ChunkSet::of_blobs(2000, &[BlobId(3), BlobId(4), BlobId(1025)], &starts);
        assert_eq!(all.numbers().collect::<Vec<_>>(), (3..5).chain(1025..2000).collect::<Vec<_>>());
        assert_eq!(all.within(4..1027).collect::<Vec<_>>(), [4, 1025, 1026]);
        assert!(all.meets(0..4) && !all.meets(5..1025));
    }

    #[test]
    fn a_set_holds_no_chunk_beyond_the_shard_but_those_of_its_last_byte() {
        let set = ChunkSet::of_ranges(16, [2..4, 9..i32::MAX]);
        assert_eq!(set.numbers().collect::<Vec<_>>(), [2, 3, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(set.count(), 9);
        let mut both = set.clone();
        both.and(&ChunkSet::of_ranges(16, once(3..10)));
        assert_eq!(both.numbers().collect::<Vec<_>>(), [3, 9]);
        both.or(&ChunkSet::of_ranges(16, once(0..1)));
        assert_eq!(both.numbers().collect::<Vec<_>>(), [0, 3, 9]);
        assert!(ChunkSet::none(16).is_empty() && !both.is_empty());
    }
}
