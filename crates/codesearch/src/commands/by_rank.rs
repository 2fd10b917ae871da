//! `--sort relevance`: collects and ranks files.

use engine::search::rank::Explained;
use engine::search::{FileMatch, Request};

use crate::order::Order;
use crate::top_k::{POOL, TopK};

/// A file, and how its score came about.
pub(super) type ExplainedFile = (FileMatch, Option<Explained>);

/// The best files of a search.
pub(super) struct ByRank {
    top: TopK,
    /// Lines of context before and after, for the files that are printed.
    around: (usize, usize),
}

impl ByRank {
    /// Collects the best files of a request, up to its limit. Makes the request search for as many files as ranking
    /// needs.
    pub(super) fn of(request: &mut Request) -> Self {
        let keep = request.limit.unwrap_or(POOL).min(POOL);
        request.limit = Some(POOL);
        request.rank();
        // Context is read later, for the files that are printed only.
        let around = std::mem::take(&mut request.context);
        Self { top: TopK::new(request.query(), Order::Relevance, keep), around }
    }

    pub(super) fn add(&mut self, found: Vec<FileMatch>) {
        self.top.add(found, |_, _| Vec::new());
    }

    /// Returns the best files in order, each with how its score came about; the lines of context that they still need;
    /// and the number of files found.
    pub(super) fn into_files(self) -> (Vec<ExplainedFile>, (usize, usize), usize) {
        let found = self.top.files;
        let best = self.top.into_best(0).map(|(ranked, explained)| (ranked.file, explained));
        (best.collect(), self.around, found)
    }
}
