//! The source of a shard that is not, or not entirely, in memory. Postgres names the candidates, by its
//! trigram indexes where these are more selective, and by the same filters that memory has. Files and texts
//! that are in memory are not asked for again.

use std::ops::Range;

use ngram::NgramQuery;
use query::{Lookup, Scope};
use store::{BlobId, IndexAnswer, Lease};

use super::super::answers::{PostgresAnswers, indexed};
use super::super::candidates::Candidates;
use super::super::cost::{MEMORY, POSTGRES, SourceCosts};
use super::super::shards::ShardTask;
use super::super::state::Search;
use super::super::stats::Phase;
use super::super::stored_survivors::StoredSurvivors;
use super::super::survivors::Survivors;
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
    /// The candidates, if they are known beforehand.
    pub(crate) candidates: Option<&'s Candidates>,
}

impl Source for PostgresSource<'_> {
    type Reader = ShardReader;

    fn reader(&self) -> &ShardReader {
        &self.reader
    }

    fn costs(&self) -> &'static SourceCosts {
        if self.survivors.is_some() { &MEMORY } else { &POSTGRES }
    }

    fn pipelines(&self) -> bool {
        self.survivors.is_some() && self.search.request.limit.is_some()
    }

    fn reads_chunks_first(&self) -> bool {
        // From Postgres, reading a chunk takes longer than reading a file's row.
        self.survivors.is_some() || self.reader.contents.is_some()
    }

    fn known_chunks(&self) -> Option<usize> {
        None
    }

    fn end_of_range(&self, _: i32) -> i32 {
        i32::MAX
    }

    async fn candidates(&self, blobs: Range<i32>) -> Result<Candidates, store::Error> {
        let mut candidates = match self.candidates {
            Some(candidates) => candidates.clone(),
            None => self.search.state.counters.time(Phase::Lookup, self.ask()).await?,
        };
        candidates.drop_before(BlobId(blobs.start));
        Ok(candidates)
    }
}

impl<'s> PostgresSource<'s> {
    /// Finds the candidates: by the names of symbols, the trigram indexes that are worth asking, and the stored filters
    /// unless filters and texts are in memory.
    async fn ask(&self) -> Result<Candidates, store::Error> {
        let Self { ref reader, search, task, survivors, .. } = *self;
        let (shard, query) = (&reader.shard, search.query());
        let ngrams = match survivors {
            None => StoredSurvivors::ngrams(&task.query, query),
            Some(_) => Vec::new(),
        };
        let ngrams: Vec<&NgramQuery> = ngrams.iter().map(AsRef::as_ref).collect();
        let in_memory = survivors.map(|(survivors, _)| survivors);
        let asked = indexed(search, task, in_memory, reader.store.no_recheck());
        let (plan, negated) = (&task.query.plan, &task.query.negated);
        let mut lease = reader.store.lease().await?;
        let mut found = self.look_up_symbols(&mut lease).await?;
        let (answers, rows) = match (&*asked, &*ngrams) {
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
                lease.lookups_and_filters(at, (asked, plan), ngrams).await?
            }
        };
        lease.done();
        found.extend(asked.into_iter().zip(answers));
        let stored = rows.map(|rows| StoredSurvivors::of(rows, task, query));
        let stored = stored.as_ref();
        let answers = PostgresAnswers { search, task, survivors, stored, found };
        Ok(Candidates::of(plan, negated, &answers))
    }

    /// Looks up the names of symbols that are not in memory.
    async fn look_up_symbols(
        &self,
        lease: &mut Lease,
    ) -> Result<Vec<(&'s Lookup, IndexAnswer)>, store::Error> {
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
