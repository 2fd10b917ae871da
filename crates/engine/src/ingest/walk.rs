//! Walks one repository: notes every file by path and `stat`, and reads none.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder, WalkState};
use store::{RepoId, SeenRow, Session, Totals};
use tokio::sync::mpsc;

use super::read::fingerprint;
use super::skip::SkipReason;
use super::{Error, Event, Options, Progress, cores};

/// Files that are sent to the database at once: a few hundred kilobytes.
const BATCH: usize = 4096;

/// Walks a repository, and sends every file to the session. `before` are the files seen in earlier
/// repositories.
pub(crate) async fn walk(
    session: &mut Session,
    id: RepoId,
    folder: &Path,
    options: &Options,
    before: Totals,
    progress: &dyn Progress,
) -> Result<Totals, Error> {
    let (send, mut receive) = mpsc::channel::<SeenRow>(2 * BATCH);
    let folder = folder.to_owned();
    let (gitignore, max_bytes) = (options.gitignore, options.max_bytes);
    let walking =
        tokio::task::spawn_blocking(move || see_all(&folder, id, gitignore, max_bytes, &send));
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
    walking.await.expect("walking does not panic");
    Ok(totals)
}

fn see_all(
    folder: &Path,
    id: RepoId,
    gitignore: bool,
    max_bytes: u64,
    send: &mpsc::Sender<SeenRow>,
) {
    WalkBuilder::new(folder)
        .standard_filters(false)
        .git_ignore(gitignore)
        .git_exclude(gitignore)
        .parents(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .threads(cores())
        .build_parallel()
        .run(|| {
            Box::new(|entry| {
                let Some(row) = see(folder, id, max_bytes, entry) else {
                    return WalkState::Continue;
                };
                match send.blocking_send(row) {
                    Ok(()) => WalkState::Continue,
                    // The receiver has failed.
                    Err(_) => WalkState::Quit,
                }
            })
        });
}

/// Returns the row of one entry of the walk; `None` for a folder.
fn see(
    folder: &Path,
    repo: RepoId,
    max_bytes: u64,
    entry: Result<DirEntry, ignore::Error>,
) -> Option<SeenRow> {
    let unreadable = |path: &Path, reason: SkipReason| SeenRow {
        repo,
        path: below(folder, path).0,
        bytes: 0,
        fingerprint: 0,
        reason: Some(reason.word()),
    };
    let entry = match entry {
        Ok(entry) => entry,
        // An error names its file or folder, unless it is about a broken `.gitignore`.
        Err(error) => {
            return error_path(&error).map(|path| unreadable(path, SkipReason::Unreadable));
        }
    };
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    let Ok(found) = entry.path().symlink_metadata() else {
        return Some(unreadable(entry.path(), SkipReason::Unreadable));
    };
    let (path, utf8) = below(folder, entry.path());
    let reason = match () {
        () if !utf8 => Some(SkipReason::Name),
        () if kind.is_symlink() => Some(SkipReason::Symlink),
        () if !kind.is_file() => Some(SkipReason::Special),
        () if found.len() > max_bytes => Some(SkipReason::TooLarge),
        () => None,
    };
    Some(SeenRow {
        repo,
        path,
        bytes: found.len() as i64,
        fingerprint: fingerprint(&found),
        reason: reason.map(SkipReason::word),
    })
}

/// Returns the path in the repository, and whether it is UTF-8.
fn below(folder: &Path, path: &Path) -> (String, bool) {
    let path = path.strip_prefix(folder).unwrap_or(path);
    (path.to_string_lossy().into_owned(), path.to_str().is_some())
}

fn error_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            error_path(err)
        }
        _ => None,
    }
}
