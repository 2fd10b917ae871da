//! Writes segments of words.

use sqlx::{AssertSqlSafe, PgConnection};
use words::Segment;

use super::WordField;
use crate::ShardId;
use crate::error::Result;
use crate::ingest::copy::{Rows, SEND_BYTES};
use crate::tables::Groups;

/// Stores a segment of a shard, with the next free number.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    field: WordField,
    segment: &Segment,
) -> Result<()> {
    let sql = format!(
        "insert into {table} (shard, segment, field, first, bits, postings, lengths)
         select {n}, coalesce(max(segment), 0) + 1, $1, $2, $3, $4, $5 from {table} where shard = {n}
         returning segment",
        table = shard.word_segments(groups),
        n = shard.0
    );
    let number: i32 = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(field.number())
        .bind(segment.first)
        .bind(i16::from(segment.bits))
        .bind(segment.postings as i64)
        .bind(&segment.lengths)
        .fetch_one(&mut *conn)
        .await?;
    let table = shard.words(groups);
    if let [row] = &*segment.rows {
        // What a saved file has: an insertion takes one round trip, a copy three.
        let sql = format!(
            "insert into {table} (shard, segment, bucket, entries) values ($1, $2, $3, $4)"
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(shard.0)
            .bind(number)
            .bind(row.number as i32)
            .bind(&row.entries);
        row.execute(conn).await?;
        return Ok(());
    }
    let sql = format!("copy {table} (shard, segment, bucket, entries) from stdin (format binary)");
    let mut copy = conn.copy_in_raw(&sql).await?;
    let mut rows = Rows::new();
    for row in &segment.rows {
        rows.row(4).i16(shard.0).i32(number).i32(row.number as i32).bytes(&row.entries);
        if rows.len() >= SEND_BYTES {
            copy.send(rows.take()).await?;
        }
    }
    copy.send(rows.finish()).await?;
    copy.finish().await?;
    Ok(())
}

/// Deletes the segments of a field of a shard, or those of them that are given. In the first case also rows of no segment.
pub(crate) async fn delete(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    field: WordField,
    segments: Option<&[i32]>,
) -> Result<()> {
    let sql = format!(
        "with gone as (
             delete from {table} where shard = {n} and field = $1 and ($2::integer[] is null or segment = any($2))
             returning segment)
         delete from {} where shard = {n} and (segment in (select segment from gone)
             or $2 is null and segment not in (select segment from {table} where shard = {n}))",
        shard.words(groups),
        table = shard.word_segments(groups),
        n = shard.0
    );
    sqlx::query(AssertSqlSafe(sql)).bind(field.number()).bind(segments).execute(conn).await?;
    Ok(())
}
