//! Asks Postgres about several shards at once: a statement costs as much as reading twenty chunks.
//!
//! First come the answers to lookups: from the stored filters, and from the trigram indexes if the filters leave many
//! candidates. Then come files and chunks, for shards with few candidates.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::try_join_all;
use ngram::NgramQuery;
use query::{Lookup, Scope};
use store::{BlobId, ChunkRows, IndexAnswer, Lease, Shard, ShardId, Store};

use super::candidates::Candidates;
use super::cost::{FEW_CANDIDATES, FEW_FOR_INDEX, SHARDS_PER_CONNECTION};
use super::evaluate::Evaluator;
use super::filters::{StoredFilters, StoredRows};
use super::find::{IndexAnswers, Stored, follow, indexed};
use super::reader::PrefetchedRows;
use super::shards::ShardTask;
use super::state::Search;
use super::stats::Phase;

/// The data known about a shard before its turn.
pub(crate) enum Prefetched {
    /// Its filters rule it out.
    RuledOut,
    /// Its candidates.
    Candidates(Box<ReadyShard>),
    /// Nothing: the shard asks Postgres itself.
    AsksItself,
}

/// A shard to search, with its candidates.
pub(crate) struct ReadyShard {
    pub(crate) task: ShardTask,
    pub(crate) candidates: Candidates,
    /// The files and chunks of the candidates, once read, if there are few.
    pub(crate) contents: Option<PrefetchedRows>,
    are_few: bool,
}

/// Returns whether Postgres can answer the lookups of a shard along with those of others. Lookups of symbols have
/// statements of their own; lookups in memory need no statement.
pub(crate) fn asks_together(task: &ShardTask) -> bool {
    let of_texts = |lookup: &Lookup| matches!(lookup.scope, Scope::Chunk | Scope::Blob);
    !task.query.plan.has_symbols()
        && task.query.lookups().any(|of| of_texts(of) || task.cached.files.is_none())
}

impl Prefetched {
    /// Returns the number of candidate chunks.
    pub(crate) fn chunks(&self) -> usize {
        match self {
            Prefetched::Candidates(ready) if ready.candidates.blobs.is_none() => {
                ready.task.shard.chunks as usize
            }
            Prefetched::Candidates(ready) => ready.candidates.chunks(),
            Prefetched::RuledOut | Prefetched::AsksItself => 0,
        }
    }
}

impl ReadyShard {
    /// Returns whether its candidates are few and not read yet.
    pub(crate) fn is_unread(&self) -> bool {
        self.are_few && self.contents.is_none()
    }
}

/// A search, its store, and its number of connections at once.
pub(crate) type ReadContext = (Arc<Search>, Store, usize);

/// A shard, and the survivors of its stored filters, if read.
type AskedShard = (ShardTask, Option<Stored>);

/// Cuts a list into equal parts for several connections, or into fewer if it is short.
fn parts<T>(all: &[T], connections: usize) -> impl Iterator<Item = &[T]> {
    all.chunks(all.len().div_ceil(connections.max(1)).max(SHARDS_PER_CONNECTION))
}

