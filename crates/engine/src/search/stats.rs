//! What a search did, what it cost, and whether it did all of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use store::{ShardId, Switch};

use crate::types::{Progress, Request, Resume, ShardSet};

/// What a search did, and whether it did all of it.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// How long it took, from request to last result.
    pub duration: Duration,
    /// Results: files, or repositories if those were asked for.
    pub files: usize,
    /// Matching lines in the answer.
    pub matches: usize,
    /// Shards that hold files.
    pub shards: usize,
    /// Shards that cannot hold a match, because of the names of their repositories or by their filters.
    pub shards_pruned: usize,
    /// Shards that were searched.
    pub shards_searched: usize,
    /// Those of them that were searched in memory.
    pub shards_from_memory: usize,
    /// Those of them that were searched by way of Postgres.
    pub shards_from_postgres: usize,
    /// Chunks that the index named and their n-grams did not rule out, in the shards that were asked.
    pub candidates: usize,
    /// Files that were looked at: their paths and languages.
    pub files_considered: usize,
    /// Texts that were looked at, chunks or whole ones; without those that were read ahead when the limit was reached.
    pub rechecks: usize,
    /// Bytes in those texts.
    pub bytes: usize,
    /// What each part of the work took, summed over shards that were searched at the same time.
    pub phases: Phases,
    /// Files that match the query as far as their path and repository go, and are not in the index:
    /// how many for each reason. Only if the request wants it.
    pub skipped: BTreeMap<String, usize>,
    /// Why the answer is not all there is.
    pub stopped: Option<Stopped>,
    /// The state of the index that was searched, by the switch to it.
    pub switch: Switch,
    /// A hash of the query.
    pub query: u64,
    /// How far the answer has come, with what was given before.
    pub progress: Progress,
    /// The shards in the order in which they were searched.
    pub(crate) order: Vec<ShardId>,
}

impl Stats {
    /// Whether there is more, and only the limit was in its way.
    pub fn ended_at_limit(&self) -> bool {
        self.stopped == Some(Stopped::Limit)
    }

    /// Where a search begins that begins where this one did.
    pub fn from_start(&self, request: &Request) -> Resume {
        request.resume.unwrap_or(Resume {
            switch: self.switch,
            query: self.query,
            results: 0,
            searched: ShardSet::default(),
            last: None,
        })
    }

    /// Where a search goes on after these results of this one.
    pub fn from(&self, request: &Request, progress: Progress) -> Resume {
        let Progress { results, last } = progress;
        let mut resume = Resume { results, last, ..self.from_start(request) };
        if let Some(last) = last {
            for shard in self.order.iter().take_while(|shard| **shard != last.shard) {
                resume.searched.insert(*shard);
            }
        }
        resume
    }
}

/// Why an answer is not all there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The limit was reached, and there is more.
    Limit,
    /// It took longer than it may.
    Timeout(Duration),
    /// Some shards could not be searched; the message is that of the first.
    Shards(String),
}

/// What each part of a search took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases {
    /// The trigram indexes naming candidates.
    pub lookup: Duration,
    /// Loading what is known of files: paths, languages.
    pub files: Duration,
    /// Loading texts.
    pub load: Duration,
    /// Matching, as far as a search waited for it.
    pub verify: Duration,
}

/// A part of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    Lookup,
    Files,
    Load,
    Verify,
}

/// What the shards of one search count together.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) candidates: AtomicUsize,
    pub(crate) files: AtomicUsize,
    pub(crate) rechecks: AtomicUsize,
    pub(crate) bytes: AtomicUsize,
    /// Nanoseconds, by [`Phase`].
    nanos: [AtomicU64; 4],
}

impl Counters {
    /// Does a piece of work on the clock of a phase.
    pub(crate) async fn time<T>(&self, phase: Phase, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        self.nanos[phase as usize].fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }

    /// Copies what was counted.
    pub(crate) fn read(&self, stats: &mut Stats) {
        let nanos =
            |phase: Phase| Duration::from_nanos(self.nanos[phase as usize].load(Ordering::Relaxed));
        stats.candidates = self.candidates.load(Ordering::Relaxed);
        stats.files_considered = self.files.load(Ordering::Relaxed);
        stats.rechecks = self.rechecks.load(Ordering::Relaxed);
        stats.bytes = self.bytes.load(Ordering::Relaxed);
        stats.phases = Phases {
            lookup: nanos(Phase::Lookup),
            files: nanos(Phase::Files),
            load: nanos(Phase::Load),
            verify: nanos(Phase::Verify),
        };
    }
}
