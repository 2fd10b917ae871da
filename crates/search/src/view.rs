//! A [`View`]: the visible repositories, and the only way to their data in the index.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use store::{Catalog, Epoch, InTree, QueuePlace, RepoId, Shard, Store, Switch};

use crate::ask::kept::AskMemory;
use crate::cache::files::ShardFiles;
use crate::cache::{ShardCache, read_files};
use crate::missing::Missing;
use crate::searcher::Searcher;
use crate::tree::Tree;
use crate::types::{Error, Resume};
use crate::visible::Visible;

/// The visible repositories. All texts, files, paths, symbols, docs, SCIP data, left out files, counts, blame and
/// history are read through a view, which returns nothing of other repositories. Views are cheap to copy.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) searcher: Arc<Searcher>,
    /// The database, of which one replica or the primary is read.
    store: Store,
    pub(crate) visible: Visible,
    /// Trees that are searched instead of the main ones of their repositories.
    trees: Arc<[InTree]>,
    /// Whether the limit on the time of every search does not apply.
    is_unlimited: bool,
    /// Whether clones are not read.
    without_clones: bool,
    /// The state of the index that is read; `None` for the newest at each read.
    pinned: Option<Arc<Catalog>>,
}

impl View {
    /// Creates a view of the visible repositories of an index.
    pub fn new(searcher: Arc<Searcher>, visible: Visible) -> Self {
        let trees = Arc::default();
        let (is_unlimited, without_clones, pinned) = (false, false, None);
        let store = searcher.store().for_request();
        Self { searcher, store, visible, trees, is_unlimited, without_clones, pinned }
    }

    /// Returns the view that shows other repositories.
    #[must_use]
    pub fn showing(self, visible: Visible) -> Self {
        Self { visible, ..self }
    }

    /// Returns the view without the limit on the time of every search.
    #[must_use]
    pub fn without_max_time(self) -> Self {
        Self { is_unlimited: true, ..self }
    }

    /// Returns the view that reads no clones: it compares no revisions.
    #[must_use]
    pub fn without_clones(self) -> Self {
        Self { without_clones: true, ..self }
    }

    /// Returns whether clones are read.
    pub fn reads_clones(&self) -> bool {
        !self.without_clones
    }

    /// Returns the view in which some trees take the place of the main ones of their repositories. A query that names
    /// trees itself ignores them.
    #[must_use]
    pub fn in_trees(self, trees: &[InTree]) -> Self {
        Self { trees: trees.into(), ..self }
    }

    /// Returns the view that reads one state of the index, whatever is published meanwhile: the newest, or that of an
    /// epoch while it is kept. `None` if that epoch is gone.
    ///
    /// # Errors
    /// The database query fails, or the database has no index.
    pub async fn pinned(&self, epoch: Option<Epoch>) -> Result<Option<Self>, store::Error> {
        let mut newest = self.searcher.catalog().await?;
        if epoch.is_some_and(|epoch| epoch > newest.epoch) {
            // Another server may have heard of it before.
            self.searcher.hear().await?;
            newest = self.searcher.catalog().await?;
        }
        let wanted = epoch.filter(|epoch| *epoch != newest.epoch);
        let catalog = match wanted {
            None => Some(newest),
            Some(epoch) => self.searcher.snapshots().earlier_at(epoch).await,
        };
        let Some(catalog) = catalog else { return Ok(None) };
        // Others may go on from what this view reads.
        catalog.note_search();
        Ok(Some(Self { pinned: Some(catalog), ..self.clone() }))
    }

    /// Returns the catalog of all repositories that this view reads now.
    pub(crate) async fn whole(&self) -> Result<Arc<Catalog>, store::Error> {
        match &self.pinned {
            Some(catalog) => Ok(Arc::clone(catalog)),
            None => self.searcher.catalog().await,
        }
    }

    /// Returns the trees that take the place of main ones.
    pub(crate) fn trees(&self) -> &[InTree] {
        &self.trees
    }

