//! Finds the candidates of one shard: by its filters, then by the documents from its trigram index if that is worth a
//! statement, then by names.

use std::ops::Range;
use std::sync::Arc;

use ngram::NgramQuery;
use query::{LiteralQuery, Lookup, Scope};
use store::{BlobId, ChunkRows, IndexAnswer, Lease};

use super::candidates::{Answer, Candidates, LookupExecutor, blobs_with};
use super::chunk_set::{BlobStarts, ChunkSet};
use super::cost::{IndexWorth, MEMORY, POSTGRES, asks_path_index, asks_trigram_index};
use super::filters::{CachedFilters, Filters, StoredFilters, StoredRows};
use super::names::Names;
use super::reader::ShardReader;
use super::shards::ShardTask;
use super::source::{Pace, Source};
use super::state::Search;
use super::stats::Phase;
use super::survivors::Survivors;
use super::symbols::defining;
use crate::cache::texts::Texts;

/// Answers of Postgres to lookups, from the trigram indexes and the symbols' names.
pub(crate) type IndexAnswers<'s> = Vec<(&'s Lookup, IndexAnswer)>;

/// Finds the candidates of one shard, and reads their files and texts.
pub(crate) struct Finder<'s> {
    pub(crate) reader: ShardReader,
    pub(crate) search: &'s Search,
    pub(crate) task: &'s ShardTask,
    /// Chunks that survive the filters in memory.
    pub(crate) survivors: &'s Survivors,
    /// Texts in memory, if the shard's texts are there.
    pub(crate) texts: Option<&'s Texts>,
    /// Whether to find candidates without Postgres.
    pub(crate) in_memory: bool,
    /// The candidates, if known in advance.
    pub(crate) ready: Option<&'s Candidates>,
}

impl Source for Finder<'_> {
    type Reader = ShardReader;

    fn reader(&self) -> &ShardReader {
        &self.reader
    }

    fn pace(&self) -> Pace {
        let Self { search, task, in_memory, .. } = *self;
        let has_texts = self.texts.is_some();
        let known = task.query.plan.is_of_chunks().then(|| self.survivors.count(task)).flatten();
        let go_on = || search.state.clock.goes_on();
        let names = Names { task, query: search.query(), go_on: &go_on };
        Pace {
            costs: if has_texts { &MEMORY } else { &POSTGRES },
            // Without a limit, other shards keep all cores busy.
            pipelines: has_texts && search.request.limit.is_some(),
            // From Postgres, reading a chunk takes longer than reading the row of a file.
            reads_chunks_first: has_texts || self.reader.contents.is_some(),
            known_chunks: known.filter(|_| in_memory),
            named_blobs: names.of_symbols().filter(|_| in_memory),
        }
    }

    fn end_of_range(&self, end: i32) -> i32 {
        match &self.task.cached.files {
            Some(files) if self.in_memory => files.starts.next(end).map_or(i32::MAX, |blob| blob.0),
            _ => i32::MAX,
        }
    }

    async fn candidates(&self, blobs: Range<i32>) -> Result<Candidates, store::Error> {
        let first = BlobId(blobs.start);
        let mut candidates = match self.ready {
            Some(ready) => ready.clone(),
            None => self.search.state.counters.time(Phase::Lookup, self.find(blobs)).await?,
        };
        candidates.drop_before(first);
        Ok(candidates)
    }
}

impl<'s> Finder<'s> {
    /// Finds the candidates among some blobs.
    async fn find(&self, blobs: Range<i32>) -> Result<Candidates, store::Error> {
        let Self { search, task, survivors, .. } = *self;
        let query = search.query();
        if let Some(texts) = self.texts {
            let answers = if self.in_memory { Vec::new() } else { self.ask(&[]).await?.0 };
            let filters = CachedFilters::new(task, &search.selection, query, texts);
            return Ok(follow((search, task), Some((&filters, survivors)), &answers, blobs));
        }
        let ngrams = StoredRows::ngrams(&task.query, query);
        let ngrams: Vec<&NgramQuery> = ngrams.iter().map(AsRef::as_ref).collect();
        let (answers, rows) = self.ask(&ngrams).await?;
        let stored = rows.map(|rows| Stored::of(rows, search, task));
        Ok(stored.as_ref().map_or_else(
            || follow::<StoredFilters<'_>>((search, task), None, &answers, blobs.clone()),
            |stored| stored.candidates((search, task), &answers),
        ))
    }

