//! Brings the index up to date with repositories, from any source.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use git::checkout::Unread;
use store::{MAX_DERIVERS, RepoId, RepoRow, Session, ShardId, Store};

use super::load::{Queue, Sources};
use super::room::Room;
use super::source::{FileSource, Part};
use super::trees::{self, OtherTrees, Shared};
use super::{Error, Event, Options, Progress, Report, cores, load, walk};

/// Bytes of text at which a shard is full and the next one is started. Each shard costs a search about 0.1 ms, so a
/// small corpus should not use all of them. Measured: shards of 60 MB were faster to search than those of 8 MB, and
/// than those of 256 MB (docs/design/partitions.md).
const FULL_SHARD_BYTES: i64 = 64 << 20;

/// Bytes of files to read below which an ingest inserts into a live shard. Larger ingests are worth a fresh shard and
/// an index build.
const SMALL_INGEST_BYTES: i64 = 16 << 20;

/// Approximate bytes of new text after which a group of repositories is published. So a long first ingest becomes
/// searchable step by step, and after a kill only the current group is repeated.
const GROUP_BYTES: i64 = 4 << 30;

/// A repository to bring up to date.
pub(crate) struct Repository {
    pub(crate) row: RepoRow,
    pub(crate) files: Arc<dyn FileSource>,
    /// Its trees besides the main one.
    pub(crate) trees: OtherTrees,
    /// Parts of its git data that are not read.
    pub(crate) unread: Vec<Unread>,
    /// Whether its files are read even if they look unchanged.
    pub(crate) again: bool,
    /// If only a part of it may be listed: whether nothing else can have changed.
    pub(crate) part: Option<bool>,
    /// Maximum bytes of a file to index.
    pub(crate) max_bytes: u64,
}

/// What an ingest does besides.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The rows of the queue that it takes, each with a folder: it is taken if nothing in that fails.
    pub(crate) rows: Vec<(i64, PathBuf)>,
    /// Whether they are why it runs. Then what cannot be done is tried again later.
    pub(crate) is_queue: bool,
}

impl Taken {
    /// Returns the rows of folders in which nothing failed.
    fn succeeded(&self, report: &Report) -> Vec<i64> {
        let rows = self.rows.iter().filter(|(_, folder)| report.failure_in(folder).is_none());
        rows.map(|(row, _)| *row).collect()
    }
}

/// Updates some repositories in the index, and removes those that are gone.
pub(crate) async fn update(
    store: &Store,
    session: &mut Session,
    repos: Vec<Repository>,
    gone: &[RepoId],
    (options, taken): (&Options, Taken),
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let begun = Instant::now();
    let plain = files::languages_of(&[]);
    let (mut listed, mut unlisted) = (Vec::new(), Vec::new());
    for mut repo in repos {
        let is_still = settled(session, &repo, taken.is_queue).await;
        let Repository { row, files, unread, again, part, max_bytes, .. } = &mut repo;
        if !is_still && taken.is_queue {
            let folder = PathBuf::from(&row.source);
            report.failed.push((folder.clone(), Error::Changing(folder).to_string()));
            continue;
        }
        match part {
            None => session.note_listing(row.id),
            Some(is_complete) => session.note_looking(row.id, *is_complete),
        }
        let walked = walk::walk(session, row.id, files, *max_bytes, report.seen, progress).await?;
        let (totals, listing) = match walked {
            Ok(walked) => walked,
            Err(why) => {
                report.untouched.push(row.source.clone().into());
                report.failed.push((row.source.clone().into(), why.clone()));
                unlisted.push(why);
                continue;
            }
        };
        for notice in listing.notices {
            progress(Event::Notice(notice));
        }
        if let Some(Part { below, around }) = listing.part {
            session.narrow(row.id, &below, &around).await?;
            if let Some(languages) = row.languages.filter(|_| !row.skips_secrets) {
                session.note_languages(row.id, languages, plain);
            }
            report.seen += totals;
            report.repos.push(row.name.clone());
            listed.push(repo);
            continue;
        }
        let languages = files::languages_of(&listing.languages);
        // If the rules are others, all languages are found out again. If there were none, the files that have a rule now
        // are known.
        let before = row.languages.replace(languages);
        *again |= before.is_some_and(|before| before != languages && before != plain);
        // Whether a text is a private key is known when it is read.
        if !row.skips_secrets {
            session.note_languages(row.id, languages, plain);
        }
        report.seen += totals;
        session.seen(&walk::of_git(row.id, unread)).await?;
        report.repos.push(row.name.clone());
        listed.push(repo);
    }
    let repos = listed;
    for (folder, why) in &report.failed {
        session.fail(&[], &[folder.to_string_lossy().into_owned()], why).await?;
    }
    if repos.is_empty() && gone.is_empty() && !unlisted.is_empty() && !taken.is_queue {
        return Err(Error::Unlisted(unlisted.join("; ")));
    }
    for why in unlisted {
        progress(Event::Notice(format!("not updated: {why}")));
    }
    // A commit without files is one.
    let has_commits = repos.iter().any(|repo| repo.row.from_commit);
    if report.seen.files == 0 && gone.is_empty() && !has_commits && !taken.is_queue {
        return Err(match report.untouched.pop() {
            Some(folder) => Error::Closed(folder),
            None => Error::NoFiles(options.paths.clone()),
        });
    }
    let again: HashSet<RepoId> =
        repos.iter().filter(|repo| options.again || repo.again).map(|repo| repo.row.id).collect();
    report.read = session.compare(|repo| again.contains(&repo)).await?;
    report.walk += begun.elapsed();
    Room::of(&options.disks).check_files(report.read.bytes)?;
    progress(Event::Reading(report.read));
    apply(store, session, (options, taken), repos, gone, report, progress).await
}

