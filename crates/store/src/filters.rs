//! The filters of a shard: reading them, adding to them, and making those of an older index anew.
//!
//! How they are stored: the filters of blocks and of dense and large chunks are bit-sliced, in rows of [`SLICE_BITS`] bits;
//! those of chunks have a row for each bit and [`PIECE_CHUNKS`] chunks. So a server's memory takes them as they are, and a
//! search without memory reads just the bits it asks for.

use std::collections::HashMap;

use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, Columns, FilterKind, NgramQuery, ShardFilter};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use crate::catalog::Shard;
use crate::error::Result;
use crate::ingest::copy::{self, Rows};
use crate::lease::{Ask, Lease};
use crate::store::Store;
use crate::{BlobId, ShardId};

/// The form in which filters are stored: it changes with what they hold and how. `state.filters_format` has that of an
/// index.
const FORMAT: i32 = 1;

/// Bits of all filters of a kind in one row.
const SLICE_BITS: usize = 128;

/// Chunks in a row of their filters: with more, an ingest that adds a few would write more anew (4 MB), and with fewer a
/// search would ask for more rows.
const PIECE_CHUNKS: i32 = 8192;

const PIECE_BLOCKS: usize = (PIECE_CHUNKS / BLOCK_CHUNKS) as usize;

/// Rows of a piece.
const PIECE_ROWS: i32 = FilterKind::Chunk.bits() as i32;

/// The values of `filters.kind`.
const BLOCKS: i16 = 0;
const DENSE: i16 = 1;
const OWN_CHUNKS: i16 = 2;
const LARGE: i16 = 3;
const CHUNKS: i16 = 4;
const LARGE_SLICES: i16 = 5;

/// The values of `filters.number` of [`OWN_CHUNKS`].
const DENSE_NUMBERS: i32 = 0;
const LARGE_NUMBERS: i32 = 1;

/// That of the row of [`CHUNKS`] that says with which of them a blob begins.
const STARTS: i32 = -1;

/// A statement of [`Lease::filter_rows`] names at most so many shards for each one that is asked for.
const MAX_NAMED: usize = 4;

/// Hashes that a search without memory asks a filter for, for one literal, at most: a third of the bits of a filter are set,
/// so that more would rule out hardly anything more.
const MAX_HASHES: usize = 12;

/// Hashes that it asks for in all, about.
const ALL_HASHES: usize = 96;

/// The filters of a shard as they are stored, to be added to.
#[derive(Debug)]
pub(crate) struct StoredFilters {
    blocks: BitSlices,
    dense: BitSlices,
    large: BitSlices,
    /// The numbers of the dense and of the large chunks.
    dense_chunks: Vec<i32>,
    large_chunks: Vec<i32>,
    /// The chunks with which a blob begins.
    starts: Columns,
    /// The filters of the chunks of the piece that was not full.
    piece: Option<BitSlices>,
}

/// The filters of chunks that are to be added to those of a shard.
#[derive(Debug, Default)]
pub(crate) struct NewFilters {
    /// The block of the first chunk.
    pub(crate) first_block: usize,
    /// The filters of that block and of those after it.
    pub(crate) blocks: Vec<BloomFilter>,
    /// The dense chunks, and the large ones, each with its filter.
    pub(crate) dense: Vec<(i32, BloomFilter)>,
    pub(crate) large: Vec<(i32, BloomFilter)>,
    /// The blobs.
    pub(crate) starts: Vec<BlobId>,
    /// Those of the chunks of blocks that are not stored yet, from a block on.
    pub(crate) chunks: (usize, Vec<BitSlices>),
}

type Row = (i16, i32, Vec<u8>);

impl StoredFilters {
    /// Filters of no chunks.
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
        }
    }

    /// Puts rows together, which are in order: those of so many chunks. None if they are not all there.
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

    /// Adds the filters of more chunks, and gives the rows of the large ones among them.
    fn add(&mut self, shard: ShardId, new: NewFilters) -> Rows {
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

    /// Adds the rows of all but the filters of chunks, of a shard with so many chunks.
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
    }

    /// The filters of a block and of those after it, all of one piece, with those of that piece that were stored.
    fn piece(&mut self, first_block: usize, blocks: &[BitSlices]) -> BitSlices {
        let before = first_block % PIECE_BLOCKS * BLOCK_CHUNKS as usize / 8;
        let blank = vec![0; before * FilterKind::Chunk.bits()];
        let blank = BitSlices::from_rows(FilterKind::Chunk, before * 8, blank);
        let blank = blank.expect("the rows have that many bytes");
        let all = std::iter::once(&blank).chain(blocks);
        let all: Vec<_> = all.map(|slices| (slices, 0..slices.width())).collect();
        let mut piece = BitSlices::beside(FilterKind::Chunk, &all);
        if let Some(stored) = self.piece.take() {
            piece.or(&stored);
        }
        piece
    }
}

