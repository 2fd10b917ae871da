//! A shard that is not in memory, or only in part: Postgres names the candidates. What is in memory of its filters, files
//! and texts spares questions.

use std::ops::Range;

use ngram::NgramQuery;
use query::{Lookup, Scope};
use store::{BlobId, File, Found};

use super::super::candidates::{Answer, Answers, Candidates, LookUp};
use super::super::cost::{POSTGRES, SourceCosts};
use super::super::shards::ShardTask;
use super::super::state::Search;
use super::super::stats::Phase;
use super::super::survivors::Survivors;
use super::super::verify::TextChunk;
use super::{ShardReader, Source};

/// The source of a shard that is not in memory.
pub(crate) struct PostgresSource<'s> {
    pub(crate) reader: ShardReader,
    pub(crate) search: &'s Search,
    pub(crate) task: &'s ShardTask,
    /// The chunks that the filters let through, as far as these are in memory.
    pub(crate) survivors: &'s Survivors,
}

impl Source for PostgresSource<'_> {
    fn costs(&self) -> &'static SourceCosts {
        &POSTGRES
    }

    fn reads_ahead(&self) -> bool {
        false
    }

    fn reads_chunks_first(&self) -> bool {
        // Some may be in memory.
        let filter = &self.reader.filter;
        self.reader.cache.is_some() && filter.repos.is_none() && filter.languages.is_none()
    }

    fn survivors(&self) -> Option<usize> {
        None
    }

    fn end_of_range(&self, _: i32) -> i32 {
        i32::MAX
    }

    async fn candidates(&self, blobs: Range<i32>) -> Result<Candidates, store::Error> {
        let mut indexes = Indexes(self);
        let finding = Candidates::of(&self.task.query.plan, &mut indexes);
        let mut candidates = self.search.state.counters.time(Phase::Lookup, finding).await?;
        candidates.drop_before(BlobId(blobs.start));
        Ok(candidates)
    }

    async fn files(&self, blobs: Option<&[BlobId]>) -> Result<Vec<File>, store::Error> {
        self.reader.files(blobs).await
    }

    fn chunks_at_hand(&self, numbers: &[i32]) -> Option<Vec<TextChunk>> {
        self.reader.chunks_at_hand(numbers)
    }

    async fn chunks(&self, numbers: &[i32]) -> Result<Vec<TextChunk>, store::Error> {
        self.reader.chunks(numbers).await
    }

    async fn blobs(&self, blobs: &[(BlobId, usize)]) -> Result<Vec<TextChunk>, store::Error> {
        self.reader.blobs(blobs).await
    }
}

/// Lookups in the trigram indexes of a shard.
struct Indexes<'s>(&'s PostgresSource<'s>);

impl LookUp for Indexes<'_> {
    fn costs(&self) -> &'static SourceCosts {
        &POSTGRES
    }

    async fn look_up(
        &mut self,
        lookups: &[&Lookup],
        left: Option<&[BlobId]>,
    ) -> Result<Answers, store::Error> {
        let PostgresSource { reader, search, task, survivors } = self.0;
        // Paths are matched in memory, if they are there.
        let mut answers: Answers = Vec::with_capacity(lookups.len());
        let mut asked: Vec<(&Lookup, NgramQuery)> = Vec::new();
        for lookup in lookups {
            answers.push(match &reader.files {
                Some(files) if lookup.scope == Scope::Path => {
                    let terms = &search.query().terms;
                    let terms: Vec<_> = lookup.terms.iter().map(|term| &terms[*term]).collect();
                    Some(Answer::Blobs(files.matching(&terms, &(0..i32::MAX), left)))
                }
                _ => {
                    asked.push((lookup, lookup.ngrams(search.query()).into_owned()));
                    None
                }
            });
        }
        if !asked.is_empty() {
            // Which chunks of a document survive is found out here, if their filters are at hand.
            let files = reader.files.as_ref().filter(|_| task.cached.texts);
            let mut lease = reader.store.lease().await?;
            let (shard, epoch) = (reader.shard.id, reader.epoch());
            let found = lease.lookups(shard, epoch, &asked, files.is_some()).await?;
            lease.done();
            let open = answers.iter_mut().filter(|answer| answer.is_none());
            for ((answer, found), (lookup, _)) in open.zip(found).zip(&asked) {
                let mut chunks = match (found, files) {
                    (Found::Blobs(blobs), _) => {
                        *answer = Some(Answer::Blobs(blobs));
                        continue;
                    }
                    (Found::Documents(documents), Some(files)) => files.chunks(&documents),
                    (Found::Documents(_), None) => unreachable!("chunks are asked for"),
                    (Found::Chunks(chunks), _) => chunks,
                };
                if let Some(surviving) = survivors.get(lookup) {
                    surviving.retain(&mut chunks);
                }
                *answer = Some(Answer::Chunks(chunks));
            }
        }
        Ok(answers)
    }
}
