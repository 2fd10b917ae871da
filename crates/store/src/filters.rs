//! What is made of the texts of a shard for searching: the words of its stretches of chunks, which the trigram
//! index is over, and its summary, which n-grams its blocks of chunks hold.

use futures_util::TryStreamExt;
use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, FilterKind, ShardFilter};
use query::Lexemes;
use sqlx::{AssertSqlSafe, Connection};

use crate::ShardId;
use crate::catalog::Shard;
use crate::connect::Store;
use crate::copy::{self, Rows, SEND_BYTES};
use crate::error::Result;
use crate::lease::{Ask, Lease};
use crate::writer::Writer;

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
                    stretches.bool(words.has_non_ascii_fold()).bytes(words.text().as_bytes());
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

impl Lease {
    /// The filters of a shard, if they are as far as the shard is said to be.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn filters(&mut self, shard: &Shard) -> Result<Option<ShardFilter>> {
        let sql = "select chunk, bits from grams where shard = $1 order by block, chunk".to_owned();
        let rows: Vec<(i32, Vec<u8>)> = self.fetch(Ask::new(sql).bind(shard.id.0)).await?;
        let blocks = rows.iter().filter(|(chunk, _)| *chunk == ALL_OTHERS).count() as i32;
        let whole = blocks * BLOCK_CHUNKS >= shard.filtered && shard.filtered > 0;
        Ok(whole.then(|| {
            let (mut blocks, mut dense, mut large) =
                (Vec::new(), (Vec::new(), Vec::new()), Vec::new());
            for (chunk, bits) in rows {
                let filter = BloomFilter::from_bytes(&bits);
                if chunk == ALL_OTHERS {
                    blocks.push(filter);
                } else if filter.kind() == FilterKind::Dense {
                    dense.0.push(filter);
                    dense.1.push(chunk);
                } else {
                    large.push((chunk, filter));
                }
            }
            let dense = (BitSlices::new(FilterKind::Dense, &dense.0), dense.1);
            ShardFilter::new(BitSlices::new(FilterKind::Block, &blocks), dense, large)
        }))
    }
}
