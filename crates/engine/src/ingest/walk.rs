//! Walks one repository: notes every file by path and `stat`, and reads none.

use std::path::{Path, PathBuf};

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

/// Largest ignore file that is read, in bytes: those that people write have some KB.
const MAX_IGNORE_BYTES: u64 = 1 << 20;

fn see_all(
    folder: &Path,
    id: RepoId,
    gitignore: bool,
    max_bytes: u64,
    send: &mpsc::Sender<SeenRow>,
) {
    let (root, rows) = (folder.to_owned(), send.clone());
    let is_read = move |folder: &Path| {
        let odd = if gitignore { odd_ignore_file(folder) } else { None };
        if let Some(odd) = &odd {
            // A receiver that has failed ends the walk elsewhere.
            let _ = rows.blocking_send(unreadable(id, &root, odd));
        }
        odd.is_none()
    };
    // The walk asks this of every folder but its first.
    if !is_read(folder) {
        return;
    }
    WalkBuilder::new(folder)
        .standard_filters(false)
        .git_ignore(gitignore)
        .git_exclude(gitignore)
        .parents(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.file_name() != ".git" && (!is_folder || is_read(entry.path()))
        })
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

/// Returns an ignore file of a folder that is no ordinary file, or larger than [`MAX_IGNORE_BYTES`]. Reading a pipe or a
/// device would not end, so the folder is left out.
fn odd_ignore_file(folder: &Path) -> Option<PathBuf> {
    let is_odd = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| !found.is_file() || found.len() > MAX_IGNORE_BYTES)
    };
    [".gitignore", ".git/info/exclude"].map(|name| folder.join(name)).into_iter().find(is_odd)
}

/// Returns the row of what cannot be read.
fn unreadable(repo: RepoId, folder: &Path, path: &Path) -> SeenRow {
    SeenRow {
        repo,
        path: below(folder, path).0,
        bytes: 0,
        fingerprint: 0,
        reason: Some(SkipReason::Unreadable.word()),
    }
}

/// Returns the row of one entry of the walk; `None` for a folder.
fn see(
    folder: &Path,
    repo: RepoId,
    max_bytes: u64,
    entry: Result<DirEntry, ignore::Error>,
) -> Option<SeenRow> {
    let entry = match entry {
        Ok(entry) => entry,
        // An error names its file or folder, unless it is about a broken `.gitignore`.
        Err(error) => {
            return error_path(&error).map(|path| unreadable(repo, folder, path));
        }
    };
    let kind = entry.file_type()?;
    if kind.is_dir() {
        if let Some(error) = entry.error() {
            // Its rules from there on do not hold.
            tracing::warn!(
                "an ignore file was read in part, as a rule is invalid or not UTF-8: {error}"
            );
        }
        return None;
    }
    let Ok(found) = entry.path().symlink_metadata() else {
        return Some(unreadable(repo, folder, entry.path()));
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
