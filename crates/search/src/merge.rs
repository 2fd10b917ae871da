//! Searches the shards of a search, some at a time, and merges their results in the order of the shards,
//! until the limit is reached or the receiver closes.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::FutureExt;
use query::Select;
use store::{BlobId, ShardId, Store};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::candidates::Candidates;
use super::cost::{AHEAD_BATCHES, FEW_CHUNKS, WITHOUT_PAUSE, ahead_chunks};
use super::order::estimate_matching_chunks;
use super::plans::PlanCache;
use super::prefetch::Prefetch;
use super::sender::ShardEvent;
use super::shards::{ShardCandidate, ShardTask};
use super::source::{ShardRun, is_in_memory};
use super::state::{ChunkCount, ChunkEstimate, Search};
use super::stats::{Stats, Stopped};
use super::survivors::Survivors;
use super::together::{Prefetched, PrefetchedRows, ReadyShard};
use crate::cache::ShardCache;
use crate::threads::of_slow;
use crate::types::{AnswerProgress, Error, Resume};
use answer::FileMatch;

/// One search over all its shards.
pub(crate) struct Merge<'a> {
    search: &'a Arc<Search>,
    store: &'a Store,
    cache: Option<&'a Arc<ShardCache>>,
    /// Cores that this search may use. Up to twice as many shards run.
    cores: usize,
    /// Position from which this search continues, if it does.
    resume: Option<Resume>,
    /// Results so far. Of repositories they include those that an earlier page gave.
    results: usize,
    /// Results that were given, by this search and those before it.
    progress: AnswerProgress,
    /// Shards being searched, in order.
    running: VecDeque<RunningShard>,
    /// Totals of the shards that were searched to their end.
    finished: ChunkEstimate,
    /// What was read for shards before their turn.
    prefetch: Prefetch,
}

/// A shard being searched.
struct RunningShard {
    events: mpsc::Receiver<ShardEvent>,
    chunks: Arc<ChunkCount>,
    /// The blocks of the shard that may match: [`ShardCandidate::expected_blocks`].
    expected_blocks: u64,
    /// Whether its texts are in memory, so that it keeps a core busy. Otherwise it waits for Postgres half of the time.
    has_texts: bool,
    /// Whether it was searched to its end at once, so that all of its events are there.
    is_done: bool,
}

/// A shard to search, and what is known of its candidates.
struct ReadyTask {
    task: ShardTask,
    /// Chunks that survive the filters in memory.
    survivors: Survivors,
    /// The candidates, if Postgres named them beforehand, and their contents, if these were read.
    candidates: Option<Candidates>,
    contents: Option<PrefetchedRows>,
}

impl ReadyTask {
    /// Returns how many chunks will be read, if that is known. The number of survivors says it only if the texts are in
    /// memory: for other shards the trigram index returns fewer. Symbols name the few texts that are read once they are
    /// looked up.
    fn count_chunks(&self) -> Option<usize> {
        let plan = &self.task.query.plan;
        let survive = self.task.cached.texts && !plan.has_symbols();
        let survivors = survive.then(|| self.survivors.count_chunks(plan, &self.task.shard));
        let read = self.contents.as_ref().and(self.candidates.as_ref());
        read.map(Candidates::chunks).or(survivors)
    }
}

