//! A shard in memory: the texts that were read from clones. Each text is one chunk, and all of them are matched.

use std::ops::Range;
use std::sync::Arc;

use answer::FileMatch;
use git::{Clone as GitClone, Oid};
use store::{
    BlobId, Chunk, Epoch, File, FileFilter, RepoId, Shard, ShardId, SharedText, Switch, SymbolRow,
};

use super::cache::Commits;
use super::commit_files::RecentShard;
use super::read::{self, Contents};

use crate::cache::files::ShardFiles;
use crate::candidates::Candidates;
use crate::context;
use crate::cost::MEMORY;
use crate::entry::FileEntry;
use crate::source::{ContentReader, Pace, Source};
use crate::verify::TextChunk;

/// The number of the shard in memory. No stored shard has it.
pub(crate) const MEMORY_SHARD: ShardId = ShardId(i16::MAX);

/// Texts that were read from clones, with their files.
#[derive(Debug)]
pub(crate) struct MemoryShard {
    pub(crate) files: Arc<ShardFiles>,
    /// The texts, by blob.
    pub(crate) texts: Vec<SharedText>,
    /// Git's names of the contents, by blob, to read the texts again.
    pub(crate) names: Arc<[Oid]>,
    /// The clones.
    pub(crate) clones: Arc<[(RepoId, GitClone)]>,
}

/// The shard in memory as the source of a search.
#[derive(Debug)]
pub(crate) struct MemorySource {
    pub(crate) shard: Arc<MemoryShard>,
    /// Filter for the wanted files.
    pub(crate) filter: FileFilter,
}

impl RecentShard {
    pub(crate) fn new(switch: Switch, shard: &MemoryShard) -> Self {
        let MemoryShard { files, names, clones, .. } = shard;
        let (files, names, clones) = (Arc::clone(files), Arc::clone(names), Arc::clone(clones));
        Self { switch, files, names, clones }
    }

    /// Reads the text of a file that was found in the shard; `None` if the file is not of this shard.
    fn text(&self, file: &FileMatch, commits: &Commits) -> Option<SharedText> {
        let blob = file.blob_key.1;
        let is_it = |entry: FileEntry<'_>| entry.repo == file.repo_id && entry.path == file.path;
        if !self.files.of_blob(blob).any(is_it) {
            return None;
        }
        let name = self.names.get(usize::try_from(blob.0).ok()?)?;
        if let Some(text) = commits.text(name) {
            return Some(text?.text.clone());
        }
        let (_, clone) = self.clones.iter().find(|(repo, _)| *repo == file.repo_id)?;
        match read::read(&clone.reader(), name, commits) {
            Ok(Contents::Text(text)) => Some(text.text.clone()),
            Ok(_) | Err(_) => None,
        }
    }
}

/// Adds context lines to files that were found in a shard in memory. Files whose texts are gone are unchanged.
pub(crate) async fn add_context(
    commits: &Arc<Commits>,
    files: Vec<&mut FileMatch>,
    switch: Switch,
    (before, after): (usize, usize),
) {
    let shards: Vec<Arc<RecentShard>> =
        commits.recent().into_iter().filter(|shard| shard.switch == switch).collect();
    let places: Vec<FileMatch> = files
        .iter()
        .map(|file| FileMatch { lines: Vec::new(), ..FileMatch::clone(file) })
        .collect();
    let own = Arc::clone(commits);
    let reading = tokio::task::spawn_blocking(move || {
        let text = |file: &FileMatch| shards.iter().filter_map(|of| of.text(file, &own)).collect();
        places.iter().map(text).collect::<Vec<Vec<SharedText>>>()
    });
    let texts = reading.await.expect("reading does not panic");
    for (file, texts) in files.into_iter().zip(texts) {
        let of = |text: &&SharedText| file.lines.iter().all(|line| context::stands_in(line, text));
        if let Some(text) = texts.iter().find(of) {
            file.lines = context::around(std::mem::take(&mut file.lines), text, before, after);
        }
    }
}

impl MemoryShard {
    /// Returns the shard as a search sees it.
    pub(crate) fn shard(&self, epoch: Epoch) -> Shard {
        Shard {
            id: MEMORY_SHARD,
            bytes: self.texts.iter().map(|text| text.len() as i64).sum(),
            since: epoch,
            chunks: self.texts.len() as i32,
            changed: epoch,
            filtered: 0,
            worded: 0,
            languages: Arc::default(),
        }
    }

    fn chunk(&self, n: i32) -> Option<TextChunk> {
        let contents = self.texts.get(usize::try_from(n).ok()?)?.clone();
        Some(TextChunk::from(Chunk { n, blob: BlobId(n), line: 1, start: 0, contents }))
    }

    fn all(&self, blobs: impl Iterator<Item = BlobId>) -> Vec<TextChunk> {
        blobs.filter_map(|blob| self.chunk(blob.0)).collect()
    }
}

impl Source for MemorySource {
    type Reader = Self;

    fn reader(&self) -> &Self {
        self
    }

    fn pace(&self) -> Pace {
        Pace {
            costs: &MEMORY,
            pipelines: false,
            reads_chunks_first: false,
            known_chunks: None,
            named_blobs: None,
        }
    }

    fn end_of_range(&self, _: i32) -> i32 {
        i32::MAX
    }

    async fn candidates(&self, _: Range<i32>) -> Result<Candidates, store::Error> {
        // All of them.
        Ok(Candidates::default())
    }
}

impl ContentReader for MemorySource {
    async fn files(&self, blobs: Option<&[BlobId]>) -> Result<Vec<File>, store::Error> {
        Ok(self.shard.files.of(blobs, &self.filter))
    }

    fn cached_chunks(&self, numbers: &[i32]) -> Option<Vec<TextChunk>> {
        Some(self.shard.all(numbers.iter().copied().map(BlobId)))
    }

    async fn chunks(&self, numbers: &[i32]) -> Result<Vec<TextChunk>, store::Error> {
        Ok(self.shard.all(numbers.iter().copied().map(BlobId)))
    }

    async fn symbols(&self, _: &[BlobId]) -> Result<Vec<SymbolRow>, store::Error> {
        // Ingest takes symbols, in processes of their own.
        Ok(Vec::new())
    }

    async fn chunks_at(&self, places: &[(BlobId, i32)]) -> Result<Vec<TextChunk>, store::Error> {
        let mut blobs: Vec<BlobId> = places.iter().map(|(blob, _)| *blob).collect();
        blobs.dedup();
        Ok(self.shard.all(blobs.into_iter()))
    }

    async fn blobs(&self, blobs: &[(BlobId, usize)]) -> Result<Vec<TextChunk>, store::Error> {
        Ok(self.shard.all(blobs.iter().map(|(blob, _)| *blob)))
    }
}
