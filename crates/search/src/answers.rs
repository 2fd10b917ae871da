//! What Postgres answers to the lookups of a plan in one shard, whoever asked it.

use std::ops::Range;

use query::{LiteralQuery, Lookup, Scope};
use store::{BlobId, IndexAnswer};

use super::candidates::{Answer, LookupExecutor, blobs_with};
use super::cost::{IndexWorth, asks_path_index, asks_trigram_index};
use super::shards::ShardTask;
use super::state::Search;
use super::stored_survivors::StoredSurvivors;
use super::survivors::{SurvivingChunks, Survivors};
use crate::cache::files::ShardFiles;

/// The answers of Postgres to the lookups of a plan in one shard, and what is in memory of the shard. Lookups that were
/// not asked rule nothing out.
pub(crate) struct PostgresAnswers<'s> {
    pub(crate) search: &'s Search,
    pub(crate) task: &'s ShardTask,
    /// Chunks that survive the filters, and files, of a shard whose texts are in memory.
    pub(crate) survivors: Option<(&'s Survivors, &'s ShardFiles)>,
    /// Of a shard whose texts are not in memory: its chunks that survive the stored filters.
    pub(crate) stored: Option<&'s StoredSurvivors>,
    /// Answers of the trigram indexes, and of the names of symbols.
    pub(crate) found: Vec<(&'s Lookup, IndexAnswer)>,
}

/// Returns the lookups of a shard for which the trigram indexes are worth asking. `survivors` are those of a shard whose
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

impl PostgresAnswers<'_> {
    /// Returns the answer to a lookup, if Postgres was asked.
    fn found(&self, lookup: &Lookup) -> Option<&IndexAnswer> {
        self.found.iter().find(|(of, _)| *of == lookup).map(|(_, found)| found)
    }

    /// Returns the documents of a lookup, if its trigram index was asked.
    fn documents(&self, lookup: &Lookup) -> Option<&[Range<i32>]> {
        match self.found(lookup) {
            Some(IndexAnswer::Documents(documents)) => Some(documents),
            _ => None,
        }
    }

    /// Returns the chunks of a lookup that survive the filters in memory, if the shard's texts are there.
    fn survivors(&self, lookup: &Lookup) -> Option<(&SurvivingChunks, &ShardFiles)> {
        let (survivors, files) = self.survivors?;
        survivors.get(lookup).map(|survivors| (survivors, files))
    }
}

impl LookupExecutor for PostgresAnswers<'_> {
    fn look_up(&self, lookup: &Lookup, left: Option<&[BlobId]>) -> Option<Answer> {
        if let (Scope::Symbol, Some(symbols)) = (lookup.scope, &self.task.cached.symbols) {
            let terms = lookup.compiled_terms(self.search.query());
            let go_on = || self.search.state.clock.goes_on();
            return Some(Answer::Blobs(symbols.matching(&terms, &(0..i32::MAX), left, &go_on)));
        }
        match (lookup.scope, self.found(lookup), &self.task.cached.files) {
            (Scope::Path, _, Some(files)) => {
                let terms = lookup.compiled_terms(self.search.query());
                let go_on = || self.search.state.clock.goes_on();
                Some(Answer::Blobs(files.matching(&terms, &(0..i32::MAX), left, &go_on)))
            }
            (Scope::Path | Scope::Symbol, Some(IndexAnswer::Blobs(blobs)), _) => {
                Some(Answer::Blobs(blobs.clone()))
            }
            (Scope::Path | Scope::Symbol, ..) => None,
            (Scope::Blob, ..) => {
                let stored = self.stored?;
                let in_a_chunk = |one: &_| Some(stored.in_a_chunk(one, self.task));
                blobs_with(&lookup.literals, &in_a_chunk).map(Answer::Blobs)
            }
            (Scope::Chunk, Some(IndexAnswer::Documents(documents)), _) if documents.is_empty() => {
                Some(Answer::Chunks(Vec::new()))
            }
            (Scope::Chunk, found, _) if let Some((survivors, files)) = self.survivors(lookup) => {
                let upto = self.task.shard.chunks;
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
            (Scope::Chunk, ..) => {
                let stored = self.stored?;
                let chunks = stored.chunks(lookup, self.documents(lookup))?;
                Some(Answer::Chunks(stored.with_blobs(&chunks, left)))
            }
        }
    }

    fn count(&self, lookup: &Lookup) -> Option<usize> {
        match (lookup.scope, self.found(lookup), &self.task.cached.files) {
            (Scope::Path, _, Some(files)) => {
                Some(files.candidates(&lookup.ngrams(self.search.query())))
            }
            (_, Some(IndexAnswer::Blobs(blobs)), _) => Some(blobs.len()),
            (Scope::Chunk, ..) => match (self.stored, self.documents(lookup)) {
                (Some(stored), documents) => Some(stored.chunks(lookup, documents)?.count()),
                (None, documents) => Some(documents?.iter().map(ExactSizeIterator::len).sum()),
            },
            _ => None,
        }
    }
}
