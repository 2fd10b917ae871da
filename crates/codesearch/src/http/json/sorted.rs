//! `/search` with `sort=`: the results for programs in the orders of the page, instead of that in which they
//! are found.

use std::sync::Arc;

use engine::search::{DEFAULT_TIMEOUT, FileMatch, Request, Stats};
use query::Select;

use crate::http::cursor::Cursor;
use crate::http::error::Failure;
use crate::http::order::Order;
use crate::http::params::SearchParams;
use crate::http::request::compiled;
use crate::http::search_stream::SearchStream;
use crate::http::server::Server;
use crate::http::top_k::{TopK, WINDOW};

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

/// Searches, and gives what comes first.
pub(super) async fn search(server: &Server, params: &SearchParams) -> Result<Sorted, Failure> {
    let order = params.order()?;
    let cursor = params.cursor(Some(order))?;
    let mut request = compiled(params, None).await?;
    let Some(limit) = request.limit.filter(|limit| *limit <= MAX_SORTED) else {
        return Err(Failure::bad_request(format!(
            "sort= needs a limit= of at most {MAX_SORTED}; go on with next, or leave out sort= for all results as \
             they are found"
        )));
    };
    request.limit = (order == Order::Relevance).then_some(WINDOW);
    request.timeout.get_or_insert(DEFAULT_TIMEOUT);
    request.resume = cursor.map(|cursor| cursor.resume);
    // They are read for the files that are sent only.
    let around = std::mem::take(&mut request.context);
    let shown = cursor.map_or(0, |cursor| cursor.shown);
    let request = Arc::new(request);
    let mut running = SearchStream::start(server, &request);
    let mut top = TopK::new(order, shown.saturating_add(limit));
    while let Some(found) = running.next().await {
        for file in found {
            top.add(file, |_| Vec::new());
        }
        if top.bytes() > MAX_BYTES {
            top.settle();
            if top.bytes() > MAX_BYTES {
                return Err(Failure::bad_request(
                    "sort=: these results are too large to be put in order; give a lower limit=, or leave out sort=",
                ));
            }
        }
    }
    let stats = running.end()?;
    let found = top.files;
    let mut files: Vec<_> = top.into_best().skip(shown).take(limit).collect();
    let next = Cursor::after(&request, &stats, Some(order), (shown + files.len(), found));
    if around != (0, 0) && request.program().select == Select::Lines {
        server.searcher.add_context(&mut files, stats.epoch, around).await?;
    }
    Ok(Sorted { request, files, stats, next })
}
