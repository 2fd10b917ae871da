//! One search in one shard, whatever its source: candidates, their files, their texts, what matches.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use store::{BlobId, File};
use tokio::sync::mpsc;

use super::batch::{Batch, Batches, Group, Groups};
use super::context;
use super::cost::{BatchSizer, MAX_BYTES, READ_FIRST, SMALL_BATCH};
use super::evaluate::{Evaluator, Hits, Jobs, OpenFile};
use super::jobs::{Matching, split};
use super::sender::{ResultSender, ShardEvent};
use super::shards::ShardTask;
use super::source::{Reads, Source};
use super::state::{ChunkCount, Search};
use super::verify::{Hit, MatchInput, Terms, Text, join};
use crate::types::FileMatch;

/// One search in one shard.
pub(crate) struct ShardSearch<'s, S> {
    pub(crate) search: &'s Search,
    pub(crate) task: &'s ShardTask,
    pub(crate) source: S,
    /// The first blob to look at.
    pub(crate) from: BlobId,
    /// Results that were given before and are found again, at most.
    pub(crate) again: usize,
    /// How many threads may work on it at once.
    pub(crate) cores: usize,
    /// How many shards are searched at once.
    pub(crate) beside: usize,
    pub(crate) chunks: &'s ChunkCount,
}

/// There is no need to search further.
struct Enough;

/// A batch whose turn has not come.
struct PendingBatch {
    batch: Batch,
    /// Chunks to read.
    chunks: usize,
    /// What is found in those that were named, if they are read before their files and all of them are at hand.
    matching: Option<Matching>,
}

