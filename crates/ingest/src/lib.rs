//! Ingest: brings the index up to date with folders on disk, and publishes the next epoch.
//!
//! The steps, one file each: [`find`] the repositories and settle their [`names`], [`walk`] them, compare
//! them with the index (in Postgres), [`load`] new files ([`read`] decodes and hashes, [`cut`] makes chunks),
//! build the indexes of fresh shards, and publish.
//!
//! Memory does not grow with the tree: the walk sends what it sees to a temporary table at once, and files
//! are read a few megabytes at a time.

pub mod check;
mod cut;
mod find;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
#[cfg(any(test, fuzzing))]
mod fuzz_files;
mod ignored;
mod load;
mod names;
mod notices;
mod read;
mod room;
pub mod scip;
pub mod symbols;
mod walk;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use store::{MAX_DERIVERS, RepoId, RepoRow, Session, ShardId, Store, Totals};

pub use files::SkipReason;
use room::Room;

/// Bytes of text at which a shard is full and the next one is started. Each shard costs a search about 0.1
/// ms, so a small corpus should not use all of them. Measured: shards of 60 MB were faster to search than
/// those of 8 MB, and than those of 256 MB (docs/design/partitions.md).
const FULL_SHARD_BYTES: i64 = 64 << 20;

/// Bytes of files to read below which an ingest inserts into a live shard. More is worth a fresh shard and an
/// index build.
const SMALL_INGEST_BYTES: i64 = 16 << 20;

/// Bytes of new text, about, after which a group of repositories is published. So a long first ingest becomes
/// searchable step by step, and after a kill only the current group is repeated.
const GROUP_BYTES: i64 = 4 << 30;

/// Options of an ingest.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folders in which to look for repositories.
    pub paths: Vec<PathBuf>,
    /// Levels below each path at which every folder is a repository. `None`: every folder with a `.git` is
    /// one.
    pub depth: Option<usize>,
    /// Most bytes of a file that is indexed.
    pub max_bytes: u64,
    /// Whether to leave out files that `.gitignore` names.
    pub gitignore: bool,
    /// Whether to read git's data outside of a path if they are the user's own.
    pub follow_git: bool,
    /// Whether to read every file, even if its fingerprint is unchanged.
    pub again: bool,
    /// Bytes of text at which a shard is full, for tests; `None` for the default.
    pub shard_bytes: Option<u64>,
    /// Folders on the disks on which the index grows; none if these are another machine's.
    pub disks: Vec<PathBuf>,
}

/// The result of an ingest.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Names of the repositories that were read, in order.
    pub repos: Vec<String>,
    /// Names of the repositories that were removed because their folders are gone.
    pub removed: Vec<String>,
    /// Folders that could not be read. Their part of the index is unchanged.
    pub untouched: Vec<PathBuf>,
    /// Files seen, of any kind.
    pub seen: Totals,
    /// Files read because they are new or look changed.
    pub read: Totals,
    /// Texts stored because the index did not have their contents.
    pub stored: Totals,
    /// Files that are new or have new contents.
    pub new_files: i64,
    /// Files that left the index or had other contents.
    pub retired_files: i64,
    /// Time for finding and walking the repositories and comparing them with the index.
    pub walk: Duration,
    /// Time for reading files and storing texts.
    pub load: Duration,
    /// Time for building indexes.
    pub index: Duration,
    /// Time for publishing and collecting garbage.
    pub publish: Duration,
}

/// Progress events of an ingest.
#[derive(Clone, Debug)]
pub enum Event {
    /// A notice for the user: a folder that is not indexed, a repository that moved.
    Notice(String),
    /// Another ingest is running; this one waits for its end.
    Waiting,
    /// Files seen so far.
    Walked(Totals),
    /// All files to read.
    Reading(Totals),
    /// Files read since the last event of this kind.
    Read(Totals),
    /// Bytes of the shards whose indexes are to be built.
    Indexing(i64),
    /// Bytes of those whose indexes are built.
    Indexed(i64),
    /// Bytes of the texts whose symbols are to be taken.
    Symbols(i64),
    /// Bytes of those that have had their turn.
    SymbolsTaken(i64),
    /// Bytes of the SCIP index that is to be imported.
    Scip(i64),
    /// Bytes of it that were read.
    ScipRead(i64),
}

