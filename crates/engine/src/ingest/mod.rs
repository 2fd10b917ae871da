//! Ingest: folders on disk become the next state of the index.
//!
//! The steps, one file each: [`find`] the repositories and settle their [`names`], [`walk`] them, compare with what is indexed
//! (in Postgres), [`load`] what is new ([`read`] decodes and hashes, [`cut`] makes chunks), build
//! the indexes of fresh shards, and publish the new state.
//!
//! Memory does not grow with the tree: what the walk sees goes to a temporary table at once, and
//! files are read a few megabytes at a time.

mod cut;
mod find;
mod load;
mod names;
mod read;
mod skip;
mod walk;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use store::{MAX_DERIVERS, RepoId, RepoRow, Session, ShardId, Store, Totals};

pub(crate) use read::is_text_of;
pub use skip::SkipReason;

/// A shard is filled up to this many bytes of text before the next one is begun. Each shard costs a
/// search about 0.1 ms, so a small corpus should not use all of them; measured, 60 MB searched
/// faster than 8 MB, and larger ones bring little more.
const FULL_SHARD_BYTES: i64 = 64 << 20;

/// Up to this many bytes are inserted into a shard that is indexed already; more is worth a shard
/// and an index build of its own.
const SMALL_INGEST_BYTES: i64 = 16 << 20;

/// Repositories are published in groups of about this many bytes of new text, so that a long
/// first ingest becomes searchable bit by bit and a killed one has not everything to repeat.
const GROUP_BYTES: i64 = 4 << 30;

/// What to ingest, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folders to look for repositories in.
    pub paths: Vec<PathBuf>,
    /// Every folder this many levels below a path is a repository; without it, every folder with a
    /// `.git` is.
    pub depth: Option<usize>,
    /// Files larger than this are left out, in bytes.
    pub max_bytes: u64,
    /// Leave out what `.gitignore` names.
    pub gitignore: bool,
    /// Read every file again, also those that look unchanged.
    pub again: bool,
    /// Bytes of text at which a shard is full, for tests; none for what is best for searches.
    pub shard_bytes: Option<u64>,
}

/// What an ingest did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Repositories that were read, in order of their names.
    pub repos: Vec<String>,
    /// Repositories that were removed because their folder is gone.
    pub removed: Vec<String>,
    /// Folders that could not be looked into; what is indexed of them is as it was.
    pub untouched: Vec<PathBuf>,
    /// Files that were seen, of any kind.
    pub seen: Totals,
    /// Files that were read because they are new or look changed.
    pub read: Totals,
    /// Texts that were stored: contents that were not in the index yet.
    pub stored: Totals,
    /// Files that are new in the index or have new contents.
    pub new_files: i64,
    /// Files that left the index, or had other contents.
    pub retired_files: i64,
    /// Seconds for finding and walking the repositories and comparing them with the index.
    pub walk: Duration,
    /// Seconds for reading files and storing texts.
    pub load: Duration,
    /// Seconds for building indexes.
    pub index: Duration,
    /// Time for publishing and clearing up.
    pub publish: Duration,
}

/// What an ingest tells while it runs.
#[derive(Clone, Debug)]
pub enum Event {
    /// Something worth a line: a folder that is not taken, a repository that moved.
    Notice(String),
    /// Another ingest runs; this one waits for it to end.
    Waiting,
    /// So much was seen so far.
    Walked(Totals),
    /// So much is to be read in all.
    Reading(Totals),
    /// So much was read since the last event of this kind.
    Read(Totals),
    /// The indexes of shards with so many bytes are to be built.
    Indexing(i64),
    /// The index builds have come to so many bytes of those.
    Indexed(i64),
}

/// Why an ingest ended early. The index is as it was.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A path that was named cannot be read.
    #[error("cannot read {path}: {cause}", path = .path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A path that was named is a file.
    #[error("{} is not a folder; name the folder that holds the repositories", .0.display())]
    NotAFolder(PathBuf),
    /// Nothing to index.
    #[error("no files in {}", list(.0))]
    NoFiles(Vec<PathBuf>),
    /// Nothing of what there may be to index can be read.
    #[error("{} cannot be read, or its name is not UTF-8; the index is as it was", .0.display())]
    Closed(PathBuf),
    /// `--depth` leads to no folder.
    #[error("{} has no folders {depth} levels down", .path.display())]
    NoFolders {
        /// The path.
        path: PathBuf,
        /// How far down was looked.
        depth: usize,
    },
    /// No repository of that name.
    #[error("no repository is named '{0}'; codesearch repos lists them")]
    NoSuchRepo(String),
    /// The database could not do its part.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A function that is told how an ingest goes on. Called from several threads.
pub trait Progress: Fn(Event) + Send + Sync {}
impl<F: Fn(Event) + Send + Sync> Progress for F {}

