//! The two steps in which groups of lost nodes are given up and made again.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::find::Lost;
use crate::error::Result;
use crate::ingest::session::FOREVER;
use crate::ingest::{Counts, advance, count, undo_except};
use crate::locks::PIN_LOCKS;
use crate::nodes::{PAUSE, QUIET, make, tables_of};
use crate::scip::keep as scip;
use crate::tables::Groups;
use crate::{Epoch, ShardId};

/// Longest time to wait for searches of before. Those that take longer must be repeated, and say so.
const SEARCHES: Duration = Duration::from_secs(5);

/// The first step: publishes an epoch without these shards, in which the repositories that had files there lack them. Returns
/// the number of the shards with texts, and the bytes of these.
pub(super) async fn give_up(
    conn: &mut PgConnection,
    lost: &Lost<'_>,
    shards: &[i16],
    groups: Groups,
) -> Result<(usize, i64)> {
    let mut tx = conn.begin().await?;
    undo_except(&mut tx, groups, shards).await?;
    let epoch: i32 = sqlx::query_scalar("select epoch from state").fetch_one(&mut *tx).await?;
    let (full, bytes): (i64, i64) = sqlx::query_as(
        "select count(*), coalesce(sum(bytes), 0)::bigint from shards where shard = any($1) and chunks > 0",
    )
    .bind(shards)
    .fetch_one(&mut *tx)
    .await?;
    let repos: Vec<i32> =
        sqlx::query_scalar("select id from repos where (shards || tree_shards) && $1")
            .bind(shards)
            .fetch_all(&mut *tx)
            .await?;
    let left: Vec<i16> = sqlx::query_scalar(
        "select distinct s from repos cross join unnest(shards || tree_shards) s
         where id = any($1) and s <> all($2) order by 1",
    )
    .bind(&repos)
    .bind(shards)
    .fetch_all(&mut *tx)
    .await?;
    let left: Vec<ShardId> = left.into_iter().map(ShardId).collect();
    let counts = count(&mut tx, Epoch(epoch), &repos, &left).await?;
    for repo in &repos {
        let none = Counts::default();
        let of = counts.get(repo).unwrap_or(&none);
        // Matches in what is ingested again are no news to monitors, as in a new repository.
        sqlx::query(
            "update repos set files = $2, bytes = $3, shards = $4, tree_shards = $5, lost = $6, first_epoch = null,
                 failure = $7, failures = failures + 1, failed_at = clock_timestamp()
             where id = $1",
        )
        .bind(repo)
        .bind(of.files)
        .bind(of.bytes)
        .bind(&of.shards)
        .bind(&of.tree_shards)
        .bind(&lost.names)
        .bind("a node of the index is lost")
        .execute(&mut *tx)
        .await?;
    }
    recount_trees(&mut tx, Epoch(epoch + 1), &repos, &left).await?;
    sqlx::query(
        "update shards set live_from = null, chunks = 0, bytes = 0, filtered = 0, symbols_upto = 0, worded = 0,
             defined = true, words_dead = 0, docs_indexed = true
         where shard = any($1)",
    )
    .bind(shards)
    .execute(&mut *tx)
    .await?;
    for table in ["blobs", "symbols_skipped"] {
        let sql = format!("delete from {table} where shard = any($1)");
        sqlx::query(AssertSqlSafe(sql)).bind(shards).execute(&mut *tx).await?;
    }
    sqlx::query("update state set lost = $1").bind(&lost.names).execute(&mut *tx).await?;
    // No search goes on from an epoch of before.
    tx.execute("delete from switches").await?;
    advance(&mut tx, Epoch(epoch + 1)).await?;
    tx.commit().await?;
    Ok((full as usize, bytes))
}

