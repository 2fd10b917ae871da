//! The index of some paths: how it is built, and what it keeps.

use super::bound::Buffers;
use super::pair_index::{Interner, PairIndex};
use super::pool::Pool;

/// An index of some paths, which it knows by their numbers.
#[derive(Debug, Default)]
pub struct PathIndex {
    /// The name of each path.
    pub(super) own: Vec<u32>,
    /// Runs of paths that lie in one folder: the first of each, and its folder. Behind them is the end.
    pub(super) runs: Vec<(u32, u32)>,
    pub(super) folders: PairIndex,
    /// The folder around each folder; it comes before it. The first is the root.
    pub(super) parents: Vec<u32>,
    pub(super) names: PairIndex,
    /// Only one lookup at a time has the threads: of two that share them each takes as long as both, and a thread that
    /// waits for the rest of one may begin with the next.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) buffers: Pool<Buffers>,
}

impl PathIndex {
    /// Indexes `count` paths. It reads every path, and so belongs on a thread of its own.
    pub fn new<'p>(count: usize, path: impl Fn(u32) -> &'p str) -> Self {
        let mut names = Interner::default();
        let mut folders = Folders::new();
        let mut own = Vec::with_capacity(count);
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for file in 0..count as u32 {
            let path = path(file);
            let at = path.rfind('/').map_or(0, |at| at + 1);
            let folder = folders.number(&path[..at]);
            if runs.last().is_none_or(|(_, last)| *last != folder) {
                runs.push((file, folder));
            }
            own.push(names.number(&path[at..]));
        }
        runs.push((count as u32, 0));
        runs.shrink_to_fit();
        let texts = names.into_texts();
        let Folders { parents, own: folder_names, .. } = folders;
        let around = |at: usize| folder_names[parents[at] as usize].chars().next();
        let (names, folders) = rayon::join(
            || PairIndex::new(&texts, true, |_| None),
            || PairIndex::new(&folder_names, false, around),
        );
        Self { own, runs, folders, parents, names, ..Self::default() }
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.own.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// How many folders and how many names of files there are, each counted once.
    pub fn different(&self) -> (usize, usize) {
        (self.parents.len(), self.names.len())
    }

    /// Bytes of memory, without the buffers of lookups.
    pub fn memory(&self) -> usize {
        4 * (self.own.len() + 2 * self.runs.len() + self.parents.len())
            + self.folders.memory()
            + self.names.memory()
    }
}

/// Folders, each once; a text of one ends with a slash.
struct Folders<'p> {
    numbers: Interner<'p>,
    parents: Vec<u32>,
    /// The name of each folder alone.
    own: Vec<&'p str>,
}

impl<'p> Folders<'p> {
    fn new() -> Self {
        let mut numbers = Interner::default();
        numbers.number("");
        Self { numbers, parents: vec![0], own: vec![""] }
    }

    /// The number of a folder; those around it get theirs before it.
    fn number(&mut self, path: &'p str) -> u32 {
        if let Some(known) = self.numbers.get(path) {
            return known;
        }
        let at = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
        let parent = self.number(&path[..at]);
        self.parents.push(parent);
        self.own.push(&path[at..]);
        self.numbers.number(path)
    }
}