/// Answers the lookups of some shards.
pub(crate) async fn answer_all(
    tasks: Vec<ShardTask>,
    (search, store, connections): ReadContext,
) -> Result<Vec<(ShardId, Prefetched)>, store::Error> {
    let answering = async {
        let query = search.query();
        let (to_filter, others): (Vec<ShardTask>, Vec<ShardTask>) =
            tasks.into_iter().partition(|task| !StoredRows::ngrams(&task.query, query).is_empty());
        let mut rows = ask_filters(&to_filter, &search, &store, connections).await?;
        if search.state.clock.is_over() {
            return Ok(Vec::new());
        }
        let mut known = Vec::with_capacity(to_filter.len() + others.len());
        let mut answered: Vec<AskedShard> = others.into_iter().map(|task| (task, None)).collect();
        for task in to_filter {
            match rows.remove(&task.shard.id) {
                Some(rows) => {
                    let stored = Stored::of(rows, &search, &task);
                    answered.push((task, Some(stored)));
                }
                None => known.push((task.shard.id, Prefetched::AsksItself)),
            }
        }
        // Shards with many candidates, by the lookups for which their trigram indexes are worth asking.
        let mut many: Vec<(Vec<Lookup>, Vec<AskedShard>)> = Vec::new();
        for (task, stored) in answered {
            let candidates = candidates(&search, &task, stored.as_ref(), &Vec::new());
            let is_few = |found: &Candidates| found.are_at_most(FEW_FOR_INDEX);
            let asked: Vec<Lookup> = if candidates.as_ref().is_none_or(is_few) {
                Vec::new()
            } else {
                indexed(&search, &task, None, store.no_recheck()).into_iter().cloned().collect()
            };
            if asked.is_empty() {
                known.push((task.shard.id, ready(task, candidates)));
            } else if let Some((_, shards)) = many.iter_mut().find(|(of, _)| *of == asked) {
                shards.push((task, stored));
            } else {
                many.push((asked, vec![(task, stored)]));
            }
        }
        for (asked, shards) in many {
            let ids: Vec<ShardId> = shards.iter().map(|(task, _)| task.shard.id).collect();
            let mut answers = look_up(&ids, &asked, &search, &store, connections).await?;
            for (task, stored) in shards {
                let found = answers.remove(&task.shard.id).unwrap_or_default();
                let found = asked.iter().zip(found).collect();
                let candidates = candidates(&search, &task, stored.as_ref(), &found);
                known.push((task.shard.id, ready(task, candidates)));
            }
        }
        Ok(known)
    };
    search.state.counters.time(Phase::Lookup, answering).await
}

/// Asks the stored filters of some shards for all of their lookups.
async fn ask_filters(
    tasks: &[ShardTask],
    search: &Search,
    store: &Store,
    connections: usize,
) -> Result<HashMap<ShardId, ChunkRows>, store::Error> {
    let mut ngrams: Vec<Cow<'_, NgramQuery>> = Vec::new();
    for task in tasks {
        for asked in StoredRows::ngrams(&task.query, search.query()) {
            if !ngrams.contains(&asked) {
                ngrams.push(asked);
            }
        }
    }
    let ngrams: Vec<&NgramQuery> = ngrams.iter().map(AsRef::as_ref).collect();
    let mut shards: Vec<&Shard> = tasks.iter().map(|task| &task.shard).collect();
    shards.sort_by_key(|shard| store.group_of(shard.id));
    let asking = try_join_all(parts(&shards, connections).map(async |mut part| {
        let mut lease = store.lease().await?;
        let mut all = Vec::new();
        while !part.is_empty() {
            let (rows, count) = lease.chunk_rows(part, &ngrams).await?;
            all.extend(rows);
            part = &part[count..];
        }
        lease.done();
        Ok::<_, store::Error>(all)
    }));
    Ok(asking.await?.into_iter().flatten().collect())
}

/// Asks the trigram indexes of some shards.
async fn look_up(
    shards: &[ShardId],
    asked: &[Lookup],
    search: &Search,
    store: &Store,
    connections: usize,
) -> Result<HashMap<ShardId, Vec<IndexAnswer>>, store::Error> {
    let asked: Vec<&Lookup> = asked.iter().collect();
    // Neighbouring shards of a group share statements.
    let mut shards = shards.to_vec();
    shards.sort_unstable_by_key(|shard| (store.group_of(*shard), *shard));
    let asking = try_join_all(parts(&shards, connections).map(async |part| {
        let mut lease = store.lease().await?;
        let found = lease.lookups(part, search.selection.files.epoch, &asked).await?;
        lease.done();
        Ok::<_, store::Error>(found)
    }));
    Ok(asking.await?.into_iter().flatten().collect())
}

/// Returns the candidates of a shard; `None` if there are none.
fn candidates(
    search: &Search,
    task: &ShardTask,
    stored: Option<&Stored>,
    answers: &IndexAnswers<'_>,
) -> Option<Candidates> {
    if stored.is_some_and(|stored| stored.rule_out(task)) {
        return None;
    }
    let mut candidates = match stored {
        Some(stored) => stored.candidates((search, task), answers),
        None => follow::<StoredFilters<'_>>((search, task), None, answers, 0..i32::MAX),
    };
    candidates.drop_others();
    let none = candidates.blobs.as_ref().is_some_and(Vec::is_empty);
    (!none).then_some(candidates)
}

