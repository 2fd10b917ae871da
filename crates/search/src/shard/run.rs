//! Runs the search of one shard, in memory or with Postgres.

use std::sync::Arc;

use query::Lookup;
use store::{BlobId, Store};
use tokio::sync::mpsc;

use super::super::candidates::Candidates;
use super::super::cost::{IndexWorth, prefers_trigram_index};
use super::super::find::Finder;
use super::super::reader::{PrefetchedRows, ShardReader};
use super::super::revision::memory::MemorySource;
use super::super::sender::ShardEvent;
use super::super::shards::ShardTask;
use super::super::source::Source;
use super::super::state::{ChunkCount, Search};
use super::super::survivors::Survivors;
use super::ShardSearch;
use crate::cache::ShardCache;

/// The search of one shard before it starts. It runs as its own task.
pub(crate) struct ShardRun {
    pub(crate) search: Arc<Search>,
    pub(crate) store: Store,
    pub(crate) cache: Option<Arc<ShardCache>>,
    pub(crate) task: ShardTask,
    /// Chunks that survive the filters in memory.
    pub(crate) survivors: Survivors,
    /// The candidates, if Postgres found them in advance, and their contents, if read.
    pub(crate) candidates: Option<Candidates>,
    pub(crate) contents: Option<Arc<PrefetchedRows>>,
    /// First blob to search.
    pub(crate) from: BlobId,
    /// Maximum number of results that were returned before.
    pub(crate) max_repeats: usize,
    /// Number of threads that may work on this shard at once.
    pub(crate) cores: usize,
    /// Number of shards that are searched at once.
    pub(crate) concurrent_shards: usize,
    /// Whether the shard is searched in memory.
    pub(crate) in_memory: bool,
    pub(crate) chunks: Arc<ChunkCount>,
}

/// Returns whether to search a shard in memory: its files, filters and texts are there, and its symbols if needed, and
/// the filters are selective enough. `wanted` is the number of results still wanted.
pub(crate) fn is_in_memory(
    search: &Search,
    task: &ShardTask,
    survivors: &Survivors,
    wanted: Option<usize>,
) -> bool {
    let (cached, plan) = (&task.cached, &task.query.plan);
    if !(cached.texts && cached.files.is_some() && cached.filters.is_some()) {
        return false;
    }
    if plan.has_symbols() && cached.symbols.is_none() {
        return false;
    }
    let Some(count) = survivors.count(task).filter(|_| plan.is_of_chunks()) else { return true };
    // Sum all lookups, even those of an `All`: chunks that pass one part lie in blobs that passed earlier parts.
    let of = |lookup: &Lookup| survivors.index_worth(lookup, search, task);
    let each = plan.lookups().into_iter().filter_map(of).filter(|worth| worth.is_positive());
    let worth = each.fold(IndexWorth::default(), IndexWorth::and);
    !prefers_trigram_index(worth, count, wanted, &search.state.hit_rate)
}

impl ShardRun {
    /// Searches the shard, and sends its results.
    pub(crate) async fn run(self, events: mpsc::Sender<ShardEvent>) {
        let (search, task) = (&*self.search, &self.task);
        if let Some(memory) = search.selection.memory_at(task.shard.id) {
            let (shard, filter) = (Arc::clone(memory), search.selection.files.clone());
            return self.search(MemorySource { shard, filter }, events).await;
        }
        let reader = ShardReader {
            store: self.store.clone(),
            shard: task.shard.clone(),
            filter: search.selection.files.clone(),
            files: task.cached.files.clone(),
            symbols: task.cached.symbols.clone(),
            cache: self.cache.clone(),
            contents: self.contents.clone(),
            state: Arc::clone(&search.state),
            connections: search.request.limit.map_or(1, |_| self.cores),
        };
        let texts = self.cache.as_ref().map(|cache| &*cache.texts);
        let finder = Finder {
            reader,
            search,
            task,
            survivors: &self.survivors,
            texts: texts.filter(|_| task.cached.texts && task.cached.files.is_some()),
            in_memory: self.in_memory,
            ready: self.candidates.as_ref(),
        };
        self.search(finder, events).await;
    }

    async fn search(&self, source: impl Source, events: mpsc::Sender<ShardEvent>) {
        let search = ShardSearch {
            search: &self.search,
            task: &self.task,
            source,
            from: self.from,
            max_repeats: self.max_repeats,
            cores: self.cores,
            concurrent_shards: self.concurrent_shards,
            chunks: &self.chunks,
        };
        search.run(events).await;
    }
}
