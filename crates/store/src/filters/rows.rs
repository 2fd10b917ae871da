//! Reads filters for a search: all that a server's memory keeps of a shard, or only the rows that a query needs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use ngram::{
    BLOCK_CHUNKS, BitSlices, BloomFilter, Columns, Densities, FilterKind, Hashes, NgramQuery,
    ShardFilter,
};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::tail::{SLICE_SHIFT, TAIL, TAIL_CHUNKS, block_sql};
use super::{
    BLOCKS, DENSE, DENSE_NUMBERS, DENSITIES, LARGE, LARGE_SLICES, OWN_CHUNKS, PIECE_CHUNKS, Row,
    SLICE_BITS, STARTS, bit_bytes, block_count, numbers,
};
use crate::ShardId;
use crate::catalog::Shard;
use crate::cost::{ALL_HASHES, MAX_HASHES, MAX_NAMED, MAX_ROWS};
use crate::error::{Error, Result};
use crate::lease::{BoundStatement, Lease};
use crate::tables::Groups;

/// The answer of a shard's chunk filters about some literals.
#[derive(Debug)]
pub struct ChunkRows {
    all: Columns,
    /// The chunks that may hold each literal.
    literals: Vec<(Hashes, Columns)>,
    /// The chunks that begin a blob.
    starts: Columns,
}

impl ChunkRows {
    /// Returns the numbers of the chunks that may satisfy a query.
    pub fn surviving(&self, ngrams: &NgramQuery) -> Columns {
        ngrams.columns_of(&self.all, &|literal| {
            self.literals.iter().find(|(known, _)| known == literal).map(|(_, columns)| columns)
        })
    }

    /// Returns the chunks that begin a blob. A chunk whose blob was deleted follows the one before.
    pub fn starts(&self) -> &Columns {
        &self.starts
    }
}

/// The literals of some n-grams, each with the bits to read from chunk filters in a search without memory.
pub(crate) struct AskedBits<'n>(Vec<(&'n Hashes, Vec<usize>)>);

impl<'n> AskedBits<'n> {
    fn of(ngrams: &[&'n NgramQuery], densities: &Densities) -> Self {
        let mut literals: Vec<&Hashes> = Vec::new();
        for literal in ngrams.iter().flat_map(|ngrams| ngrams.chunk_literals()) {
            if !literals.contains(&literal) {
                literals.push(literal);
            }
        }
        let most = (ALL_HASHES / literals.len().max(1)).clamp(2, MAX_HASHES);
        let bits = |literal: &'n Hashes| (literal, literal.most_selective_bits(most, densities));
        Self(literals.into_iter().map(bits).collect())
    }

    /// Returns the number of rows that the filters of a shard with `filtered` chunks have for these bits.
    fn rows(&self, filtered: i32) -> usize {
        let pieces = (filtered + PIECE_CHUNKS - 1) / PIECE_CHUNKS;
        1 + pieces.max(0) as usize * self.0.iter().map(|(_, bits)| bits.len()).sum::<usize>()
    }

    /// Returns the beginning of a statement that reads, from the filters of chunks in the group of a shard, the bits in
    /// the parameters `$first` and `$first + 1`: see [`parameters`](Self::parameters). The rows are those of
    /// [`answer`](Self::answer), after the `selected` columns. The caller must group them by those columns and the
    /// piece. `of` is a condition on rows `p`.
    pub(crate) fn select(
        selected: &str,
        (shard, groups): (ShardId, Groups),
        first: usize,
        of: &str,
    ) -> String {
        let (table, tails, block) =
            (shard.chunk_filters(groups), shard.filters(groups), block_sql("p.number"));
        let slice = format!("(asked.bit::integer / {SLICE_BITS})");
        let width = format!("(octet_length(p.bits) / {SLICE_BITS})");
        format!(
            "select {selected}, p.piece, count(*), bit_and(p.bits)
             from unnest(${first}::smallint[], ${}::smallint[]) asked (literal, bit)
             cross join lateral (
                 select p.shard, p.piece::integer, p.bits from {table} p where p.bit = asked.bit and {of}
                 union all
                 select p.shard, -1 - {block}, ('x' || encode(substring(p.bits
                     from asked.bit % {SLICE_BITS} * {width} + 1 for {width}), 'hex'))::bit varying
                 from {tails} p
                 where asked.bit >= 0 and p.kind = {TAIL_CHUNKS} and p.number >= {slice} << {SLICE_SHIFT}
                     and p.number < ({slice} + 1) << {SLICE_SHIFT} and {of}) p",
            first + 1
        )
    }

    /// Returns the parameters of [`select`](Self::select): the numbers of literals, each with a bit.
    pub(crate) fn parameters(&self) -> (Vec<i16>, Vec<i16>) {
        let each = (0..)
            .zip(&self.0)
            .flat_map(|(literal, (_, bits))| bits.iter().map(move |bit| (literal, *bit as i16)));
        each.chain([(STARTS, STARTS)]).unzip()
    }

    /// Makes the answer for a shard with `filtered` chunks from its rows, in four columns from `column` on: literal,
    /// piece, number of the piece's rows with a bit of the literal, and the bits set in all of them. A tail is the piece
    /// -1 - its block. `None` if the filters do not cover all chunks.
    pub(crate) fn answer<'r>(
        &self,
        filtered: i32,
        rows: impl IntoIterator<Item = &'r PgRow>,
        column: usize,
    ) -> Result<Option<ChunkRows>> {
        let all = Columns::first(filtered.max(0) as usize);
        let mut none = Columns::first(0);
        none.grow(all.bytes().len() * 8);
        let literal = |(literal, _): &(&Hashes, Vec<usize>)| ((*literal).clone(), none.clone());
        let mut literals: Vec<(Hashes, Columns)> = self.0.iter().map(literal).collect();
        let mut starts = None;
        for row in rows {
            // The filters were not read.
            let Some(literal) = row.try_get::<Option<i16>, _>(column)? else { continue };
            let (piece, count): (i32, i64) = (row.try_get(column + 1)?, row.try_get(column + 2)?);
            let bits = bit_bytes(row, column + 3)?;
            if literal == STARTS {
                starts = Some(Columns::from(bits.to_vec()));
                continue;
            }
            // A missing row has no bit set.
            let at = literal as usize;
            if count as usize == self.0[at].1.len() {
                let first = match piece {
                    0.. => piece * PIECE_CHUNKS,
                    _ => (-1 - piece) * BLOCK_CHUNKS,
                };
                literals[at].1.or_bytes(first as usize / 8, bits);
            }
        }
        // The rows may be of a later epoch, with more chunks.
        for (_, columns) in &mut literals {
            columns.and(&all);
        }
        let starts = starts.filter(|starts| starts.bytes().len() >= all.bytes().len());
        Ok(starts.map(|starts| ChunkRows { all, literals, starts }))
    }
}

