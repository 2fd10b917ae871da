//! A running search whose results are taken in batches.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use answer::FileMatch;
use futures_util::FutureExt;
use search::{Request, Stats, Stopped};
use tokio::sync::mpsc;

use super::error::Failure;
use super::metrics::{TimedSearch, of_request};
use super::server::Server;
use request::human::count;

/// Batches that the search may be ahead of their reader.
const FOUND_AHEAD: usize = 2;

/// A running search whose results are taken in batches. It advances only while [`SearchStream::next`] is awaited, and
/// ends when it is dropped.
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
        let (view, params) = (server.view().clone(), Arc::clone(request));
        let search = async move {
            let search = AssertUnwindSafe(view.search(&params, found)).catch_unwind();
            search.await.map_or_else(|_| Err(Failure::panicked()), |stats| Ok(stats?))
        };
        let (kind, told) = of_request(request, server.view().no_recheck());
        let counted = server.metrics.begin(kind, told);
        Self { search: Box::pin(search), files, ended: None, counted }
    }

    /// Returns the next files; `None` at the end.
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

    /// Takes no more files, so that the search ends soon.
    pub(crate) fn stop(&mut self) {
        self.files.close();
    }

    /// Drops the search without counting it, since another search for the same request replaces it.
    pub(crate) fn replace(mut self) {
        self.counted.replaced();
    }

    /// Checks that the search has not failed yet.
    ///
    /// # Errors
    /// The failure of the search.
    pub(crate) fn succeeded(&self) -> Result<(), Failure> {
        match &self.ended {
            Some(Err(failure)) => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    /// Returns the statistics of a search that has ended.
    ///
    /// # Errors
    /// The failure of the search.
    pub(crate) fn end(self) -> Result<Stats, Failure> {
        self.ended.unwrap_or_else(|| Err(Failure::panicked()))
    }
}

/// Returns why an answer is incomplete: a code for programs, and a sentence for people.
pub(crate) fn stopped(stats: &Stats) -> Option<(&'static str, String)> {
    let stopped = stats.stopped.as_ref()?;
    let missing = stats.shown_missing();
    if let Stopped::Shards(why) = stopped {
        let sentence = request::notes::unsearched_shards(&missing, &stats.covered, why);
        return Some(("shard_error", sentence));
    }
    let (code, sentence) = stopped_because(stopped, stats.files);
    Some((code, request::notes::missing(&missing).unwrap_or(sentence)))
}

/// Returns the code and the sentence for the reason why an answer with a number of results is incomplete.
pub(crate) fn stopped_because(why: &Stopped, results: usize) -> (&'static str, String) {
    match why {
        Stopped::Limit => (
            "limit",
            format!("stopped at the limit of {}; there are more", count(results, "result")),
        ),
        Stopped::Timeout(timeout) => {
            ("timeout", format!("timed out after {timeout:?}; there may be more"))
        }
        Stopped::Shards(_) => {
            ("shard_error", "some shards could not be searched; see the server's log".to_owned())
        }
        Stopped::Revision(why) => ("revision", why.clone()),
    }
}
