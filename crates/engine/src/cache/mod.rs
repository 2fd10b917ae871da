//! What a server keeps in memory of each shard, so that Postgres is asked for little but candidates:
//! which n-filters it holds, its files, and its texts.
//!
//! All of it is a copy, never the truth. What is not here, or not for the state of the index that a
//! search reads, is read from Postgres.

pub(crate) mod dictionary;
pub(crate) mod files;
pub(crate) mod texts;

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use futures_util::{StreamExt, TryStreamExt, stream};
use ngram::{ShardFilter, SignatureFile};
use store::{Catalog, Epoch, FileFilter, Shard, ShardId, Store, Switch};
use tokio::sync::Semaphore;

use files::ShardFiles;
use texts::{SEGMENT_CHUNKS, Segment, SegmentKey, Texts};

/// Chunks of a segment that a search has to ask Postgres for, before the segment is read into memory.
const MISSES: usize = 16;

/// What is kept of all shards.
#[derive(Debug)]
pub(crate) struct ShardCache {
    shards: RwLock<Shards>,
    pub(crate) texts: Arc<Texts>,
    /// Segments that searches want are read one at a time.
    loading: Arc<Semaphore>,
    met: Mutex<Met>,
}

/// Which index all that is kept is of.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    identity: i64,
    /// The newest state of it that was met.
    switch: Switch,
    /// How often everything was forgotten. What was being read then may be of what is no more.
    forgotten: u64,
}

type Shards = BTreeMap<ShardId, Entry>;

#[derive(Clone, Debug)]
struct Entry {
    /// Since when the shard is live.
    since: Epoch,
    /// The state of its files that this is.
    changed: Epoch,
    files: Arc<ShardFiles>,
    /// Chunks with smaller numbers are in the filters.
    filtered: i32,
    filters: Option<Arc<ShardFilter>>,
    /// Its texts were read up to here.
    read: i32,
}

/// What is known of a shard without asking Postgres.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedShard {
    pub(crate) files: Option<Arc<ShardFiles>>,
    pub(crate) filters: Option<Arc<ShardFilter>>,
    /// Its texts are in memory, all or nearly.
    pub(crate) texts: bool,
}

/// What is known of all shards at one time.
pub(crate) struct CacheView<'a>(RwLockReadGuard<'a, Shards>);

impl CacheView<'_> {
    /// What is known of a shard in one state of the index.
    pub(crate) fn of(&self, shard: &Shard) -> CachedShard {
        let kept = self.0.get(&shard.id).filter(|kept| kept.since == shard.since);
        kept.map_or_else(CachedShard::default, |kept| CachedShard {
            files: (kept.changed == shard.changed).then(|| Arc::clone(&kept.files)),
            // More may be in it than there was then.
            filters: kept.filters.clone().filter(|_| kept.filtered >= shard.filtered),
            texts: kept.read >= shard.chunks,
        })
    }
}

impl ShardCache {
    /// Keeps up to so many bytes of texts.
    pub(crate) fn new(bytes: u64) -> Self {
        let (texts, loading) = (Arc::new(Texts::new(bytes)), Arc::new(Semaphore::new(1)));
        Self { shards: RwLock::default(), texts, loading, met: Mutex::default() }
    }