impl NewFilters {
    /// The blocks whose chunks' filters fill a piece; at the `end`, those that are left.
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

/// Rows of a piece: their bits, ascending.
#[derive(Debug, Default)]
struct PieceRows(Vec<(i32, Vec<u8>)>);

impl PieceRows {
    /// The filters of so many chunks; none if a row is too short.
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

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks().0.iter().map(|n| i32::from_be_bytes(*n)).collect()
}

fn block_count(chunks: i32) -> usize {
    (chunks as usize).div_ceil(BLOCK_CHUNKS as usize)
}

/// The filters of the chunks of a shard, the rows of some bits of them.
#[derive(Debug)]
pub struct ChunkRows {
    filters: BitSlices,
    starts: Columns,
}

impl ChunkRows {
    /// Puts rows together: those of so many chunks; none if they are not all there.
    fn of(rows: Vec<(i32, Vec<u8>)>, chunks: i32, bits: Vec<usize>) -> Option<Self> {
        let mut filters = BitSlices::with_bits(FilterKind::Chunk, bits, chunks as usize);
        let mut starts = None;
        for (number, row) in rows {
            if number == STARTS {
                starts = Some(Columns::from(row));
            } else {
                let first = (number / PIECE_ROWS * PIECE_CHUNKS / 8) as usize;
                filters.set((number % PIECE_ROWS) as usize, first, &row);
            }
        }
        // They may be of a later state of the index, with more chunks.
        let starts = starts.filter(|starts| starts.bytes().len() >= filters.width())?;
        Some(Self { filters, starts })
    }

    /// The chunks that may hold what a query asks for, by their numbers.
    pub fn surviving(&self, ngrams: &NgramQuery) -> Columns {
        self.filters.columns(ngrams)
    }

    /// Some chunks, ascending, each with its blob. A chunk that is of no blob any longer counts as the blob's before it.
    pub fn with_blobs(&self, chunks: &Columns) -> Vec<(i32, BlobId)> {
        let mut starts = self.starts.iter().peekable();
        let mut blob = 0;
        let with_blob = |n: usize| {
            while let Some(start) = starts.next_if(|start| *start <= n) {
                blob = start as i32;
            }
            (n as i32, BlobId(blob))
        };
        chunks.iter().map(with_blob).collect()
    }
}

/// The n-grams that a search without memory asks for in a shard, of those of some lookups.
pub fn sample(ngrams: &[&NgramQuery]) -> NgramQuery {
    let literals: usize = ngrams.iter().map(|ngrams| ngrams.literals()).sum();
    let most = (ALL_HASHES / literals.max(1)).clamp(2, MAX_HASHES);
    NgramQuery::any(ngrams.iter().map(|ngrams| ngrams.sample(most)).collect())
}

impl Lease {
    /// The rows of the filters of the chunks of a shard that some n-grams ask for; none if its filters are not as far as
    /// the shard is said to be.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn chunk_rows(
        &mut self,
        shard: &Shard,
        ngrams: &NgramQuery,
    ) -> Result<Option<ChunkRows>> {
        let bits = ngrams.bits(FilterKind::Chunk);
        let pieces = 0..(shard.filtered + PIECE_CHUNKS - 1) / PIECE_CHUNKS;
        let mut numbers = vec![STARTS];
        for piece in pieces {
            numbers.extend(bits.iter().map(|bit| piece * PIECE_ROWS + *bit as i32));
        }
        let sql = format!(
            "select number, bits from {} where shard = {} and kind = {CHUNKS} and number = any($1)",
            shard.id.filters(),
            shard.id.0
        );
        let rows = self.fetch(Ask::new(sql).bind(numbers)).await?;
        Ok(ChunkRows::of(rows, shard.filtered, bits))
    }
}

