//! The stored filters of a shard: adding to them, and remaking those of an older format.

use std::cmp::Ordering;

use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, Columns, Densities, FilterKind};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use super::{
    BLOCKS, CHUNKS, DENSE, DENSE_NUMBERS, DENSITIES, FORMAT, LARGE, LARGE_NUMBERS, LARGE_SLICES,
    OWN_CHUNKS, PIECE_BLOCKS, PIECE_CHUNKS, PIECE_ROWS, Row, SLICE_BITS, STARTS, block_count,
    numbers,
};
use crate::error::{Error, Result};
use crate::ingest::copy::{self, Rows};
use crate::store::Store;
use crate::{BlobId, ShardId};

/// The stored filters of a shard, taken out to be added to.
#[derive(Debug)]
pub(crate) struct StoredFilters {
    pub(super) blocks: BitSlices,
    pub(super) dense: BitSlices,
    large: BitSlices,
    /// The numbers of the dense and of the large chunks, ascending.
    pub(super) dense_chunks: Vec<i32>,
    large_chunks: Vec<i32>,
    /// The chunks with which a blob begins.
    starts: Columns,
    /// The filters of the chunks of the last piece, if it is not full.
    piece: Option<BitSlices>,
    densities: Option<Densities>,
}

/// The filters of chunks that are to be added to a shard.
#[derive(Debug, Default)]
pub(crate) struct NewFilters {
    /// The block of the first chunk.
    pub(crate) first_block: usize,
    /// The filters of that block and of the following ones.
    pub(crate) blocks: Vec<BloomFilter>,
    /// The dense and the large chunks, each with its filter.
    pub(crate) dense: Vec<(i32, BloomFilter)>,
    pub(crate) large: Vec<(i32, BloomFilter)>,
    /// The blobs that begin among the chunks.
    pub(crate) starts: Vec<BlobId>,
    /// A block's number, and the filters of the chunks of that block and the following ones, as far
    /// as not stored yet.
    pub(crate) chunks: (usize, Vec<BitSlices>),
}

impl StoredFilters {
    /// Makes the filters of no chunks.
    pub(crate) fn none() -> Self {
        let empty = |kind| BitSlices::new(kind, &[]);
        Self {
            blocks: empty(FilterKind::Block),
            dense: empty(FilterKind::Dense),
            large: empty(FilterKind::Block),
            dense_chunks: Vec::new(),
            large_chunks: Vec::new(),
            starts: Columns::first(0),
            piece: None,
            densities: None,
        }
    }

    /// Restores the filters of `chunks` chunks from rows in order. Returns `None` if rows are
    /// missing.
    fn of(rows: Vec<Row>, chunks: i32) -> Option<Self> {
        let (mut blocks, mut dense, mut large) = (Vec::new(), Vec::new(), Vec::new());
        let mut stored = Self::none();
        let mut piece = PieceRows::default();
        for (kind, number, bits) in rows {
            match kind {
                BLOCKS => blocks.extend(bits),
                DENSE => dense.extend(bits),
                LARGE_SLICES => large.extend(bits),
                OWN_CHUNKS if number == DENSE_NUMBERS => stored.dense_chunks = numbers(&bits),
                OWN_CHUNKS => stored.large_chunks = numbers(&bits),
                _ if number == STARTS => stored.starts = Columns::from(bits),
                _ if number == DENSITIES => stored.densities = Some(Densities::from_bytes(bits)),
                _ => piece.0.push((number % PIECE_ROWS, bits)),
            }
        }
        if chunks == 0 || stored.starts.bytes().len() < (chunks as usize).div_ceil(8) {
            return None;
        }
        stored.blocks = BitSlices::from_rows(FilterKind::Block, block_count(chunks), blocks)?;
        let (dense_count, large_count) = (stored.dense_chunks.len(), stored.large_chunks.len());
        stored.dense = BitSlices::from_rows(FilterKind::Dense, dense_count, dense)?;
        stored.large = BitSlices::from_rows(FilterKind::Block, large_count, large)?;
        let rest = chunks % PIECE_CHUNKS;
        if rest > 0 {
            stored.piece = Some(piece.slices(rest as usize)?);
        }
        Some(stored)
    }

