//! A search that runs, its results taken one batch after another.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use engine::search::{FileMatch, Request, Stats, Stopped};
use futures_util::FutureExt;
use tokio::sync::mpsc;

use super::error::Failure;
use super::metrics::{TimedSearch, of_request};
use super::server::Server;
use crate::human::count;

/// Batches of files that the search may be ahead of who reads them.
const FOUND_AHEAD: usize = 2;

/// A search whose results are taken one batch after another. It goes on only while they are waited for,
/// and ends when this is dropped.
pub(crate) struct SearchStream {
    search: Pin<Box<dyn Future<Output = Ended> + Send>>,
    files: mpsc::Receiver<Vec<FileMatch>>,
    ended: Option<Ended>,
    counted: TimedSearch,
}

type Ended = Result<Stats, Failure>;

impl SearchStream {
    pub(crate) fn start(server: &Server, request: &Arc<Request>) -> Self {
        let (found, files) = mpsc::channel(FOUND_AHEAD);
        let (searcher, params) = (Arc::clone(&server.searcher), server.bounded(request));
        let search = async move {
            let search = AssertUnwindSafe(searcher.search(&params, found)).catch_unwind();
            search.await.map_or_else(|_| Err(Failure::broke_off()), |stats| Ok(stats?))
        };
        let (kind, told) = of_request(request, server.searcher.store().no_recheck());
        let counted = server.metrics.begin(kind, told);
        Self { search: Box::pin(search), files, ended: None, counted }
    }

    /// The next files; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Vec<FileMatch>> {
        while self.ended.is_none() {
            tokio::select! {
                biased;
                ended = &mut self.search => {
                    self.counted.end(&ended);
                    self.ended = Some(ended);
                }
                Some(files) = self.files.recv() => return Some(files),
            }
        }
        self.files.recv().await
    }

    /// Wants no more files: the search ends soon.
    pub(crate) fn stop(&mut self) {
        self.files.close();
    }

    /// Gives the search up for another one of the same.
    pub(crate) fn replace(mut self) {
        self.counted.replaced();
    }

    /// Whether the search has not failed, as far as it has come.
    ///
    /// # Errors
    /// Why it has.
    pub(crate) fn succeeded(&self) -> Result<(), Failure> {
        match &self.ended {
            Some(Err(failure)) => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    /// What the search ended with, when there is no more to come.
    pub(crate) fn end(self) -> Result<Stats, Failure> {
        self.ended.unwrap_or_else(|| Err(Failure::broke_off()))
    }
}

/// Why an answer is not complete, as a word for programs and a sentence for people.
pub(crate) fn stopped(stats: &Stats) -> Option<(&'static str, String)> {
    match &stats.stopped {
        None => None,
        Some(Stopped::Limit) => Some((
            "limit",
            format!("stopped at the limit of {}; there are more", count(stats.files, "result")),
        )),
        Some(Stopped::Timeout(timeout)) => {
            Some(("timeout", format!("timed out after {timeout:?}; there may be more")))
        }
        Some(Stopped::Shards(_)) => Some((
            "shard_error",
            "some shards could not be searched; see the server's log".to_owned(),
        )),
    }
}