fn ready(task: ShardTask, candidates: Option<Candidates>) -> Prefetched {
    candidates.map_or(Prefetched::RuledOut, |candidates| {
        let are_few = candidates.are_at_most(FEW_CANDIDATES);
        Prefetched::Candidates(Box::new(ReadyShard { task, candidates, contents: None, are_few }))
    })
}

/// Reads the contents of some shards, which are in order.
pub(crate) async fn read_all(
    few: Vec<ReadyShard>,
    (search, store, connections): ReadContext,
) -> Result<Vec<(ShardId, Prefetched)>, store::Error> {
    let part = few.len().div_ceil(connections.max(1)).max(SHARDS_PER_CONNECTION);
    let mut few = few.into_iter();
    let parts = std::iter::from_fn(|| Some(few.by_ref().take(part).collect::<Vec<_>>()));
    let parts = parts.take_while(|part| !part.is_empty());
    let reading = try_join_all(parts.map(async |part| {
        let mut lease = store.lease().await?;
        let read = read_contents(part, &search, &mut lease).await?;
        lease.done();
        Ok::<_, store::Error>(read)
    }));
    let read = search.state.counters.time(Phase::Load, reading).await?;
    Ok(read.into_iter().flatten().collect())
}

/// Reads the files of some shards' candidates, then the chunks of candidates whose files may match.
async fn read_contents(
    mut shards: Vec<ReadyShard>,
    search: &Search,
    lease: &mut Lease,
) -> Result<Vec<(ShardId, Prefetched)>, store::Error> {
    let wanted = &search.selection.files;
    let mut files_of = HashMap::new();
    let mut asked = Vec::new();
    for ReadyShard { task, candidates, .. } in &shards {
        let id = task.shard.id;
        match &task.cached.files {
            Some(files) => {
                files_of.insert(id, files.of(candidates.blobs.as_deref(), wanted));
            }
            None => asked.push((id, candidates.blob_numbers())),
        }
    }
    files_of.extend(lease.files_of_shards(&asked, wanted).await?);
    if search.state.clock.is_over() {
        return Ok(Vec::new());
    }
    let mut files_left = Vec::with_capacity(shards.len());
    for ReadyShard { task, candidates, .. } in &mut shards {
        let mut files = files_of.remove(&task.shard.id).unwrap_or_default();
        let evaluator = Evaluator { search, task, candidates };
        files.retain(|file| evaluator.open(file.clone()).is_some());
        let mut blobs: Vec<BlobId> = files.iter().map(|file| file.blob).collect();
        blobs.dedup();
        candidates.blobs = Some(blobs);
        candidates.drop_others();
        files_left.push(files);
    }
    let numbers = shards.iter().map(|of| (of.task.shard.id, of.candidates.chunk_numbers()));
    let numbers: Vec<_> = numbers.filter(|(_, numbers)| !numbers.is_empty()).collect();
    let mut chunks_of = lease.chunks_of_shards(&numbers).await?;
    let contents = shards.into_iter().zip(files_left).map(|(mut ready, files)| {
        let id = ready.task.shard.id;
        if files.is_empty() {
            return (id, Prefetched::RuledOut);
        }
        let blobs = ready.candidates.blobs.clone().unwrap_or_default();
        let chunks = chunks_of.remove(&id).unwrap_or_default();
        ready.contents = Some(PrefetchedRows { blobs, files, chunks });
        (id, Prefetched::Candidates(Box::new(ready)))
    });
    Ok(contents.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_is_for_one_connection() {
        let cut = |count, connections| -> Vec<usize> {
            let all = vec![0; count];
            parts(&all, connections).map(<[_]>::len).collect()
        };
        assert_eq!(cut(28, 2), [14, 14]);
        assert_eq!(cut(5, 2), [4, 1]);
        assert_eq!(cut(3, 2), [3]);
        assert_eq!(cut(3, 0), [3]);
        assert_eq!(cut(0, 2), [0; 0]);
    }
}
