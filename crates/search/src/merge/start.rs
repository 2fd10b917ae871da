//! Starts the searches of shards: only as many as are probably needed, or as will show how many are needed.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::super::candidates::Candidates;
use super::super::cost::{AHEAD_BATCHES, FEW_CHUNKS, WITHOUT_PAUSE, ahead_chunks};
use super::super::filters::CachedFilters;
use super::super::order::estimate_matching_chunks;
use super::super::plans::PlanCache;
use super::super::reader::PrefetchedRows;
use super::super::shard::{ShardRun, is_in_memory};
use super::super::shards::{ShardCandidate, ShardTask};
use super::super::state::{ChunkCount, ChunkEstimate, Search};
use super::super::stats::Stats;
use super::super::survivors::Survivors;
use super::super::together::{Prefetched, ReadyShard};
use super::{Ended, Merge, RunningShard};
use crate::threads::of_slow;

/// The tasks of the shards being searched. A task fails by its panic.
pub(super) type Tasks = JoinSet<Result<(), Box<dyn std::any::Any + Send>>>;

/// A shard to search, and the known data about its candidates.
struct ReadyTask {
    task: ShardTask,
    /// Chunks that survive the filters in memory.
    survivors: Survivors,
    /// The candidates, if Postgres found them in advance, and their contents, if read.
    candidates: Option<Candidates>,
    contents: Option<PrefetchedRows>,
}

impl ReadyTask {
    /// Returns the number of chunks to read, if known. The number of survivors shows it only if the texts are in
    /// memory: for other shards the trigram index returns fewer. Symbols determine the few texts to read only after
    /// their lookup.
    fn count_chunks(&self) -> Option<usize> {
        let survive = self.task.cached.texts && !self.task.query.plan.has_symbols();
        let survivors = || self.survivors.count(&self.task).filter(|_| survive);
        let read = self.contents.as_ref().and(self.candidates.as_ref());
        read.map(Candidates::chunks).or_else(survivors)
    }
}