/// Brings the index up to date with the repositories below some folders.
///
/// # Errors
/// A path that was named is no folder or cannot be read, there is nothing to index, or the database cannot do its part.
pub async fn run(
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let begun = Instant::now();
    let (mut found, mut closed) = (Vec::new(), Vec::new());
    let mut report = Report::default();
    for path in &options.paths {
        let below = find::repositories(path, options.depth)?;
        for folder in below.loose {
            progress(Event::Notice(format!(
                "not indexed: {} holds no repository; name it as a path of its own, or use --depth",
                folder.display()
            )));
        }
        for folder in below.unranked {
            progress(Event::Notice(format!(
                "no rank: what git config says in {} is no number; use git config codesearch.rank N, from 0 to 65535",
                folder.display()
            )));
        }
        closed.extend(below.closed);
        found.extend(below.repos);
    }
    let mut session = lock(store, progress).await?;
    let known = session.repos().await?;
    // What cannot be looked into now stays in the index as it was, and what lies around it is not
    // taken to be one large repository instead.
    closed.retain(|folder| {
        known.iter().any(|row| Path::new(&row.source).starts_with(folder))
            || !found.iter().any(|repo| folder.starts_with(&repo.folder))
    });
    found.retain(|repo| !closed.iter().any(|folder| folder.starts_with(&repo.folder)));
    report.untouched = closed;
    found.retain(|repo| {
        let readable = repo.folder.to_str().is_some() && find::look_into(&repo.folder).is_ok();
        if !readable {
            report.untouched.push(repo.folder.clone());
        }
        readable
    });
    for folder in &report.untouched {
        progress(Event::Notice(format!(
            "left as it was: {} cannot be read, or its name is not UTF-8",
            folder.display()
        )));
    }

    let mut repos = Vec::new();
    for repo in names::settle(found, &known) {
        let source = repo.folder.to_string_lossy().into_owned();
        if let Some(before) = &repo.known
            && (before.source != source || before.name != repo.name)
        {
            progress(Event::Notice(format!(
                "{} in {} is now {} in {source}",
                before.name, before.source, repo.name
            )));
        }
        let id = match &repo.known {
            Some(row) => row.id,
            None => session.new_repo(&repo.name, &source).await?,
        };
        let seen =
            walk::walk(&mut session, id, &repo.folder, options, report.seen, progress).await?;
        report.seen += seen;
        report.repos.push(repo.name.clone());
        repos.push(RepoRow { id, name: repo.name, source, web: repo.web, rank: repo.rank });
    }
    let mut gone = Vec::new();
    for row in known {
        let asked = |path: &PathBuf| {
            find::canonical(path).is_ok_and(|p| PathBuf::from(&row.source).starts_with(p))
        };
        let found = repos.iter().any(|repo| repo.id == row.id);
        if !found && options.paths.iter().any(asked) && names::is_gone(&row.source) {
            gone.push(row.id);
            report.removed.push(row.name);
        }
    }
    if report.seen.files == 0 && gone.is_empty() {
        return Err(match report.untouched.pop() {
            Some(folder) => Error::Closed(folder),
            None => Error::NoFiles(options.paths.clone()),
        });
    }
    report.read = session.compare(options.again).await?;
    report.walk = begun.elapsed();
    progress(Event::Reading(report.read));
    apply(store, &mut session, options, repos, &gone, &mut report, progress).await?;
    session.close().await?;
    report.repos.sort();
    Ok(report)
}

/// Removes repositories from the index.
///
/// # Errors
/// [`Error::NoSuchRepo`], or the database cannot do its part.
pub async fn remove(store: &Store, names: &[String], progress: &dyn Progress) -> Result<(), Error> {
    let mut session = lock(store, progress).await?;
    let mut gone = Vec::new();
    let known = session.repos().await?;
    for name in names {
        let row = known.iter().find(|row| row.name == *name);
        gone.push(row.ok_or_else(|| Error::NoSuchRepo(name.clone()))?.id);
    }
    session.publish(&[], &gone, &[]).await?;
    session.collect_garbage(&[]).await?;
    Ok(session.close().await?)
}

