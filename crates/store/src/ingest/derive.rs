//! Derives the documents, the filters and the words of a shard from its stored chunks.

use futures_util::TryStreamExt;
use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, FilterKind};
use query::Lexemes;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use words::SegmentBuilder;

use super::copy::{self, Rows, SEND_BYTES};
use super::index;
use super::session::Session;
use crate::error::Result;
use crate::filters::{self, NewFilters, StoredFilters};
use crate::store::Store;
use crate::tables::{self, Groups};
use crate::word_index::{WordField, definitions, write};
use crate::{BlobId, ShardId};

/// Bytes of text after which a document ends, with a whole chunk. Larger documents make a smaller index that is built
/// faster (a quarter of the time of an index over the texts of single chunks, and a third of its size), but name more
/// chunks in vain.
const DOCUMENT_BYTES: usize = 48 << 10;

/// Bytes of a chunk above which it has a filter of its own, like dense chunks. Such chunks are long lines, and would
/// fill the filter of their block.
const LARGE_CHUNK_BYTES: usize = 8192;

/// Maximum number of shards whose documents and filters are derived at once, each on two connections.
pub const MAX_DERIVERS: usize = 8;

/// How far the derived data of a shard go.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
struct DerivedUpto {
    /// The next free chunk number.
    chunks: i32,
    /// All chunks with smaller numbers are in documents and filters.
    filtered: i32,
    /// All chunks with smaller numbers are in the word index.
    worded: i32,
    /// Whether the names of all symbols are.
    defined: bool,
}

impl Session {
    /// Returns the shards with chunks that are not yet in their documents, filters and words, from this ingest or an earlier
    /// one, or an earlier version.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn underived(&mut self) -> Result<Vec<ShardId>> {
        self.renew_words().await?;
        let shards: Vec<i16> = sqlx::query_scalar(
            "select shard from shards where chunks > filtered or chunks > worded or not defined order by shard",
        )
        .fetch_all(&mut self.conn)
        .await?;
        Ok(shards.into_iter().map(ShardId).collect())
    }

    /// Deletes the word index if a program wrote it that cuts texts otherwise. What is deleted is behind: see
    /// [`underived`](Self::underived).
    async fn renew_words(&mut self) -> Result<()> {
        let format: i32 =
            sqlx::query_scalar("select words_format from state").fetch_one(&mut self.conn).await?;
        if format == words::FORMAT {
            return Ok(());
        }
        let mut tx = self.conn.begin().await?;
        for table in [tables::WORDS, tables::WORD_SEGMENTS] {
            let sql = format!("truncate {}", table.name);
            sqlx::query(AssertSqlSafe(sql)).execute(&mut *tx).await?;
        }
        sqlx::query("update shards set worded = 0, words_dead = 0, defined = symbols_upto = 0")
            .execute(&mut *tx)
            .await?;
        sqlx::query("update state set words_format = $1")
            .bind(words::FORMAT)
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }
}

impl Store {
    /// Adds the missing chunks of a shard to its documents, filters and words.
    ///
    /// This must precede the publishing of files that refer to those chunks. It reads the stored chunks, not those
    /// being stored now, so it includes chunks that a killed ingest left.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement; then the shard is unchanged.
    pub async fn derive(&self, shard: ShardId) -> Result<()> {
        let of = self.chunks_of(shard).await?;
        // An earlier version stored them, or a killed ingest.
        if of.worded < of.filtered || !of.defined {
            self.derive_words(shard, of).await?;
        }
        let worded = of.worded.max(of.filtered);
        if of.filtered < of.chunks || worded < of.chunks {
            self.derive_upto(shard, DerivedUpto { worded, ..of }, false).await?;
        }
        Ok(())
    }

