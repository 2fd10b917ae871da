//! `codesearch mirror`: one pass over the hosts of the configuration file, or passes without end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ::ingest::Configured;
use ::mirror::{Event, Intent, Report};
use ::settings::{Settings, Watched};
use anyhow::{Result, anyhow, bail, ensure};
use store::{LeftHost, Store};

use super::{config, ingest, symbols};
use crate::cli::{DatabaseArgs, MirrorArgs};
use crate::database::{Database, clones_folder};
use crate::progress::IngestProgress;
use request::human::{count, size};

/// Connections besides those of the ingest.
const CONNECTIONS: u32 = 4;

/// Number of shards of an index that a mirror makes.
pub(crate) const SHARDS: i16 = 200;

pub(crate) fn run(database: &DatabaseArgs, args: &MirrorArgs) -> Result<u8> {
    let watched = Watched::open(args.settings.settings.as_deref())?;
    let settings = watched.get();
    // A person who runs a pass has perhaps removed the cause of a failure.
    let options = ::mirror::Options {
        into: clones_folder(database)?,
        patience: args.patience,
        accepts_shrunk: args.accept_shrunk,
        is_impatient: args.every.is_none(),
    };
    if let Some(host) = &args.forget {
        ensure!(
            !names(&settings).any(|name| name == host),
            "{} still names the host {host}; take it out of the file first",
            file(&settings)
        );
        let database = Database::open_to_add(database, CONNECTIONS)?;
        let how = ::ingest::Options {
            disks: database.disks(),
            configured: configured(&settings, &options.into),
            ..::ingest::Options::default()
        };
        return database.run(async |store| forget(store, &options, host, &how).await);
    }
    if names_none(&settings) {
        // There may be clones of hosts that it named before.
        return match Database::open_index(database, 1) {
            Ok(opened) => opened.run(async |store| {
                let left = store.left_hosts(&[]).await.unwrap_or_default();
                Err(nothing(&settings, left))
            }),
            Err(_) => Err(nothing(&settings, Vec::new())),
        };
    }
    let database = Database::open(database, CONNECTIONS)?;
    let disks = database.disks();
    database.run(async |store| {
        store.init(SHARDS).await?;
        if args.dry_run {
            return dry_run(store, &settings, &options).await;
        }
        match args.every {
            Some(every) => {
                let told = Arc::new(Told::new());
                let tell = Arc::clone(&told);
                let mirroring = ::mirror::serve(
                    store,
                    &watched,
                    &options,
                    every,
                    Arc::new(move |event| tell.event(&event)),
                );
                let how = || ::ingest::Options {
                    disks: disks.clone(),
                    configured: configured(&watched.get(), &options.into),
                    parser: symbols::program().ok(),
                    ..::ingest::Options::default()
                };
                let progress = IngestProgress::new();
                let show = |event| progress.event(event);
                let ingesting = ::ingest::queue::serve(store, &how, &show);
                tokio::select! {
                    never = mirroring => match never {},
                    never = ingesting => match never {},
                }
            }
            None => {
                let configured = configured(&settings, &options.into);
                let how = ::ingest::Options { disks, configured, ..::ingest::Options::default() };
                once(store, &settings, &options, &how).await
            }
        }
    })
}

async fn dry_run(store: &Store, settings: &Settings, options: &::mirror::Options) -> Result<u8> {
    let told = Arc::new(Told::new());
    let tell = Arc::clone(&told);
    let tell = Arc::new(move |event| tell.event(&event));
    let (intents, report) = ::mirror::intents(store, settings, options, tell).await?;
    let width = intents.iter().map(|intent| intent.path.chars().count()).max().unwrap_or(0).min(60);
    for Intent { host, path, verb, why } in &intents {
        say!("{:<5}  {host}  {path:<width$}  {why}", verb.word());
    }
    let number = |of| intents.iter().filter(|intent| intent.verb == of).count();
    say!(
        "in all: {} to take, {} to leave, {} to drop",
        number(::mirror::Verb::Take),
        number(::mirror::Verb::Leave),
        number(::mirror::Verb::Drop)
    );
    let stay = number(::mirror::Verb::Stay);
    if stay > 0 {
        say!(
            "besides: {}, whose host the configuration file no longer names",
            count(stay, "repository")
        );
    }
    Ok(status(&report))
}

