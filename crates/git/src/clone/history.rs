//! Walks through commits.

use std::collections::{BinaryHeap, HashMap};

use gix::objs::{CommitRef, Kind};
use gix::revision::plumbing::{self, Graph};

use super::finder::Finder;
use super::open::Clone;
use crate::{Error, Oid, bounded};
use files::decode_lossy;

/// How many commits in a row, all hidden, end the search for hidden ones, as in git: a commit may be older than its
/// parent.
const SLOP: usize = 5;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its name.
    pub id: Oid,
    /// Its parents. A commit at which a shallow clone ends has none.
    pub parents: Vec<Oid>,
    /// The name of its author.
    pub author: String,
    /// When it was made, in seconds since 1970. It may have been written earlier.
    pub time: i64,
    /// The first line of its message.
    pub summary: String,
}

impl Clone {
    /// Returns the best common ancestor of two commits; `None` if they have none.
    ///
    /// # Errors
    /// A commit is missing or damaged, or the clone cannot be read any more.
    pub fn merge_base(&self, a: Oid, b: Oid) -> Result<Option<Oid>, Error> {
        let finder = Finder::new(self);
        let mut graph = Graph::new(&finder, None);
        let bases = plumbing::merge_base(a, &[b], &mut graph);
        drop(graph);
        match (bases, finder.error()) {
            (_, Some(error)) => Err(error),
            (Ok(bases), None) => Ok(bases.map(|bases| bases.head)),
            (Err(_), None) => Err(Error::Damaged(a)),
        }
    }

    /// Returns the commits that lead to `tips`, without those that lead to `hidden`, the newest first; a commit that is
    /// older than its parent comes before it, too.
    pub fn commits(&self, tips: &[Oid], hidden: &[Oid]) -> Commits {
        Commits {
            finder: Finder::new(self),
            starts: tips
                .iter()
                .map(|tip| (*tip, false))
                .chain(hidden.iter().map(|tip| (*tip, true)))
                .collect(),
            queue: BinaryHeap::new(),
            seen: HashMap::new(),
            parents: HashMap::new(),
            limited: None,
            order: 0,
            open: 0,
            failed: None,
        }
    }
}

/// The commits of a history, see [`Clone::commits`]. After an error, there are no more.
pub struct Commits {
    finder: Finder,
    /// Where the walk begins, and whether commits from there are hidden. Empty once it began.
    starts: Vec<(Oid, bool)>,
    /// The commits that were seen and not yet passed on.
    queue: BinaryHeap<Waiting>,
    /// All commits that were seen, and whether they are hidden.
    seen: HashMap<Oid, bool>,
    /// If commits are hidden: the parents of those that are no longer in the queue.
    parents: HashMap<Oid, Box<[Oid]>>,
    /// If commits are hidden: the others, the newest last.
    limited: Option<Vec<Oid>>,
    order: u64,
    /// The number of commits in the queue that are not hidden, as far as is known.
    open: usize,
    failed: Option<Error>,
}

impl std::fmt::Debug for Commits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Commits")
    }
}

/// A commit in the queue: the newest is the first, then what was seen first.
struct Waiting {
    commit: CommitInfo,
    order: u64,
}

impl Waiting {
    fn key(&self) -> (i64, std::cmp::Reverse<u64>) {
        (self.commit.time, std::cmp::Reverse(self.order))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Commits {
    /// Adds a commit to the queue, if it was not seen yet.
    fn add(&mut self, id: Oid) -> Result<(), Error> {
        if self.seen.contains_key(&id) {
            return Ok(());
        }
        let commit = self.finder.commit(id)?;
        self.seen.insert(id, false);
        self.order += 1;
        self.open += 1;
        self.queue.push(Waiting { commit, order: self.order });
        Ok(())
    }

    /// Hides a commit, and all of its ancestors that were seen.
    fn hide(&mut self, id: Oid) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            if let Some(is_hidden) = self.seen.get_mut(&id).filter(|is_hidden| !**is_hidden) {
                *is_hidden = true;
                match self.parents.get(&id) {
                    Some(parents) => stack.extend(parents),
                    // It is still in the queue.
                    None => self.open -= 1,
                }
            }
        }
    }

