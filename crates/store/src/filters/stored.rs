//! The stored filters of a shard: adds to them, and rebuilds those of an older format.

use std::cmp::Ordering;

use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, Columns, Densities, FilterKind};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use super::{
    BLOCKS, BitRow, DENSE, DENSE_NUMBERS, DENSITIES, FORMAT, LARGE, LARGE_NUMBERS, LARGE_SLICES,
    OWN_CHUNKS, PIECE_BLOCKS, PIECE_CHUNKS, Row, SLICE_BITS, STARTS, bit_rows, block_count,
    chunks_sql, numbers, piece_bits,
};
use crate::error::{Error, Result};
use crate::ingest::copy::{self, Rows};
use crate::store::Store;
use crate::tables::Groups;
use crate::{BlobId, ShardId};

/// The condition on the rows of `filters` that [`StoredFilters`] holds.
const OF_SHARD: &str = "kind in (0, 1, 2, 5)";

/// The stored filters of a shard, taken out to add to them.
#[derive(Debug)]
pub(crate) struct StoredFilters {
    pub(super) blocks: BitSlices,
    pub(super) dense: BitSlices,
    large: BitSlices,
    /// The numbers of the dense and of the large chunks, ascending.
    pub(super) dense_chunks: Vec<i32>,
    large_chunks: Vec<i32>,
    /// The chunks that begin a blob.
    starts: Columns,
    /// The filters of the chunks of the last piece, if it is not full.
    piece: Option<BitSlices>,
    densities: Option<Densities>,
    /// Whether the rows of blocks, dense and large chunks are in the table.
    is_stored: bool,
}

