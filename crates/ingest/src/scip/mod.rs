//! Imports SCIP indexes: a compiler's knowledge of the names in a repository's texts.
//!
//! An index is read as a [`stream`]. Each [`document`] is compared with the file at its path: its places become bytes
//! of that text ([`position`]). Documents that do not fit are refused and counted; the others are stored in one
//! transaction.

mod document;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod position;
mod stream;
mod wire;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

use store::{
    BlobId, RepoId, ScipDocument, ScipFile, ScipSource, ScipWriter, Session, ShardId, Store,
};

use crate::{Event, Progress, lock};
pub use document::Refusal;
use stream::{MAX_DOCUMENT, Part, Stream};

/// Bytes of documents to read before storing them.
const BATCH_BYTES: usize = 4 << 20;

/// Number of documents to read before storing them.
const BATCH_DOCUMENTS: usize = 500;

/// Number of paths that an error lists.
const NAMED: usize = 3;

/// The reason why an index was not imported. An earlier import stays.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("cannot read the SCIP index: {0}")]
    Read(#[source] io::Error),
    /// It is not a SCIP index.
    #[error(
        "this is not a SCIP index: it does not begin with metadata; give the index.scip that an indexer wrote, uncompressed"
    )]
    NoIndex,
    /// It ends in the middle.
    #[error(
        "the SCIP index is truncated after {0} bytes; create or copy it again; nothing was imported"
    )]
    CutOff(u64),
    /// It is damaged.
    #[error("the SCIP index is corrupt at byte {0}; create it again; nothing was imported")]
    Broken(u64),
    /// There is no such repository.
    #[error("no repository is named '{0}'; codesearch repos lists them")]
    NoSuchRepo(String),
    /// It has no documents.
    #[error("the SCIP index has no documents; check the indexer's messages; nothing was imported")]
    Empty,
    /// It describes other files.
    #[error(
        "none of the {documents} in the SCIP index matches {repo} as indexed ({reasons}); if it covers one folder of \
         the repository, name the folder with --root; if files have changed, ingest them first; nothing was imported"
    )]
    NothingFits {
        /// Number of its documents, with the noun.
        documents: String,
        /// The repository's name.
        repo: String,
        /// The reasons, each with an example.
        reasons: String,
    },
    /// The database failed.
    #[error(transparent)]
    Ingest(#[from] crate::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Ingest(error.into())
    }
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The folder of the repository for which the index was made; empty for the whole.
    pub root: String,
    /// The tool that made the index, with its version.
    pub tool: String,
    /// Number of stored documents.
    pub documents: usize,
    /// Number of places in them.
    pub occurrences: usize,
    /// Documents that were not stored: for each reason their number and one path.
    pub refused: BTreeMap<Refusal, (usize, String)>,
    /// Whether the import replaced an earlier one.
    pub replaced: bool,
}

impl Report {
    /// Returns the number of documents that were not stored.
    pub fn refusals(&self) -> usize {
        self.refused.values().map(|(count, _)| count).sum()
    }

    fn refuse(&mut self, refusal: Refusal, path: &str) {
        self.refused.entry(refusal).or_insert_with(|| (0, path.to_owned())).0 += 1;
    }
}

/// Imports an index of a repository. `root` is the folder of the repository for which the index was made, if it does
/// not name one itself; `bytes` is its size, if known.
///
/// # Errors
/// The input is no index, is truncated or corrupt, or describes other files; there is no such repository; or the
/// database fails. Then nothing is imported.
pub async fn import(
    store: &Store,
    repo: &str,
    root: Option<&str>,
    index: Box<dyn Read + Send>,
    bytes: Option<u64>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    store.watched(Box::pin(import_all(store, repo, root, index, bytes, progress))).await
}

/// Deletes all indexes of a repository, and returns their number.
///
/// # Errors
/// There is no such repository; or the database fails.
pub async fn remove(store: &Store, repo: &str, progress: &dyn Progress) -> Result<usize, Error> {
    let remove = async {
        let mut session = lock(store, progress).await?;
        let (id, _) = find(store, repo).await?;
        let count = session.delete_scip(id).await?;
        session.close().await?;
        Ok(count)
    };
    store.watched(Box::pin(remove)).await
}

