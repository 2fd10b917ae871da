//! Search: a query becomes a stream of files with matching lines.
//!
//! [`select`] says which shards can hold a match and gives each its plan; in a shard, [`candidates`]
//! asks the indexes which chunks are worth reading, and [`shard`] loads and verifies them a batch at
//! a time. Shards are asked a few at a time, and their answers are given out in the order of the
//! shards, so that the same search gives the same answer; when the limit is reached, the rest is
//! not asked.

mod batches;
mod candidates;
mod connection;
mod context;
mod dictionary;
mod files;
mod rank;
mod reading;
mod resident;
mod select;
mod shard;
mod sift;
mod stats;
mod texts;
mod verify;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use query::{CompiledQuery, Count, Plan, Predicate, Query, QueryError, Select};
use store::{BlobId, Catalog, Epoch, RepoId, Shard, ShardId, Store};
use tokio::runtime::Handle;
use tokio::sync::{RwLock, mpsc};
use tokio::task::JoinSet;

pub(crate) use files::ShardFiles;
pub use rank::score;
use reading::Queue;
use resident::Resident;
use select::{Memo, Selection};
use shard::{AHEAD, ShardSearch, Told};
use sift::Sifts;
use stats::Counters;
pub use stats::{Phases, Stats, Stopped};
use texts::{Space, TEXT};
use verify::Scratches;

use crate::browse::tree::Tree;

/// How long shards may be ruled out without a pause, in which others have their turn and the time may be up.
const WITHOUT_PAUSE: Duration = Duration::from_millis(1);

/// Results that a chunk which the summaries let through is taken to give, before any was read.
const RESULTS_PER_CHUNK: f64 = 0.25;

/// Shards with so few chunks to read are searched where their request is.
const FEW_CHUNKS: usize = 64;

/// Results unless a query or its request says otherwise.
pub const DEFAULT_LIMIT: usize = 100;

/// How long a search may take unless a query or its request says otherwise. A search for everything
/// takes as long as it takes.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// What to search for, and how much of it.
#[derive(Clone, Debug)]
pub struct Request {
    program: CompiledQuery,
    /// Most results; none for all.
    pub limit: Option<usize>,
    /// How long the search may take; none for as long as it takes.
    pub timeout: Option<Duration>,
    /// Lines shown before and after each match.
    pub context: (usize, usize),
    /// Whether to count the files that were left out of the index.
    pub skipped: bool,
    /// Read every stored byte instead of asking the index.
    pub brute: bool,
    /// Go on where an earlier search ended.
    pub resume: Option<Resume>,
}

/// Where a search ended, for one that goes on there: in the same state of the index and in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The state of the index.
    pub epoch: Epoch,
    /// Which order it was: [`Stats::order`].
    pub order: u64,
    /// Results that were given before.
    pub results: usize,
}

/// A file for which the query holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMatch {
    repo_id: RepoId,
    /// Its contents.
    place: (ShardId, BlobId),
    /// The name of its repository.
    pub repo: String,
    /// The rank of its repository; 0 for none.
    pub rank: u16,
    /// Its path in the repository.
    pub path: String,
    /// What matches in the path, in bytes.
    pub path_ranges: Vec<Range<usize>>,
    /// Its language, when that was recognised.
    pub language: Option<String>,
    /// Bytes of its text.
    pub bytes: usize,
    /// The lines that match, and those around them that were asked for, in order.
    pub lines: Vec<Line>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Where it begins in the file's text, in bytes.
    pub offset: u64,
    /// Its text, without the line feed.
    pub text: String,
    /// Whether a line feed follows; only a file's last line can be without.
    pub ended: bool,
    /// What matches in it, in bytes of the text. Empty for a line of context only: a match of
    /// nothing is a range too.
    pub ranges: Vec<Range<usize>>,
}

impl FileMatch {
    /// How many of its lines match.
    pub fn matches(&self) -> usize {
        self.lines.iter().filter(|line| !line.ranges.is_empty()).count()
    }