    /// Returns whether the filter that covers a chunk holds all n-grams of its text: its own if it
    /// is dense or large, else that of its block. The chunk filter is checked elsewhere.
    pub(crate) fn hold(&self, n: i32, text: &str) -> bool {
        let of = |mut filter: BloomFilter| {
            filter.add(text);
            filter
        };
        let place = |chunks: &[i32]| chunks.iter().position(|chunk| *chunk == n);
        if let Some(at) = place(&self.large_chunks) {
            self.large.holds(at, &of(BloomFilter::for_text(text.len())))
        } else if let Some(at) = place(&self.dense_chunks) {
            self.dense.holds(at, &of(BloomFilter::new(FilterKind::Dense)))
        } else {
            self.blocks.holds((n / BLOCK_CHUNKS) as usize, &of(BloomFilter::new(FilterKind::Block)))
        }
    }

    /// Returns whether a blob is marked as beginning with a chunk.
    pub(crate) fn is_blob_start(&self, n: i32) -> bool {
        self.starts.bytes().get(n as usize / 8).is_some_and(|byte| byte >> (n % 8) & 1 == 1)
    }

    /// Adds the filters of more chunks, and returns the rows of the large ones among them.
    pub(super) fn add(&mut self, shard: ShardId, new: NewFilters) -> Rows {
        self.blocks.add(new.first_block, &new.blocks);
        let mut rows = Rows::new();
        for (n, filter) in &new.large {
            rows.row(4).i16(shard.0).i16(LARGE).i32(*n).bytes(&filter.to_bytes());
        }
        let own = [
            (new.dense, &mut self.dense, &mut self.dense_chunks),
            (new.large, &mut self.large, &mut self.large_chunks),
        ];
        for (new, slices, chunks) in own {
            let (numbers, filters): (Vec<i32>, Vec<BloomFilter>) = new.into_iter().unzip();
            slices.add(chunks.len(), &filters);
            chunks.extend(numbers);
        }
        if let Some(last) = new.starts.last() {
            self.starts.grow(last.0 as usize + 1);
        }
        new.starts.iter().for_each(|blob| self.starts.add(blob.0 as usize));
        rows
    }

    /// Adds all rows but those of the filters of chunks, for a shard with `chunks` chunks.
    fn add_rows(&mut self, shard: ShardId, chunks: i32, rows: &mut Rows) {
        self.starts.grow(chunks as usize);
        let kinds = [(BLOCKS, &self.blocks), (DENSE, &self.dense), (LARGE_SLICES, &self.large)];
        for (kind, slices) in kinds {
            let slice_bytes = (SLICE_BITS * slices.width()).max(1);
            for (number, slice) in (0..).zip(slices.rows().chunks(slice_bytes)) {
                rows.row(4).i16(shard.0).i16(kind).i32(number).bytes(slice);
            }
        }
        let own = [(DENSE_NUMBERS, &self.dense_chunks), (LARGE_NUMBERS, &self.large_chunks)];
        for (number, chunks) in own {
            let numbers: Vec<u8> = chunks.iter().flat_map(|n| n.to_be_bytes()).collect();
            rows.row(4).i16(shard.0).i16(OWN_CHUNKS).i32(number).bytes(&numbers);
        }
        rows.row(4).i16(shard.0).i16(CHUNKS).i32(STARTS).bytes(self.starts.bytes());
        if let Some(densities) = &self.densities {
            rows.row(4).i16(shard.0).i16(CHUNKS).i32(DENSITIES).bytes(densities.bytes());
        }
    }

