//! Search: a query becomes a stream of files with matching lines.
//!
//! [`select`] says which shards can hold a match and gives each its plan; in a shard, [`candidates`]
//! asks the indexes which chunks are worth reading, and [`shard`] loads and verifies them a batch at
//! a time. Shards are asked a few at a time, and their answers are given out in the order of the
//! shards, so that the same search gives the same answer; when the limit is reached, the rest is
//! not asked.

mod candidates;
mod context;
mod select;
mod shard;
mod stats;
mod verify;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use query::{Atom, Count, Expr, Plan, Program, Query, QueryError, Select};
use store::{Catalog, RepoId, Store};
use tokio::sync::{RwLock, mpsc};
use tokio::task::JoinSet;

use select::Scope;
use shard::{ShardSearch, Told};
use stats::Counters;
pub use stats::{Phases, Stats, Stopped};

/// Batches of files that a shard may be ahead of who reads them.
const AHEAD: usize = 2;

/// Results unless a query or its request says otherwise.
pub const DEFAULT_LIMIT: usize = 100;

/// How long a search may take unless a query or its request says otherwise. A search for everything
/// takes as long as it takes.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// What to search for, and how much of it.
#[derive(Clone, Debug)]
pub struct Request {
    program: Program,
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
}

/// A file for which the query holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMatch {
    repo_id: RepoId,
    /// The name of its repository.
    pub repo: String,
    /// Its path in the repository.
    pub path: String,
    /// What matches in the path, in bytes.
    pub path_ranges: Vec<Range<usize>>,
    /// Its language, when that was recognised.
    pub language: Option<String>,
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
}

impl Request {
    /// A request for what a query asks for: unless it says otherwise (`count:`, `timeout:`), up to
    /// [`DEFAULT_LIMIT`] results within [`DEFAULT_TIMEOUT`].
    ///
    /// # Errors
    /// The query takes too much memory when compiled.
    pub fn new(query: &Query) -> Result<Self, QueryError> {
        let limit = match query.count {
            None => Some(DEFAULT_LIMIT),
            Some(Count::Most(limit)) => Some(limit),
            Some(Count::All) => None,
        };
        Ok(Self {
            program: Program::new(query)?,
            limit,
            timeout: query.timeout.or(limit.map(|_| DEFAULT_TIMEOUT)),
            context: (0, 0),
            skipped: false,
            brute: false,
        })
    }

    /// The query, compiled.
    pub fn program(&self) -> &Program {
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
    /// The terms that are matched with paths.
    path_terms: Vec<usize>,
    /// The repositories that are in the answer, if each is wanted once only.
    repos: Option<Mutex<HashSet<RepoId>>>,
}

impl Shared {
    fn of(program: &Program) -> Self {
        let mut path_terms = Vec::new();
        program.expr.atoms(&mut |atom| {
            if let Atom::Path(term) = atom
                && !path_terms.contains(&term)
            {
                path_terms.push(term);
            }
        });
        Self {
            counters: Counters::default(),
            stop: AtomicBool::new(false),
            path_terms,
            repos: (program.select == Select::Repos).then(Mutex::default),
        }
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
    catalog: RwLock<Option<Arc<Catalog>>>,
}

impl Searcher {
    /// Asks `parallel` shards at a time.
    pub fn new(store: Store, parallel: usize) -> Self {
        Self { store, parallel, catalog: RwLock::new(None) }
    }