async fn once(
    store: &Store,
    settings: &Settings,
    options: &::mirror::Options,
    how: &::ingest::Options,
) -> Result<u8> {
    let told = Arc::new(Told::new());
    let tell = Arc::clone(&told);
    let tell = Arc::new(move |event| tell.event(&event));
    let report = ::mirror::pass(store, settings, options, tell).await?;
    say!("{}", summary(&report));
    ingest_queue(store, how, &report).await
}

/// Drops the clones of a host that the configuration file no longer names.
async fn forget(
    store: &Store,
    options: &::mirror::Options,
    host: &str,
    how: &::ingest::Options,
) -> Result<u8> {
    let hosts: Vec<String> =
        store.mirror_hosts().await?.into_iter().map(|host| host.name).collect();
    if !hosts.iter().any(|name| name == host) {
        match query::nearest(host, hosts.iter().map(String::as_str)) {
            Some(near) => bail!("no host {host} was mirrored; did you mean {near}?"),
            None if hosts.is_empty() => bail!("no host {host} was mirrored, nor any other"),
            None => bail!("no host {host} was mirrored; these were: {}", hosts.join(", ")),
        }
    }
    let told = Arc::new(Told::new());
    let tell = Arc::clone(&told);
    let tell = Arc::new(move |event| tell.event(&event));
    let report = ::mirror::forget(store, options, host, tell).await?;
    say!("forgotten: host {host}, {}", count(report.deleted, "clone"));
    ingest_queue(store, how, &report).await
}

/// Ingests what a pass has put into the queue.
async fn ingest_queue(store: &Store, how: &::ingest::Options, report: &Report) -> Result<u8> {
    let progress = IngestProgress::new();
    let ingested = ::ingest::queue::drain(store, how, &|event| progress.event(event)).await;
    progress.finish();
    let ingested = ingested?;
    if !ingested.repos.is_empty() || !ingested.removed.is_empty() {
        say!(
            "ingested: {}, {} new or changed; removed: {}",
            count(ingested.repos.len(), "repository"),
            count(ingested.new_files as usize, "file"),
            count(ingested.removed.len(), "repository")
        );
        symbols::take(store).await?;
        ingest::settle(store, &how.disks).await?;
    }
    Ok(if ingested.failed.is_empty() { status(report) } else { crate::FAILED })
}

/// Returns what the configuration file says of folders, with those of the clones. `into` is the usual one.
pub(crate) fn configured(settings: &Settings, into: &Path) -> Vec<Configured> {
    let mut all = config::configured(settings);
    let folders = ::mirror::folders(settings, into);
    all.extend(folders.iter().map(|(path, indexing)| config::of_indexing(path, indexing)));
    all
}

fn status(report: &Report) -> u8 {
    if report.failed == 0 { crate::FOUND } else { crate::FAILED }
}

fn file(settings: &Settings) -> String {
    match &settings.file {
        Some(file) => file.display().to_string(),
        None => "no configuration file".to_owned(),
    }
}

fn summary(report: &Report) -> String {
    let Report { mirrored, cloned, moved, unmoved, hidden, deleted, failed, .. } = report;
    format!(
        "in step: {} ({cloned} cloned, {moved} fetched with changes, {unmoved} without, {hidden} hidden, {deleted} \
         deleted, {failed} failed)",
        count(*mirrored, "repository"),
    )
}

/// Prints what happens in a pass.
pub(crate) struct Told {
    state: Mutex<State>,
}

struct State {
    all: usize,
    done: usize,
    /// When the last line about progress was printed.
    last: Option<Instant>,
}

/// Least time between two lines about clones that were fetched.
const LINE_EVERY: Duration = Duration::from_secs(5);

