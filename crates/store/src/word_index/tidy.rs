//! Merges segments of words.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use words::Part;

use super::{WordField, write};
use crate::error::Result;
use crate::tables::Groups;
use crate::{ShardId, nodes};

/// Number of segments of a field of a shard from which on some are merged.
const MOST: usize = 8;

/// A segment without its rows.
#[derive(Debug, sqlx::FromRow)]
struct Stored {
    segment: i32,
    first: i32,
    postings: i64,
    lengths: Vec<u8>,
}

/// Merges segments of a shard if there are many: the newest ones, and those before them that are not much larger. So an hour
/// of small ingests writes each posting a few times. If a tenth of the chunks in the word index are of deleted texts, all
/// segments become one.
pub(crate) async fn tidy(conn: &mut PgConnection, groups: Groups, shard: ShardId) -> Result<()> {
    let mut tx = conn.begin().await?;
    let is_old: bool = sqlx::query_scalar(
        "select words_dead > 0 and words_dead::bigint * 9 >=
                    (select coalesce(sum(chunks), 0) from blobs b where b.shard = s.shard)
         from shards s where shard = $1",
    )
    .bind(shard.0)
    .fetch_one(&mut *tx)
    .await?;
    nodes::commit_as_one(&mut tx, groups).await?;
    for field in [WordField::Body, WordField::Definitions, WordField::Docs] {
        tidy_field(&mut tx, groups, shard, field, is_old).await?;
    }
    if is_old {
        sqlx::query("update shards set words_dead = 0 where shard = $1")
            .bind(shard.0)
            .execute(&mut *tx)
            .await?;
    }
    Ok(tx.commit().await?)
}

/// Merges segments of a field if there are many, or all of them.
pub(crate) async fn tidy_field(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    field: WordField,
    all: bool,
) -> Result<()> {
    let sql = format!(
        "select segment, first, postings, case when $2 then lengths else '' end as lengths from {}
         where shard = {} and field = $1 order by first, segment",
        shard.word_segments(groups),
        shard.0
    );
    let read = |lengths: bool| {
        sqlx::query_as(AssertSqlSafe(sql.clone())).bind(field.number()).bind(lengths)
    };
    let stored: Vec<Stored> = read(false).fetch_all(&mut *conn).await?;
    let from = if all { 0 } else { first_to_merge(&stored) };
    if from >= stored.len() {
        return Ok(());
    }
    let stored: Vec<Stored> = read(true).fetch_all(&mut *conn).await?;
    let merged = &stored[from..];
    let numbers: Vec<i32> = merged.iter().map(|one| one.segment).collect();
    let sql = format!(
        "select segment, entries from {} where shard = {} and segment = any($1) order by segment, bucket",
        shard.words(groups),
        shard.0
    );
    let rows: Vec<(i32, Vec<u8>)> =
        sqlx::query_as(AssertSqlSafe(sql)).bind(&numbers).fetch_all(&mut *conn).await?;
    let first = merged.iter().map(|one| one.first).min().unwrap_or_default();
    let alive = Alive::of(conn, shard, first).await?;
    let mut by_segment: BTreeMap<i32, Vec<&[u8]>> = BTreeMap::new();
    for (segment, entries) in &rows {
        by_segment.entry(*segment).or_default().push(entries);
    }
    let part = |one: &'_ Stored| -> (i32, Vec<&[u8]>) {
        (one.first, by_segment.remove(&one.segment).unwrap_or_default())
    };
    let rows: Vec<(i32, Vec<&[u8]>)> = merged.iter().map(part).collect();
    let parts = rows
        .into_iter()
        .zip(merged)
        .map(|((first, rows), one)| Part { first, lengths: &one.lengths, rows })
        .collect();
    let Ok(merged) = words::merge(parts, &|n| alive.has(n)) else {
        tracing::warn!(
            "the word index of shard {} is damaged; run: codesearch check --repair",
            shard.0
        );
        return Ok(());
    };
    write::delete(conn, groups, shard, field, Some(&numbers)).await?;
    if merged.postings > 0 || !merged.lengths.is_empty() {
        write::insert(conn, groups, shard, field, &merged).await?;
    }
    Ok(())
}

/// Returns the index of the first of the segments to merge, which are in the order of their chunks; their number for none.
fn first_to_merge(stored: &[Stored]) -> usize {
    if stored.len() <= MOST {
        return stored.len();
    }
    let (mut from, mut sum) = (stored.len(), 0);
    while let Some(before) = from.checked_sub(1) {
        let is_small = stored[before].postings <= 2 * sum;
        if !is_small && stored.len() - from > MOST / 2 {
            break;
        }
        sum += stored[before].postings;
        from = before;
    }
    from
}

/// The chunks of a shard whose texts are stored.
struct Alive {
    /// The number of the first bit.
    first: i32,
    bits: Vec<u64>,
}

impl Alive {
    /// Reads which chunks from a number on are there.
    async fn of(conn: &mut PgConnection, shard: ShardId, first: i32) -> Result<Self> {
        let blobs: Vec<(i32, i32)> = sqlx::query_as(
            "select id, chunks from blobs where shard = $1
               and id >= coalesce((select max(id) from blobs where shard = $1 and id <= $2), 0)
             order by id",
        )
        .bind(shard.0)
        .bind(first)
        .fetch_all(conn)
        .await?;
        let mut alive = Self { first, bits: Vec::new() };
        for n in blobs.into_iter().flat_map(|(id, chunks)| id.max(first)..id + chunks) {
            let at = (n - first) as usize;
            if alive.bits.len() <= at / 64 {
                alive.bits.resize(at / 64 + 1, 0);
            }
            alive.bits[at / 64] |= 1 << (at % 64);
        }
        Ok(alive)
    }

    fn has(&self, n: i32) -> bool {
        let at = (n - self.first) as usize;
        self.bits.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }
}
