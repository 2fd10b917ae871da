//! Maintains documents while the index changes: deletes obsolete ones, counts those that still fit, and checks them.

use sqlx::{AssertSqlSafe, PgConnection};

use super::document::ScipDocument;
use crate::ShardId;
use crate::error::Result;
use crate::tables::Groups;

/// Deletes the documents of some blobs of a shard.
pub(crate) async fn delete(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
    blobs: &[i32],
) -> Result<()> {
    let sql =
        format!("delete from {} where shard = {} and blob = any($1)", shard.scip(groups), shard.0);
    sqlx::query(AssertSqlSafe(sql)).bind(blobs).execute(conn).await?;
    Ok(())
}

/// Deletes the imports of some repositories with their documents, only those of a folder and a tool if given. Returns
/// their number.
pub(crate) async fn delete_imports(
    conn: &mut PgConnection,
    groups: Groups,
    repos: &[i32],
    of: Option<(&str, &str)>,
) -> Result<usize> {
    let (root, tool) = of.unzip();
    let gone: Vec<(i32, Vec<i16>)> = sqlx::query_as(
        "delete from scip_imports
         where repo = any($1) and ($2::text is null or root = $2) and ($3::text is null or tool = $3)
         returning id, shards",
    )
    .bind(repos)
    .bind(root)
    .bind(tool)
    .fetch_all(&mut *conn)
    .await?;
    for (import, shards) in &gone {
        for shard in shards {
            let table = ShardId(*shard).scip(groups);
            let sql = format!("delete from {table} where shard = {shard} and import = $1");
            sqlx::query(AssertSqlSafe(sql)).bind(import).execute(&mut *conn).await?;
        }
    }
    Ok(gone.len())
}

/// Deletes the imports with documents in some shards, and their documents in the others. Returns the names of their
/// repositories.
pub(crate) async fn delete_imports_in(
    conn: &mut PgConnection,
    groups: Groups,
    shards: &[i16],
) -> Result<Vec<String>> {
    let gone: Vec<(i32, Vec<i16>, String)> = sqlx::query_as(
        "delete from scip_imports i using repos r where i.shards && $1 and r.id = i.repo
         returning i.id, i.shards, r.name",
    )
    .bind(shards)
    .fetch_all(&mut *conn)
    .await?;
    for (import, of_import, _) in &gone {
        for shard in of_import.iter().filter(|shard| !shards.contains(shard)) {
            let table = ShardId(*shard).scip(groups);
            let sql = format!("delete from {table} where shard = {shard} and import = $1");
            sqlx::query(AssertSqlSafe(sql)).bind(import).execute(&mut *conn).await?;
        }
    }
    let mut names: Vec<String> = gone.into_iter().map(|(.., name)| name).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Counts again the documents whose files are unchanged, for the imports of some repositories.
pub(crate) async fn recount(conn: &mut PgConnection, groups: Groups, repos: &[i32]) -> Result<()> {
    let imports: Vec<(i32, i32, Vec<i16>)> =
        sqlx::query_as("select id, repo, shards from scip_imports where repo = any($1)")
            .bind(repos)
            .fetch_all(&mut *conn)
            .await?;
    for (import, repo, shards) in imports {
        let mut fitting = 0;
        for shard in shards.into_iter().map(ShardId) {
            let sql = format!(
                "select count(*) from {} s join {} f on f.shard = {n} and f.blob = s.blob and f.path = s.path
                     and f.repo = $2 and f.valid_to = 2147483647
                 where s.shard = {n} and s.import = $1",
                shard.scip(groups),
                shard.files(),
                n = shard.0
            );
            let count: i64 = sqlx::query_scalar(AssertSqlSafe(sql))
                .bind(import)
                .bind(repo)
                .fetch_one(&mut *conn)
                .await?;
            fitting += count;
        }
        sqlx::query("update scip_imports set fitting = $2 where id = $1 and fitting <> $2")
            .bind(import)
            .bind(fitting as i32)
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

/// A stored document: the place of its row, its blob, its path, and its contents, if they can be decoded.
pub(crate) type Stored = (String, i32, String, Option<ScipDocument>);

/// Returns all documents of a shard.
pub(crate) async fn of_shard(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
) -> Result<Vec<Stored>> {
    let sql = format!(
        "select ctid::text, blob, path, names, occurrences from {} where shard = {}",
        shard.scip(groups),
        shard.0
    );
    let rows: Vec<(String, i32, String, String, Vec<u8>)> =
        sqlx::query_as(AssertSqlSafe(sql)).fetch_all(conn).await?;
    let stored = |(at, blob, path, names, bytes): (String, i32, String, String, Vec<u8>)| {
        (at, blob, path, ScipDocument::unpack(names, &bytes))
    };
    Ok(rows.into_iter().map(stored).collect())
}

/// Deletes the documents of a shard that do not fit their texts. They cannot be rebuilt: their index must be imported
/// again.
pub(crate) async fn delete_damaged(
    conn: &mut PgConnection,
    groups: Groups,
    shard: ShardId,
) -> Result<()> {
    let mut damaged = Vec::new();
    for (at, blob, _, document) in of_shard(conn, groups, shard).await? {
        let sql = format!(
            "select coalesce(string_agg(c.contents, '' order by c.n), '') from blobs b join {} c
                 on c.shard = {n} and c.n >= b.id and c.n < b.id + b.chunks
             where b.shard = {n} and b.id = $1",
            shard.chunks(),
            n = shard.0
        );
        let text: String =
            sqlx::query_scalar(AssertSqlSafe(sql)).bind(blob).fetch_one(&mut *conn).await?;
        if document.is_none_or(|document| !document.fits(&text)) {
            damaged.push(at);
        }
    }
    if damaged.is_empty() {
        return Ok(());
    }
    let sql = format!("delete from {} where ctid = any($1::text[]::tid[])", shard.scip(groups));
    sqlx::query(AssertSqlSafe(sql)).bind(damaged).execute(&mut *conn).await?;
    let repos: Vec<i32> =
        sqlx::query_scalar("select repo from scip_imports where $1 = any(shards)")
            .bind(shard.0)
            .fetch_all(&mut *conn)
            .await?;
    recount(conn, groups, &repos).await
}
