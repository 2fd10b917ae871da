//! Writes the rows of the next epoch that are of other trees than the main ones.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{AssertSqlSafe, PgConnection};

use super::types::{Move, Plan, TreeContents, TreeFile};
use crate::ShardId;
use crate::error::Result;
use crate::ingest::copy::{self, Rows, SEND_BYTES};
use crate::ingest::session::FOREVER;
use crate::trees::Tree;

/// Maximum number of rows to change by one statement.
const BATCH: usize = 20_000;

/// Rows that changed with the trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Files that left the index, or the main tree.
    pub(crate) retired: u64,
    /// Rows of any kind.
    pub(crate) rows: u64,
}

/// Ends and begins the rows of trees, of sets, and of files of the main tree whose trees change; and adds the files that
/// the main tree lacks to those that are new.
pub(crate) async fn apply(
    conn: &mut PgConnection,
    next: i32,
    plans: &[Plan],
    changed: &mut BTreeSet<ShardId>,
) -> Result<Moved> {
    let mut all = Moved::default();
    for plan in plans {
        all.rows += renew_trees(conn, next, plan).await?;
        all.rows += renew_sets(conn, next, plan).await?;
        let mut by_shard: BTreeMap<ShardId, Vec<&Move>> = BTreeMap::new();
        for row in &plan.moves {
            by_shard.entry(row.shard).or_default().push(row);
            let leaves = row.trees.is_none_or(|trees| trees < 0 && row.was >= 0);
            all.retired += u64::from(leaves);
        }
        for (shard, rows) in by_shard {
            for rows in rows.chunks(BATCH) {
                all.rows += move_rows(conn, next, plan, shard, rows).await?;
            }
            changed.insert(shard);
        }
        set_loaded(conn, plan).await?;
        add_others(conn, plan).await?;
    }
    Ok(all)
}

/// Ends the trees that are gone or have changed, and begins those that are new or have changed.
async fn renew_trees(conn: &mut PgConnection, next: i32, plan: &Plan) -> Result<u64> {
    let Columns { bits, kinds, names, sources, commits, files, listed } = Columns::of(&plan.trees);
    let ended = sqlx::query(AssertSqlSafe(format!(
        "update trees t set valid_to = $1 where repo = $2 and valid_to = {FOREVER} and not exists (
             select from unnest($3::int[], $4::text[], $5::text[], $6::text[], $7::text[])
                 n (bit, kind, name, source, commit)
             where n.bit = t.bit and n.kind = t.kind and n.name = t.name
               and n.source is not distinct from t.source and n.commit is not distinct from t.commit)"
    )))
    .bind(next)
    .bind(plan.repo.0)
    .bind(&bits)
    .bind(&kinds)
    .bind(&names)
    .bind(&sources)
    .bind(&commits)
    .execute(&mut *conn)
    .await?;
    let begun = sqlx::query(AssertSqlSafe(format!(
        "insert into trees (repo, bit, kind, name, source, commit, files, listed_at, valid_from)
         select $2, bit, kind, name, source, commit, files, to_timestamp(listed), $1
         from unnest($3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::float8[])
             n (bit, kind, name, source, commit, files, listed)
         where not exists (select from trees t
             where t.repo = $2 and t.valid_to = {FOREVER} and t.kind = n.kind and t.name = n.name)"
    )))
    .bind(next)
    .bind(plan.repo.0)
    .bind(bits)
    .bind(kinds)
    .bind(names)
    .bind(sources)
    .bind(commits)
    .bind(files)
    .bind(listed)
    .execute(conn)
    .await?;
    Ok(ended.rows_affected() + begun.rows_affected())
}

/// The columns of trees, as parameters.
struct Columns<'t> {
    bits: Vec<i32>,
    kinds: Vec<&'t str>,
    names: Vec<&'t str>,
    sources: Vec<Option<&'t str>>,
    commits: Vec<Option<&'t str>>,
    files: Vec<i64>,
    listed: Vec<Option<f64>>,
}

