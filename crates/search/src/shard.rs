//! The search of one shard, from any source: candidates, then their files, then their texts, then matches.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;
use store::{BlobId, File};
use tokio::sync::mpsc;

use super::batch::{Batch, Batches, FileGroup, FileGroups};
use super::chunk_terms::{ChunkTerms, rarest_first};
use super::context;
use super::cost::{BatchSizer, MAX_BYTES, READ_FIRST, first_range_of_names};
use super::evaluate::{Evaluator, Hits, Jobs, OpenFile};
use super::jobs::{Matching, split};
use super::sender::{ResultSender, ShardEvent};
use super::shards::ShardTask;
use super::source::{ContentReader, Pace, Source};
use super::state::{ChunkCount, Search};
use super::symbols::{enclose, lines};
use super::verify::{ChunkText, Hit, MatchInput, Terms, TextChunk, join};
use answer::FileMatch;

mod read_first;
mod run;

pub(crate) use run::{ShardRun, is_in_memory};

/// The search of one shard.
pub(crate) struct ShardSearch<'s, S> {
    pub(crate) search: &'s Search,
    pub(crate) task: &'s ShardTask,
    pub(crate) source: S,
    /// First blob to search.
    pub(crate) from: BlobId,
    /// Maximum number of results of an earlier search that this one finds again.
    pub(crate) max_repeats: usize,
    /// Number of threads that may work on this shard at once.
    pub(crate) cores: usize,
    /// Number of shards that are searched at once.
    pub(crate) concurrent_shards: usize,
    pub(crate) chunks: &'s ChunkCount,
}

/// The search of the shard ends early: it has enough results, or the whole search is over.
struct StopShard;

/// A batch that is being read ahead, or waits for its turn.
struct PendingBatch {
    batch: Batch,
    /// Number of chunks to read.
    chunks: usize,
    /// The matching of its candidate chunks, if chunks are read before files and all of them could be read
    /// without waiting.
    matching: Option<Matching>,
}