    /// Bytes that it takes in memory, and in an answer, about.
    pub fn size(&self) -> usize {
        let line = |line: &Line| 64 + line.text.len() + 16 * line.ranges.len();
        128 + self.path.len() + self.lines.iter().map(line).sum::<usize>()
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The query is not one.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The database could not do its part.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A search cannot go on where an earlier one ended.
    #[error(
        "these results cannot be gone on with: the index has changed, or it was another query; search again"
    )]
    Gone,
}

impl Request {
    /// A request for what a query asks for: unless it says otherwise (`count:`, `timeout:`), up to
    /// [`DEFAULT_LIMIT`] results within [`DEFAULT_TIMEOUT`].
    ///
    /// # Errors
    /// The query takes too much memory when compiled.
    pub fn new(query: &Query) -> Result<Self, QueryError> {
        let limit = match query.settings.count {
            None => Some(DEFAULT_LIMIT),
            Some(Count::Most(limit)) => Some(limit),
            Some(Count::All) => None,
        };
        Ok(Self {
            program: CompiledQuery::new(query)?,
            limit,
            timeout: query.settings.timeout.or(limit.map(|_| DEFAULT_TIMEOUT)),
            context: (0, 0),
            skipped: false,
            brute: false,
            resume: None,
        })
    }

    /// The query, compiled.
    pub fn program(&self) -> &CompiledQuery {
        &self.program
    }

    /// What the index is asked, before anything is known of a shard.
    pub fn plan(&self) -> Plan {
        if self.brute { Plan::Scan } else { Plan::of(&self.program.expr, &self.program) }
    }
}

/// What the shards of one search have in common.
#[derive(Debug)]
struct Shared {
    counters: Counters,
    /// The search is over: nobody waits for what is still being done.
    stop: AtomicBool,
    clock: Clock,
    /// How much has been read without asking an index, and what came of it.
    skimmed: Yield,
    /// How much has been read in all.
    read: Yield,
    /// Results of the shards that are done, and of those before them.
    given: AtomicUsize,
    /// The repositories that are in the answer, if each is wanted once only.
    repos: Option<Mutex<HashSet<RepoId>>>,
    /// Those that nobody uses now.
    scratches: Mutex<Vec<Scratches>>,
    /// Texts that wait to be matched.
    queue: Queue,
}

impl Shared {
    fn of(program: &CompiledQuery, clock: Clock) -> Self {
        Self {
            counters: Counters::default(),
            stop: AtomicBool::new(false),
            clock,
            skimmed: Yield::default(),
            read: Yield::default(),
            given: AtomicUsize::new(0),
            repos: (program.select == Select::Repos).then(Mutex::default),
            scratches: Mutex::default(),
            queue: Queue::default(),
        }
    }

    /// Whether the search is over.
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The same where the search itself waits for what is being done, so that it cannot look at its clock: if the time is
    /// up, this ends it.
    fn is_over_or_late(&self) -> bool {
        if !self.is_over() && self.clock.is_late() {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.is_over()
    }

    /// Runs something with space to match in.
    fn with_scratches<T>(&self, work: impl FnOnce(&mut Scratches) -> T) -> T {
        let free = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = free().pop();
        let mut scratches = taken.unwrap_or_default();
        let done = work(&mut scratches);
        free().push(scratches);
        done
    }

    /// Whether a repository is in the answer already and need not be looked at.
    fn knows(&self, repo: RepoId) -> bool {
        let Some(repos) = &self.repos else { return false };
        repos.lock().unwrap_or_else(PoisonError::into_inner).contains(&repo)
    }

    /// Notes that a repository is in the answer; false if it was already.
    fn notes(&self, repo: RepoId) -> bool {
        let Some(repos) = &self.repos else { return true };
        repos.lock().unwrap_or_else(PoisonError::into_inner).insert(repo)
    }
}

/// What reading chunks has given, in all shards of a search.
#[derive(Debug, Default)]
struct Yield {
    chunks: AtomicUsize,
    results: AtomicUsize,
}

impl Yield {
    /// Chunks that must have been read for their results to tell anything.
    const TELLING: usize = 256;

