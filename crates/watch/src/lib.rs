//! Watches the folders of repositories and their git data, and queues what changes.
//!
//! [`thread`] is the thread that decides: it places folders under watch ([`hub`]), as many as fit ([`checkouts`]), waits until what events have marked
//! ([`state`]) is complete and git is not at work ([`still`]), and then says which paths of which checkout ([`unit`]) an ingest
//! should look at. [`clones`] are repositories that appear; [`poll`] looks at those of which no events tell. Nothing relies on
//! an event that names the right path: whatever is marked is looked at on the disk.

mod checkouts;
mod clones;
mod common;
mod event;
mod hub;
#[cfg(target_os = "linux")]
mod inotify;
mod poll;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;
mod state;
mod still;
mod system;
mod thread;
mod unit;
mod watching;

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use store::{Change, Store, WatchTurn, WatchedRepo};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

pub use crate::clones::Root;
pub use crate::common::{CheckoutStatus, Options, Status};
use crate::state::MOST_PATHS;
pub use crate::unit::Checkout;
pub use crate::watching::Watching;

/// Time between two looks at which repositories there are, unless the index changes before.
const LOOK: Duration = Duration::from_secs(5);

/// Time until something that failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Watches the repositories of an index, and puts what changes into its queue, as long as it is polled. `options` are asked
/// for again and again, and `changed` is notified when the index has changed. If another program does the same already, it
/// waits until that ends.
pub async fn run(
    store: &Store,
    options: &(dyn Fn() -> Options + Send + Sync),
    changed: &Notify,
) -> Infallible {
    loop {
        match store.watch_turn().await {
            Ok(Some(turn)) => watch(store, turn, options, changed).await,
            Ok(None) => tracing::debug!("another server watches the repositories"),
            Err(error) => tracing::debug!("nothing is watched: {error}"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Watches until another program does.
async fn watch(
    store: &Store,
    mut turn: WatchTurn,
    options: &(dyn Fn() -> Options + Send + Sync),
    changed: &Notify,
) {
    let (tell, mut told) = unbounded_channel();
    let mut now = options();
    // It fails only if this has ended.
    let started = Watching::start(now.clone(), move |changes| drop(tell.send(changes)));
    let watching = match started {
        Ok(watching) => watching,
        Err(error) => {
            tracing::warn!("nothing is watched: cannot start a thread: {error}");
            return;
        }
    };
    let mut waiting = Vec::new();
    let mut polled = None;
    let mut repos = Vec::new();
    let mut noted = Instant::now();
    loop {
        let wanted = options();
        if wanted != now {
            watching.set_options(wanted.clone());
            now = wanted;
        }
        match settle(store, &watching, &now.without).await {
            Ok(settled) => repos = settled,
            Err(error) => tracing::debug!("which repositories to watch is not known: {error}"),
        }
        let look = tokio::time::sleep(LOOK.min(now.note_every));
        tokio::pin!(look);
        loop {
            tokio::select! {
                () = gather(&mut told, &mut waiting) => {}
                () = changed.notified() => break,
                () = &mut look => break,
            }
            queue(store, &mut waiting).await;
        }
        note_polled(store, &watching, &mut polled).await;
        if turn.check().await.is_err() {
            // The database was away. Changes go on to be noticed meanwhile.
            match store.watch_turn().await {
                Ok(Some(again)) => turn = again,
                Ok(None) => return,
                Err(error) => tracing::debug!("changes cannot be queued: {error}"),
            }
        }
        // Before what was passed on until then is queued.
        let quiet = quiet(&repos, &watching.status());
        while let Ok(changes) = told.try_recv() {
            waiting.extend(changes);
        }
        queue(store, &mut waiting).await;
        if noted.elapsed() >= now.note_every && waiting.is_empty() {
            noted = Instant::now();
            if let Err(error) = store.note_quiet(&quiet).await {
                tracing::debug!("what has not changed cannot be noted: {error}");
            }
        }
    }
}

/// Waits for changes, and adds all that are there.
async fn gather(told: &mut UnboundedReceiver<Vec<Change>>, waiting: &mut Vec<Change>) {
    if waiting.is_empty() {
        match told.recv().await {
            Some(changes) => waiting.extend(changes),
            // The thread has ended, which it does not by itself.
            None => std::future::pending().await,
        }
    } else {
        tokio::time::sleep(AGAIN).await;
    }
    while let Ok(changes) = told.try_recv() {
        waiting.extend(changes);
    }
}

/// Puts changes into the queue. If that fails, they stay.
async fn queue(store: &Store, waiting: &mut Vec<Change>) {
    if waiting.is_empty() {
        return;
    }
    *waiting = merged(std::mem::take(waiting));
    match store.enqueue(waiting).await {
        Ok(_) => waiting.clear(),
        Err(error) => tracing::debug!("{} changes cannot be queued: {error}", waiting.len()),
    }
}

/// Makes one change of those of each folder.
fn merged(changes: Vec<Change>) -> Vec<Change> {
    let mut of: BTreeMap<String, Change> = BTreeMap::new();
    for change in changes {
        let Some(before) = of.get_mut(&change.source) else {
            of.insert(change.source.clone(), change);
            continue;
        };
        before.paths = match (before.paths.take(), change.paths) {
            (Some(mut paths), Some(more)) => {
                paths.extend(more);
                paths.sort();
                paths.dedup();
                (paths.len() <= MOST_PATHS).then_some(paths)
            }
            _ => None,
        };
    }
    of.into_values().collect()
}

/// Has the repositories watched that are indexed now, and returns them.
async fn settle(
    store: &Store,
    watching: &Watching,
    without: &[PathBuf],
) -> Result<Vec<WatchedRepo>, store::Error> {
    let is_wanted = |folder: &Path| !without.iter().any(|of| folder.starts_with(of));
    let roots = store.watched_roots().await?;
    let roots = roots.into_iter().map(|(folder, depth)| Root { folder: folder.into(), depth });
    let repos = store.watched_repos().await?;
    let mut checkouts = checkouts(&repos);
    checkouts.retain(|checkout| is_wanted(&checkout.folder));
    watching.watch(checkouts, roots.filter(|root| is_wanted(&root.folder)).collect());
    Ok(repos)
}

/// Returns until when all changes of repositories were passed on, in seconds since 1970, by the folder of each: of those all
/// checkouts of which are watched.
fn quiet(repos: &[WatchedRepo], status: &Status) -> Vec<(String, f64)> {
    let of: HashMap<&Path, SystemTime> = status
        .checkouts
        .iter()
        .filter_map(|checkout| Some((&*checkout.folder, checkout.told_until?)))
        .collect();
    let told_until = |folder: &String| of.get(Path::new(folder)).copied();
    let quiet = |repo: &WatchedRepo| {
        let first = told_until(&repo.source)?;
        let all =
            repo.worktrees.iter().try_fold(first, |all, tree| Some(all.min(told_until(tree)?)))?;
        let since = all.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some((repo.source.clone(), since.as_secs_f64()))
    };
    repos.iter().filter_map(quiet).collect()
}

/// Returns the checkouts of repositories.
fn checkouts(repos: &[WatchedRepo]) -> Vec<Checkout> {
    let worktrees = repos.iter().flat_map(|repo| &repo.worktrees);
    let mut folders: Vec<PathBuf> =
        repos.iter().map(|repo| &repo.source).chain(worktrees).map(PathBuf::from).collect();
    folders.sort();
    folders.dedup();
    let checkout = |repo: &WatchedRepo, folder: &str, is_main: bool| {
        let folder = PathBuf::from(folder);
        // Paths are sorted by their parts.
        let from = folders.partition_point(|other| *other <= folder);
        let inside = folders[from..].iter().take_while(|other| other.starts_with(&folder));
        Checkout {
            is_main,
            no_ignore: repo.no_ignore,
            from_commit: is_main && repo.from_commit,
            git_folders: repo.git_folders.iter().map(PathBuf::from).collect(),
            inside: inside.cloned().collect(),
            folder,
        }
    };
    let of = |repo: &WatchedRepo| {
        let main = checkout(repo, &repo.source, true);
        let worktrees = repo.worktrees.iter().map(|folder| checkout(repo, folder, false));
        std::iter::once(main).chain(worktrees).collect::<Vec<_>>()
    };
    repos.iter().flat_map(of).collect()
}

/// Notes in the index which repositories are polled, and why.
async fn note_polled(
    store: &Store,
    watching: &Watching,
    noted: &mut Option<Vec<(String, String)>>,
) {
    let name = |folder: &Path| folder.to_str().map(str::to_owned);
    let polled: Vec<(String, String)> = watching
        .status()
        .checkouts
        .into_iter()
        .filter_map(|checkout| Some((name(&checkout.folder)?, checkout.polled?)))
        .collect();
    if noted.as_ref() == Some(&polled) {
        return;
    }
    match store.note_polled(&polled).await {
        Ok(()) => *noted = Some(polled),
        Err(error) => tracing::debug!("what is polled cannot be noted: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_as_quiet_as_all_of_its_checkouts() {
        let repo = |source: &str, worktrees: &[&str]| WatchedRepo {
            source: source.to_owned(),
            git_folders: Vec::new(),
            no_ignore: false,
            from_commit: false,
            worktrees: worktrees.iter().map(|folder| (*folder).to_owned()).collect(),
        };
        let status = |folder: &str, told_until: Option<u64>| CheckoutStatus {
            folder: folder.into(),
            polled: None,
            told_until: told_until.map(|at| SystemTime::UNIX_EPOCH + Duration::from_secs(at)),
        };
        let repos = [
            repo("/a", &[]),
            repo("/b", &["/tree", "/other"]),
            repo("/c", &["/d"]),
            repo("/e", &[]),
            repo("/left out", &[]),
        ];
        let checkouts = vec![
            status("/a", Some(70)),
            status("/b", Some(60)),
            status("/tree", Some(50)),
            status("/other", Some(90)),
            status("/c", Some(90)),
            status("/d", None),
            status("/e", None),
        ];
        let status = Status { checkouts, ..Status::default() };
        assert_eq!(quiet(&repos, &status), [("/a".to_owned(), 70.0), ("/b".to_owned(), 50.0)]);
    }
}
