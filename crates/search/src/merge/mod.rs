//! Searches the shards of a search, several at a time, and merges their results in the order of the shards, until the
//! limit is reached or the receiver closes. [`start`] decides which shards to search next, [`limit`] which results are
//! still wanted.

mod limit;
mod start;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use store::{ShardId, Store};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use self::limit::Limit;
use self::start::Tasks;
use super::plans::PlanCache;
use super::prefetch::Prefetch;
use super::sender::ShardEvent;
use super::shards::ShardCandidate;
use super::state::{ChunkCount, ChunkEstimate, Search};
use super::stats::{Stats, Stopped};
use crate::cache::ShardCache;
use crate::threads::of_slow;
use crate::types::Error;
use answer::FileMatch;

/// One search over all its shards.
pub(crate) struct Merge<'a> {
    search: &'a Arc<Search>,
    store: &'a Store,
    cache: Option<&'a Arc<ShardCache>>,
    /// Cores that this search may use. Up to twice as many shards run.
    cores: usize,
    limit: Limit,
    /// Shards being searched, in order.
    running: VecDeque<RunningShard>,
    /// Totals of the shards searched to their end.
    finished: ChunkEstimate,
    /// Data that was read for shards before their turn.
    prefetch: Prefetch,
}

/// A shard being searched.
struct RunningShard {
    id: ShardId,
    /// Bytes of text in it.
    bytes: i64,
    events: mpsc::Receiver<ShardEvent>,
    chunks: Arc<ChunkCount>,
    /// The blocks of the shard that may match: [`ShardCandidate::expected_blocks`].
    expected_blocks: u64,
    /// Whether its texts are in memory, so that it keeps a core busy. Otherwise it waits for Postgres half of the time.
    has_texts: bool,
    /// Whether it was searched to its end at once, so that all of its events are available.
    is_done: bool,
}

/// The reason why a search ended.
enum Ended {
    /// All shards were searched, the limit was reached, or the receiver closed.
    NothingMore,
    /// The deadline passed.
    TimedOut,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(
        search: &'a Arc<Search>,
        store: &'a Store,
        cache: Option<&'a Arc<ShardCache>>,
        cores: usize,
    ) -> Self {
        Self {
            search,
            store,
            cache,
            cores,
            limit: Limit::of(search),
            running: VecDeque::new(),
            finished: ChunkEstimate::default(),
            prefetch: Prefetch::default(),
        }
    }

    /// Searches until the end, the limit or the deadline.
    pub(crate) async fn run(
        mut self,
        plans: &mut PlanCache,
        threads: Option<&Handle>,
        stats: &mut Stats,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<(), Error> {
        // When this future is dropped early, the set aborts all running shards.
        let mut tasks = Tasks::new();
        let of_all = threads.filter(|_| !self.limit.is_set());
        let threads = of_slow(self.search.query()).or(of_all);
        let search = self.search;
        let shards = search.selection.shards.iter();
        let waiting: Vec<&ShardCandidate> =
            shards.filter(|next| !self.limit.is_searched(next.shard.id)).collect();
        let mut waiting = &*waiting;
        let ended = loop {
            if self.start(&mut waiting, plans, threads, &mut tasks, stats).await.is_err() {
                break Ended::TimedOut;
            }
            if self.running.is_empty() && !self.prefetch.is_reading() {
                break Ended::NothingMore;
            }
            let first = async {
                match self.running.front_mut() {
                    Some(first) => first.events.recv().await,
                    None => std::future::pending().await,
                }
            };
            // The next event of the first shard; `None` if a read has finished.
            let next = async {
                tokio::select! {
                    biased;
                    event = first => Some(event),
                    () = self.prefetch.finish_reading() => None,
                }
            };
            let next = tokio::select! {
                biased;
                next = search.state.clock.wait(next) => next,
                // Notices a closed receiver at once, not only when sending the next file.
                () = found.closed() => break Ended::NothingMore,
            };
            let Some(next) = next else { break Ended::TimedOut };
            if let Some(event) = next
                && let Err(ended) = self.handle_event(event, stats, &found).await?
            {
                break ended;
            }
        };
        if matches!(ended, Ended::TimedOut) {
            let timeout = search.request.timeout.unwrap_or_default();
            stats.stopped.get_or_insert(Stopped::Timeout(timeout));
        } else {
            // The tasks have no receiver any more and end by themselves after the current statement. Aborting them
            // would cost their connections.
            tasks.detach_all();
            self.prefetch.detach();
        }
        stats.progress = self.limit.progress;
        Ok(())
    }

    /// Handles the next event of the first running shard.
    async fn handle_event(
        &mut self,
        event: Option<ShardEvent>,
        stats: &mut Stats,
        found: &mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Result<(), Ended>, Error> {
        let clock = &self.search.state.clock;
        match event {
            Some(ShardEvent::Done) if clock.is_over() => return Ok(Err(Ended::TimedOut)),
            Some(ShardEvent::Done) => self.end_first(),
            Some(ShardEvent::Progress) => {}
            Some(ShardEvent::Files(files, _unread)) => {
                let (files, over) = self.limit.take(files, self.search);
                stats.files += files.len();
                stats.matches += files.iter().map(FileMatch::matches).sum::<usize>();
                if over {
                    stats.stopped.get_or_insert(Stopped::Limit);
                }
                let is_open = files.is_empty() || clock.pause(found.send(files)).await.is_ok();
                if over || !is_open {
                    return Ok(Err(Ended::NothingMore));
                }
            }
            // A shard that fails degrades the answer; an unreachable database ends the search.
            Some(ShardEvent::Failed(
                error @ (store::Error::Unreachable(_) | store::Error::Empty),
            )) => return Err(error.into()),
            Some(ShardEvent::Failed(error)) => {
                tracing::error!("a shard could not be searched: {error}");
                if let (store::Error::Node { node, .. }, Some(first)) =
                    (&error, self.running.front())
                {
                    let place = (first.id, self.store.group_of(first.id));
                    stats.missing.add(place, first.bytes, node);
                }
                stats.stopped.get_or_insert(Stopped::Shards(error.to_string()));
                self.running.pop_front();
            }
            None => {
                tracing::error!("the search of a shard failed; see the log");
                let why = "the search of a shard failed; see the log".to_owned();
                stats.stopped.get_or_insert(Stopped::Shards(why));
                self.running.pop_front();
            }
        }
        Ok(Ok(()))
    }

    /// Records that the first running shard was searched to its end.
    fn end_first(&mut self) {
        if let Some(ended) = self.running.pop_front() {
            let ended = ChunkEstimate {
                expected_blocks: ended.expected_blocks,
                chunks: ended.chunks.chunks(),
            };
            self.finished = [self.finished, ended].into_iter().sum();
        }
        self.search.state.finished_results.store(self.limit.results(), Ordering::Relaxed);
    }
}
