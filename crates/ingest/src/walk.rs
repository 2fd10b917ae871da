//! Sends a source's list of files to the database; reads no file.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use store::{RepoId, SeenRow, Session, Totals};
use tokio::sync::mpsc;

use super::source::{Entry, FileSource, Listing};
use super::{Error, Event, Progress};
use files::SkipReason;
use git::checkout::Unread;

/// Number of files to send to the database at once: a few hundred kilobytes.
const BATCH: usize = 4096;

/// Sends every file of a repository to the session. Files of more than `max_bytes` are left out. `before` are the files
/// seen in earlier repositories. If the files cannot be listed, the session has seen none of them, and a sentence says
/// why.
pub(crate) async fn walk(
    session: &mut Session,
    repo: RepoId,
    source: &Arc<dyn FileSource>,
    max_bytes: u64,
    before: Totals,
    progress: &dyn Progress,
) -> Result<Result<(Totals, Listing), String>, Error> {
    let (send, mut receive) = mpsc::channel::<SeenRow>(2 * BATCH);
    let source = Arc::clone(source);
    let walking = tokio::task::spawn_blocking(move || {
        source.list(&|entry| match send.blocking_send(row(repo, max_bytes, entry)) {
            Ok(()) => ControlFlow::Continue(()),
            // The receiver has failed.
            Err(_) => ControlFlow::Break(()),
        })
    });
    let mut totals = Totals::default();
    let mut batch = Vec::new();
    while session.await_other(receive.recv_many(&mut batch, BATCH)).await > 0 {
        session.seen(&batch).await?;
        totals.files += batch.len() as i64;
        totals.bytes += batch.iter().map(|file| file.bytes).sum::<i64>();
        batch.clear();
        let mut so_far = before;
        so_far += totals;
        progress(Event::Walked(so_far));
    }
    let listed = walking.await.expect("walking does not panic");
    if listed.is_err() {
        session.unsee(repo).await?;
    }
    Ok(listed.map(|listing| (totals, listing)))
}

/// Returns the rows of unread parts of a repository's git data.
pub(crate) fn of_git(repo: RepoId, unread: &[Unread]) -> Vec<SeenRow> {
    let entry = |part: &Unread| Entry::unknown(Path::new(&part.path), part.reason);
    unread.iter().map(|part| row(repo, u64::MAX, entry(part))).collect()
}

fn row(repo: RepoId, max_bytes: u64, entry: Entry) -> SeenRow {
    let Entry { path, bytes, fingerprint, left_out, rule, oid, may_differ, language } = entry;
    let reason = left_out.or((bytes > max_bytes).then_some(SkipReason::TooLarge));
    let (bytes, reason) = (bytes as i64, reason.map(SkipReason::word));
    let oid = oid.map(|oid| oid.as_bytes().to_vec());
    SeenRow { repo, path, bytes, fingerprint, reason, rule, oid, may_differ, language }
}