impl Lease {
    /// The filters of blocks, dense and large chunks of a shard, if they are as far as the shard is said to be.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn filters(&mut self, shard: &Shard) -> Result<Option<ShardFilter>> {
        let sql = format!(
            "select kind, number, bits from {} where shard = {} and kind <= {LARGE} order by kind, number",
            shard.id.filters(),
            shard.id.0
        );
        let (mut blocks, mut dense) = (Vec::new(), Vec::new());
        let (mut dense_chunks, mut large) = (Vec::new(), Vec::new());
        for (kind, number, bits) in self.fetch::<Row>(Ask::new(sql)).await? {
            match kind {
                BLOCKS => blocks.extend(bits),
                DENSE => dense.extend(bits),
                OWN_CHUNKS if number == DENSE_NUMBERS => dense_chunks = numbers(&bits),
                OWN_CHUNKS => {}
                _ => large.push((number, BloomFilter::from_bytes(&bits))),
            }
        }
        let count = block_count(shard.filtered);
        let blocks = BitSlices::from_rows(FilterKind::Block, count, blocks).filter(|_| count > 0);
        let dense = BitSlices::from_rows(FilterKind::Dense, dense_chunks.len(), dense);
        let both = blocks.zip(dense);
        Ok(both.map(|(blocks, dense)| ShardFilter::new(blocks, (dense, dense_chunks), large)))
    }

    /// Of the filters of some shards the rows that some n-grams ask for: they let more through that asks for other
    /// n-grams, too. A shard whose filters are not as far as it is said to be is not in the answer.
    ///
    /// Shards that lie close together are asked in one statement. So that there are few different statements, each of
    /// which every connection has to prepare, a statement names all shards of one of the halves, quarters and so on of
    /// the index, and those that are not asked for are not looked at.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn filter_rows(
        &mut self,
        shards: &[&Shard],
        ngrams: &NgramQuery,
    ) -> Result<HashMap<ShardId, ShardFilter>> {
        let mut asked: Vec<i16> = shards.iter().map(|shard| shard.id.0).collect();
        asked.sort_unstable();
        asked.dedup();
        if asked.is_empty() {
            return Ok(HashMap::new());
        }
        let (mut kinds, mut bits) = (vec![OWN_CHUNKS; 2], vec![0, SLICE_BITS as i32]);
        for (kind, of) in [
            (BLOCKS, FilterKind::Block),
            (LARGE_SLICES, FilterKind::Block),
            (DENSE, FilterKind::Dense),
        ] {
            bits.extend(ngrams.bits(of).into_iter().map(|bit| bit as i32));
            kinds.resize(bits.len(), kind);
        }
        let count = self.shard_count().await?;
        let mut rows: HashMap<ShardId, Vec<Row>> = HashMap::new();
        for group in groups(&asked, count) {
            let ask = Ask::new(rows_sql(group));
            let ask = ask.bind(asked.clone()).bind(kinds.clone()).bind(bits.clone());
            for (shard, kind, bit, row) in self.fetch::<(i16, i16, i32, Vec<u8>)>(ask).await? {
                rows.entry(ShardId(shard)).or_default().push((kind, bit, row));
            }
        }
        let filter = |shard: &&Shard| {
            Some((shard.id, some_rows(rows.remove(&shard.id)?, shard.filtered, ngrams)?))
        };
        Ok(shards.iter().filter_map(filter).collect())
    }
}

/// The filters of a shard with so many chunks, of which some rows are here; none if rows of its blocks are missing.
fn some_rows(rows: Vec<Row>, filtered: i32, ngrams: &NgramQuery) -> Option<ShardFilter> {
    let (mut dense, mut large) = (None, None);
    for (kind, bit, row) in &rows {
        match (*kind, *bit) {
            (OWN_CHUNKS, 0) => dense = Some(numbers(row)),
            (OWN_CHUNKS, _) => large = Some(numbers(row)),
            _ => {}
        }
    }
    // They may be of a later state of the index, with more chunks.
    let of_now =
        |numbers: Vec<i32>| -> Vec<i32> { numbers.into_iter().filter(|n| *n < filtered).collect() };
    let (dense, large, count) = (of_now(dense?), of_now(large?), block_count(filtered));
    let none = |kind, columns| BitSlices::with_bits(kind, ngrams.bits(kind), columns);
    let mut blocks = none(FilterKind::Block, count);
    let mut of_dense = none(FilterKind::Dense, dense.len());
    let mut of_large = none(FilterKind::Block, large.len());
    let mut found = 0;
    for (kind, bit, row) in rows {
        let bit = bit as usize;
        match kind {
            BLOCKS => {
                found += usize::from(row.len() >= count.div_ceil(8));
                blocks.set(bit, 0, &row);
            }
            DENSE => of_dense.set(bit, 0, &row),
            LARGE_SLICES => of_large.set(bit, 0, &row),
            _ => {}
        }
    }
    let whole = count > 0 && found == ngrams.bits(FilterKind::Block).len();
    whole.then(|| ShardFilter::of_rows(blocks, (of_dense, dense), (of_large, large)))
}