impl Told {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State { all: 0, done: 0, last: None }) }
    }

    /// Prints an event to stderr.
    pub(crate) fn event(&self, event: &Event) {
        let mut state = self.state.lock().expect("no panics hold it");
        match event {
            Event::Working { clones, fetches } => {
                (state.all, state.done) = (clones + fetches, 0);
                note!("to clone: {clones}, to fetch: {fetches}");
            }
            Event::Cloned { path, bytes, took } => {
                state.done += 1;
                let (done, all) = (state.done, state.all);
                note!(
                    "{done} of {all}: cloned {path} ({}, {:.1} s)",
                    size(*bytes),
                    took.as_secs_f64()
                );
            }
            Event::Fetched { path, changed } => {
                state.done += 1;
                let (done, all) = (state.done, state.all);
                if *changed {
                    note!("{done} of {all}: fetched {path}");
                } else if state.last.is_none_or(|last| last.elapsed() > LINE_EVERY) {
                    state.last = Some(Instant::now());
                    note!("{done} of {all} fetched");
                }
            }
            Event::Failed { what, why } => {
                state.done += 1;
                note!("codesearch: {what}: {why}");
            }
            other => {
                if let Some(line) = line(other) {
                    note!("{line}");
                }
            }
        }
    }
}

/// Returns the line of an event that is no progress.
fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Listed { host, repos, requests } => {
            format!(
                "host {host}: {} listed ({})",
                count(*repos, "repository"),
                count(*requests, "request")
            )
        }
        Event::Renamed { from, to } => format!("renamed: {from} is now {to}"),
        Event::Hidden { path, why } => format!("hidden: {path} ({why})"),
        Event::Deleted { path } => format!("deleted: the clone of {path}"),
        Event::Notice(text) => format!("codesearch: {text}"),
        _ => return None,
    })
}

/// Writes an event of a server's mirrors to its log.
pub(crate) fn log(event: &Event) {
    match event {
        Event::Failed { what, why } => tracing::warn!("not mirrored: {what}: {why}"),
        Event::Notice(text) => tracing::warn!("{text}"),
        Event::Cloned { path, bytes, took } => {
            tracing::info!("cloned {path} ({}, {:.1} s)", size(*bytes), took.as_secs_f64());
        }
        Event::Fetched { path, changed: true } => tracing::info!("fetched {path}"),
        Event::Listed { .. } | Event::Fetched { .. } | Event::Working { .. } => {
            tracing::debug!("{event:?}");
        }
        other => {
            if let Some(line) = line(other) {
                tracing::info!("{line}");
            }
        }
    }
}

/// Time between two looks whether the configuration file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Longest time that a host may be silent to a server.
const PATIENCE: Duration = Duration::from_secs(30);

/// Mirrors the hosts of a server's configuration file without end. Somebody else takes what is fetched from the queue.
pub(crate) async fn beside(store: Store, configuration: Arc<Watched>, into: PathBuf) {
    // Most servers have none.
    while names_none(&configuration.get()) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let options =
        ::mirror::Options { into, patience: PATIENCE, accepts_shrunk: false, is_impatient: false };
    ::mirror::serve(&store, &configuration, &options, None, Arc::new(|event| log(&event))).await;
}

/// Returns whether a configuration file names no host.
pub(crate) fn names_none(settings: &Settings) -> bool {
    names(settings).next().is_none()
}

/// Returns the names of the hosts and lists in the configuration file.
fn names(settings: &Settings) -> impl Iterator<Item = &str> {
    let hosts = settings.hosts.iter().map(|host| host.name.as_str());
    hosts.chain(settings.git.iter().map(|list| list.name.as_str()))
}

/// Says that the configuration file names no host, and what becomes of those that it named before.
fn nothing(settings: &Settings, left: Vec<LeftHost>) -> anyhow::Error {
    let left: Vec<String> = left.into_iter().map(|left| left.name).collect();
    let clones = match &*left {
        [] => String::new(),
        [one] => {
            format!("; to drop the clones of host {one}, run: codesearch mirror --forget {one}")
        }
        [first, ..] => format!(
            "; to drop the clones of the hosts {}, run for each: codesearch mirror --forget {first}",
            left.join(", ")
        ),
    };
    anyhow!(
        "nothing to mirror: {} names no host; write [host.NAME] or [git.NAME] (see codesearch config --help){clones}",
        file(settings)
    )
}