    /// The database that is searched.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The newest state of the index.
    ///
    /// The state is kept between searches. Keeping one keeps its rows from being deleted, so a
    /// server calls this now and then even when nobody searches.
    pub async fn catalog(&self) -> Result<Arc<Catalog>, store::Error> {
        let kept = self.catalog.read().await.clone();
        if let Some(kept) = kept {
            // An error means that its connection is gone: a new one will tell more.
            if kept.is_current().await.unwrap_or(false) {
                return Ok(kept);
            }
        }
        let mut slot = self.catalog.write().await;
        if let Some(kept) = &*slot
            && kept.is_current().await.unwrap_or(false)
        {
            return Ok(Arc::clone(kept));
        }
        *slot = None;
        let fresh = Arc::new(self.store.catalog().await?);
        *slot = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Searches, and sends each file as soon as it is known that it is the next one. When nobody
    /// listens any longer, or when the search is dropped, it ends, and so do its statements in the
    /// database.
    ///
    /// A few shards are searched at a time, and each stays no more than a few batches ahead, so that
    /// memory does not grow with the answer.
    pub async fn search(
        &self,
        request: &Arc<Request>,
        found: mpsc::Sender<FileMatch>,
    ) -> Result<Stats, Error> {
        let begun = Instant::now();
        let shared = Arc::new(Shared::of(&request.program));
        let _over = Over(Arc::clone(&shared));
        let mut stats = Stats::default();
        let work = self.run(request, &shared, &mut stats, found);
        match request.timeout {
            None => work.await?,
            Some(timeout) => match tokio::time::timeout(timeout, work).await {
                Ok(done) => done?,
                Err(_) => stats.stopped = Some(Stopped::Timeout(timeout)),
            },
        }
        shared.counters.read(&mut stats);
        stats.duration = begun.elapsed();
        Ok(stats)
    }

    async fn run(
        &self,
        request: &Arc<Request>,
        shared: &Arc<Shared>,
        stats: &mut Stats,
        found: mpsc::Sender<FileMatch>,
    ) -> Result<(), Error> {
        let catalog = self.catalog().await?;
        let scope = Arc::new(Scope::of(&catalog, &request.program, request.brute));
        stats.shards = catalog.shards.len();
        stats.shards_pruned = stats.shards - scope.shards.len();
        if request.skipped {
            stats.skipped = skipped(&catalog, &scope, request, shared).await?;
        }
        let mut failed: Option<store::Error> = None;
        let mut waiting = scope.shards.iter();
        let mut running = VecDeque::new();
        // Dropped before its time, this cancels what still runs.
        let mut tasks = JoinSet::new();
        'shards: loop {
            while running.len() < self.parallel
                && let Some((shard, plan)) = waiting.next()
            {
                let (send, receive) = mpsc::channel(AHEAD);
                let search = ShardSearch {
                    store: self.store.clone(),
                    catalog: Arc::clone(&catalog),
                    scope: Arc::clone(&scope),
                    request: Arc::clone(request),
                    shared: Arc::clone(shared),
                    shard: *shard,
                    plan: Arc::clone(plan),
                };
                tasks.spawn(search.run(send));
                running.push_back(receive);
                stats.shards_searched += 1;
            }
            let Some(first) = running.front_mut() else { break };
            match first.recv().await {
                None => drop(running.pop_front()),
                Some(Told::Files(files)) => {
                    for file in files {
                        if shared.knows(file.repo_id) {
                            continue;
                        }
                        if request.limit == Some(stats.files) {
                            stats.stopped = Some(Stopped::Limit);
                            break 'shards;
                        }
                        shared.notes(file.repo_id);
                        stats.files += 1;
                        stats.matches += file.matches();
                        if found.send(file).await.is_err() {
                            break 'shards;
                        }
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
                    failed.get_or_insert(error);
                }
            }
        }
        // What still runs has nobody to tell, and ends by itself: a few statements that go on for
        // some milliseconds are cheaper than connections thrown away.
        tasks.detach_all();
        if let Some(error) = failed {
            stats.stopped = Some(Stopped::Shards(error.to_string()));
        }
        Ok(())
    }
}

/// How many files that are not in the index might match, by the reason why they are not.
async fn skipped(
    catalog: &Catalog,
    scope: &Scope,
    request: &Request,
    shared: &Shared,
) -> Result<BTreeMap<String, usize>, store::Error> {
    let program = &request.program;
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    if program.expr == Expr::Const(false) {
        return Ok(reasons);
    }
    for file in catalog.skipped().await? {
        let known = |atom| match atom {
            Atom::Repo(_) => scope.repo_holds(file.repo, atom),
            Atom::Path(term) if shared.path_terms.contains(&term) => {
                Some(program.terms[term].matcher.is_match(&file.path))
            }
            // Nobody knows what is in it.
            _ => None,
        };
        if program.expr.eval(&known) != Some(false) {
            *reasons.entry(file.reason.clone()).or_default() += 1;
        }
    }
    Ok(reasons)
}