    /// Asks Postgres for the symbols' names that are not in memory, the trigram indexes that are worth asking, and the
    /// stored filters of some n-grams.
    async fn ask(
        &self,
        ngrams: &[&NgramQuery],
    ) -> Result<(IndexAnswers<'s>, Option<ChunkRows>), store::Error> {
        let Self { ref reader, search, task, .. } = *self;
        let shard = &reader.shard;
        let survivors = self.texts.map(|_| self.survivors);
        let asked = indexed(search, task, survivors, reader.store.no_recheck());
        let mut lease = reader.store.lease().await?;
        let mut found = self.look_up_symbols(&mut lease).await?;
        let (answers, rows) = match (&*asked, ngrams) {
            ([], []) => (Vec::new(), None),
            ([], ngrams) => {
                let (mut rows, _) = lease.chunk_rows(&[shard], ngrams).await?;
                (Vec::new(), rows.remove(&shard.id))
            }
            (asked, []) => {
                let mut found = lease.lookups(&[shard.id], reader.epoch(), asked).await?;
                (found.remove(&shard.id).unwrap_or_default(), None)
            }
            (asked, ngrams) => {
                let at = (shard, reader.epoch());
                lease.lookups_and_filters(at, (asked, &task.query.plan), ngrams).await?
            }
        };
        lease.done();
        found.extend(asked.into_iter().zip(answers));
        Ok((found, rows))
    }

    /// Looks up the symbols' names that are not in memory.
    async fn look_up_symbols(&self, lease: &mut Lease) -> Result<IndexAnswers<'s>, store::Error> {
        let Self { ref reader, search, task, .. } = *self;
        let mut found = Vec::new();
        if task.cached.symbols.is_some() || !task.query.plan.has_symbols() {
            return Ok(found);
        }
        for lookup in task.query.lookups().filter(|lookup| lookup.scope == Scope::Symbol) {
            let ngrams = lookup.ngrams(search.query());
            let groups = lease.symbol_names(reader.shard.id, &ngrams).await?;
            let terms = lookup.compiled_terms(search.query());
            let blobs = defining(&terms, &groups, &|| search.state.clock.goes_on());
            found.push((lookup, IndexAnswer::Blobs(blobs)));
        }
        Ok(found)
    }
}

/// The stored filters of a shard that a query needs, and the chunks that survive them.
pub(crate) struct Stored {
    rows: StoredRows,
    survivors: Survivors,
}

impl Stored {
    /// Finds the surviving chunks, given the rows that the lookups of a shard need.
    pub(crate) fn of(rows: ChunkRows, search: &Search, task: &ShardTask) -> Self {
        let (rows, query) = (StoredRows::new(rows), search.query());
        let filters = StoredFilters { rows: &rows, task, query };
        let go_on = || search.state.clock.goes_on();
        Self { survivors: Survivors::of(task, query, &filters, &go_on), rows }
    }

    /// Returns whether the filters rule the shard out.
    pub(crate) fn rule_out(&self, task: &ShardTask) -> bool {
        self.survivors.rules_out(&task.query.plan)
    }

    /// Returns the candidates of the shard, given the answers of Postgres.
    pub(crate) fn candidates(
        &self,
        (search, task): (&Search, &ShardTask),
        answers: &IndexAnswers<'_>,
    ) -> Candidates {
        let filters = StoredFilters { rows: &self.rows, task, query: search.query() };
        follow((search, task), Some((&filters, &self.survivors)), answers, 0..i32::MAX)
    }
}

/// Returns the candidates of a shard among some blobs, given its filters, if known, and Postgres's answers to the
/// lookups sent to it.
pub(crate) fn follow<F: Filters>(
    (search, task): (&Search, &ShardTask),
    filters: Option<(&F, &Survivors)>,
    answers: &IndexAnswers<'_>,
    blobs: Range<i32>,
) -> Candidates {
    let go_on = || search.state.clock.goes_on();
    let names = Names { task, query: search.query(), go_on: &go_on };
    let (plan, negated) = (&task.query.plan, &task.query.negated);
    Candidates::of(plan, negated, &Lookups { names, filters, answers, blobs })
}

/// Answers the lookups of a shard from its filters, the documents of its trigram index, and the names in memory.
struct Lookups<'s, F> {
    names: Names<'s>,
    filters: Option<(&'s F, &'s Survivors)>,
    answers: &'s [(&'s Lookup, IndexAnswer)],
    /// The blobs to search.
    blobs: Range<i32>,
}