/// Ranges of shards that together have all that are asked for: each a half, a quarter and so on of the index that has
/// enough of them.
fn groups(asked: &[i16], count: i16) -> Vec<std::ops::Range<i16>> {
    fn split(
        range: std::ops::Range<i16>,
        asked: &[i16],
        count: i16,
        groups: &mut Vec<std::ops::Range<i16>>,
    ) {
        let here = &asked[asked.partition_point(|shard| *shard < range.start)
            ..asked.partition_point(|shard| *shard < range.end)];
        let named = (range.end.min(count) - range.start).max(0) as usize;
        match here {
            [] => {}
            [one] => groups.push(*one..one + 1),
            some if named <= some.len() * MAX_NAMED => {
                groups.push(range.start..range.end.min(count));
            }
            _ => {
                let middle = range.start + (range.end - range.start) / 2;
                split(range.start..middle, asked, count, groups);
                split(middle..range.end, asked, count, groups);
            }
        }
    }
    let mut groups = Vec::new();
    let whole = (count.max(1) as u16).next_power_of_two().min(1 << 14) as i16;
    split(0..whole, asked, count, &mut groups);
    groups
}

/// The statement for the shards of a range: `$1` are those that are asked for, `$2` and `$3` the kinds and bits.
fn rows_sql(range: std::ops::Range<i16>) -> String {
    let shard = |n: i16| {
        format!(
            "select {n}::smallint, asked.kind, bit, case asked.kind when {OWN_CHUNKS} then bits else
                 substring(bits from bit % {SLICE_BITS} * (octet_length(bits) / {SLICE_BITS}) + 1
                           for octet_length(bits) / {SLICE_BITS}) end
             from unnest($2::smallint[], $3::int[]) asked (kind, bit) cross join lateral (
                 select bits from {}
                 where shard = {n} and kind = asked.kind and number = bit / {SLICE_BITS} offset 0) found
             where {n} = any($1::smallint[])",
            ShardId(n).filters()
        )
    };
    range.map(shard).collect::<Vec<_>>().join(" union all ")
}

