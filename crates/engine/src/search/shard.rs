//! One search in one shard, whatever its source: candidates, their files, their texts, what matches.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use store::{BlobId, File};
use tokio::sync::mpsc;

use super::batch::{Batch, Batches, Group, Groups};
use super::context;
use super::cost::{BatchSizer, MAX_BYTES, READ_FIRST};
use super::evaluate::{Evaluator, Hits, Jobs, OpenFile};
use super::jobs::{Matching, split};
use super::sender::{ResultSender, ShardEvent};
use super::shards::ShardTask;
use super::source::Source;
use super::state::Search;
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
        let files = match candidates.blobs {
            None => {
                let mut files = self.source.files(None).await?;
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
            let files = self.read(group, on, &mut hits).await?;
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
        hits.chunks_read = true;
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
            None => self.source.files(Some(&batch.blobs)).await?,
        };
        self.search.state.counters.files.fetch_add(files.len(), Ordering::Relaxed);
        Ok(files.into_iter().filter_map(|file| on.open(file)).collect())
    }

    /// Reads what has to be read of some files, and gives those for which the query holds.
    async fn read(
        &self,
        group: Group,
        on: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<Vec<FileMatch>, store::Error> {
        let open = group.open;
        // First the chunks that were named, as far as they matter.
        if !hits.chunks_read {
            let wanted = on.wanted(&open, hits);
            let named = Named::of(&group.chunks, on, |blob, term| {
                wanted.get(&blob).is_some_and(|terms| terms.contains(&term))
            });
            hits.add(self.read_named(named, on).await?);
            hits.chunks_read = true;
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

    /// Chunks that were named, with what to look for in them, if all of them are at hand.
    fn at_hand(&self, named: Named, on: Evaluator<'_>) -> Option<Vec<MatchInput>> {
        let chunks = self.source.chunks_at_hand(&named.numbers())?;
        Some(named.inputs(chunks, on))
    }

    /// Reads chunks that were named, and looks in each for the terms that it was named for.
    async fn read_named(&self, named: Named, on: Evaluator<'_>) -> Result<Vec<Hit>, store::Error> {
        let chunks = self.source.chunks(&named.numbers()).await?;
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
        let mut chunks = self.source.blobs(&blobs).await?;
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
        let chunks = join(self.source.blobs(&blobs).await?);
        let texts = chunks.into_iter().filter_map(|chunk| match chunk.text {
            Text::Plain(text) => Some((chunk.blob, text)),
            Text::Compressed(_) => None,
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
mod tests {
    use std::collections::HashMap as Map;
    use std::time::Instant;

    use query::{Case, Lookup, Query};
    use store::{CatalogRepo, Epoch, RepoId, Shard, ShardId};

    use super::super::candidates::{Answer, Answers, Candidates, LookUp};
    use super::super::clock::Clock;
    use super::super::cost::{MEMORY, SourceCosts};
    use super::super::plans::PlanCache;
    use super::super::shards::Selection;
    use super::super::state::State;
    use super::super::verify::TextChunk;
    use super::*;
    use crate::types::Request;

    /// A source made of vectors: of each chunk its blob, where it begins there, and its text. Every blob has a file.
    struct Vectors {
        chunks: Vec<(BlobId, u64, &'static str)>,
        plan: query::Plan,
    }

    impl Vectors {
        fn chunk(&self, n: i32) -> TextChunk {
            let (blob, start, text) = self.chunks[n as usize];
            let before = self.chunks[blob.0 as usize..n as usize].iter();
            let lines: usize = before.map(|(_, _, text)| text.matches('\n').count()).sum();
            let text = Text::Plain(text.to_owned());
            TextChunk { n, blob, line: lines as u64 + 1, start, text }
        }
    }

    /// Names all chunks of a range, whatever they hold.
    struct Everything<'v>(&'v Vectors, Range<i32>);

    impl LookUp for Everything<'_> {
        fn costs(&self) -> &'static SourceCosts {
            &MEMORY
        }

        async fn look_up(
            &mut self,
            lookups: &[&Lookup],
            _: Option<&[BlobId]>,
        ) -> Result<Answers, store::Error> {
            let all = (0..).zip(&self.0.chunks).map(|(n, (blob, ..))| (n, *blob));
            let all: Vec<_> = all.filter(|(_, blob)| self.1.contains(&blob.0)).collect();
            Ok(lookups.iter().map(|_| Some(Answer::Chunks(all.clone()))).collect())
        }
    }

    impl Source for Vectors {
        fn costs(&self) -> &'static SourceCosts {
            &MEMORY
        }

        fn reads_ahead(&self) -> bool {
            false
        }

        fn reads_chunks_first(&self) -> bool {
            false
        }

        fn survivors(&self) -> Option<usize> {
            None
        }

        fn end_of_range(&self, _: i32) -> i32 {
            i32::MAX
        }

        async fn candidates(&self, blobs: Range<i32>) -> Result<Candidates, store::Error> {
            Candidates::of(&self.plan, &mut Everything(self, blobs)).await
        }

        async fn files(&self, blobs: Option<&[BlobId]>) -> Result<Vec<File>, store::Error> {
            let mut all: Vec<BlobId> = self.chunks.iter().map(|(blob, ..)| *blob).collect();
            all.dedup();
            let wanted =
                all.into_iter().filter(|blob| blobs.is_none_or(|some| some.contains(blob)));
            let file = |blob: BlobId| File {
                blob,
                bytes: 100,
                repo: RepoId(1),
                path: format!("{}.txt", blob.0),
                language: None,
            };
            Ok(wanted.map(file).collect())
        }

        fn chunks_at_hand(&self, _: &[i32]) -> Option<Vec<TextChunk>> {
            None
        }

        async fn chunks(&self, numbers: &[i32]) -> Result<Vec<TextChunk>, store::Error> {
            Ok(numbers.iter().map(|n| self.chunk(*n)).collect())
        }

        async fn blobs(&self, blobs: &[(BlobId, usize)]) -> Result<Vec<TextChunk>, store::Error> {
            let of_blobs = |n: &i32| {
                let (of, ..) = self.chunks[*n as usize];
                blobs.iter().any(|(blob, _)| *blob == of)
            };
            let numbers = (0..self.chunks.len() as i32).filter(of_blobs);
            Ok(numbers.map(|n| self.chunk(n)).collect())
        }
    }

    /// The files that are found from a blob on, each with the numbers of its lines.
    async fn found(text: &str, limit: Option<usize>, from: i32) -> Vec<(String, Vec<u64>)> {
        let epoch = Epoch(1);
        let (id, languages) = (ShardId(0), [].into());
        let shard =
            Shard { id, bytes: 0, since: epoch, chunks: 5, changed: epoch, filtered: 5, languages };
        let repo = CatalogRepo { name: "one".to_owned(), rank: 0, shards: vec![ShardId(0)] };
        let repos = Arc::new(Map::from([(RepoId(1), repo)]));
        let mut request = Request::new(&Query::parse(text, Case::Smart).unwrap()).unwrap();
        request.limit = limit;
        let request = Arc::new(request);
        let query = request.program();
        let selection = Selection::of((epoch, &[shard]), &repos, query, None, false);
        let mut plans = PlanCache::default();
        let task = selection.task(&selection.shards[0], query, &mut plans).unwrap();
        let state = Arc::new(State::new(&request, Clock::new(Instant::now(), None)));
        let search = Search { request: Arc::clone(&request), repos, selection, state };
        let source = Vectors {
            chunks: vec![
                (BlobId(0), 0, "a needle\nhay\n"),
                (BlobId(1), 0, "hay\n"),
                (BlobId(1), 4, "more hay\nneedle\nthread\n"),
                (BlobId(3), 0, "needles and threads\n"),
                (BlobId(4), 0, "only thread\n"),
            ],
            plan: task.query.plan.clone(),
        };
        let (send, mut events) = mpsc::channel(64);
        let (search, task, from) = (&search, &task, BlobId(from));
        ShardSearch { search, task, source, from, again: 0, cores: 1, beside: 1 }.run(send).await;
        let mut files = Vec::new();
        while let Some(event) = events.recv().await {
            if let ShardEvent::Files(some, _) = event {
                files.extend(
                    some.into_iter().map(|file| {
                        (file.path, file.lines.iter().map(|line| line.number).collect())
                    }),
                );
            }
        }
        files
    }

    fn named(files: &[(&str, &[u64])]) -> Vec<(String, Vec<u64>)> {
        files.iter().map(|(path, lines)| ((*path).to_owned(), lines.to_vec())).collect()
    }

    #[tokio::test]
    async fn a_shard_gives_what_matches_in_the_order_of_its_blobs() {
        let needles = named(&[("0.txt", &[1]), ("1.txt", &[3]), ("3.txt", &[1])]);
        assert_eq!(found("c:needle", None, 0).await, needles);
        assert_eq!(
            found("c:needle c:thread", None, 0).await,
            named(&[("1.txt", &[3, 4]), ("3.txt", &[1])])
        );
        assert_eq!(found("c:needle -c:thread", None, 0).await, named(&[("0.txt", &[1])]));
        assert_eq!(found("c:nowhere", None, 0).await, []);
        // Of whole texts.
        assert_eq!(found("-c:needle", None, 0).await, named(&[("4.txt", &[])]));
        assert_eq!(found(r"c:hay\nneedle", None, 0).await.len(), 1);
    }

    #[tokio::test]
    async fn a_shard_goes_on_from_a_blob_and_ends_after_its_limit() {
        assert_eq!(found("c:needle", None, 1).await, named(&[("1.txt", &[3]), ("3.txt", &[1])]));
        assert_eq!(found("c:needle", None, 4).await, []);
        // One more than the limit tells that there is more.
        assert!(found("c:needle", Some(1), 0).await.len() >= 2);
    }
}
