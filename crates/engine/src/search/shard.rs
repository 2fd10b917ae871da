//! One search in one shard: candidates, their files, their texts, what matches.

use std::collections::HashMap;
use std::sync::Arc;

use store::{BlobId, Catalog, Chunk, File, ShardId, Store};
use tokio::sync::mpsc;

use super::select::Scope;
use super::verify::{Unit, verify};
use super::{FileMatch, Filter, Line, Request, context};

/// Chunks that are loaded and verified first. The next batches are each four times as large, so
/// that a search that stops at a limit loads little and one that goes on makes few round trips.
const FIRST_BATCH: usize = 128;

/// Chunks in a batch at most: 4 MB of text at their usual size.
const MAX_BATCH: usize = 2048;

/// What one shard tells of one search, in order.
#[derive(Debug)]
pub(crate) enum Told {
    /// So many chunks were named by the index.
    Candidates(usize),
    /// The next files.
    Files(Vec<FileMatch>),
    /// It could not be searched.
    Failed(store::Error),
}

/// One search in one shard; runs as a task of its own.
pub(crate) struct ShardSearch {
    pub(crate) store: Store,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) scope: Arc<Scope>,
    pub(crate) request: Arc<Request>,
    pub(crate) shard: ShardId,
}

impl ShardSearch {
    /// Searches, and sends what is found batch by batch. Ends soon after it has one file more than
    /// the limit, which tells that there is more, or when nobody listens any longer.
    pub(crate) async fn run(self, told: mpsc::Sender<Told>) {
        if let Err(error) = self.tell(&told).await {
            let _ = told.send(Told::Failed(error)).await;
        }
    }

    async fn tell(&self, told: &mpsc::Sender<Told>) -> Result<(), store::Error> {
        let candidates = if self.request.brute {
            self.store.all_chunks(self.shard).await?
        } else {
            self.store.candidates(self.shard, &self.request.need).await?.chunks
        };
        let _ = told.send(Told::Candidates(candidates.len())).await;
        let mut rest = candidates.as_slice();
        let (mut size, mut files) = (FIRST_BATCH, 0);
        while !rest.is_empty() && self.request.limit.is_none_or(|limit| files <= limit) {
            let (batch, tail) = rest.split_at(batch_end(rest, size));
            rest = tail;
            size = MAX_BATCH.min(size * 4);
            let found = self.batch(batch).await?;
            files += found.len();
            if !found.is_empty() && told.send(Told::Files(found)).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The files of one batch of chunks in which something matches.
    async fn batch(&self, batch: &[(i32, BlobId)]) -> Result<Vec<FileMatch>, store::Error> {
        let Self { store, catalog, scope, request, shard } = self;
        let mut blobs: Vec<BlobId> = batch.iter().map(|(_, blob)| *blob).collect();
        blobs.dedup();
        // Files first: chunks of files that are not looked at, or that are no longer files, need not
        // be loaded.
        let mut files: HashMap<BlobId, Vec<File>> = HashMap::new();
        for file in store.files(*shard, &blobs, catalog.epoch, scope.repos.as_deref()).await? {
            if passes(&file, &request.filter) {
                files.entry(file.blob).or_default().push(file);
            }
        }
        let numbers: Vec<i32> =
            batch.iter().filter(|(_, blob)| files.contains_key(blob)).map(|(n, _)| *n).collect();
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let chunks = store.chunks(*shard, &numbers).await?;
        let units = if request.brute {
            whole_blobs(chunks)
        } else {
            chunks.into_iter().map(unit).collect()
        };
        let matcher = request.matcher.clone();
        let mut verified = tokio::task::spawn_blocking(move || verify(&matcher, &units))
            .await
            .expect("verifying does not panic");
        if request.context != (0, 0) && !verified.is_empty() {
            let blobs: Vec<BlobId> = verified.iter().map(|(blob, _)| *blob).collect();
            let texts = whole_blobs(store.blobs(*shard, &blobs).await?);
            context::add(&mut verified, &texts, request.context);
        }
        let mut found = Vec::new();
        for (blob, lines) in verified {
            let Some(mut at) = files.remove(&blob) else { continue };
            at.sort_unstable_by(|a, b| (a.repo, &a.path).cmp(&(b.repo, &b.path)));
            let last = at.pop();
            found.extend(at.into_iter().map(|file| file_match(catalog, file, lines.clone())));
            found.extend(last.map(|file| file_match(catalog, file, lines)));
        }
        Ok(found)
    }
}

/// Where a batch of about `size` chunks ends: with the last chunk of a blob.
fn batch_end(chunks: &[(i32, BlobId)], size: usize) -> usize {
    let Some((_, last)) = chunks.get(size - 1) else { return chunks.len() };
    size + chunks[size..].iter().take_while(|(_, blob)| blob == last).count()
}

fn passes(file: &File, filter: &Filter) -> bool {
    let path = filter.paths.is_empty() || filter.paths.iter().any(|p| p.is_match(&file.path));
    let language = filter.languages.is_empty()
        || file.language.as_ref().is_some_and(|language| {
            filter.languages.iter().any(|l| l.eq_ignore_ascii_case(language))
        });
    path && language
}

fn file_match(catalog: &Catalog, file: File, lines: Vec<Line>) -> FileMatch {
    let repo = catalog.repos.get(&file.repo).map_or_else(String::new, |repo| repo.name.clone());
    FileMatch { repo, path: file.path, language: file.language, lines }
}

fn unit(chunk: Chunk) -> Unit {
    Unit {
        blob: chunk.blob,
        line: chunk.line as u64,
        start: chunk.start as u64,
        text: chunk.contents,
    }
}

/// Puts chunks, which are in order and complete, together again.
fn whole_blobs(chunks: Vec<Chunk>) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for chunk in chunks {
        match units.last_mut() {
            Some(unit) if unit.blob == chunk.blob => unit.text.push_str(&chunk.contents),
            _ => units.push(unit(chunk)),
        }
    }
    units
}