impl<S: Source> ShardSearch<'_, S> {
    /// Searches, and sends what is found batch by batch. Ends soon after it has one result more than
    /// the limit, which tells that there is more, or when nobody listens any longer.
    pub(crate) async fn run(self, events: mpsc::Sender<ShardEvent>) {
        let Search { request, state, .. } = self.search;
        let select = self.search.query().select;
        let limit = request.limit.map(|limit| limit.saturating_add(self.again));
        let mut results = ResultSender::new(events, select, limit, self.beside, state);
        let ended = if self.is_over() { Ok(()) } else { self.search(&mut results).await };
        results.end(ended).await;
    }

    fn is_over(&self) -> bool {
        self.search.state.clock.is_over()
    }

    /// Goes through the shard range by range. With a limit the ranges are as large as is likely to hold enough, and
    /// then twice as large.
    async fn search(&self, results: &mut ResultSender) -> Result<(), store::Error> {
        let mut sizer = BatchSizer::new(self.search.request.limit, self.source.costs());
        let chunks = self.task.shard.chunks;
        let rate = &self.search.state.hit_rate;
        let mut width = match self.source.survivors() {
            Some(named) => rate.first_range(chunks, named, results.wanted()),
            None => chunks,
        };
        let mut from = self.from.0;
        while from < chunks {
            let end = from.saturating_add(width);
            let upto = if end < chunks { self.source.end_of_range(end) } else { i32::MAX };
            if self.search_range(from..upto, &mut sizer, results).await?.is_err() {
                break;
            }
            (from, width) = (upto, width.saturating_mul(2));
        }
        Ok(())
    }

    /// Goes through the candidates among some blobs batch by batch, and sends what matches.
    async fn search_range(
        &self,
        blobs: Range<i32>,
        sizer: &mut BatchSizer,
        results: &mut ResultSender,
    ) -> Result<Result<(), Enough>, store::Error> {
        let first = blobs.start;
        let candidates = self.source.candidates(blobs).await?;
        let state = &self.search.state;
        state.counters.candidates.fetch_add(candidates.chunks(), Ordering::Relaxed);
        if self.source.survivors().is_none() {
            let blobs = candidates.blobs.as_ref().map_or(self.task.shard.chunks as usize, Vec::len);
            self.chunks.tell(candidates.chunks().max(blobs));
            // It may tell that other shards are to be searched beside this one.
            if self.search.request.limit.is_some() && !results.send_read().await {
                return Ok(Err(Enough));
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
        let on = Evaluator { search: self.search, task: self.task, candidates: &candidates };
        let ahead = self.source.reads_ahead().then_some(self.cores);
        let first = self.source.reads_chunks_first();
        let mut batches = Batches::of(&candidates, files, on.reads_whole(), first, ahead);
        let mut pending = VecDeque::new();
        loop {
            let size = sizer.size(results.wanted(), &state.hit_rate);
            self.begin(&mut pending, &mut batches, on, size);
            let Some(PendingBatch { batch, chunks, matching }) = pending.pop_front() else { break };
            let before = results.results();
            sizer.reads(chunks);
            if self.finish(batch, matching, &batches, on, results).await?.is_err() {
                return Ok(Err(Enough));
            }
            let found = results.results() - before;
            state.hit_rate.note(chunks, found);
            sizer.gave(chunks, found);
            let limited = self.search.request.limit.is_some();
            if limited && found == 0 && !results.send_read().await {
                return Ok(Err(Enough));
            }
        }
        Ok(Ok(()))
    }

    /// Begins to read the next batches, as many as are to be read at a time.
    fn begin(
        &self,
        pending: &mut VecDeque<PendingBatch>,
        batches: &mut Batches<'_>,
        on: Evaluator<'_>,
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
            let at_hand = (batches.read_first && chunks <= READ_FIRST)
                .then(|| self.at_hand(Named::of(&batch.chunks, on, |_, _| true), on))
                .flatten();
            let Some(inputs) = at_hand else {
                pending.push_back(PendingBatch { batch, chunks, matching: None });
                left = 0;
                continue;
            };
            let parts = if batches.are_read_ahead() { split(inputs) } else { vec![inputs] };
            let alone = pending.is_empty() && (chunks >= at_once || batches.is_over());
            let alone = alone && parts.len() == 1;
            for (batch, inputs) in batch.cut(parts) {
                let (chunks, matching) = (batch.reads(), queue.start(inputs, alone));
                left = left.saturating_sub(matching.bytes());
                pending.push_back(PendingBatch { batch, chunks, matching: Some(matching) });
            }
        }
    }

    /// Reads what is left to be read of a batch, and sends what matches.
    async fn finish(
        &self,
        mut batch: Batch,
        matching: Option<Matching>,
        batches: &Batches<'_>,
        on: Evaluator<'_>,
        results: &mut ResultSender,
    ) -> Result<Result<(), Enough>, store::Error> {
        let mut hits = Hits::default();
        if batches.read_first {
            self.read_chunks_first(&mut batch, matching, on, &mut hits).await?;
        }
        if self.is_over() {
            return Ok(Err(Enough));
        }
        let open = self.open(&mut batch, on).await?;
        let mut groups = Groups { whole: batches.whole, batch, open: open.into_iter().peekable() };
        while let Some(group) = groups.next() {
            // What was read of one group says nothing of the next.
            if !batches.read_first {
                hits = Hits::default();
            }
            let files = self.read(group, batches, on, &mut hits).await?;
            if !results.send(files).await || self.is_over() {
                return Ok(Err(Enough));
            }
        }
        Ok(Ok(()))
    }

    /// Reads the chunks that were named, and throws out the blobs for whose files the query cannot hold,
    /// whatever their paths.
    async fn read_chunks_first(
        &self,
        batch: &mut Batch,
        matching: Option<Matching>,
        on: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<(), store::Error> {
        let mut rest = batch.chunks.as_slice();
        if let Some(matching) = matching {
            hits.add(self.search.state.matching.found(matching).await);
            rest = &[];
        }
        // Part by part, since one chunk may be a line of any length; a blob is in one part, since what is
        // found in it is told at once.
        while let Some((_, last, _)) = rest.get(READ_FIRST.min(rest.len()).wrapping_sub(1)) {
            let (part, tail) = rest.split_at(rest.partition_point(|(_, blob, _)| blob <= last));
            rest = tail;
            hits.add(self.read_named(Named::of(part, on, |_, _| true), on).await?);
            if self.is_over() {
                return Ok(());
            }
        }
        on.candidates.lists.iter().for_each(|list| hits.add_read(&list.terms));
        batch.blobs.retain(|blob| on.may_match(*blob, hits));
        Ok(())
    }

    /// The files of a batch that may match as far as is known without their texts: the texts of others,
    /// and of what is no file any longer, need not be loaded.
    async fn open(
        &self,
        batch: &mut Batch,
        on: Evaluator<'_>,
    ) -> Result<Vec<OpenFile>, store::Error> {
        let files: Vec<File> = match batch.files.take() {
            Some(files) => files,
            None if batch.blobs.is_empty() => Vec::new(),
            None => self.source.reader().files(Some(&batch.blobs)).await?,
        };
        self.search.state.counters.files.fetch_add(files.len(), Ordering::Relaxed);
        Ok(files.into_iter().filter_map(|file| on.open(file)).collect())
    }

    /// Reads what has to be read of some files, and gives those for which the query holds.
    async fn read(
        &self,
        group: Group,
        batches: &Batches<'_>,
        on: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<Vec<FileMatch>, store::Error> {
        let open = group.open;
        // First the chunks that were named, as far as they matter.
        if !batches.read_first {
            self.read_lists(&open, &group.chunks, on, hits).await?;
        }
        // Then whole texts, where that did not decide it, or did not find all there is to show.
        let mut wanted = on.wanted(&open, hits);
        wanted.retain(|_, terms| {
            terms.retain(|term| !on.candidates.lists_term(*term));
            !terms.is_empty()
        });
        if !wanted.is_empty() {
            self.read_whole(&open, wanted, on, hits).await?;
        }
        if self.is_over() {
            return Ok(Vec::new());
        }
        let mut files: Vec<FileMatch> = Vec::new();
        let mut open = open.into_iter().peekable();
        while let Some(file) = open.next() {
            let blob = file.file.blob;
            let last = open.peek().is_none_or(|next| next.file.blob != blob);
            files.extend(on.decide(file, last, hits));
        }
        if self.search.request.context != (0, 0) {
            self.add_context(&mut files).await?;
        }
        Ok(files)
    }

    /// Reads the chunks that were named in some files: first those that were named for terms with few of them, since where
    /// such a term is not found, the others need not be read.
    async fn read_lists(
        &self,
        open: &[OpenFile],
        chunks: &[(i32, BlobId, usize)],
        on: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<(), store::Error> {
        let lists = &on.candidates.lists;
        let mut order: Vec<(usize, usize)> = (0..lists.len())
            .map(|list| (chunks.iter().filter(|(.., of)| *of == list).count(), list))
            .collect();
        order.sort_unstable();
        let mut next = order.into_iter().peekable();
        while let Some((mut count, list)) = next.next() {
            let mut some = vec![list];
            // What is few is not worth a round trip of its own.
            while let Some((more, list)) =
                next.next_if(|(more, _)| count + more < 2 * SMALL_BATCH || *more == 0)
            {
                count += more;
                some.push(list);
            }
            let wanted = on.wanted(open, hits);
            let here: Vec<_> =
                chunks.iter().filter(|(.., of)| some.contains(of)).copied().collect();
            let named = Named::of(&here, on, |blob, term| {
                wanted.get(&blob).is_some_and(|terms| terms.contains(&term))
            });
            hits.add(self.read_named(named, on).await?);
            for list in some {
                hits.add_read(&lists[list].terms);
            }
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Chunks that were named, with what to look for in them, if all of them are at hand.
    fn at_hand(&self, named: Named, on: Evaluator<'_>) -> Option<Vec<MatchInput>> {
        let chunks = self.source.reader().chunks_at_hand(&named.numbers())?;
        Some(named.inputs(chunks, on))
    }

    /// Reads chunks that were named, and looks in each for the terms that it was named for.
    async fn read_named(&self, named: Named, on: Evaluator<'_>) -> Result<Vec<Hit>, store::Error> {
        let chunks = self.source.reader().chunks(&named.numbers()).await?;
        Ok(self.verify(named.inputs(chunks, on)).await)
    }

    /// Reads whole texts, and looks in each for the terms that are wanted of it.
    async fn read_whole(
        &self,
        open: &[OpenFile],
        wanted: HashMap<BlobId, Vec<usize>>,
        on: Evaluator<'_>,
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
        let mut jobs = Jobs::new(on);
        let inputs = chunks.into_iter().map(|chunk| {
            let terms = wanted[&chunk.blob].clone();
            jobs.input(chunk, terms)
        });
        hits.add(self.verify(inputs.collect()).await);
        let whole = wanted.into_iter().map(|(blob, terms)| (blob, Terms::from(terms)));
        hits.add_whole(whole.collect());
        Ok(())
    }

    /// Looks for the terms of some texts.
    async fn verify(&self, inputs: Vec<MatchInput>) -> Vec<Hit> {
        let queue: &Arc<_> = &self.search.state.matching;
        queue.found(queue.start(inputs, true)).await
    }

    /// Adds the lines around those that match.
    async fn add_context(&self, files: &mut [FileMatch]) -> Result<(), store::Error> {
        let shown = files.iter().filter(|file| !file.lines.is_empty());
        let mut blobs: Vec<_> = shown.map(|file| (file.place.1, file.bytes)).collect();
        blobs.dedup();
        let chunks = join(self.source.reader().blobs(&blobs).await?);
        let texts = chunks.into_iter().filter_map(|chunk| match chunk.text {
            Text::Owned(text) => Some((chunk.blob, text)),
            // Joined, they lie by themselves.
            Text::Shared(_) | Text::Compressed(_) => None,
        });
        context::add(files, &texts.collect(), self.search.request.context);
        Ok(())
    }
}

/// Chunks to read, by their numbers in order, each with the terms to look for in it.
struct Named(Vec<(i32, Vec<usize>)>);

impl Named {
    /// Of each chunk the terms for which it was named, if they are wanted.
    fn of(
        chunks: &[(i32, BlobId, usize)],
        on: Evaluator<'_>,
        wanted: impl Fn(BlobId, usize) -> bool,
    ) -> Self {
        let mut chunks = chunks.to_vec();
        chunks.sort_unstable();
        let same = chunks.chunk_by(|(n, ..), (next, ..)| n == next);
        let named = same.filter_map(|same| {
            let mut terms = Vec::new();
            for (_, blob, list) in same {
                for term in &on.candidates.lists[*list].terms {
                    if !terms.contains(term) && wanted(*blob, *term) {
                        terms.push(*term);
                    }
                }
            }
            (!terms.is_empty()).then_some((same[0].0, terms))
        });
        Self(named.collect())
    }

    fn numbers(&self) -> Vec<i32> {
        self.0.iter().map(|(n, _)| *n).collect()
    }

    /// Some of these chunks, in their order, with what to look for.
    fn inputs(self, chunks: Vec<super::verify::TextChunk>, on: Evaluator<'_>) -> Vec<MatchInput> {
        let mut jobs = Jobs::new(on);
        let mut named = self.0.into_iter();
        let input = |chunk: super::verify::TextChunk| {
            let (_, terms) = named.find(|(n, _)| *n == chunk.n)?;
            Some(jobs.input(chunk, terms))
        };
        chunks.into_iter().filter_map(input).collect()
    }
}

#[cfg(test)]
mod tests;