    /// Returns the catalog of the newest epoch, with the visible repositories.
    ///
    /// # Errors
    /// The database query fails, or the database has no index.
    pub fn catalog(&self) -> BoxFuture<'_, Result<Arc<Catalog>, store::Error>> {
        Box::pin(async move { Ok(self.visible_of(&self.whole().await?)) })
    }

    pub(crate) fn visible_of(&self, catalog: &Arc<Catalog>) -> Arc<Catalog> {
        self.visible.restrict(catalog, &self.trees)
    }

    /// Returns whether it shows all repositories.
    pub fn shows_all(&self) -> bool {
        self.visible.is_all()
    }

    /// Returns whether it shows what somebody may see by grants, and no more.
    pub fn is_by_grants(&self) -> bool {
        self.visible.is_by_grants()
    }

    /// Returns the visible repositories, ascending; `None` if all are, and those of later epochs will be.
    ///
    /// # Errors
    /// The database query fails, or the database has no index.
    pub async fn visible_repos(&self) -> Result<Option<Vec<RepoId>>, store::Error> {
        if self.visible.is_all() {
            return Ok(None);
        }
        let mut repos: Vec<RepoId> = self.catalog().await?.repos.keys().copied().collect();
        repos.sort_unstable();
        Ok(Some(repos))
    }

    /// Returns the visible repositories, by name.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn repos(&self) -> Result<Vec<store::Repo>, store::Error> {
        let mut repos = self.store().repos().await?;
        if !self.visible.is_all() {
            let visible = self.visible.ready();
            repos.retain(|repo| visible.shows(&repo.name, &repo.source));
        }
        Ok(repos)
    }

    /// Returns the places in the queue of the visible repositories that are in it, counted among these.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn queue_places(&self) -> Result<HashMap<RepoId, QueuePlace>, store::Error> {
        let mut places = self.store().queue_places().await?;
        if !self.visible.is_all() {
            let catalog = self.catalog().await?;
            places.retain(|repo, _| catalog.repos.contains_key(repo));
            let mut taken: Vec<usize> = places.values().map(|queued| queued.place).collect();
            taken.sort_unstable();
            taken.dedup();
            for queued in places.values_mut() {
                queued.place = taken.partition_point(|place| *place < queued.place) + 1;
            }
        }
        Ok(places)
    }

    /// Returns the total size in bytes of the texts stored for the visible repositories; equal contents count once.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn stored_bytes(&self) -> Result<i64, store::Error> {
        let catalog = self.catalog().await?;
        if catalog.visible().is_some() {
            // Shards contain texts of other repositories, too.
            return Ok(self.tree().await?.stored_bytes() as i64);
        }
        Ok(catalog.shards.iter().map(|shard| shard.bytes).sum())
    }

    /// Returns the SCIP indexes imported for visible repositories.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn scip_imports(&self) -> Result<Vec<store::ScipImport>, store::Error> {
        let mut imports = self.store().scip_imports().await?;
        if !self.visible.is_all() {
            let catalog = self.catalog().await?;
            imports.retain(|of| catalog.repos.contains_key(&of.repo));
        }
        Ok(imports)
    }

    /// Returns the files of a repository that were left out.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn skipped(&self, repo: RepoId) -> Result<Vec<store::LeftOutRow>, store::Error> {
        let catalog = self.catalog().await?;
        if !catalog.repos.contains_key(&repo) {
            return Ok(Vec::new());
        }
        self.store().skipped(repo, &catalog.filter().trees).await
    }

    /// Returns whether the index can be queried for chunks without a recheck by Postgres.
    pub fn no_recheck(&self) -> bool {
        self.store().no_recheck()
    }

    /// Opens connections for a search that follows immediately.
    pub fn connect_ahead(&self) {
        self.store().connect_ahead(self.parallel());
    }

    /// Returns the limit on the time of every search, if there is one.
    pub fn max_time(&self) -> Option<Duration> {
        self.searcher.max_time().filter(|_| !self.is_unlimited)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn cache(&self) -> Option<&ShardCache> {
        self.searcher.cache().map(Arc::as_ref)
    }

    pub(crate) fn ask_memory(&self) -> &AskMemory {
        self.searcher.ask_memory()
    }

    /// Refuses an answer that was read from a state of the index which may be gone: once its epoch is not pinned any more, an
    /// ingest may have deleted rows of it, and a rebuild of lost nodes emptied its tables.
    ///
    /// # Errors
    /// The connection that pinned the epoch is lost, and it may not be the newest.
    pub(crate) async fn refuse_if_gone(&self, read: &Catalog) -> Result<(), store::Error> {
        if self.searcher.snapshots().may_be_old(read) && !read.is_held().await {
            let why = "the connection that held this snapshot of the index failed; ask again";
            return Err(store::Error::Unreachable(why.to_owned()));
        }
        Ok(())
    }

    pub(crate) fn parallel(&self) -> usize {
        self.searcher.parallel()
    }

    /// Returns the time allowed for a search with this timeout.
    pub(crate) fn time_for(&self, timeout: Option<Duration>) -> Option<Duration> {
        timeout.into_iter().chain(self.max_time()).min()
    }

    /// Returns the epochs before the newest that searches can still resume in.
    pub(crate) fn earlier_epochs(&self) -> Vec<Epoch> {
        self.searcher.snapshots().earlier_epochs()
    }

    /// Returns the catalog that a search reads, with all repositories: the newest, or that of the position from which it
    /// resumes.
    pub(crate) async fn snapshot(&self, resume: Option<&Resume>) -> Result<Arc<Catalog>, Error> {
        let read = self.whole().await?;
        match resume {
            Some(from) if from.switch != read.switch => {
                let newest = self.searcher.catalog().await?;
                if from.switch == newest.switch {
                    return Ok(newest);
                }
                if let Some(kept) = self.searcher.snapshots().earlier(from.switch).await {
                    return Ok(kept);
                }
                // Another server may have heard of this state before.
                self.searcher.hear().await?;
                let newest = self.searcher.catalog().await?;
                if from.switch == newest.switch { Ok(newest) } else { Err(Error::Gone) }
            }
            _ => {
                read.note_search();
                Ok(read)
            }
        }
    }

    /// Returns the catalog of a recent search if it is still kept, else the newest.
    ///
    /// # Errors
    /// The database query fails.
    pub fn state(&self, switch: Switch) -> BoxFuture<'_, Result<Arc<Catalog>, store::Error>> {
        Box::pin(async move { Ok(self.visible_of(&self.whole_state(switch).await?)) })
    }

    /// Like [`state`](Self::state), with all repositories: the contents of a result may lie in any shard.
    pub(crate) async fn whole_state(&self, switch: Switch) -> Result<Arc<Catalog>, store::Error> {
        let read = self.whole().await?;
        Ok(if read.switch == switch {
            read
        } else {
            self.searcher.snapshots().earlier(switch).await.unwrap_or(read)
        })
    }

    /// Returns all files of the epoch that this view reads, but those of shards whose nodes do not answer. Builds them on
    /// first use, then keeps them; without some shards, for a moment.
    ///
    /// # Errors
    /// The database query fails.
    pub fn tree(&self) -> BoxFuture<'_, Result<Arc<Tree>, store::Error>> {
        Box::pin(async move {
            let catalog = self.catalog().await?;
            let is_earlier =
                self.pinned.as_ref().is_some_and(|pinned| self.searcher.snapshots().is_old(pinned));
            let kept =
                if is_earlier { self.searcher.earlier_trees() } else { self.searcher.trees() };
            let mut kept = kept.lock().await;
            if let Some(tree) = kept.find(&catalog) {
                return Ok(tree);
            }
            // Memory must not hold two states at once.
            kept.keep_only(&catalog);
            let whole = self.whole().await?;
            // A server makes the trees of all views of one: what is in order need not be sorted again.
            let is_part = catalog.visible().is_some()
                && self.trees.is_empty()
                && whole.is_same(&catalog)
                && self.cache().is_some();
            if !is_part {
                let tree = self.read_tree(catalog).await?;
                kept.keep(&tree);
                return Ok(tree);
            }
            let of_all = match kept.find(&whole) {
                Some(tree) => tree,
                None => {
                    let tree = self.read_tree(whole).await?;
                    kept.keep(&tree);
                    tree
                }
            };
            let work = tokio::task::spawn_blocking(move || Arc::new(of_all.only(catalog)));
            let tree = work.await.expect("choosing files does not panic");
            kept.keep(&tree);
            Ok(tree)
        })
    }

    /// Reads the files of a catalog, and puts them in order.
    async fn read_tree(&self, catalog: Arc<Catalog>) -> Result<Arc<Tree>, store::Error> {
        let begun = Instant::now();
        let epoch = catalog.epoch;
        let read = catalog.shards.clone().into_iter().map(|shard| {
            let known = self.searcher.cache().and_then(|cache| cache.view().of(&shard).files);
            let store = self.store().clone();
            async move {
                let files = match known {
                    Some(files) => files,
                    None => match read_files(&store, epoch, &shard).await {
                        Err(error @ store::Error::Node { .. }) => {
                            return Ok((shard, Err(error)));
                        }
                        read => read?,
                    },
                };
                Ok::<_, store::Error>((shard, Ok(files)))
            }
        });
        let read: Vec<_> = read.collect();
        let read: Vec<_> = stream::iter(read).buffered(self.parallel()).try_collect().await?;
        let tree = self.tree_of_read(Arc::clone(&catalog), read, begun).await?;
        self.refuse_if_gone(&catalog).await?;
        Ok(tree)
    }

    /// Makes the tree of a catalog, given the files of each shard or why they could not be read, and when reading began.
    ///
    /// # Errors
    /// A shard could not be read, for any reason but a node that does not answer.
    pub(crate) async fn tree_of_read(
        &self,
        catalog: Arc<Catalog>,
        read: Vec<(Shard, Result<Arc<ShardFiles>, store::Error>)>,
        begun: Instant,
    ) -> Result<Arc<Tree>, store::Error> {
        let (mut shards, mut missing) = (Vec::with_capacity(read.len()), Missing::default());
        for (shard, files) in read {
            match files {
                Ok(files) => shards.push((shard, files)),
                Err(error) => missing.note(self.store(), &shard, error)?,
            }
        }
        let work = tokio::task::spawn_blocking(move || {
            Arc::new(Tree::new(catalog, shards, missing, begun))
        });
        Ok(work.await.expect("putting files in order does not panic"))
    }
}
