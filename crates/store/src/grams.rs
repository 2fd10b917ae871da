//! What is made of the texts of a shard for searching: the words of its stretches of chunks, which the trigram
//! index is over, and its summary, which n-grams its blocks of chunks hold.

use std::ops::Range;

use futures_util::TryStreamExt;
use query::{GramSet, Grams, Kind, Parts, Probe, Words};
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
        let (mut words, mut hashes) = (Words::default(), Vec::new());
        for block in from / BLOCK_CHUNKS..(upto + BLOCK_CHUNKS - 1) / BLOCK_CHUNKS {
            let mut sets = vec![(ALL_OTHERS, GramSet::new(Kind::Block))];
            let mut stretches = Rows::new();
            let mut first = None;
            while let Some((n, text)) = next.take_if(|(n, _)| *n / BLOCK_CHUNKS == block) {
                if text.len() > LARGE_CHUNK_BYTES {
                    let mut set = GramSet::for_text(text.len());
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

/// The summary of a shard.
#[derive(Debug)]
pub struct ShardGrams {
    blocks: Grams,
    /// The sets of dense chunks, and their numbers, ascending.
    dense: Grams,
    dense_chunks: Vec<i32>,
    /// The sets of large chunks, by their numbers, ascending.
    large: Vec<(i32, GramSet)>,
}

impl ShardGrams {
    fn new(rows: Vec<(i32, Vec<u8>)>) -> Self {
        let (mut blocks, mut dense, mut dense_chunks) = (Vec::new(), Vec::new(), Vec::new());
        let mut large = Vec::new();
        for (chunk, bits) in rows {
            let set = GramSet::from_bytes(&bits);
            if chunk == ALL_OTHERS {
                blocks.push(set);
            } else if set.kind() == Kind::Dense {
                dense_chunks.push(chunk);
                dense.push(set);
            } else {
                large.push((chunk, set));
            }
        }
        let (blocks, dense) = (Grams::new(Kind::Block, &blocks), Grams::new(Kind::Dense, &dense));
        Self { blocks, dense, dense_chunks, large }
    }

    /// The blocks that may hold what is asked for, and some more, but for the chunks with sets of their own.
    pub fn about(&self, probe: &Probe) -> Parts {
        self.blocks.parts_about(probe)
    }

    /// What may hold what is asked for, all of it in one. `about` is what [`about`](Self::about) gave for it, if that
    /// was asked.
    pub fn passing(&self, probe: &Probe, about: Option<&Parts>) -> Passing {
        let dense = self.dense.parts(probe);
        let mut blocks = match about {
            Some(about) => self.blocks.parts_of(probe, about.clone()),
            None => self.blocks.parts(probe),
        };
        for at in dense.iter() {
            blocks.add((self.dense_chunks[at] / BLOCK_CHUNKS) as usize);
        }
        for (n, set) in &self.large {
            let block = (n / BLOCK_CHUNKS) as usize;
            if !blocks.contains(block) && set.may_hold(probe) {
                blocks.add(block);
            }
        }
        Passing { blocks, dense }
    }

    /// The chunks with sets of their own and with these numbers that do not hold what was asked for.
    pub fn without<'a>(
        &'a self,
        probe: &'a Probe,
        passing: &'a Passing,
        chunks: Range<i32>,
    ) -> impl Iterator<Item = i32> + 'a {
        let Self { dense_chunks, large, .. } = self;
        let place = |n| dense_chunks.partition_point(|chunk| *chunk < n);
        let dense = place(chunks.start)..place(chunks.end);
        let dense = dense.filter(|at| !passing.dense.contains(*at)).map(|at| dense_chunks[at]);
        let place = |n| large.partition_point(|(chunk, _)| *chunk < n);
        let large = &large[place(chunks.start)..place(chunks.end)];
        let large = large.iter().filter(|(_, set)| !set.may_hold(probe)).map(|(n, _)| *n);
        dense.chain(large)
    }

    /// Whether the shard may hold what is asked for, each literal of it in some block.
    pub fn may_hold(&self, probe: &Probe) -> bool {
        match probe {
            Probe::Anything => true,
            Probe::Hashes(_) => !self.passing(probe, None).blocks.is_empty(),
            Probe::All(all) => all.iter().all(|one| self.may_hold(one)),
            Probe::Any(any) => any.iter().any(|one| self.may_hold(one)),
        }
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.blocks.memory()
            + self.dense.memory()
            + self.large.iter().map(|(_, set)| set.memory()).sum::<usize>()
    }
}

/// What of a shard may hold something.
#[derive(Clone, Debug)]
pub struct Passing {
    /// The blocks.
    pub blocks: Parts,
    /// The dense chunks, by their places.
    dense: Parts,
}

impl Passing {
    /// What may hold this or that.
    pub fn or(&mut self, other: &Passing) {
        self.blocks.or(&other.blocks);
        self.dense.or(&other.dense);
    }
}

impl Lease {
    /// The summary of a shard, if it is as far as the shard is said to be.
    pub async fn grams(&mut self, shard: &Shard) -> Result<Option<ShardGrams>> {
        let sql = "select chunk, bits from grams where shard = $1 order by block, chunk".to_owned();
        let rows: Vec<(i32, Vec<u8>)> = self.fetch(Ask::new(sql).bind(shard.id.0)).await?;
        let blocks = rows.iter().filter(|(chunk, _)| *chunk == ALL_OTHERS).count() as i32;
        let whole = blocks * BLOCK_CHUNKS >= shard.summarised && shard.summarised > 0;
        Ok(whole.then(|| ShardGrams::new(rows)))
    }
}
