//! The filters of a shard: reading them, adding to them, and bringing those of an older index into their form.
//!
//! How they are stored: the filters of blocks and of dense chunks are bit-sliced, in rows of [`SLICE_BITS`] bits, so that
//! a server's memory takes them as they are and a search without memory reads just the bits it asks for. A large
//! chunk has a row of its own.

use std::collections::HashMap;

use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, FilterKind, ShardFilter};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::ShardId;
use crate::catalog::Shard;
use crate::error::Result;
use crate::ingest::copy::{self, Rows};
use crate::lease::{Ask, Lease};

/// Bits of all filters of a kind in one row.
const SLICE_BITS: usize = 128;

/// The values of `filters.kind`.
const BLOCKS: i16 = 0;
const DENSE: i16 = 1;
const DENSE_CHUNKS: i16 = 2;
const LARGE: i16 = 3;

/// A statement of [`Lease::block_rows`] names at most so many shards for each one that is asked for.
const MAX_NAMED: usize = 4;

/// The filters of a shard as they are stored.
#[derive(Debug)]
pub(crate) struct StoredFilters {
    blocks: BitSlices,
    dense: BitSlices,
    /// The numbers of the dense chunks.
    dense_chunks: Vec<i32>,
    /// The large chunks, each with its filter.
    large: Vec<(i32, BloomFilter)>,
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
}

type Row = (i16, i32, Vec<u8>);

impl StoredFilters {
    /// Puts rows together, which are in order: those of so many chunks. None if the blocks of these are not all there.
    fn of(rows: Vec<Row>, chunks: i32) -> Option<Self> {
        let (mut blocks, mut dense) = (Vec::new(), Vec::new());
        let (mut dense_chunks, mut large) = (Vec::new(), Vec::new());
        for (kind, number, bits) in rows {
            match kind {
                BLOCKS => blocks.extend(bits),
                DENSE => dense.extend(bits),
                DENSE_CHUNKS => {
                    dense_chunks =
                        bits.as_chunks().0.iter().map(|n| i32::from_be_bytes(*n)).collect();
                }
                _ => large.push((number, BloomFilter::from_bytes(&bits))),
            }
        }
        let count = block_count(chunks);
        let blocks =
            BitSlices::from_rows(FilterKind::Block, count, blocks).filter(|_| count > 0)?;
        let dense = BitSlices::from_rows(FilterKind::Dense, dense_chunks.len(), dense)?;
        Some(Self { blocks, dense, dense_chunks, large })
    }

    /// Filters of no chunks.
    pub(crate) fn none() -> Self {
        let empty = |kind| BitSlices::new(kind, &[]);
        let (blocks, dense) = (empty(FilterKind::Block), empty(FilterKind::Dense));
        Self { blocks, dense, dense_chunks: Vec::new(), large: Vec::new() }
    }

    fn add(&mut self, new: NewFilters) {
        self.blocks.add(new.first_block, &new.blocks);
        let (numbers, filters): (Vec<i32>, Vec<BloomFilter>) = new.dense.into_iter().unzip();
        self.dense.add(self.dense_chunks.len(), &filters);
        self.dense_chunks.extend(numbers);
        self.large = new.large;
    }

    /// The rows of the bit-sliced filters, and of the large chunks that were added.
    fn rows(&self, shard: ShardId) -> Rows {
        let mut rows = Rows::new();
        for (kind, slices) in [(BLOCKS, &self.blocks), (DENSE, &self.dense)] {
            let slice_bytes = (SLICE_BITS * slices.width()).max(1);
            for (number, slice) in (0..).zip(slices.rows().chunks(slice_bytes)) {
                rows.row(4).i16(shard.0).i16(kind).i32(number).bytes(slice);
            }
        }
        let numbers: Vec<u8> = self.dense_chunks.iter().flat_map(|n| n.to_be_bytes()).collect();
        rows.row(4).i16(shard.0).i16(DENSE_CHUNKS).i32(0).bytes(&numbers);
        for (n, filter) in &self.large {
            rows.row(4).i16(shard.0).i16(LARGE).i32(*n).bytes(&filter.to_bytes());
        }
        rows
    }
}