impl<F: Filters> Lookups<'_, F> {
    /// Returns Postgres's answer to a lookup, if there is one.
    fn answer(&self, lookup: &Lookup) -> Option<&IndexAnswer> {
        self.answers.iter().find(|(of, _)| *of == lookup).map(|(_, answer)| answer)
    }

    /// Returns the chunks of a lookup.
    fn chunks(&self, lookup: &Lookup, left: Option<&[BlobId]>) -> Option<ChunkSet> {
        let mut surviving = self.filters.and_then(|(_, survivors)| survivors.get(lookup)).cloned();
        if let Some(IndexAnswer::Documents(documents)) = self.answer(lookup) {
            let chunks = self.names.task.shard.chunks;
            let documents = ChunkSet::of_ranges(chunks, documents.iter().cloned());
            match &mut surviving {
                Some(surviving) => surviving.and(&documents),
                None => surviving = Some(documents),
            }
        }
        let mut chunks = surviving?;
        if !chunks.is_empty() {
            let starts = self.starts()?;
            if self.blobs != (0..i32::MAX) {
                chunks.retain_range(&self.blobs);
            }
            if let Some(left) = left {
                chunks.retain_blobs(left, starts);
            }
        }
        Some(chunks)
    }

    /// Returns the blobs with a chunk that may hold some literals.
    fn in_a_chunk(&self, literals: &LiteralQuery) -> Option<Vec<BlobId>> {
        let mut chunks = self.filters?.0.of_literals(literals)?;
        chunks.retain_range(&self.blobs);
        Some(chunks.blobs(self.starts()?))
    }
}

impl<F: Filters> LookupExecutor for Lookups<'_, F> {
    fn look_up(&self, lookup: &Lookup, left: Option<&[BlobId]>) -> Option<Answer> {
        match lookup.scope {
            Scope::Chunk => self.chunks(lookup, left).map(Answer::Chunks),
            Scope::Blob => {
                blobs_with(&lookup.literals, &|one| self.in_a_chunk(one)).map(Answer::Blobs)
            }
            Scope::Path | Scope::Symbol => {
                let answered = || match self.answer(lookup)? {
                    IndexAnswer::Blobs(blobs) => Some(blobs.clone()),
                    IndexAnswer::Documents(_) => None,
                };
                let found = self.names.matching(lookup, &self.blobs, left).or_else(answered);
                found.map(Answer::Blobs)
            }
        }
    }

    fn count(&self, lookup: &Lookup) -> Option<usize> {
        let survivors = || self.filters?.1.count_of(lookup);
        let answered = self.answer(lookup).map(|answer| match answer {
            IndexAnswer::Blobs(blobs) => blobs.len(),
            IndexAnswer::Documents(documents) => documents.iter().map(ExactSizeIterator::len).sum(),
        });
        let known = self.names.count(lookup).or_else(survivors);
        known.map_or(answered, |known| Some(answered.map_or(known, |answered| known.min(answered))))
    }

    fn starts(&self) -> Option<&Arc<BlobStarts>> {
        let of_files = || self.names.task.cached.files.as_ref().map(|files| &files.starts);
        self.filters.and_then(|(filters, _)| filters.starts()).or_else(of_files)
    }
}

/// Returns the lookups of a shard for which the trigram indexes are worth asking. `survivors` are given if the shard's
/// texts are in memory.
pub(crate) fn indexed<'s>(
    search: &Search,
    task: &'s ShardTask,
    survivors: Option<&Survivors>,
    no_recheck: bool,
) -> Vec<&'s Lookup> {
    let asks_paths = asks_path_index(&task.query.plan);
    let asks = |lookup: &&Lookup| match lookup.scope {
        Scope::Path => task.cached.files.is_none() && asks_paths(lookup),
        Scope::Chunk => {
            let ngrams = lookup.ngrams(search.query());
            let literals = lookup.literals.with_trigrams();
            let worth = survivors.and_then(|found| found.index_worth(lookup, search, task));
            literals != LiteralQuery::Anything
                && worth.map_or_else(
                    || asks_trigram_index(&ngrams, literals.frequency(), no_recheck),
                    IndexWorth::is_positive,
                )
        }
        Scope::Symbol | Scope::Blob => false,
    };
    task.query.lookups().filter(asks).collect()
}
