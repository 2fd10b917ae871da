//! Reads files and texts of a shard from memory, and the missing ones from Postgres.

use std::collections::HashMap;
use std::iter::once;
use std::sync::Arc;

use futures_util::future::try_join_all;
use store::{BlobId, Chunk, Epoch, File, FileFilter, Shard, Store, SymbolRow};

use super::cost::CHUNKS_PER_CONNECTION;
use super::source::ContentReader;
use super::state::SearchState;
use super::stats::Phase;
use super::verify::TextChunk;
use crate::cache::ShardCache;
use crate::cache::files::ShardFiles;
use crate::cache::symbols::ShardSymbols;
use crate::cache::texts::{CompressedChunk, Reader};

/// Files and chunks of the candidates of a shard.
#[derive(Debug)]
pub(crate) struct PrefetchedRows {
    /// The candidate blobs, ascending.
    pub(crate) blobs: Vec<BlobId>,
    /// Their files, by blob, repository and path.
    pub(crate) files: Vec<File>,
    /// Their candidate chunks, ascending.
    pub(crate) chunks: Vec<Chunk>,
}

impl PrefetchedRows {
    /// Returns the chunks with some numbers, if all of them were read.
    pub(crate) fn chunks(&self, numbers: &[i32]) -> Option<Vec<&Chunk>> {
        let find = |n: &i32| self.chunks.binary_search_by_key(n, |chunk| chunk.n).ok();
        numbers.iter().map(|n| Some(&self.chunks[find(n)?])).collect()
    }

    /// Returns the files with some blobs, if these are candidates.
    pub(crate) fn files(&self, blobs: &[BlobId]) -> Option<Vec<File>> {
        if !blobs.iter().all(|blob| self.blobs.binary_search(blob).is_ok()) {
            return None;
        }
        let wanted = |file: &&File| blobs.binary_search(&file.blob).is_ok();
        Some(self.files.iter().filter(wanted).cloned().collect())
    }
}

/// Reads files and texts of one shard for one search.
#[derive(Debug)]
pub(crate) struct ShardReader {
    pub(crate) store: Store,
    pub(crate) shard: Shard,
    /// Filter for the wanted files.
    pub(crate) filter: FileFilter,
    /// Files of the shard, if they are in memory.
    pub(crate) files: Option<Arc<ShardFiles>>,
    /// Symbols of the shard, if they are in memory.
    pub(crate) symbols: Option<Arc<ShardSymbols>>,
    pub(crate) cache: Option<Arc<ShardCache>>,
    /// Rows that were read in advance.
    pub(crate) contents: Option<Arc<PrefetchedRows>>,
    pub(crate) state: Arc<SearchState>,
    /// Number of connections that may read chunks of the shard at once.
    pub(crate) connections: usize,
}

impl ShardReader {
    /// Returns the epoch that is read.
    pub(crate) fn epoch(&self) -> Epoch {
        self.filter.epoch
    }
}

impl ContentReader for ShardReader {
    async fn files(&self, blobs: Option<&[BlobId]>) -> Result<Vec<File>, store::Error> {
        if let Some(files) = &self.files {
            return Ok(files.of(blobs, &self.filter));
        }
        if let Some(files) = self.contents.as_ref().and_then(|read| read.files(blobs?)) {
            return Ok(files);
        }
        let load = async {
            let mut lease = self.store.lease().await?;
            let files = lease.files(self.shard.id, blobs, &self.filter).await?;
            lease.done();
            Ok(files)
        };
        self.state.counters.time(Phase::Files, load).await
    }

    fn cached_chunks(&self, numbers: &[i32]) -> Option<Vec<TextChunk>> {
        if let Some(chunks) = self.contents.as_ref().and_then(|read| read.chunks(numbers)) {
            return Some(chunks.into_iter().cloned().map(TextChunk::from).collect());
        }
        let mut texts = self.cache.as_ref()?.texts.reader(&self.shard);
        numbers.iter().map(|n| texts.chunk(*n).map(TextChunk::from)).collect()
    }

    async fn chunks(&self, numbers: &[i32]) -> Result<Vec<TextChunk>, store::Error> {
        if let Some(chunks) = self.contents.as_ref().and_then(|read| read.chunks(numbers)) {
            return Ok(chunks.into_iter().cloned().map(TextChunk::from).collect());
        }
        let load = async |missing: &[i32]| {
            let part = missing.len().div_ceil(self.connections).max(CHUNKS_PER_CONNECTION);
            let parts = try_join_all(missing.chunks(part).map(async |numbers| {
                let mut lease = self.store.lease().await?;
                let chunks = lease.chunks(self.shard.id, numbers).await?;
                lease.done();
                Ok::<_, store::Error>(chunks)
            }));
            Ok(parts.await?.concat())
        };
        self.cached_or(numbers, |texts, n| texts.chunk(*n).map(once), load).await
    }

    async fn symbols(&self, blobs: &[BlobId]) -> Result<Vec<SymbolRow>, store::Error> {
        if let Some(symbols) = &self.symbols {
            return Ok(symbols.rows(blobs));
        }
        let load = async {
            let mut lease = self.store.lease().await?;
            let rows = lease.symbols_of(self.shard.id, blobs).await?;
            lease.done();
            Ok(rows)
        };
        self.state.counters.time(Phase::Lookup, load).await
    }

