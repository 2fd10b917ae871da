//! The cache of a server: copies of each shard's filters, files, symbols and texts in memory, so that searches query
//! Postgres as little as possible.
//!
//! The cache is never authoritative. Searches read from Postgres whatever it lacks, or has only for another epoch.

pub(crate) mod dictionary;
pub(crate) mod files;
pub(crate) mod symbols;
pub(crate) mod texts;

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use futures_util::{StreamExt, TryStreamExt, stream};
use ngram::{ShardFilter, SignatureFile};
use store::{Catalog, Epoch, FileFilter, Shard, ShardId, Store, Switch};
use tokio::sync::Semaphore;

use crate::cost::MISSES;
use files::ShardFiles;
use symbols::ShardSymbols;
use texts::{SEGMENT_CHUNKS, Segment, SegmentKey, Texts};

/// Symbols may take one part in this many of the memory.
const SYMBOLS_PART: u64 = 8;

/// The cache of all shards.
#[derive(Debug)]
pub(crate) struct ShardCache {
    shards: RwLock<Shards>,
    pub(crate) texts: Arc<Texts>,
    /// A semaphore with one permit: segments that searches missed are loaded one at a time.
    loading: Arc<Semaphore>,
    index: Mutex<CachedIndex>,
    /// Bytes of this process's memory besides texts, above which the filters and files of no more shards are read ahead.
    most: u64,
    /// Number of shards whose filters were left out for that.
    left_out: AtomicUsize,
}

/// The index whose data is cached.
#[derive(Clone, Copy, Debug, Default)]
struct CachedIndex {
    identity: i64,
    /// Switch of its newest epoch seen.
    switch: Switch,
    /// Number of times that the cache was cleared. Data whose reading began before the last clearing must not be added.
    generation: u64,
}

type Shards = BTreeMap<ShardId, Entry>;

/// Returns the bytes of memory that this process has now; `None` if the system does not tell.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[derive(Clone, Debug)]
struct Entry {
    /// Epoch in which the shard went live.
    since: Epoch,
    /// Epoch of the last change to its files that `files` contains.
    changed: Epoch,
    files: Arc<ShardFiles>,
    /// Chunks with smaller numbers are in `filters`.
    filtered: i32,
    filters: Option<Arc<ShardFilter>>,
    /// Symbols, once some were taken.
    symbols: Option<Arc<ShardSymbols>>,
    /// Chunks with smaller numbers were read into `texts`.
    read: i32,
}

/// The cached data of a shard, for one search.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedShard {
    pub(crate) files: Option<Arc<ShardFiles>>,
    pub(crate) filters: Option<Arc<ShardFilter>>,
    /// Symbols of all its blobs, once all were taken.
    pub(crate) symbols: Option<Arc<ShardSymbols>>,
    /// Whether all of its texts were read into memory, most of which are still there.
    pub(crate) texts: bool,
}

/// A view of the cached shards at one moment.
pub(crate) struct CacheView<'a>(RwLockReadGuard<'a, Shards>);

impl CacheView<'_> {
    /// Returns the cached data of a shard that is valid for the epoch of `shard`.
    pub(crate) fn of(&self, shard: &Shard) -> CachedShard {
        let entry = self.0.get(&shard.id).filter(|entry| entry.since == shard.since);
        entry.map_or_else(CachedShard::default, |entry| CachedShard {
            files: (entry.changed == shard.changed).then(|| Arc::clone(&entry.files)),
            // Filters may cover later chunks, too.
            filters: entry.filters.clone().filter(|_| entry.filtered >= shard.filtered),
            symbols: entry.symbols.clone().filter(|entry| entry.upto() >= shard.chunks),
            texts: entry.read >= shard.chunks,
        })
    }
}

