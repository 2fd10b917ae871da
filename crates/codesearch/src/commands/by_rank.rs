//! `--sort relevance`: collects and ranks files.

use std::path::PathBuf;
use std::sync::Arc;

use answer::FileMatch;
use rank::{Order, POOL};
use search::{Error, Ranked, Request, Stats, View};

use super::ordered::Ordered;

/// Default for the most lines of a file printed on a terminal: as many as agents get.
pub(super) const MOST_LINES: usize = 10;

/// The best files of a search.
pub(super) struct ByRank {
    ranked: Ranked,
    /// The most lines of each file printed, the best ones; `None` for all.
    most_lines: Option<usize>,
}

impl ByRank {
    /// Collects the best files of a request up to its limit, with the best `most_lines` of each.
    pub(super) fn of(request: &mut Request, most_lines: Option<usize>) -> Self {
        let limit = request.limit.unwrap_or(POOL).min(POOL);
        Self { ranked: Ranked::of(request, Order::Relevance, 0, limit), most_lines }
    }

    /// Makes identical copies one result if the output can name them; a file near the current `folder` stands for them.
    pub(super) fn fold_copies(mut self, folds: bool, folder: Option<PathBuf>) -> Self {
        if folds {
            self.ranked.prefer(folder);
        } else {
            self.ranked.keep_copies();
        }
        self
    }

    pub(super) fn add(&mut self, found: Vec<FileMatch>) {
        let most = self.most_lines;
        self.ranked.add(found, |file, lines| {
            if let Some(most) = most {
                lines.keep(file, most);
            }
            Vec::new()
        });
    }

    /// Returns the best files in order, and with `near` also the near definitions.
    pub(super) async fn into_files(
        self,
        view: &View,
        request: &Arc<Request>,
        stats: &mut Stats,
        near: bool,
    ) -> Result<Ordered, Error> {
        let best = self.ranked.best(view, request, stats, near).await?;
        let mut ordered = Ordered { near: best.near, ..Ordered::default() };
        for (ranked, explained) in best.files {
            // Lines of context are not matches.
            ordered.dropped += ranked.matches - ranked.file.matches();
            ordered.files.push(ranked.file);
            ordered.scores.extend(explained);
        }
        ordered.cut = ordered.files.len() < best.results;
        Ok(ordered)
    }
}
