//! Deletes histories.

use sqlx::PgConnection;

use crate::error::Result;

/// Deletes the commits and lines of some repositories, and all that is said of their histories.
pub(crate) async fn delete(conn: &mut PgConnection, repos: &[i32]) -> Result<()> {
    delete_batches(conn, repos).await?;
    sqlx::query("delete from histories where repo = any($1)").bind(repos).execute(conn).await?;
    Ok(())
}

/// Deletes the commits and lines of some repositories.
pub(super) async fn delete_batches(conn: &mut PgConnection, repos: &[i32]) -> Result<()> {
    let firsts: Vec<i32> =
        sqlx::query_scalar("select first from history_batches where repo = any($1)")
            .bind(repos)
            .fetch_all(&mut *conn)
            .await?;
    for first in firsts {
        delete_batch(conn, first).await?;
    }
    Ok(())
}

/// Deletes a batch.
pub(super) async fn delete_batch(conn: &mut PgConnection, first: i32) -> Result<()> {
    for sql in [
        "delete from history_lines where batch = $1",
        "delete from history_commits c using history_batches b
         where b.first = $1 and c.number >= b.first and c.number < b.upto",
        "delete from history_batches where first = $1",
    ] {
        sqlx::query(sql).bind(first).execute(&mut *conn).await?;
    }
    Ok(())
}
