//! Writes histories: which repositories have one, and their batches.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::keep;
use super::{HistoryBatch, HistoryCommit, HistoryRow, PackedNumbers};
use crate::RepoId;
use crate::error::Result;
use crate::ingest::copy::{Rows, SEND_BYTES};
use crate::ingest::fill::use_lz4;
use crate::ingest::session::{FOREVER, Session};
use crate::store::Store;

/// Bytes of an index that is not worth rebuilding, besides half of its lines.
const SMALL_INDEX: i64 = 4 << 20;

/// A row of `histories`.
type Stored = (Vec<Vec<u8>>, bool, Vec<Vec<u8>>, i64);

/// What is stored of the history of a repository.
#[derive(Clone, Debug, Default)]
pub struct HistoryState {
    /// The commits from which the stored ones are reached.
    pub tips: Vec<Vec<u8>>,
    /// Whether all commits are stored.
    pub is_complete: bool,
    /// The commits at which the clone ended, if it was shallow.
    pub shallow: Vec<Vec<u8>>,
    /// Number of changed files whose contents were missing.
    pub missing: i64,
    /// The batches, the oldest first.
    pub batches: Vec<HistoryBatch>,
}

/// A batch to store.
#[derive(Debug, Default)]
pub struct NewBatch {
    /// Its commits, in any order.
    pub commits: Vec<HistoryCommit>,
    /// Number of its distinct lines.
    pub lines: u32,
    /// Bytes of them, with a line feed after each.
    pub bytes: u64,
    /// The paths of its changed files, by their numbers.
    pub paths: Vec<String>,
    /// For each path, the commits that changed it.
    pub path_commits: PackedNumbers,
}

impl NewBatch {
    /// Returns the number of its first commit, and that after its last.
    pub fn range(&self) -> (i32, i32) {
        let numbers = || self.commits.iter().map(|commit| commit.number);
        (numbers().min().unwrap_or_default(), numbers().max().map_or(0, |last| last + 1))
    }
}

/// Some lines of a batch to store.
#[derive(Debug)]
pub struct NewLines {
    /// The number of the first.
    pub first: u32,
    /// The lines, with a line feed after each.
    pub lines: String,
    /// Their distinct words.
    pub lexemes: String,
    /// For each line, the commits that changed it.
    pub commits: PackedNumbers,
}

