//! `/search` with `sort=`: the results for programs in the orders of the page, instead of that in which they
//! are found.

use std::sync::Arc;

use engine::search::{FileMatch, Request, Stats};

use crate::http::cursor::Cursor;
use crate::http::error::Failure;
use crate::http::params::SearchParams;
use crate::http::request::compiled;
use crate::http::search_stream::SearchStream;
use crate::http::server::Server;
use crate::order::Order;
use crate::request::Client;
use crate::top_k::{POOL, TopK};

/// Results of one answer. More of them are had by going on, or in the order in which they are found.
const MAX_SORTED: usize = 1000;

/// What is kept until the last one is found takes so many bytes at most.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// What a search found, in order.
pub(super) struct Sorted {
    pub(super) request: Arc<Request>,
    pub(super) files: Vec<FileMatch>,
    pub(super) stats: Stats,
    /// Where what comes next begins.
    pub(super) next: Option<Cursor>,
}

/// A search that can be made: nothing is wrong with what was asked.
pub(super) struct Sort {
    request: Arc<Request>,
    order: Order,
    /// Results that were sent before, and how many are sent now.
    shown: usize,
    limit: usize,
    /// Lines of context for the files that are sent.
    around: (usize, usize),
    /// Whether to say what symbols are around their lines.
    enclosing: bool,
}

impl Sort {
    /// What an address asks for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) async fn of(params: &SearchParams) -> Result<Self, Failure> {
        let order = params.order();
        let cursor = params.cursor(Some(order))?;
        let mut request = compiled(params, Client::PROGRAM).await?;
        let Some(limit) = request.limit.filter(|limit| *limit <= MAX_SORTED) else {
            return Err(Failure::bad_request(format!(
                "sort= needs a limit= of at most {MAX_SORTED}; go on with next, or leave out sort= for all results \
                 as they are found"
            )));
        };
        request.limit = (order == Order::Relevance).then_some(POOL);
        request.best = order == Order::Relevance;
        request.resume = cursor.map(|cursor| cursor.resume);
        // They are read for the files that are sent only.
        let around = std::mem::take(&mut request.context);
        let enclosing = std::mem::take(&mut request.enclosing);
        let shown = cursor.map_or(0, |cursor| cursor.shown);
        Ok(Self { request: Arc::new(request), order, shown, limit, around, enclosing })
    }

    /// Searches, and gives what comes first.
    ///
    /// # Errors
    /// The search failed, or what it found is too large to be put in order.
    pub(super) async fn run(self, server: &Server) -> Result<Sorted, Failure> {
        let Self { request, order, shown, limit, around, enclosing } = self;
        let mut running = SearchStream::start(server, &request);
        let mut top = TopK::new(request.query(), order, shown.saturating_add(limit));
        while let Some(found) = running.next().await {
            for file in found {
                top.add(file, |_, _| Vec::new());
            }
            if top.bytes() > MAX_BYTES {
                top.settle();
                if top.bytes() > MAX_BYTES {
                    return Err(Failure::bad_request(
                        "sort=: the results are too large to sort; give a lower limit=, or leave out sort=",
                    ));
                }
            }
        }
        let stats = running.end()?;
        let found = top.files;
        let mut files: Vec<_> =
            top.into_best().map(|ranked| ranked.file).skip(shown).take(limit).collect();
        let next = Cursor::after(&request, &stats, Some(order), (shown + files.len(), found));
        if around != (0, 0) && request.program().select.has_lines() {
            server.searcher.add_context(&mut files, stats.switch, around).await?;
        }
        if enclosing {
            server.searcher.add_enclosing(&mut files, stats.switch).await?;
        }
        Ok(Sorted { request, files, stats, next })
    }
}