impl ShardCache {
    /// Creates a cache for up to `bytes` bytes of texts.
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            shards: RwLock::default(),
            texts: Arc::new(Texts::new(bytes)),
            loading: Arc::new(Semaphore::new(1)),
            index: Mutex::default(),
            most: u64::MAX,
            left_out: AtomicUsize::new(0),
        }
    }

    /// Reads the filters and files of no more shards ahead once this process has so many bytes of memory besides texts.
    pub(crate) fn within(&mut self, bytes: u64) {
        self.most = bytes;
    }

    /// Returns whether this process has as much memory as it may have for filters and files. Texts have a limit of their own.
    fn is_full(&self) -> bool {
        let other = || Some(resident()?.saturating_sub(self.texts.usage().0));
        self.most < u64::MAX && other().is_some_and(|bytes| bytes > self.most)
    }

    /// Clears the cache if `catalog` is of another index, or does not follow the newest epoch seen: the database was
    /// recreated, or lost its last commits. Then the same numbers may stand for other data.
    pub(crate) fn clear_if_stale(&self, catalog: &Catalog) {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if !catalog.follows(index.identity, index.switch) {
            self.clear(&mut index);
        }
        (index.identity, index.switch) = (catalog.identity, catalog.switch);
    }

    fn clear(&self, index: &mut CachedIndex) {
        self.change(BTreeMap::clear);
        self.texts.clear();
        index.generation += 1;
    }

    /// Returns how often the cache was cleared.
    fn generation(&self) -> u64 {
        self.index.lock().unwrap_or_else(PoisonError::into_inner).generation
    }

    /// Adds data to the cache, unless the cache was cleared since `generation` was read.
    fn add_unless_cleared(&self, generation: u64, add: impl FnOnce()) {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if index.generation == generation {
            add();
        }
    }

    /// Returns a view of the cached shards. While it is held, nothing is added.
    pub(crate) fn view(&self) -> CacheView<'_> {
        CacheView(self.shards.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Updates the cache for an epoch: first the filters and files of all shards, then their symbols, then texts
    /// until the memory is full.
    pub(crate) async fn read_ahead(
        self: &Arc<Self>,
        store: &Store,
        catalog: &Catalog,
        is_old: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), store::Error> {
        self.change(|shards| {
            shards.retain(|id, entry| {
                catalog.shards.iter().any(|shard| (shard.id, shard.since) == (*id, entry.since))
            });
        });
        // Searches report the error of a shard that cannot be read.
        let pass = |done: Result<(), store::Error>| match done {
            Err(error @ store::Error::Unreachable(_)) => Err(error),
            Err(error) => {
                tracing::warn!("a shard could not be read into memory: {error}");
                Ok(())
            }
            Ok(()) => Ok(()),
        };
        let mut left_out = 0;
        for shard in &catalog.shards {
            // What is in memory is renewed: it takes about as much as before.
            if self.entry(shard).is_none() && self.is_full() {
                left_out += 1;
            } else {
                pass(self.read_files(store, catalog, shard).await)?;
            }
        }
        if self.left_out.swap(left_out, Ordering::Relaxed) == 0 && left_out > 0 {
            tracing::warn!(
                "the filters of {left_out} of {} shards do not fit into half of the memory; searches read them from \
                 Postgres, which takes longer; give the server and Postgres more memory",
                catalog.shards.len()
            );
        }
        // What follows takes memory, too.
        if left_out > 0 {
            return Ok(());
        }
        let this = Arc::clone(self);
        let work = tokio::task::spawn_blocking(move || this.combine_filters());
        work.await.expect("putting filters together does not panic");
        pass(self.read_symbols(store, catalog).await)?;
        for shard in &catalog.shards {
            pass(self.read_texts(store, shard, is_old).await)?;
        }
        let (texts, _) = self.texts.usage();
        let filters: usize =
            signature_files(&self.view().0).iter().map(|(one, _)| one.memory()).sum();
        let symbols = self.symbols_memory();
        tracing::debug!(
            "in memory: {texts} bytes of texts with {symbols} of symbols, {filters} bytes of filters"
        );
        Ok(())
    }

    /// Combines filters of shards into shared signature files: those in a separate file, in a file that other shards
    /// have left, or in one with room for many more.
    fn combine_filters(&self) {
        let shards = self.view().0.clone();
        let mut some: Vec<(ShardId, Arc<ShardFilter>)> = Vec::new();
        let signature_files = signature_files(&shards);
        let good = |file: &Arc<SignatureFile>| {
            let here = signature_files.iter().find(|(one, _)| Arc::ptr_eq(one, file));
            let all = here.is_some_and(|(_, shards)| *shards == file.shards());
            all && file.width() > SignatureFile::WIDTH / 2
        };
        for (id, entry) in &shards {
            let Some(filters) =
                entry.filters.as_ref().filter(|filters| !good(filters.signature_file()))
            else {
                continue;
            };
            let width: usize = some.iter().map(|(_, filters)| filters.width()).sum();
            if width + filters.width() > SignatureFile::WIDTH {
                self.put(std::mem::take(&mut some));
            }
            some.push((*id, Arc::clone(filters)));
        }
        self.put(some);
    }

    /// Combines the filters of some shards into one signature file, unless they already are.
    fn put(&self, some: Vec<(ShardId, Arc<ShardFilter>)>) {
        let (ids, old): (Vec<_>, Vec<_>) = some.into_iter().unzip();
        let Some(first) = old.first().map(|filters| filters.signature_file()) else { return };
        let are_in_one = old.iter().all(|filters| Arc::ptr_eq(filters.signature_file(), first));
        if are_in_one && first.shards() == old.len() {
            return;
        }
        let new = ShardFilter::combine(&old);
        self.change(|shards| {
            for ((id, old), new) in ids.iter().zip(&old).zip(new) {
                let entry = shards.get_mut(id).and_then(|entry| entry.filters.as_mut());
                if let Some(filters) = entry.filter(|filters| Arc::ptr_eq(filters, old)) {
                    *filters = new;
                }
            }
        });
    }

    async fn read_files(
        &self,
        store: &Store,
        catalog: &Catalog,
        shard: &Shard,
    ) -> Result<(), store::Error> {
        let generation = self.generation();
        let entry = self.entry(shard);
        let old_files = entry.as_ref().filter(|entry| entry.changed == shard.changed);
        let old_filters = entry.as_ref().filter(|entry| entry.filtered == shard.filtered);
        if old_files.is_some() && old_filters.is_some() {
            return Ok(());
        }
        let filters = match old_filters {
            Some(entry) => entry.filters.clone(),
            None => {
                let mut lease = store.lease().await?;
                let filters = lease.filters(shard).await?.map(Arc::new);
                // Return it before taking the next lease, since there may be only one connection.
                lease.done();
                filters
            }
        };
        let files = match old_files {
            Some(entry) => Arc::clone(&entry.files),
            None => read_files(store, catalog.epoch, shard).await?,
        };
        let new = Entry {
            since: shard.since,
            changed: shard.changed,
            files,
            filtered: shard.filtered,
            filters,
            symbols: entry.as_ref().and_then(|entry| entry.symbols.clone()),
            read: entry.map_or(0, |entry| entry.read),
        };
        self.add_unless_cleared(generation, || {
            self.change(|shards| shards.insert(shard.id, new));
        });
        Ok(())
    }

    /// Reads the symbols of shards for which more were taken since the last read, while there is room.
    async fn read_symbols(&self, store: &Store, catalog: &Catalog) -> Result<(), store::Error> {
        let mut lease = store.lease().await?;
        let taken = lease.symbols_upto().await?;
        lease.done();
        for shard in &catalog.shards {
            let (generation, entry) = (self.generation(), self.entry(shard));
            let taken = taken.get(&shard.id).copied().unwrap_or(0);
            let known = entry.as_ref().and_then(|entry| entry.symbols.as_ref());
            // Incomplete symbols are useless to a search.
            let wanted = taken >= shard.chunks;
            if entry.is_none() || known.map(|known| known.upto()) == Some(taken).filter(|_| wanted)
            {
                continue;
            }
            let room = self.texts.usage().1 / SYMBOLS_PART;
            let symbols = if wanted && self.symbols_memory() < room {
                let mut lease = store.lease().await?;
                let groups = lease.symbol_groups(shard.id).await?;
                let given_up = lease.symbols_given_up_in(&[shard.id]).await?;
                lease.done();
                let given_up = given_up.into_values().next().unwrap_or_default();
                let work = move || ShardSymbols::new(groups, given_up, taken);
                let work = tokio::task::spawn_blocking(work);
                Some(Arc::new(work.await.expect("compressing does not panic")))
            } else {
                None
            };
            self.add_unless_cleared(generation, || {
                self.change(|shards| {
                    if let Some(entry) = shards.get_mut(&shard.id) {
                        entry.symbols = symbols;
                    }
                });
            });
            self.texts.reserve(self.symbols_memory());
        }
        Ok(())
    }

    /// Returns the size of all symbols in memory, in bytes.
    fn symbols_memory(&self) -> u64 {
        self.view().0.values().filter_map(|entry| Some(entry.symbols.as_ref()?.memory())).sum()
    }

    async fn read_texts(
        self: &Arc<Self>,
        store: &Store,
        shard: &Shard,
        is_old: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), store::Error> {
        let generation = self.generation();
        let from = self.entry(shard).map_or(0, |entry| entry.read);
        if from >= shard.chunks {
            return Ok(());
        }
        // Start with the last segment read, which may have been incomplete.
        let numbers = from / SEGMENT_CHUNKS..(shard.chunks + SEGMENT_CHUNKS - 1) / SEGMENT_CHUNKS;
        let is_full = || {
            let (used, room) = self.texts.usage();
            used >= room / 10 * 9
        };
        let reading = stream::iter(numbers).take_while(|_| ready(!is_full() && !is_old()));
        let reading = reading.map(async |number| {
            self.read_segment(store, shard, number).await?;
            Ok::<_, store::Error>(number)
        });
        // Leave half of the processors to searches.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut read = std::pin::pin!(reading.buffered(processors.div_ceil(2)));
        while let Some(number) = read.try_next().await? {
            self.add_unless_cleared(generation, || {
                self.change(|shards| {
                    if let Some(entry) = shards.get_mut(&shard.id) {
                        entry.read = shard.chunks.min((number + 1) * SEGMENT_CHUNKS);
                    }
                });
            });
        }
        Ok(())
    }

    async fn read_segment(
        self: &Arc<Self>,
        store: &Store,
        shard: &Shard,
        number: i32,
    ) -> Result<(), store::Error> {
        let generation = self.generation();
        let first = number * SEGMENT_CHUNKS;
        let upto = shard.chunks.min(first + SEGMENT_CHUNKS);
        let mut lease = store.lease().await?;
        let chunks = lease.chunk_range(shard.id, first..upto).await?;
        lease.done();
        let (this, key) = (Arc::clone(self), SegmentKey::of(shard, first));
        let work = tokio::task::spawn_blocking(move || {
            match Segment::new(&chunks, upto) {
                Ok(segment) => {
                    this.add_unless_cleared(generation, || this.texts.insert(key, segment));
                }
                // Searches then read these chunks from Postgres.
                Err(error) => tracing::warn!("texts cannot be kept in memory: {error}"),
            }
        });
        work.await.expect("compressing does not panic");
        Ok(())
    }

    /// Notes chunks that had to be read from Postgres. Loads a segment with many of them into memory, one
    /// segment at a time and in the background.
    pub(crate) fn missed(self: &Arc<Self>, store: &Store, shard: &Shard, numbers: &[i32]) {
        for same in numbers.chunk_by(|n, next| n / SEGMENT_CHUNKS == next / SEGMENT_CHUNKS) {
            let number = same[0] / SEGMENT_CHUNKS;
            let last = same[same.len() - 1];
            let has = self.texts.upto(SegmentKey::of(shard, last)).is_some_and(|upto| last < upto);
            let wanted = same.len() >= MISSES && !has && self.texts.usage().1 > 0;
            let Ok(turn) = Arc::clone(&self.loading).try_acquire_owned() else { return };
            if wanted {
                let (this, store, shard) = (Arc::clone(self), store.clone(), shard.clone());
                tokio::spawn(async move {
                    if let Err(error) = this.read_segment(&store, &shard, number).await {
                        tracing::debug!("texts could not be read into memory: {error}");
                    }
                    drop(turn);
                });
            }
        }
    }

    fn entry(&self, shard: &Shard) -> Option<Entry> {
        let shards = self.shards.read().unwrap_or_else(PoisonError::into_inner);
        shards.get(&shard.id).filter(|entry| entry.since == shard.since).cloned()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Shards) -> T) -> T {
        change(&mut self.shards.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the signature files of the shards' filters, each with the number of shards in it.
fn signature_files(shards: &Shards) -> Vec<(Arc<SignatureFile>, usize)> {
    let mut all: Vec<(Arc<SignatureFile>, usize)> = Vec::new();
    for file in shards.values().filter_map(|entry| Some(entry.filters.as_ref()?.signature_file())) {
        match all.iter_mut().find(|(one, _)| Arc::ptr_eq(one, file)) {
            Some((_, shards)) => *shards += 1,
            None => all.push((Arc::clone(file), 1)),
        }
    }
    all
}

/// Reads the files of a shard in one epoch from Postgres.
pub(crate) async fn read_files(
    store: &Store,
    epoch: Epoch,
    shard: &Shard,
) -> Result<Arc<ShardFiles>, store::Error> {
    let mut lease = store.lease().await?;
    let all = FileFilter { epoch, repos: None, languages: None, trees: store::TreeFilter::All };
    let files = lease.files(shard.id, None, &all).await?;
    lease.done();
    let work = tokio::task::spawn_blocking(|| Arc::new(ShardFiles::new(files)));
    Ok(work.await.expect("putting files together does not panic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_the_cache_was_cleared_is_not_added() {
        let cache = ShardCache::new(1 << 20);
        let before = cache.generation();
        cache.clear(&mut cache.index.lock().unwrap());
        cache.add_unless_cleared(before, || panic!("it is of another index"));
        let mut added = false;
        cache.add_unless_cleared(cache.generation(), || added = true);
        assert!(added);
    }
    #[test]
    fn nothing_is_read_ahead_beyond_the_memory() {
        let mut cache = ShardCache::new(0);
        assert!(resident().unwrap() > 1 << 20);
        assert!(!cache.is_full());
        cache.within(1 << 50);
        assert!(!cache.is_full());
        cache.within(1 << 20);
        assert!(cache.is_full());
    }
}
