//! Reads histories for searches, in one state.

use query::LiteralQuery;
use sqlx::FromRow;

use super::{HistoryCommit, PackedNumbers};
use crate::RepoId;
use crate::candidates::LexemesCondition;
use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::store::Store;

/// A batch of commits, without its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryBatch {
    /// Its repository.
    pub repo: RepoId,
    /// The number of its first commit, which is its key.
    pub first: i32,
    /// The number after that of its last commit.
    pub upto: i32,
    /// Number of its lines.
    pub lines: u32,
    /// Bytes of its lines.
    pub bytes: i64,
    /// Number of its commits when it was stored.
    pub commits: i64,
    /// Number of its commits that are left.
    pub left: i64,
}

/// The paths of a batch.
#[derive(Clone, Debug, Default)]
pub struct HistoryPaths {
    /// The paths, by their numbers.
    pub paths: Vec<String>,
    /// For each path, the commits that changed it.
    pub commits: PackedNumbers,
}

/// Some lines of a batch.
#[derive(Clone, Debug)]
pub struct HistoryRow {
    /// The key of the batch.
    pub batch: i32,
    /// The number of the first line.
    pub first: i32,
    /// The lines, with a line feed after each.
    pub lines: String,
    /// For each line, the commits that changed it.
    pub commits: PackedNumbers,
}

impl<'r> FromRow<'r, sqlx::postgres::PgRow> for HistoryBatch {
    fn from_row(row: &'r sqlx::postgres::PgRow) -> sqlx::Result<Self> {
        let (repo, first, upto, lines, bytes, commits, left): (i32, i32, i32, i32, i64, i64, i64) =
            FromRow::from_row(row)?;
        let (repo, lines) = (RepoId(repo), lines.cast_unsigned());
        Ok(Self { repo, first, upto, lines, bytes, commits, left })
    }
}

impl<'r> FromRow<'r, sqlx::postgres::PgRow> for HistoryRow {
    fn from_row(row: &'r sqlx::postgres::PgRow) -> sqlx::Result<Self> {
        let (batch, first, lines, commits): (i32, i32, String, Vec<u8>) = FromRow::from_row(row)?;
        Ok(Self { batch, first, lines, commits: PackedNumbers::of(commits) })
    }
}

impl<'r> FromRow<'r, sqlx::postgres::PgRow> for HistoryCommit {
    fn from_row(row: &'r sqlx::postgres::PgRow) -> sqlx::Result<Self> {
        let (number, oid, author, time, summary, changes) = FromRow::from_row(row)?;
        Ok(Self { number, oid, author, time, summary, changes })
    }
}

/// All histories in one state, on a connection of their own. Dropping it cancels the running statement.
#[derive(Debug)]
pub struct HistorySnapshot(Lease);

impl Store {
    /// Returns the state of all histories as of now.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn histories(&self) -> Result<HistorySnapshot> {
        let mut lease = self.lease().await?;
        let begin = "begin isolation level repeatable read read only".to_owned();
        lease.rows(BoundStatement::new(begin)).await?;
        Ok(HistorySnapshot(lease))
    }
}

impl HistorySnapshot {
    /// Ends it, and gives the connection back.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn done(mut self) -> Result<()> {
        self.0.rows(BoundStatement::new("commit".to_owned())).await?;
        self.0.done();
        Ok(())
    }

    /// Returns which of some repositories have a complete history.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn complete(&mut self, repos: &[RepoId]) -> Result<Vec<RepoId>> {
        let sql = "select repo from histories where is_complete and repo = any($1) order by repo";
        let repos: Vec<i32> = repos.iter().map(|repo| repo.0).collect();
        let rows: Vec<(i32,)> =
            self.0.fetch(BoundStatement::new(sql.to_owned()).bind(repos)).await?;
        Ok(rows.into_iter().map(|(repo,)| RepoId(repo)).collect())
    }

    /// Returns the batches of some complete histories.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn batches(&mut self, repos: &[RepoId]) -> Result<Vec<HistoryBatch>> {
        let sql = "select repo, first, upto, lines, bytes, commits::bigint, commits::bigint
                   from history_batches where repo = any($1) order by first";
        let repos: Vec<i32> = repos.iter().map(|repo| repo.0).collect();
        self.0.fetch(BoundStatement::new(sql.to_owned()).bind(repos)).await
    }

    /// Returns the paths of a batch.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn paths(&mut self, batch: &HistoryBatch) -> Result<HistoryPaths> {
        let sql = "select paths, path_commits from history_batches where first = $1";
        let bound = BoundStatement::new(sql.to_owned()).bind(batch.first);
        let rows: Vec<(Vec<String>, Vec<u8>)> = self.0.fetch(bound).await?;
        let of = |(paths, commits)| HistoryPaths { paths, commits: PackedNumbers::of(commits) };
        Ok(rows.into_iter().next().map(of).unwrap_or_default())
    }

    /// Returns the rows whose lines may hold some literals, as key of the batch and number of the first line, ascending.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn candidates(
        &mut self,
        batches: &[HistoryBatch],
        literals: &LiteralQuery,
    ) -> Result<Vec<(i32, i32)>> {
        let condition = LexemesCondition::of(literals, self.0.no_recheck());
        let sql = format!(
            "select batch, first from history_lines where {} and $1 and batch = any($2::int[]) order by batch, first",
            condition.sql()
        );
        let firsts: Vec<i32> = batches.iter().map(|batch| batch.first).collect();
        let bound = BoundStatement::new(sql).bind(true).bind(firsts);
        self.0.fetch(condition.bind(bound)).await
    }

    /// Returns some rows, in order.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn rows(&mut self, keys: &[(i32, i32)]) -> Result<Vec<HistoryRow>> {
        let sql = "select l.batch, l.first, l.lines, l.commits
                   from unnest($1::int[], $2::int[]) asked (batch, first)
                   join history_lines l on l.batch = asked.batch and l.first = asked.first
                   order by l.batch, l.first";
        let bound = BoundStatement::new(sql.to_owned())
            .bind(keys.iter().map(|(batch, _)| *batch).collect::<Vec<_>>())
            .bind(keys.iter().map(|(_, first)| *first).collect::<Vec<_>>());
        self.0.fetch(bound).await
    }

    /// Returns the times of the commits with some numbers that exist, and their numbers.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn times(&mut self, numbers: &[i32]) -> Result<Vec<(i64, i32)>> {
        let sql = "select time, number from unnest($1::int[]) asked join history_commits on number = asked";
        self.0.fetch(BoundStatement::new(sql.to_owned()).bind(numbers)).await
    }

    /// Returns the times and numbers of all commits of a batch.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn all_times(&mut self, batch: &HistoryBatch) -> Result<Vec<(i64, i32)>> {
        let sql = "select time, number from history_commits where number >= $1 and number < $2";
        let bound = BoundStatement::new(sql.to_owned()).bind(batch.first).bind(batch.upto);
        self.0.fetch(bound).await
    }

    /// Returns the commits with some numbers, in any order.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn commits(&mut self, numbers: &[i32]) -> Result<Vec<HistoryCommit>> {
        let sql = "select number, oid, author, time, summary, changes
                   from unnest($1::int[]) asked join history_commits on number = asked";
        self.0.fetch(BoundStatement::new(sql.to_owned()).bind(numbers)).await
    }
}
