//! The entry point of searching: one [`Searcher`] for each database.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use store::{Catalog, Store};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::ask::kept::AskMemory;
use crate::cache::ShardCache;
use crate::kept_trees::KeptTrees;
use crate::revision::Commits;
use crate::snapshot::Snapshots;

/// Maximum number of searches that wait while they have a turn of the server. If all had, nobody could search.
const MOST_IN_TURN: usize = 2;

/// Searches one database. All requests of a server share it.
#[derive(Debug)]
pub struct Searcher {
    store: Store,
    /// Number of shards that one search keeps busy at a time.
    parallel: usize,
    /// Maximum time of a search, which overrides its request.
    max_time: Option<Duration>,
    /// Runtime that runs the shards of a search without a limit; `None` for the runtime of the search itself.
    threads: Option<Handle>,
    snapshots: Snapshots,
    cache: Option<Arc<ShardCache>>,
    tree: tokio::sync::Mutex<KeptTrees>,
    /// The files of an earlier epoch, for views that read it.
    earlier_tree: tokio::sync::Mutex<KeptTrees>,
    /// Whether catalogs of earlier epochs are kept for a while.
    keeps_earlier: bool,
    /// Commits that were searched on demand.
    commits: Arc<Commits>,
    asked: AskMemory,
    /// Permits to wait for changes while holding a turn of the server.
    pub(crate) waiting_in_turn: Semaphore,
}

impl Searcher {
    /// Creates a searcher that searches `parallel` shards at a time and keeps no shards in memory.
    pub fn new(store: Store, parallel: usize) -> Self {
        let (snapshots, tree) = (Snapshots::default(), tokio::sync::Mutex::default());
        let (earlier_tree, keeps_earlier) = (tokio::sync::Mutex::default(), false);
        let commits = Arc::default();
        Self {
            store,
            parallel,
            max_time: None,
            threads: None,
            snapshots,
            cache: None,
            tree,
            earlier_tree,
            keeps_earlier,
            commits,
            asked: AskMemory::default(),
            waiting_in_turn: Semaphore::new(MOST_IN_TURN),
        }
    }

    /// Limits the time of every search, whatever its request.
    #[must_use]
    pub fn with_max_time(mut self, most: Duration) -> Self {
        self.max_time = Some(most);
        self
    }

    /// Returns the limit on the time of every search, if there is one.
    pub fn max_time(&self) -> Option<Duration> {
        self.max_time
    }

    /// Keeps filters and file tables of the shards in memory, and up to `bytes` of compressed texts.
    /// [`read_ahead`](Self::read_ahead) loads them; texts that searches often miss are also loaded.
    #[must_use]
    pub fn with_cache(mut self, bytes: u64) -> Self {
        self.cache = Some(Arc::new(ShardCache::new(bytes)));
        self.keeping_earlier()
    }

    /// Has filters and file tables read ahead only until this process has so many bytes of memory. Searches read the others
    /// from Postgres.
    ///
    /// # Panics
    /// Searches have begun.
    #[must_use]
    pub fn within_memory(mut self, bytes: u64) -> Self {
        if let Some(cache) = &mut self.cache {
            Arc::get_mut(cache).expect("no search uses it yet").within(bytes);
        }
        self
    }

    /// Keeps earlier epochs for some minutes, so that searches can go on in them. [`refresh`](Self::refresh) must be
    /// called periodically, since their rows are not deleted meanwhile.
    #[must_use]
    pub fn keeping_earlier(mut self) -> Self {
        self.keeps_earlier = true;
        self
    }