    /// Rebuilds the documents, the filters and the trigram index of a shard. No search may use the shard meanwhile.
    ///
    /// # Errors
    /// Those of [`derive`](Self::derive); then derived data may be missing.
    pub(crate) async fn convert(&self, shard: ShardId, memory_kb: u64) -> Result<()> {
        let mut conn = self.helper().await?;
        index::drop(&mut conn, shard).await?;
        conn.execute(AssertSqlSafe(format!("truncate {}", shard.documents()))).await?;
        filters::delete(&mut conn, self.groups(), shard).await?;
        conn.close().await?;
        let of = self.chunks_of(shard).await?;
        // The next ingest makes missing words.
        let of = DerivedUpto { chunks: of.filtered, filtered: 0, worded: i32::MAX, ..of };
        self.derive_upto(shard, of, false).await?;
        self.build_index(shard, memory_kb).await
    }

    /// Rebuilds the documents, the filters and the trigram index of a shard. Searches see the old documents and filters
    /// until the new ones are committed.
    ///
    /// # Errors
    /// Those of [`derive`](Self::derive).
    pub(crate) async fn derive_anew(&self, shard: ShardId) -> Result<()> {
        let of = self.chunks_of(shard).await?;
        self.derive_upto(shard, DerivedUpto { filtered: 0, worded: 0, ..of }, true).await?;
        let sql = format!("reindex table {}", shard.documents());
        self.helper().await?.execute(AssertSqlSafe(sql)).await?;
        Ok(())
    }

    /// Returns how far the derived data of a shard go.
    async fn chunks_of(&self, shard: ShardId) -> Result<DerivedUpto> {
        let sql = "select chunks, filtered, worded, defined from shards where shard = $1";
        Ok(sqlx::query_as(sql).bind(shard.0).fetch_one(self.control()).await?)
    }

    /// Derives the words that an index of an earlier version lacks: of chunks that have filters, and of all symbols.
    async fn derive_words(&self, shard: ShardId, of: DerivedUpto) -> Result<()> {
        let groups = self.groups();
        let mut reader = self.helper().await?;
        let mut conn = self.helper().await?;
        let mut tx = conn.begin().await?;
        let mut words = SegmentBuilder::new();
        let sql = format!(
            "select n, blob, contents from {} where shard = {} and n >= $1 and n < $2 order by n",
            shard.chunks(),
            shard.0
        );
        let mut texts = sqlx::query_as::<_, (i32, i32, String)>(AssertSqlSafe(sql))
            .bind(of.worded)
            .bind(of.filtered)
            .fetch(&mut reader);
        while let Some((n, blob, text)) = texts.try_next().await? {
            words.add_chunk(n, &text, n == blob);
        }
        drop(texts);
        store_words(&mut tx, groups, shard, words, of.filtered).await?;
        if !of.defined {
            definitions::derive((&mut tx, &mut reader), groups, shard).await?;
        }
        tx.commit().await?;
        self.give_back(conn).await?;
        self.give_back(reader).await
    }

