//! What is made of the texts of a shard for searching: the words of its stretches of chunks, which the trigram
//! index is over, and its summary, which n-grams its blocks of chunks hold.

use std::ops::Range;
use std::sync::Arc;

use futures_util::TryStreamExt;
use ngram::{BitSlices, BloomFilter, Columns, FilterKind, NgramQuery};
use query::Lexemes;
use sqlx::{AssertSqlSafe, Connection};

use crate::ShardId;
use crate::catalog::Shard;
use crate::connect::Store;
use crate::copy::{self, Rows, SEND_BYTES};
use crate::error::Result;
use crate::lease::{Ask, Lease};
use crate::writer::Writer;

/// Chunks in a block. Smaller blocks are ruled out more often and take more memory, since each new
/// one repeats what is common.
pub const BLOCK_CHUNKS: i32 = 512;

/// A stretch ends with the chunk with which it has so many bytes of text. Larger ones make a smaller index that is
/// built faster (a quarter of the time of one over single chunks, and a third of the size), and name more chunks in
/// vain.
const STRETCH_BYTES: usize = 48 << 10;

/// Chunks over this many bytes, which are long lines, have sets of their own, as dense ones have: they
/// would fill that of their block.
const LARGE_CHUNK_BYTES: usize = 8192;

/// Shards that are summarised at once, each on two connections.
pub const MAX_SUMMARISERS: usize = 8;

/// Stands for all chunks of a block without sets of their own.
const ALL_OTHERS: i32 = -1;

impl Writer {
    /// The shards with chunks that are not summarised, whoever stored them.
    pub async fn unsummarised(&mut self) -> Result<Vec<ShardId>> {
        let shards: Vec<(i16,)> =
            sqlx::query_as("select shard from shards where chunks > summarised order by shard")
                .fetch_all(self.conn())
                .await?;
        Ok(shards.into_iter().map(|(shard,)| ShardId(shard)).collect())
    }
}

impl Store {
    /// Adds to the words and the summary of a shard the chunks that are not in them.
    ///
    /// This must come before files refer to those chunks. It reads what is stored and not what is
    /// being stored, so that chunks which a killed ingest left are in it, too.
    pub async fn summarise(&self, shard: ShardId) -> Result<()> {
        let (upto, summarised): (i32, i32) =
            sqlx::query_as("select chunks, summarised from shards where shard = $1")
                .bind(shard.0)
                .fetch_one(self.control())
                .await?;
        if summarised >= upto {
            return Ok(());
        }
        let mut reader = self.helper().await?;
        let mut conn = self.helper().await?;
        let mut tx = conn.begin().await?;
        // The block that is not full is made anew.
        let from = summarised - summarised % BLOCK_CHUNKS;
        let statement = format!(
            "copy {} (shard, first, upto, odd, words) from stdin (format binary)",
            shard.stretches()
        );
        let sql = format!(
            "select n, contents from {} where shard = {} and n >= $1 and n < $2 order by n",
            shard.chunks(),
            shard.0
        );
        let mut texts = sqlx::query_as::<_, (i32, String)>(AssertSqlSafe(sql))
            .bind(from)
            .bind(upto)
            .fetch(&mut reader);
        let mut next = texts.try_next().await?;
        sqlx::query("delete from grams where shard = $1 and block >= $2")
            .bind(shard.0)
            .bind(from / BLOCK_CHUNKS)
            .execute(&mut *tx)
            .await?;
        let (mut words, mut hashes) = (Lexemes::default(), Vec::new());
        for block in from / BLOCK_CHUNKS..(upto + BLOCK_CHUNKS - 1) / BLOCK_CHUNKS {
            let mut sets = vec![(ALL_OTHERS, BloomFilter::new(FilterKind::Block))];
            let mut stretches = Rows::new();
            let mut first = None;
            while let Some((n, text)) = next.take_if(|(n, _)| *n / BLOCK_CHUNKS == block) {
                if text.len() > LARGE_CHUNK_BYTES {
                    let mut set = BloomFilter::for_text(text.len());
                    set.add(&text);
                    sets.push((n, set));
                } else if let Some(own) = sets[0].1.add_chunk(&text, &mut hashes) {
                    sets.push((n, own));
                }
                next = texts.try_next().await?;
                if n < summarised {
                    continue;
                }
                words.add(&text);
                let start = *first.get_or_insert(n);
                let ends = next.as_ref().is_none_or(|(n, _)| *n / BLOCK_CHUNKS != block);
                if ends || words.bytes() >= STRETCH_BYTES {
                    stretches.row(5).i16(shard.0).i32(start).i32(n + 1);
                    stretches.bool(words.odd()).bytes(words.text().as_bytes());
                    words.clear();
                    first = None;
                    if stretches.len() > SEND_BYTES {
                        copy::send(&mut tx, &statement, std::mem::take(&mut stretches)).await?;
                    }
                }
            }
            copy::send(&mut tx, &statement, stretches).await?;
            for (chunk, set) in sets {
                sqlx::query(
                    "insert into grams (shard, block, chunk, bits) values ($1, $2, $3, $4)",
                )
                .bind(shard.0)
                .bind(block)
                .bind(chunk)
                .bind(set.to_bytes())
                .execute(&mut *tx)
                .await?;
            }
        }
        drop(texts);
        sqlx::query("update shards set summarised = $2 where shard = $1")
            .bind(shard.0)
            .bind(upto)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        conn.close().await?;
        Ok(reader.close().await?)
    }
}

