//! Clones and fetches one repository, and records what came of it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use store::{Mirror, Store};

use crate::choose::too_large;
use crate::event::Event;
use crate::git::{self, Failed, Git, Source, State};
use crate::group::{Group, Kind};
use crate::listed::Listed;
use crate::metadata::metadata;

/// Delay after the first failure of a repository; it doubles with each further one.
const DELAY: Duration = Duration::from_mins(1);

/// Longest delay after a failure.
const MAX_DELAY: Duration = Duration::from_hours(6);

/// Longest time that the end of a git is awaited that nobody waits for.
const PARTING: Duration = Duration::from_millis(500);

/// What came of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Cloned,
    /// It was fetched, and has something new.
    Moved,
    /// It was fetched, and has nothing new.
    Unmoved,
    Failed,
    /// Another program has changed it meanwhile, or nobody waits any more.
    Left,
}

/// Brings clones in step, each by one task at a time.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) store: Store,
    pub(crate) tell: Arc<dyn Fn(Event) + Send + Sync>,
    /// The clones that are being worked on.
    busy: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>>,
}

/// A repository to bring in step.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) group: Arc<Group>,
    /// Its row: as it was, or a new one.
    pub(crate) mirror: Mirror,
    /// What the host says of it now.
    pub(crate) listed: Listed,
    /// Whether the host would have told of all pushes by now.
    pub(crate) settled: bool,
    /// Rows of the queue that ask for it.
    pub(crate) hooks: Vec<i64>,
}

impl Worker {
    pub(crate) fn new(store: Store, tell: Arc<dyn Fn(Event) + Send + Sync>) -> Self {
        Self { store, tell, busy: Arc::default() }
    }

    /// Takes a clone for one task. It waits for others.
    pub(crate) async fn take(&self, folder: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            if busy.len() > 10_000 {
                busy.retain(|_, lock| Arc::strong_count(lock) > 1);
            }
            Arc::clone(busy.entry(folder.to_owned()).or_default())
        };
        lock.lock_owned().await
    }

    /// Brings the clone of a repository in step with its origin, and puts it into the queue if something is new.
    ///
    /// # Errors
    /// The database cannot be reached or refuses a statement.
    pub(crate) async fn bring_in_step(&self, job: Job) -> Result<Outcome, store::Error> {
        let Job { group, mirror, listed, settled, hooks } = job;
        let _taken = self.take(&mirror.folder).await;
        // Another task may have fetched it meanwhile.
        let known = self.store.mirror(&mirror.host, &mirror.host_id).await?;
        let before = known.unwrap_or(mirror);
        let source = match group.source(&listed) {
            Ok(source) => source,
            Err(why) => return self.failed(before, &listed, &why, &hooks).await,
        };
        if before.cloned_at.is_none()
            && let Some(why) = no_room(&group.into, listed.bytes)
        {
            return self.failed(before, &listed, &why, &hooks).await;
        }
        let address = source.address.clone();
        let began = now();
        let watch = Instant::now();
        let is_new = before.cloned_at.is_none();
        match self.git(&group, &before, source).await {
            Ok(state) => {
                let changed = before.refs.as_ref() != Some(&state.hash)
                    || before.address != address
                    || before.indexing != group.indexing
                    || before.hidden_at.is_some();
                let is_moved = before.refs.as_ref() != Some(&state.hash);
                let mirror = Mirror {
                    path: listed.path.clone(),
                    address,
                    found: json(&listed),
                    indexing: group.indexing.clone(),
                    refs: Some(state.hash),
                    cloned_at: before.cloned_at.or(Some(began)),
                    fetched_at: Some(began),
                    settled,
                    missing: 0,
                    hidden_at: None,
                    hidden: None,
                    failed_at: None,
                    failure: None,
                    failures: 0,
                    due: None,
                    ..before.clone()
                };
                self.tell_metadata(&group, &mirror.folder, &listed).await?;
                self.store.keep_fetched(&mirror, &hooks, changed).await?;
                if let Some(why) = &before.failure {
                    self.store.forgive_fetch(&mirror.folder, why).await?;
                }
                if !changed {
                    self.store.note_unchanged(std::slice::from_ref(&mirror.folder), began).await?;
                }
                if is_new {
                    let folder = PathBuf::from(&mirror.folder);
                    let bytes = tokio::task::spawn_blocking(move || git::size_of(&folder)).await;
                    let (bytes, took) = (bytes.unwrap_or_default(), watch.elapsed());
                    (self.tell)(Event::Cloned { path: listed.path, bytes, took });
                    return Ok(Outcome::Cloned);
                }
                (self.tell)(Event::Fetched { path: listed.path, changed: is_moved });
                Ok(if is_moved { Outcome::Moved } else { Outcome::Unmoved })
            }
            Err(Failed::Left) => Ok(Outcome::Left),
            Err(Failed::Said(why)) => self.failed(before, &listed, &why, &hooks).await,
            Err(Failed::TooLarge(most)) => {
                let why = match listed.bytes {
                    Some(bytes) if bytes > most => too_large(bytes, most),
                    _ => format!("it has more than max_size = {}", settings::written_size(most)),
                };
                self.failed(before, &listed, &why, &hooks).await
            }
        }
    }

    /// Writes what a host says of a repository, for searches and pages.
    pub(crate) async fn tell_metadata(
        &self,
        group: &Group,
        folder: &str,
        listed: &Listed,
    ) -> Result<(), store::Error> {
        if matches!(group.kind, Kind::Host { .. }) {
            self.store.set_metadata(folder, &metadata(&group.name, listed)).await?;
        }
        Ok(())
    }

    /// Runs git in a thread of its own. If nobody waits any more, git ends.
    async fn git(&self, group: &Group, before: &Mirror, source: Source) -> Result<State, Failed> {
        let git = group.git.alone();
        let (ended, folder) = (Arc::new(AtomicBool::new(false)), PathBuf::from(&before.folder));
        let _leave = Leave { flag: git.leaving(), ended: Arc::clone(&ended) };
        let is_list = matches!(group.kind, Kind::List(_));
        let (was_hidden, known) = (before.hidden_at.is_some(), before.refs.clone());
        let run = tokio::task::spawn_blocking(move || {
            let ended = Ended(ended);
            let done = run(&git, &folder, source, (is_list, was_hidden), known.as_deref());
            drop(ended);
            done
        });
        run.await.unwrap_or_else(|_| Err(Failed::Said("git failed; see the log".to_owned())))
    }

    /// Records a failure.
    async fn failed(
        &self,
        before: Mirror,
        listed: &Listed,
        why: &str,
        hooks: &[i64],
    ) -> Result<Outcome, store::Error> {
        let failures = before.failures + 1;
        let delay = DELAY.saturating_mul(1 << (failures - 1).clamp(0, 16)).min(MAX_DELAY);
        let now = now();
        let mirror = Mirror {
            failed_at: Some(before.failed_at.unwrap_or(now)),
            failure: Some(why.to_owned()),
            failures,
            due: Some(now + delay.as_secs_f64()),
            ..before
        };
        self.store.keep_mirrors(&[&mirror]).await?;
        self.store.fail_fetch(&mirror.folder, why).await?;
        self.store.delay_hooks(hooks, delay, why).await?;
        (self.tell)(Event::Failed { what: listed.path.clone(), why: why.to_owned() });
        Ok(Outcome::Failed)
    }
}

