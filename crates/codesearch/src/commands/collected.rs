//! Collects files before printing them, for the orders that need all files: by path and by relevance.

use std::sync::Arc;

use answer::FileMatch;
use search::{Error, Request, Stats, View};

use super::by_path::ByPath;
use super::by_rank::{ByRank, MOST_LINES};
use super::ordered::Ordered;
use crate::cli::{SearchArgs, Sort};
use crate::console::Console;
use crate::print::spans_lines;
use rank::POOL;

/// The collected files of a search, printed when it has ended.
pub(super) enum Collected {
    ByPath(ByPath),
    ByRank(Box<ByRank>),
}

impl Collected {
    /// Returns the collector for the files of a search; `None` if they are printed as they are found. Adapts the
    /// request to the order.
    pub(super) fn of(console: &Console, args: &SearchArgs, request: &mut Request) -> Option<Self> {
        let output = &args.output;
        let is_ranked =
            request.query().changes.is_none() && is_read_from_the_top(console, args, request);
        let usual = if is_ranked { Sort::Relevance } else { Sort::None };
        let (order, reverse) = match (output.sort, output.sortr) {
            _ if output.quiet => return None,
            (Some(order), _) => (order, false),
            (_, Some(order)) => (order, true),
            _ => (usual, false),
        };
        match order {
            Sort::None | Sort::Oldest => None,
            Sort::Relevance => {
                // Without an explicit order or number of lines, people read only the top.
                let unsaid = output.sort.is_none() && output.sortr.is_none();
                let lines = !output.count
                    && !output.count_matches
                    && output.max_count.is_none()
                    // The lines of a match stay together.
                    && !spans_lines(request);
                let most_lines = (unsaid && lines).then_some(MOST_LINES);
                let folds = output.has_headings(console.stdout_is_terminal)
                    && !output.json
                    && !output.count
                    && !output.count_matches
                    && request.query().settings.select.has_lines();
                let files = ByRank::of(request, most_lines);
                Some(Self::ByRank(Box::new(files.fold_copies(folds, console.folder.clone()))))
            }
            Sort::Path => Some(Self::ByPath(ByPath::new(reverse, request.limit.take()))),
        }
    }

    pub(super) fn is_ranked(&self) -> bool {
        matches!(self, Self::ByRank(_))
    }

    pub(super) fn add(&mut self, found: Vec<FileMatch>) {
        match self {
            Self::ByPath(files) => files.add(found),
            Self::ByRank(files) => files.add(found),
        }
    }

    /// Returns the files in order; if they are ranked, and with `near`, also the near definitions.
    pub(super) async fn into_files(
        self,
        view: &View,
        request: &Arc<Request>,
        stats: &mut Stats,
        near: bool,
    ) -> Result<Ordered, Error> {
        match self {
            Self::ByPath(files) => Ok(files.into_files()),
            Self::ByRank(files) => files.into_files(view, request, stats, near).await,
        }
    }
}

/// Returns whether a person reads the results on a terminal, and the limit is small enough for ranking.
fn is_read_from_the_top(console: &Console, args: &SearchArgs, request: &Request) -> bool {
    let printed = args.output.is_for_people() && !args.how.explain;
    printed && console.stdout_is_terminal && request.limit.is_some_and(|limit| limit <= POOL)
}
