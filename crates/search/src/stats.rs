//! Counters of a search, and whether its answer is complete.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use store::{Catalog, RepoId, ShardId, Switch};

use crate::fresh::Covered;
use crate::missing::Missing;
use crate::types::{AnswerProgress, Request, Resume, ShardSet};

/// Counters of a search, and whether its answer is complete.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Time from the request to the last result.
    pub duration: Duration,
    /// Results: files, or repositories if requested.
    pub files: usize,
    /// Matching lines in the answer.
    pub matches: usize,
    /// Shards with files.
    pub shards: usize,
    /// Shards ruled out by the names of their repositories or by their filters.
    pub shards_pruned: usize,
    /// Shards that were searched.
    pub shards_searched: usize,
    /// Searched shards whose source was memory.
    pub shards_from_memory: usize,
    /// Searched shards whose source was Postgres.
    pub shards_from_postgres: usize,
    /// Candidate chunks: named by an index, and not ruled out by filters.
    pub candidates: usize,
    /// Files whose path and language were checked.
    pub files_considered: usize,
    /// Chunks or whole texts that were matched, except those that were being read ahead when the limit was reached.
    pub rechecks: usize,
    /// Bytes in those texts.
    pub bytes: usize,
    /// Time of each phase, summed over concurrently searched shards.
    pub phases: Phases,
    /// Files that are not in the index and match as far as path and repository tell, counted by the reason why they
    /// were left out. Empty unless requested.
    pub skipped: BTreeMap<String, usize>,
    /// What a search for symbols could not find, as far as symbols are known.
    pub symbols: SymbolsLeft,
    /// Why the answer is incomplete, if it is.
    pub stopped: Option<Stopped>,
    /// What was not searched since a node of the index did not answer.
    pub missing: Missing,
    /// Switch of the epoch that was searched.
    pub switch: Switch,
    /// Hash of the query.
    pub query: u64,
    /// Hash of the commits that were searched on demand; 0 if none were.
    pub commits: u64,
    /// Sentences, without a full stop, about repositories that do not have the revision of the query, and about changes
    /// that are not indexed yet.
    pub notes: Vec<String>,
    /// How fresh the repositories are that the search covers.
    pub covered: Covered,
    /// Whether the index has repositories that the view does not show. Then the numbers of shards, candidates, texts and
    /// bytes tell of these, too, and are for operators only: see [`shown`](Self::shown).
    pub is_restricted: bool,
    /// Progress of the answer, including the results of the searches that this one continued.
    pub progress: AnswerProgress,
    /// Shards in the order in which they were searched.
    pub(crate) order: Vec<ShardId>,
}

/// Files and languages that a search for symbols could not cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolsLeft {
    /// Files in the searched shards whose symbols were not taken yet.
    pub pending: usize,
    /// Files that the query may mean and some or all of whose symbols were given up, by the reason in a word.
    pub given_up: BTreeMap<String, usize>,
    /// Languages in the query, if none of them has symbols.
    pub without: Vec<String>,
}

impl SymbolsLeft {
    /// Returns the number of files that the search could not examine.
    pub fn files(&self) -> usize {
        self.pending + self.given_up.values().sum::<usize>()
    }
}

impl Stats {
    /// Notes how fresh the repositories are that the search covers: some of a catalog, or all.
    pub(crate) fn note_covered(&mut self, catalog: &Catalog, among: Option<&[RepoId]>) {
        self.covered = Covered::of(catalog, among);
    }

    /// Notes that the answer is incomplete if repositories that it covers lack files since a node of the index is lost.
    pub(crate) fn note_lost(&mut self) {
        if self.stopped.is_none() {
            self.stopped = self.covered.lacks().map(Stopped::Shards);
        }
    }

    /// Adds what could not be read of an answer, which is incomplete then.
    pub fn note_missing(&mut self, missing: Missing) {
        if !missing.is_empty() {
            let why = "a node of the index does not answer";
            self.stopped.get_or_insert(Stopped::Shards(why.to_owned()));
        }
        self.missing.join(missing);
    }

    /// Returns what is missing, as far as whoever sees these repositories is told.
    pub fn shown_missing(&self) -> Missing {
        if self.is_restricted { self.missing.hidden() } else { self.missing.clone() }
    }