/// Returns why a repository of so many bytes is not cloned into a folder: its disk would be full.
fn no_room(into: &std::path::Path, bytes: Option<u64>) -> Option<String> {
    let (bytes, free) = (bytes?, git::free_bytes(into)?);
    // A tenth stays free: the index grows, too.
    (bytes > free - free / 10).then(|| {
        format!(
            "it has {}, and the disk of {} has {} left; free some space, or leave it out with max_size",
            settings::written_size(bytes),
            into.display(),
            settings::written_size(free)
        )
    })
}

fn run(
    git: &Git,
    folder: &std::path::Path,
    mut source: Source,
    (is_list, was_hidden): (bool, bool),
    known: Option<&str>,
) -> Result<State, Failed> {
    if was_hidden {
        git::show(folder).map_err(|error| {
            Failed::Said(format!("cannot move {} back: {error}", folder.display()))
        })?;
    }
    if is_list {
        // No API tells of pushes and of the default branch: git asks, and fetches only if something is new.
        let state = git::remote_state(git, &source)?;
        if folder.exists() && known == Some(&*state.hash) {
            return Ok(state);
        }
        source.default_branch = state.head;
    }
    let state = git::bring_in_step(git, folder, &source)?;
    // What is fetched is there, even if this fails.
    if let Err(Failed::Said(why)) = git::maintain(git, folder) {
        tracing::warn!("{} could not be repacked: {why}", folder.display());
    }
    Ok(state)
}

/// Ends git if nobody waits for it any more.
struct Leave {
    flag: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.flag.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        // The process may end at once, and git would go on.
        while !self.ended.load(Ordering::Relaxed) && begun.elapsed() < PARTING {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Says that a thread no longer runs git.
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns what a host says, as it is stored.
pub(crate) fn json(listed: &Listed) -> String {
    serde_json::to_string(listed).expect("it has no odd keys")
}

/// Returns the time in seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