impl Session {
    /// Returns the commits of the indexed trees of a repository besides its main one, in hexadecimal.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn tree_commits(&mut self, repo: RepoId) -> Result<Vec<String>> {
        let sql = format!(
            "select distinct commit from trees where repo = $1 and valid_to = {FOREVER} and commit is not null order by 1"
        );
        Ok(sqlx::query_scalar(AssertSqlSafe(sql)).bind(repo.0).fetch_all(&mut self.conn).await?)
    }

    /// Has the histories of some repositories indexed or, if `wanted` is false, deletes them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn choose_histories(&mut self, repos: &[RepoId], wanted: bool) -> Result<()> {
        let ids: Vec<i32> = repos.iter().map(|repo| repo.0).collect();
        let mut tx = self.conn.begin().await?;
        if wanted {
            sqlx::query(
                "insert into histories (repo) select unnest($1::int[]) on conflict do nothing",
            )
            .bind(&ids)
            .execute(&mut *tx)
            .await?;
        } else {
            keep::delete(&mut tx, &ids).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Returns what is stored of the history of a repository; `None` if it is not to be indexed.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn history(&mut self, repo: RepoId) -> Result<Option<HistoryState>> {
        let row: Option<Stored> = sqlx::query_as(
            "select tips, is_complete, shallow, missing from histories where repo = $1",
        )
        .bind(repo.0)
        .fetch_optional(&mut self.conn)
        .await?;
        let Some((tips, is_complete, shallow, missing)) = row else { return Ok(None) };
        let batches = sqlx::query_as(
            "select repo, first, upto, lines, bytes, commits::bigint,
                    (select count(*) from history_commits c where c.number >= b.first and c.number < b.upto) as left
             from history_batches b where repo = $1 order by first",
        )
        .bind(repo.0)
        .fetch_all(&mut self.conn)
        .await?;
        Ok(Some(HistoryState { tips, is_complete, shallow, missing, batches }))
    }

    /// Returns the names and numbers of the stored commits of a repository.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn history_commits(&mut self, repo: RepoId) -> Result<Vec<(Vec<u8>, i32)>> {
        Ok(sqlx::query_as(
            "select c.oid, c.number from history_batches b
             join history_commits c on c.number >= b.first and c.number < b.upto
             where b.repo = $1",
        )
        .bind(repo.0)
        .fetch_all(&mut self.conn)
        .await?)
    }

    /// Reserves so many numbers for commits; returns the first.
    ///
    /// # Errors
    /// The server cannot be reached, or all numbers are used.
    pub async fn reserve_history_numbers(&mut self, count: i32) -> Result<i32> {
        let first: i64 = sqlx::query_scalar(
            "select setval('history_numbers', nextval('history_numbers') + $1 - 1) - $1 + 1",
        )
        .bind(i64::from(count.max(1)))
        .fetch_one(&mut self.conn)
        .await?;
        Ok(first as i32)
    }

    /// Returns whether lines have no trigram index: an ingest was killed before it built the index.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn lacks_history_index(&mut self) -> Result<bool> {
        Ok(sqlx::query_scalar(
            "select to_regclass('history_lines_trgm') is null and exists (select from history_lines)",
        )
        .fetch_one(&mut self.conn)
        .await?)
    }

    /// Brings the trigram index of lines up to date: merges its pending list into it, or builds the index. An index to
    /// which many lines were added is rebuilt: merged, 39 MB of lines made it seven times as large. Searches use the
    /// old one meanwhile.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement.
    pub async fn build_history_index(&mut self, memory_kb: u64) -> Result<()> {
        let is_small: Option<bool> = sqlx::query_scalar(
            "select pg_relation_size(to_regclass('history_lines_trgm')) <=
                 (select coalesce(sum(bytes), 0) / 2 + $1 from history_batches)",
        )
        .bind(SMALL_INDEX)
        .fetch_one(&mut self.conn)
        .await?;
        let build =
            "create index history_lines_new on history_lines using gin (lexemes gin_trgm_ops)";
        let sql = match is_small {
            Some(true) => "select gin_clean_pending_list('history_lines_trgm')".to_owned(),
            Some(false) | None => format!(
                "drop index if exists history_lines_new; {build};
                 begin; drop index if exists history_lines_trgm;
                 alter index history_lines_new rename to history_lines_trgm; commit"
            ),
        };
        let before: String = sqlx::query_scalar("select current_setting('maintenance_work_mem')")
            .fetch_one(&mut self.conn)
            .await?;
        let set =
            format!("set maintenance_work_mem = '{memory_kb}kB'; set work_mem = '{memory_kb}kB'");
        self.conn.execute(AssertSqlSafe(set)).await?;
        self.conn.execute(AssertSqlSafe(sql)).await?;
        let reset = format!(
            "set maintenance_work_mem = '{before}'; set work_mem = '64MB';
             analyze history_lines (batch, first, repo); analyze history_batches (first, upto, repo);
             analyze history_commits (number, repo, oid, time)"
        );
        self.conn.execute(AssertSqlSafe(reset)).await?;
        Ok(())
    }

    /// Drops the trigram index of lines if there are no lines: loading them is faster without it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn drop_empty_history_index(&mut self) -> Result<()> {
        let used: bool = sqlx::query_scalar("select exists (select from history_lines)")
            .fetch_one(&mut self.conn)
            .await?;
        if !used {
            self.conn.execute("drop index if exists history_lines_trgm").await?;
        }
        Ok(())
    }
}

/// Changes of one history: a transaction on a connection of its own. Nothing is visible until it is
/// [finished](Self::finish).
#[derive(Debug)]
pub struct HistoryUpdate {
    conn: PgConnection,
    repo: RepoId,
}

impl Store {
    /// Begins to change the history of a repository. The ingest's session must be open.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn update_history(&self, repo: RepoId) -> Result<HistoryUpdate> {
        let mut conn = self.helper().await?;
        use_lz4(&mut conn).await?;
        // What is added to the index is merged at the end, if the index is not rebuilt.
        conn.execute("set gin_pending_list_limit = '1GB'; begin").await?;
        Ok(HistoryUpdate { conn, repo })
    }
}