async fn find(store: &Store, repo: &str) -> Result<(RepoId, String), Error> {
    let repos = store.repos().await?;
    let found = repos.into_iter().find(|known| known.name == repo);
    let found = found.ok_or_else(|| Error::NoSuchRepo(repo.to_owned()))?;
    Ok((found.id, found.source))
}

async fn import_all(
    store: &Store,
    repo: &str,
    root: Option<&str>,
    index: Box<dyn Read + Send>,
    bytes: Option<u64>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let mut session = lock(store, progress).await?;
    let imported = import_in(&mut session, store, repo, root, (index, bytes), progress).await;
    let closed = session.close().await;
    let report = imported?;
    closed?;
    Ok(report)
}

async fn import_in(
    session: &mut Session,
    store: &Store,
    repo: &str,
    root: Option<&str>,
    (index, bytes): (Box<dyn Read + Send>, Option<u64>),
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let (id, source) = find(store, repo).await?;
    let reading = blocking(Stream::new(index), Stream::metadata);
    let (mut stream, metadata) = session.await_other(reading).await;
    let metadata = metadata?;
    let root = match root {
        Some(root) => root.trim_matches('/').to_owned(),
        None => root_in(&metadata.project_root, &source),
    };
    let mut report = Report {
        tool: format!("{} {}", metadata.tool, metadata.version).trim_end().to_owned(),
        root,
        ..Report::default()
    };
    let from = ScipSource { root: &report.root, tool: &metadata.tool, version: &metadata.version };
    let mut writer = session.scip_writer(id, from).await?;
    report.replaced = writer.replaces();
    if let Some(bytes) = bytes {
        progress(Event::Scip(bytes as i64));
    }
    let mut is_proven = false;
    loop {
        let (next, batch) = writer.await_other(blocking(stream, next_batch)).await;
        stream = next;
        let batch = batch?;
        let is_last = batch.is_last;
        is_proven |= store_batch(&mut writer, batch, &mut report).await?;
        if bytes.is_some() {
            progress(Event::ScipRead(stream.at() as i64));
        }
        if is_last {
            break;
        }
    }
    let refused = report.refusals();
    if report.documents + refused == 0 {
        return Err(Error::Empty);
    }
    // Files without names, such as empty ones, fit any index.
    if !is_proven {
        return Err(Error::NothingFits {
            documents: counted(report.documents + refused, "file"),
            repo: repo.to_owned(),
            reasons: reasons(&report),
        });
    }
    writer.finish(refused).await?;
    Ok(report)
}

/// Works on a stream where blocking reads delay no other task.
async fn blocking<T: Send + 'static>(
    mut stream: Stream,
    work: impl FnOnce(&mut Stream) -> T + Send + 'static,
) -> (Stream, T) {
    let done = tokio::task::spawn_blocking(move || {
        let done = work(&mut stream);
        (stream, done)
    });
    done.await.expect("reading does not panic")
}

/// A document's bytes in the index, and the offset at which it begins.
struct Raw {
    at: u64,
    bytes: Vec<u8>,
}

/// Documents that are stored together.
#[derive(Default)]
struct Batch {
    documents: Vec<Raw>,
    /// Number of documents that are too large.
    too_large: usize,
    is_last: bool,
}

fn next_batch(stream: &mut Stream) -> Result<Batch, Error> {
    let (mut batch, mut bytes) = (Batch::default(), 0);
    while bytes < BATCH_BYTES && batch.documents.len() < BATCH_DOCUMENTS {
        match stream.next()? {
            Part::Document(document) => {
                bytes += document.len();
                let at = stream.at() - document.len() as u64;
                batch.documents.push(Raw { at, bytes: document });
            }
            Part::TooLarge => batch.too_large += 1,
            Part::End => {
                batch.is_last = true;
                break;
            }
        }
    }
    Ok(batch)
}

