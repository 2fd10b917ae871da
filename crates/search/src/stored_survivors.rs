//! The chunks of a shard that survive the filters which Postgres stores: those worth reading, where the shard's
//! texts are not in memory.

use std::borrow::Cow;
use std::ops::Range;

use ngram::{BLOCK_CHUNKS, Columns, NgramQuery};
use query::{CompiledQuery, LiteralQuery, Lookup, Plan, Scope, ngrams_of_literals};
use store::{BlobId, ChunkRows};

use super::candidates::each_in_a_chunk;
use super::plans::ShardQuery;
use super::shards::ShardTask;

/// The surviving chunks of a shard, for each lookup of scope chunk, by its terms.
#[derive(Debug)]
pub(crate) struct StoredSurvivors {
    rows: ChunkRows,
    chunks: Vec<(Vec<usize>, Columns)>,
}

impl StoredSurvivors {
    /// Returns the n-grams that the lookups of a plan ask the filters of chunks for.
    pub(crate) fn ngrams<'q>(
        shard_query: &'q ShardQuery,
        query: &'q CompiledQuery,
    ) -> Vec<Cow<'q, NgramQuery>> {
        let mut asked = Vec::new();
        for lookup in shard_query.lookups() {
            match lookup.scope {
                Scope::Chunk => asked.push(lookup.ngrams(query)),
                Scope::Blob => each_in_a_chunk(&lookup.literals, &mut |literals| {
                    asked.push(Cow::Owned(ngrams_of_literals(literals)));
                }),
                Scope::Path | Scope::Symbol => {}
            }
        }
        asked
    }

    /// Finds the chunks that survive, given the rows that the lookups of a shard asked for.
    pub(crate) fn of(rows: ChunkRows, task: &ShardTask, query: &CompiledQuery) -> Self {
        let mut stored = Self { rows, chunks: Vec::new() };
        for lookup in task.query.lookups() {
            if lookup.scope == Scope::Chunk {
                let chunks = stored.surviving(&lookup.ngrams(query), task);
                stored.chunks.push((lookup.terms.clone(), chunks));
            }
        }
        stored
    }

    /// Returns the chunks that may hold some n-grams, by the stored filters and by those in memory of blocks, dense and
    /// large chunks.
    fn surviving(&self, ngrams: &NgramQuery, task: &ShardTask) -> Columns {
        let mut chunks = self.rows.surviving(ngrams);
        if let Some(filter) = task.cached.filters.as_ref().filter(|_| !chunks.is_empty()) {
            let near = filter.surviving(ngrams, &filter.hits(ngrams));
            let size = BLOCK_CHUNKS as usize;
            chunks.retain_ranges(near.blocks.iter().map(|block| block * size..(block + 1) * size));
            for n in filter.ruled_out(&near, 0..task.shard.chunks) {
                chunks.remove(n as usize);
            }
        }
        chunks
    }

    /// Returns the surviving chunks of a lookup.
    fn get(&self, lookup: &Lookup) -> Option<&Columns> {
        let found = self.chunks.iter().find(|(terms, _)| *terms == lookup.terms);
        found.map(|(_, chunks)| chunks).filter(|_| lookup.scope == Scope::Chunk)
    }

    /// Returns the blobs with a chunk that may hold some literals.
    pub(crate) fn in_a_chunk(&self, literals: &LiteralQuery, task: &ShardTask) -> Vec<BlobId> {
        let chunks = self.surviving(&ngrams_of_literals(literals), task);
        let mut blobs: Vec<BlobId> =
            self.rows.with_blobs(&chunks).into_iter().map(|(_, blob)| blob).collect();
        blobs.dedup();
        blobs
    }

    /// Returns the chunks that survive for a lookup, those in `documents` only if these are known; `None` if nothing is
    /// known of the lookup.
    pub(crate) fn chunks(
        &self,
        lookup: &Lookup,
        documents: Option<&[Range<i32>]>,
    ) -> Option<Cow<'_, Columns>> {
        let mut chunks = Cow::Borrowed(self.get(lookup)?);
        if let Some(documents) = documents {
            let documents = documents.iter().map(|of| of.start as usize..of.end as usize);
            chunks.to_mut().retain_ranges(documents);
        }
        Some(chunks)
    }

    /// Returns some chunks, ascending, each with its blob. Keeps only the blobs that are `left`, if that is given.
    pub(crate) fn with_blobs(
        &self,
        chunks: &Columns,
        left: Option<&[BlobId]>,
    ) -> Vec<(i32, BlobId)> {
        let mut chunks = self.rows.with_blobs(chunks);
        if let Some(left) = left {
            chunks.retain(|(_, blob)| left.binary_search(blob).is_ok());
        }
        chunks
    }

    /// Returns whether a plan has no surviving chunk.
    pub(crate) fn rules_out(&self, plan: &Plan) -> bool {
        match plan {
            Plan::Scan => false,
            Plan::Lookup(lookup) => self.get(lookup).is_some_and(Columns::is_empty),
            Plan::All(parts) => parts.iter().any(|part| self.rules_out(part)),
            Plan::Any(parts) => parts.iter().all(|part| self.rules_out(part)),
        }
    }
}