    fn note(&self, chunks: usize, results: usize) {
        self.chunks.fetch_add(chunks, Ordering::Relaxed);
        self.results.fetch_add(results, Ordering::Relaxed);
    }

    /// Results for each chunk, once that can be told.
    fn rate(&self) -> Option<f64> {
        let chunks = self.chunks.load(Ordering::Relaxed);
        let results = self.results.load(Ordering::Relaxed);
        (chunks >= Self::TELLING).then(|| results as f64 / chunks as f64)
    }

    /// How many results are wanted still.
    fn wanted(&self, limit: usize) -> f64 {
        limit.saturating_sub(self.results.load(Ordering::Relaxed)).max(1) as f64
    }
}

/// Tells the shards that a search is over, however it ends.
struct Over(Arc<Shared>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// Searches one database. Shared by all requests of a server.
#[derive(Debug)]
pub struct Searcher {
    store: Store,
    /// How many shards one search asks at a time.
    parallel: usize,
    /// Where the shards of a search without a limit are searched, if not where the search is.
    threads: Option<Handle>,
    catalog: RwLock<Option<Arc<Catalog>>>,
    changes: Changes,
    resident: Option<Arc<Resident>>,
    tree: tokio::sync::Mutex<Option<Arc<Tree>>>,
    earlier: Earlier,
}

/// States of the index that are not the newest, kept for searches that go on in them.
#[derive(Debug, Default)]
struct Earlier(Mutex<VecDeque<(Arc<Catalog>, Instant)>>);

/// How many of them, and for how long: what they refer to cannot be deleted.
const MAX_EARLIER: usize = 4;
const KEEP_EARLIER: Duration = Duration::from_mins(5);

impl Earlier {
    fn keep(&self, catalog: Arc<Catalog>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((catalog, Instant::now()));
        kept.truncate(MAX_EARLIER);
    }

    fn find(&self, epoch: Epoch) -> Option<Arc<Catalog>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(kept, _)| kept.epoch == epoch).map(|(kept, _)| Arc::clone(kept))
    }

    fn tidy(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, since)| since.elapsed() < KEEP_EARLIER);
    }

    fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Whether the index may have changed since it was looked at.
#[derive(Debug, Default)]
struct Changes {
    /// Somebody listens, so that every change is counted.
    told: AtomicBool,
    count: AtomicU64,
    /// What the count was when the kept catalog was last seen to be the newest.
    seen: AtomicU64,
}

impl Changes {
    fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn add(&self, told: bool) {
        self.told.store(told, Ordering::SeqCst);
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    fn none(&self) -> bool {
        self.told.load(Ordering::SeqCst) && self.seen.load(Ordering::SeqCst) == self.count()
    }
}

impl Searcher {
    /// Asks `parallel` shards at a time.
    pub fn new(store: Store, parallel: usize) -> Self {
        let (catalog, changes) = (RwLock::default(), Changes::default());
        let tree = tokio::sync::Mutex::default();
        let earlier = Earlier::default();
        Self { store, parallel, threads: None, catalog, changes, resident: None, tree, earlier }
    }

    /// Keeps what it knows of the shards in memory, and up to `bytes` of texts, compressed. What is
    /// kept is read by [`read_ahead`](Self::read_ahead), and texts whenever a search reads them.
    #[must_use]
    pub fn keeping(mut self, bytes: u64) -> Self {
        self.resident = Some(Arc::new(Resident::new(bytes)));
        self
    }

    /// Shares out the shards of a search without a limit among the threads of a runtime. With a limit, who waits for
    /// what a shard finds has more to do than the shard, and need not be woken on another thread.
    #[must_use]
    pub fn sharing_out(mut self, threads: Handle) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Reads into memory what is not there yet, until there is no room for more.
    pub async fn read_ahead(&self) -> Result<(), store::Error> {
        let Some(resident) = &self.resident else { return Ok(()) };
        let catalog = self.catalog().await?;
        // An old state is not held on to longer than it takes to read one more piece.
        let is_old = || {
            let kept = self.catalog.try_read();
            kept.is_ok_and(|kept| kept.as_ref().is_none_or(|kept| !Arc::ptr_eq(kept, &catalog)))
        };
        resident.read_ahead(&self.store, &catalog, &is_old).await
    }