impl<'a> Merge<'a> {
    /// Starts the next shards, while more of them are likely to be needed.
    pub(super) async fn start(
        &mut self,
        waiting: &mut &[&'a ShardCandidate],
        plans: &mut PlanCache,
        threads: Option<&Handle>,
        tasks: &mut Tasks,
        stats: &mut Stats,
    ) -> Result<(), Ended> {
        let mut paused = Instant::now();
        // Runs up to two shards for each core: while some wait for Postgres, or for the receiver, others match. With a
        // limit `has_enough` stops earlier, since their work may be in vain.
        while self.running.len() < 2 * self.cores && !self.is_first_done() && !self.has_enough() {
            let Some((candidate, later)) = waiting.split_first() else { break };
            if !self.is_read(waiting, plans) {
                break;
            }
            *waiting = later;
            if let Some(ready) = self.prepare(candidate, plans) {
                self.launch(candidate, ready, threads, tasks, stats);
                continue;
            }
            stats.shards_pruned += 1;
            // Many shards in a row may be ruled out, and each may take long.
            if paused.elapsed() > WITHOUT_PAUSE {
                let pause = self.search.state.clock.wait(tokio::task::yield_now());
                pause.await.ok_or(Ended::TimedOut)?;
                paused = Instant::now();
            }
        }
        Ok(())
    }

    /// Starts the search of a shard. A short one runs at once, without a task.
    fn launch(
        &mut self,
        candidate: &ShardCandidate,
        ready: ReadyTask,
        threads: Option<&Handle>,
        tasks: &mut Tasks,
        stats: &mut Stats,
    ) {
        let counted = ready.count_chunks();
        let ReadyTask { task, survivors, candidates, contents } = ready;
        let chunks = Arc::new(ChunkCount::estimated(self.estimate_chunks(candidate)));
        if let Some(counted) = counted {
            chunks.set_counted(counted);
        }
        let of_revision = self.search.selection.memory_at(task.shard.id).is_some();
        // Given texts are searched all at once.
        let in_memory = of_revision
            || self.search.request.texts.is_none()
                && is_in_memory(self.search, &task, &survivors, self.limit.wanted());
        let has_texts = task.cached.texts;
        let (send, events) = mpsc::channel(AHEAD_BATCHES);
        let run = ShardRun {
            search: Arc::clone(self.search),
            store: self.store.clone(),
            cache: self.cache.cloned(),
            from: self.limit.first_blob(task.shard.id),
            max_repeats: self.limit.max_repeats(task.shard.id),
            cores: self.cores,
            concurrent_shards: 2 * self.cores,
            in_memory,
            task,
            survivors,
            candidates,
            contents: contents.map(Arc::new),
            chunks: Arc::clone(&chunks),
        };
        stats.shards_searched += 1;
        stats.shards_from_memory += usize::from(in_memory);
        stats.shards_from_postgres += usize::from(!in_memory);
        // Without `Done`, the merge sees the closed channel and reports the panic.
        let mut run = Box::pin(AssertUnwindSafe(run.run(send)).catch_unwind());
        let is_short = counted.is_some_and(|counted| counted <= FEW_CHUNKS)
            || self.running.is_empty() && self.limit.is_set();
        let is_slow = of_slow(self.search.query()).is_some();
        let is_done = is_short && !is_slow && run.as_mut().now_or_never().is_some();
        let expected_blocks = candidate.expected_blocks.unwrap_or(0);
        self.running.push_back(RunningShard {
            id: candidate.shard.id,
            bytes: candidate.shard.bytes,
            events,
            chunks,
            expected_blocks,
            has_texts,
            is_done,
        });
        if !is_done {
            match threads {
                Some(threads) => tasks.spawn_on(run, threads),
                None => tasks.spawn(run),
            };
        }
    }

    /// Returns whether the first running shard is done. Its results are then passed on before another shard starts.
    fn is_first_done(&self) -> bool {
        self.running.front().is_some_and(|first| first.is_done)
    }

    /// Returns whether the running shards will probably give all results still wanted.
    fn has_enough(&self) -> bool {
        let Some(wanted) = self.limit.wanted() else { return false };
        let waits = self.running.iter().any(|running| !running.has_texts);
        let busy = if waits { 2 * self.cores } else { self.cores };
        let rate = &self.search.state.hit_rate;
        rate.is_enough(self.running_chunks(), self.running.len(), busy, wanted)
    }

    /// Returns the number of chunks to read in the running shards.
    fn running_chunks(&self) -> usize {
        self.running.iter().map(|running| running.chunks.chunks()).sum()
    }

    /// Estimates the chunks to read in a shard from its expected blocks, by the ratio of chunks to expected blocks in the
    /// shards whose chunks are known.
    fn estimate_chunks(&self, candidate: &ShardCandidate) -> usize {
        let counted = |running: &RunningShard| {
            Some(ChunkEstimate {
                expected_blocks: running.expected_blocks,
                chunks: running.chunks.counted()?,
            })
        };
        let basis: ChunkEstimate =
            self.running.iter().filter_map(counted).chain([self.finished]).sum();
        let basis = if basis.expected_blocks > 0 { basis } else { self.prefetch.estimate };
        match candidate.expected_blocks {
            Some(expected_blocks) if basis.expected_blocks > 0 => {
                (u128::from(expected_blocks) * basis.chunks as u128
                    / u128::from(basis.expected_blocks)) as usize
            }
            _ => estimate_matching_chunks(candidate),
        }
    }

    /// Returns whether all data to read in advance for the first of some shards has been read. If not, begins to read
    /// it.
    fn is_read(&mut self, shards: &[&ShardCandidate], plans: &mut PlanCache) -> bool {
        if self.search.request.texts.is_some() {
            return true;
        }
        if self.prefetch.lacks(shards[0]) && !self.prefetch.is_reading() {
            self.begin_reading(shards, plans);
        }
        !self.prefetch.lacks(shards[0])
    }

    /// Begins to read for the first of some shards. If its lookups are answered, reads its contents, and those of
    /// shards after it. If not, answers the lookups of all of them if all are probably needed; otherwise the first asks
    /// for itself.
    fn begin_reading(&mut self, shards: &[&ShardCandidate], plans: &mut PlanCache) {
        let with = (self.search, self.store, self.cores);
        if !self.prefetch.lacks_answers(shards[0]) {
            let most = ahead_chunks(self.limit.wanted(), self.prefetch.chunks);
            let shards = shards.iter().map(|of| of.shard.id);
            self.prefetch.begin_contents(shards, most, with);
        } else if self.needs_all(shards) {
            let texts = self.cache.map(|cache| &*cache.texts);
            self.prefetch.begin_answers(shards, texts, with, plans);
        } else {
            self.prefetch.leave_alone(shards[0].shard.id);
        }
    }

    /// Returns whether some shards will probably give fewer results than are wanted besides those of the running
    /// shards, so that all of them are needed.
    fn needs_all(&self, shards: &[&ShardCandidate]) -> bool {
        let Some(wanted) = self.limit.wanted() else { return true };
        let chunks: usize = shards.iter().map(|next| self.estimate_chunks(next)).sum();
        self.search.state.hit_rate.needs_all(self.running_chunks() + chunks, wanted)
    }

    /// Returns the task of a shard and the known data about its candidates; `None` if the shard is ruled out.
    fn prepare(&mut self, candidate: &ShardCandidate, plans: &mut PlanCache) -> Option<ReadyTask> {
        if let Some(texts) = &self.search.request.texts {
            let blobs = texts.get(&candidate.shard.id)?.clone();
            let task = self.search.selection.task(candidate, self.search.query(), plans)?;
            let (survivors, candidates) = (Survivors::default(), Some(Candidates::in_blobs(blobs)));
            return Some(ReadyTask { task, survivors, candidates, contents: None });
        }
        match self.prefetch.take(candidate.shard.id) {
            Prefetched::RuledOut => return None,
            Prefetched::Candidates(ready) => {
                let ReadyShard { task, candidates, contents, .. } = *ready;
                let (survivors, candidates) = (Survivors::default(), Some(candidates));
                return Some(ReadyTask { task, survivors, candidates, contents });
            }
            Prefetched::AsksItself => {}
        }
        let Search { selection, .. } = &**self.search;
        let query = self.search.query();
        let task = selection.task(candidate, query, plans)?;
        let go_on = || self.search.state.clock.goes_on();
        let survivors = self.cache.map_or_else(Survivors::default, |cache| {
            let filters = CachedFilters::new(&task, selection, query, &cache.texts);
            Survivors::of(&task, query, &filters, &go_on)
        });
        (!survivors.rules_out(&task.query.plan)).then_some(ReadyTask {
            task,
            survivors,
            candidates: None,
            contents: None,
        })
    }
}