/// The bit-sliced filters of so many chunks of a shard, which are taken out to be added to; none if they are not all
/// there.
pub(crate) async fn take(
    conn: &mut PgConnection,
    shard: ShardId,
    filtered: i32,
) -> Result<Option<StoredFilters>> {
    let sql = format!(
        "delete from {} where shard = {} and (kind not in ({LARGE}, {CHUNKS}) or kind = {CHUNKS} and number >= $1)
         returning kind, number, bits",
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

/// Stores the filters of the chunks of full pieces, or at the `end` of all that are left.
pub(crate) async fn store_pieces(
    conn: &mut PgConnection,
    shard: ShardId,
    filters: &mut StoredFilters,
    new: &mut NewFilters,
    end: bool,
) -> Result<()> {
    while let Some((first_block, blocks)) = new.full_piece(end) {
        let piece = filters.piece(first_block, &blocks);
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

/// Stores the filters of a shard with so many chunks: those that were taken out, with the filters of more chunks.
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

impl Store {
    /// Makes the filters of all shards anew if they are of another form than this program's.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement; what is done stays done.
    pub(crate) async fn convert_filters(&self, conn: &mut PgConnection) -> Result<()> {
        let format: i32 =
            sqlx::query_scalar("select filters_format from state").fetch_one(&mut *conn).await?;
        if format >= FORMAT {
            return Ok(());
        }
        let shards: Vec<i16> =
            sqlx::query_scalar("select shard from shards where filtered > 0 order by shard")
                .fetch_all(&mut *conn)
                .await?;
        if !shards.is_empty() {
            tracing::info!(
                "the index is of an earlier version: its filters are made anew, which takes about as long as reading its \
                 texts once"
            );
        }
        for shard in shards {
            self.derive_again(ShardId(shard)).await?;
        }
        sqlx::query("update state set filters_format = $1").bind(FORMAT).execute(conn).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_index;

    #[test]
    fn few_statements_name_few_shards_in_vain() {
        let groups = |asked: &[i16], count| {
            let all: Vec<String> =
                groups(asked, count).iter().map(|group| format!("{group:?}")).collect();
            all.join(" ")
        };
        assert_eq!(groups(&[0], 1), "0..1");
        assert_eq!(groups(&[7], 200), "7..8");
        assert_eq!(groups(&[0, 199], 200), "0..1 199..200");
        assert_eq!(groups(&(0..30).collect::<Vec<_>>(), 200), "0..64");
        assert_eq!(groups(&(0..200).collect::<Vec<_>>(), 200), "0..200");
        assert_eq!(groups(&[1, 2, 3, 100, 101], 200), "0..8 96..104");
    }

    #[test]
    fn rows_of_several_shards_are_those_of_their_filters() {
        on_index(9, async |store| {
            // Two shards with a chunk each, and two without.
            let mut session = crate::testing::session(store).await;
            let mut live = Vec::new();
            for (shard, text) in [(1, "some words"), (6, "and others")] {
                let chunks = vec![crate::ChunkRow { line: 1, start: 0, end: text.len() }];
                let contents = crate::Contents {
                    oid: [shard as u8; 20],
                    id: crate::BlobId(0),
                    text: text.to_owned(),
                    lines: 1,
                    chunks,
                    doc: None,
                };
                let mut loader = store.loader().await.unwrap();
                loader.store(ShardId(shard), &[contents]).await.unwrap();
                store.derive(ShardId(shard)).await.unwrap();
                live.push((ShardId(shard), text));
            }
            assert!(session.underived().await.unwrap().is_empty());
            session.close().await.unwrap();
            let shard = |id: i16, filtered| Shard {
                id: ShardId(id),
                bytes: 0,
                since: crate::Epoch(1),
                chunks: filtered,
                changed: crate::Epoch(1),
                filtered,
                languages: [].into(),
            };
            let (one, six, empty, further) =
                (shard(1, 1), shard(6, 1), shard(2, 1), shard(6, 9000));
            let mut lease = store.lease().await.unwrap();
            let both =
                NgramQuery::any(vec![NgramQuery::folded("words"), NgramQuery::folded("others")]);
            let rows = lease.filter_rows(&[&six, &empty, &one], &both).await.unwrap();
            assert_eq!(rows.len(), 2);
            for (id, text) in live {
                for word in ["words", "others"] {
                    let found = rows[&id].may_hold(&NgramQuery::folded(word));
                    assert_eq!(found, text.contains(word), "{word} in {text}");
                }
            }
            // As the filters of the shard are not so far, it is not in the answer.
            assert!(lease.filter_rows(&[&further], &both).await.unwrap().is_empty());
            assert!(lease.chunk_rows(&further, &both).await.unwrap().is_none());
            assert!(lease.filters(&further).await.unwrap().is_none());
            assert_eq!(lease.filters(&one).await.unwrap().unwrap().width(), 1);
            lease.done();
        });
    }

    fn filter(kind: FilterKind, text: &str) -> BloomFilter {
        let mut filter = BloomFilter::new(kind);
        filter.add(text);
        filter
    }

    fn new(first_block: usize, texts: &[&str], dense: &[(i32, &str)]) -> NewFilters {
        NewFilters {
            first_block,
            blocks: texts.iter().map(|text| filter(FilterKind::Block, text)).collect(),
            dense: dense.iter().map(|(n, text)| (*n, filter(FilterKind::Dense, text))).collect(),
            ..NewFilters::default()
        }
    }

    #[test]
    fn filters_that_grow_are_those_made_at_once() {
        let shard = ShardId(0);
        let mut grown = StoredFilters::none();
        let texts: Vec<String> = (0..11).map(|n| format!("text of block number{n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        grown.add(shard, new(0, &texts[..3], &[(7, "seven")]));
        // The third block was not full.
        grown.add(shard, new(2, &["more"], &[(1100, "eleven"), (1200, "twelve")]));
        grown.add(shard, new(3, &texts[3..], &[]));
        let both = format!("{}\nmore", texts[2]);
        let mut all = texts.clone();
        all[2] = &both;
        let mut once = StoredFilters::none();
        once.add(shard, new(0, &all, &[(7, "seven"), (1100, "eleven"), (1200, "twelve")]));
        assert_eq!(grown.blocks.rows(), once.blocks.rows());
        assert_eq!(grown.dense.rows(), once.dense.rows());
        assert_eq!(grown.dense_chunks, [7, 1100, 1200]);
    }

    /// A shard that is filled piece by piece answers like its texts.
    #[test]
    fn rows_name_the_chunks_that_may_match() {
        on_index(1, async |store| {
            let mut session = crate::testing::session(store).await;
            session.next_shard(&[], 1 << 20, false).await.unwrap();
            let mut loader = store.loader().await.unwrap();
            let text = |n: i32| match n {
                7 => format!("large_word {}", "of a long line ".repeat(1000)),
                n => format!("word_{n}_in shared_{}_text", n % 1000),
            };
            // Two pieces, in parts that end within a block, at a piece's end, and after it.
            let (ends, mut next) =
                ([100, 700, PIECE_CHUNKS, PIECE_CHUNKS + 5, PIECE_CHUNKS + 900], 0);
            for end in ends {
                let contents: Vec<crate::Contents> = (next..end)
                    .step_by(2)
                    .map(|n| {
                        // Blobs of two chunks.
                        let (a, b) =
                            (text(n), if n + 1 < end { text(n + 1) } else { String::new() });
                        let cut = a.len();
                        let text = a + &b;
                        let mut oid = [0; 20];
                        oid[..4].copy_from_slice(&n.to_be_bytes());
                        let rows = [(0, cut), (cut, text.len())];
                        let rows = rows.into_iter().filter(|(start, end)| start < end);
                        let chunks = rows
                            .map(|(start, end)| crate::ChunkRow { line: 1, start, end })
                            .collect();
                        crate::Contents { oid, id: BlobId(n), text, lines: 1, chunks, doc: None }
                    })
                    .collect();
                loader.store(ShardId(0), &contents).await.unwrap();
                store.derive(ShardId(0)).await.unwrap();
                next = end;
            }
            session.close().await.unwrap();
            let shard = Shard {
                id: ShardId(0),
                bytes: 0,
                since: crate::Epoch(1),
                chunks: next,
                changed: crate::Epoch(1),
                filtered: next,
                languages: [].into(),
            };
            let mut lease = store.lease().await.unwrap();
            for again in [false, true] {
                for (literal, expected) in [
                    ("word_8195_in", vec![8195]),
                    ("WORD_99_in", vec![99]),
                    ("shared_3_text", (3..next).step_by(1000).collect()),
                    ("large_word", vec![7]),
                    ("nowhere_at_all", vec![]),
                ] {
                    let ngrams = NgramQuery::folded(literal);
                    let mut filters =
                        lease.filter_rows(&[&shard], &ngrams.sample(8)).await.unwrap();
                    let filter = filters.remove(&shard.id).unwrap();
                    let near = filter.surviving(&ngrams, &filter.hits(&ngrams));
                    let rows =
                        lease.chunk_rows(&shard, &sample(&[&ngrams])).await.unwrap().unwrap();
                    let mut chunks = rows.surviving(&ngrams);
                    filter.ruled_out(&near, 0..next).for_each(|n| chunks.remove(n as usize));
                    let found = rows.with_blobs(&chunks);
                    let holds = |n: &i32| text(*n).contains(&literal.to_lowercase());
                    let wanted: Vec<i32> = found.iter().map(|(n, _)| *n).filter(holds).collect();
                    assert_eq!(wanted, expected, "{literal}");
                    // Hardly any other.
                    assert!(found.len() <= expected.len() + 40, "{literal}: {}", found.len());
                    for (n, blob) in found {
                        let first = ends.iter().rev().find(|end| **end <= n).map_or(0, |end| *end);
                        assert_eq!(blob.0, first + (n - first) / 2 * 2, "{n}");
                    }
                }
                if !again {
                    store.derive_again(ShardId(0)).await.unwrap();
                }
            }
            lease.done();
        });
    }
}
