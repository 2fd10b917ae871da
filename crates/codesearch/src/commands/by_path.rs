//! `--sort path`: collects files and sorts them by path.

use std::cmp::Ordering;
use std::path::{Component, Path};

use engine::search::FileMatch;

/// Files kept beyond the limit before they are sorted and cut again.
const SLACK: usize = 1000;

/// Collects the files of a search, or the first of them by path. The order is that of a walk through folders whose
/// entries are sorted by name.
pub(crate) struct ByPath {
    reverse: bool,
    most: usize,
    files: Vec<FileMatch>,
    cut: bool,
}

impl ByPath {
    /// Keeps at most the first `most` files, or all.
    pub(crate) fn new(reverse: bool, most: Option<usize>) -> Self {
        Self { reverse, most: most.unwrap_or(usize::MAX), files: Vec::new(), cut: false }
    }

    pub(crate) fn add(&mut self, found: impl IntoIterator<Item = FileMatch>) {
        self.files.extend(found);
        if self.files.len() > self.most.saturating_add(SLACK) {
            self.order();
        }
    }

    /// Returns the files in order, and whether there were more.
    pub(crate) fn into_files(mut self) -> (Vec<FileMatch>, bool) {
        self.order();
        (self.files, self.cut)
    }

    fn order(&mut self) {
        let reverse = self.reverse;
        self.files.sort_by(|a, b| {
            let order = by_path(a, b);
            if reverse { order.reverse() } else { order }
        });
        self.cut |= self.files.len() > self.most;
        self.files.truncate(self.most);
    }
}

fn by_path(a: &FileMatch, b: &FileMatch) -> Ordering {
    parts(a).cmp(parts(b))
}

fn parts(file: &FileMatch) -> impl Iterator<Item = Component<'_>> {
    Path::new(&file.repo).components().chain(Path::new(&file.path).components())
}
