//! Updates the groups of a shard: adds blobs, mostly after all others, and removes blobs. The ranges of the blobs of
//! two groups never overlap, so the group of a blob is the last one that does not begin after it.

use std::collections::HashSet;

use sqlx::{AssertSqlSafe, PgConnection};

use super::group::{SymbolGroup, has_room};
use super::row::SymbolRow;
use crate::error::Result;
use crate::ingest::copy::{self, Rows};
use crate::{BlobId, ShardId};

/// A stored group.
#[derive(Debug, sqlx::FromRow)]
struct GroupExtent {
    /// Its first and last blob.
    first: i32,
    last: i32,
    /// Bytes of its names, and the number of its blobs.
    names: i32,
    blobs: i32,
}

/// Adds the symbols of some blobs, which are ascending and have none yet, and removes those of others. Rewrites their
/// groups, and the group before if it has room.
pub(crate) async fn update_groups(
    conn: &mut PgConnection,
    shard: ShardId,
    added: &[SymbolRow],
    removed: &[i32],
) -> Result<()> {
    let blobs = || added.iter().map(|row| row.blob.0).chain(removed.iter().copied());
    let Some(least) = blobs().min() else { return Ok(()) };
    let (table, n) = (shard.symbols(), shard.0);
    let sql = format!(
        "select first, blobs[cardinality(blobs)] as last, octet_length(names) as names,
                cardinality(blobs) as blobs from {table}
         where shard = {n} and first >= (
             select coalesce(max(first), 0) from {table} where shard = {n} and first <= $1)
         order by first"
    );
    let stored: Vec<GroupExtent> =
        sqlx::query_as(AssertSqlSafe(sql)).bind(least).fetch_all(&mut *conn).await?;
    let (rewritten, kept): (Vec<GroupExtent>, Vec<GroupExtent>) = {
        let touched = touched(&stored, blobs(), !added.is_empty());
        stored.into_iter().partition(|extent| touched.contains(&extent.first))
    };
    let sql = format!(
        "delete from {table} where shard = {n} and first = any($1)
         returning blobs, counts, names, numbers"
    );
    let firsts: Vec<i32> = rewritten.iter().map(|extent| extent.first).collect();
    let before: Vec<SymbolGroup> = if firsts.is_empty() {
        Vec::new()
    } else {
        sqlx::query_as(AssertSqlSafe(sql)).bind(firsts).fetch_all(&mut *conn).await?
    };
    let removed: HashSet<i32> = removed.iter().copied().collect();
    let mut rows: Vec<SymbolRow> = before.iter().flat_map(|group| group.rows(None)).collect();
    rows.retain(|row| !removed.contains(&row.blob.0));
    rows.extend_from_slice(added);
    rows.sort_by_key(|row| row.blob);
    let groups = between(&rows, &kept).flat_map(SymbolGroup::all).collect();
    store(conn, shard, groups).await
}

/// Returns the first blobs of the groups that contain some blobs; if `adds`, also of each group before with room.
fn touched(stored: &[GroupExtent], blobs: impl Iterator<Item = i32>, adds: bool) -> HashSet<i32> {
    let group = |blob: i32| {
        let at = stored.partition_point(|extent| extent.first <= blob);
        let extent = &stored[at.checked_sub(1)?];
        let has_room = adds && has_room(extent.names as usize, extent.blobs as usize);
        (blob <= extent.last || has_room).then_some(extent.first)
    };
    blobs.filter_map(group).collect()
}

/// Splits rows where a stored group lies between two.
fn between<'r>(
    rows: &'r [SymbolRow],
    kept: &[GroupExtent],
) -> impl Iterator<Item = &'r [SymbolRow]> {
    let place = |blob: BlobId| kept.partition_point(|extent| extent.first < blob.0);
    rows.chunk_by(move |row, next| place(row.blob) == place(next.blob))
}

async fn store(conn: &mut PgConnection, shard: ShardId, groups: Vec<SymbolGroup>) -> Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let mut rows = Rows::new();
    for group in groups {
        let blobs: Vec<i32> = group.blobs.iter().map(|blob| blob.0).collect();
        rows.row(7).i16(shard.0).i32(blobs[0]).i32s(&blobs).i16s(&group.counts);
        rows.bytes(group.names.as_bytes()).bytes(&group.numbers).bytes(&group.filter());
    }
    let statement = format!(
        "copy {} (shard, first, blobs, counts, names, numbers, filter) from stdin (format binary)",
        shard.symbols()
    );
    copy::send(conn, &statement, rows).await
}

#[cfg(test)]
mod tests {
    use sqlx::Connection;

    use super::*;
    use crate::symbols::group::tests::row;
    use crate::testing::{on_index, session};

    /// A row with 1,500 bytes of names: a group has three.
    fn large(blob: i32) -> SymbolRow {
        let name = format!("{blob:0500}");
        row(blob, &[&name, &name, &name])
    }

    #[test]
    fn blobs_come_and_go_and_groups_never_overlap() {
        on_index(1, async |store| {
            let session = session(store).await;
            let mut conn = store.helper().await.unwrap();
            let mut expected: Vec<i32> = Vec::new();
            let steps: [(&[i32], &[i32], &[i32]); 8] = [
                (&[10, 20, 30, 40, 50, 60, 70], &[], &[10, 40, 70]),
                // After the others: the last group has room.
                (&[80, 90], &[], &[10, 40, 70]),
                (&[100], &[], &[10, 40, 70, 100]),
                // Within a group, between two, and before all.
                (&[45], &[], &[10, 40, 60, 70, 100]),
                (&[35, 5], &[], &[5, 10, 35, 40, 60, 70, 100]),
                (&[], &[10, 45, 90, 35], &[5, 20, 50, 60, 70, 100]),
                // Around a full group.
                (&[25, 99, 110], &[], &[5, 20, 40, 50, 60, 70, 100]),
                (&[], &[5, 20, 25, 30, 40, 50, 60, 70, 80, 99, 100, 110], &[]),
            ];
            for (added, removed, firsts) in steps {
                let mut added = added.to_vec();
                added.sort_unstable();
                let rows: Vec<SymbolRow> = added.iter().map(|blob| large(*blob)).collect();
                let mut tx = conn.begin().await.unwrap();
                update_groups(&mut tx, ShardId(0), &rows, removed).await.unwrap();
                tx.commit().await.unwrap();
                expected.extend(&added);
                expected.retain(|blob| !removed.contains(blob));
                expected.sort_unstable();
                let sql =
                    "select first, blobs, counts, names, numbers from symbols_000 order by first";
                let groups: Vec<SymbolGroup> =
                    sqlx::query_as(sql).fetch_all(&mut conn).await.unwrap();
                let stored: Vec<SymbolRow> =
                    groups.iter().flat_map(|group| group.rows(None)).collect();
                assert_eq!(stored, expected.iter().map(|blob| large(*blob)).collect::<Vec<_>>());
                let begin: Vec<i32> = groups.iter().map(|group| group.blobs[0].0).collect();
                assert_eq!(begin, firsts, "{added:?} {removed:?}");
            }
            conn.close().await.unwrap();
            session.close().await.unwrap();
        });
    }
}
