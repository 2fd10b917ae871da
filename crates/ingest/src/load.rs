//! Loads files: reads and decodes them on all cores, a few megabytes at a time, while several connections store the
//! previous batches, each filling a shard of its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;
use store::{
    BlobId, Contents, DocRow, FileRow, FileTodo, Oid, RepoId, Session, ShardId, SkippedRow, Store,
    Totals,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::read::{ReadFile, read};
use super::room::Room;
use super::source::{FileSource, Skipped};
use super::{Error, Event, Progress, cores};
use files::UNKNOWN;

/// Bytes of files to read at once. At any time, memory holds a few such batches and the files that the loaders hold
/// back: together less than 300 MB.
const BATCH_BYTES: i64 = 6 << 20;

/// Maximum number of files to read at once, for trees of tiny files.
const BATCH_FILES: i64 = 4096;

/// Bytes of text above which a file comes last in its shard, by size: a search with a limit reads a shard from its
/// start, and so finds more files in less text. In the fetched corpus these are 11% of the files and 68% of the bytes.
/// The other files stay in the order of their paths, since blocks of files have path filters.
const LARGE: i64 = 16 << 10;

/// Maximum bytes of large files that a loader holds back until its shard is full: as many as most shards have.
const LATE_BYTES: i64 = 48 << 20;

/// Maximum number of connections that store at once. With more, reading is slower than storing; and each connection
/// holds two batches in memory.
const MAX_LOADERS: usize = 4;

/// The parameters that all groups of an ingest share.
pub(crate) struct Plan {
    /// Where the files are read.
    pub(crate) sources: Arc<Sources>,
    /// Maximum bytes of a file to index.
    pub(crate) max_bytes: u64,
    /// Bytes of text at which a shard is full.
    pub(crate) full: i64,
    /// Whether the whole ingest is small.
    pub(crate) small: bool,
    /// Bytes after which a group ends, with the current repository.
    pub(crate) group: i64,
}

/// The sources of the files to read.
pub(crate) enum Sources {
    /// Of each repository.
    OfRepos(HashMap<RepoId, Arc<dyn FileSource>>),
    /// Of trees of one repository, by their places, and the place of the tree of each file, by the file's number.
    OfTrees(Vec<Option<Arc<dyn FileSource>>>, Vec<usize>),
}

impl Sources {
    /// Returns whether two files have one source.
    fn is_one(&self, one: &FileTodo, other: &FileTodo) -> bool {
        match self {
            Self::OfRepos(_) => one.repo == other.repo,
            Self::OfTrees(_, places) => place(places, one) == place(places, other),
        }
    }

    fn of(&self, file: &FileTodo) -> &dyn FileSource {
        match self {
            Self::OfRepos(sources) => &*sources[&file.repo],
            Self::OfTrees(sources, places) => {
                &**sources[place(places, file)].as_ref().expect("it was listed")
            }
        }
    }
}

fn place(places: &[usize], file: &FileTodo) -> usize {
    places[file.number as usize - 1]
}

/// The files to read, in order.
pub(crate) enum Queue {
    /// Those that the session found by comparing. It takes the results, too.
    Compared,
    /// These, numbered from 1. The results come back with the group.
    Given(Vec<FileTodo>),
}

impl Queue {
    /// Returns the next files after number `after`, of about `bytes`.
    async fn next(
        &self,
        session: &mut Session,
        after: i64,
        bytes: i64,
    ) -> Result<Vec<FileTodo>, Error> {
        let Self::Given(files) = self else {
            return Ok(session.todo(after, BATCH_FILES, bytes).await?);
        };
        let rest = files.get(usize::try_from(after).unwrap_or(usize::MAX)..).unwrap_or_default();
        let mut sum = 0;
        let batch = rest.iter().take(BATCH_FILES as usize).take_while(|file| {
            let before = sum;
            sum += file.bytes;
            before < bytes
        });
        Ok(batch.cloned().collect())
    }
}

/// A file that was read for several trees, by its number.
pub(crate) type ReadRow = (i64, Result<FileRow, SkippedRow>);

impl Plan {
    /// Returns the number of bytes of files to read at once: no more than fit into a shard.
    fn batch_bytes(&self) -> i64 {
        BATCH_BYTES.min(self.full)
    }
}

/// The result of loading one group of repositories.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Number of the last file read.
    pub(crate) last: i64,
    /// First repository after the group; `None` if there is none.
    pub(crate) upto: Option<RepoId>,
    /// Texts that were stored.
    pub(crate) stored: Totals,
    /// Shards that hold them.
    pub(crate) filled: Vec<ShardId>,
    /// The results of reading given files.
    pub(crate) read: Vec<ReadRow>,
    /// Docs of texts that were sent to be stored without them.
    late: Vec<(ShardId, BlobId, DocRow)>,
}