    /// Returns what a view that does not show all repositories may tell: without what the search cost.
    #[must_use]
    pub fn shown(&self) -> Self {
        let mut shown = self.clone();
        if self.is_restricted {
            (shown.shards, shown.shards_pruned, shown.shards_searched) = (0, 0, 0);
            (shown.shards_from_memory, shown.shards_from_postgres) = (0, 0);
            (shown.candidates, shown.files_considered, shown.rechecks, shown.bytes) = (0, 0, 0, 0);
            shown.phases = Phases::default();
            shown.missing = self.shown_missing();
        }
        shown
    }

    /// Returns whether the answer has all results: nothing ended the search early, and no symbols were missing.
    pub fn is_complete(&self) -> bool {
        self.stopped.is_none() && self.symbols.files() == 0
    }

    /// Adds the counters of a search for the same query in other repositories.
    pub fn join(&mut self, other: Self) {
        self.duration += other.duration;
        self.files += other.files;
        self.matches += other.matches;
        self.shards += other.shards;
        self.shards_pruned += other.shards_pruned;
        self.shards_searched += other.shards_searched;
        self.shards_from_memory += other.shards_from_memory;
        self.shards_from_postgres += other.shards_from_postgres;
        self.candidates += other.candidates;
        self.files_considered += other.files_considered;
        self.rechecks += other.rechecks;
        self.bytes += other.bytes;
        for (reason, files) in other.skipped {
            *self.skipped.entry(reason).or_default() += files;
        }
        // Both searches may have seen the same shards.
        self.symbols.pending = self.symbols.pending.max(other.symbols.pending);
        for (reason, files) in other.symbols.given_up {
            *self.symbols.given_up.entry(reason).or_default() += files;
        }
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.covered.join(other.covered);
        self.missing.join(other.missing);
        self.stopped = self.stopped.take().or(other.stopped);
    }

    /// Returns whether the limit ended the search and there are more results.
    pub fn ended_at_limit(&self) -> bool {
        self.stopped == Some(Stopped::Limit)
    }

    /// Returns the position at which this search began.
    pub fn from_start(&self, request: &Request) -> Resume {
        let commits = self.commits;
        let first = || Resume {
            switch: self.switch,
            query: self.query,
            commits,
            results: 0,
            searched: ShardSet::default(),
            last: None,
        };
        request.resume.map_or_else(first, |from| Resume { commits, ..from })
    }

    /// Returns the position after the first results of this search, as counted by `progress`.
    pub fn from(&self, request: &Request, progress: AnswerProgress) -> Resume {
        let AnswerProgress { results, last } = progress;
        let mut resume = Resume { results, last, ..self.from_start(request) };
        if let Some(last) = last {
            // Those that are missing are searched by the next page, if they are back.
            let before = self.order.iter().take_while(|shard| **shard != last.shard);
            for shard in before.filter(|shard| !self.missing.shards.contains_key(shard)) {
                resume.searched.insert(*shard);
            }
        }
        resume
    }
}

/// Why an answer is incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The limit was reached, and there are more results.
    Limit,
    /// The timeout passed; its length.
    Timeout(Duration),
    /// Some shards could not be searched; the error of the first.
    Shards(String),
    /// A commit was not searched, or not as a whole; a sentence.
    Revision(String),
}

/// The time of each phase of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases {
    /// Asking the trigram indexes and filters for candidates.
    pub lookup: Duration,
    /// Loading paths and languages of files.
    pub files: Duration,
    /// Loading texts.
    pub load: Duration,
    /// Matching, as far as a shard waited for it.
    pub verify: Duration,
}

/// A phase of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    Lookup,
    Files,
    Load,
    Verify,
}

/// Counters that all shards of a search add to.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) candidates: AtomicUsize,
    pub(crate) files: AtomicUsize,
    pub(crate) rechecks: AtomicUsize,
    pub(crate) bytes: AtomicUsize,
    /// Nanoseconds of each [`Phase`].
    nanos: [AtomicU64; 4],
}

impl Counters {
    /// Runs `work`, and adds its time to a phase.
    pub(crate) async fn time<T>(&self, phase: Phase, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        self.nanos[phase as usize].fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }

    /// Copies the counters.
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
