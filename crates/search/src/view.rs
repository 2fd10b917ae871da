//! A [`View`]: the visible repositories, and the only way to their data in the index.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use query::Changes;
use store::{BlobId, Catalog, Epoch, InTree, QueuePlace, RepoId, ShardId, Store, Switch};
use tokio::sync::mpsc;

use crate::ask::kept::AskMemory;
use crate::cache::{ShardCache, read_files};
use crate::clock::Clock;
use crate::merge::Merge;
use crate::plans::PlanCache;
use crate::revision::choose::Notes;
use crate::revision::load::Sources;
use crate::revision::memory::{self, MEMORY_SHARD};
use crate::revision::prepare::{Meant, prepare};
use crate::searcher::Searcher;
use crate::shards::Selection;
use crate::state::{EndOnDrop, Search, SearchState};
use crate::symbols::enclose;
use crate::tree::Tree;
use crate::types::{Error, Request, Resume};
use crate::visible::Visible;
use crate::{Stats, Stopped, best, context, left_out, order, unmeant};
use answer::FileMatch;
use rank::boost::BoostWords;

/// The visible repositories. All texts, files, paths, symbols, docs, SCIP data, left out files, counts, blame and
/// history are read through a view, which returns nothing of other repositories. Views are cheap to copy.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) searcher: Arc<Searcher>,
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
        Self { searcher, visible, trees, is_unlimited, without_clones, pinned }
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
        let newest = self.searcher.catalog().await?;
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
        self.searcher.store()
    }

    pub(crate) fn cache(&self) -> Option<&ShardCache> {
        self.searcher.cache().map(Arc::as_ref)
    }

    pub(crate) fn ask_memory(&self) -> &AskMemory {
        self.searcher.ask_memory()
    }

    /// Returns whether a catalog may no longer be the newest.
    pub(crate) fn may_be_old(&self, catalog: &Catalog) -> bool {
        self.searcher.snapshots().may_be_old(catalog)
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

    /// Searches, and sends each file as soon as its place in the order of results is certain.
    ///
    /// When the receiver of `found` closes, the search ends, and running statements finish. When the returned future is
    /// dropped, they are cancelled in Postgres.
    ///
    /// # Errors
    /// The database query fails; or [`Request::resume`] belongs to another query ([`Error::OtherQuery`]) or to an epoch
    /// that is gone ([`Error::Gone`]).
    pub fn search<'a>(
        &'a self,
        request: &'a Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> BoxFuture<'a, Result<Stats, Error>> {
        Box::pin(async move {
            let timeout = self.time_for(request.timeout);
            // A cursor goes on only for those who see the same repositories.
            let seen = if self.visible.is_all() {
                0
            } else {
                let catalog = self.snapshot(request.resume.as_ref()).await?;
                self.visible_of(&catalog).visible_hash()
            };
            let is_bound = seen != 0 && request.resume.is_some();
            let changed = (timeout != request.timeout || is_bound).then(|| {
                let mut changed = Request::clone(request);
                changed.timeout = timeout;
                if let Some(resume) = &mut changed.resume {
                    resume.query ^= seen;
                }
                Arc::new(changed)
            });
            let request = changed.as_ref().unwrap_or(request);
            let mut stats = self.search_in_any_way(request, found).await?;
            stats.is_restricted |= seen != 0;
            stats.query ^= seen;
            stats.notes.extend(request.notes.iter().cloned());
            Ok(stats)
        })
    }

    /// Searches changes, the history of lines, or files, for ranking or as they are found.
    async fn search_in_any_way(
        &self,
        request: &Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Stats, Error> {
        match &request.query().changes {
            Some(Changes::Between(comparison)) => {
                return self.search_changes(request, comparison, found).await;
            }
            Some(Changes::History) => return self.search_history(request, found).await,
            None => {}
        }
        if request.best {
            let plain = |request, found| self.plain(request, found);
            let switch = match request.resume {
                Some(from) => from.switch,
                None => self.catalog().await?.switch,
            };
            let by_words = |words: BoostWords, timeout| {
                async move {
                    let among = request.query().with(words.files);
                    self.texts_with(&words.text, words.all, &among, (switch, timeout)).await
                }
                .boxed()
            };
            let mut stats = best::search((&plain, &by_words), switch, request, found).await?;
            // If only files are shown, their lines serve ranking.
            if !request.query().settings.select.has_lines() {
                stats.matches = 0;
            }
            return Ok(stats);
        }
        self.search_plain(request, found).await
    }

    /// Finds near definitions: a qualified name in a query (`json.Unmarshal`) is defined where nobody writes the
    /// qualifier. Returns the best few files that define the name in a folder or file that the qualifier names, but do
    /// not match the query, with the lines of the definitions. `switch` identifies the epoch in which the query was
    /// searched.
    ///
    /// # Errors
    /// The errors of [`search`](Self::search).
    pub fn near_definitions<'a>(
        &'a self,
        request: &'a Request,
        switch: Switch,
    ) -> BoxFuture<'a, Result<Vec<FileMatch>, Error>> {
        Box::pin(async move {
            best::near_definitions(&|request, found| self.plain(request, found), switch, request)
                .await
        })
    }

    fn plain(
        &self,
        request: Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> BoxFuture<'_, Result<Stats, Error>> {
        async move { self.search_plain(&request, found).await }.boxed()
    }

    /// Like [`search`](Self::search), in the order in which files are found, whatever their use.
    pub(crate) fn search_plain<'a>(
        &'a self,
        request: &'a Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> BoxFuture<'a, Result<Stats, Error>> {
        Box::pin(async move {
            let begun = Instant::now();
            let of_clock = begun.checked_sub(request.compiling).unwrap_or(begun);
            let state = Arc::new(SearchState::new(request, Clock::new(of_clock, request.timeout)));
            let end = EndOnDrop(Arc::clone(&state));
            let mut done =
                Stats { query: order::hash(request.compiled_query()), ..Stats::default() };
            if request.resume.is_some_and(|from| from.query != done.query) {
                return Err(Error::OtherQuery);
            }
            let searched = self.search_shards(request, &state, &mut done, found).await?;
            drop(end);
            if let Some((search, _)) = searched.as_ref().filter(|_| !request.is_auxiliary) {
                let left = Box::pin(left_out::symbols(search, self.store(), done.files > 0));
                if let Some(left) = state.clock.wait_at_least(left_out::MOST, left).await {
                    done.symbols = left?;
                }
            }
            if let Some((search, catalog)) = searched.filter(|_| request.skipped) {
                // Boxed: searches store this in their own state.
                let counting = Box::pin(left_out::count(search, catalog));
                match state.clock.wait_at_least(left_out::MOST, counting).await {
                    Some(skipped) => done.skipped = skipped?,
                    None => {
                        let timeout = request.timeout.unwrap_or_default();
                        done.stopped.get_or_insert(Stopped::Timeout(timeout));
                    }
                }
            }
            state.counters.read(&mut done);
            done.duration = begun.elapsed();
            Ok(done)
        })
    }

    /// Searches until the end, the limit or the deadline. Returns the search and its catalog; `None` if the deadline
    /// passed before its shards were chosen.
    async fn search_shards(
        &self,
        request: &Arc<Request>,
        state: &Arc<SearchState>,
        done: &mut Stats,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Option<(Arc<Search>, Arc<Catalog>)>, Error> {
        let (mut plans, mut notes) = (PlanCache::default(), Notes::default());
        let choosing = async {
            let all = self.snapshot(request.resume.as_ref()).await?;
            let catalog = self.visible_of(&all);
            let (query, cache) = (request.compiled_query(), self.searcher.cache().map(Arc::as_ref));
            let (of, repos) = ((catalog.filter(), &*catalog.shards), &catalog.repos);
            let from = self.sources(&all);
            let (resume, clock) = (request.resume, &state.clock);
            let worktree = |repo: &str| self.worktree(repo);
            let meant = Meant { repos, query, worktree: &worktree };
            let on_demand = prepare(from, meant, resume, clock, &mut notes).await?;
            let go_on = || state.clock.goes_on();
            if !request.is_auxiliary {
                notes.notes.extend(unmeant::notes(query, repos, &go_on));
            }
            let mut selection = Selection::of(of, repos, query, cache, request.brute, &go_on);
            if let Some(texts) = &request.texts {
                selection.shards.retain(|one| texts.contains_key(&one.shard.id));
            }
            if let Some(on_demand) = &on_demand {
                selection.demand(on_demand, &all.shards, repos, cache);
            }
            order::sort(&mut selection, query, &mut plans, self.store()).await?;
            selection.add_memory();
            Ok::<_, Error>((catalog, selection))
        };
        let chosen = state.clock.wait(choosing).await;
        let Some(chosen) = chosen.filter(|_| !state.clock.is_over()) else {
            done.stopped = Some(Stopped::Timeout(request.timeout.unwrap_or_default()));
            return Ok(None);
        };
        let (catalog, selection) = chosen?;
        done.switch = catalog.switch;
        done.is_restricted = catalog.visible().is_some();
        done.order = selection.shards.iter().map(|candidate| candidate.shard.id).collect();
        // A commit may have contents in shards of other repositories, and in memory.
        done.shards = catalog.shards.len().max(selection.shards.len());
        done.shards_pruned = done.shards - selection.shards.len();
        done.commits = selection.on_demand.as_ref().map_or(0, |on_demand| on_demand.commits);
        done.notes = notes.notes;
        done.note_covered(&catalog, selection.files.repos.as_deref());
        let (request, state) = (Arc::clone(request), Arc::clone(state));
        let repos = Arc::clone(&catalog.repos);
        let search = Arc::new(Search { request, repos, selection, state });
        let merge = Merge::new(&search, self.store(), self.searcher.cache(), self.parallel());
        merge.run(&mut plans, self.searcher.threads(), done, found).await?;
        if let Some(why) = notes.cut {
            done.stopped.get_or_insert(Stopped::Revision(why));
        }
        // An ingest may have deleted rows of an unlocked epoch during the search.
        if self.searcher.snapshots().may_be_old(&catalog) && !catalog.is_held().await {
            // Without a cursor, repeating the same search finds the newest epoch.
            return Err(if search.request.resume.is_some() {
                Error::Gone
            } else {
                let why =
                    "the connection that held this snapshot of the index failed; search again";
                store::Error::Unreachable(why.to_owned()).into()
            });
        }
        Ok(Some((search, catalog)))
    }

    /// Returns what commits are loaded from.
    pub(crate) fn sources<'a>(&'a self, catalog: &'a Catalog) -> Sources<'a> {
        Sources {
            store: self.store(),
            cache: self.searcher.cache().map(Arc::as_ref),
            commits: self.searcher.commits(),
            catalog,
        }
    }

    /// Returns how many files that might match a request were left out of the index, by reason.
    ///
    /// # Errors
    /// The database query fails.
    pub fn left_out<'a>(
        &'a self,
        request: &'a Arc<Request>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, usize>, Error>> {
        Box::pin(async move {
            let state =
                Arc::new(SearchState::new(request, Clock::new(Instant::now(), request.timeout)));
            let _end = EndOnDrop(Arc::clone(&state));
            let catalog = self.catalog().await?;
            let go_on = || state.clock.goes_on();
            let of = (catalog.filter(), &*catalog.shards);
            let query = request.compiled_query();
            let selection = Selection::of(of, &catalog.repos, query, None, false, &go_on);
            let (request, repos) = (Arc::clone(request), Arc::clone(&catalog.repos));
            let search = Arc::new(Search { request, repos, selection, state: Arc::clone(&state) });
            Ok(left_out::count(search, catalog).await?)
        })
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
                self.searcher.snapshots().earlier(from.switch).await.ok_or(Error::Gone)
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
    async fn whole_state(&self, switch: Switch) -> Result<Arc<Catalog>, store::Error> {
        let read = self.whole().await?;
        Ok(if read.switch == switch {
            read
        } else {
            self.searcher.snapshots().earlier(switch).await.unwrap_or(read)
        })
    }

    /// Returns all files of the epoch that this view reads. Builds them on first use, then keeps them.
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
        let epoch = catalog.epoch;
        let read = catalog.shards.clone().into_iter().map(|shard| {
            let known = self.searcher.cache().and_then(|cache| cache.view().of(&shard).files);
            let store = self.store().clone();
            async move {
                let files = match known {
                    Some(files) => files,
                    None => read_files(&store, epoch, &shard).await?,
                };
                Ok::<_, store::Error>((shard, files))
            }
        });
        let read: Vec<_> = read.collect();
        let shards: Vec<_> = stream::iter(read).buffered(self.parallel()).try_collect().await?;
        let work = tokio::task::spawn_blocking(|| Arc::new(Tree::new(catalog, shards)));
        Ok(work.await.expect("putting files in order does not panic"))
    }

    /// Adds the lines around matches to `files`, as [`Request::context`] does for all files of a search. `switch`
    /// identifies the epoch in which the files were found. Files whose text is gone since then are unchanged.
    ///
    /// # Errors
    /// The database query fails.
    pub fn add_context<'a>(
        &'a self,
        files: Vec<&'a mut FileMatch>,
        switch: Switch,
        (before, after): (usize, usize),
    ) -> BoxFuture<'a, Result<(), store::Error>> {
        Box::pin(async move {
            let catalog = self.whole_state(switch).await?;
            let mut by_shard: HashMap<ShardId, Vec<&mut FileMatch>> = HashMap::new();
            for file in files.into_iter().filter(|file| !file.lines.is_empty()) {
                by_shard.entry(file.blob_key.0).or_default().push(file);
            }
            if let Some(files) = by_shard.remove(&MEMORY_SHARD) {
                memory::add_context(self.searcher.commits(), files, switch, (before, after)).await;
            }
            for (id, files) in by_shard {
                let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else {
                    continue;
                };
                let blobs: Vec<(BlobId, usize)> =
                    files.iter().map(|file| (file.blob_key.1, file.bytes)).collect();
                let texts = self.texts(shard, &blobs).await?;
                for file in files {
                    // A shard may have been emptied and refilled since the search, so that the blob number belongs to
                    // another text.
                    let of = |text: &&String| {
                        file.lines.iter().all(|line| context::stands_in(line, text))
                    };
                    if let Some(text) = texts.get(&file.blob_key.1).filter(of) {
                        file.lines =
                            context::around(std::mem::take(&mut file.lines), text, before, after);
                    }
                }
            }
            Ok(())
        })
    }

    /// Returns for each of some files the numbers of the last lines of the symbols around its lines, by the bytes at which
    /// these symbols end. `switch` identifies the epoch in which the files were found. Nothing is known of files whose
    /// text is gone since then.
    ///
    /// # Errors
    /// The database query fails.
    pub fn last_lines<'a>(
        &'a self,
        files: &'a [&'a FileMatch],
        switch: Switch,
    ) -> BoxFuture<'a, Result<Vec<HashMap<u64, u64>>, store::Error>> {
        Box::pin(async move {
            let mut all = vec![HashMap::new(); files.len()];
            let has_symbols =
                |file: &FileMatch| file.lines.iter().any(|line| line.enclosing.is_some());
            let mut by_shard: BTreeMap<ShardId, Vec<usize>> = BTreeMap::new();
            for (at, file) in files.iter().enumerate().filter(|(_, file)| has_symbols(file)) {
                by_shard.entry(file.blob_key.0).or_default().push(at);
            }
            if by_shard.is_empty() {
                return Ok(all);
            }
            let catalog = self.whole_state(switch).await?;
            for (id, places) in by_shard {
                let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else {
                    continue;
                };
                let blobs = places.iter().map(|at| (files[*at].blob_key.1, files[*at].bytes));
                let texts = self.texts(shard, &blobs.collect::<Vec<(BlobId, usize)>>()).await?;
                for at in places {
                    if let Some(text) = texts.get(&files[at].blob_key.1) {
                        all[at] = context::last_lines(files[at], text);
                    }
                }
            }
            Ok(all)
        })
    }

    /// Adds to the matching lines of `files` the symbol around each, as [`Request::enclosing`] does for all files of a
    /// search. `switch` identifies the epoch in which the files were found.
    ///
    /// # Errors
    /// The database query fails.
    pub fn add_enclosing<'a>(
        &'a self,
        files: Vec<&'a mut FileMatch>,
        switch: Switch,
    ) -> BoxFuture<'a, Result<(), store::Error>> {
        Box::pin(async move {
            let mut by_shard: BTreeMap<ShardId, Vec<&mut FileMatch>> = BTreeMap::new();
            for file in files.into_iter().filter(|file| !file.lines.is_empty()) {
                by_shard.entry(file.blob_key.0).or_default().push(file);
            }
            if by_shard.is_empty() {
                return Ok(());
            }
            let catalog = self.whole_state(switch).await?;
            for (id, files) in by_shard {
                let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else {
                    continue;
                };
                let mut blobs: Vec<BlobId> = files.iter().map(|file| file.blob_key.1).collect();
                blobs.sort_unstable();
                blobs.dedup();
                let rows = self.symbols_of(shard, &blobs).await?;
                for file in files {
                    if let Ok(at) = rows.binary_search_by_key(&file.blob_key.1, |row| row.blob) {
                        enclose(&mut file.lines, &rows[at]);
                    }
                }
            }
            Ok(())
        })
    }
}
