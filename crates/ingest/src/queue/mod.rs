//! The ingester: takes what is due from the queue, looks only at what its rows name, and publishes once.
//!
//! A row says that something in a folder has changed. [`targets`] finds out which repositories that concerns, [`part`] of
//! which paths of them. From then on all is as in any ingest. The transaction that publishes deletes the rows; those of a
//! repository that cannot be brought up to date wait for a while.

mod part;
mod rounds;
mod targets;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use store::{PendingRow, Store};
use tokio::sync::{Mutex, Notify};

use crate::{Error, Event, Options, Progress, Report, lock, symbols};
use rounds::take_due;

/// Time between two publishings.
const INTERVAL: Duration = Duration::from_secs(1);

/// Time in which further changes are awaited after one.
const GATHERED: Duration = Duration::from_millis(10);

/// Time without changes after which the symbols of new texts are extracted.
const QUIET: Duration = Duration::from_millis(400);

/// Time between two looks at the queue, in case a notification was lost.
const LOOK: Duration = Duration::from_secs(30);

/// Time between two attempts to reach the database.
const AGAIN: Duration = Duration::from_secs(1);

/// Takes changes from the queue as they arrive, for ever. Publishes at most once a second. `options` are asked for each time.
/// Extracts symbols of new texts if they name a parser. Other ingesters of the same index may run; whoever has the lock on writing takes what is due.
///
/// Keeps two connections open, and two or three more once it has ingested.
pub async fn serve(
    store: &Store,
    options: &(dyn Fn() -> Options + Send + Sync),
    progress: &dyn Progress,
) -> Infallible {
    store.keep_sessions();
    let (turn, published) = (Mutex::new(()), Notify::new());
    let take = async {
        loop {
            let Err(error) = listen(store, options, progress, &turn, &published).await;
            progress(Event::Notice(format!(
                "changes are not indexed for now, and will be when this ends: {error}"
            )));
            tokio::time::sleep(AGAIN).await;
        }
    };
    let extract = async {
        let Some(parser) = &options().parser else { return std::future::pending().await };
        // A killed one may have left some.
        published.notify_one();
        loop {
            published.notified().await;
            while tokio::time::timeout(QUIET, published.notified()).await.is_ok() {}
            let _turn = turn.lock().await;
            match symbols::run(store, parser, &|_| ()).await {
                Ok(Some(report)) if report.yielded => published.notify_one(),
                Ok(_) => {}
                Err(error) => progress(Event::Notice(format!("symbols are incomplete: {error}"))),
            }
        }
    };
    let (never, ()) = tokio::join!(take, extract);
    never
}

/// Takes changes until the database fails.
async fn listen(
    store: &Store,
    options: &(dyn Fn() -> Options + Send + Sync),
    progress: &dyn Progress,
    turn: &Mutex<()>,
    published: &Notify,
) -> Result<Infallible, Error> {
    let mut arrivals = store.arrivals().await?;
    loop {
        let wait = match store.next_due().await? {
            Some(due) if due.is_zero() => {
                let begun = Instant::now();
                let _turn = match turn.try_lock() {
                    Ok(turn) => turn,
                    Err(_) => {
                        // The symbols wait instead.
                        let _waiting = store.announce_waiting().await?;
                        turn.lock().await
                    }
                };
                let session = lock(store, progress).await?;
                let options = options();
                if let Some(report) = take_due(store, session, &options, progress).await? {
                    if report.new_files + report.retired_files > 0 {
                        published.notify_one();
                    }
                    tokio::time::sleep(INTERVAL.saturating_sub(begun.elapsed())).await;
                }
                continue;
            }
            Some(due) => due.min(LOOK),
            None => LOOK,
        };
        if arrivals.next_within(wait).await? {
            tokio::time::sleep(GATHERED).await;
        }
    }
}

/// Takes all that is due, once, and waits for the lock on writing if another program has it. Returns an empty report if
/// nothing is due.
///
/// # Errors
/// The database fails. What cannot be brought up to date is in [`Report::failed`].
pub async fn drain(
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let session = lock(store, progress).await?;
    Ok(take_due(store, session, options, progress).await?.unwrap_or_default())
}

/// Like [`drain`], but returns `None` if another program has the lock on writing.
///
/// # Errors
/// As those of [`drain`].
pub async fn try_drain(
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Option<Report>, Error> {
    let Some(session) = store.try_session().await? else { return Ok(None) };
    Ok(Some(take_due(store, session, options, progress).await?.unwrap_or_default()))
}

/// Returns the rows that an ingest of some folders takes, too, with the folders that they name.
pub(crate) fn covered(rows: Vec<PendingRow>, paths: &[PathBuf]) -> Vec<(i64, PathBuf)> {
    if rows.is_empty() {
        return Vec::new();
    }
    let roots: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let rows =
        rows.into_iter().map(|row| (row.id, targets::resolved(Path::new(&row.change.source))));
    rows.filter(|(_, folder)| roots.iter().any(|root| folder.starts_with(root))).collect()
}