/// Why an ingest ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A given path cannot be read.
    #[error("cannot read {path}: {cause}", path = .path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// A given path is a file.
    #[error("{} is not a folder; name the folder that holds the repositories", .0.display())]
    NotAFolder(PathBuf),
    /// There is nothing to index.
    #[error("no files in {}", list(.0))]
    NoFiles(Vec<PathBuf>),
    /// Nothing that could be indexed can be read.
    #[error("cannot read {}, or its name is not UTF-8; the index was not changed", .0.display())]
    Closed(PathBuf),
    /// A given path is a folder of a clone, and so a part of its repository.
    #[error(
        "{path} is in the clone {clone}; run: codesearch ingest {clone} (or use --depth 0 for this folder alone)",
        path = .path.display(),
        clone = .clone.display()
    )]
    InsideClone {
        /// The path.
        path: PathBuf,
        /// The folder of the clone.
        clone: PathBuf,
    },
    /// A given path has nothing in it, and had repositories.
    #[error(
        "{path} is empty, but {} below it are indexed; is a disk missing? To remove a repository, run: codesearch \
         remove NAME",
        repositories(*.repos),
        path = .path.display()
    )]
    Emptied {
        /// The path.
        path: PathBuf,
        /// Number of indexed repositories below it.
        repos: usize,
    },
    /// `--depth` finds no folder.
    #[error("{} has no folders {depth} levels down; use a smaller --depth", .path.display())]
    NoFolders {
        /// The path.
        path: PathBuf,
        /// Levels below it.
        depth: usize,
    },
    /// No repository has this name.
    #[error("no repository is named '{0}'; codesearch repos lists them")]
    NoSuchRepo(String),
    /// The process that parses cannot be started.
    #[error("no symbols were extracted: cannot start the process that parses texts: {0}")]
    Parser(std::io::Error),
    /// The disk of the index has too little room.
    #[error(
        "the disk that holds {} is nearly full: {free} MB are left, and this needs about {need} MB; free some space \
         and run it again; nothing is lost", .disk.display()
    )]
    NoRoom {
        /// A folder on the disk.
        disk: PathBuf,
        /// MB that are free.
        free: u64,
        /// MB that are needed.
        need: u64,
    },
    /// A statement failed, or the database could not be reached.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A callback for progress events. Called from several threads.
pub trait Progress: Fn(Event) + Send + Sync {}
impl<F: Fn(Event) + Send + Sync> Progress for F {}

/// Brings the index up to date with the repositories below some folders.
///
/// # Errors
/// A given path is no folder or cannot be read, there is nothing to index, or the database fails or is silent for a minute.
pub async fn run(
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    store.watched(Box::pin(bring_up_to_date(store, options, progress))).await
}