/// Stores the documents that fit, and returns whether a name in one of them proves it.
async fn store_batch(
    writer: &mut ScipWriter<'_>,
    batch: Batch,
    report: &mut Report,
) -> Result<bool, Error> {
    let too_large = format!("a document of more than {} MB", MAX_DOCUMENT >> 20);
    for _ in 0..batch.too_large {
        report.refuse(Refusal::TooLarge, &too_large);
    }
    let mut waiting: HashMap<String, Raw> = HashMap::new();
    for raw in batch.documents {
        let path = document::path(&raw.bytes).map_err(|_| Error::Broken(raw.at))?;
        match waiting.entry(within(&report.root, path)) {
            Entry::Occupied(known) => report.refuse(Refusal::Twice, known.key()),
            Entry::Vacant(place) => drop(place.insert(raw)),
        }
    }
    // Postgres has no text with a zero byte.
    let mut paths: Vec<String> =
        waiting.keys().filter(|path| !path.contains('\0')).cloned().collect();
    paths.sort_unstable();
    let mut by_shard: BTreeMap<ShardId, Vec<(ScipFile, Raw)>> = BTreeMap::new();
    for file in writer.files(&paths).await? {
        let Some(raw) = waiting.remove(&file.path) else { continue };
        if file.taken {
            report.refuse(Refusal::Twice, &file.path);
        } else {
            by_shard.entry(file.shard).or_default().push((file, raw));
        }
    }
    let mut left: Vec<&String> = waiting.keys().collect();
    left.sort_unstable();
    for path in left {
        report.refuse(Refusal::NoFile, path);
    }
    let mut is_proven = false;
    for (shard, files) in by_shard {
        let mut blobs: Vec<BlobId> = files.iter().map(|(file, _)| file.blob).collect();
        blobs.sort_unstable();
        blobs.dedup();
        let texts: HashMap<BlobId, String> =
            writer.texts(shard, &blobs).await?.into_iter().collect();
        let mut rows: Vec<(BlobId, String, ScipDocument)> = Vec::new();
        for (ScipFile { blob, path, .. }, raw) in files {
            let text = texts.get(&blob).map_or("", String::as_str);
            match document::fit(&raw.bytes, text).map_err(|_| Error::Broken(raw.at))? {
                Ok(fitted) => {
                    is_proven |= fitted.is_proven;
                    report.documents += 1;
                    report.occurrences += fitted.document.occurrences.len();
                    rows.push((blob, path, fitted.document));
                }
                Err(refusal) => report.refuse(refusal, &path),
            }
        }
        if !rows.is_empty() {
            writer.store(shard, &rows).await?;
        }
    }
    Ok(is_proven)
}

/// Converts a path in a folder to one in its repository.
fn within(root: &str, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    if root.is_empty() { path.to_owned() } else { format!("{root}/{path}") }
}

/// Returns the folder of a repository for which an index was made, from that folder's URI; empty if the folder is
/// elsewhere.
fn root_in(project_root: &str, source: &str) -> String {
    let Some(folder) = project_root.strip_prefix("file://") else { return String::new() };
    let folder = decoded(folder);
    let within = folder.trim_end_matches('/').strip_prefix(source.trim_end_matches('/'));
    let within = within.filter(|within| within.is_empty() || within.starts_with('/'));
    within.unwrap_or_default().trim_matches('/').to_owned()
}

/// Decodes `%20` and the like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex =
            after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Lists the reasons why documents were not stored, each with one path.
fn reasons(report: &Report) -> String {
    let mut all: Vec<_> = report.refused.iter().collect();
    all.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let told = all.iter().take(NAMED).map(|(refusal, (count, path))| {
        if *count > 1 {
            format!("{count} {refusal}, such as {path}")
        } else {
            format!("{path} {refusal}")
        }
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { "no document has a name to compare".to_owned() } else { told.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_an_index_is_told_by_its_uri() {
        for (uri, root) in [
            ("file:///home/a b/repo", ""),
            ("file:///home/a%20b/repo", ""),
            ("file:///home/a%20b/repo/", ""),
            ("file:///home/a%20b/repo/web/app/", "web/app"),
            ("file:///home/a%20b/repository", ""),
            ("file:///build/17", ""),
            ("file:///home/a%20b/repo/100%", "100%"),
            ("", ""),
        ] {
            assert_eq!(root_in(uri, "/home/a b/repo"), root, "{uri}");
        }
        assert_eq!(
            (within("", "./a.ts"), within("web", "a.ts")),
            ("a.ts".into(), "web/a.ts".into())
        );
    }
}
