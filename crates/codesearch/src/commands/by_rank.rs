//! `--sort relevance`: collects and ranks files.

use answer::FileMatch;
use search::Request;

use super::ordered::Ordered;
use rank::Order;
use rank::{POOL, TopK};

/// Most lines of a file that are printed on a terminal where nothing else is asked for: as many as agents get.
pub(super) const MOST_LINES: usize = 10;

/// The best files of a search.
pub(super) struct ByRank {
    top: TopK,
    /// Lines of context before and after, for the files that are printed.
    around: (usize, usize),
    /// Most lines of each file that are printed, its best; `None` for all.
    most_lines: Option<usize>,
}

impl ByRank {
    /// Collects the best files of a request, up to its limit. Makes the request search for as many files as ranking
    /// needs. Keeps the best `most_lines` of each file.
    pub(super) fn of(request: &mut Request, most_lines: Option<usize>) -> Self {
        let keep = request.limit.unwrap_or(POOL).min(POOL);
        request.limit = Some(POOL);
        request.rank();
        // Context is read later, for the files that are printed only.
        let around = std::mem::take(&mut request.context);
        Self { top: TopK::new(request.query(), Order::Relevance, keep), around, most_lines }
    }

    pub(super) fn add(&mut self, found: Vec<FileMatch>) {
        let most = self.most_lines;
        self.top.add(found, |file, lines| {
            if let Some(most) = most {
                lines.keep(file, most);
            }
            Vec::new()
        });
    }

    /// Returns the best files in order.
    pub(super) fn into_files(self) -> Ordered {
        let (found, around) = (self.top.files, self.around);
        let (mut files, mut scores, mut dropped) = (Vec::new(), Vec::new(), 0);
        for (ranked, explained) in self.top.into_best(0) {
            dropped += ranked.matches - ranked.file.matches();
            files.push(ranked.file);
            scores.extend(explained);
        }
        let cut = files.len() < found;
        Ordered { files, scores, around, cut, dropped }
    }
}
