//! Reading filters for a search: all that a server's memory keeps of a shard, or only the rows that
//! a query asks for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ngram::{BitSlices, BloomFilter, Columns, Densities, FilterKind, NgramQuery, ShardFilter};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::{
    BLOCKS, CHUNKS, DENSE, DENSE_NUMBERS, DENSITIES, LARGE, LARGE_SLICES, OWN_CHUNKS, PIECE_CHUNKS,
    PIECE_ROWS, Row, SLICE_BITS, STARTS, block_count, numbers,
};
use crate::catalog::Shard;
use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::{BlobId, ShardId};

/// Most shards that a statement of [`Lease::filter_rows`] names for each shard that is asked for.
const MAX_NAMED: usize = 4;

/// Most hashes of one literal that a search without memory looks up in a chunk's filter. Of common
/// n-grams even many rule out little.
const MAX_HASHES: usize = 12;

/// Approximate bound of the hashes that it looks up in all.
const ALL_HASHES: usize = 96;

/// Some rows of the filters of a shard's chunks.
#[derive(Debug)]
pub struct ChunkRows {
    filters: BitSlices,
    starts: Columns,
}

impl ChunkRows {
    /// Restores the filters of `chunks` chunks from rows; `None` if rows are missing.
    fn of<'r>(
        rows: impl IntoIterator<Item = (i32, &'r [u8])>,
        chunks: i32,
        bits: Vec<usize>,
    ) -> Option<Self> {
        let mut filters = BitSlices::with_bits(FilterKind::Chunk, bits, chunks as usize);
        let mut starts = None;
        for (number, row) in rows {
            if number == STARTS {
                starts = Some(Columns::from(row.to_vec()));
            } else {
                let first = (number / PIECE_ROWS * PIECE_CHUNKS / 8) as usize;
                filters.set((number % PIECE_ROWS) as usize, first, row);
            }
        }
        // The rows may be of a later epoch, with more chunks.
        let starts = starts.filter(|starts| starts.bytes().len() >= filters.width())?;
        Some(Self { filters, starts })
    }

    /// Returns the numbers of the chunks that may satisfy a query.
    pub fn surviving(&self, ngrams: &NgramQuery) -> Columns {
        self.filters.columns(ngrams)
    }

    /// Returns some chunks, ascending, each with its blob. A chunk whose blob was deleted gets the
    /// preceding blob.
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

/// Returns the bits that a search without memory asks the chunk filters of a shard for: the emptiest
/// of those of some n-grams.
fn most_selective_bits(ngrams: &[&NgramQuery], densities: &Densities) -> Vec<usize> {
    let literals: usize = ngrams.iter().map(|ngrams| ngrams.literals()).sum();
    let most = (ALL_HASHES / literals.max(1)).clamp(2, MAX_HASHES);
    let most_selective =
        ngrams.iter().map(|ngrams| ngrams.most_selective(most, densities)).collect();
    NgramQuery::any(most_selective).bits(FilterKind::Chunk)
}

/// The rows of the filters of a shard's chunks that are worth asking for some n-grams.
pub(crate) struct SelectiveRows {
    bits: Vec<usize>,
    /// Values of `filters.number`.
    pub(crate) numbers: Vec<i32>,
}

impl SelectiveRows {
    /// What is selected: the rows' numbers, lengths in bytes, and bits, all in one row. Postgres takes three
    /// times as long for an array of the bits (docs/design/filter-rows.md).
    pub(crate) const COLUMNS: &str =
        "array_agg(number) n, array_agg(octet_length(bits)) l, string_agg(bits, '') b";

    /// Returns the table with the rows of a shard, and the condition that selects them; `any` is
    /// what their numbers are compared with.
    pub(crate) fn condition(shard: ShardId, any: &str) -> String {
        format!(
            "{} where shard = {} and kind = {CHUNKS} and number = {any}",
            shard.filters(),
            shard.0
        )
    }

    /// Makes the filters of `chunks` chunks from [`COLUMNS`](Self::COLUMNS), the first of which is column
    /// `first` of an answer; `None` if rows are missing.
    pub(crate) fn unpack(
        self,
        row: &PgRow,
        first: usize,
        chunks: i32,
    ) -> Result<Option<ChunkRows>> {
        let numbers: Option<Vec<i32>> = row.try_get(first)?;
        let lengths: Option<Vec<i32>> = row.try_get(first + 1)?;
        let bits: Option<&[u8]> = row.try_get(first + 2)?;
        let (Some(numbers), Some(lengths), Some(bits)) = (numbers, lengths, bits) else {
            return Ok(None);
        };
        let mut rest = bits;
        let rows = numbers.into_iter().zip(lengths).map(|(number, length)| {
            let (row, behind) = rest.split_at((length as usize).min(rest.len()));
            rest = behind;
            (number, row)
        });
        Ok(ChunkRows::of(rows, chunks, self.bits))
    }
}

impl Lease {
    /// Returns the densities of the filters of chunks, as one shard has them: read once, since the others are alike and
    /// any give right answers.
    async fn densities(&mut self, shard: ShardId) -> Result<Arc<Densities>> {
        if let Some(known) = self.known_densities().get() {
            return Ok(Arc::clone(known));
        }
        let sql = format!(
            "select bits from {} where shard = {} and kind = {CHUNKS} and number = {DENSITIES}",
            shard.filters(),
            shard.0
        );
        let rows: Vec<(Vec<u8>,)> = self.fetch(BoundStatement::new(sql)).await?;
        Ok(match rows.into_iter().next() {
            Some((bytes,)) => {
                let densities = Arc::new(Densities::from_bytes(bytes));
                Arc::clone(self.known_densities().get_or_init(|| densities))
            }
            None => Arc::new(Densities::from_bytes(Vec::new())),
        })
    }