impl HistoryUpdate {
    /// Deletes all commits and lines, and begins again from these tips. The history is incomplete from then on.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn restart(&mut self, tips: &[Vec<u8>], shallow: &[Vec<u8>]) -> Result<()> {
        keep::delete_batches(&mut self.conn, &[self.repo.0]).await?;
        sqlx::query(
            "update histories set tips = $2, is_complete = false, shallow = $3, missing = 0 where repo = $1",
        )
        .bind(self.repo.0)
        .bind(tips)
        .bind(shallow)
        .execute(&mut self.conn)
        .await?;
        self.save().await
    }

    /// Keeps what was stored so far, even if the rest fails. Only an incomplete history may have parts of a build.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn save(&mut self) -> Result<()> {
        self.conn.execute("commit; begin").await?;
        Ok(())
    }

    /// Adds to the number of changed files whose contents were missing.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn add_missing(&mut self, files: i64) -> Result<()> {
        sqlx::query("update histories set missing = missing + $2 where repo = $1")
            .bind(self.repo.0)
            .bind(files)
            .execute(&mut self.conn)
            .await?;
        Ok(())
    }

    /// Stores a batch.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement.
    pub async fn add(
        &mut self,
        batch: &NewBatch,
        lines: impl Iterator<Item = NewLines> + Send,
    ) -> Result<()> {
        let (first, upto) = batch.range();
        let repo = self.repo.0;
        sqlx::query(
            "insert into history_batches (first, upto, repo, commits, lines, bytes, paths, path_commits)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(first)
        .bind(upto)
        .bind(repo)
        .bind(batch.commits.len() as i32)
        .bind(batch.lines as i32)
        .bind(batch.bytes as i64)
        .bind(&batch.paths)
        .bind(batch.path_commits.bytes())
        .execute(&mut self.conn)
        .await?;
        let mut copy = self
            .conn
            .copy_in_raw(
                "copy history_commits (number, repo, oid, author, time, summary, changes) from stdin (format binary)",
            )
            .await?;
        let mut rows = Rows::new();
        for commit in &batch.commits {
            rows.row(7).i32(commit.number).i32(repo).bytes(&commit.oid);
            rows.text(Some(&commit.author)).i64(commit.time).text(Some(&commit.summary));
            rows.bytes(&commit.changes);
            if rows.len() >= SEND_BYTES {
                copy.send(rows.take()).await?;
            }
        }
        copy.send(rows.finish()).await?;
        copy.finish().await?;
        let mut copy = self
            .conn
            .copy_in_raw(
                "copy history_lines (batch, first, repo, lines, lexemes, commits) from stdin (format binary)",
            )
            .await?;
        let mut rows = Rows::new();
        for NewLines { first: line, lines, lexemes, commits } in lines {
            rows.row(6).i32(first).i32(line as i32).i32(repo);
            rows.text(Some(&lines)).text(Some(&lexemes)).bytes(commits.bytes());
            if rows.len() >= SEND_BYTES {
                copy.send(rows.take()).await?;
            }
        }
        copy.send(rows.finish()).await?;
        copy.finish().await?;
        Ok(())
    }

    /// Returns the paths of a batch.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn paths(&mut self, batch: i32) -> Result<Vec<String>> {
        Ok(sqlx::query_scalar("select paths from history_batches where first = $1")
            .bind(batch)
            .fetch_one(&mut self.conn)
            .await?)
    }

    /// Returns the next rows of lines of a batch, from a line on: about 8 MB.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn rows(&mut self, batch: i32, from: i32) -> Result<Vec<HistoryRow>> {
        Ok(sqlx::query_as(
            "select batch, first, lines, commits from history_lines
             where batch = $1 and first >= $2 order by first limit 256",
        )
        .bind(batch)
        .bind(from)
        .fetch_all(&mut self.conn)
        .await?)
    }

    /// Returns the last 1000 commits of a batch below a number, the last first.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn commits(&mut self, batch: i32, below: i32) -> Result<Vec<HistoryCommit>> {
        Ok(sqlx::query_as(
            "select number, oid, author, time, summary, changes from history_commits
             where number >= $1 and number < $2 order by number desc limit 1000",
        )
        .bind(batch)
        .bind(below)
        .fetch_all(&mut self.conn)
        .await?)
    }

    /// Deletes a batch.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn delete(&mut self, batch: i32) -> Result<()> {
        keep::delete_batch(&mut self.conn, batch).await
    }

    /// Deletes commits that are no longer reached.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn forget(&mut self, numbers: &[i32]) -> Result<()> {
        sqlx::query("delete from history_commits where number = any($1)")
            .bind(numbers)
            .execute(&mut self.conn)
            .await?;
        Ok(())
    }

    /// Makes all changes visible: the history is complete as of these tips.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement; then the history is as it was when it was
    /// [saved](Self::save).
    pub async fn finish(mut self, tips: &[Vec<u8>]) -> Result<()> {
        sqlx::query(
            "update histories set tips = $2, is_complete = true, indexed_at = now() where repo = $1",
        )
        .bind(self.repo.0)
        .bind(tips)
        .execute(&mut self.conn)
        .await?;
        self.conn.execute("commit").await?;
        Ok(self.conn.close().await?)
    }
}
