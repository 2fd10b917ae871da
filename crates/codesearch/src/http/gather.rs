//! Searches whose answers are put together before they are sent, as other engines' clients expect them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use engine::search::{FileMatch, Line, Request, Stats};
use futures_util::FutureExt;
use query::Query;
use tokio::sync::mpsc;

use super::Server;
use super::error::Failure;

/// An answer that takes more bytes than this is cut, and says so.
pub(crate) const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// Batches of files that the search may be ahead of who takes them.
const FOUND_AHEAD: usize = 2;

/// A query, compiled on a thread where that keeps nobody waiting.
pub(crate) async fn compiled(query: Query) -> Result<Request, Failure> {
    let compiled = tokio::task::spawn_blocking(move || Request::new(&query)).await;
    Ok(compiled.expect("compiling does not panic")?)
}

/// Runs a search and hands over its files one by one, until there are no more or `take` wants no more.
pub(crate) async fn gather(
    server: &Server,
    request: Request,
    mut take: impl FnMut(FileMatch) -> bool,
) -> Result<Stats, Failure> {
    let request = Arc::new(request);
    let (found, mut files) = mpsc::channel::<Vec<FileMatch>>(FOUND_AHEAD);
    let search = AssertUnwindSafe(server.searcher.search(&request, found)).catch_unwind();
    // When this ends, nobody listens to the search any longer, and it ends too.
    let taking = async move {
        while let Some(batch) = files.recv().await {
            if !batch.into_iter().all(&mut take) {
                break;
            }
        }
    };
    let (stats, ()) = tokio::join!(search, taking);
    Ok(stats.map_err(|_| Failure::broke_off())??)
}

/// The lines right before and right after one of a file's, up to so many of each. The file was searched
/// for with at least as much context.
pub(crate) fn around(lines: &[Line], at: usize, most: usize) -> (&[Line], &[Line]) {
    let number = lines[at].number;
    let near = |line: &Line| line.number.abs_diff(number) <= most as u64;
    let from = lines[..at].partition_point(|line| !near(line));
    let upto = at + 1 + lines[at + 1..].partition_point(near);
    (&lines[from..at], &lines[at + 1..upto])
}
