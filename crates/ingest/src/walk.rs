//! Walks one repository: notes every file by path and `stat`, and reads none.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder, WalkState};
use store::{RepoId, SeenRow, Session, Totals};
use tokio::sync::mpsc;

use super::ignored::Ignored;
use super::read::fingerprint;
use super::{Error, Event, Options, Progress, cores};
use files::{MAX_PATH_BYTES, SkipReason, shortened};
use git::checkout::Unread;

/// Files that are sent to the database at once: a few hundred kilobytes.
const BATCH: usize = 4096;

/// Walks a repository, and sends every file to the session, but for those of other checkouts inside of it, which are
/// among the folders of `all` repositories. `before` are the files seen in earlier repositories.
pub(crate) async fn walk(
    session: &mut Session,
    id: RepoId,
    folder: &Path,
    all: &[PathBuf],
    options: &Options,
    before: Totals,
    progress: &dyn Progress,
) -> Result<Totals, Error> {
    let (send, mut receive) = mpsc::channel::<SeenRow>(2 * BATCH);
    let folder = folder.to_owned();
    let is_inside = |other: &&PathBuf| **other != folder && other.starts_with(&folder);
    let inside: HashSet<PathBuf> = all.iter().filter(is_inside).cloned().collect();
    let (gitignore, max_bytes) = (options.gitignore, options.max_bytes);
    let walking = tokio::task::spawn_blocking(move || {
        see_all(&folder, id, inside, gitignore, max_bytes, &send);
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
    walking.await.expect("walking does not panic");
    Ok(totals)
}

fn see_all(
    folder: &Path,
    id: RepoId,
    inside: HashSet<PathBuf>,
    gitignore: bool,
    max_bytes: u64,
    send: &mpsc::Sender<SeenRow>,
) {
    let leave_out = {
        let (root, rows) = (folder.to_owned(), send.clone());
        move |path: &Path, reason| {
            // A receiver that has failed ends the walk elsewhere.
            let _ = rows.blocking_send(left_out(id, &root, path, reason));
        }
    };
    // Without its rules, a folder is not read: they may have kept a secret out. The walk asks this of every folder but its
    // first.
    let ignored = match gitignore.then(|| Ignored::new(folder)).transpose() {
        Ok(ignored) => Arc::new(ignored),
        Err((path, reason)) => return leave_out(&path, reason),
    };
    if let Some(Err((path, reason))) = ignored.as_ref().as_ref().map(|rules| rules.enter(folder)) {
        return leave_out(&path, reason);
    }
    WalkBuilder::new(folder)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            if entry.file_name() == ".git" || (!inside.is_empty() && inside.contains(entry.path()))
            {
                return false;
            }
            let Some(rules) = ignored.as_ref() else { return true };
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            if rules.leaves_out(entry.path(), is_folder) {
                return false;
            }
            match is_folder.then(|| rules.enter(entry.path())) {
                Some(Err((path, reason))) => {
                    leave_out(&path, reason);
                    false
                }
                _ => true,
            }
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

/// Returns the rows of parts of a repository's git data.
pub(crate) fn of_git(repo: RepoId, unread: &[Unread]) -> Vec<SeenRow> {
    let row = |part: &Unread| left_out(repo, Path::new(""), Path::new(&part.path), part.reason);
    unread.iter().map(row).collect()
}

/// Returns the row of what cannot be read.
fn left_out(repo: RepoId, folder: &Path, path: &Path, reason: SkipReason) -> SeenRow {
    let path = below(folder, path).0;
    SeenRow { repo, path, bytes: 0, fingerprint: 0, reason: Some(reason.word()) }
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
            return error_path(&error)
                .map(|path| left_out(repo, folder, path, SkipReason::Unreadable));
        }
    };
    let kind = entry.file_type()?;
    if kind.is_dir() {
        if let Some(error) = entry.error() {
            // Its rules from there on do not hold.
            tracing::warn!(
                "an ignore file has a rule that is invalid or not UTF-8; its other rules apply: {error}"
            );
        }
        return None;
    }
    let Ok(found) = entry.path().symlink_metadata() else {
        return Some(left_out(repo, folder, entry.path(), SkipReason::Unreadable));
    };
    let (path, odd) = below(folder, entry.path());
    let reason = match () {
        () if odd.is_some() => odd,
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

/// Returns the path in the repository, and what is wrong with it. One that is too long is cut.
fn below(folder: &Path, path: &Path) -> (String, Option<SkipReason>) {
    let path = path.strip_prefix(folder).unwrap_or(path);
    let text = path.to_string_lossy();
    let reason = match () {
        () if path.to_str().is_none() => Some(SkipReason::Name),
        () if text.len() > MAX_PATH_BYTES => Some(SkipReason::Path),
        () => None,
    };
    (shortened(&text, MAX_PATH_BYTES), reason)
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