/// Longest time to wait for git to end its work in a checkout: of the queue, which looks again later, and of others.
const STILL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// Time for which git locks an index although it changes no file, at most.
const READ_ONLY: Duration = Duration::from_millis(300);

/// Waits until nobody changes many files of a repository. Returns whether that came.
async fn settled(session: &Session, repo: &Repository, is_queue: bool) -> bool {
    let begun = Instant::now();
    let most = if is_queue { STILL.0 } else { STILL.1 };
    while repo.files().any(|files| files.is_changing()) {
        if begun.elapsed() >= most {
            return false;
        }
        session.await_other(tokio::time::sleep(Duration::from_millis(10))).await;
    }
    true
}

impl Repository {
    /// Returns the sources of its files: those of its main tree, and of the others.
    fn files(&self) -> impl Iterator<Item = &Arc<dyn FileSource>> {
        let others = self.trees.now.iter().flat_map(|tree| tree.files.iter().chain(&tree.part));
        std::iter::once(&self.files).chain(others)
    }
}

/// Loads, indexes and publishes new files, group by group.
async fn apply(
    store: &Store,
    session: &mut Session,
    (options, taken): (&Options, Taken),
    repos: Vec<Repository>,
    gone: &[RepoId],
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let (mut rows, mut sources, mut trees) = (Vec::new(), HashMap::new(), HashMap::new());
    let mut most = 0;
    let mut all = Vec::new();
    for repo in repos {
        all.push((PathBuf::from(&repo.row.source), repo.files().cloned().collect::<Vec<_>>()));
        let Repository { row, files, trees: others, max_bytes, .. } = repo;
        sources.insert(row.id, files);
        if !others.is_empty() {
            trees.insert(row.id, (others, max_bytes));
        }
        rows.push(row);
        most = max_bytes.max(most);
    }
    let mut repos: Vec<RepoRow> = rows;
    // Files are read in this order.
    repos.sort_by_key(|repo| repo.id);
    let (stored, shards) = session.stored_bytes();
    let plan = load::Plan {
        sources: Arc::new(Sources::OfRepos(sources)),
        // The lists have left out larger files already.
        max_bytes: most,
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
        let group =
            load::load(store, session, &plan, &Queue::Compared, &room, after, progress).await?;
        report.load += begun.elapsed();
        report.stored += group.stored;
        filled.extend(&group.filled);
        after = group.last;
        // Publish the repositories of this group. The last group also removes the repositories that are gone.
        let upto =
            group.upto.map_or(repos.len(), |next| repos.partition_point(|repo| repo.id < next));
        let mut done: Vec<RepoRow> = repos.drain(..upto).collect();
        session.take_known(&done).await?;
        for repo in &mut done {
            let lacked = std::mem::take(&mut repo.is_lost);
            let Some((others, max_bytes)) = trees.remove(&repo.id) else { continue };
            let shared = Shared { store, room: &room, max_bytes, full: plan.full, progress };
            let begun = Instant::now();
            report.trees += others.now.len();
            let (more, are_read) = trees::settle(session, repo.id, others, &shared).await?;
            // A tree that cannot be read lacks what was on the node.
            repo.is_lost = lacked && !are_read;
            report.stored += more.stored;
            filled.extend(&more.filled);
            report.trees_time += begun.elapsed();
        }

        let begun = Instant::now();
        let indexed = build_indexes(store, session, progress).await?;
        filled.extend(derive(store, session).await?);
        report.index += begun.elapsed();

        if taken.is_queue {
            for (folder, files) in &all {
                let begun = Instant::now();
                while files.iter().any(|files| files.has_changed()) {
                    if begun.elapsed() >= READ_ONLY {
                        return Err(Error::Changing(folder.clone()));
                    }
                    session.await_other(tokio::time::sleep(Duration::from_millis(10))).await;
                }
            }
        }
        let begun = Instant::now();
        let gone = if group.upto.is_none() { gone } else { &[] };
        if group.upto.is_none() {
            session.take(taken.succeeded(report));
        }
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

/// Builds the trigram indexes of all shards that have none, after deriving and sorting their documents and filters.
/// Builds one index per core at a time, and derives at most [`MAX_DERIVERS`] shards at a time. Returns these shards.
///
/// One shard more than there are builders is in progress: while deriving waits for the server, or the server for it,
/// the other shard keeps the core busy.
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

/// Brings the documents and filters of all shards up to date with their texts, at most [`MAX_DERIVERS`] shards at a
/// time. Returns the shards that were behind.
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
