//! How a server keeps its index up to date: it watches folders, follows the configuration file, and takes what is queued.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::settings::{Settings, Watched};
use anyhow::Result;
use ingest::Configured;
use store::{Change, Reason, Store};
use tokio::sync::Notify;

use super::{mirror, symbols};
use crate::cli::ServeArgs;

/// Time between two looks whether the configuration file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How a server keeps its index up to date.
pub(crate) struct Keep {
    /// Whether it watches folders.
    pub(crate) watches: bool,
    /// Whether folders of the configuration file are indexed that never were.
    takes_new: bool,
    most_watches: Option<usize>,
    poll_every: Option<Duration>,
    note_every: Option<Duration>,
    /// What an ingest is told besides what the configuration file says.
    ingest: ingest::Options,
    /// The usual folder for clones of hosts.
    into: PathBuf,
}

impl Keep {
    /// Takes what the options say. `disks` are those on which the index grows, `into` is the usual folder for clones of
    /// hosts.
    pub(crate) fn new(
        args: &ServeArgs,
        (watches, takes_new): (bool, bool),
        max_bytes: u64,
        disks: Vec<PathBuf>,
        into: PathBuf,
    ) -> Result<Self> {
        let parser = Some(symbols::program()?);
        Ok(Self {
            watches,
            takes_new,
            most_watches: args.watches,
            poll_every: args.poll_every,
            note_every: args.note_every,
            ingest: ingest::Options { max_bytes, disks, parser, ..ingest::Options::default() },
            into,
        })
    }

    /// Returns whether there is something to index.
    pub(crate) fn is_needed(&self, file: &Settings) -> bool {
        let names_folder = self.takes_new && !file.folders.is_empty();
        self.watches || names_folder || !mirror::names_none(file)
    }

    /// Keeps the index up to date for ever, once there is something to index. `ingested` is notified when the index has
    /// changed.
    pub(crate) async fn run(&self, store: &Store, file: &Watched, ingested: &Notify) -> Infallible {
        while !self.is_needed(&file.get()) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        // The index may be new.
        while let Err(error) = store.init(mirror::SHARDS).await {
            tracing::debug!("nothing is indexed: {error}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let watching = async {
            if self.watches {
                watch::run(store, &|| self.watch_options(&file.get()), ingested).await;
            }
        };
        let tell = |event| {
            if let ingest::Event::Notice(notice) = event {
                tracing::info!("{notice}");
            }
        };
        let options = || ingest::Options {
            configured: mirror::configured(&file.get(), &self.into),
            ..self.ingest.clone()
        };
        let ingesting = ingest::queue::serve(store, &options, &tell);
        let (never, ..) = tokio::join!(ingesting, watching, self.follow(store, file));
        never
    }

    fn watch_options(&self, file: &Settings) -> watch::Options {
        let unwatched = file.folders.iter().filter(|folder| !folder.watch);
        let usual = watch::Options::default();
        let note_every = self.note_every.unwrap_or(usual.note_every);
        watch::Options {
            after: file.watch.after,
            watches: self.most_watches.or(file.watch.max_folders),
            poll_every: self.poll_every.unwrap_or(file.watch.poll),
            places_every: usual.places_every.min(note_every),
            note_every,
            // One that does not exist has nothing to watch.
            without: unwatched.filter_map(|folder| folder.path.canonicalize().ok()).collect(),
        }
    }

    /// Queues the folders of the configuration file that were never indexed, as soon as they exist, and those of which it says
    /// something new.
    async fn follow(&self, store: &Store, file: &Watched) -> Infallible {
        let mut known = HashSet::new();
        let mut before: Option<Vec<Configured>> = None;
        loop {
            let settings = file.get();
            let now = mirror::configured(&settings, &self.into);
            let is_new =
                |of: &&Configured| before.as_ref().is_some_and(|before| !before.contains(of));
            let changed: Vec<&Configured> = now.iter().filter(is_new).collect();
            match self.queue(store, &settings, &changed, &mut known).await {
                Ok(()) => before = Some(now),
                Err(error) => tracing::debug!("the configuration file is not followed: {error}"),
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn queue(
        &self,
        store: &Store,
        settings: &Settings,
        changed: &[&Configured],
        known: &mut HashSet<PathBuf>,
    ) -> Result<(), store::Error> {
        let paths: Vec<&Path> = settings.folders.iter().map(|folder| &*folder.path).collect();
        if changed.is_empty() && paths.iter().all(|path| known.contains(*path)) {
            return Ok(());
        }
        let roots = store.watched_roots().await?;
        let mut sources = BTreeSet::new();
        let mut seen = Vec::new();
        for path in paths {
            let Ok(folder) = path.canonicalize() else { continue };
            let is_indexed = roots.iter().any(|(root, _)| folder.starts_with(root));
            let is_changed = changed.iter().any(|of| of.path == path);
            let is_new = !is_indexed && self.takes_new && !known.contains(path);
            if is_new || (is_changed && (is_indexed || self.takes_new)) {
                sources.extend(folder.to_str().map(str::to_owned));
            }
            seen.push(path.to_owned());
        }
        // Clones of hosts are indexed one by one.
        let is_host = |of: &&&Configured| settings.folders.iter().all(|f| f.path != of.path);
        let hosts: Vec<&&Configured> = changed.iter().filter(is_host).collect();
        if !hosts.is_empty() {
            let repos = store.repos().await?;
            let is_of = |repo: &&store::Repo| {
                hosts.iter().any(|of| Path::new(&repo.source).starts_with(&of.path))
            };
            sources.extend(repos.iter().filter(is_of).map(|repo| repo.source.clone()));
        }
        if !sources.is_empty() {
            tracing::info!(
                "the configuration file says something new of {}",
                sources.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
            );
            let change = |source| Change { source, paths: None, reason: Reason::Asked };
            store.enqueue(&sources.into_iter().map(change).collect::<Vec<_>>()).await?;
        }
        known.extend(seen);
        Ok(())
    }
}