/// Reads and stores the files after number `after`, up to the end of a group of repositories.
pub(crate) async fn load(
    store: &Store,
    session: &mut Session,
    plan: &Plan,
    queue: &Queue,
    room: &Room<'_>,
    after: i64,
    progress: &dyn Progress,
) -> Result<Group, Error> {
    let mut group = Group { last: after, ..Group::default() };
    let mut loaders = ShardLoaders { store, loaders: Vec::new(), next: 0 };
    let mut bytes = 0;
    let mut reading = begin(session, plan, queue, after).await?;
    loop {
        let mut batch = session.await_other(reading).await.expect("reading does not panic");
        let Some(last) = batch.last().map(|(todo, _)| todo.number) else { break };
        // A group ends with a repository, so the next repository's files are dropped and read again later.
        if bytes >= plan.group {
            let current = batch[0].0.repo;
            if let Some(cut) = batch.iter().position(|(todo, _)| todo.repo != current) {
                group.upto = Some(batch[cut].0.repo);
                batch.truncate(cut);
            }
        }
        let ends = group.upto.is_some();
        reading = begin(session, plan, queue, if ends { i64::MAX } else { last }).await?;
        group.last = batch.last().map_or(group.last, |(todo, _)| todo.number);
        let read = Totals {
            files: batch.len() as i64,
            bytes: batch.iter().map(|(todo, _)| todo.bytes).sum(),
        };
        bytes += read.bytes;
        let at = loaders.turn(session, plan).await?;
        let batch = loaders.loaders[at].hold_back(batch);
        dispatch(session, queue, &mut loaders, at, batch, &mut group).await?;
        let loader = &loaders.loaders[at];
        if loader.late_bytes > LATE_BYTES || loader.is_full(plan) {
            dispatch_late(session, queue, &mut loaders, at, &mut group).await?;
        }
        progress(Event::Read(read));
        room.check_stored(group.stored.bytes)?;
        if ends {
            break;
        }
    }
    for at in 0..loaders.loaders.len() {
        dispatch_late(session, queue, &mut loaders, at, &mut group).await?;
    }
    loaders.finish().await?;
    session.add_docs(&group.late).await?;
    Ok(group)
}

type Outcome = (FileTodo, Result<ReadFile, Skipped>);

/// Starts to read the files after number `after` on all cores.
async fn begin(
    session: &mut Session,
    plan: &Plan,
    queue: &Queue,
    after: i64,
) -> Result<JoinHandle<Vec<Outcome>>, Error> {
    let todo = queue.next(session, after, plan.batch_bytes()).await?;
    let (sources, max_bytes) = (Arc::clone(&plan.sources), plan.max_bytes);
    Ok(tokio::task::spawn_blocking(move || {
        // The files of a source follow each other.
        todo.par_chunk_by(|one, next| sources.is_one(one, next))
            .flat_map(|files| {
                let reader = sources.of(&files[0]).open(max_bytes);
                let read = move |file: &FileTodo| match &reader {
                    Ok(reader) => read(reader, file),
                    Err(reason) => Err(Skipped::new(*reason, file.bytes as u64)),
                };
                files.par_iter().map(move |file| (file.clone(), read(file)))
            })
            .collect()
    }))
}

/// Stores the files that a loader held back, smaller ones first, in batches.
async fn dispatch_late(
    session: &mut Session,
    queue: &Queue,
    loaders: &mut ShardLoaders<'_>,
    at: usize,
    group: &mut Group,
) -> Result<(), Error> {
    let loader = &mut loaders.loaders[at];
    loader.late_bytes = 0;
    let mut held = std::mem::take(&mut loader.late);
    // Files of about the same size stay in order.
    held.sort_by_key(|outcome| text_bytes(outcome).ilog2());
    let mut held = held.into_iter().peekable();
    while held.peek().is_some() {
        let mut bytes = 0;
        let mut batch = Vec::new();
        while let Some(next) = held.next_if(|_| bytes < BATCH_BYTES) {
            bytes += text_bytes(&next);
            batch.push(next);
        }
        dispatch(session, queue, loaders, at, batch, group).await?;
    }
    Ok(())
}