impl Lease {
    /// Returns the densities of the filters of chunks, read once from one shard: the others are alike, and any
    /// densities give right answers.
    async fn densities(&mut self, shard: ShardId) -> Result<Arc<Densities>> {
        if let Some(known) = self.known_densities().get() {
            return Ok(Arc::clone(known));
        }
        let sql = format!(
            "select bits from {} where bit = {DENSITIES} and shard = $1",
            shard.chunk_filters(self.groups())
        );
        let rows = self.rows(BoundStatement::new(sql).bind(shard.0)).await?;
        Ok(match rows.first() {
            Some(row) => {
                let bytes = bit_bytes(row, 0)?.to_vec();
                let densities = Arc::new(Densities::from_bytes(bytes));
                Arc::clone(self.known_densities().get_or_init(|| densities))
            }
            None => Arc::new(Densities::from_bytes(Vec::new())),
        })
    }

    /// Returns the bits to read for some n-grams from the chunk filters of an index to which `shard` belongs.
    pub(crate) async fn asked_bits<'n>(
        &mut self,
        shard: ShardId,
        ngrams: &[&'n NgramQuery],
    ) -> Result<AskedBits<'n>> {
        Ok(AskedBits::of(ngrams, &*self.densities(shard).await?))
    }

    /// Asks chunk filters which chunks may hold the literals of some n-grams, for as many of the first shards as may be
    /// asked at once. Also returns the number of these shards. Leaves out shards whose filters do not cover all chunks
    /// of the given state.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn chunk_rows(
        &mut self,
        shards: &[&Shard],
        ngrams: &[&NgramQuery],
    ) -> Result<(HashMap<ShardId, ChunkRows>, usize)> {
        let Some(first) = shards.first() else { return Ok((HashMap::new(), 0)) };
        let asked = self.asked_bits(first.id, ngrams).await?;
        let mut sum = 0;
        let fits = shards.iter().take_while(|shard| {
            sum += asked.rows(shard.filtered);
            sum <= MAX_ROWS
        });
        let shards = &shards[..fits.count().max(1)];
        let (literals, bits) = asked.parameters();
        let mut answers = HashMap::with_capacity(shards.len());
        for of_group in by_group(shards, self.groups()) {
            let numbers = of_group.iter().map(|shard| shard.id.0);
            let of = "p.shard = any($3::smallint[])";
            let of_first = (of_group[0].id, self.groups());
            let selected = AskedBits::select("p.shard, asked.literal", of_first, 1, of);
            let bound = BoundStatement::new(format!("{selected} group by 1, 2, 3"));
            let bound = bound.bind(literals.clone()).bind(bits.clone());
            let rows = self.rows(bound.bind(numbers.collect::<Vec<i16>>())).await?;
            let mut of_shards: HashMap<i16, Vec<&PgRow>> = HashMap::new();
            for row in &rows {
                of_shards.entry(row.try_get(0)?).or_default().push(row);
            }
            for shard in of_group {
                let Some(rows) = of_shards.remove(&shard.id.0) else { continue };
                answers.extend(asked.answer(shard.filtered, rows, 1)?.map(|rows| (shard.id, rows)));
            }
        }
        Ok((answers, shards.len()))
    }
}

