//! `/search` with `sort=`: results for programs in the page's orders, instead of the order in which they are found.

use std::sync::Arc;

use answer::FileMatch;
use rank::Explained;
use search::{Best, Ranked, Request, Stale, Stats};

use crate::cursor::Cursor;
use crate::error::Failure;
use crate::params::SearchParams;
use crate::request::compiled;
use crate::search_stream::SearchStream;
use crate::server::Server;
use rank::Order;
use request::Client;

/// Most results in one answer. For more, a client continues with `next`, or leaves out `sort=`.
const MAX_SORTED: usize = 1000;

/// The results of a sorted search.
pub(super) struct Sorted {
    pub(super) request: Arc<Request>,
    pub(super) files: Vec<FileMatch>,
    /// The score of each file and its parts; `None` in an order without scores.
    pub(super) scores: Vec<Option<Explained>>,
    /// Near definitions, which are not results; only on the first page in the order of relevance.
    pub(super) near: Vec<FileMatch>,
    pub(super) stats: Stats,
    /// The cursor of the next results.
    pub(super) next: Option<Cursor>,
    /// The files that have changed on disk.
    pub(super) stale: Stale,
}

/// A sorted search that is ready to run: its parameters are valid.
pub(super) struct Sort {
    request: Arc<Request>,
    order: Order,
    /// Number of results that earlier answers sent.
    shown: usize,
    ranked: Ranked,
}

impl Sort {
    /// Prepares the search that the parameters ask for.
    ///
    /// # Errors
    /// A parameter is wrong, or `limit=` is missing or too large.
    pub(super) async fn of(params: &SearchParams) -> Result<Self, Failure> {
        let order = params.order();
        let cursor = params.cursor(Some(order))?;
        let mut request = compiled(params, Client::PROGRAM).await?;
        let Some(limit) = request.limit.filter(|limit| *limit <= MAX_SORTED) else {
            return Err(Failure::bad_request(format!(
                "sort= needs a limit= of at most {MAX_SORTED}; continue with next, or leave out sort= for all results \
                 as they are found"
            )));
        };
        request.limit = None;
        request.resume = cursor.map(|cursor| cursor.resume);
        let shown = cursor.map_or(0, |cursor| cursor.shown);
        let mut ranked = Ranked::of(&mut request, order, shown, limit);
        ranked.check_disk();
        Ok(Self { request: Arc::new(request), order, shown, ranked })
    }

    /// Returns the request.
    pub(super) fn request(&mut self) -> &mut Request {
        Arc::make_mut(&mut self.request)
    }

    /// Searches, and returns the first results in order.
    ///
    /// # Errors
    /// The search failed, or its results take too much memory.
    pub(super) async fn run(self, server: &Server) -> Result<Sorted, Failure> {
        let Self { request, order, shown, mut ranked } = self;
        let mut running = SearchStream::start(server, &request);
        while let Some(found) = running.next().await {
            ranked.add(found, |_, _| Vec::new());
            if ranked.top().is_too_large() {
                return Err(Failure::bad_request(
                    "sort=: the results are too large to sort; give a lower limit=, or leave out sort=",
                ));
            }
        }
        let mut stats = running.end()?;
        let Best { files, near, results, stale, .. } =
            ranked.best(server.view(), &request, &mut stats, true).await?;
        let files = files.into_iter().map(|(ranked, explained)| (ranked.file, explained));
        let (files, scores): (Vec<_>, Vec<_>) = files.unzip();
        let next = Cursor::after(&request, &stats, Some(order), (shown + files.len(), results));
        Ok(Sorted { request, files, scores, near, stats, next, stale })
    }
}
