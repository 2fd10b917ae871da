//! Mirrors as long as the program runs: a pass whenever a host's time has come, and at once what hosts tell by webhooks.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use settings::{Settings, Watched};
use store::{Mirror, MirrorHook, Store};
use tokio::sync::Notify;

use crate::event::{Event, Report};
use crate::group::{Group, names};
use crate::left;
use crate::mirrors::{Error, Mirrors, Options};
use crate::survey::of;
use crate::work::Job;

/// Time between two looks at the clock and at the configuration file.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Least time between two looks whether a host is to be listed, which some changes of the queue tell.
const LEAST: Duration = Duration::from_millis(200);

/// Time after which the queue is looked at without being told.
const QUEUE_EVERY: Duration = Duration::from_secs(5);

/// Delay of what a webhook asked for, if its clone is not in the configuration file any more.
const NOT_NOW: Duration = Duration::from_mins(10);

/// Mirrors without end. `every` overrides the times of the configuration file. Tells what fails, and goes on.
pub async fn serve(
    store: &Store,
    settings: &Watched,
    options: &Options,
    every: Option<Duration>,
    tell: Arc<dyn Fn(Event) + Send + Sync>,
) -> Infallible {
    let mut was_busy = false;
    loop {
        let lock = match store.try_mirror_lock().await {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                if !was_busy {
                    tell(Event::Notice(Error::Busy.to_string()));
                }
                was_busy = true;
                tokio::time::sleep(QUEUE_EVERY).await;
                continue;
            }
            Err(error) => {
                tracing::debug!("nothing is mirrored for now: {error}");
                tokio::time::sleep(QUEUE_EVERY).await;
                continue;
            }
        };
        was_busy = false;
        let mirrors = Mirrors::new(store.clone(), options.clone(), Arc::clone(&tell));
        let held = async {
            let mut lock = lock;
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                if let Err(error) = lock.check().await {
                    return error;
                }
            }
        };
        let told = Notify::new();
        let error = tokio::select! {
            error = held => error,
            error = passes(&mirrors, settings, every, &told) => error,
            error = hooks(&mirrors, settings, &told) => error,
        };
        tracing::warn!("mirroring begins again: {error}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Makes passes over the hosts whose times have come, or that have told of a repository that is not known.
async fn passes(
    mirrors: &Mirrors,
    settings: &Watched,
    every: Option<Duration>,
    told: &Notify,
) -> store::Error {
    let mut tried: HashMap<String, Instant> = HashMap::new();
    let mut last: Option<Arc<Settings>> = None;
    loop {
        let now = settings.get();
        // A file that names no host any more has no pass that would tell.
        if last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, &now)) {
            if let Err(error) = left::note(&mirrors.worker, &now, false).await {
                return error;
            }
            last = Some(Arc::clone(&now));
        }
        let wanted = match wanted(mirrors, &now, every, &tried).await {
            Ok(wanted) => wanted,
            Err(error) => return error,
        };
        if !wanted.is_empty() {
            let begun = Instant::now();
            if let Err(error) = mirrors.pass(&now, &|name| wanted.iter().any(|w| w == name)).await {
                return error;
            }
            tried.extend(wanted.into_iter().map(|name| (name, begun)));
        }
        tokio::time::sleep(LEAST).await;
        let _ = tokio::time::timeout(LOOK_EVERY, told.notified()).await;
    }
}

/// Returns the names of the hosts and lists whose time has come.
async fn wanted(
    mirrors: &Mirrors,
    settings: &Settings,
    every: Option<Duration>,
    tried: &HashMap<String, Instant>,
) -> Result<Vec<String>, store::Error> {
    let known = mirrors.worker.store.mirror_hosts().await?;
    let of_host = |name: &str| {
        let host = settings.hosts.iter().find(|host| host.name == name).and_then(|host| host.every);
        let list = settings.git.iter().find(|list| list.name == name).and_then(|list| list.every);
        every.or(host).or(list).unwrap_or(settings.mirror.every)
    };
    let is_due = |name: &String| {
        let told = known.iter().find(|host| host.name == *name);
        let is_paused = told.is_some_and(|host| host.paused.is_some());
        let is_told = told.is_some_and(|host| host.wanted);
        let is_late = tried.get(name).is_none_or(|at| at.elapsed() >= of_host(name));
        !is_paused && (is_told || is_late)
    };
    Ok(names(settings).filter(is_due).collect())
}

/// Fetches what hosts tell of by webhooks, as soon as they do. Passes on that something was told.
async fn hooks(mirrors: &Mirrors, settings: &Watched, passed: &Notify) -> store::Error {
    let store = &mirrors.worker.store;
    let mut arrivals = match store.arrivals().await {
        Ok(arrivals) => arrivals,
        Err(error) => return error,
    };
    // No tasks of their own: when this is dropped, git has ended.
    let mut running = FuturesUnordered::new();
    let mut taken: HashSet<i64> = HashSet::new();
    loop {
        let rows = match store.mirror_hooks().await {
            Ok(rows) => rows,
            Err(error) => return error,
        };
        let new: Vec<MirrorHook> =
            rows.into_iter().filter(|row| !taken.contains(&row.id)).collect();
        if !new.is_empty() {
            taken.extend(new.iter().map(|row| row.id));
            match jobs(mirrors, &settings.get(), new).await {
                Ok(jobs) => {
                    for job in jobs {
                        let ids = job.hooks.clone();
                        running.push(async move { (mirrors.worker.bring_in_step(job).await, ids) });
                    }
                }
                Err(error) => return error,
            }
        }
        tokio::select! {
            told = arrivals.next() => match told {
                Ok(()) => passed.notify_one(),
                Err(error) => return error,
            },
            Some(done) = running.next() => match done {
                // What failed is due later, and what came meanwhile has another number.
                (Ok(_), ids) => taken.retain(|id| !ids.contains(id)),
                (Err(error), _) => return error,
            },
            () = tokio::time::sleep(QUEUE_EVERY) => {}
        }
    }
}

/// Makes jobs of rows of the queue, one for each clone.
async fn jobs(
    mirrors: &Mirrors,
    settings: &Settings,
    rows: Vec<MirrorHook>,
) -> Result<Vec<Job>, store::Error> {
    let mut by_source: HashMap<String, Vec<i64>> = HashMap::new();
    for MirrorHook { id, source } in rows {
        by_source.entry(source).or_default().push(id);
    }
    let all = mirrors.worker.store.mirrors().await?;
    let of_source = |source: &str| all.iter().find(|mirror| mirror.folder == source);
    let mut groups: HashMap<String, Option<Arc<Group>>> = HashMap::new();
    let mut jobs = Vec::new();
    for (source, hooks) in by_source {
        let Some(mirror) = of_source(&source) else { continue };
        let host = &mirror.host;
        if !groups.contains_key(host) {
            let made = mirrors.groups(settings, &|name| name == host, &mut Report::default()).await;
            groups.insert(host.clone(), made.into_iter().next());
        }
        let Some(group) = groups[host].clone() else {
            let why = format!("nothing can be fetched from its host {host} now; see the log");
            mirrors.worker.store.delay_hooks(&hooks, NOT_NOW, &why).await?;
            continue;
        };
        let Some(listed) = of(mirror) else { continue };
        // The host told of the push, but its list may not yet: the next pass looks again.
        let mirror: Mirror = mirror.clone();
        jobs.push(Job { group, mirror, listed, settled: false, hooks });
    }
    Ok(jobs)
}