    /// Returns which rows of the filters of a shard's chunks are worth asking for some n-grams.
    pub(crate) async fn selective_rows(
        &mut self,
        shard: &Shard,
        ngrams: &[&NgramQuery],
    ) -> Result<SelectiveRows> {
        let bits = most_selective_bits(ngrams, &*self.densities(shard.id).await?);
        let pieces = 0..(shard.filtered + PIECE_CHUNKS - 1) / PIECE_CHUNKS;
        let mut numbers = vec![STARTS];
        for piece in pieces {
            numbers.extend(bits.iter().map(|bit| piece * PIECE_ROWS + *bit as i32));
        }
        Ok(SelectiveRows { bits, numbers })
    }

    /// Reads the rows of the filters of a shard's chunks that are worth asking for some n-grams;
    /// `None` if the filters do not cover all chunks of the given state.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn chunk_rows(
        &mut self,
        shard: &Shard,
        ngrams: &[&NgramQuery],
    ) -> Result<Option<ChunkRows>> {
        let selective = self.selective_rows(shard, ngrams).await?;
        let sql = format!(
            "select {} from {}",
            SelectiveRows::COLUMNS,
            SelectiveRows::condition(shard.id, "any($1)")
        );
        let bound = BoundStatement::new(sql).bind(selective.numbers.clone());
        let rows = self.rows(bound).await?;
        selective.unpack(&rows[0], 0, shard.filtered)
    }
}

impl Lease {
    /// Reads the filters of blocks, dense and large chunks of a shard; `None` if they do not cover
    /// all chunks of the given state.
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
        for (kind, number, bits) in self.fetch::<Row>(BoundStatement::new(sql)).await? {
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

    /// Reads the rows of some shards' filters that some n-grams ask for. The results let more
    /// through for other n-grams. Leaves out shards whose filters do not cover all chunks of the
    /// given state.
    ///
    /// One statement reads neighbouring shards. Every connection must prepare each different
    /// statement, so there should be few: a statement names all shards of a half, quarter, eighth
    /// and so on of the index, and a parameter excludes those that are not asked for.
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
            let bound = BoundStatement::new(rows_sql(group));
            let bound = bound.bind(asked.clone()).bind(kinds.clone()).bind(bits.clone());
            for (shard, kind, bit, row) in self.fetch::<(i16, i16, i32, Vec<u8>)>(bound).await? {
                rows.entry(ShardId(shard)).or_default().push((kind, bit, row));
            }
        }
        let filter = |shard: &&Shard| {
            Some((shard.id, some_rows(rows.remove(&shard.id)?, shard.filtered, ngrams)?))
        };
        Ok(shards.iter().filter_map(filter).collect())
    }
}

/// Makes the filters of a shard with `filtered` chunks from some rows; `None` if rows of its blocks
/// are missing.
fn some_rows(rows: Vec<Row>, filtered: i32, ngrams: &NgramQuery) -> Option<ShardFilter> {
    let (mut dense, mut large) = (None, None);
    for (kind, bit, row) in &rows {
        match (*kind, *bit) {
            (OWN_CHUNKS, 0) => dense = Some(numbers(row)),
            (OWN_CHUNKS, _) => large = Some(numbers(row)),
            _ => {}
        }
    }
    // The rows may be of a later epoch, with more chunks.
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

/// Returns ranges that cover the shards asked for. Each is a half, a quarter and so on of the index
/// that has enough of them, or a single shard.
pub(super) fn groups(asked: &[i16], count: i16) -> Vec<Range<i16>> {
    fn split(range: Range<i16>, asked: &[i16], count: i16, groups: &mut Vec<Range<i16>>) {
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

/// Returns the statement for a range of shards: `$1` are those asked for, `$2` and `$3` the kinds
/// and bits. The shards are the inner side of one loop over the bits. Planning that takes three
/// quarters of the time for a loop per shard, and a command line plans it for a single search.
fn rows_sql(range: Range<i16>) -> String {
    let shard = |n: i16| {
        format!(
            "select shard, bits from {} where shard = {n} and {n} = any($1::smallint[]) and kind = asked.kind
                 and number = bit / {SLICE_BITS}",
            ShardId(n).filters()
        )
    };
    format!(
        "select shard, asked.kind, bit, case asked.kind when {OWN_CHUNKS} then bits else
             substring(bits from bit % {SLICE_BITS} * (octet_length(bits) / {SLICE_BITS}) + 1
                       for octet_length(bits) / {SLICE_BITS}) end
         from unnest($2::smallint[], $3::int[]) asked (kind, bit) cross join lateral ({}) found",
        range.map(shard).collect::<Vec<_>>().join(" union all ")
    )
}
