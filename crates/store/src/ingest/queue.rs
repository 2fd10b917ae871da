//! What the one ingest takes from the queue, and notes in it.

use std::path::Path;
use std::time::Duration;

use sqlx::AssertSqlSafe;

use super::session::Session;
use crate::RepoId;
use crate::error::Result;
use crate::queue::IS_FOR_MIRRORS;
use crate::queue::{COLUMNS, Columns, PendingRow, row};

/// A folder that was ingested, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its absolute path, without links.
    pub path: String,
    /// Levels below it at which every folder is a repository; `None` if every folder with a `.git` is one.
    pub depth: Option<usize>,
    /// Whether git data elsewhere are read if their user owns them.
    pub follows: bool,
    /// Maximum bytes of a file to index.
    pub max_bytes: u64,
}

/// Longest time after which a failed ingest is tried again, in seconds.
const LONGEST_DELAY: i32 = 3600;

impl Session {
    /// Returns the rows of the queue that are due, in their order; of `all`, also those that wait after a failure.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn due(&mut self, all: bool) -> Result<Vec<PendingRow>> {
        let sql = format!(
            "select {COLUMNS} from pending where ($1 or due <= clock_timestamp()) and not {IS_FOR_MIRRORS} order by id"
        );
        let rows: Vec<Columns> =
            sqlx::query_as(AssertSqlSafe(sql)).bind(all).fetch_all(&mut self.conn).await?;
        Ok(rows.into_iter().map(row).collect())
    }

    /// Returns the rows of the queue that are older than a time.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn covered(&mut self, age: Duration) -> Result<Vec<PendingRow>> {
        let sql = format!(
            "select {COLUMNS} from pending
             where since < clock_timestamp() - $1 * interval '1 second' and not {IS_FOR_MIRRORS} order by id"
        );
        let rows: Vec<Columns> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(age.as_secs_f64())
            .fetch_all(&mut self.conn)
            .await?;
        Ok(rows.into_iter().map(row).collect())
    }

    /// Deletes rows of the queue for which nothing has to be published.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn drop_pending(&mut self, rows: &[i64]) -> Result<()> {
        let delete = sqlx::query("delete from pending where id = any($1)").bind(rows);
        delete.execute(&mut self.conn).await?;
        Ok(())
    }

    /// Notes that rows of the queue, and repositories in some folders, could not be brought up to date. The rows are due
    /// again after a time that doubles with each failure, up to an hour.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn fail(&mut self, rows: &[i64], sources: &[String], why: &str) -> Result<()> {
        sqlx::query(
            "update pending set failures = failures + 1, failure = $2,
                 due = clock_timestamp() + least(2.0 ^ least(failures + 1, 20), $3) * interval '1 second'
             where id = any($1)",
        )
        .bind(rows)
        .bind(why)
        .bind(LONGEST_DELAY)
        .execute(&mut self.conn)
        .await?;
        sqlx::query(
            "update repos set failures = failures + 1, failure = $2, failed_at = clock_timestamp()
             where source = any($1)",
        )
        .bind(sources)
        .bind(why)
        .execute(&mut self.conn)
        .await?;
        Ok(())
    }

    /// Returns the folders that were ingested.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn roots(&mut self) -> Result<Vec<Root>> {
        let rows: Vec<(String, Option<i32>, bool, i64)> =
            sqlx::query_as("select path, depth, follow_git, max_bytes from roots order by path")
                .fetch_all(&mut self.conn)
                .await?;
        let root = |(path, depth, follows, max_bytes): (String, Option<i32>, bool, i64)| {
            let depth = depth.map(|depth| depth.unsigned_abs() as usize);
            Root { path, depth, follows, max_bytes: max_bytes.unsigned_abs() }
        };
        Ok(rows.into_iter().map(root).collect())
    }

    /// Remembers folders that are ingested now. Those inside of them that were ingested before are forgotten: all below is
    /// as the last ingest found it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn remember_roots(&mut self, roots: &[Root]) -> Result<()> {
        let known = self.roots().await?;
        for root in roots {
            if known.contains(root) && !known.iter().any(|other| is_inside(other, root)) {
                continue;
            }
            sqlx::query("delete from roots where starts_with(path, rtrim($1, '/') || '/')")
                .bind(&root.path)
                .execute(&mut self.conn)
                .await?;
            sqlx::query(
                "insert into roots (path, depth, follow_git, max_bytes) values ($1, $2, $3, $4)
                 on conflict (path) do update
                 set depth = excluded.depth, follow_git = excluded.follow_git, max_bytes = excluded.max_bytes",
            )
            .bind(&root.path)
            .bind(root.depth.map(|depth| i32::try_from(depth).unwrap_or(i32::MAX)))
            .bind(root.follows)
            .bind(i64::try_from(root.max_bytes).unwrap_or(i64::MAX))
            .execute(&mut self.conn)
            .await?;
        }
        Ok(())
    }

    /// Notes that a repository of which only a part was compared is indexed as it was when that began: nothing else has
    /// changed.
    pub fn note_looking(&mut self, repo: RepoId, is_complete: bool) {
        self.note_listing(repo);
        self.listed.remove(&repo);
        if !is_complete {
            self.looked.remove(&repo);
        }
    }
}

fn is_inside(one: &Root, other: &Root) -> bool {
    one.path != other.path && Path::new(&one.path).starts_with(&other.path)
}
