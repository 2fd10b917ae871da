//! Counts the files that a query finds, within a time limit.

use std::sync::Arc;
use std::time::Instant;

use answer::FileMatch;
use query::{Count, Select};
use search::View;
use search::{Request, Stopped};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::human::grouped;
use crate::{Client, Options};

/// Most files that are counted.
const MOST: usize = 1000;

/// Batches of files that the search may be ahead of the reader, which drops them.
const FOUND_AHEAD: usize = 2;

/// The number of files that a query finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FileCount {
    /// The files counted.
    pub files: usize,
    /// Whether no more files match.
    pub complete: bool,
}

/// The context of a query: its options, and its client.
#[derive(Clone, Debug)]
pub struct QueryContext {
    /// The options besides the text of the query.
    pub options: Options,
    /// The client that asks; a suggested query uses its syntax.
    pub client: Client,
}

impl FileCount {
    /// Formats the count for people: `1 file`, `at least 1,000 files`.
    pub fn text(self) -> String {
        let least = if self.complete { "" } else { "at least " };
        let word = if self.files == 1 { "file" } else { "files" };
        format!("{least}{} {word}", grouped(self.files))
    }
}

/// Counts the files that a query finds until `until`. `None` if the query is invalid or cannot be searched, or if the
/// search was stopped before it found any.
pub async fn count(
    view: &View,
    query: &str,
    beside: &QueryContext,
    until: Instant,
) -> Option<FileCount> {
    let request = Arc::new(compiled(query, beside).await?);
    search(view, &request, until).await
}

/// Compiles a query to a request that finds files instead of lines.
pub(super) async fn compiled(query: &str, beside: &QueryContext) -> Option<Request> {
    let (query, QueryContext { options, client }) = (query.to_owned(), beside.clone());
    // A large pattern takes a while to compile.
    let work = tokio::task::spawn_blocking(move || {
        let mut query = crate::parse(&query, &options, &client).ok()?;
        query.settings.select = Select::Files;
        query.settings.count = Some(Count::Most(MOST));
        let options = Options { context: (0, 0), resume: None, brute: false, ..options };
        crate::build(query, &options, &client).ok()
    });
    work.await.ok()?
}

async fn search(view: &View, request: &Arc<Request>, until: Instant) -> Option<FileCount> {
    let left = until.saturating_duration_since(Instant::now());
    let mut bounded = Request::clone(request);
    bounded.limit = Some(MOST);
    bounded.timeout = Some(left);
    bounded.skipped = false;
    let (found, mut files) = mpsc::channel::<Vec<FileMatch>>(FOUND_AHEAD);
    let drop_all = async { while files.recv().await.is_some() {} };
    let bounded = Arc::new(bounded);
    let (stats, ()) = tokio::join!(view.search(&bounded, found), drop_all);
    let stats = stats.ok()?;
    let complete = stats.is_complete();
    let counts = complete || stats.files > 0;
    let broken = matches!(stats.stopped, Some(Stopped::Shards(_)));
    (counts && !broken).then_some(FileCount { files: stats.files, complete })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_told_as_far_as_it_goes() {
        let told = |files, complete| FileCount { files, complete }.text();
        assert_eq!(told(1, true), "1 file");
        assert_eq!(told(0, true), "0 files");
        assert_eq!(told(1000, false), "at least 1,000 files");
    }
}