impl Lease {
    /// Reads the filters of blocks, dense and large chunks of a shard; `None` if they do not cover all chunks of the
    /// given state.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn filters(&mut self, shard: &Shard) -> Result<Option<ShardFilter>> {
        let sql = format!(
            "select kind, number, bits from {} where shard = {} and (kind <= {LARGE} or kind = {TAIL})
             order by kind, number",
            shard.id.filters(self.groups()),
            shard.id.0
        );
        let (mut blocks, mut dense) = (Vec::new(), Vec::new());
        let (mut dense_chunks, mut large, mut tail) = (Vec::new(), Vec::new(), None);
        for (kind, number, bits) in self.fetch::<Row>(BoundStatement::new(sql)).await? {
            match kind {
                BLOCKS => blocks.extend(bits),
                DENSE => dense.extend(bits),
                OWN_CHUNKS if number == DENSE_NUMBERS => dense_chunks = numbers(&bits),
                OWN_CHUNKS => {}
                TAIL => tail = Some((block_of(number), BloomFilter::from_bytes(&bits))),
                _ => large.push((number, BloomFilter::from_bytes(&bits))),
            }
        }
        let count = block_count(shard.filtered);
        let blocks = with_tail(blocks, count, tail).filter(|_| count > 0);
        let dense = BitSlices::from_rows(FilterKind::Dense, dense_chunks.len(), dense);
        let both = blocks.zip(dense);
        Ok(both.map(|(blocks, dense)| ShardFilter::new(blocks, (dense, dense_chunks), large)))
    }

    /// Reads the rows of some shards' filters that some n-grams need. For other n-grams, the results let more chunks
    /// through. Leaves out shards whose filters do not cover all chunks of the given state, or whose node does not answer.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn filter_rows(
        &mut self,
        shards: &[&Shard],
        ngrams: &NgramQuery,
    ) -> Result<HashMap<ShardId, ShardFilter>> {
        let (mut kinds, mut bits) = (vec![OWN_CHUNKS; 2], vec![0, SLICE_BITS as i32]);
        for (kind, of) in [
            (BLOCKS, FilterKind::Block),
            (LARGE_SLICES, FilterKind::Block),
            (DENSE, FilterKind::Dense),
        ] {
            bits.extend(ngrams.bits(of).into_iter().map(|bit| bit as i32));
            kinds.resize(bits.len(), kind);
        }
        let mut rows: HashMap<ShardId, Vec<Row>> = HashMap::new();
        for of_group in by_group(shards, self.groups()) {
            // Reads all shards from the first to the last, which saves an index scan for each bit and shard.
            let numbers = of_group.iter().map(|shard| shard.id.0);
            let (first, last) = (numbers.clone().min(), numbers.max());
            let bound = BoundStatement::new(rows_sql(&of_group[0].id.filters(self.groups())));
            let bound = bound.bind(kinds.clone()).bind(bits.clone()).bind(first).bind(last);
            let of_group = match self.fetch::<(i16, i16, i32, Vec<u8>)>(bound).await {
                // Whoever searches its shards is told.
                Err(Error::Node { .. }) => continue,
                of_group => of_group?,
            };
            for (shard, kind, bit, row) in of_group {
                rows.entry(ShardId(shard)).or_default().push((kind, bit, row));
            }
        }
        let filter = |shard: &&Shard| {
            Some((shard.id, some_rows(rows.remove(&shard.id)?, shard.filtered, ngrams)?))
        };
        Ok(shards.iter().filter_map(filter).collect())
    }
}

/// Returns the number of the block of a chunk.
fn block_of(chunk: i32) -> usize {
    (chunk / BLOCK_CHUNKS) as usize
}

