//! Handing on what a shard finds, in order and no further ahead than whoever reads it allows.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use query::Select;
use store::RepoId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::cost::AHEAD_KB;
use super::state::State;
use crate::types::FileMatch;

/// What one shard tells of one search, in order.
#[derive(Debug)]
pub(crate) enum ShardEvent {
    /// The next files. While the permit is held, they count as unread.
    Files(Vec<FileMatch>, OwnedSemaphorePermit),
    /// More was read, and nothing found in it.
    Read,
    /// It could not be searched.
    Failed(store::Error),
    /// That was all. Without it, something broke.
    Done,
}

/// Sends what a shard finds.
pub(crate) struct ResultSender {
    events: mpsc::Sender<ShardEvent>,
    /// Kilobytes that may be unread, and as many permits.
    most_kb: u32,
    ahead: Arc<Semaphore>,
    select: Select,
    files: usize,
    repos: HashSet<RepoId>,
    limit: Option<usize>,
    state: Arc<State>,
}

impl ResultSender {
    /// For a shard that is searched beside so many others. `limit` is the most results of the search.
    pub(crate) fn new(
        events: mpsc::Sender<ShardEvent>,
        select: Select,
        limit: Option<usize>,
        beside: usize,
        state: &Arc<State>,
    ) -> Self {
        let most_kb = (AHEAD_KB / beside.max(1) as u32).max(1);
        let (ahead, state) = (Arc::new(Semaphore::new(most_kb as usize)), Arc::clone(state));
        Self { events, most_kb, ahead, select, files: 0, repos: HashSet::new(), limit, state }
    }

    /// Sends some files; false if there is no need for more.
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
        let heard = self.events.send(ShardEvent::Files(files, permit)).await.is_ok();
        heard && self.wanted() != Some(0)
    }

    /// Says that more was read; false if nobody listens any more.
    pub(crate) async fn send_read(&self) -> bool {
        self.events.send(ShardEvent::Read).await.is_ok()
    }

    /// Sends how the search of the shard ended.
    pub(crate) async fn end(self, ended: Result<(), store::Error>) {
        let last = ended.map_or_else(ShardEvent::Failed, |()| ShardEvent::Done);
        let _ = self.events.send(last).await;
    }

    /// Results of the shard.
    pub(crate) fn results(&self) -> usize {
        if self.select == Select::Repos { self.repos.len() } else { self.files }
    }

    /// How many results are wanted beside those of the shards before and of this one: one more than the limit,
    /// which tells that there is more.
    pub(crate) fn wanted(&self) -> Option<usize> {
        let before = self.state.given.load(Ordering::Relaxed);
        // A repository may be in several shards.
        let before = if self.select == Select::Repos { 0 } else { before };
        let given = before.saturating_add(self.results());
        self.limit.map(|limit| limit.saturating_add(1).saturating_sub(given))
    }
}
