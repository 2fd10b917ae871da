//! Merges small batches, so that a history has few.

use store::{HistoryBatch, HistoryState, HistoryUpdate, unpack_changes};

use super::builder::Builder;
use super::{Failure, Work};

/// Returns the number of batches that stay as they are when so many commits are added. The others are at most twice as
/// large as what is added to them, so that there are few, and each commit is moved a few times; or half of their commits
/// are gone.
pub(super) fn merged(state: &HistoryState, gone: &[i32], new: usize, full: u64) -> usize {
    let left = |batch: &HistoryBatch| {
        let gone = gone.iter().filter(|number| (batch.first..batch.upto).contains(number));
        batch.left - gone.count() as i64
    };
    let mut added = new as i64;
    let mut kept = state.batches.len();
    while let Some(before) = kept.checked_sub(1) {
        let batch = &state.batches[before];
        if left(batch) > 2 * added || batch.bytes as u64 > full / 2 {
            break;
        }
        added += left(batch);
        kept = before;
    }
    let is_worn = |batch: &HistoryBatch| left(batch) * 2 < batch.commits;
    state.batches.iter().position(is_worn).map_or(kept, |worn| worn.min(kept))
}

impl Work<'_> {
    /// Moves the commits of a stored batch into another one, after those that are newer.
    pub(super) async fn merge(
        &mut self,
        update: &mut HistoryUpdate,
        mut builder: Builder,
        batch: i32,
        upto: i32,
    ) -> Result<Builder, Failure> {
        let paths = update.paths(batch).await?;
        let mut text: Vec<String> = Vec::new();
        let mut lines: Vec<(u32, u32, u32)> = Vec::new();
        let mut from = 0;
        loop {
            let rows = update.rows(batch, from).await?;
            let Some(last) = rows.last() else { break };
            from = last.first + 1;
            for row in rows {
                let mut start = 0;
                for line in row.lines.split_inclusive('\n') {
                    let end = start + line.len();
                    lines.push((text.len() as u32, start as u32, end as u32 - 1));
                    start = end;
                }
                text.push(row.lines);
            }
        }
        let mut commits = Vec::new();
        let mut below = upto;
        loop {
            let page = update.commits(batch, below).await?;
            let Some(last) = page.last() else { break };
            below = last.number;
            commits.extend(page);
        }
        // If the other batch becomes full, its rows have keys that these have.
        update.delete(batch).await?;
        let damaged = || {
            store::Error::Unsuitable(
            "the history of lines is damaged; ingest with --no-history and again with --history".to_owned(),
        )
        };
        for commit in commits {
            builder.begin(commit.number);
            for file in unpack_changes(&commit.changes).ok_or_else(damaged)? {
                let path = |number: Option<u32>| match number {
                    None => Some(None),
                    Some(number) => paths.get(number as usize).map(|path| Some(path.as_str())),
                };
                let (old, new) =
                    path(file.old_path).zip(path(file.new_path)).ok_or_else(damaged)?;
                let mut changed = Vec::with_capacity(file.lines.len());
                for line in &file.lines {
                    let (row, start, end) = *lines.get(line.line as usize).ok_or_else(damaged)?;
                    changed
                        .push((line.is_removed, &text[row as usize][start as usize..end as usize]));
                }
                builder.add((old, new), changed.into_iter());
            }
            builder.end(commit);
            if builder.is_full() {
                self.store_batch(update, builder).await?;
                builder = Builder::new(self.full());
            }
        }
        Ok(builder)
    }
}