/// Makes the filters of the first `count` blocks from rows in order, and that of the tail, with its block; `None` if some
/// are missing. All may be of a later epoch.
fn with_tail(rows: Vec<u8>, count: usize, tail: Option<(usize, BloomFilter)>) -> Option<BitSlices> {
    let stored = rows.len() / FilterKind::Block.bits() * 8;
    let mut blocks = BitSlices::from_rows(FilterKind::Block, count.min(stored), rows)?;
    if let Some((block, filter)) = tail.filter(|(block, _)| *block < count) {
        blocks.add(block, &[filter]);
    }
    (blocks.width() >= count.div_ceil(8)).then_some(blocks)
}

/// Makes the filters of a shard with `filtered` chunks from some rows; `None` if rows of its blocks are missing.
fn some_rows(rows: Vec<Row>, filtered: i32, ngrams: &NgramQuery) -> Option<ShardFilter> {
    let (mut dense, mut large) = (None, None);
    // The block of the tail, and the bits that its filter has.
    let (mut tail, mut of_tail) = (None, HashSet::new());
    for (kind, bit, row) in &rows {
        match (*kind, *bit) {
            (TAIL, bit) => {
                let (first, byte) = row.split_first_chunk()?;
                tail = Some(block_of(i32::from_be_bytes(*first)));
                if byte.first()? >> (bit % 8) & 1 == 1 {
                    of_tail.insert(bit);
                }
            }
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
    let tail = tail.filter(|block| *block < count);
    let mut found = 0;
    for (kind, bit, mut row) in rows {
        let bit = bit as usize;
        match kind {
            BLOCKS => {
                if let Some(block) = tail {
                    row.resize(row.len().max(block / 8 + 1), 0);
                    row[block / 8] |= u8::from(of_tail.contains(&(bit as i32))) << (block % 8);
                }
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

/// Returns the shards that statements name which ask some shards, ascending: those of [`shard_ranges`]. On Citus, each
/// statement asks the shards of one group, among which the ranges are.
pub(crate) fn named_shards(asked: &[i16], count: i16, groups: Groups) -> Vec<Vec<i16>> {
    if !groups.are_distributed() {
        return shard_ranges(asked, count).into_iter().map(Iterator::collect).collect();
    }
    let mut by_group: BTreeMap<i16, Vec<i16>> = BTreeMap::new();
    for shard in asked {
        by_group.entry(groups.of(ShardId(*shard))).or_default().push(*shard);
    }
    let of_group = |(group, asked): (i16, Vec<i16>)| {
        let members: Vec<i16> = groups.shards(group, count).collect();
        let places = (0..).zip(&members).filter(|(_, shard)| asked.contains(shard));
        let places: Vec<i16> = places.map(|(place, _)| place).collect();
        let ranges = shard_ranges(&places, members.len() as i16).into_iter();
        let named = |range: Range<i16>| range.map(|place| members[place as usize]).collect();
        ranges.map(named).collect::<Vec<Vec<i16>>>()
    };
    by_group.into_iter().flat_map(of_group).collect()
}

/// Returns ranges that cover the shards asked for. Each is a half, a quarter and so on of the index that has enough of
/// them, or a single shard.
///
/// A statement for several shards has a branch for each shard of a range, and a parameter that excludes shards not
/// asked for. Every connection must prepare each different statement, so there should be few.
pub(crate) fn shard_ranges(asked: &[i16], count: i16) -> Vec<Range<i16>> {
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

/// Splits shards by group.
fn by_group<'s>(
    shards: &[&'s Shard],
    groups: Groups,
) -> impl Iterator<Item = Vec<&'s Shard>> + use<'s> {
    let mut by_group: BTreeMap<i16, Vec<&Shard>> = BTreeMap::new();
    for shard in shards {
        by_group.entry(groups.of(shard.id)).or_default().push(shard);
    }
    by_group.into_values()
}

/// Returns the statement for the shards of a partition of `filters` from `$3` to `$4`; `$1` and `$2` are the kinds and
/// bits. Of a tail, a row has its first chunk, and the byte with the bit.
fn rows_sql(table: &str) -> String {
    format!(
        "select shard, asked.kind, bit, case asked.kind when {OWN_CHUNKS} then bits else
             substring(bits from bit % {SLICE_BITS} * (octet_length(bits) / {SLICE_BITS}) + 1
                       for octet_length(bits) / {SLICE_BITS}) end
         from unnest($1::smallint[], $2::int[]) asked (kind, bit)
         join {table} f on f.kind = asked.kind and f.number = bit / {SLICE_BITS} and f.shard between $3 and $4
         union all
         select shard, {TAIL}::smallint, bit, int4send(number) || substring(bits from bit / 8 + 1 for 1)
         from unnest($1::smallint[], $2::int[]) asked (kind, bit)
         join {table} f on asked.kind = {BLOCKS} and f.kind = {TAIL} and f.shard between $3 and $4"
    )
}