impl<'t> Columns<'t> {
    fn of(trees: &'t [Tree]) -> Self {
        Self {
            bits: trees.iter().map(|tree| tree.bit as i32).collect(),
            kinds: trees.iter().map(|tree| tree.kind.word()).collect(),
            names: trees.iter().map(|tree| tree.name.as_str()).collect(),
            sources: trees.iter().map(|tree| tree.source.as_deref()).collect(),
            commits: trees.iter().map(|tree| tree.commit.as_deref()).collect(),
            files: trees.iter().map(|tree| tree.files).collect(),
            listed: trees.iter().map(|tree| tree.listed).collect(),
        }
    }
}

async fn renew_sets(conn: &mut PgConnection, next: i32, plan: &Plan) -> Result<u64> {
    let ended = sqlx::query(AssertSqlSafe(format!(
        "update tree_sets set valid_to = $1 where repo = $2 and valid_to = {FOREVER} and id = any($3)"
    )))
    .bind(next)
    .bind(plan.repo.0)
    .bind(&plan.ended)
    .execute(&mut *conn)
    .await?;
    let begun = sqlx::query(
        "insert into tree_sets (id, repo, members, valid_from)
         select id, $2, members, $1 from unnest($3::int[], $4::bytea[]) n (id, members)",
    )
    .bind(next)
    .bind(plan.repo.0)
    .bind(plan.sets.iter().map(|(id, _)| *id).collect::<Vec<_>>())
    .bind(plan.sets.iter().map(|(_, members)| members.as_slice()).collect::<Vec<_>>())
    .execute(conn)
    .await?;
    Ok(ended.rows_affected() + begun.rows_affected())
}

/// Ends rows of files of a shard, and puts rows with other trees in their places.
async fn move_rows(
    conn: &mut PgConnection,
    next: i32,
    plan: &Plan,
    shard: ShardId,
    rows: &[&Move],
) -> Result<u64> {
    let files = shard.files();
    let sql = format!(
        "with ended as (
             update {files} f set valid_to = $1
             from unnest($2::int[], $3::text[], $4::int[], $5::int[]) m (blob, path, was, trees)
             where f.shard = {} and f.blob = m.blob and f.repo = $6 and f.path = m.path and f.trees = m.was
               and f.valid_to = {FOREVER}
             returning f.shard, f.blob, f.repo, f.bytes, f.fingerprint, f.language, f.path, m.trees)
         insert into {files} (shard, blob, repo, valid_from, bytes, fingerprint, language, path, trees)
         select shard, blob, repo, $1, bytes, case when trees < 0 then $7 else fingerprint end, language, path, trees
         from ended where trees is not null order by blob",
        shard.0
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(next)
        .bind(rows.iter().map(|row| row.blob.0).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.path.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.was).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.trees).collect::<Vec<_>>())
        .bind(plan.repo.0)
        .bind(plan.format)
        .execute(conn)
        .await?;
    Ok(rows.len() as u64)
}

/// Tells new files of the main tree which other trees have them.
async fn set_loaded(conn: &mut PgConnection, plan: &Plan) -> Result<()> {
    let (most, others) = &plan.loaded;
    if *most != 0 {
        sqlx::query("update loaded set trees = $2 where repo = $1")
            .bind(plan.repo.0)
            .bind(most)
            .execute(&mut *conn)
            .await?;
    }
    for rows in others.chunks(BATCH) {
        sqlx::query(
            "update loaded l set trees = n.trees from unnest($2::text[], $3::int[]) n (path, trees)
             where l.repo = $1 and l.path = n.path",
        )
        .bind(plan.repo.0)
        .bind(rows.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, trees)| *trees).collect::<Vec<_>>())
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

async fn add_others(conn: &mut PgConnection, plan: &Plan) -> Result<()> {
    let statement = "copy loaded (repo, path, shard, blob, bytes, fingerprint, language, trees)
                     from stdin (format binary)";
    let mut rows = Rows::new();
    for (file, trees) in &plan.others {
        let TreeContents::Text { shard, blob, bytes, language } = &file.contents else { continue };
        rows.row(8).i32(plan.repo.0).bytes(file.path.as_bytes()).i16(shard.0).i32(blob.0);
        rows.i32(*bytes).i64(plan.format).text(language.as_deref()).i32(*trees);
        if rows.len() >= SEND_BYTES {
            copy::send(conn, statement, std::mem::take(&mut rows)).await?;
        }
    }
    copy::send(conn, statement, rows).await
}