impl<S: Source> ShardSearch<'_, S> {
    /// Searches, and sends results batch by batch. Ends soon after finding one result more than the limit, which shows
    /// that there are more, or when the receiver closes.
    pub(crate) async fn run(self, events: mpsc::Sender<ShardEvent>) {
        let Search { request, state, .. } = self.search;
        let select = self.search.query().select;
        let limit = request.limit.map(|limit| limit.saturating_add(self.max_repeats));
        let mut results = ResultSender::new(events, select, limit, self.concurrent_shards, state);
        let ended = if self.is_over() { Ok(()) } else { self.search(&mut results).await };
        results.end(ended).await;
    }

    fn is_over(&self) -> bool {
        self.search.state.clock.is_over()
    }

    /// Searches the shard range by range. With a limit, the first range is as large as is likely to hold enough
    /// results, and each later one twice as large as the one before.
    async fn search(&self, results: &mut ResultSender) -> Result<(), store::Error> {
        let pace = self.source.pace();
        let mut sizer = BatchSizer::new(self.search.request.limit, pace.costs);
        let chunks = self.task.shard.chunks;
        let rate = &self.search.state.hit_rate;
        let wanted = results.wanted();
        let mut width = match (pace.known_chunks, pace.named_blobs) {
            (Some(named), _) => rate.first_range(chunks, named, wanted),
            (None, Some(blobs)) => first_range_of_names(chunks, blobs, wanted),
            (None, None) => chunks,
        };
        let mut from = self.from.0;
        while from < chunks {
            let end = from.saturating_add(width);
            let upto = if end < chunks { self.source.end_of_range(end) } else { i32::MAX };
            if self.search_range(from..upto, &pace, &mut sizer, results).await?.is_err() {
                break;
            }
            (from, width) = (upto, width.saturating_mul(2));
        }
        Ok(())
    }

    /// Searches the candidates in a range of blobs batch by batch, and sends the matching files.
    async fn search_range(
        &self,
        blobs: Range<i32>,
        pace: &Pace,
        sizer: &mut BatchSizer,
        results: &mut ResultSender,
    ) -> Result<Result<(), StopShard>, store::Error> {
        let first = blobs.start;
        let left = self.task.shard.chunks - first;
        let part =
            f64::from(blobs.end.min(self.task.shard.chunks) - first) / f64::from(left.max(1));
        let candidates = self.source.candidates(blobs).await?;
        let state = &self.search.state;
        state.counters.candidates.fetch_add(candidates.chunks(), Ordering::Relaxed);
        if pace.known_chunks.is_none() {
            let blobs = candidates.blobs.as_ref().map_or(self.task.shard.chunks as usize, Vec::len);
            // The other ranges probably have as many.
            let counted = candidates.chunks().max(blobs) as f64 / part;
            self.chunks.set_counted(counted as usize);
            // Wakes the merge: the exact count may make it start more shards.
            if self.search.request.limit.is_some() && !results.send_progress().await {
                return Ok(Err(StopShard));
            }
        }
        let files = match candidates.blobs {
            None => {
                let mut files = self.source.reader().files(None).await?;
                files.retain(|file| file.blob.0 >= first);
                Some(files)
            }
            Some(_) => None,
        };
        let evaluator = Evaluator { search: self.search, task: self.task, candidates: &candidates };
        let ahead = pace.pipelines.then_some(self.cores);
        let first = pace.reads_chunks_first;
        let mut batches = Batches::of(&candidates, files, evaluator.reads_whole(), first, ahead);
        let mut pending = VecDeque::new();
        loop {
            let size = sizer.size(results.wanted(), &state.hit_rate);
            self.begin(&mut pending, &mut batches, evaluator, size);
            let Some(PendingBatch { batch, chunks, matching }) = pending.pop_front() else { break };
            let before = results.results();
            sizer.reads(chunks);
            if self.finish(batch, matching, &mut batches, evaluator, results).await?.is_err() {
                return Ok(Err(StopShard));
            }
            let found = results.results() - before;
            state.hit_rate.note(chunks, found);
            sizer.gave(chunks, found);
            let limited = self.search.request.limit.is_some();
            if limited && found == 0 && !results.send_progress().await {
                return Ok(Err(StopShard));
            }
        }
        Ok(Ok(()))
    }

    /// Starts batches until `at_once` chunks or [`MAX_BYTES`] of text are being read.
    fn begin(
        &self,
        pending: &mut VecDeque<PendingBatch>,
        batches: &mut Batches<'_>,
        evaluator: Evaluator<'_>,
        at_once: usize,
    ) {
        let queue = &self.search.state.matching;
        let mut underway: usize = pending.iter().map(|next| next.chunks).sum();
        let bytes =
            |next: &PendingBatch| next.matching.as_ref().map_or(usize::MAX, Matching::bytes);
        let mut left = pending.iter().map(bytes).fold(MAX_BYTES, usize::saturating_sub);
        while left > 0
            && let Some(size) = batches.size(at_once, underway)
            && let Some(batch) = batches.next(size)
        {
            let chunks = batch.reads();
            underway += chunks;
            let cached_inputs = (batches.read_first && chunks <= READ_FIRST)
                .then(|| {
                    self.cached_inputs(
                        ChunkTerms::of(&batch.chunks, evaluator, |_, _| true),
                        evaluator,
                    )
                })
                .flatten();
            let Some(inputs) = cached_inputs else {
                pending.push_back(PendingBatch { batch, chunks, matching: None });
                left = 0;
                continue;
            };
            let parts = if batches.are_pipelined() { split(inputs) } else { vec![inputs] };
            let alone = pending.is_empty() && (chunks >= at_once || batches.is_over());
            let alone = alone && parts.len() == 1;
            for (batch, inputs) in batch.cut(parts) {
                let (chunks, matching) = (batch.reads(), queue.start(inputs, alone));
                left = left.saturating_sub(matching.bytes());
                pending.push_back(PendingBatch { batch, chunks, matching: Some(matching) });
            }
        }
    }

    /// Reads the rest of a batch, and sends the matching files.
    async fn finish(
        &self,
        mut batch: Batch,
        matching: Option<Matching>,
        batches: &mut Batches<'_>,
        evaluator: Evaluator<'_>,
        results: &mut ResultSender,
    ) -> Result<Result<(), StopShard>, store::Error> {
        let mut hits = Hits::default();
        if batches.read_first {
            let share_left = &mut batches.share_left;
            self.read_chunks_first(&mut batch, matching, share_left, evaluator, &mut hits).await?;
        }
        if self.is_over() {
            return Ok(Err(StopShard));
        }
        let open = self.open(&mut batch, evaluator).await?;
        let mut groups = FileGroups { batch, open: open.into_iter().peekable() };
        while let Some(group) = groups.next() {
            // Hits belong to the blobs of one group; the next group cannot use them.
            if !batches.read_first {
                hits = Hits::default();
            }
            let files = self.read(group, batches, evaluator, &mut hits).await?;
            if !results.send(files).await || self.is_over() {
                return Ok(Err(StopShard));
            }
        }
        Ok(Ok(()))
    }

    /// Returns the files of a batch that may match, as far as is known without their texts. The texts of other files,
    /// and of blobs without a visible file, need not be loaded.
    async fn open(
        &self,
        batch: &mut Batch,
        evaluator: Evaluator<'_>,
    ) -> Result<Vec<OpenFile>, store::Error> {
        let files: Vec<File> = match batch.files.take() {
            Some(files) => files,
            None if batch.blobs.is_empty() => Vec::new(),
            None => self.source.reader().files(Some(&batch.blobs)).await?,
        };
        self.search.state.counters.files.fetch_add(files.len(), Ordering::Relaxed);
        Ok(files.into_iter().filter_map(|file| evaluator.open(file)).collect())
    }

    /// Reads the texts that some files need, and returns the files that match.
    async fn read(
        &self,
        group: FileGroup,
        batches: &Batches<'_>,
        evaluator: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<Vec<FileMatch>, store::Error> {
        let mut open = group.open;
        if evaluator.asks_symbols() {
            self.read_symbols(&mut open, evaluator, hits).await?;
        }
        // Then the candidate chunks of the terms that still matter.
        if !batches.read_first {
            self.read_lists(&open, &group.chunks, evaluator, hits).await?;
        }
        // Then read whole texts, if chunks did not decide, or did not yield all lines to show.
        let mut wanted = evaluator.wanted(&open, hits);
        wanted.retain(|_, terms| {
            terms.retain(|term| !evaluator.candidates.lists_term(*term));
            !terms.is_empty()
        });
        if !wanted.is_empty() {
            self.read_whole(&open, wanted, evaluator, hits).await?;
        }
        if evaluator.asks_symbols() && self.search.query().select.has_lines() {
            self.read_symbol_lines(&open, evaluator, hits).await?;
        }
        if self.is_over() {
            return Ok(Vec::new());
        }
        let mut files: Vec<FileMatch> = Vec::new();
        let mut open = open.into_iter().peekable();
        while let Some(file) = open.next() {
            let blob = file.file.blob;
            let last = open.peek().is_none_or(|next| next.file.blob != blob);
            files.extend(evaluator.decide(file, last, hits));
        }
        if self.search.request.context != (0, 0) {
            self.add_context(&mut files).await?;
        }
        if self.search.request.enclosing {
            self.add_enclosing(&mut files).await?;
        }
        Ok(files)
    }

    /// Reads the candidate chunks of some files, list by list, the rarest first: if a blob lacks its terms, the chunks
    /// of other lists need not be read.
    async fn read_lists(
        &self,
        open: &[OpenFile],
        chunks: &[(i32, BlobId, usize)],
        evaluator: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<(), store::Error> {
        let lists = &evaluator.candidates.lists;
        for some in rarest_first(chunks, lists.len()) {
            let wanted = evaluator.wanted(open, hits);
            let here: Vec<_> =
                chunks.iter().filter(|(.., of)| some.contains(of)).copied().collect();
            let named = ChunkTerms::of(&here, evaluator, |blob, term| {
                wanted.get(&blob).is_some_and(|terms| terms.contains(&term))
            });
            hits.add(self.match_chunks(named, evaluator).await?);
            for list in some {
                hits.add_read(&lists[list].terms);
            }
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the chunks with their match jobs, if all chunks can be read without waiting.
    fn cached_inputs(
        &self,
        named: ChunkTerms,
        evaluator: Evaluator<'_>,
    ) -> Option<Vec<MatchInput>> {
        let chunks = self.source.reader().cached_chunks(&named.numbers())?;
        Some(named.inputs(chunks, evaluator))
    }

    /// Reads chunks, and matches each with the terms that list it.
    async fn match_chunks(
        &self,
        named: ChunkTerms,
        evaluator: Evaluator<'_>,
    ) -> Result<Vec<Hit>, store::Error> {
        let chunks = self.source.reader().chunks(&named.numbers()).await?;
        Ok(self.verify(named.inputs(chunks, evaluator)).await)
    }

    /// Reads whole texts, and matches each with the terms still wanted for its blob.
    async fn read_whole(
        &self,
        open: &[OpenFile],
        wanted: FxHashMap<BlobId, Vec<usize>>,
        evaluator: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<(), store::Error> {
        let terms = &self.search.query().terms;
        let spans = wanted.values().flatten().any(|term| terms[*term].matcher.spans_lines());
        let files = open.iter().map(|open| &open.file);
        let files = files.filter(|file| wanted.contains_key(&file.blob));
        let mut blobs: Vec<_> = files.map(|file| (file.blob, file.bytes as usize)).collect();
        blobs.dedup();
        let mut chunks = self.source.reader().blobs(&blobs).await?;
        if spans {
            chunks = join(chunks);
        }
        let mut jobs = Jobs::new(evaluator);
        let inputs = chunks.into_iter().map(|chunk| {
            let terms = wanted[&chunk.blob].clone();
            jobs.input(chunk, terms)
        });
        hits.add(self.verify(inputs.collect()).await);
        let whole = wanted.into_iter().map(|(blob, terms)| (blob, Terms::from(terms)));
        hits.add_whole(whole.collect());
        Ok(())
    }

    /// Reads the symbols that some files need, and drops the files that cannot match without them.
    async fn read_symbols(
        &self,
        open: &mut Vec<OpenFile>,
        evaluator: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<(), store::Error> {
        let blobs = evaluator.undecided_symbols(open, hits);
        if !blobs.is_empty() {
            let rows = self.source.reader().symbols(&blobs).await?;
            evaluator.add_symbols(&blobs, &rows, hits);
        }
        open.retain(|open| evaluator.can_match(open, hits));
        Ok(())
    }

    /// Reads the lines of the symbols that matching files show.
    async fn read_symbol_lines(
        &self,
        open: &[OpenFile],
        evaluator: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<(), store::Error> {
        let (mut shown, mut places) = (Vec::new(), Vec::new());
        for file in open {
            let blob = file.file.blob;
            for term in evaluator.shown_symbols(file, hits) {
                if !shown.contains(&(blob, term)) {
                    shown.push((blob, term));
                    let symbols = hits.symbols(blob, term).iter();
                    places.extend(symbols.map(|symbol| (blob, symbol.start as i32)));
                }
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        places.sort_unstable();
        places.dedup();
        let mut chunks: HashMap<BlobId, Vec<TextChunk>> = HashMap::new();
        for chunk in self.source.reader().chunks_at(&places).await? {
            chunks.entry(chunk.blob).or_default().push(chunk);
        }
        for (blob, term) in shown {
            let found = lines(hits.symbols(blob, term), &chunks, blob);
            hits.add_lines(blob, term, found);
        }
        Ok(())
    }

    /// Matches texts.
    async fn verify(&self, inputs: Vec<MatchInput>) -> Vec<Hit> {
        let queue: &Arc<_> = &self.search.state.matching;
        queue.found(queue.start(inputs, true)).await
    }

    /// Adds the context lines around matching lines.
    async fn add_context(&self, files: &mut [FileMatch]) -> Result<(), store::Error> {
        let shown = files.iter().filter(|file| !file.lines.is_empty());
        let mut blobs: Vec<_> = shown.map(|file| (file.blob_key.1, file.bytes)).collect();
        blobs.dedup();
        let chunks = join(self.source.reader().blobs(&blobs).await?);
        let texts = chunks.into_iter().filter_map(|chunk| match chunk.text {
            ChunkText::Owned(text) => Some((chunk.blob, text)),
            // `join` returns owned texts only.
            ChunkText::Shared(_) | ChunkText::Compressed(_) => None,
        });
        context::add(files, &texts.collect(), self.search.request.context);
        Ok(())
    }

    /// Adds the symbols around the matching lines.
    async fn add_enclosing(&self, files: &mut [FileMatch]) -> Result<(), store::Error> {
        let shown = files.iter().filter(|file| !file.lines.is_empty());
        let mut blobs: Vec<BlobId> = shown.map(|file| file.blob_key.1).collect();
        blobs.dedup();
        let rows = self.source.reader().symbols(&blobs).await?;
        let rows: HashMap<BlobId, _> = rows.into_iter().map(|row| (row.blob, row)).collect();
        for file in files {
            if let Some(row) = rows.get(&file.blob_key.1) {
                enclose(&mut file.lines, row);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