    /// Joins the filters of chunks of some blocks, all of one piece, with those of that piece that
    /// were stored.
    fn piece(&mut self, first_block: usize, blocks: &[BitSlices]) -> BitSlices {
        let before = first_block % PIECE_BLOCKS * BLOCK_CHUNKS as usize / 8;
        let blank = vec![0; before * FilterKind::Chunk.bits()];
        let blank = BitSlices::from_rows(FilterKind::Chunk, before * 8, blank);
        let blank = blank.expect("the rows have that many bytes");
        let all = std::iter::once(&blank).chain(blocks);
        let all: Vec<_> = all.map(|slices| (slices, 0..slices.width())).collect();
        let mut piece = BitSlices::concat(FilterKind::Chunk, &all);
        if let Some(stored) = self.piece.take() {
            piece.or(&stored);
        }
        piece
    }
}

impl NewFilters {
    /// Takes the blocks that complete a piece; at the `end`, those that are left.
    fn full_piece(&mut self, end: bool) -> Option<(usize, Vec<BitSlices>)> {
        let (first, blocks) = &mut self.chunks;
        let count = PIECE_BLOCKS - *first % PIECE_BLOCKS;
        let count = if blocks.len() >= count { count } else { blocks.len() };
        if count == 0 || !end && (*first + count) % PIECE_BLOCKS > 0 {
            return None;
        }
        let piece = (*first, blocks.drain(..count).collect());
        *first += count;
        Some(piece)
    }
}

/// Rows of a piece: the bit and its row, ascending.
#[derive(Debug, Default)]
struct PieceRows(Vec<(i32, Vec<u8>)>);

impl PieceRows {
    /// Returns the filters of `chunks` chunks; `None` if a row is too short.
    fn slices(&self, chunks: usize) -> Option<BitSlices> {
        let width = chunks.div_ceil(8);
        let mut rows = vec![0; width * FilterKind::Chunk.bits()];
        for (bit, stored) in &self.0 {
            let at = *bit as usize * width;
            rows[at..at + width].copy_from_slice(stored.get(..width)?);
        }
        BitSlices::from_rows(FilterKind::Chunk, chunks, rows)
    }
}

/// Takes the bit-sliced filters of `filtered` chunks of a shard out of the table, to be added to.
/// If some are missing, deletes all and returns `None`.
pub(crate) async fn take(
    conn: &mut PgConnection,
    shard: ShardId,
    filtered: i32,
) -> Result<Option<StoredFilters>> {
    let sql = format!(
        "delete from {} where shard = {} and (kind not in ({LARGE}, {CHUNKS})
             or kind = {CHUNKS} and (number < 0 or number >= $1)) returning kind, number, bits",
        shard.filters(),
        shard.0
    );
    let last_piece = filtered / PIECE_CHUNKS * PIECE_ROWS;
    let taken = sqlx::query_as(AssertSqlSafe(sql)).bind(last_piece);
    let mut rows: Vec<Row> = taken.fetch_all(&mut *conn).await?;
    rows.sort_unstable_by_key(|(kind, number, _)| (*kind, *number));
    let stored = StoredFilters::of(rows, filtered);
    if stored.is_none() {
        conn.execute(AssertSqlSafe(format!("delete from {}", shard.filters()))).await?;
    }
    Ok(stored)
}

/// Reads the filters of `filtered` chunks of a shard, except the filters of chunks; `None` if some
/// are missing.
pub(crate) async fn read(
    conn: &mut PgConnection,
    shard: ShardId,
    filtered: i32,
) -> Result<Option<StoredFilters>> {
    let sql = format!(
        "select kind, number, bits from {} where shard = {} and (kind not in ({LARGE}, {CHUNKS})
             or kind = {CHUNKS} and number = {STARTS}) order by kind, number",
        shard.filters(),
        shard.0
    );
    let rows = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(conn).await?;
    Ok(StoredFilters::of(rows, filtered))
}