    /// Forgets everything when this is a state of another index, or does not follow the one that was met before: a
    /// database was made anew, or lost its last commits. Numbers then mean something else.
    pub(crate) fn meet(&self, catalog: &Catalog) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if !catalog.follows(met.identity, met.switch) {
            self.change(BTreeMap::clear);
            self.texts.clear();
            met.forgotten += 1;
        }
        (met.identity, met.switch) = (catalog.identity, catalog.switch);
    }

    /// How often everything was forgotten.
    fn forgotten(&self) -> u64 {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).forgotten
    }

    /// Keeps what was read, unless everything was forgotten since.
    fn keep(&self, forgotten: u64, keep: impl FnOnce()) {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if met.forgotten == forgotten {
            keep();
        }
    }

    /// What is known now. As long as this is held, nothing more gets known.
    pub(crate) fn view(&self) -> CacheView<'_> {
        CacheView(self.shards.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Brings what is kept up to date with a state of the index: first the filters and files of
    /// all shards, then texts, as long as there is room.
    pub(crate) async fn read_ahead(
        self: &Arc<Self>,
        store: &Store,
        catalog: &Catalog,
        is_old: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), store::Error> {
        self.change(|shards| {
            shards.retain(|id, kept| {
                catalog.shards.iter().any(|shard| (shard.id, shard.since) == (*id, kept.since))
            });
        });
        // What cannot be read is left to the searches, which say so.
        let pass = |done: Result<(), store::Error>| match done {
            Err(error @ store::Error::Unreachable(_)) => Err(error),
            Err(error) => {
                tracing::warn!("a shard could not be read into memory: {error}");
                Ok(())
            }
            Ok(()) => Ok(()),
        };
        for shard in &catalog.shards {
            pass(self.read_files(store, catalog, shard).await)?;
        }
        let this = Arc::clone(self);
        let work = tokio::task::spawn_blocking(move || this.combine_filters());
        work.await.expect("putting filters together does not panic");
        for shard in &catalog.shards {
            pass(self.read_texts(store, shard, is_old).await)?;
        }
        let (texts, _) = self.texts.fill();
        let filters: usize =
            signature_files(&self.view().0).iter().map(|(one, _)| one.memory()).sum();
        tracing::debug!("in memory: {texts} bytes of texts, {filters} bytes of filters");
        Ok(())
    }

    /// Puts the filters of shards into signature files with others: those that are in one of their own, or in one that others
    /// have left, or that has room for many more.
    fn combine_filters(&self) {
        let shards = self.view().0.clone();
        let mut some: Vec<(ShardId, Arc<ShardFilter>)> = Vec::new();
        let signature_files = signature_files(&shards);
        let good = |file: &Arc<SignatureFile>| {
            let here = signature_files.iter().find(|(one, _)| Arc::ptr_eq(one, file));
            let all = here.is_some_and(|(_, shards)| *shards == file.shards());
            all && file.width() > SignatureFile::WIDTH / 2
        };
        for (id, kept) in &shards {
            let Some(filters) =
                kept.filters.as_ref().filter(|filters| !good(filters.signature_file()))
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

    /// Puts the filters of some shards into one file, unless they are already.
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
                let kept = shards.get_mut(id).and_then(|kept| kept.filters.as_mut());
                if let Some(filters) = kept.filter(|filters| Arc::ptr_eq(filters, old)) {
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
        let forgotten = self.forgotten();
        let kept = self.kept(shard);
        let old_files = kept.as_ref().filter(|kept| kept.changed == shard.changed);
        let old_filters = kept.as_ref().filter(|kept| kept.filtered == shard.filtered);
        if old_files.is_some() && old_filters.is_some() {
            return Ok(());
        }
        let filters = match old_filters {
            Some(kept) => kept.filters.clone(),
            None => {
                let mut lease = store.lease().await?;
                let filters = lease.filters(shard).await?.map(Arc::new);
                // Given back before another one is taken: there may be no more than one.
                lease.done();
                filters
            }
        };
        let files = match old_files {
            Some(kept) => Arc::clone(&kept.files),
            None => read_files(store, catalog.epoch, shard).await?,
        };
        let new = Entry {
            since: shard.since,
            changed: shard.changed,
            files,
            filtered: shard.filtered,
            filters,
            read: kept.map_or(0, |kept| kept.read),
        };
        self.keep(forgotten, || {
            self.change(|shards| shards.insert(shard.id, new));
        });
        Ok(())
    }

    async fn read_texts(
        self: &Arc<Self>,
        store: &Store,
        shard: &Shard,
        is_old: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), store::Error> {
        let forgotten = self.forgotten();
        let from = self.kept(shard).map_or(0, |kept| kept.read);
        if from >= shard.chunks {
            return Ok(());
        }
        // The one that was not full is read again.
        let numbers = from / SEGMENT_CHUNKS..(shard.chunks + SEGMENT_CHUNKS - 1) / SEGMENT_CHUNKS;
        let is_full = || {
            let (used, room) = self.texts.fill();
            used >= room / 10 * 9
        };
        let reading = stream::iter(numbers).take_while(|_| ready(!is_full() && !is_old()));
        let reading = reading.map(async |number| {
            self.read_segment(store, shard, number).await?;
            Ok::<_, store::Error>(number)
        });
        // Searches have the other half of the processors.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut read = std::pin::pin!(reading.buffered(processors.div_ceil(2)));
        while let Some(number) = read.try_next().await? {
            self.keep(forgotten, || {
                self.change(|shards| {
                    if let Some(kept) = shards.get_mut(&shard.id) {
                        kept.read = shard.chunks.min((number + 1) * SEGMENT_CHUNKS);
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
        let forgotten = self.forgotten();
        let first = number * SEGMENT_CHUNKS;
        let upto = shard.chunks.min(first + SEGMENT_CHUNKS);
        let mut lease = store.lease().await?;
        let chunks = lease.chunk_range(shard.id, first..upto).await?;
        lease.done();
        let (this, key) = (Arc::clone(self), SegmentKey::of(shard, first));
        let work = tokio::task::spawn_blocking(move || {
            match Segment::new(&chunks, upto) {
                Ok(segment) => this.keep(forgotten, || this.texts.keep(key, segment)),
                // They are read from Postgres then.
                Err(error) => tracing::warn!("texts cannot be kept in memory: {error}"),
            }
        });
        work.await.expect("compressing does not panic");
        Ok(())
    }

    /// Notes that chunks had to be read from Postgres. Segments of which many had are read into memory,
    /// one at a time and beside the search.
    pub(crate) fn missed(self: &Arc<Self>, store: &Store, shard: &Shard, numbers: &[i32]) {
        for same in numbers.chunk_by(|n, next| n / SEGMENT_CHUNKS == next / SEGMENT_CHUNKS) {
            let number = same[0] / SEGMENT_CHUNKS;
            let last = same[same.len() - 1];
            let has = self.texts.upto(SegmentKey::of(shard, last)).is_some_and(|upto| last < upto);
            let wanted = same.len() >= MISSES && !has && self.texts.fill().1 > 0;
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

    fn kept(&self, shard: &Shard) -> Option<Entry> {
        let shards = self.shards.read().unwrap_or_else(PoisonError::into_inner);
        shards.get(&shard.id).filter(|kept| kept.since == shard.since).cloned()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Shards) -> T) -> T {
        change(&mut self.shards.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The signature files that the filters of some shards are in, and how many of these are in each.
fn signature_files(shards: &Shards) -> Vec<(Arc<SignatureFile>, usize)> {
    let mut all: Vec<(Arc<SignatureFile>, usize)> = Vec::new();
    for file in shards.values().filter_map(|kept| Some(kept.filters.as_ref()?.signature_file())) {
        match all.iter_mut().find(|(one, _)| Arc::ptr_eq(one, file)) {
            Some((_, shards)) => *shards += 1,
            None => all.push((Arc::clone(file), 1)),
        }
    }
    all
}

/// The files of a shard in one state of the index, from the database.
pub(crate) async fn read_files(
    store: &Store,
    epoch: Epoch,
    shard: &Shard,
) -> Result<Arc<ShardFiles>, store::Error> {
    let mut lease = store.lease().await?;
    let all = FileFilter { epoch, repos: None, languages: None };
    let files = lease.files(shard.id, None, &all).await?;
    lease.done();
    let work = tokio::task::spawn_blocking(|| Arc::new(ShardFiles::new(files)));
    Ok(work.await.expect("putting files together does not panic"))
}