/// How a search ended.
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
        let resume = search.request.resume;
        Self {
            search,
            store,
            cache,
            cores,
            resume,
            results: 0,
            progress: AnswerProgress::of(&search.request),
            running: VecDeque::new(),
            finished: ChunkEstimate::default(),
            prefetch: Prefetch::default(),
        }
    }

    /// Returns whether results are repositories. One repository may lie in several shards, so a search that
    /// continues finds all of them again and leaves out those that were given before.
    fn is_of_repos(&self) -> bool {
        self.search.query().select == Select::Repos
    }

    /// Returns how many results are left out because an earlier page gave them.
    fn repeats(&self) -> usize {
        self.resume.filter(|_| self.is_of_repos()).map_or(0, |from| from.results)
    }

    /// Returns the limit, increased by the results that are left out.
    fn limit(&self) -> Option<usize> {
        self.search.request.limit.map(|limit| limit.saturating_add(self.repeats()))
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
        let mut tasks = JoinSet::new();
        let of_all = threads.filter(|_| self.limit().is_none());
        let threads = of_slow(self.search.query()).or(of_all);
        let search = self.search;
        let searched_before = self.resume.filter(|_| !self.is_of_repos()).map(|from| from.searched);
        let waiting: Vec<&ShardCandidate> = search
            .selection
            .shards
            .iter()
            .filter(|next| searched_before.is_none_or(|searched| !searched.contains(next.shard.id)))
            .collect();
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
            // The next event of the first shard; `None` if what was being read is there.
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
                // A receiver that closes is noticed at once, not only when the next file is sent.
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
            // The tasks have no receiver any more and end by themselves after the current statement. Aborting
            // them would cost their connections.
            tasks.detach_all();
            self.prefetch.detach();
        }
        stats.progress = self.progress;
        Ok(())
    }

    /// Starts the next shards: no more than are likely to be needed, or than will show how many are needed.
    async fn start(
        &mut self,
        waiting: &mut &[&'a ShardCandidate],
        plans: &mut PlanCache,
        threads: Option<&Handle>,
        tasks: &mut JoinSet<Result<(), Box<dyn std::any::Any + Send>>>,
        stats: &mut Stats,
    ) -> Result<(), Ended> {
        let (search, limit) = (self.search, self.limit());
        let is_slow = of_slow(search.query()).is_some();
        let mut paused = Instant::now();
        // Runs up to two shards for each core: while some wait for Postgres, or for the receiver, others
        // match. With a limit `has_enough` stops earlier, since their work may be in vain.
        while self.running.len() < 2 * self.cores && !self.is_first_done() && !self.has_enough() {
            let Some((candidate, later)) = waiting.split_first() else { break };
            if self.prefetch.lacks(candidate) {
                if !self.prefetch.is_reading() {
                    self.begin_reading(waiting, plans);
                }
                if self.prefetch.lacks(candidate) {
                    break;
                }
            }
            *waiting = later;
            let Some(ready) = self.prepare(candidate, plans) else {
                stats.shards_pruned += 1;
                // Many shards in a row may be ruled out, and each may take long.
                if paused.elapsed() > WITHOUT_PAUSE {
                    let pause = search.state.clock.wait(tokio::task::yield_now());
                    pause.await.ok_or(Ended::TimedOut)?;
                    paused = Instant::now();
                }
                continue;
            };
            let counted = ready.count_chunks();
            let ReadyTask { task, survivors, candidates, contents } = ready;
            let chunks = Arc::new(ChunkCount::estimated(self.estimate_chunks(candidate)));
            if let Some(counted) = counted {
                chunks.set_counted(counted);
            }
            let wanted = limit.map(|limit| limit.saturating_sub(self.results));
            let in_memory = is_in_memory(search, &task, &survivors, wanted);
            let has_texts = task.cached.texts;
            let (send, events) = mpsc::channel(AHEAD_BATCHES);
            let run = ShardRun {
                search: Arc::clone(search),
                store: self.store.clone(),
                cache: self.cache.cloned(),
                from: self.first_blob(task.shard.id),
                max_repeats: self.max_repeats(task.shard.id),
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
                || self.running.is_empty() && limit.is_some();
            let is_done = is_short && !is_slow && run.as_mut().now_or_never().is_some();
            let expected_blocks = candidate.expected_blocks.unwrap_or(0);
            let running = RunningShard { events, chunks, expected_blocks, has_texts, is_done };
            self.running.push_back(running);
            if !is_done {
                match threads {
                    Some(threads) => tasks.spawn_on(run, threads),
                    None => tasks.spawn(run),
                };
            }
        }
        Ok(())
    }

    /// Returns whether the first running shard is done. Then its results are handed on before another shard is started.
    fn is_first_done(&self) -> bool {
        self.running.front().is_some_and(|first| first.is_done)
    }

    /// Returns whether the running shards are likely to give all results still wanted.
    fn has_enough(&self) -> bool {
        let Some(limit) = self.limit() else { return false };
        let chunks = self.running.iter().map(|running| running.chunks.chunks()).sum();
        let wanted = limit.saturating_sub(self.results);
        let rate = &self.search.state.hit_rate;
        let waits = self.running.iter().any(|running| !running.has_texts);
        let busy = if waits { 2 * self.cores } else { self.cores };
        rate.is_enough(chunks, self.running.len(), busy, wanted)
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

    /// Begins to read for the first of some shards. If its lookups are answered: its contents, and those of shards after
    /// it. If not: the answers of all of them, if all are likely to be needed; else none, and the first asks for itself.
    fn begin_reading(&mut self, shards: &[&ShardCandidate], plans: &mut PlanCache) {
        let with = (self.search, self.store, self.cores);
        let wanted = self.limit().map(|limit| limit.saturating_sub(self.results));
        if !self.prefetch.lacks_answers(shards[0]) {
            let most = ahead_chunks(wanted, self.prefetch.chunks);
            let shards = shards.iter().map(|of| of.shard.id);
            self.prefetch.begin_contents(shards, most, with);
        } else if self.needs_all(shards, wanted) {
            let texts = self.cache.map(|cache| &*cache.texts);
            self.prefetch.begin_answers(shards, texts, with, plans);
        } else {
            self.prefetch.leave_alone(shards[0].shard.id);
        }
    }

    /// Returns whether some shards are likely to give fewer results than are wanted besides those of the running ones, so
    /// that all of them are needed.
    fn needs_all(&self, shards: &[&ShardCandidate], wanted: Option<usize>) -> bool {
        let Some(wanted) = wanted else { return true };
        let running: usize = self.running.iter().map(|running| running.chunks.chunks()).sum();
        let chunks: usize = shards.iter().map(|next| self.estimate_chunks(next)).sum();
        self.search.state.hit_rate.needs_all(running + chunks, wanted)
    }

    /// Returns the task of a shard and what is known of its candidates; `None` if the shard is ruled out.
    fn prepare(&mut self, candidate: &ShardCandidate, plans: &mut PlanCache) -> Option<ReadyTask> {
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
        let texts = self.cache.map(|cache| &*cache.texts);
        let go_on = || self.search.state.clock.goes_on();
        let survivors = Survivors::of(&task, selection, query, texts, &go_on);
        let (candidates, contents) = (None, None);
        (!survivors.rules_out(&task.query.plan)).then_some(ReadyTask {
            task,
            survivors,
            candidates,
            contents,
        })
    }

    /// Returns the blob at which the search of a shard begins.
    fn first_blob(&self, shard: ShardId) -> BlobId {
        let last = self.resume.filter(|_| !self.is_of_repos()).and_then(|from| from.last);
        last.filter(|last| last.shard == shard).map_or(BlobId(0), |last| last.blob)
    }

    /// Returns the most results of a shard that were given before.
    fn max_repeats(&self, shard: ShardId) -> usize {
        match self.resume {
            Some(from) if self.is_of_repos() => from.results,
            Some(from) => {
                let last = from.last.filter(|last| last.shard == shard);
                last.map_or(0, |last| last.files as usize)
            }
            None => 0,
        }
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
                let (files, over) = self.take(files);
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

    /// Notes that the first running shard was searched to its end.
    fn end_first(&mut self) {
        if let Some(ended) = self.running.pop_front() {
            let ended = ChunkEstimate {
                expected_blocks: ended.expected_blocks,
                chunks: ended.chunks.chunks(),
            };
            self.finished = [self.finished, ended].into_iter().sum();
        }
        self.search.state.finished_results.store(self.results, Ordering::Relaxed);
    }

    /// Returns the wanted ones of some files, and whether there are more than the limit.
    fn take(&mut self, files: Vec<FileMatch>) -> (Vec<FileMatch>, bool) {
        let (limit, repeats, state) = (self.limit(), self.repeats(), &self.search.state);
        let mut taken = Vec::with_capacity(files.len());
        for file in files {
            if state.has_repo(file.repo_id) || self.skip_repeat(&file) {
                continue;
            }
            if limit == Some(self.results) {
                return (taken, true);
            }
            state.add_repo(file.repo_id);
            self.results += 1;
            if self.results > repeats {
                self.progress.note(&file);
                taken.push(file);
            }
        }
        (taken, false)
    }

    /// Returns whether a file has the last blob of the position and an earlier page gave it, and counts it off.
    fn skip_repeat(&mut self, file: &FileMatch) -> bool {
        let from = self.resume.as_mut().and_then(|from| from.last.as_mut());
        let from = from.filter(|last| (last.shard, last.blob) == file.blob_key && last.files > 0);
        from.is_some_and(|last| {
            last.files -= 1;
            true
        })
    }
}