/// The summaries of several shards side by side, so that one look tells what all of them may hold: a row of bits
/// then stands together in memory, which takes nearly as long to reach as a row of one shard.
#[derive(Debug)]
pub struct SignatureFile {
    /// The sets of blocks, and of large chunks, as if they were blocks.
    blocks: BitSlices,
    /// The sets of dense chunks.
    dense: BitSlices,
    /// How many shards there are.
    shards: usize,
}

/// The summary of a shard: its part of an overview.
#[derive(Clone, Debug)]
pub struct ShardFilter {
    overview: Arc<SignatureFile>,
    /// Which bytes of a row are of its blocks, and which of its large chunks.
    blocks: Range<usize>,
    large: Range<usize>,
    /// Which bytes of a row of the dense ones are of its dense chunks.
    dense: Range<usize>,
    /// The numbers of these chunks, ascending.
    chunks: Arc<OwnSets>,
}

/// The chunks with sets of their own, ascending.
#[derive(Debug, Default)]
struct OwnSets {
    large: Vec<Large>,
    dense: Vec<i32>,
}

/// A large chunk.
#[derive(Debug)]
struct Large {
    n: i32,
    /// Its set, if that is not much smaller than a block's: brought to the size of one, it lets more through, and the
    /// chunk takes long to read.
    whole: Option<BloomFilter>,
}

/// What the blocks of an overview may hold of what was asked for.
#[derive(Clone, Debug)]
pub struct HitBitmap {
    of: Arc<SignatureFile>,
    parts: Columns,
}

impl SignatureFile {
    /// An overview takes in no more shards when a row has so many bytes: those of four lines of a processor's cache.
    pub const WIDTH: usize = 256;

    /// How many shards are in it.
    pub fn shards(&self) -> usize {
        self.shards
    }

    /// Bytes in a row of blocks.
    pub fn width(&self) -> usize {
        self.blocks.width()
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.blocks.memory() + self.dense.memory()
    }
}

impl ShardFilter {
    /// In an overview of its own.
    fn new(rows: Vec<(i32, Vec<u8>)>) -> Self {
        let (mut blocks, mut large, mut dense) = (Vec::new(), Vec::new(), Vec::new());
        let mut chunks = OwnSets::default();
        for (chunk, bits) in rows {
            let set = BloomFilter::from_bytes(&bits);
            if chunk == ALL_OTHERS {
                blocks.push(set);
            } else if set.kind() == FilterKind::Dense {
                chunks.dense.push(chunk);
                dense.push(set);
            } else {
                large.push(set);
                let whole = large.last().filter(|set| set.is_coarse_as(FilterKind::Block)).cloned();
                chunks.large.push(Large { n: chunk, whole });
            }
        }
        let (blocks, large) =
            (BitSlices::new(FilterKind::Block, &blocks), BitSlices::new(FilterKind::Block, &large));
        let (ends, width) = (blocks.width(), blocks.width() + large.width());
        let dense = BitSlices::new(FilterKind::Dense, &dense);
        let (blocks, large) = ((&blocks, 0..ends), (&large, 0..width - ends));
        Self {
            blocks: 0..ends,
            large: ends..width,
            dense: 0..dense.width(),
            chunks: Arc::new(chunks),
            overview: Arc::new(SignatureFile {
                blocks: BitSlices::beside(FilterKind::Block, &[blocks, large]),
                dense,
                shards: 1,
            }),
        }
    }

    /// Some summaries, of any overviews, in one.
    pub fn together(some: &[Arc<Self>]) -> Vec<Arc<Self>> {
        let blocks = some.iter().map(|one| (&one.overview.blocks, one.bytes()));
        let dense = some.iter().map(|one| (&one.overview.dense, one.dense.clone()));
        let overview = Arc::new(SignatureFile {
            blocks: BitSlices::beside(FilterKind::Block, &blocks.collect::<Vec<_>>()),
            dense: BitSlices::beside(FilterKind::Dense, &dense.collect::<Vec<_>>()),
            shards: some.len(),
        });
        let (mut at, mut dense_at) = (0, 0);
        some.iter()
            .map(|one| {
                let (blocks, dense) = (at, dense_at);
                let large = blocks + one.blocks.len();
                (at, dense_at) = (large + one.large.len(), dense + one.dense.len());
                Arc::new(Self {
                    overview: Arc::clone(&overview),
                    blocks: blocks..large,
                    large: large..at,
                    dense: dense..dense_at,
                    chunks: Arc::clone(&one.chunks),
                })
            })
            .collect()
    }