/// Reads the filters of the chunks of a piece; `None` if a row is too short.
pub(crate) async fn read_piece(
    conn: &mut PgConnection,
    shard: ShardId,
    piece: i32,
    filtered: i32,
) -> Result<Option<BitSlices>> {
    let sql = format!(
        "select number, bits from {} where shard = {} and kind = {CHUNKS} and number >= $1 and number < $2",
        shard.filters(),
        shard.0
    );
    let rows: Vec<(i32, Vec<u8>)> = sqlx::query_as(AssertSqlSafe(sql))
        .bind(piece * PIECE_ROWS)
        .bind((piece + 1) * PIECE_ROWS)
        .fetch_all(conn)
        .await?;
    let rows = rows.into_iter().map(|(number, bits)| (number % PIECE_ROWS, bits)).collect();
    let chunks = (filtered - piece * PIECE_CHUNKS).min(PIECE_CHUNKS);
    Ok(PieceRows(rows).slices(chunks as usize))
}

/// Stores the filters of the chunks of full pieces; at the `end`, also those of the last one.
pub(crate) async fn store_pieces(
    conn: &mut PgConnection,
    shard: ShardId,
    filters: &mut StoredFilters,
    new: &mut NewFilters,
    end: bool,
) -> Result<()> {
    while let Some((first_block, blocks)) = new.full_piece(end) {
        let piece = filters.piece(first_block, &blocks);
        // Of the first piece: the others are like it, and the last may be small.
        if first_block < PIECE_BLOCKS {
            filters.densities = Some(piece.densities());
        }
        let first = (first_block / PIECE_BLOCKS) as i32 * PIECE_ROWS;
        let mut rows = Rows::new();
        for (number, row) in (first..).zip(piece.rows().chunks_exact(piece.width().max(1))) {
            if row.iter().any(|byte| *byte != 0) {
                rows.row(4).i16(shard.0).i16(CHUNKS).i32(number).bytes(row);
            }
        }
        copy::send(conn, &copy_sql(shard), rows).await?;
    }
    Ok(())
}

/// Stores the filters of a shard with `chunks` chunks: those that were taken out, and those of more
/// chunks.
pub(crate) async fn store(
    conn: &mut PgConnection,
    shard: ShardId,
    chunks: i32,
    mut filters: StoredFilters,
    mut new: NewFilters,
) -> Result<()> {
    store_pieces(conn, shard, &mut filters, &mut new, true).await?;
    let mut rows = filters.add(shard, new);
    filters.add_rows(shard, chunks, &mut rows);
    copy::send(conn, &copy_sql(shard), rows).await
}

fn copy_sql(shard: ShardId) -> String {
    format!("copy {} (shard, kind, number, bits) from stdin (format binary)", shard.filters())
}

/// Returns the format of an index's filters: see [`FORMAT`].
///
/// # Errors
/// The server cannot be reached or refuses the statement.
pub(crate) async fn format(conn: &mut PgConnection) -> Result<i32> {
    Ok(sqlx::query_scalar("select filters_format from state").fetch_one(conn).await?)
}

impl Store {
    /// Remakes the documents and filters of all shards if their format is older than this program's. No other program is
    /// connected.
    ///
    /// # Errors
    /// A newer program made them. The server cannot be reached, its disk is full, or it refuses a
    /// statement; shards that are done stay done.
    pub(crate) async fn convert_derived(&self, conn: &mut PgConnection) -> Result<()> {
        match format(conn).await?.cmp(&FORMAT) {
            Ordering::Less => {}
            Ordering::Equal => return Ok(()),
            Ordering::Greater => {
                return Err(Error::Unsuitable(
                    "the filters of the index were made by a newer version of codesearch: use that one".to_owned(),
                ));
            }
        }
        let shards: Vec<i16> =
            sqlx::query_scalar("select shard from shards where filtered > 0 order by shard")
                .fetch_all(&mut *conn)
                .await?;
        if !shards.is_empty() {
            tracing::info!(
                "the index is of an earlier version: what is derived of its texts is rebuilt, which takes about as long as \
                 ingesting them"
            );
        }
        let memory_kb = self.index_memory_kb(1).await?;
        for shard in shards {
            self.convert(ShardId(shard), memory_kb).await?;
        }
        sqlx::query("update state set filters_format = $1").bind(FORMAT).execute(conn).await?;
        Ok(())
    }
}