/// Counts the files of the trees of some repositories again, which are left in these shards, and ends the sets of trees that
/// no file has any more.
async fn recount_trees(
    conn: &mut PgConnection,
    next: Epoch,
    repos: &[i32],
    left: &[ShardId],
) -> Result<()> {
    let (mut sets, mut counts) = (Vec::new(), Vec::new());
    for shard in left {
        let sql = format!(
            "select abs(trees), count(*) from {} where valid_to = {FOREVER} and trees <> 0 and repo = any($1) group by 1",
            shard.files()
        );
        let rows: Vec<(i32, i64)> =
            sqlx::query_as(AssertSqlSafe(sql)).bind(repos).fetch_all(&mut *conn).await?;
        let (of, files): (Vec<i32>, Vec<i64>) = rows.into_iter().unzip();
        sets.extend(of);
        counts.extend(files);
    }
    sqlx::query(AssertSqlSafe(format!(
        "update trees t set files = coalesce((
             select sum(c.files) from tree_sets s join unnest($2::int[], $3::bigint[]) c (id, files) on c.id = s.id
             where s.repo = t.repo and s.valid_to = {FOREVER} and t.bit < 8 * length(s.members)
               and get_bit(s.members, t.bit) = 1), 0)
         where t.repo = any($1) and t.valid_to = {FOREVER}"
    )))
    .bind(repos)
    .bind(&sets)
    .bind(counts)
    .execute(&mut *conn)
    .await?;
    sqlx::query(AssertSqlSafe(format!(
        "update tree_sets s set valid_to = $3
         where s.repo = any($1) and s.valid_to = {FOREVER} and s.id <> all($2) and not exists (
             select from skipped k where k.repo = s.repo and k.valid_to = {FOREVER} and abs(k.trees) = s.id)"
    )))
    .bind(repos)
    .bind(sets)
    .bind(next.0)
    .execute(conn)
    .await?;
    Ok(())
}

/// Waits until no search reads an epoch of before. Those that go on are told that they cannot.
pub(super) async fn end_searches(conn: &mut PgConnection) -> Result<()> {
    let pins =
        "pg_locks where locktype = 'advisory' and objsubid = 2 and classid::bigint = $1 and granted
             and objid::bigint < (select epoch from state)
             and database = (select oid from pg_database where datname = current_database())";
    let begun = Instant::now();
    while begun.elapsed() < SEARCHES {
        let sql = format!("select exists (select from {pins})");
        let reads: bool = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(i64::from(PIN_LOCKS))
            .fetch_one(&mut *conn)
            .await?;
        if !reads {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    let sql = format!("select pg_terminate_backend(pid) from (select distinct pid from {pins}) p");
    sqlx::query(AssertSqlSafe(sql)).bind(i64::from(PIN_LOCKS)).execute(conn).await?;
    Ok(())
}

/// The second step: makes the tables of the groups again, on other nodes, and has Citus forget those that are lost. Returns
/// the names of the repositories whose SCIP indexes are gone.
pub(super) async fn remake(
    conn: &mut PgConnection,
    lost: &Lost<'_>,
    shards: &[i16],
    (all, groups): (i16, Groups),
) -> Result<Vec<String>> {
    let mut tx = conn.begin().await?;
    tx.execute(QUIET).await?;
    // Citus does so only to nodes without tables, and drops tables only on nodes that answer.
    let inactive = sqlx::query("update pg_dist_node set isactive = false where nodeid = any($1)");
    inactive.bind(&lost.ids).execute(&mut *tx).await?;
    for group in &lost.groups {
        let drop = |(.., name): &(_, _, String)| {
            format!(
                "select citus_drop_all_shards('{name}'::regclass, '', '', drop_shards_metadata_only => true);
                 drop table {name}"
            )
        };
        let sql: Vec<String> = tables_of(*group, all, groups).iter().map(drop).collect();
        tx.execute(AssertSqlSafe(sql.join("; "))).await?;
    }
    for (host, port) in lost.nodes {
        let removed = sqlx::query("select citus_remove_node($1, $2)");
        removed.bind(host).bind(i32::from(*port)).execute(&mut *tx).await?;
    }
    make(&mut tx, all, groups, lost.groups.iter().copied()).await?;
    let scip = scip::delete_imports_in(&mut tx, groups, shards).await?;
    let epoch: i32 = sqlx::query_scalar("update state set lost = null returning epoch")
        .fetch_one(&mut *tx)
        .await?;
    advance(&mut tx, Epoch(epoch + 1)).await?;
    tx.execute("reset client_min_messages").await?;
    tx.commit().await?;
    Ok(scip)
}