    fn start(&mut self) -> Result<(), Error> {
        let starts = std::mem::take(&mut self.starts);
        for (id, is_hidden) in &starts {
            self.add(*id)?;
            if *is_hidden {
                self.hide(*id);
            }
        }
        if starts.iter().any(|(_, is_hidden)| *is_hidden) {
            self.limit()?;
        }
        Ok(())
    }

    /// Finds all commits that are not hidden.
    fn limit(&mut self) -> Result<(), Error> {
        let mut found = Vec::new();
        let mut oldest = None;
        let mut slop = SLOP;
        while let Some(Waiting { commit, .. }) = self.queue.pop() {
            let is_hidden = self.is_hidden(commit.id);
            self.open -= usize::from(!is_hidden);
            self.parents.insert(commit.id, commit.parents.clone().into_boxed_slice());
            for parent in &commit.parents {
                match self.add(*parent) {
                    // What a hidden commit leads to need not be there.
                    Err(Error::Missing { .. }) if is_hidden => continue,
                    added => added?,
                }
                if is_hidden {
                    self.hide(*parent);
                }
            }
            if !is_hidden {
                found.push(commit.id);
                oldest = oldest.into_iter().chain([commit.time]).min();
                slop = SLOP;
                continue;
            }
            if self.open == 0 {
                // A newer parent of an old commit may still be hidden.
                let next = self.queue.peek().map(|waiting| waiting.commit.time);
                if oldest.is_none() || next < oldest {
                    slop -= 1;
                }
                if slop == 0 || oldest.is_none() {
                    break;
                }
            }
        }
        found.retain(|commit| !self.is_hidden(*commit));
        found.reverse();
        self.queue.clear();
        self.seen = HashMap::new();
        self.parents = HashMap::new();
        self.limited = Some(found);
        Ok(())
    }

    fn is_hidden(&self, id: Oid) -> bool {
        self.seen.get(&id).copied().unwrap_or(false)
    }

    fn step(&mut self) -> Result<Option<CommitInfo>, Error> {
        if !self.starts.is_empty() {
            self.start()?;
        }
        if let Some(limited) = &mut self.limited {
            return limited.pop().map(|id| self.finder.commit(id)).transpose();
        }
        let Some(Waiting { commit, .. }) = self.queue.pop() else { return Ok(None) };
        for parent in &commit.parents {
            // The commit itself is passed on before the error.
            if let Err(error) = self.add(*parent) {
                self.failed.get_or_insert(error);
            }
        }
        Ok(Some(commit))
    }
}

impl Iterator for Commits {
    type Item = Result<CommitInfo, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            self.queue.clear();
            self.limited = None;
            return Some(Err(error));
        }
        match self.step() {
            Ok(commit) => commit.map(Ok),
            Err(error) => {
                self.queue.clear();
                Some(Err(error))
            }
        }
    }
}

impl Finder {
    /// Reads a commit.
    pub(super) fn commit(&self, id: Oid) -> Result<CommitInfo, Error> {
        let bytes = self.expect(&id, Kind::Commit)?;
        let commit = CommitRef::from_bytes(&bytes, id.kind()).map_err(|_| Error::Damaged(id))?;
        let is_end = self.store().shallow.binary_search(&id).is_ok();
        let parents = if is_end { Vec::new() } else { commit.parents().collect() };
        let author = commit.author().map(|author| decode_lossy(author.name)).unwrap_or_default();
        let time = commit.committer().map_or(0, |committer| committer.seconds());
        let message = commit.message.trim_ascii_start();
        let line = message.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let (author, summary) = (bounded(author.trim()), decode_lossy(line));
        let summary = bounded(summary.trim_end());
        Ok(CommitInfo { id, parents, author: author.to_owned(), time, summary: summary.to_owned() })
    }
}
