//! The source of a shard whose files, filters and texts are in memory. It asks Postgres only for texts that
//! were evicted.

use std::ops::Range;

use query::{LiteralQuery, Lookup, Plan, Scope, ngrams_of_literals};
use store::BlobId;

use super::super::candidates::{Answer, Candidates, LookupExecutor, blobs_with};
use super::super::cost::{MEMORY, SourceCosts};
use super::super::shards::ShardTask;
use super::super::state::Search;
use super::super::stats::Phase;
use super::super::survivors::{SurvivingChunks, Survivors};
use super::{ShardReader, Source};
use crate::cache::ShardCache;
use crate::cache::files::ShardFiles;

/// The source of a shard that is in memory.
pub(crate) struct MemorySource<'s> {
    pub(crate) reader: ShardReader,
    pub(crate) search: &'s Search,
    pub(crate) task: &'s ShardTask,
    pub(crate) files: &'s ShardFiles,
    pub(crate) cache: &'s ShardCache,
    /// Chunks that survive the filters.
    pub(crate) survivors: &'s Survivors,
}

impl Source for MemorySource<'_> {
    type Reader = ShardReader;

    fn reader(&self) -> &ShardReader {
        &self.reader
    }

    fn costs(&self) -> &'static SourceCosts {
        &MEMORY
    }

    fn pipelines(&self) -> bool {
        // Without a limit, other shards keep all cores busy.
        self.search.request.limit.is_some()
    }

    fn reads_chunks_first(&self) -> bool {
        true
    }

    fn known_chunks(&self) -> Option<usize> {
        let plan = &self.task.query.plan;
        if plan.is_of_chunks() { self.survivors.count(plan) } else { None }
    }

    fn named_blobs(&self) -> Option<usize> {
        let Plan::Lookup(lookup) = &self.task.query.plan else { return None };
        let symbols =
            self.task.cached.symbols.as_ref().filter(|_| lookup.scope == Scope::Symbol)?;
        Some(symbols.candidates(&lookup.compiled_terms(self.search.query())))
    }

    fn end_of_range(&self, end: i32) -> i32 {
        self.files.blobs(end).next().map_or(i32::MAX, |blob| blob.0)
    }

    async fn candidates(&self, blobs: Range<i32>) -> Result<Candidates, store::Error> {
        let lookups = RangeLookups { source: self, blobs };
        let finding = async {
            {
                let shard_query = &self.task.query;
                Candidates::of(&shard_query.plan, &shard_query.negated, &lookups)
            }
        };
        Ok(self.search.state.counters.time(Phase::Lookup, finding).await)
    }
}

/// Answers lookups within a range of blobs.
struct RangeLookups<'s> {
    source: &'s MemorySource<'s>,
    blobs: Range<i32>,
}

impl LookupExecutor for RangeLookups<'_> {
    fn look_up(&self, lookup: &Lookup, left: Option<&[BlobId]>) -> Option<Answer> {
        let MemorySource { search, task, files, .. } = self.source;
        match lookup.scope {
            Scope::Path => {
                let go_on = || search.state.clock.goes_on();
                let terms = lookup.compiled_terms(search.query());
                Some(Answer::Blobs(files.matching(&terms, &self.blobs, left, &go_on)))
            }
            Scope::Chunk => {
                let chunks = self.source.survivors.get(lookup)?;
                Some(Answer::Chunks(chunks.with_blobs(&self.blobs, task.shard.chunks, left, files)))
            }
            Scope::Symbol => {
                let symbols = task.cached.symbols.as_ref()?;
                let go_on = || search.state.clock.goes_on();
                let terms = lookup.compiled_terms(search.query());
                Some(Answer::Blobs(symbols.matching(&terms, &self.blobs, left, &go_on)))
            }
            Scope::Blob => {
                blobs_with(&lookup.literals, &|one| self.in_a_chunk(one)).map(Answer::Blobs)
            }
        }
    }

    fn count(&self, lookup: &Lookup) -> Option<usize> {
        let MemorySource { search, task, files, survivors, .. } = self.source;
        match lookup.scope {
            Scope::Path => Some(files.candidates(&lookup.ngrams(search.query()))),
            Scope::Chunk => survivors.get(lookup).map(SurvivingChunks::count),
            Scope::Symbol => {
                let symbols = task.cached.symbols.as_ref()?;
                Some(symbols.candidates(&lookup.compiled_terms(search.query())))
            }
            Scope::Blob => None,
        }
    }
}

impl RangeLookups<'_> {
    /// Returns the blobs with a chunk that may hold some literals.
    fn in_a_chunk(&self, literals: &LiteralQuery) -> Option<Vec<BlobId>> {
        let MemorySource { task, files, cache, .. } = self.source;
        let filter = task.cached.filters.as_ref()?;
        let ngrams = ngrams_of_literals(literals);
        let blocks = filter.surviving(&ngrams, &filter.hits(&ngrams));
        let chunks = SurvivingChunks::of(&ngrams, &blocks, task, None, &|| None, &cache.texts)?;
        let chunks = chunks.with_blobs(&self.blobs, task.shard.chunks, None, files);
        let mut blobs: Vec<BlobId> = chunks.into_iter().map(|(_, blob)| blob).collect();
        blobs.dedup();
        Some(blobs)
    }
}
