//! `--sort path`: collects files and sorts them by path.

use answer::FileMatch;

use super::ordered::Ordered;
use rank::by_path;

/// Number of files kept beyond the limit before they are sorted and cut again.
const SLACK: usize = 1000;

/// Collects the files of a search, or the first of them by path.
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

    /// Returns the files in order.
    pub(super) fn into_files(mut self) -> Ordered {
        self.order();
        Ordered { files: self.files, cut: self.cut, ..Ordered::default() }
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
