//! Reads rows that the next shards need from Postgres, for several shards at once, while others are searched. A search
//! for something rare looks into every shard.

use std::collections::HashMap;
use std::sync::Arc;

use store::{ShardId, Store};
use tokio::task::JoinSet;

use super::cost::AHEAD_SHARDS;
use super::filters::CachedFilters;
use super::plans::PlanCache;
use super::shards::{ShardCandidate, ShardTask};
use super::state::{ChunkEstimate, Search};
use super::survivors::Survivors;
use super::together::{Prefetched, answer_all, asks_together, read_all};
use crate::cache::texts::Texts;
use crate::threads::of_slow;

/// Data that was read for shards before their turn.
#[derive(Default)]
pub(crate) struct Prefetch {
    known: HashMap<ShardId, Prefetched>,
    /// The shards being read, and the sum of their expected blocks; 0 if their contents are being read.
    reading: Option<(Vec<ShardId>, u64)>,
    /// The task that reads. It runs apart from the merge, so that it returns its connections even while the merge waits
    /// for a client.
    task: JoinSet<Result<Vec<(ShardId, Prefetched)>, store::Error>>,
    /// Approximate number of chunks read.
    pub(crate) chunks: usize,
    /// Expected blocks of the shards with answered lookups, and their candidate chunks.
    pub(crate) estimate: ChunkEstimate,
}

/// Returns whether the texts of a shard are not in memory, so that it certainly needs Postgres.
fn lacks_texts(candidate: &ShardCandidate) -> bool {
    !candidate.cached.texts
}

impl Prefetch {
    /// Returns whether data of a shard remain to be read before its turn.
    pub(crate) fn lacks(&self, candidate: &ShardCandidate) -> bool {
        match self.known.get(&candidate.shard.id) {
            None => lacks_texts(candidate),
            Some(Prefetched::Candidates(ready)) => ready.is_unread(),
            Some(Prefetched::RuledOut | Prefetched::AsksItself) => false,
        }
    }

    /// Returns whether the lookups of a shard are not answered yet.
    pub(crate) fn lacks_answers(&self, candidate: &ShardCandidate) -> bool {
        !self.known.contains_key(&candidate.shard.id)
    }

    /// Takes the data known about a shard whose turn has come.
    pub(crate) fn take(&mut self, shard: ShardId) -> Prefetched {
        self.known.remove(&shard).unwrap_or(Prefetched::AsksItself)
    }

    /// Returns whether a read is in progress.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Detaches the current read, which ends a few statements later. Aborting it would cost its connections.
    pub(crate) fn detach(&mut self) {
        self.task.detach_all();
    }

    /// Waits for the current read.
    pub(crate) async fn finish_reading(&mut self) {
        let Some((shards, expected_blocks)) = &self.reading else {
            return std::future::pending().await;
        };
        match self.task.join_next().await {
            Some(Ok(Ok(read))) => {
                if *expected_blocks > 0 {
                    self.estimate.expected_blocks += *expected_blocks;
                    self.estimate.chunks +=
                        read.iter().map(|(_, known)| known.chunks()).sum::<usize>();
                }
                self.known.extend(read);
            }
            // The shards ask again, and report the error.
            failed => {
                if let Some(Ok(Err(error))) = failed {
                    tracing::debug!("nothing could be read ahead: {error}");
                }
                self.known.extend(shards.iter().map(|shard| (*shard, Prefetched::AsksItself)));
            }
        }
        self.reading = None;
    }

    /// Lets a shard ask for itself.
    pub(crate) fn leave_alone(&mut self, shard: ShardId) {
        self.known.insert(shard, Prefetched::AsksItself);
    }

    /// Begins to answer lookups in Postgres, for the first [`AHEAD_SHARDS`] shards without texts in memory.
    pub(crate) fn begin_answers(
        &mut self,
        shards: &[&ShardCandidate],
        texts: Option<&Texts>,
        (search, store, connections): (&Arc<Search>, &Store, usize),
        plans: &mut PlanCache,
    ) {
        let (selection, query) = (&search.selection, search.query());
        let go_on = || search.state.clock.goes_on();
        // The block filters may leave only places without a wanted file.
        let is_ruled_out = |task: &ShardTask| {
            texts.is_some_and(|texts| {
                let filters = CachedFilters::new(task, selection, query, texts);
                Survivors::of(task, query, &filters, &go_on).rules_out(&task.query.plan)
            })
        };
        let needed = || shards.iter().filter(|of| lacks_texts(of)).take(AHEAD_SHARDS);
        let mut tasks = Vec::new();
        for candidate in needed() {
            let id = candidate.shard.id;
            match selection.task(candidate, query, plans) {
                None => {
                    self.known.insert(id, Prefetched::RuledOut);
                }
                Some(task) if is_ruled_out(&task) => {
                    self.known.insert(id, Prefetched::RuledOut);
                }
                Some(task) if !asks_together(&task) => {
                    self.known.insert(id, Prefetched::AsksItself);
                }
                Some(task) => tasks.push(task),
            }
        }
        let asked: Vec<ShardId> = tasks.iter().map(|task| task.shard.id).collect();
        if !asked.is_empty() {
            let expected_blocks = needed().filter_map(|of| of.expected_blocks).sum();
            let with = (Arc::clone(search), store.clone(), connections);
            self.reading = Some((asked, expected_blocks));
            self.spawn(answer_all(tasks, with), search);
        }
    }

    /// Begins to read the contents of some shards with few candidates, about `most` chunks in all.
    pub(crate) fn begin_contents(
        &mut self,
        shards: impl Iterator<Item = ShardId>,
        most: usize,
        (search, store, connections): (&Arc<Search>, &Store, usize),
    ) {
        let (mut few, mut chunks) = (Vec::new(), 0);
        for id in shards {
            let Some(Prefetched::Candidates(ready)) = self.known.get(&id) else { continue };
            if ready.is_unread() {
                chunks += ready.candidates.chunks();
                if let Some(Prefetched::Candidates(ready)) = self.known.remove(&id) {
                    few.push(*ready);
                }
                if chunks >= most {
                    break;
                }
            }
        }
        self.chunks += chunks;
        // Neighbouring shards share statements.
        few.sort_by_key(|ready| ready.task.shard.id);
        let ids = few.iter().map(|ready| ready.task.shard.id).collect();
        self.reading = Some((ids, 0));
        self.spawn(read_all(few, (Arc::clone(search), store.clone(), connections)), search);
    }

    fn spawn(
        &mut self,
        reading: impl Future<Output = Result<Vec<(ShardId, Prefetched)>, store::Error>> + Send + 'static,
        search: &Search,
    ) {
        match of_slow(search.query()) {
            Some(threads) => self.task.spawn_on(reading, threads),
            None => self.task.spawn(reading),
        };
    }
}