    /// Listens for changes of the index until the connection breaks, and calls `told` for each.
    /// While it runs, a search need not ask whether what it knows is still the newest state.
    pub async fn listen(&self, told: impl Fn()) -> Result<(), store::Error> {
        let mut changes = self.store.changes().await?;
        // Ended by an error, or dropped.
        let _deaf = Deaf(&self.changes);
        self.changes.add(true);
        loop {
            changes.next().await?;
            self.changes.add(true);
            told();
        }
    }

    /// Asks whether the kept state of the index is the newest. A server does so now and then, in case
    /// it was not told of a change.
    pub async fn look(&self) -> Result<(), store::Error> {
        self.store.trim();
        self.earlier.tidy();
        self.changes.count.fetch_add(1, Ordering::SeqCst);
        self.catalog().await.map(|_| ())
    }

    /// The database that is searched.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How many shards a search asks at a time.
    pub(crate) fn parallel(&self) -> usize {
        self.parallel
    }

    /// The newest state of the index.
    ///
    /// The state is kept between searches. Keeping one keeps its rows from being deleted, so a
    /// server [looks](Self::look) now and then even when nobody searches.
    pub async fn catalog(&self) -> Result<Arc<Catalog>, store::Error> {
        let count = self.changes.count();
        let kept = {
            let kept = self.catalog.read().await;
            // What was seen to be current is what is kept.
            match &*kept {
                Some(kept) if self.changes.none() => return Ok(Arc::clone(kept)),
                kept => kept.clone(),
            }
        };
        if let Some(kept) = kept
            && self.is_current(&kept, count).await
        {
            return Ok(kept);
        }
        let mut slot = self.catalog.write().await;
        let count = self.changes.count();
        if let Some(kept) = &*slot
            && self.is_current(kept, count).await
        {
            return Ok(Arc::clone(kept));
        }
        let old = slot.take();
        let fresh = Arc::new(self.store.catalog().await?);
        match old {
            Some(old) if old.identity != fresh.identity => self.earlier.forget(),
            Some(old) if self.resident.is_some() => self.earlier.keep(old),
            _ => {}
        }
        if let Some(resident) = &self.resident {
            resident.meet(&fresh);
        }
        self.changes.seen.store(count, Ordering::SeqCst);
        *slot = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Whether a catalog is the newest; `count` is how many changes there were before.
    async fn is_current(&self, catalog: &Catalog, count: u64) -> bool {
        if self.changes.none() {
            return true;
        }
        // An error means that its connection is gone: a new one will tell more.
        let current = catalog.is_current().await.unwrap_or(false);
        if current {
            self.changes.seen.fetch_max(count, Ordering::SeqCst);
        }
        current
    }

    /// A state of the index that was searched a moment ago, or else the newest.
    pub(crate) async fn state(&self, epoch: Epoch) -> Result<Arc<Catalog>, store::Error> {
        let catalog = self.catalog().await?;
        Ok(if catalog.epoch == epoch {
            catalog
        } else {
            self.earlier.find(epoch).unwrap_or(catalog)
        })
    }

    /// All files of the newest state of the index. Made when it is first asked for, and kept.
    pub async fn tree(&self) -> Result<Arc<Tree>, store::Error> {
        let catalog = self.catalog().await?;
        let mut kept = self.tree.lock().await;
        if let Some(tree) = kept.as_ref().filter(|tree| tree.is_of(&catalog)) {
            return Ok(Arc::clone(tree));
        }
        *kept = None;
        let epoch = catalog.epoch;
        let read = catalog.shards.clone().into_iter().map(|shard| {
            let known =
                self.resident.as_ref().and_then(|resident| resident.knowledge().of(&shard).files);
            let store = self.store.clone();
            async move {
                let files = match known {
                    Some(files) => files,
                    None => resident::read_files(&store, epoch, &shard).await?,
                };
                Ok::<_, store::Error>((shard, files))
            }
        });
        let read: Vec<_> = read.collect();
        let shards: Vec<_> = stream::iter(read).buffered(self.parallel).try_collect().await?;
        let work = tokio::task::spawn_blocking(|| Arc::new(Tree::new(catalog, shards)));
        let tree = work.await.expect("putting files in order does not panic");
        *kept = Some(Arc::clone(&tree));
        Ok(tree)
    }

    /// Bytes of compressed text in memory, and how many there may be.
    pub fn memory(&self) -> (u64, u64) {
        self.resident.as_ref().map_or((0, 0), |resident| resident.texts.fill())
    }

    /// The text of a blob, if it is in memory.
    pub(crate) fn kept_text(&self, shard: &Shard, blob: BlobId, bytes: usize) -> Option<String> {
        let chunks = self.resident.as_ref()?.texts.reader(shard).blob(blob, bytes)?;
        let mut texts = Vec::with_capacity(bytes);
        Space::with(|space| {
            for chunk in &chunks {
                texts.extend_from_slice(chunk.unpack(space));
            }
        });
        Some(String::from_utf8(texts).expect(TEXT))
    }

    /// Searches, and sends files as soon as it is known that they are the next ones. When nobody
    /// listens any longer, or when the search is dropped, it ends, and so do its statements in the
    /// database.
    ///
    /// A few shards are searched at a time, and each stays no more than a few batches ahead, so that
    /// memory does not grow with the answer.
    pub async fn search(
        &self,
        request: &Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Stats, Error> {
        let begun = Instant::now();
        let shared = Arc::new(Shared::of(&request.program, Clock::new(begun, request.timeout)));
        let over = Over(Arc::clone(&shared));
        let mut stats = Stats::default();
        let scope = self.run(request, &shared, &mut stats, found).await?;
        drop(over);
        if let Some((catalog, scope)) = scope.filter(|_| request.skipped) {
            stats.skipped = skipped(catalog, scope, Arc::clone(request)).await?;
        }
        shared.counters.read(&mut stats);
        stats.duration = begun.elapsed();
        Ok(stats)
    }

    /// Searches until the end, the limit or the deadline. Gives the catalog and the scope, unless the
    /// time was up before they were known.
    async fn run(
        &self,
        request: &Arc<Request>,
        shared: &Arc<Shared>,
        stats: &mut Stats,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Option<(Arc<Catalog>, Arc<Selection>)>, Error> {
        let clock = &shared.clock;
        let timeout = Stopped::Timeout(request.timeout.unwrap_or_default());
        let Some(catalog) = clock.wait(self.catalog()).await else {
            stats.stopped = Some(timeout);
            return Ok(None);
        };
        let mut catalog = catalog?;
        if let Some(from) = request.resume
            && from.epoch != catalog.epoch
        {
            catalog = self.earlier.find(from.epoch).ok_or(Error::Gone)?;
        }
        let resident = self.resident.as_deref();
        let mut memo = Memo::default();
        let mut scope = Selection::of(&catalog, &request.program, resident, request.brute);
        if request.limit.is_some() {
            scope.most_promising_first(&request.program, &mut memo);
        }
        let scope = Arc::new(scope);
        (stats.epoch, stats.order) = (catalog.epoch, scope.order(&request.program));
        if request.resume.is_some_and(|from| from.order != stats.order) {
            return Err(Error::Gone);
        }
        // With what was given before.
        let before = request.resume.map_or(0, |from| from.results);
        let limit = request.limit.map(|limit| limit.saturating_add(before));
        let mut results = 0;
        stats.shards = catalog.shards.len();
        stats.shards_pruned = stats.shards - scope.shards.len();
        let mut waiting = scope.shards.iter();
        let mut running = VecDeque::new();
        // While some shards wait for Postgres, or for who takes what they find, others match: with a limit that may be in
        // vain, so there must be little to read in them.
        let most = 2 * self.parallel;
        let texts = resident.map(|resident| &resident.texts);
        // Dropped before its time, this cancels what still runs.
        let mut tasks = JoinSet::new();
        let mut paused = Instant::now();
        'shards: loop {
            // With a limit, no more shards than are likely to be needed, or than tell how many that are.
            let wanted = limit.map(|limit| limit.saturating_sub(results) as f64);
            let rate = shared.read.rate();
            let enough = |running: &VecDeque<(_, usize)>| {
                let chunks: usize = running.iter().map(|(_, chunks)| chunks).sum();
                let likely = chunks as f64 * rate.unwrap_or(RESULTS_PER_CHUNK);
                let many = chunks >= Yield::TELLING;
                let enough = |wanted| {
                    many && (rate.is_none() || running.len() >= self.parallel) || likely > wanted
                };
                wanted.is_some_and(enough)
            };
            while running.len() < most
                && !enough(&running)
                && let Some(lead) = waiting.next()
            {
                let left = scope.target(lead, &request.program, &mut memo).and_then(|target| {
                    let texts = texts.map(AsRef::as_ref);
                    let sifts = Sifts::of(&target, &scope, &request.program, texts);
                    (!sifts.rule_out(&target.work.plan)).then_some((target, sifts))
                });
                let Some((target, sifts)) = left else {
                    stats.shards_pruned += 1;
                    // There may be many in a row, and looking at one may take long.
                    if paused.elapsed() > WITHOUT_PAUSE {
                        if clock.wait(tokio::task::yield_now()).await.is_none() {
                            stats.stopped.get_or_insert(timeout);
                            return Ok(Some((catalog, scope)));
                        }
                        paused = Instant::now();
                    }
                    continue;
                };
                let plan = &target.work.plan;
                // What is not in memory is not told from what passes, and Postgres names less of it.
                let chunks = if target.known.texts { sifts.most(plan, &target.shard) } else { 0 };
                let (send, receive) = mpsc::channel(AHEAD);
                let search = ShardSearch {
                    store: self.store.clone(),
                    catalog: Arc::clone(&catalog),
                    scope: Arc::clone(&scope),
                    request: Arc::clone(request),
                    shared: Arc::clone(shared),
                    resident: self.resident.clone(),
                    target,
                    sifts,
                    limit,
                    cores: self.parallel,
                    beside: most,
                };
                stats.shards_searched += 1;
                // Who waits for it hears if it panics.
                let mut search = Box::pin(AssertUnwindSafe(search.run(send)).catch_unwind());
                // Waking another thread takes longer than what is done at once.
                let here = chunks <= FEW_CHUNKS || running.is_empty() && limit.is_some();
                let done = here && search.as_mut().now_or_never().is_some();
                running.push_back((receive, chunks));
                if !done {
                    match self.threads.as_ref().filter(|_| limit.is_none()) {
                        Some(threads) => tasks.spawn_on(search, threads),
                        None => tasks.spawn(search),
                    };
                } else if running.len() == 1 {
                    // What it has found comes next.
                    break;
                }
            }
            let Some((first, _)) = running.front_mut() else { break };
            let told = tokio::select! {
                biased;
                told = clock.wait(first.recv()) => told,
                // Who has left need not be waited for until the next file is found.
                () = found.closed() => break,
            };
            let Some(told) = told else {
                stats.stopped.get_or_insert(timeout);
                return Ok(Some((catalog, scope)));
            };
            match told {
                Some(Told::Done) if shared.is_over() => {
                    stats.stopped.get_or_insert(timeout);
                    return Ok(Some((catalog, scope)));
                }
                Some(Told::Done) => {
                    running.pop_front();
                    shared.given.store(results, Ordering::Relaxed);
                }
                Some(Told::Read) => {}
                Some(Told::Files(mut files, _unread)) => {
                    let mut over = false;
                    files.retain(|file| {
                        if over || shared.knows(file.repo_id) {
                            return false;
                        }
                        over = limit == Some(results);
                        if over {
                            return false;
                        }
                        shared.notes(file.repo_id);
                        results += 1;
                        if results <= before {
                            return false;
                        }
                        stats.files += 1;
                        stats.matches += file.matches();
                        true
                    });
                    if over {
                        stats.stopped.get_or_insert(Stopped::Limit);
                    }
                    let heard = files.is_empty() || clock.pause(found.send(files)).await.is_ok();
                    if over || !heard {
                        break 'shards;
                    }
                }
                // One shard that fails degrades the answer; a database that is gone ends it.
                Some(Told::Failed(
                    error @ (store::Error::Unreachable(_) | store::Error::Empty),
                )) => {
                    return Err(error.into());
                }
                Some(Told::Failed(error)) => {
                    tracing::error!("a shard could not be searched: {error}");
                    stats.stopped.get_or_insert(Stopped::Shards(error.to_string()));
                    running.pop_front();
                }
                None => {
                    tracing::error!("the search of a shard broke off");
                    let why = "the search of a shard broke off".to_owned();
                    stats.stopped.get_or_insert(Stopped::Shards(why));
                    running.pop_front();
                }
            }
        }
        // What still runs has nobody to tell, and ends by itself after the statement it is at: that is
        // cheaper than connections thrown away.
        tasks.detach_all();
        Ok(Some((catalog, scope)))
    }
}

/// Says that nobody listens for changes any longer.
struct Deaf<'a>(&'a Changes);

impl Drop for Deaf<'_> {
    fn drop(&mut self) {
        self.0.add(false);
    }
}

/// When a search must end. It stands still while who asked for the search is not ready for more.
#[derive(Debug)]
struct Clock {
    begun: Instant,
    /// Nanoseconds that the search may take; as many as can be for any number.
    most: AtomicU64,
}

impl Clock {
    fn new(begun: Instant, timeout: Option<Duration>) -> Self {
        let nanos = |timeout: Duration| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        Self { begun, most: AtomicU64::new(timeout.map_or(u64::MAX, nanos)) }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.most.load(Ordering::Relaxed) {
            u64::MAX => None,
            nanos => self.begun.checked_add(Duration::from_nanos(nanos)),
        }
    }