fn block_count(chunks: i32) -> usize {
    (chunks as usize).div_ceil(BLOCK_CHUNKS as usize)
}

impl Lease {
    /// The filters of a shard, if they are as far as the shard is said to be.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn filters(&mut self, shard: &Shard) -> Result<Option<ShardFilter>> {
        let sql = format!(
            "select kind, number, bits from {} where shard = {} order by kind, number",
            shard.id.filters(),
            shard.id.0
        );
        let stored = StoredFilters::of(self.fetch(Ask::new(sql)).await?, shard.filtered);
        Ok(stored.map(|stored| {
            ShardFilter::new(stored.blocks, (stored.dense, stored.dense_chunks), stored.large)
        }))
    }

    /// Of the filters of blocks, for each of these bits, in order, the bytes that have a bit for each block of the
    /// shard: bit `n % 8`, from the lowest, of byte `n / 8` is that of block `n`. A shard whose filters are not as far as
    /// it is said to be is not in the answer.
    ///
    /// Large and dense chunks are not in the filters of their blocks.
    ///
    /// Shards that lie close together are asked in one statement. So that there are few different statements, each of
    /// which every connection has to prepare, a statement names all shards of one of the halves, quarters and so on of
    /// the index, and those that are not asked for are not looked at.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn block_rows(
        &mut self,
        shards: &[&Shard],
        bits: &[usize],
    ) -> Result<HashMap<ShardId, Vec<Vec<u8>>>> {
        let mut asked: Vec<i16> = shards.iter().map(|shard| shard.id.0).collect();
        asked.sort_unstable();
        asked.dedup();
        let bits: Vec<i32> = bits.iter().map(|bit| *bit as i32).collect();
        let mut found: HashMap<ShardId, Vec<u8>> = HashMap::new();
        if asked.is_empty() || bits.is_empty() {
            return Ok(HashMap::new());
        }
        let count = self.shard_count().await?;
        for group in groups(&asked, count) {
            let ask = Ask::new(rows_sql(group)).bind(asked.clone()).bind(bits.clone());
            let rows: Vec<(i16, i64, Vec<u8>)> = self.fetch(ask).await?;
            for (shard, _, bytes) in rows.into_iter().filter(|(_, n, _)| *n == bits.len() as i64) {
                found.insert(ShardId(shard), bytes);
            }
        }
        let mut whole: HashMap<ShardId, Vec<Vec<u8>>> = HashMap::new();
        for shard in shards {
            let Some(bytes) = found.remove(&shard.id) else { continue };
            let (stored, count) = (bytes.len() / bits.len(), block_count(shard.filtered));
            let width = count.div_ceil(8);
            // They may be of a later state of the index, with more blocks.
            if width > 0 && stored >= width {
                let row = |row: &[u8]| {
                    let mut row = row[..width].to_vec();
                    row[width - 1] &= u8::MAX >> (width * 8 - count);
                    row
                };
                whole.insert(shard.id, bytes.chunks_exact(stored).map(row).collect());
            }
        }
        Ok(whole)
    }
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