/// Becomes the one ingest that may run, waiting for another to end.
async fn lock(store: &Store, progress: &dyn Progress) -> Result<Session, Error> {
    let mut told = false;
    loop {
        if let Some(session) = store.try_session().await? {
            return Ok(session);
        }
        if !told {
            progress(Event::Waiting);
            told = true;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Loads, indexes and publishes, group by group.
async fn apply(
    store: &Store,
    session: &mut Session,
    options: &Options,
    mut repos: Vec<RepoRow>,
    gone: &[RepoId],
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let folders: HashMap<RepoId, PathBuf> =
        repos.iter().map(|repo| (repo.id, PathBuf::from(&repo.source))).collect();
    // In the order in which files are read.
    repos.sort_by_key(|repo| repo.id);
    let (stored, shards) = session.stored_bytes();
    let plan = load::Plan {
        folders: &folders,
        max_bytes: options.max_bytes,
        full: options
            .shard_bytes
            .map_or(FULL_SHARD_BYTES, |bytes| bytes as i64)
            .max((stored + report.read.bytes) / shards.max(1) as i64),
        small: report.read.bytes < SMALL_INGEST_BYTES,
        group: GROUP_BYTES.max(report.read.bytes / 8),
    };
    let mut filled = Vec::new();
    let mut after = 0;
    loop {
        let begun = Instant::now();
        let group = load::load(store, session, &plan, after, progress).await?;
        report.load += begun.elapsed();
        report.stored += group.stored;
        filled.extend(&group.filled);
        after = group.last;

        let begun = Instant::now();
        let indexed = build_indexes(store, session, progress).await?;
        filled.extend(derive(store, session).await?);
        report.index += begun.elapsed();

        let begun = Instant::now();
        // The group ends with its last repository, the last group with what is gone.
        let upto =
            group.upto.map_or(repos.len(), |next| repos.partition_point(|repo| repo.id < next));
        let done: Vec<RepoRow> = repos.drain(..upto).collect();
        let gone = if group.upto.is_none() { gone } else { &[] };
        let published = session.publish(&done, gone, &indexed).await?;
        report.new_files += published.stored;
        report.retired_files += published.retired;
        report.publish += begun.elapsed();
        if group.upto.is_none() {
            break;
        }
    }
    let begun = Instant::now();
    filled.sort_unstable();
    filled.dedup();
    session.collect_garbage(&filled).await?;
    report.publish += begun.elapsed();
    Ok(())
}

/// Builds the indexes of all shards that have none, after their documents and filters are derived, as many at a time as there
/// are cores. Gives the shards.
async fn build_indexes(
    store: &Store,
    session: &Session,
    progress: &dyn Progress,
) -> Result<Vec<ShardId>, Error> {
    let shards = session.unindexed();
    if shards.is_empty() {
        return Ok(Vec::new());
    }
    progress(Event::Indexing(shards.iter().map(|(_, bytes)| bytes).sum()));
    let builders = cores().min(shards.len());
    let memory_kb = store.index_memory_kb(builders).await?;
    let queue = std::sync::Mutex::new(shards.iter().copied().rev().collect::<Vec<_>>());
    let done = std::sync::Mutex::new(0_i64);
    let derivers = tokio::sync::Semaphore::new(MAX_DERIVERS);
    let build = async || -> Result<(), store::Error> {
        loop {
            let Some((shard, bytes)) = queue.lock().expect("no panics hold it").pop() else {
                return Ok(());
            };
            let turn = derivers.acquire().await.expect("it is never closed");
            let (deriving, of) = (store.clone(), shard);
            let derived = tokio::spawn(async move { deriving.derive(of).await });
            derived.await.expect("deriving does not panic")?;
            drop(turn);
            store.build_index(shard, memory_kb).await?;
            *done.lock().expect("no panics hold it") += bytes;
        }
    };
    let all = futures_util::future::try_join_all((0..builders).map(|_| build()));
    let sizes: HashMap<ShardId, i64> = shards.iter().copied().collect();
    let watch = async || loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let Ok(running) = store.index_progress().await else { continue };
        let partly: f64 =
            running.iter().map(|p| p.done * sizes.get(&p.shard).map_or(0.0, |b| *b as f64)).sum();
        progress(Event::Indexed(*done.lock().expect("no panics hold it") + partly as i64));
    };
    tokio::select! {
        result = all => { result?; }
        () = watch() => unreachable!("watching never ends"),
    }
    let done = *done.lock().expect("no panics hold it");
    progress(Event::Indexed(done));
    Ok(shards.into_iter().map(|(shard, _)| shard).collect())
}

/// Brings the documents and filters of all shards up to date with what is stored in them, as many at a time as
/// there are cores. Gives those shards.
async fn derive(store: &Store, session: &mut Session) -> Result<Vec<ShardId>, Error> {
    let shards = session.underived().await?;
    let work = shards.clone().into_iter().map(|shard| {
        let store = store.clone();
        async move { tokio::spawn(async move { store.derive(shard).await }).await }
    });
    let mut work = futures_util::stream::iter(work).buffer_unordered(cores().min(MAX_DERIVERS));
    while let Some(done) = work.next().await {
        done.expect("deriving does not panic")?;
    }
    Ok(shards)
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    shown.join(", ")
}

/// How many threads this machine runs at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}
