//! Sends the results of a shard to the merge, in order, and pauses the shard if it gets too far ahead.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use query::Select;
use store::RepoId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::cost::AHEAD_KB;
use super::state::SearchState;
use answer::FileMatch;

/// An event of the search of one shard, in order.
#[derive(Debug)]
pub(crate) enum ShardEvent {
    /// The next files. They count as unread until the permit is dropped.
    Files(Vec<FileMatch>, OwnedSemaphorePermit),
    /// No results, but the merge checks again: candidates were counted, or a batch had no results.
    Progress,
    /// The shard could not be searched.
    Failed(store::Error),
    /// The shard sends nothing more: it was searched to its end, sent one result more than the limit, or the search is
    /// over. If the channel closes without it, the task panicked.
    Done,
}

/// Sends the results of a shard.
pub(crate) struct ResultSender {
    events: mpsc::Sender<ShardEvent>,
    /// Kilobytes of results that may be unread; also the number of permits in `ahead`.
    most_kb: u32,
    ahead: Arc<Semaphore>,
    select: Select,
    files: usize,
    repos: HashSet<RepoId>,
    limit: Option<usize>,
    state: Arc<SearchState>,
}

impl ResultSender {
    /// Creates the sender of one of `concurrent_shards` shards that are searched at once and share [`AHEAD_KB`].
    /// `limit` is that of the search plus the results that it repeats.
    pub(crate) fn new(
        events: mpsc::Sender<ShardEvent>,
        select: Select,
        limit: Option<usize>,
        concurrent_shards: usize,
        state: &Arc<SearchState>,
    ) -> Self {
        let most_kb = (AHEAD_KB / concurrent_shards.max(1) as u32).max(1);
        let (ahead, state) = (Arc::new(Semaphore::new(most_kb as usize)), Arc::clone(state));
        Self { events, most_kb, ahead, select, files: 0, repos: HashSet::new(), limit, state }
    }

    /// Sends files. Returns false if no more are needed.
    pub(crate) async fn send(&mut self, files: Vec<FileMatch>) -> bool {
        if files.is_empty() {
            return true;
        }
        self.files += files.len();
        if self.select == Select::Repos {
            self.repos.extend(files.iter().map(|file| file.repo_id));
        }
        let kb = files.iter().map(FileMatch::size).sum::<usize>() / 1024 + 1;
        let kb = u32::try_from(kb).unwrap_or(self.most_kb).min(self.most_kb);
        let permit = Arc::clone(&self.ahead).acquire_many_owned(kb).await;
        let permit = permit.expect("it is never closed");
        let is_open = self.events.send(ShardEvent::Files(files, permit)).await.is_ok();
        is_open && self.wanted() != Some(0)
    }

    /// Tells the merge to check again. Returns false if the receiver is gone.
    pub(crate) async fn send_progress(&self) -> bool {
        self.events.send(ShardEvent::Progress).await.is_ok()
    }

    /// Sends how the search of the shard ended.
    pub(crate) async fn end(self, ended: Result<(), store::Error>) {
        let last = ended.map_or_else(ShardEvent::Failed, |()| ShardEvent::Done);
        let _ = self.events.send(last).await;
    }

    /// Returns the number of results of the shard.
    pub(crate) fn results(&self) -> usize {
        if self.select == Select::Repos { self.repos.len() } else { self.files }
    }

    /// Returns how many more results are wanted, after those of earlier shards and of this one. One more than the limit
    /// is wanted, to show that there are more.
    pub(crate) fn wanted(&self) -> Option<usize> {
        let before = self.state.finished_results.load(Ordering::Relaxed);
        // A repository of an earlier shard may be found here again, so earlier results do not count.
        let before = if self.select == Select::Repos { 0 } else { before };
        let given = before.saturating_add(self.results());
        self.limit.map(|limit| limit.saturating_add(1).saturating_sub(given))
    }
}
