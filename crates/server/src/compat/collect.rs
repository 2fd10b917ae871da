//! Runs searches whose answers are complete before they are sent, as clients of other engines expect.

use std::sync::Arc;

use answer::{FileMatch, Line};
use search::{Request, Stats};

use crate::error::Failure;
use crate::search_stream::SearchStream;
use crate::server::Server;

/// Largest answer, in bytes. A larger one is cut, and marked as incomplete.
pub(crate) const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// Runs a search and passes its files to `take`, until there are no more or `take` returns false.
pub(crate) async fn gather(
    server: &Server,
    request: Request,
    mut take: impl FnMut(FileMatch) -> bool,
) -> Result<Stats, Failure> {
    let mut search = SearchStream::start(server, &Arc::new(request));
    let mut enough = false;
    while let Some(files) = search.next().await {
        if !enough && !files.into_iter().all(&mut take) {
            enough = true;
            search.stop();
        }
    }
    search.end()
}

/// Returns the lines directly before and after a line of a file, at most `most` on each side. The search must have read
/// that much context.
pub(crate) fn around(lines: &[Line], at: usize, most: usize) -> (&[Line], &[Line]) {
    let number = lines[at].number;
    let near = |line: &Line| line.number.abs_diff(number) <= most as u64;
    let from = lines[..at].partition_point(|line| !near(line));
    let upto = at + 1 + lines[at + 1..].partition_point(near);
    (&lines[from..at], &lines[at + 1..upto])
}