/// Tells files that are left out of the next epoch which trees leave them out. Those of the main trees are in `left_out`;
/// adds those of others.
pub(crate) async fn apply_to_left_out(conn: &mut PgConnection, plans: &[Plan]) -> Result<()> {
    let statement = "copy left_out (repo, path, bytes, fingerprint, reason, rule, trees)
                     from stdin (format binary)";
    for plan in plans {
        let (most, others) = &plan.left_out;
        if *most != 0 {
            sqlx::query("update left_out set trees = $2 where repo = $1")
                .bind(plan.repo.0)
                .bind(most)
                .execute(&mut *conn)
                .await?;
        }
        for rows in others.chunks(BATCH) {
            let columns = rows.iter().filter_map(|(file, trees)| left_out(file, *trees));
            let columns: Vec<_> = columns.collect();
            sqlx::query(
                "update left_out o set trees = n.trees
                 from unnest($2::text[], $3::text[], $4::text[], $5::int[]) n (path, reason, rule, trees)
                 where o.repo = $1 and o.path = n.path and o.reason = n.reason
                   and o.rule is not distinct from n.rule",
            )
            .bind(plan.repo.0)
            .bind(columns.iter().map(|column| column.0).collect::<Vec<_>>())
            .bind(columns.iter().map(|column| column.1).collect::<Vec<_>>())
            .bind(columns.iter().map(|column| column.2).collect::<Vec<_>>())
            .bind(columns.iter().map(|column| column.3).collect::<Vec<_>>())
            .execute(&mut *conn)
            .await?;
        }
        let mut rows = Rows::new();
        for (file, trees) in &plan.others_left_out {
            let TreeContents::LeftOut { reason, rule, bytes, fingerprint } = &file.contents else {
                continue;
            };
            rows.row(7).i32(plan.repo.0).bytes(file.path.as_bytes()).i64(*bytes).i64(*fingerprint);
            rows.bytes(reason.as_bytes()).text(rule.as_deref()).i32(*trees);
            if rows.len() >= SEND_BYTES {
                copy::send(conn, statement, std::mem::take(&mut rows)).await?;
            }
        }
        copy::send(conn, statement, rows).await?;
    }
    Ok(())
}

fn left_out(file: &TreeFile, trees: i32) -> Option<(&str, &str, Option<&str>, i32)> {
    match &file.contents {
        TreeContents::LeftOut { reason, rule, .. } => {
            Some((&file.path, reason, rule.as_deref(), trees))
        }
        TreeContents::Text { .. } => None,
    }
}

/// Ends the trees and sets of repositories that are removed.
pub(crate) async fn end_of(conn: &mut PgConnection, next: i32, repos: &[i32]) -> Result<()> {
    for table in ["trees", "tree_sets"] {
        sqlx::query(AssertSqlSafe(format!(
            "update {table} set valid_to = $1 where valid_to = {FOREVER} and repo = any($2)"
        )))
        .bind(next)
        .bind(repos)
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Updates what is told of trees and is of no epoch.
pub(crate) async fn make_current(conn: &mut PgConnection, plans: &[Plan]) -> Result<()> {
    for plan in plans {
        let Columns { kinds, names, files, listed, .. } = Columns::of(&plan.trees);
        sqlx::query(AssertSqlSafe(format!(
            "update trees t set files = n.files, listed_at = to_timestamp(n.listed)
             from unnest($2::text[], $3::text[], $4::bigint[], $5::float8[]) n (kind, name, files, listed)
             where t.repo = $1 and t.kind = n.kind and t.name = n.name and t.valid_to = {FOREVER}"
        )))
        .bind(plan.repo.0)
        .bind(kinds)
        .bind(names)
        .bind(files)
        .bind(listed)
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}