    /// The overview that it is part of.
    pub fn overview(&self) -> &Arc<SignatureFile> {
        &self.overview
    }

    /// Bytes that it has of a row of blocks.
    pub fn width(&self) -> usize {
        self.bytes().len()
    }

    fn bytes(&self) -> Range<usize> {
        self.blocks.start..self.large.end
    }

    /// Looks at the blocks of this shard and of all that it shares its overview with.
    pub fn look(&self, ngrams: &NgramQuery) -> HitBitmap {
        HitBitmap { of: Arc::clone(&self.overview), parts: self.overview.blocks.parts(ngrams) }
    }

    /// The blocks that may hold what was looked for, but for the chunks with sets of their own.
    ///
    /// # Panics
    /// The look is not [of](HitBitmap::is_of) this shard.
    pub fn blocks(&self, look: &HitBitmap) -> Columns {
        assert!(look.is_of(self), "it is a look at other shards");
        look.parts.within(&self.blocks)
    }

    /// What may hold what was looked for, all of it in one.
    ///
    /// # Panics
    /// The look is not [of](HitBitmap::is_of) this shard.
    pub fn passing(&self, ngrams: &NgramQuery, look: &HitBitmap) -> SurvivingBlocks {
        assert!(look.is_of(self), "it is a look at other shards");
        self.let_through(ngrams, &look.parts.within(&self.bytes()))
    }

    /// What may hold what is asked for, if of the blocks and the large chunks these may.
    fn let_through(&self, ngrams: &NgramQuery, near: &Columns) -> SurvivingBlocks {
        let mut large = near.within(&(self.blocks.len()..self.width()));
        large.retain(|at| {
            let whole = self.chunks.large[at].whole.as_ref();
            whole.is_none_or(|set| set.may_hold(ngrams))
        });
        let mut blocks = near.within(&(0..self.blocks.len()));
        let dense = self.overview.dense.parts_within(&self.dense, ngrams);
        let own = large.iter().map(|at| self.chunks.large[at].n);
        for n in own.chain(dense.iter().map(|at| self.chunks.dense[at])) {
            blocks.add((n / BLOCK_CHUNKS) as usize);
        }
        SurvivingBlocks { blocks, large, dense }
    }

    /// The chunks with sets of their own and with these numbers that do not hold what was asked for.
    pub fn without<'a>(
        &'a self,
        passing: &'a SurvivingBlocks,
        chunks: Range<i32>,
    ) -> impl Iterator<Item = i32> + 'a {
        let (dense, large) = (&self.chunks.dense, &self.chunks.large);
        let dense_at = |n| dense.partition_point(|chunk| *chunk < n);
        let large_at = |n| large.partition_point(|large| large.n < n);
        let dense_places = dense_at(chunks.start)..dense_at(chunks.end);
        let large_places = large_at(chunks.start)..large_at(chunks.end);
        let dense_ones = dense_places.filter(|at| !passing.dense.contains(*at));
        let large_ones = large_places.filter(|at| !passing.large.contains(*at));
        dense_ones.map(|at| dense[at]).chain(large_ones.map(|at| large[at].n))
    }

    /// Whether the shard may hold what is asked for, each literal of it in some block.
    pub fn may_hold(&self, ngrams: &NgramQuery) -> bool {
        match ngrams {
            NgramQuery::Anything => true,
            NgramQuery::Hashes(_) => {
                let near = self.overview.blocks.parts_within(&self.bytes(), ngrams);
                !self.let_through(ngrams, &near).blocks.is_empty()
            }
            NgramQuery::All(all) => all.iter().all(|one| self.may_hold(one)),
            NgramQuery::Any(any) => any.iter().any(|one| self.may_hold(one)),
        }
    }
}

impl HitBitmap {
    /// Whether a shard was among those that were looked at.
    pub fn is_of(&self, shard: &ShardFilter) -> bool {
        Arc::ptr_eq(&self.of, &shard.overview)
    }

    /// How many blocks, and large chunks, of all shards that were looked at may hold it.
    pub fn count(&self) -> usize {
        self.parts.count()
    }
}

/// What of a shard may hold something.
#[derive(Clone, Debug)]
pub struct SurvivingBlocks {
    /// The blocks.
    pub blocks: Columns,
    /// The large and the dense chunks, by their places.
    large: Columns,
    dense: Columns,
}

