//! Derives the documents, the filters and the words of a shard from its stored chunks.

use std::ops::Range;

use futures_util::TryStreamExt;
use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, FilterKind};
use query::Lexemes;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use words::SegmentBuilder;

use super::copy::{self, Rows, SEND_BYTES};
use super::index;
use super::session::Session;
use crate::error::Result;
use crate::filters::{self, NewFilters, StoredFilters, Tail};
use crate::store::Store;
use crate::tables::{self, Groups};
use crate::word_index::{WordField, definitions, write};
use crate::{BlobId, ShardId, docs};

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
    /// Whether all docs of these chunks are.
    docs_indexed: bool,
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
            "select shard from shards where chunks > filtered or chunks > worded or not defined or not docs_indexed
             order by shard",
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
            sqlx::query("select each_table($1, 'truncate %s')")
                .bind(table.name)
                .execute(&mut *tx)
                .await?;
        }
        sqlx::query(
            "update shards set worded = 0, words_dead = 0, defined = symbols_upto = 0, docs_indexed = false",
        )
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
        if of.worded < of.filtered || !of.defined || !of.docs_indexed {
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
        let sql =
            "select chunks, filtered, worded, defined, docs_indexed from shards where shard = $1";
        Ok(sqlx::query_as(sql).bind(shard.0).fetch_one(self.control()).await?)
    }

    /// Derives the words that an index of an earlier version lacks: of chunks that have filters, of all symbols, and of docs.
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
        store_words(&mut tx, groups, shard, words, of.worded..of.filtered.max(of.worded)).await?;
        if !of.docs_indexed {
            docs::index_anew(&mut tx, groups, shard, of.filtered.max(of.worded)).await?;
        }
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
            write::delete(&mut tx, groups, shard, WordField::Docs, None).await?;
        }
        let (tail, others) = filters::take_tail(&mut tx, groups, shard, filtered).await?;
        let tail = tail.unwrap_or_else(|| Tail::at(others));
        let mut words = SegmentBuilder::new();
        let mut is_done = false;
        if others > 0 && tail.reaches(upto) {
            let mut longer = tx.begin().await?;
            is_done =
                lengthen(&mut longer, &mut reader, (shard, groups), of, tail, &mut words).await?;
            if is_done {
                longer.commit().await?;
            } else {
                longer.rollback().await?;
            }
        }
        if !is_done {
            words = SegmentBuilder::new();
            let stored = filters::take(&mut tx, groups, shard, others).await?;
            let stored = stored.map(|filters| (filters, others));
            remake(&mut tx, &mut reader, (shard, groups), of, stored, &mut words).await?;
        }
        if worded < upto {
            store_words(&mut tx, groups, shard, words, worded..upto).await?;
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

/// Stores the words of more chunks and of the docs of their blobs, and records that all before them are in the word index,
/// too.
async fn store_words(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    words: SegmentBuilder,
    chunks: Range<i32>,
) -> Result<()> {
    if let Some(segment) = words.finish() {
        write::insert(conn, groups, shard, WordField::Body, &segment).await?;
    }
    docs::index(conn, groups, shard, chunks.clone()).await?;
    sqlx::query("update shards set worded = $2 where shard = $1")
        .bind(shard.0)
        .bind(chunks.end)
        .execute(conn)
        .await?;
    Ok(())
}

/// The documents of consecutive chunks, under construction.
struct Documents {
    shard: ShardId,
    lexemes: Lexemes,
    /// The first chunk of the current one.
    first: Option<i32>,
    rows: Rows,
}

impl Documents {
    fn of(shard: ShardId) -> Self {
        Self { shard, lexemes: Lexemes::default(), first: None, rows: Rows::new() }
    }

    /// Adds a chunk. If it `ends` a block, the document ends with it.
    fn add(&mut self, n: i32, text: &str, ends: bool) {
        self.lexemes.add(text);
        let first = *self.first.get_or_insert(n);
        if ends || self.lexemes.bytes() >= DOCUMENT_BYTES {
            self.rows.row(4).i16(self.shard.0).i32(first).i32(n + 1);
            self.rows.bytes(self.lexemes.text().as_bytes());
            self.lexemes.clear();
            self.first = None;
        }
    }

    /// Stores those that are complete.
    async fn store(&mut self, conn: &mut PgConnection) -> Result<()> {
        let statement = format!(
            "copy {} (shard, first, upto, lexemes) from stdin (format binary)",
            self.shard.documents()
        );
        copy::send(conn, &statement, std::mem::take(&mut self.rows)).await
    }
}

/// Returns the statement for the chunks of a shard between two numbers: their numbers, blobs and texts.
fn texts_sql(shard: ShardId) -> String {
    format!(
        "select n, blob, contents from {} where shard = {} and n >= $1 and n < $2 order by n",
        shard.chunks(),
        shard.0
    )
}

type Text = (i32, i32, String);

/// Adds missing chunks to documents, to words, and to the tail, whose block they do not leave. Returns false if filters
/// are missing.
async fn lengthen(
    conn: &mut PgConnection,
    reader: &mut PgConnection,
    (shard, groups): (ShardId, Groups),
    of: DerivedUpto,
    mut tail: Tail,
    words: &mut SegmentBuilder,
) -> Result<bool> {
    let DerivedUpto { chunks: upto, filtered, worded, .. } = of;
    let texts: Vec<Text> = sqlx::query_as(AssertSqlSafe(texts_sql(shard)))
        .bind(filtered)
        .bind(upto)
        .fetch_all(reader)
        .await?;
    let (mut documents, mut starts) = (Documents::of(shard), Vec::new());
    for (at, (n, blob, text)) in texts.iter().enumerate() {
        documents.add(*n, text, at + 1 == texts.len());
        tail.add(*n, text);
        if *n >= worded {
            words.add_chunk(*n, text, n == blob);
        }
        starts.extend((n == blob).then_some(BlobId(*blob)));
    }
    documents.store(conn).await?;
    filters::store_tail(conn, groups, shard, (filtered, upto), &tail, &starts).await
}

/// Adds missing chunks to documents, words and filters. `stored` are the filters that there are, with the number of their
/// chunks; `None` to make all of them, if some are missing.
async fn remake(
    conn: &mut PgConnection,
    reader: &mut PgConnection,
    (shard, groups): (ShardId, Groups),
    of: DerivedUpto,
    stored: Option<(StoredFilters, i32)>,
    words: &mut SegmentBuilder,
) -> Result<()> {
    let DerivedUpto { chunks: upto, filtered, worded, .. } = of;
    // Incomplete filters are rebuilt from the first chunk on.
    let (mut filters, from) = stored.unwrap_or_else(|| (StoredFilters::none(), 0));
    let mut texts = sqlx::query_as::<_, Text>(AssertSqlSafe(texts_sql(shard)))
        .bind(from)
        .bind(upto)
        .fetch(reader);
    let mut next = texts.try_next().await?;
    let (mut documents, mut hashes) = (Documents::of(shard), Vec::new());
    let first_block = from / BLOCK_CHUNKS;
    let mut new = NewFilters {
        first_block: first_block as usize,
        chunks: (first_block as usize, Vec::new()),
        ..NewFilters::default()
    };
    for block in first_block..(upto + BLOCK_CHUNKS - 1) / BLOCK_CHUNKS {
        let mut filter = BloomFilter::new(FilterKind::Block);
        let mut chunks = Vec::with_capacity(BLOCK_CHUNKS as usize);
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
            documents.add(n, &text, next.as_ref().is_none_or(|(n, ..)| *n / BLOCK_CHUNKS != block));
            if documents.rows.len() > SEND_BYTES {
                documents.store(conn).await?;
            }
        }
        new.blocks.push(filter);
        chunks.resize(BLOCK_CHUNKS as usize, BloomFilter::new(FilterKind::Chunk));
        new.chunks.1.push(BitSlices::new(FilterKind::Chunk, &chunks));
        filters::store_pieces(conn, groups, shard, &mut filters, &mut new, false).await?;
    }
    drop(texts);
    documents.store(conn).await?;
    filters::store(conn, groups, shard, upto, filters, new).await
}
