//! Search: a pattern becomes a stream of files with matching lines.
//!
//! The plan says which literals every match contains; [`select`] says which shards are worth asking;
//! each shard's statement names its candidate chunks, and [`shard`] loads and verifies them a batch
//! at a time. Shards are asked a few at a time, and their answers are given out in the order of the
//! shards, so that the same search gives the same answer; when the limit is reached, the rest is
//! not asked.

mod context;
mod select;
mod shard;
mod verify;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use query::{Matcher, Need, Pattern, PatternError};
use store::{Catalog, Store};
use tokio::sync::{RwLock, mpsc};
use tokio::task::JoinSet;

use shard::{ShardSearch, Told};

/// Batches of files that a shard may be ahead of who reads them.
const AHEAD: usize = 2;

/// What to search for, and how much of it.
#[derive(Clone, Debug)]
pub struct Request {
    matcher: Matcher,
    need: Need,
    /// Most files in the answer; none for all.
    pub limit: Option<usize>,
    /// Lines shown before and after each match.
    pub context: (usize, usize),
    /// Which files are looked at.
    pub filter: Filter,
    /// Read every stored byte instead of asking the index.
    pub brute: bool,
}

/// Which files are looked at. An empty list lets everything through; of a list, one must fit.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Patterns for the name of the repository.
    pub repos: Vec<Matcher>,
    /// Patterns for the path in the repository.
    pub paths: Vec<Matcher>,
    /// Names of languages, whatever their case.
    pub languages: Vec<String>,
}

/// A file in which something matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMatch {
    /// The name of its repository.
    pub repo: String,
    /// Its path in the repository.
    pub path: String,
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

/// What a search did, and whether it did all of it.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// How long it took, from request to last result.
    pub duration: Duration,
    /// Files in the answer.
    pub files: usize,
    /// Matching lines in the answer.
    pub matches: usize,
    /// Shards that hold files.
    pub shards: usize,
    /// Shards that were asked.
    pub shards_searched: usize,
    /// Chunks that the index named, in the shards that were asked.
    pub candidates: usize,
    /// Why the answer is not all there is.
    pub stopped: Option<Stopped>,
}

/// Why an answer is not all there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The limit was reached, and there is more.
    Limit,
    /// Some shards could not be searched; the message is that of the first.
    Shards(String),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The pattern is not one.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The database could not do its part.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Request {
    /// A search for all matches of a pattern everywhere.
    pub fn new(pattern: &Pattern) -> Result<Self, PatternError> {
        Ok(Self {
            matcher: Matcher::new(pattern)?,
            need: Need::of(pattern),
            limit: None,
            context: (0, 0),
            filter: Filter::default(),
            brute: false,
        })
    }

    /// What the index is asked for.
    pub fn need(&self) -> &Need {
        &self.need
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
    /// listens any longer, the search ends.
    ///
    /// A few shards are searched at a time, and each stays no more than a few batches ahead, so that
    /// memory does not grow with the answer.
    pub async fn search(
        &self,
        request: &Arc<Request>,
        found: mpsc::Sender<FileMatch>,
    ) -> Result<Stats, Error> {
        let begun = Instant::now();
        let catalog = self.catalog().await?;
        let scope = Arc::new(select::scope(&catalog, &request.filter));
        let mut stats = Stats { shards: catalog.shards.len(), ..Stats::default() };
        let mut failed: Option<store::Error> = None;
        let mut waiting = scope.shards.clone().into_iter();
        let mut running = VecDeque::new();
        // Dropped at the end of the search, this ends what still runs.
        let mut tasks = JoinSet::new();
        'shards: loop {
            while running.len() < self.parallel
                && let Some(shard) = waiting.next()
            {
                let (send, receive) = mpsc::channel(AHEAD);
                let (store, catalog) = (self.store.clone(), Arc::clone(&catalog));
                let (scope, request) = (Arc::clone(&scope), Arc::clone(request));
                tasks.spawn(ShardSearch { store, catalog, scope, request, shard }.run(send));
                running.push_back(receive);
                stats.shards_searched += 1;
            }
            let Some(first) = running.front_mut() else { break };
            match first.recv().await {
                None => drop(running.pop_front()),
                Some(Told::Candidates(n)) => stats.candidates += n,
                Some(Told::Files(files)) => {
                    for file in files {
                        if request.limit == Some(stats.files) {
                            stats.stopped = Some(Stopped::Limit);
                            break 'shards;
                        }
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
        if let Some(error) = failed {
            stats.stopped = Some(Stopped::Shards(error.to_string()));
        }
        stats.duration = begun.elapsed();
        Ok(stats)
    }
}
