//! The filters of whole shards. They tell which blocks of chunks may satisfy a query.
//!
//! A shard has a Bloom filter for each block of chunks, each dense chunk and each large chunk. Filters of blocks and of
//! dense chunks are stored bit-sliced. In a server's memory, the filters of several shards lie side by side in a
//! [`SignatureFile`]. One lookup filters all these shards and takes hardly longer than a lookup in one, since a row is
//! contiguous in memory.

use std::ops::Range;
use std::sync::Arc;

use crate::{BitSlices, BloomFilter, Columns, FilterKind, NgramQuery};

/// Chunks in a block. Smaller blocks would be ruled out more often but take more memory, since each repeats the common
/// n-grams.
pub const BLOCK_CHUNKS: i32 = 512;

/// The filters of several shards side by side.
#[derive(Debug)]
pub struct SignatureFile {
    /// The filters of blocks; those of large chunks are columns, too, as if they were blocks.
    blocks: BitSlices,
    /// The filters of dense chunks.
    dense: BitSlices,
    /// Number of shards.
    shards: usize,
}

/// The filters of one shard: its columns in a signature file.
#[derive(Clone, Debug)]
pub struct ShardFilter {
    file: Arc<SignatureFile>,
    /// Bytes of a row of `SignatureFile::blocks` that hold this shard's blocks, and those that hold
    /// its large chunks.
    blocks: Range<usize>,
    large: Range<usize>,
    /// Bytes of a row of `SignatureFile::dense` that hold this shard's dense chunks.
    dense: Range<usize>,
    chunks: Arc<OwnFilterChunks>,
}

/// The chunks with filters of their own, by ascending number.
#[derive(Debug, Default)]
struct OwnFilterChunks {
    large: Vec<LargeChunk>,
    dense: Vec<i32>,
}

/// A large chunk.
#[derive(Debug)]
struct LargeChunk {
    n: i32,
    /// Its unfolded filter, if that has more than a quarter of the bits of a block's. Folded to the size of a block's
    /// filter it would let more queries through, and reading the chunk takes long.
    whole: Option<BloomFilter>,
}

/// The columns of a signature file that may satisfy a query.
#[derive(Clone, Debug)]
pub struct HitBitmap {
    of: Arc<SignatureFile>,
    columns: Columns,
}

impl SignatureFile {
    /// Row size in bytes from which on a signature file takes no more shards: four cache lines of a processor.
    pub const WIDTH: usize = 256;

    /// Returns the number of shards.
    pub fn shards(&self) -> usize {
        self.shards
    }

    /// Returns the bytes in a row of blocks.
    pub fn width(&self) -> usize {
        self.blocks.width()
    }

    /// Returns the size of the filters in memory, in bytes.
    pub fn memory(&self) -> usize {
        self.blocks.memory() + self.dense.memory()
    }
}

impl ShardFilter {
    /// Makes the filters of a shard, in a signature file of its own, from the filters of its
    /// blocks; the filters and numbers of its dense chunks; and its large chunks, each with its
    /// filter. Numbers ascend.
    ///
    /// # Panics
    /// The numbers of dense chunks and of their filters differ.
    pub fn new(
        blocks: BitSlices,
        (dense, dense_chunks): (BitSlices, Vec<i32>),
        large: Vec<(i32, BloomFilter)>,
    ) -> Self {
        let (numbers, filters): (Vec<i32>, Vec<BloomFilter>) = large.into_iter().unzip();
        let columns = BitSlices::new(FilterKind::Block, &filters);
        let whole = |set: BloomFilter| set.is_coarse_as(FilterKind::Block).then_some(set);
        let large = numbers.into_iter().zip(filters);
        let large = large.map(|(n, filter)| LargeChunk { n, whole: whole(filter) }).collect();
        Self::of_slices(blocks, (dense, dense_chunks), (columns, large))
    }

    /// Makes the filters of a shard from some of the rows. Here, filters of large chunks have as many bits as those of
    /// blocks, and both have the rows of the same bits.
    ///
    /// # Panics
    /// The numbers of dense or large chunks and of their filters differ.
    pub fn of_rows(
        blocks: BitSlices,
        dense: (BitSlices, Vec<i32>),
        (columns, large): (BitSlices, Vec<i32>),
    ) -> Self {
        assert_eq!(columns.width(), large.len().div_ceil(8), "each has a filter");
        let large = large.into_iter().map(|n| LargeChunk { n, whole: None }).collect();
        Self::of_slices(blocks, dense, (columns, large))
    }

    fn of_slices(
        blocks: BitSlices,
        (dense, dense_chunks): (BitSlices, Vec<i32>),
        (columns, large): (BitSlices, Vec<LargeChunk>),
    ) -> Self {
        assert_eq!(dense.width(), dense_chunks.len().div_ceil(8), "each has a filter");
        let (ends, width) = (blocks.width(), blocks.width() + columns.width());
        let blocks = match columns.width() {
            0 => blocks,
            more => {
                BitSlices::concat(FilterKind::Block, &[(&blocks, 0..ends), (&columns, 0..more)])
            }
        };
        Self {
            blocks: 0..ends,
            large: ends..width,
            dense: 0..dense.width(),
            chunks: Arc::new(OwnFilterChunks { large, dense: dense_chunks }),
            file: Arc::new(SignatureFile { blocks, dense, shards: 1 }),
        }
    }

