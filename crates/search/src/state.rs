//! State that the shards of one search share while it runs.

use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use query::{CompiledQuery, Select};
use store::{CatalogRepos, RepoId};

use super::clock::Clock;
use super::cost::HitRate;
use super::jobs::MatchQueue;
use super::shards::Selection;
use super::stats::Counters;
use crate::types::Request;

/// One search: its request and the shards selected for it.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) request: Arc<Request>,
    /// Repositories of the searched catalog.
    pub(crate) repos: Arc<CatalogRepos>,
    pub(crate) selection: Selection,
    pub(crate) state: Arc<SearchState>,
}

impl Search {
    /// Returns the compiled query.
    pub(crate) fn query(&self) -> &CompiledQuery {
        self.request.compiled_query()
    }
}

/// The state of a search that changes while it runs.
#[derive(Debug)]
pub(crate) struct SearchState {
    pub(crate) counters: Arc<Counters>,
    pub(crate) clock: Arc<Clock>,
    /// Results per chunk read, over all shards.
    pub(crate) hit_rate: HitRate,
    /// Results of the finished shards.
    pub(crate) finished_results: AtomicUsize,
    /// Repositories in the answer, if repositories are the results.
    repos: Option<Mutex<HashSet<RepoId>>>,
    pub(crate) matching: Arc<MatchQueue>,
}

impl SearchState {
    pub(crate) fn new(request: &Arc<Request>, clock: Clock) -> Self {
        let (counters, clock) = (Arc::<Counters>::default(), Arc::new(clock));
        let repos = request.compiled_query().select == Select::Repos;
        Self {
            hit_rate: HitRate::default(),
            finished_results: AtomicUsize::new(0),
            repos: repos.then(Mutex::default),
            matching: Arc::new(MatchQueue::new(request, &clock, &counters)),
            counters,
            clock,
        }
    }

    /// Returns whether a repository is already in the answer, so that its files can be skipped.
    pub(crate) fn has_repo(&self, repo: RepoId) -> bool {
        let Some(repos) = &self.repos else { return false };
        repos.lock().unwrap_or_else(PoisonError::into_inner).contains(&repo)
    }

    /// Records that a repository is in the answer. Returns false if it was there already.
    pub(crate) fn add_repo(&self, repo: RepoId) -> bool {
        let Some(repos) = &self.repos else { return true };
        repos.lock().unwrap_or_else(PoisonError::into_inner).insert(repo)
    }
}

/// The number of chunks that may have to be read in a shard: an estimate until its source has listed them.
#[derive(Debug)]
pub(crate) struct ChunkCount {
    estimate: usize,
    counted: OnceLock<usize>,
}

impl ChunkCount {
    pub(crate) fn estimated(estimate: usize) -> Self {
        Self { estimate, counted: OnceLock::new() }
    }

    /// Sets the counted number. Only the first call has an effect.
    pub(crate) fn set_counted(&self, chunks: usize) {
        let _ = self.counted.set(chunks);
    }

    pub(crate) fn counted(&self) -> Option<usize> {
        self.counted.get().copied()
    }

    pub(crate) fn chunks(&self) -> usize {
        self.counted().unwrap_or(self.estimate)
    }
}

/// The sum of [`ShardCandidate::expected_blocks`](super::shards::ShardCandidate::expected_blocks) over some shards, and
/// the number of candidate chunks then found in them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChunkEstimate {
    pub(crate) expected_blocks: u64,
    pub(crate) chunks: usize,
}

impl std::iter::Sum for ChunkEstimate {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, next| Self {
            expected_blocks: sum.expected_blocks + next.expected_blocks,
            chunks: sum.chunks + next.chunks,
        })
    }
}

/// Ends a search when dropped, so that its shards stop, however the search ends.
pub(crate) struct EndOnDrop(pub(crate) Arc<SearchState>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.clock.end();
    }
}