/// Returns the bytes of a file's text; 0 if the file was left out.
fn text_bytes((_, read): &Outcome) -> i64 {
    read.as_ref().map_or(0, |text| text.text.len() as i64)
}

/// Notes the shard and blob of each file, and sends new contents to a loader to be stored.
async fn dispatch(
    session: &mut Session,
    queue: &Queue,
    loaders: &mut ShardLoaders<'_>,
    at: usize,
    batch: Vec<Outcome>,
    group: &mut Group,
) -> Result<(), Error> {
    let oids: HashSet<Oid> =
        batch.iter().filter_map(|(_, read)| Some(read.as_ref().ok()?.oid)).collect();
    // Look among the contents being stored first, then among those stored. Contents committed in between are still
    // found.
    let mut places = loaders.places(&oids);
    let unknown: Vec<Oid> = oids.into_iter().filter(|oid| !places.contains_key(oid)).collect();
    let mut stored = session.stored(&unknown).await?;
    for (_, read) in &batch {
        // An earlier version stored another text of it, or did not record that bytes were replaced.
        if let Ok(file) = read
            && (file.encoding.is_foreign() || !file.encoding.is_exact())
            && stored.get(&file.oid).is_some_and(|at| at.encoding.as_deref() == Some(UNKNOWN))
        {
            stored.remove(&file.oid);
        }
    }
    // Docs of contents that are stored without them.
    let mut written = Vec::new();

    let mut fresh: Vec<Contents> = Vec::new();
    let (mut files, mut left_out, mut numbers) = (Vec::new(), Vec::new(), (Vec::new(), Vec::new()));
    let loader = &mut loaders.loaders[at];
    for (todo, read) in batch {
        let text = match read {
            Ok(text) => text,
            Err(Skipped { reason, bytes, fingerprint, rule, oid }) => {
                let (FileTodo { number, repo, path, .. }, reason) = (todo, reason.word());
                numbers.1.push(number);
                left_out.push(SkippedRow { repo, path, bytes, fingerprint, reason, rule, oid });
                continue;
            }
        };
        let bytes = text.text.len() as i32;
        if let Some(doc) = &text.doc {
            if let Some(at) = stored.get(&text.oid) {
                written.push((at.shard, at.blob, doc.clone()));
            } else if let Some(place) = places.get_mut(&text.oid).filter(|place| !place.doc) {
                // These contents came from a file without docs. Store the doc of this file with them if they are not
                // sent yet, else later.
                place.doc = true;
                let with = (place.shard == loader.shard)
                    .then(|| fresh.iter_mut().find(|contents| contents.id == place.blob));
                match with.flatten() {
                    Some(contents) => contents.doc = Some(doc.clone()),
                    None => group.late.push((place.shard, place.blob, doc.clone())),
                }
            }
        }
        let place = stored.get(&text.oid).map(|at| (at.shard, at.blob));
        let (shard, blob) = place.unwrap_or_else(|| {
            let place = places.entry(text.oid).or_insert_with(|| {
                let id = BlobId(loader.chunks);
                let doc = text.doc.is_some();
                loader.chunks += text.chunks.len() as i32;
                loader.bytes += i64::from(bytes);
                group.stored += Totals { files: 1, bytes: i64::from(bytes) };
                fresh.push(Contents {
                    oid: text.oid,
                    id,
                    text: text.text,
                    encoding: text.encoding.word(),
                    lines: text.lines,
                    chunks: text.chunks,
                    doc: text.doc,
                });
                BlobPlace { shard: loader.shard, blob: id, doc }
            });
            (place.shard, place.blob)
        });
        let FileTodo { number, repo, path, .. } = todo;
        numbers.0.push(number);
        files.push(FileRow {
            repo,
            path,
            shard,
            blob,
            bytes,
            fingerprint: text.fingerprint,
            language: text.language,
        });
    }
    session.filled(loader.shard, loader.chunks, loader.bytes);
    if !fresh.is_empty() {
        group.filled.push(loader.shard);
        loader.send(fresh).await?;
    }
    session.add_docs(&written).await?;
    for (shard, _, _) in written {
        if !group.filled.contains(&shard) {
            group.filled.push(shard);
        }
    }
    if let Queue::Given(_) = queue {
        group.read.extend(numbers.0.into_iter().zip(files.into_iter().map(Ok)));
        group.read.extend(numbers.1.into_iter().zip(left_out.into_iter().map(Err)));
        return Ok(());
    }
    session.loaded(&files).await?;
    session.left_out(&left_out).await?;
    Ok(())
}

type Places = HashMap<Oid, BlobPlace>;

