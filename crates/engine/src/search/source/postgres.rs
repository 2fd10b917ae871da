//! The source of a shard that is not, or not entirely, in memory. Postgres names the candidates, by its
//! trigram indexes where these are more selective, and by the same filters that memory has. Files and texts
//! that are in memory are not asked for again.

use std::borrow::Cow;
use std::ops::Range;

use ngram::{BLOCK_CHUNKS, Columns, NgramQuery};
use query::{LiteralQuery, Lookup, Scope, ngrams_of_literals};
use store::{BlobId, ChunkRows, IndexAnswer};

use super::super::candidates::{Answer, Candidates, LookupExecutor, blobs_with, each_in_a_chunk};
use super::super::cost::{MEMORY, POSTGRES, SourceCosts, asks_path_index, asks_trigram_index};
use super::super::shards::ShardTask;
use super::super::state::Search;
use super::super::stats::Phase;
use super::super::survivors::{SurvivingChunks, Survivors};
use super::super::symbols::defining;
use super::{ShardReader, Source};
use crate::cache::files::ShardFiles;

/// The source of a shard that is not in memory.
pub(crate) struct PostgresSource<'s> {
    pub(crate) reader: ShardReader,
    pub(crate) search: &'s Search,
    pub(crate) task: &'s ShardTask,
    /// Chunks that survive the filters, and files, of a shard whose texts are in memory.
    pub(crate) survivors: Option<(&'s Survivors, &'s ShardFiles)>,
}

impl Source for PostgresSource<'_> {
    type Reader = ShardReader;

    fn reader(&self) -> &ShardReader {
        &self.reader
    }

    fn costs(&self) -> &'static SourceCosts {
        if self.survivors.is_some() { &MEMORY } else { &POSTGRES }
    }

    fn reads_ahead(&self) -> bool {
        self.survivors.is_some() && self.search.request.limit.is_some()
    }

    fn reads_chunks_first(&self) -> bool {
        // From Postgres, reading a chunk takes longer than reading a file's row.
        self.survivors.is_some()
    }

    fn survivors(&self) -> Option<usize> {
        None
    }

    fn end_of_range(&self, _: i32) -> i32 {
        i32::MAX
    }

    async fn candidates(&self, blobs: Range<i32>) -> Result<Candidates, store::Error> {
        let finding = async {
            let indexes = PostgresAnswers::ask(self).await?;
            let shard_query = &self.task.query;
            Ok::<_, store::Error>(Candidates::of(&shard_query.plan, &shard_query.negated, &indexes))
        };
        let mut candidates = self.search.state.counters.time(Phase::Lookup, finding).await?;
        candidates.drop_before(BlobId(blobs.start));
        Ok(candidates)
    }
}

impl PostgresSource<'_> {
    /// Returns the chunks of a lookup that survive the filters in memory, if the shard's texts are there.
    fn survivors(&self, lookup: &Lookup) -> Option<(&SurvivingChunks, &ShardFiles)> {
        let (survivors, files) = self.survivors?;
        survivors.get(lookup).map(|survivors| (survivors, files))
    }
}

/// The answers of Postgres to all lookups of a plan in one shard.
struct PostgresAnswers<'s> {
    source: &'s PostgresSource<'s>,
    /// Rows of the chunk filters that the lookups need; `None` if the shard has none, or none were asked for.
    rows: Option<ChunkRows>,
    /// Answers of the trigram indexes, and of the names of symbols.
    found: Vec<(&'s Lookup, IndexAnswer)>,
}

impl<'s> PostgresAnswers<'s> {
    /// Asks for everything that a plan may need: one statement for each lookup of symbols, and one for the trigram
    /// indexes and the filters, which reads the filters only if the indexes found something.
    async fn ask(source: &'s PostgresSource<'s>) -> Result<Self, store::Error> {
        let PostgresSource { reader, search, task, .. } = source;
        let no_recheck = reader.store.no_recheck();
        let asks_paths = asks_path_index(&task.query.plan);
        let (mut filtered, mut indexed, mut named) = (Vec::new(), Vec::new(), Vec::new());
        for lookup in task.query.plan.lookups().into_iter().chain(&task.query.negated) {
            match lookup.scope {
                Scope::Path if reader.files.is_some() => {}
                Scope::Path if !asks_paths(lookup) => {}
                Scope::Symbol if task.cached.symbols.is_some() => {}
                Scope::Path => indexed.push(lookup),
                Scope::Symbol => named.push(lookup),
                Scope::Blob => each_in_a_chunk(&lookup.literals, &mut |literals| {
                    filtered.push(Cow::Owned(ngrams_of_literals(literals)));
                }),
                Scope::Chunk => {
                    let ngrams = lookup.ngrams(search.query());
                    let literals = lookup.literals.with_trigrams();
                    if literals != LiteralQuery::Anything
                        && asks_trigram_index(&ngrams, literals.frequency(), no_recheck)
                    {
                        indexed.push(lookup);
                    }
                    if source.survivors(lookup).is_none() {
                        filtered.push(ngrams);
                    }
                }
            }
        }
        let mut lease = reader.store.lease().await?;
        let mut asked = Self { source, rows: None, found: Vec::new() };
        for lookup in named {
            let ngrams = lookup.ngrams(search.query());
            let groups = lease.symbol_names(reader.shard.id, &ngrams).await?;
            let terms: Vec<_> =
                lookup.terms.iter().map(|term| &search.query().terms[*term]).collect();
            let blobs = defining(&terms, &groups, &|| search.state.clock.goes_on());
            asked.found.push((lookup, IndexAnswer::Blobs(blobs)));
        }
        let filtered: Vec<&NgramQuery> = filtered.iter().map(AsRef::as_ref).collect();
        if !indexed.is_empty() {
            let (at, plan) = ((&reader.shard, reader.epoch()), &task.query.plan);
            let (found, rows) = lease.lookups(at, &indexed, plan, &filtered).await?;
            asked.found.extend(indexed.into_iter().zip(found));
            asked.rows = rows;
        } else if !filtered.is_empty() {
            asked.rows = lease.chunk_rows(&reader.shard, &filtered).await?;
        }
        lease.done();
        Ok(asked)
    }

