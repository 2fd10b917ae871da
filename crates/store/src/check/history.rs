//! Checks the histories of lines: the words of lines, and that commits and lines name each other.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use futures_util::TryStreamExt;
use query::Lexemes;

use super::{Check, Problem};
use crate::error::Result;
use crate::history::{HistoryBatch, HistoryCommit, HistoryRow, unpack_changes};

/// What is known of a batch, whichever of its tables is read.
#[derive(Default)]
struct Sums {
    /// A sum over all pairs of a line and a commit that changed it.
    pairs: u64,
    lines: u64,
    bytes: u64,
}

impl Check {
    /// Checks the histories of lines.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn histories(&mut self) -> Result<Vec<Problem>> {
        let batches: Vec<HistoryBatch> = sqlx::query_as(
            "select repo, first, upto, lines, bytes, commits::bigint, commits::bigint from history_batches order by first",
        )
        .fetch_all(&mut self.conn)
        .await?;
        let mut problems = Vec::new();
        for batch in batches {
            let (name, paths): (String, i64) = sqlx::query_as(
                "select coalesce(r.name, 'a repository that is gone'), cardinality(b.paths)::bigint
                 from history_batches b left join repos r on r.id = b.repo where b.first = $1",
            )
            .bind(batch.first)
            .fetch_one(&mut self.conn)
            .await?;
            let mut found = HashSet::new();
            let hasher = RandomState::new();
            let commits = self.commits_of(&batch, paths, &hasher, &mut found).await?;
            let lines = self.lines_of(&batch, &hasher, &mut found).await?;
            // The lines of a commit that is gone name it until the batch is merged with another one.
            if commits.1 == batch.commits && commits.0.pairs != lines.pairs {
                found.insert("its commits and its lines do not name each other");
            }
            if lines.lines != u64::from(batch.lines) || lines.bytes != batch.bytes as u64 {
                found.insert("some of its lines are missing");
            }
            let mut found: Vec<&str> = found.into_iter().collect();
            found.sort_unstable();
            problems.extend(found.into_iter().map(|what| Problem {
                shard: None,
                what: format!(
                    "the history of {name} is damaged ({what}); ingest it with --no-history and again with --history"
                ),
                is_derived: false,
            }));
        }
        Ok(problems)
    }

    /// Reads the commits of a batch; returns their number, too.
    async fn commits_of(
        &mut self,
        batch: &HistoryBatch,
        paths: i64,
        hasher: &RandomState,
        found: &mut HashSet<&'static str>,
    ) -> Result<(Sums, i64)> {
        let mut rows = sqlx::query_as::<_, HistoryCommit>(
            "select number, oid, author, time, summary, changes from history_commits
             where number >= $1 and number < $2",
        )
        .bind(batch.first)
        .bind(batch.upto)
        .fetch(&mut self.conn);
        let (mut sums, mut commits) = (Sums::default(), 0);
        while let Some(commit) = rows.try_next().await? {
            commits += 1;
            let Some(files) = unpack_changes(&commit.changes) else {
                found.insert("the changes of a commit cannot be read");
                continue;
            };
            let mut lines = HashSet::new();
            for file in files {
                let mut of_file = [file.old_path, file.new_path].into_iter().flatten().peekable();
                if of_file.peek().is_none() || of_file.any(|path| i64::from(path) >= paths) {
                    found.insert("a changed file has no path");
                }
                lines.extend(file.lines.iter().map(|line| line.line));
            }
            for line in lines {
                if line >= batch.lines {
                    found.insert("a commit has a line that is not there");
                }
                let hash = hasher.hash_one((line, commit.number));
                sums.pairs = sums.pairs.wrapping_add(hash);
            }
        }
        Ok((sums, commits))
    }

    async fn lines_of(
        &mut self,
        batch: &HistoryBatch,
        hasher: &RandomState,
        found: &mut HashSet<&'static str>,
    ) -> Result<Sums> {
        let mut rows = sqlx::query_as::<_, (i32, i32, String, Vec<u8>, String)>(
            "select batch, first, lines, commits, lexemes from history_lines where batch = $1 order by first",
        )
        .bind(batch.first)
        .fetch(&mut self.conn);
        let mut sums = Sums::default();
        while let Some((of, first, lines, commits, stored)) = rows.try_next().await? {
            let commits = crate::PackedNumbers::of(commits);
            let row = HistoryRow { batch: of, first, lines, commits };
            if u64::from(row.first.cast_unsigned()) != sums.lines {
                found.insert("its lines are not in order");
            }
            let mut lexemes = Lexemes::default();
            lexemes.add(&row.lines);
            if lexemes.text() != stored {
                found.insert("some words of its lines are missing");
            }
            let count = row.lines.matches('\n').count();
            let mut seen = |line: usize, number: i32| {
                let hash = hasher.hash_one((row.first.cast_unsigned() + line as u32, number));
                sums.pairs = sums.pairs.wrapping_add(hash);
            };
            if !row.lines.ends_with('\n') || !row.commits.each(0..count, batch.upto, &mut seen) {
                found.insert("the commits of its lines cannot be read");
            }
            sums.lines += count as u64;
            sums.bytes += row.lines.len() as u64;
        }
        Ok(sums)
    }
}