    /// Whether the time is up.
    fn is_late(&self) -> bool {
        self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Waits for something; none if the time is up before it is there.
    async fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match self.deadline() {
            None => Some(work.await),
            Some(deadline) => tokio::time::timeout_at(deadline.into(), work).await.ok(),
        }
    }

    /// Waits for something that takes none of the search's time.
    async fn pause<T>(&self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        let nanos = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let most = self.most.load(Ordering::Relaxed);
        self.most.store(most.saturating_add(nanos), Ordering::Relaxed);
        done
    }
}

/// How many files that are not in the index might match, by the reason why they are not.
async fn skipped(
    catalog: Arc<Catalog>,
    scope: Arc<Selection>,
    request: Arc<Request>,
) -> Result<BTreeMap<String, usize>, store::Error> {
    catalog.skipped().await?;
    // A pattern may be anywhere in what nobody has read.
    let unread = |atom| matches!(atom, Predicate::Path(_) | Predicate::Repo(_)).then_some(false);
    let expr = &request.program.expr;
    if expr.is_monotone() && expr.eval(&unread) != Some(false) {
        return Ok(catalog.skipped_by_reason().clone());
    }
    // There may be very many of them.
    let count = tokio::task::spawn_blocking(move || {
        let program = &request.program;
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for file in catalog.skipped_now() {
            let known = |atom| match atom {
                Predicate::Repo(_) => scope.repo_holds(file.repo, atom),
                Predicate::Path(term) => Some(program.terms[term].matcher.is_match(&file.path)),
                // Nobody knows what is in it.
                Predicate::Content(_) | Predicate::Language(_) => None,
            };
            if program.expr.eval(&known) != Some(false) {
                *reasons.entry(file.reason.clone()).or_default() += 1;
            }
        }
        reasons
    });
    Ok(count.await.expect("counting does not panic"))
}