    /// Copies the filters of some shards, from any signature files, into a common one.
    pub fn combine(some: &[Arc<Self>]) -> Vec<Arc<Self>> {
        let blocks = some.iter().map(|one| (&one.file.blocks, one.bytes()));
        let dense = some.iter().map(|one| (&one.file.dense, one.dense.clone()));
        let file = Arc::new(SignatureFile {
            blocks: BitSlices::concat(FilterKind::Block, &blocks.collect::<Vec<_>>()),
            dense: BitSlices::concat(FilterKind::Dense, &dense.collect::<Vec<_>>()),
            shards: some.len(),
        });
        let (mut at, mut dense_at) = (0, 0);
        some.iter()
            .map(|one| {
                let (blocks, dense) = (at, dense_at);
                let large = blocks + one.blocks.len();
                (at, dense_at) = (large + one.large.len(), dense + one.dense.len());
                Arc::new(Self {
                    file: Arc::clone(&file),
                    blocks: blocks..large,
                    large: large..at,
                    dense: dense..dense_at,
                    chunks: Arc::clone(&one.chunks),
                })
            })
            .collect()
    }

    /// Returns the signature file that the shard's filters are part of.
    pub fn signature_file(&self) -> &Arc<SignatureFile> {
        &self.file
    }

    /// Returns the bytes that the shard takes in a row of blocks.
    pub fn width(&self) -> usize {
        self.bytes().len()
    }

    fn bytes(&self) -> Range<usize> {
        self.blocks.start..self.large.end
    }

    /// Looks up a query in the blocks of this shard and of all that share its signature file.
    pub fn hits(&self, ngrams: &NgramQuery) -> HitBitmap {
        HitBitmap { of: Arc::clone(&self.file), columns: self.file.blocks.columns(ngrams) }
    }

    /// Returns the blocks that may satisfy the query, by their own filters alone: chunks with
    /// filters of their own are left out.
    ///
    /// # Panics
    /// The hits are not [of](HitBitmap::is_of) this shard's signature file.
    pub fn blocks(&self, hits: &HitBitmap) -> Columns {
        assert!(hits.is_of(self), "they are hits of other shards");
        hits.columns.within(&self.blocks)
    }

    /// Returns the blocks and chunks that may satisfy the query.
    ///
    /// # Panics
    /// The hits are not [of](HitBitmap::is_of) this shard's signature file.
    pub fn surviving(&self, ngrams: &NgramQuery, hits: &HitBitmap) -> SurvivingBlocks {
        assert!(hits.is_of(self), "they are hits of other shards");
        self.surviving_in(ngrams, &hits.columns.within(&self.bytes()))
    }

    /// Returns the blocks and chunks that may satisfy a query, given the columns of blocks and
    /// large chunks that may.
    fn surviving_in(&self, ngrams: &NgramQuery, columns: &Columns) -> SurvivingBlocks {
        let mut large = columns.within(&(self.blocks.len()..self.width()));
        large.retain(|at| {
            let whole = self.chunks.large[at].whole.as_ref();
            whole.is_none_or(|filter| filter.may_hold(ngrams))
        });
        let mut blocks = columns.within(&(0..self.blocks.len()));
        let dense = self.file.dense.columns_within(&self.dense, ngrams);
        let own = large.iter().map(|at| self.chunks.large[at].n);
        for n in own.chain(dense.iter().map(|at| self.chunks.dense[at])) {
            blocks.add((n / BLOCK_CHUNKS) as usize);
        }
        SurvivingBlocks { blocks, large, dense }
    }

    /// Returns the chunks in a range of numbers whose own filters rule them out.
    pub fn ruled_out<'a>(
        &'a self,
        surviving: &'a SurvivingBlocks,
        chunks: Range<i32>,
    ) -> impl Iterator<Item = i32> + 'a {
        let (dense, large) = (&self.chunks.dense, &self.chunks.large);
        let dense_at = |n| dense.partition_point(|chunk| *chunk < n);
        let large_at = |n| large.partition_point(|large| large.n < n);
        let dense_places = dense_at(chunks.start)..dense_at(chunks.end);
        let large_places = large_at(chunks.start)..large_at(chunks.end);
        let dense_ones = dense_places.filter(|at| !surviving.dense.contains(*at));
        let large_ones = large_places.filter(|at| !surviving.large.contains(*at));
        dense_ones.map(|at| dense[at]).chain(large_ones.map(|at| large[at].n))
    }

    /// Returns whether the shard may satisfy a query, each literal in some block.
    pub fn may_hold(&self, ngrams: &NgramQuery) -> bool {
        match ngrams {
            NgramQuery::Anything => true,
            NgramQuery::Hashes(_) => {
                let columns = self.file.blocks.columns_within(&self.bytes(), ngrams);
                !self.surviving_in(ngrams, &columns).blocks.is_empty()
            }
            NgramQuery::All(all) => all.iter().all(|one| self.may_hold(one)),
            NgramQuery::Any(any) => any.iter().any(|one| self.may_hold(one)),
        }
    }
}

