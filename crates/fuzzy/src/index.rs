//! The index of paths.

use super::bound::Buffers;
use super::pair_index::{Interner, PairIndex};
use super::pool::Pool;

/// An index of paths, which have numbers.
#[derive(Debug, Default)]
pub struct PathIndex {
    /// Number of each path's file name.
    pub(super) own: Vec<u32>,
    /// Runs of paths in one folder: the number of the first path, and that of the folder. The last entry marks
    /// the end.
    pub(super) runs: Vec<(u32, u32)>,
    pub(super) folders: PairIndex,
    /// Number of the folder around each folder. A parent has a smaller number; the root is 0.
    pub(super) parents: Vec<u32>,
    pub(super) names: PairIndex,
    /// Lock that gives one lookup at a time all threads. If two lookups shared them, each would take as long
    /// as both.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) buffers: Pool<Buffers>,
}

impl PathIndex {
    /// Indexes `count` paths. Reads every path, so it should run on a thread of its own.
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

    /// Returns the number of paths.
    pub fn len(&self) -> usize {
        self.own.len()
    }

    /// Returns whether there are no paths.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Returns how many different folders and how many different file names there are.
    pub fn different(&self) -> (usize, usize) {
        (self.parents.len(), self.names.len())
    }

    /// Returns the bytes of memory in use, without the buffers of lookups.
    pub fn memory(&self) -> usize {
        4 * (self.own.len() + 2 * self.runs.len() + self.parents.len())
            + self.folders.memory()
            + self.names.memory()
    }
}

/// Numbers folders. The text of a folder ends with a slash.
struct Folders<'p> {
    numbers: Interner<'p>,
    parents: Vec<u32>,
    /// Name of each folder, without those around it.
    own: Vec<&'p str>,
}

impl<'p> Folders<'p> {
    fn new() -> Self {
        let mut numbers = Interner::default();
        numbers.number("");
        Self { numbers, parents: vec![0], own: vec![""] }
    }

    /// Returns the number of a folder. The folders around it get smaller numbers.
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