    /// Returns the answer to a lookup, if Postgres was asked.
    fn found(&self, lookup: &Lookup) -> Option<&IndexAnswer> {
        self.found.iter().find(|(of, _)| *of == lookup).map(|(_, found)| found)
    }

    /// Returns the chunks that may hold some n-grams, if filters were read.
    fn surviving(&self, ngrams: &NgramQuery) -> Option<Columns> {
        let task = self.source.task;
        let mut chunks = self.rows.as_ref()?.surviving(ngrams);
        // Also apply the filters of blocks, and of dense and large chunks.
        if let Some(filter) = &task.cached.filters {
            let near = filter.surviving(ngrams, &filter.hits(ngrams));
            let size = BLOCK_CHUNKS as usize;
            chunks.retain_ranges(near.blocks.iter().map(|block| block * size..(block + 1) * size));
            for n in filter.ruled_out(&near, 0..task.shard.chunks) {
                chunks.remove(n as usize);
            }
        }
        Some(chunks)
    }

    /// Returns the blobs with a chunk that may hold some literals.
    fn in_a_chunk(&self, literals: &LiteralQuery) -> Option<Vec<BlobId>> {
        let chunks = self.surviving(&ngrams_of_literals(literals))?;
        let chunks = self.rows.as_ref()?.with_blobs(&chunks);
        let mut blobs: Vec<BlobId> = chunks.into_iter().map(|(_, blob)| blob).collect();
        blobs.dedup();
        Some(blobs)
    }
}

impl LookupExecutor for PostgresAnswers<'_> {
    fn look_up(&self, lookup: &Lookup, left: Option<&[BlobId]>) -> Option<Answer> {
        if let (Scope::Symbol, Some(symbols)) = (lookup.scope, &self.source.task.cached.symbols) {
            let terms = &self.source.search.query().terms;
            let terms: Vec<_> = lookup.terms.iter().map(|term| &terms[*term]).collect();
            let go_on = || self.source.search.state.clock.goes_on();
            return Some(Answer::Blobs(symbols.matching(&terms, &(0..i32::MAX), left, &go_on)));
        }
        match (lookup.scope, self.found(lookup), &self.source.reader.files) {
            (Scope::Path, _, Some(files)) => {
                let terms = &self.source.search.query().terms;
                let terms: Vec<_> = lookup.terms.iter().map(|term| &terms[*term]).collect();
                let go_on = || self.source.search.state.clock.goes_on();
                Some(Answer::Blobs(files.matching(&terms, &(0..i32::MAX), left, &go_on)))
            }
            (Scope::Path | Scope::Symbol, Some(IndexAnswer::Blobs(blobs)), _) => {
                Some(Answer::Blobs(blobs.clone()))
            }
            (Scope::Path | Scope::Symbol, ..) => None,
            (Scope::Blob, ..) => {
                blobs_with(&lookup.literals, &|one| self.in_a_chunk(one)).map(Answer::Blobs)
            }
            (Scope::Chunk, Some(IndexAnswer::Documents(documents)), _) if documents.is_empty() => {
                Some(Answer::Chunks(Vec::new()))
            }
            (Scope::Chunk, found, _)
                if let Some((survivors, files)) = self.source.survivors(lookup) =>
            {
                let upto = self.source.task.shard.chunks;
                let mut chunks = survivors.with_blobs(&(0..i32::MAX), upto, left, files);
                if let Some(IndexAnswer::Documents(documents)) = found {
                    let mut documents = documents.iter().peekable();
                    chunks.retain(|(n, _)| {
                        while documents.next_if(|document| document.end <= *n).is_some() {}
                        documents.peek().is_some_and(|document| document.start <= *n)
                    });
                }
                Some(Answer::Chunks(chunks))
            }
            (Scope::Chunk, found, _) => {
                let mut chunks = self.surviving(&lookup.ngrams(self.source.search.query()))?;
                if let Some(IndexAnswer::Documents(documents)) = found {
                    chunks.retain_ranges(
                        documents.iter().map(|of| of.start as usize..of.end as usize),
                    );
                }
                let mut chunks = self.rows.as_ref()?.with_blobs(&chunks);
                if let Some(left) = left {
                    chunks.retain(|(_, blob)| left.binary_search(blob).is_ok());
                }
                Some(Answer::Chunks(chunks))
            }
        }
    }

    fn count(&self, lookup: &Lookup) -> Option<usize> {
        match (lookup.scope, self.found(lookup), &self.source.reader.files) {
            (Scope::Path, _, Some(files)) => {
                Some(files.candidates(&lookup.ngrams(self.source.search.query())))
            }
            (_, Some(IndexAnswer::Blobs(blobs)), _) => Some(blobs.len()),
            (Scope::Chunk, Some(IndexAnswer::Documents(documents)), _) => {
                Some(documents.iter().map(ExactSizeIterator::len).sum())
            }
            _ => None,
        }
    }
}
