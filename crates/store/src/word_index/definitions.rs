//! The words of the names that chunks define: made of stored symbols.

use std::collections::{BTreeMap, HashMap};

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, PgConnection};
use words::{Segment, SegmentBuilder};

use super::{WordField, write};
use crate::error::Result;
use crate::symbols::{self, SymbolRow};
use crate::tables::Groups;
use crate::{BlobId, ShardId};

/// The byte of the kind of what is no definition of its name: see `symbols.numbers`.
const IMPLEMENTATION: u8 = 20;

/// Where the chunks of blobs begin in their texts, in bytes: by blob, ascending.
pub(crate) type Starts = HashMap<BlobId, Vec<i32>>;

/// Returns the names that each chunk of a blob defines, by the number of the chunk.
pub(crate) fn names_by_chunk<'r>(
    row: &'r SymbolRow,
    starts: &[i32],
) -> BTreeMap<i32, Vec<&'r str>> {
    let mut by_chunk: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
    for ((name, kind), start) in row.names().zip(&row.kinds).zip(&row.starts) {
        if *kind != IMPLEMENTATION {
            let at = starts.partition_point(|chunk| chunk <= start).saturating_sub(1);
            by_chunk.entry(row.blob.0 + at as i32).or_default().push(name);
        }
    }
    by_chunk
}

/// Makes a segment of the names of some blobs; `None` if they define none.
pub(crate) fn segment(rows: &[SymbolRow], starts: &Starts) -> Option<Segment> {
    let mut builder = SegmentBuilder::new();
    for row in rows {
        let starts = starts.get(&row.blob).map(Vec::as_slice).unwrap_or_default();
        for (chunk, names) in names_by_chunk(row, starts) {
            builder.add_names(chunk, names);
        }
    }
    builder.finish()
}

/// Rebuilds the words of the names of all symbols of a shard.
pub(crate) async fn derive(
    (conn, reader): (&mut PgConnection, &mut PgConnection),
    groups: Groups,
    shard: ShardId,
) -> Result<()> {
    write::delete(conn, groups, shard, WordField::Definitions, None).await?;
    let stored = symbols::of_shard(conn, shard).await?;
    let mut starts = Starts::new();
    let sql =
        format!("select blob, start from {} where shard = {} order by n", shard.chunks(), shard.0);
    let mut chunks = sqlx::query_as::<_, (i32, i32)>(AssertSqlSafe(sql)).fetch(reader);
    while let Some((blob, start)) = chunks.try_next().await? {
        starts.entry(BlobId(blob)).or_default().push(start);
    }
    let rows: Vec<SymbolRow> = stored.iter().flat_map(|group| group.group.rows(None)).collect();
    if let Some(segment) = segment(&rows, &starts) {
        write::insert(conn, groups, shard, WordField::Definitions, &segment).await?;
    }
    sqlx::query("update shards set defined = true where shard = $1")
        .bind(shard.0)
        .execute(conn)
        .await?;
    Ok(())
}