    async fn chunks_at(&self, places: &[(BlobId, i32)]) -> Result<Vec<TextChunk>, store::Error> {
        let load = async |missing: &[(BlobId, i32)]| {
            let mut lease = self.store.lease().await?;
            let chunks = lease.chunks_at(self.shard.id, missing).await?;
            lease.done();
            Ok(chunks)
        };
        let cached = |texts: &mut Reader<'_>, (blob, at): &_| texts.chunk_at(*blob, *at).map(once);
        let mut chunks = self.cached_or(places, cached, load).await?;
        chunks.dedup_by_key(|chunk| chunk.n);
        Ok(chunks)
    }

    async fn blobs(&self, blobs: &[(BlobId, usize)]) -> Result<Vec<TextChunk>, store::Error> {
        let load = async |missing: &[(BlobId, usize)]| {
            let mut lease = self.store.lease().await?;
            let ids: Vec<BlobId> = missing.iter().map(|(blob, _)| *blob).collect();
            let chunks = lease.blobs(self.shard.id, &ids).await?;
            lease.done();
            self.check_whole(missing, &chunks)?;
            Ok(chunks)
        };
        self.cached_or(blobs, |texts, (blob, bytes)| texts.blob(*blob, *bytes), load).await
    }
}

impl ShardReader {
    /// Reads the `wanted` chunks from memory, and `load`s the missing ones from Postgres. Returns them by ascending
    /// number.
    async fn cached_or<K: Copy, C: IntoIterator<Item = CompressedChunk>>(
        &self,
        wanted: &[K],
        cached: impl Fn(&mut Reader<'_>, &K) -> Option<C>,
        load: impl AsyncFnOnce(&[K]) -> Result<Vec<Chunk>, store::Error>,
    ) -> Result<Vec<TextChunk>, store::Error> {
        let (mut found, mut missing) = (Vec::with_capacity(wanted.len()), Vec::new());
        let mut texts = self.cache.as_ref().map(|cache| cache.texts.reader(&self.shard));
        for key in wanted {
            match texts.as_mut().and_then(|texts| cached(texts, key)) {
                Some(chunks) => found.extend(chunks.into_iter().map(TextChunk::from)),
                None => missing.push(*key),
            }
        }
        drop(texts);
        if !missing.is_empty() {
            let chunks = self.state.counters.time(Phase::Load, load(&missing)).await?;
            self.missed(&chunks.iter().map(|chunk| chunk.n).collect::<Vec<_>>());
            found.extend(chunks.into_iter().map(TextChunk::from));
            found.sort_by_key(|chunk| chunk.n);
        }
        Ok(found)
    }

    /// Checks that blobs are complete, given their sizes in bytes: a missing chunk might have matched.
    fn check_whole(&self, blobs: &[(BlobId, usize)], chunks: &[Chunk]) -> Result<(), store::Error> {
        let mut have: HashMap<BlobId, usize> = HashMap::new();
        for chunk in chunks {
            *have.entry(chunk.blob).or_default() += chunk.contents.len();
        }
        let have = |blob| have.get(&blob).copied().unwrap_or(0);
        match blobs.iter().find(|(blob, bytes)| have(*blob) != *bytes) {
            None => Ok(()),
            Some((blob, bytes)) => Err(store::Error::Damaged(format!(
                "blob {} in shard {} has {} of its {bytes} bytes",
                blob.0,
                self.shard.id.0,
                have(*blob)
            ))),
        }
    }

    /// Makes the cache load the segments that hold many of these chunks.
    fn missed(&self, numbers: &[i32]) {
        if let Some(cache) = &self.cache {
            cache.missed(&self.store, &self.shard, numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use store::RepoId;

    use super::*;

    #[test]
    fn contents_tell_of_what_was_read_only() {
        let chunk =
            |n, blob| Chunk { n, blob: BlobId(blob), line: 1, start: 0, contents: "x".into() };
        let file = |blob, path: &str| File {
            blob: BlobId(blob),
            bytes: 1,
            repo: RepoId(1),
            path: path.to_owned(),
            language: None,
            trees: store::Trees::default(),
        };
        let contents = PrefetchedRows {
            blobs: vec![BlobId(2), BlobId(7)],
            files: vec![file(2, "a"), file(2, "b"), file(7, "c")],
            chunks: vec![chunk(2, 2), chunk(4, 2), chunk(8, 7)],
        };
        let numbers = |of: &[i32]| {
            contents.chunks(of).map(|chunks| chunks.iter().map(|chunk| chunk.n).collect::<Vec<_>>())
        };
        assert_eq!(numbers(&[4, 8]), Some(vec![4, 8]));
        assert_eq!(numbers(&[4, 5]), None);
        let paths = |of: &[i32]| {
            let blobs: Vec<BlobId> = of.iter().copied().map(BlobId).collect();
            contents.files(&blobs).map(|files| {
                files.into_iter().map(|file| file.path).collect::<Vec<String>>().concat()
            })
        };
        assert_eq!(paths(&[2]).as_deref(), Some("ab"));
        assert_eq!(paths(&[2, 7]).as_deref(), Some("abc"));
        assert_eq!(paths(&[2, 3]), None);
    }
}