/// The chunk filters to add to a shard.
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
    /// A block's number, and the filters of the chunks from that block on that are not stored yet.
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
            is_stored: false,
        }
    }

    /// Restores the filters of `chunks` chunks from rows in order, and from the rows of chunks: those of a whole shard,
    /// and with `piece` those of its last piece. Returns `None` if rows are missing.
    fn of(
        rows: Vec<Row>,
        of_shard: Vec<BitRow>,
        piece: Option<&[BitRow]>,
        chunks: i32,
    ) -> Option<Self> {
        let (mut blocks, mut dense, mut large) = (Vec::new(), Vec::new(), Vec::new());
        let mut stored = Self::none();
        for (bit, bits) in of_shard {
            match bit {
                STARTS => stored.starts = Columns::from(bits),
                _ => stored.densities = Some(Densities::from_bytes(bits)),
            }
        }
        for (kind, number, bits) in rows {
            match kind {
                BLOCKS => blocks.extend(bits),
                DENSE => dense.extend(bits),
                LARGE_SLICES => large.extend(bits),
                OWN_CHUNKS if number == DENSE_NUMBERS => stored.dense_chunks = numbers(&bits),
                _ => stored.large_chunks = numbers(&bits),
            }
        }
        stored.is_stored = true;
        if chunks == 0 || stored.starts.bytes().len() < (chunks as usize).div_ceil(8) {
            return None;
        }
        stored.blocks = BitSlices::from_rows(FilterKind::Block, block_count(chunks), blocks)?;
        let (dense_count, large_count) = (stored.dense_chunks.len(), stored.large_chunks.len());
        stored.dense = BitSlices::from_rows(FilterKind::Dense, dense_count, dense)?;
        stored.large = BitSlices::from_rows(FilterKind::Block, large_count, large)?;
        if let (Some(piece), rest @ 1..) = (piece, chunks % PIECE_CHUNKS) {
            stored.piece = Some(piece_of(piece, rest as usize)?);
        }
        Some(stored)
    }

    /// Returns whether the filter that covers a chunk holds all n-grams of its text: its own if it is dense or large,
    /// else that of its block. The chunk filter is checked elsewhere.
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

    /// Returns whether a chunk is marked as the first of a blob.
    pub(crate) fn is_blob_start(&self, n: i32) -> bool {
        self.starts.bytes().get(n as usize / 8).is_some_and(|byte| byte >> (n % 8) & 1 == 1)
    }

    /// Adds the filters of more chunks, and returns the rows of large chunks among them.
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

    /// Returns the kinds whose rows will be others with more filters: large chunks are rare, and dense ones few.
    fn changing(&self, new: &NewFilters) -> Vec<i16> {
        let is_changing = |new: &[(i32, BloomFilter)]| !self.is_stored || !new.is_empty();
        let mut kinds = vec![BLOCKS, OWN_CHUNKS];
        kinds.extend(is_changing(&new.dense).then_some(DENSE));
        kinds.extend(is_changing(&new.large).then_some(LARGE_SLICES));
        kinds
    }

    /// Adds the rows of some kinds, for a shard with `chunks` chunks.
    fn add_rows(&mut self, shard: ShardId, chunks: i32, of: &[i16], rows: &mut Rows) {
        self.starts.grow(chunks as usize);
        let kinds = [(BLOCKS, &self.blocks), (DENSE, &self.dense), (LARGE_SLICES, &self.large)];
        for (kind, slices) in kinds.into_iter().filter(|(kind, _)| of.contains(kind)) {
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
    }

    /// Returns the rows of the chunk filters that cover the whole shard.
    fn rows_of_shard(&self, shard: ShardId) -> Rows {
        let mut rows = Rows::new();
        rows.row(4).i16(STARTS).i16(shard.0).i16(0).bits(self.starts.bytes());
        if let Some(densities) = &self.densities {
            rows.row(4).i16(DENSITIES).i16(shard.0).i16(0).bits(densities.bytes());
        }
        rows
    }

    /// Joins the filters of chunks of some blocks, all of one piece, with the stored filters of that piece.
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
    /// Takes the blocks that complete a piece; at the `end`, the remaining blocks.
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

/// Makes the filters of the `chunks` chunks of a piece from its rows; `None` if a row is too short.
fn piece_of(rows: &[BitRow], chunks: usize) -> Option<BitSlices> {
    let width = chunks.div_ceil(8);
    let mut all = vec![0; width * FilterKind::Chunk.bits()];
    for (bit, stored) in rows {
        let at = *bit as usize * width;
        all[at..at + width].copy_from_slice(stored.get(..width)?);
    }
    BitSlices::from_rows(FilterKind::Chunk, chunks, all)
}

/// Takes the chunk filters of the last piece of a shard with `filtered` chunks out of the tables, and reads its other
/// bit-sliced filters, to add to them. If some are missing, deletes all and returns `None`.
pub(crate) async fn take(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    filtered: i32,
) -> Result<Option<StoredFilters>> {
    let sql = format!(
        "select kind, number, bits from {} where shard = {} and {OF_SHARD}",
        shard.filters(groups),
        shard.0
    );
    let mut rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?;
    rows.sort_unstable_by_key(|(kind, number, _)| (*kind, *number));
    let taking = format!(
        "delete from {} where bit = any($1) and shard = {} and piece >= $2 returning bit, bits",
        shard.chunk_filters(groups),
        shard.0
    );
    let of_shard = sqlx::query(AssertSqlSafe(taking.clone())).bind(vec![STARTS, DENSITIES]);
    let of_shard = bit_rows(&of_shard.bind(0).fetch_all(&mut *conn).await?)?;
    let last_piece = sqlx::query(AssertSqlSafe(taking)).bind(piece_bits());
    let last_piece = last_piece.bind(filtered / PIECE_CHUNKS).fetch_all(&mut *conn).await?;
    let last_piece = bit_rows(&last_piece)?;
    let stored = StoredFilters::of(rows, of_shard, Some(&last_piece), filtered);
    if stored.is_none() {
        delete(conn, groups, shard).await?;
    }
    Ok(stored)
}

/// Deletes the filters of a shard.
pub(crate) async fn delete(conn: &mut PgConnection, groups: Groups, shard: ShardId) -> Result<()> {
    let sql = format!("delete from {} where shard = {}", shard.filters(groups), shard.0);
    conn.execute(AssertSqlSafe(sql)).await?;
    let sql = format!(
        "delete from {} where bit = any($1) and shard = {}",
        shard.chunk_filters(groups),
        shard.0
    );
    let bits: Vec<i16> = [STARTS, DENSITIES].into_iter().chain(piece_bits()).collect();
    sqlx::query(AssertSqlSafe(sql)).bind(bits).execute(conn).await?;
    Ok(())
}

/// Reads the filters of `filtered` chunks of a shard, except the chunk filters; `None` if some are missing.
pub(crate) async fn read(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    filtered: i32,
) -> Result<Option<StoredFilters>> {
    let sql = format!(
        "select kind, number, bits from {} where shard = {} and {OF_SHARD} order by kind, number",
        shard.filters(groups),
        shard.0
    );
    let rows = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?;
    let sql = format!(
        "select bit, bits from {} where bit = any($1) and shard = {}",
        shard.chunk_filters(groups),
        shard.0
    );
    let of_shard = sqlx::query(AssertSqlSafe(sql)).bind(vec![STARTS, DENSITIES]);
    let of_shard = bit_rows(&of_shard.fetch_all(conn).await?)?;
    Ok(StoredFilters::of(rows, of_shard, None, filtered))
}

/// Reads the filters of the chunks of a piece; `None` if a row is too short.
pub(crate) async fn read_piece(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    piece: i32,
    filtered: i32,
) -> Result<Option<BitSlices>> {
    let sql = format!(
        "select bit, bits from {} where bit = any($1) and shard = {} and piece = $2",
        shard.chunk_filters(groups),
        shard.0
    );
    let rows = sqlx::query(AssertSqlSafe(sql)).bind(piece_bits()).bind(piece).fetch_all(conn);
    let rows = bit_rows(&rows.await?)?;
    let chunks = (filtered - piece * PIECE_CHUNKS).min(PIECE_CHUNKS);
    Ok(piece_of(&rows, chunks as usize))
}

/// Stores the chunk filters of full pieces; at the `end`, also of the last one.
pub(crate) async fn store_pieces(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    filters: &mut StoredFilters,
    new: &mut NewFilters,
    end: bool,
) -> Result<()> {
    while let Some((first_block, blocks)) = new.full_piece(end) {
        let piece = filters.piece(first_block, &blocks);
        // Densities of the first piece: the others are like it, and the last may be small.
        if first_block < PIECE_BLOCKS {
            filters.densities = Some(piece.densities());
        }
        let number = (first_block / PIECE_BLOCKS) as i16;
        let mut rows = Rows::new();
        for (bit, row) in (0..).zip(piece.rows().chunks_exact(piece.width().max(1))) {
            if row.iter().any(|byte| *byte != 0) {
                rows.row(4).i16(bit).i16(shard.0).i16(number).bits(row);
            }
        }
        copy::send(conn, &chunks_sql(groups, shard), rows).await?;
    }
    Ok(())
}

/// Stores the filters of a shard with `chunks` chunks: those taken out, and those of more chunks.
pub(crate) async fn store(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    chunks: i32,
    mut filters: StoredFilters,
    mut new: NewFilters,
) -> Result<()> {
    store_pieces(conn, groups, shard, &mut filters, &mut new, true).await?;
    let kinds = filters.changing(&new);
    if filters.is_stored {
        let sql = format!(
            "delete from {} where shard = {} and kind = any($1)",
            shard.filters(groups),
            shard.0
        );
        sqlx::query(AssertSqlSafe(sql)).bind(&kinds).execute(&mut *conn).await?;
    }
    let mut rows = filters.add(shard, new);
    filters.add_rows(shard, chunks, &kinds, &mut rows);
    let sql = format!(
        "copy {} (shard, kind, number, bits) from stdin (format binary)",
        shard.filters(groups)
    );
    copy::send(conn, &sql, rows).await?;
    copy::send(conn, &chunks_sql(groups, shard), filters.rows_of_shard(shard)).await
}

/// Returns the format of an index's filters, see [`FORMAT`], and its groups.
///
/// # Errors
/// The server cannot be reached or refuses the statement.
pub(crate) async fn format(conn: &mut PgConnection) -> Result<(i32, Groups)> {
    let sql = "select filters_format, group_shards, groups from state";
    let (format, size, count) = sqlx::query_as(sql).fetch_one(conn).await?;
    Ok((format, Groups::of_columns((size, count))))
}

impl Store {
    /// Rebuilds the documents and filters of all shards if their `format` is older than this program's. No other
    /// program may be connected.
    ///
    /// # Errors
    /// A newer program made them. The server cannot be reached, its disk is full, or it refuses a statement; finished
    /// shards stay converted.
    pub(crate) async fn convert_derived(&self, conn: &mut PgConnection, format: i32) -> Result<()> {
        match format.cmp(&FORMAT) {
            Ordering::Less => {}
            Ordering::Equal => return Ok(()),
            Ordering::Greater => {
                return Err(Error::Unsuitable(
                    "a newer version of codesearch made the index's filters; use that version"
                        .to_owned(),
                ));
            }
        }
        let shards: Vec<i16> =
            sqlx::query_scalar("select shard from shards where filtered > 0 order by shard")
                .fetch_all(&mut *conn)
                .await?;
        if !shards.is_empty() {
            tracing::info!(
                "the index is from an earlier version: derived data is rebuilt, which takes about as long as an ingest"
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