    /// Runs the shards of a search without a limit on the threads of another runtime. A search with a limit stays on
    /// its own runtime: the task that merges results then does more work than each shard, so waking another thread
    /// costs more than it saves.
    #[must_use]
    pub fn with_runtime(mut self, threads: Handle) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Returns the catalog of the newest epoch.
    ///
    /// The catalog is kept between searches. While it is kept, garbage collection cannot delete the rows of its epoch,
    /// so a server calls [`refresh`](Self::refresh) periodically even if nobody searches.
    ///
    /// # Errors
    /// The database query fails, or the database has no index.
    pub(crate) async fn catalog(&self) -> Result<Arc<Catalog>, store::Error> {
        let replaces = |fresh: &Catalog| {
            self.asked.clear_if_stale(fresh);
            if let Some(cache) = &self.cache {
                cache.clear_if_stale(fresh);
            }
        };
        self.snapshots.newest(&self.store, self.keeps_earlier, replaces).await
    }

    /// Listens for changes of the index until the connection fails, and calls `changed` after each. Meanwhile searches
    /// need not check in Postgres whether their catalog is the newest.
    ///
    /// # Errors
    /// The connection failed.
    pub async fn listen(&self, changed: impl Fn()) -> Result<(), store::Error> {
        self.snapshots.listen(&self.store, changed).await
    }

    /// Checks in Postgres whether the kept catalog is the newest, and closes idle connections. A server calls this
    /// periodically, in case a notification was lost.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn refresh(&self) -> Result<(), store::Error> {
        self.store.trim();
        self.snapshots.expire();
        self.catalog().await?;
        if let Ok(mut trees) = self.earlier_tree.try_lock() {
            let earlier = self.snapshots.earlier_epochs();
            trees.expire(|epoch| earlier.contains(&epoch));
        }
        self.snapshots.renew_freshness(&self.store).await
    }

    /// Makes searches from now on see all that is published: a notification of it may be on its way.
    ///
    /// # Errors
    /// The database query fails.
    pub(crate) async fn hear(&self) -> Result<(), store::Error> {
        self.snapshots.expire();
        match self.catalog().await {
            Err(store::Error::Empty) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => self.snapshots.renew_freshness(&self.store).await,
        }
    }

    /// Reads filters, file tables and texts into memory until all are there or the memory is full.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn read_ahead(&self) -> Result<(), store::Error> {
        let Some(cache) = &self.cache else { return Ok(()) };
        let catalog = self.catalog().await?;
        // Stop early if a newer epoch appears, so that this catalog does not delay the deletion of its rows.
        let is_old = || self.snapshots.is_old(&catalog);
        cache.read_ahead(&self.store.for_request(), &catalog, &is_old).await
    }

    /// Returns the database that is searched.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns how many shards a search keeps busy at a time.
    pub(crate) fn parallel(&self) -> usize {
        self.parallel
    }

    pub(crate) fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// Returns the number of other servers of the index, which whoever knows it keeps: with any, searches of theirs go on
    /// here.
    pub fn others(&self) -> Arc<AtomicUsize> {
        Arc::clone(self.snapshots.others())
    }

    pub(crate) fn cache(&self) -> Option<&Arc<ShardCache>> {
        self.cache.as_ref()
    }

    pub(crate) fn threads(&self) -> Option<&Handle> {
        self.threads.as_ref()
    }

    /// Returns the trees of the newest epoch that were requested last.
    pub(crate) fn trees(&self) -> &tokio::sync::Mutex<KeptTrees> {
        &self.tree
    }

    /// Returns the trees of the earlier epoch that was read last.
    pub(crate) fn earlier_trees(&self) -> &tokio::sync::Mutex<KeptTrees> {
        &self.earlier_tree
    }

    /// Returns the commits that were searched on demand.
    pub(crate) fn commits(&self) -> &Arc<Commits> {
        &self.commits
    }

    /// Returns what questions keep in memory.
    pub(crate) fn ask_memory(&self) -> &AskMemory {
        &self.asked
    }

    /// Returns the bytes of compressed text in memory, and the limit.
    pub fn memory(&self) -> (u64, u64) {
        self.cache.as_ref().map_or((0, 0), |cache| cache.texts.usage())
    }
}