impl SurvivingBlocks {
    /// What may hold this or that.
    pub fn or(&mut self, other: &SurvivingBlocks) {
        self.blocks.or(&other.blocks);
        self.large.or(&other.large);
        self.dense.or(&other.dense);
    }
}

impl Lease {
    /// The summary of a shard, if it is as far as the shard is said to be.
    pub async fn grams(&mut self, shard: &Shard) -> Result<Option<ShardFilter>> {
        let sql = "select chunk, bits from grams where shard = $1 order by block, chunk".to_owned();
        let rows: Vec<(i32, Vec<u8>)> = self.fetch(Ask::new(sql).bind(shard.id.0)).await?;
        let blocks = rows.iter().filter(|(chunk, _)| *chunk == ALL_OTHERS).count() as i32;
        let whole = blocks * BLOCK_CHUNKS >= shard.summarised && shard.summarised > 0;
        Ok(whole.then(|| ShardFilter::new(rows)))
    }
}

#[cfg(test)]
mod tests {
    use query::{Case, LiteralQuery, Pattern, ngram_query};

    use super::*;

    fn ngrams(pattern: &str) -> NgramQuery {
        let pattern = Pattern::parse(pattern, Case::Smart, false).unwrap();
        ngram_query(&LiteralQuery::of(&pattern), &pattern)
    }

    /// A shard with a block for each text, and of the last one a large and a dense chunk besides.
    fn shard(texts: &[&str]) -> Arc<ShardFilter> {
        let row = |chunk, set: BloomFilter| (chunk, set.to_bytes());
        let set = |mut set: BloomFilter, text: &str| {
            set.add(text);
            set
        };
        let mut rows: Vec<_> = texts
            .iter()
            .map(|text| row(ALL_OTHERS, set(BloomFilter::new(FilterKind::Block), text)))
            .collect();
        let last = (texts.len() as i32 - 1) * BLOCK_CHUNKS;
        let filling = format!("{} ", texts.join(" ")).repeat(80_000);
        for (n, name) in [(1, "large_one"), (5, "large_other")] {
            let text = format!("{name} {}", &filling[..n as usize * 30_000]);
            rows.push(row(last + n, set(BloomFilter::for_text(text.len()), &text)));
        }
        rows.push(row(last + 7, set(BloomFilter::new(FilterKind::Dense), "dense_one")));
        Arc::new(ShardFilter::new(rows))
    }

    #[test]
    fn a_shard_tells_the_same_in_every_overview() {
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
        let together = ShardFilter::together(&alone);
        let other_way: Vec<_> = [&together[2], &alone[0]].map(Arc::clone).into();
        let other_way = ShardFilter::together(&other_way);
        let all = [(0, &together[0]), (1, &together[1]), (2, &together[2])];
        for (of, shard) in all.into_iter().chain([(2, &other_way[0]), (0, &other_way[1])]) {
            let alone = &alone[of];
            for pattern in [
                "first",
                "words",
                "(?i)SECOND WORDS",
                "third_thing",
                "large_one",
                "large_other",
                "dense_one",
                "dense_one|some text",
                "nowhere_at_all",
                "of",
                ".",
            ] {
                let ngrams = ngrams(pattern);
                let (a, b) = (alone.passing(&ngrams, &alone.look(&ngrams)), shard.look(&ngrams));
                assert_eq!(shard.blocks(&b), alone.blocks(&alone.look(&ngrams)), "{pattern}");
                let b = shard.passing(&ngrams, &b);
                assert_eq!(a.blocks, b.blocks, "{pattern}");
                let without =
                    |of: &ShardFilter, what| of.without(what, 0..i32::MAX).collect::<Vec<_>>();
                assert_eq!(without(alone, &a), without(shard, &b), "{pattern}");
                assert_eq!(shard.may_hold(&ngrams), !a.blocks.is_empty(), "{pattern}");
            }
        }
        let found = |shard: &ShardFilter, pattern: &str| {
            let ngrams = ngrams(pattern);
            let passing = shard.passing(&ngrams, &shard.look(&ngrams));
            let without: Vec<i32> = shard.without(&passing, 0..i32::MAX).collect();
            (passing.blocks.iter().collect::<Vec<_>>(), without)
        };
        assert_eq!(found(&together[0], "first words"), (vec![0, 1], vec![519]));
        assert_eq!(found(&together[1], "large_one"), (vec![0], vec![7, 5]));
        assert_eq!(found(&together[1], "dense_one"), (vec![0], vec![1, 5]));
        assert_eq!(found(&together[2], "large_other").0, [9]);
        assert!(found(&together[2], "nowhere_at_all").0.is_empty());
    }
}