/// The statement for the shards of a range: `$1` are those that are asked for, `$2` the bits.
fn rows_sql(range: std::ops::Range<i16>) -> String {
    let shard = |n: i16| {
        format!(
            "select {n}::smallint, count(*), string_agg(bits, ''::bytea order by place)
             from unnest($2::int[]) with ordinality asked (bit, place) cross join lateral (
                 select substring(bits from bit % {SLICE_BITS} * (octet_length(bits) / {SLICE_BITS}) + 1
                                  for octet_length(bits) / {SLICE_BITS}) bits
                 from {} where shard = {n} and kind = {BLOCKS} and number = bit / {SLICE_BITS} offset 0) found
             where {n} = any($1::smallint[]) having count(*) > 0",
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
        "delete from {} where shard = {} and kind < {LARGE} returning kind, number, bits",
        shard.filters(),
        shard.0
    );
    let mut rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?;
    rows.sort_unstable_by_key(|(kind, number, _)| (*kind, *number));
    let stored = StoredFilters::of(rows, filtered);
    if stored.is_none() && filtered > 0 {
        conn.execute(AssertSqlSafe(format!("delete from {}", shard.filters()))).await?;
    }
    Ok(stored)
}

/// Stores the filters of a shard: those that were taken out, with the filters of more chunks.
pub(crate) async fn store(
    conn: &mut PgConnection,
    shard: ShardId,
    mut filters: StoredFilters,
    new: NewFilters,
) -> Result<()> {
    filters.add(new);
    let statement =
        format!("copy {} (shard, kind, number, bits) from stdin (format binary)", shard.filters());
    copy::send(conn, &statement, filters.rows(shard)).await
}

/// Turns the filters of an index of before round, if there are any left: those of blocks lay in rows of their own.
pub(crate) async fn convert(conn: &mut PgConnection) -> Result<()> {
    let exists = "select to_regclass('filters_by_block') is not null";
    if !sqlx::query_scalar::<_, bool>(exists).fetch_one(&mut *conn).await? {
        return Ok(());
    }
    let mut tx = conn.begin().await?;
    let shards: Vec<(i16,)> =
        sqlx::query_as("select distinct shard from filters_by_block order by shard")
            .fetch_all(&mut *tx)
            .await?;
    for (shard,) in shards {
        // A chunk of -1 stood for the whole block.
        let rows: Vec<(i32, Vec<u8>)> = sqlx::query_as(
            "select chunk, bits from filters_by_block where shard = $1 order by block, chunk",
        )
        .bind(shard)
        .fetch_all(&mut *tx)
        .await?;
        let mut new = NewFilters::default();
        for (chunk, bits) in rows {
            let filter = BloomFilter::from_bytes(&bits);
            match (chunk, filter.kind()) {
                (-1, _) => new.blocks.push(filter),
                (_, FilterKind::Dense) => new.dense.push((chunk, filter)),
                _ => new.large.push((chunk, filter)),
            }
        }
        store(&mut tx, ShardId(shard), StoredFilters::none(), new).await?;
    }
    tx.execute("drop table filters_by_block").await?;
    Ok(tx.commit().await?)
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
            let bits: Vec<usize> = (0..1 << 18).step_by(977).rev().collect();
            let rows = lease.block_rows(&[&six, &empty, &one], &bits).await.unwrap();
            assert_eq!(rows.len(), 2);
            for (id, text) in live {
                let filter = filter(FilterKind::Block, text);
                let slices = BitSlices::new(FilterKind::Block, &[filter]);
                let expected: Vec<Vec<u8>> =
                    bits.iter().map(|bit| slices.rows()[*bit..=*bit].to_vec()).collect();
                assert_eq!(rows[&id], expected);
            }
            // As the filters of the shard are not so far, it is not in the answer.
            assert!(lease.block_rows(&[&further], &bits).await.unwrap().is_empty());
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
            large: Vec::new(),
        }
    }

    #[test]
    fn filters_that_grow_are_those_made_at_once() {
        let mut grown = StoredFilters::none();
        let texts: Vec<String> = (0..11).map(|n| format!("text of block number{n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        grown.add(new(0, &texts[..3], &[(7, "seven")]));
        // The third block was not full.
        grown.add(new(2, &["more"], &[(1100, "eleven"), (1200, "twelve")]));
        grown.add(new(3, &texts[3..], &[]));
        let both = format!("{}\nmore", texts[2]);
        let mut all = texts.clone();
        all[2] = &both;
        let mut once = StoredFilters::none();
        once.add(new(0, &all, &[(7, "seven"), (1100, "eleven"), (1200, "twelve")]));
        assert_eq!(grown.blocks.rows(), once.blocks.rows());
        assert_eq!(grown.dense.rows(), once.dense.rows());
        assert_eq!(grown.dense_chunks, [7, 1100, 1200]);
    }
}