async fn bring_up_to_date(
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let begun = Instant::now();
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    let mut report = Report::default();
    for path in &options.paths {
        let below = find::repositories(path, options.depth, options.follow_git)?;
        notices::tell_found(&below, progress);
        unreadable.extend(below.unreadable);
        found.extend(below.repos);
    }
    let mut session = lock(store, progress).await?;
    let known = session.repos().await?;
    for path in &options.paths {
        let root = find::canonical(path)?;
        let below = |row: &&RepoRow| Path::new(&row.source).starts_with(&root);
        let repos = known.iter().filter(below).count();
        if repos > 0 && find::is_empty(&root) {
            return Err(Error::Emptied { path: path.clone(), repos });
        }
    }
    let all: Vec<PathBuf> = found.iter().map(|repo| repo.folder.clone()).collect();
    // A folder that cannot be read stays in the index as it was. Nor is the folder around it taken for one
    // large repository instead.
    unreadable.retain(|folder| {
        known.iter().any(|row| Path::new(&row.source).starts_with(folder))
            || !found.iter().any(|repo| folder.starts_with(&repo.folder))
    });
    found.retain(|repo| !unreadable.iter().any(|folder| folder.starts_with(&repo.folder)));
    report.untouched = unreadable;
    found.retain(|repo| {
        let readable = repo.folder.to_str().is_some() && find::check_readable(&repo.folder).is_ok();
        if !readable {
            report.untouched.push(repo.folder.clone());
        }
        readable
    });
    for folder in &report.untouched {
        progress(Event::Notice(format!(
            "not updated: cannot read {}, or its name is not UTF-8",
            folder.display()
        )));
    }
    // A repository that was indexed and has nothing any more, not even a `.git`, is hardly meant so.
    let emptied = |repo: &find::FoundRepo| {
        let is_known = known.iter().any(|row| Path::new(&row.source) == repo.folder);
        is_known && find::is_empty(&repo.folder)
    };
    let (emptied, found): (Vec<_>, Vec<_>) = found.into_iter().partition(emptied);
    for repo in emptied {
        progress(Event::Notice(format!(
            "not updated: {} is empty; is a disk missing? To remove a repository, run: codesearch remove NAME",
            repo.folder.display()
        )));
        report.untouched.push(repo.folder);
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
        notices::tell_odd(&repo, progress);
        let id = match &repo.known {
            Some(row) => row.id,
            None => session.new_repo(&repo.name, &source).await?,
        };
        let seen = walk::walk(&mut session, id, &repo.folder, &all, options, report.seen, progress)
            .await?;
        session.seen(&walk::of_git(id, &repo.unread)).await?;
        report.seen += seen;
        report.repos.push(repo.name.clone());
        let names::NamedRepo { name, web, commit, rank, git_folders, .. } = repo;
        let git_folders = git_folders.iter().filter_map(|folder| Some(folder.to_str()?.to_owned()));
        let git_folders = git_folders.collect();
        repos.push(RepoRow { id, name, source, web, commit, rank, git_folders });
    }
    let mut gone = Vec::new();
    for row in known {
        let asked = |path: &PathBuf| {
            find::canonical(path).is_ok_and(|p| PathBuf::from(&row.source).starts_with(p))
        };
        let found = repos.iter().any(|repo| repo.id == row.id);
        let (folder, is_gone) = (Path::new(&row.source), names::is_gone(&row.source));
        // A checkout inside of a clone that is none any more is a part of the clone.
        let is_part = || {
            let around =
                |repo: &RepoRow| repo.source != row.source && folder.starts_with(&repo.source);
            repos.iter().any(|repo| around(repo) && repo.commit.is_some())
        };
        if !found && options.paths.iter().any(asked) && (is_gone || is_part()) {
            if is_gone && names::may_be_unmounted(&row.source) {
                progress(Event::Notice(format!(
                    "not removed: {}; its folder {} is empty; is a disk missing? To remove it, run: codesearch remove \
                     {}",
                    row.name, row.source, row.name
                )));
                continue;
            }
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
    Room::of(&options.disks).check_files(report.read.bytes)?;
    progress(Event::Reading(report.read));
    apply(store, &mut session, options, repos, &gone, &mut report, progress).await?;
    session.close().await?;
    report.repos.sort();
    Ok(report)
}

/// Removes repositories from the index.
///
/// # Errors
/// [`Error::NoSuchRepo`], or the database fails.
pub async fn remove(store: &Store, names: &[String], progress: &dyn Progress) -> Result<(), Error> {
    store.watched(Box::pin(take_out(store, names, progress))).await
}

async fn take_out(store: &Store, names: &[String], progress: &dyn Progress) -> Result<(), Error> {
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

/// Takes the lock on ingests; waits while another ingest holds it.
pub(crate) async fn lock(store: &Store, progress: &dyn Progress) -> Result<Session, Error> {
    let mut told = None;
    loop {
        if let Some(session) = store.try_session().await? {
            return Ok(session);
        }
        if told.is_none() {
            progress(Event::Waiting);
            told = Some(store.announce_waiting().await?);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Loads, indexes and publishes new files, group by group.
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
    // The order in which files are read.
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
        let room = Room::of(&options.disks);
        let group = load::load(store, session, &plan, &room, after, progress).await?;
        report.load += begun.elapsed();
        report.stored += group.stored;
        filled.extend(&group.filled);
        after = group.last;

        let begun = Instant::now();
        let indexed = build_indexes(store, session, progress).await?;
        filled.extend(derive(store, session).await?);
        report.index += begun.elapsed();

        let begun = Instant::now();
        // Publish the repositories of this group. The last group also removes the repositories that are gone.
        let upto =
            group.upto.map_or(repos.len(), |next| repos.partition_point(|repo| repo.id < next));
        let done: Vec<RepoRow> = repos.drain(..upto).collect();
        let gone = if group.upto.is_none() { gone } else { &[] };
        let published = session.publish(&done, gone, &indexed).await?;
        store.build_path_indexes(&indexed, cores()).await?;
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

/// Builds the trigram indexes of all shards that have none, after deriving and sorting their documents and filters. Builds
/// one index per core at a time, and derives at most [`MAX_DERIVERS`] shards at a time. Returns these shards.
///
/// One shard more than there are builders is under way: deriving waits for the server and the server for it, and
/// then the other keeps the core busy.
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
    let turns = tokio::sync::Semaphore::new(builders);
    let left = AtomicUsize::new(shards.len());
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
            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                let all: Vec<ShardId> = shards.iter().map(|(shard, _)| *shard).collect();
                store.sort_chunk_filters(&all).await?;
            }
            let _turn = turns.acquire().await.expect("it is never closed");
            store.build_index(shard, memory_kb).await?;
            *done.lock().expect("no panics hold it") += bytes;
        }
    };
    let all = futures_util::future::try_join_all((0..=builders).map(|_| build()));
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

/// Brings the documents and filters of all shards up to date with their texts, at most [`MAX_DERIVERS`] shards
/// at a time. Returns the shards that were behind.
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

fn repositories(count: usize) -> String {
    if count == 1 { "1 repository".to_owned() } else { format!("{count} repositories") }
}

/// Returns the number of threads that this machine runs at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}