    /// Derives missing data of a shard. With `anew`, first deletes all derived data.
    async fn derive_upto(&self, shard: ShardId, of: DerivedUpto, anew: bool) -> Result<()> {
        let DerivedUpto { chunks: upto, filtered, worded, .. } = of;
        let groups = self.groups();
        let mut reader = self.helper().await?;
        let mut conn = self.helper().await?;
        let mut tx = conn.begin().await?;
        if anew {
            tx.execute(AssertSqlSafe(format!("delete from {}", shard.documents()))).await?;
            filters::delete(&mut tx, groups, shard).await?;
            write::delete(&mut tx, groups, shard, WordField::Body, None).await?;
        }
        let mut words = SegmentBuilder::new();
        // Incomplete filters are rebuilt from the first chunk on.
        let filters = filters::take(&mut tx, groups, shard, filtered).await?;
        let from = filters.as_ref().map_or(0, |_| filtered);
        let mut filters = filters.unwrap_or_else(StoredFilters::none);
        let statement = format!(
            "copy {} (shard, first, upto, lexemes) from stdin (format binary)",
            shard.documents()
        );
        let sql = format!(
            "select n, blob, contents from {} where shard = {} and n >= $1 and n < $2 order by n",
            shard.chunks(),
            shard.0
        );
        let mut texts = sqlx::query_as::<_, (i32, i32, String)>(AssertSqlSafe(sql))
            .bind(from)
            .bind(upto)
            .fetch(&mut reader);
        let mut next = texts.try_next().await?;
        let (mut lexemes, mut hashes) = (Lexemes::default(), Vec::new());
        let first_block = from / BLOCK_CHUNKS;
        let mut new = NewFilters {
            first_block: first_block as usize,
            chunks: (first_block as usize, Vec::new()),
            ..NewFilters::default()
        };
        for block in first_block..(upto + BLOCK_CHUNKS - 1) / BLOCK_CHUNKS {
            let mut filter = BloomFilter::new(FilterKind::Block);
            let mut chunks = Vec::with_capacity(BLOCK_CHUNKS as usize);
            let mut documents = Rows::new();
            let mut first = None;
            while let Some((n, blob, text)) = next.take_if(|(n, ..)| *n / BLOCK_CHUNKS == block) {
                // Numbers without a chunk get empty filters.
                let place = (n % BLOCK_CHUNKS) as usize;
                chunks.resize(place, BloomFilter::new(FilterKind::Chunk));
                chunks.push(BloomFilter::of_chunk(&text));
                if n == blob {
                    new.starts.push(BlobId(blob));
                }
                if text.len() > LARGE_CHUNK_BYTES {
                    let mut own = BloomFilter::for_text(text.len());
                    own.add(&text);
                    new.large.push((n, own));
                } else if let Some(own) = filter.add_chunk(&text, &mut hashes) {
                    new.dense.push((n, own));
                }
                if n >= worded {
                    words.add_chunk(n, &text, n == blob);
                }
                next = texts.try_next().await?;
                if n < filtered {
                    continue;
                }
                lexemes.add(&text);
                let start = *first.get_or_insert(n);
                let ends = next.as_ref().is_none_or(|(n, ..)| *n / BLOCK_CHUNKS != block);
                if ends || lexemes.bytes() >= DOCUMENT_BYTES {
                    documents.row(4).i16(shard.0).i32(start).i32(n + 1);
                    documents.bytes(lexemes.text().as_bytes());
                    lexemes.clear();
                    first = None;
                    if documents.len() > SEND_BYTES {
                        copy::send(&mut tx, &statement, std::mem::take(&mut documents)).await?;
                    }
                }
            }
            copy::send(&mut tx, &statement, documents).await?;
            new.blocks.push(filter);
            chunks.resize(BLOCK_CHUNKS as usize, BloomFilter::new(FilterKind::Chunk));
            new.chunks.1.push(BitSlices::new(FilterKind::Chunk, &chunks));
            filters::store_pieces(&mut tx, groups, shard, &mut filters, &mut new, false).await?;
        }
        drop(texts);
        filters::store(&mut tx, groups, shard, upto, filters, new).await?;
        if worded < upto {
            store_words(&mut tx, groups, shard, words, upto).await?;
        }
        sqlx::query("update shards set filtered = $2 where shard = $1")
            .bind(shard.0)
            .bind(upto)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        self.give_back(conn).await?;
        self.give_back(reader).await
    }
}

/// Stores the words of more chunks, and records that all chunks before `upto` are in the word index.
async fn store_words(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    words: SegmentBuilder,
    upto: i32,
) -> Result<()> {
    if let Some(segment) = words.finish() {
        write::insert(conn, groups, shard, WordField::Body, &segment).await?;
    }
    sqlx::query("update shards set worded = $2 where shard = $1")
        .bind(shard.0)
        .bind(upto)
        .execute(conn)
        .await?;
    Ok(())
}