/// The place of contents that are being stored.
#[derive(Clone, Copy)]
struct BlobPlace {
    shard: ShardId,
    blob: BlobId,
    /// Whether they have a doc.
    doc: bool,
}

/// The connections for storing, each with the shard it fills.
struct ShardLoaders<'a> {
    store: &'a Store,
    loaders: Vec<ShardLoader>,
    /// Number of turns so far; it determines the next loader.
    next: usize,
}

struct ShardLoader {
    shard: ShardId,
    /// Next free chunk number of the shard.
    chunks: i32,
    /// Bytes of text in the shard.
    bytes: i64,
    /// Large files that come last in the shard, and their bytes.
    late: Vec<Outcome>,
    late_bytes: i64,
    send: mpsc::Sender<(ShardId, Vec<Contents>)>,
    task: JoinHandle<Result<(), store::Error>>,
    /// Contents that may not be committed yet: those of the batch being stored and of the waiting batch.
    pending: [Places; 2],
}

impl ShardLoaders<'_> {
    /// Returns the loader for the next batch, with room in its shard.
    async fn turn(&mut self, session: &mut Session, plan: &Plan) -> Result<usize, Error> {
        // A small ingest fills one shard.
        let (_, shards) = session.stored_bytes();
        let most = if plan.small { 1 } else { cores().min(MAX_LOADERS).min(shards) };
        let at = self.next % most;
        self.next += 1;
        if self.loaders.get(at).is_some_and(|loader| !loader.is_full(plan)) {
            return Ok(at);
        }
        let others = self.loaders.iter().enumerate().filter(|(i, _)| *i != at);
        let busy: Vec<ShardId> = others.map(|(_, loader)| loader.shard).collect();
        let (shard, chunks, bytes) = session.next_shard(&busy, plan.full, plan.small).await?;
        match self.loaders.get_mut(at) {
            Some(loader) => (loader.shard, loader.chunks, loader.bytes) = (shard, chunks, bytes),
            None => {
                let mut loader = self.store.loader().await?;
                let (send, mut receive) = mpsc::channel::<(ShardId, Vec<Contents>)>(1);
                let task = tokio::spawn(async move {
                    while let Some((shard, contents)) = receive.recv().await {
                        loader.store(shard, &contents).await?;
                    }
                    loader.finish().await
                });
                let pending = [Places::new(), Places::new()];
                let (late, late_bytes) = (Vec::new(), 0);
                self.loaders.push(ShardLoader {
                    shard,
                    chunks,
                    bytes,
                    late,
                    late_bytes,
                    send,
                    task,
                    pending,
                });
            }
        }
        Ok(at)
    }

    /// Returns the places of contents that are being stored now.
    fn places(&self, oids: &HashSet<Oid>) -> Places {
        let pending = self.loaders.iter().flat_map(|loader| &loader.pending);
        pending
            .flatten()
            .filter(|(oid, _)| oids.contains(*oid))
            .map(|(oid, at)| (*oid, *at))
            .collect()
    }

    /// Waits until everything is committed.
    async fn finish(self) -> Result<(), Error> {
        for ShardLoader { send, task, .. } in self.loaders {
            drop(send);
            task.await.expect("storing does not panic")?;
        }
        Ok(())
    }
}

impl ShardLoader {
    /// Returns whether the shard has room only for held-back files.
    fn is_full(&self, plan: &Plan) -> bool {
        self.bytes + self.late_bytes >= plan.full
    }

    /// Holds back the large files of a batch, and returns the others.
    fn hold_back(&mut self, batch: Vec<Outcome>) -> Vec<Outcome> {
        let (late, others): (Vec<Outcome>, Vec<Outcome>) =
            batch.into_iter().partition(|outcome| text_bytes(outcome) > LARGE);
        self.late_bytes += late.iter().map(text_bytes).sum::<i64>();
        self.late.extend(late);
        others
    }

    async fn send(&mut self, contents: Vec<Contents>) -> Result<(), Error> {
        let place =
            |c: &Contents| BlobPlace { shard: self.shard, blob: c.id, doc: c.doc.is_some() };
        let places = contents.iter().map(|c| (c.oid, place(c))).collect();
        if self.send.send((self.shard, contents)).await.is_err() {
            // The receiver is gone, so the task has ended; it does so only with an error.
            (&mut self.task).await.expect("storing does not panic")?;
        }
        // The channel holds one batch: once it accepts this batch, the one before the last is committed.
        self.pending.swap(0, 1);
        self.pending[1] = places;
        Ok(())
    }
}