impl HitBitmap {
    /// Returns whether the hits are from the signature file that contains a shard.
    pub fn is_of(&self, shard: &ShardFilter) -> bool {
        Arc::ptr_eq(&self.of, &shard.file)
    }

    /// Returns the number of blocks and large chunks with a hit, in all shards of the signature
    /// file.
    pub fn count(&self) -> usize {
        self.columns.count()
    }
}

/// The blocks of a shard that may satisfy a query, and those of its chunks with filters of their own.
#[derive(Clone, Debug)]
pub struct SurvivingBlocks {
    /// The blocks.
    pub blocks: Columns,
    /// The large and the dense chunks, by their indices among those with filters of their own.
    large: Columns,
    dense: Columns,
}

impl SurvivingBlocks {
    /// Adds the survivors of another query.
    pub fn or(&mut self, other: &SurvivingBlocks) {
        self.blocks.or(&other.blocks);
        self.large.or(&other.large);
        self.dense.or(&other.dense);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a query for one of several texts, separated by `|`; an empty text is anything.
    fn ngrams(texts: &str) -> NgramQuery {
        NgramQuery::any(texts.split('|').map(NgramQuery::folded).collect())
    }

    fn filter(mut filter: BloomFilter, text: &str) -> BloomFilter {
        filter.add(text);
        filter
    }

    /// Makes a shard with a block for each text, and with two large chunks and a dense one in the
    /// last block.
    fn shard(texts: &[&str]) -> Arc<ShardFilter> {
        let blocks: Vec<_> =
            texts.iter().map(|text| filter(BloomFilter::new(FilterKind::Block), text)).collect();
        let last = (texts.len() as i32 - 1) * BLOCK_CHUNKS;
        let filling = format!("{} ", texts.join(" ")).repeat(80_000);
        let large = [(1, "large_one"), (5, "large_other")].map(|(n, name)| {
            let text = format!("{name} {}", &filling[..n as usize * 30_000]);
            (last + n, filter(BloomFilter::for_text(text.len()), &text))
        });
        let dense = [filter(BloomFilter::new(FilterKind::Dense), "dense_one")];
        let dense = BitSlices::new(FilterKind::Dense, &dense);
        let blocks = BitSlices::new(FilterKind::Block, &blocks);
        Arc::new(ShardFilter::new(blocks, (dense, vec![last + 7]), large.into()))
    }

    #[test]
    fn a_shard_tells_the_same_in_every_signature_file() {
        let alone = [
            shard(&["first words", "second words"]),
            shard(&["third_thing"]),
            shard(&[
                "a",
                "bb",
                "some text",
                "more",
                "of",
                "it",
                "that",
                "fills",
                "nine",
                "last words",
            ]),
        ];
        let together = ShardFilter::combine(&alone);
        let other_way: Vec<_> = [&together[2], &alone[0]].map(Arc::clone).into();
        let other_way = ShardFilter::combine(&other_way);
        let all = [(0, &together[0]), (1, &together[1]), (2, &together[2])];
        for (of, shard) in all.into_iter().chain([(2, &other_way[0]), (0, &other_way[1])]) {
            let alone = &alone[of];
            for texts in [
                "first",
                "words",
                "SECOND WORDS",
                "third_thing",
                "large_one",
                "large_other",
                "dense_one",
                "dense_one|some text",
                "nowhere_at_all",
                "of",
                "",
            ] {
                let ngrams = ngrams(texts);
                let (a, b) = (alone.surviving(&ngrams, &alone.hits(&ngrams)), shard.hits(&ngrams));
                assert_eq!(shard.blocks(&b), alone.blocks(&alone.hits(&ngrams)), "{texts}");
                let b = shard.surviving(&ngrams, &b);
                assert_eq!(a.blocks, b.blocks, "{texts}");
                let ruled_out =
                    |of: &ShardFilter, what| of.ruled_out(what, 0..i32::MAX).collect::<Vec<_>>();
                assert_eq!(ruled_out(alone, &a), ruled_out(shard, &b), "{texts}");
                assert_eq!(shard.may_hold(&ngrams), !a.blocks.is_empty(), "{texts}");
            }
        }
        let found = |shard: &ShardFilter, texts: &str| {
            let ngrams = ngrams(texts);
            let surviving = shard.surviving(&ngrams, &shard.hits(&ngrams));
            let ruled_out: Vec<i32> = shard.ruled_out(&surviving, 0..i32::MAX).collect();
            (surviving.blocks.iter().collect::<Vec<_>>(), ruled_out)
        };
        assert_eq!(found(&together[0], "first words"), (vec![0, 1], vec![519]));
        assert_eq!(found(&together[1], "large_one"), (vec![0], vec![7, 5]));
        assert_eq!(found(&together[1], "dense_one"), (vec![0], vec![1, 5]));
        assert_eq!(found(&together[2], "large_other").0, [9]);
        assert!(found(&together[2], "nowhere_at_all").0.is_empty());
    }
}
