//! Files collected to be printed in the order in which they are likely to be wanted.

use engine::search::{FileMatch, Request};

use crate::order::Order;
use crate::top_k::{POOL, TopK};

/// The best files of a search.
pub(super) struct ByRank {
    top: TopK,
    /// Lines of context for the files that are printed.
    around: (usize, usize),
}

impl ByRank {
    /// Collects the best files for a request, up to its limit, and has it look for what it takes to know them.
    pub(super) fn of(request: &mut Request) -> Self {
        let keep = request.limit.unwrap_or(POOL).min(POOL);
        request.limit = Some(POOL);
        request.best = true;
        // They are read for the files that are printed only.
        let around = std::mem::take(&mut request.context);
        Self { top: TopK::new(request.query(), Order::Relevance, keep), around }
    }

    pub(super) fn add(&mut self, found: Vec<FileMatch>) {
        for file in found {
            self.top.add(file, |_, _| Vec::new());
        }
    }

    /// The best, in order, the lines of context that they are to have, and how many files were found.
    pub(super) fn into_files(self) -> (Vec<FileMatch>, (usize, usize), usize) {
        let found = self.top.files;
        (self.top.into_best().map(|ranked| ranked.file).collect(), self.around, found)
    }
}
