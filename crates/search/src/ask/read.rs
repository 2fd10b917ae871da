//! Reads the files, symbols and texts of candidates: from memory, or the missing ones with a statement for each group of
//! shards.

use std::collections::HashMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use store::{BlobId, File, ShardId, SymbolRow};

use super::chosen::{AskedShard, Chosen};
use super::first::Candidate;
use crate::verify::TextChunk;
use crate::view::View;

/// A text, by the number of its shard among those of the question, and its blob.
pub(super) type TextKey = (usize, BlobId);

/// Reads about candidates.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) view: &'a View,
    pub(super) chosen: &'a Chosen,
    pub(super) shards: &'a [AskedShard],
}

impl Reader<'_> {
    /// Returns the files of some candidates that the question is about, ordered by repository and path.
    ///
    /// # Errors
    /// The database query fails.
    pub(super) async fn files(
        self,
        candidates: &[Candidate],
    ) -> Result<HashMap<TextKey, Vec<File>>, store::Error> {
        // They are few, so their paths are matched even after the deadline.
        let go_on = || true;
        let mut all: Vec<(usize, Vec<File>)> = Vec::new();
        let mut missing = Vec::new();
        for (at, blobs) in blobs_of(candidates.iter()) {
            match self.chosen.files_in_memory(&self.shards[at], &blobs, &go_on) {
                Some(files) => all.push((at, files)),
                None => missing.push((at, blobs)),
            }
        }
        let reads: Vec<_> =
            self.groups(missing).into_iter().map(|asked| self.read_files(asked)).collect();
        for (at, files) in self.together(reads).await? {
            all.push((at, self.chosen.retain(files, &go_on)));
        }
        let mut of_texts: HashMap<TextKey, Vec<File>> = HashMap::new();
        for (at, files) in all {
            for file in files {
                of_texts.entry((at, file.blob)).or_default().push(file);
            }
        }
        let repos = &self.chosen.catalog.repos;
        for files in of_texts.values_mut() {
            files.sort_by(|a, b| {
                let name = |file: &File| &repos[&file.repo].name;
                (name(a), &a.path).cmp(&(name(b), &b.path))
            });
        }
        Ok(of_texts)
    }

    /// Returns the symbols of some candidates, as far as there are any.
    ///
    /// # Errors
    /// The database query fails.
    pub(super) async fn symbols(
        self,
        candidates: &[Candidate],
    ) -> Result<HashMap<TextKey, SymbolRow>, store::Error> {
        let mut all: HashMap<TextKey, SymbolRow> = HashMap::new();
        let mut missing = Vec::new();
        for (at, blobs) in blobs_of(candidates.iter()) {
            match &self.shards[at].symbols {
                Some(kept) => {
                    all.extend(kept.rows(&blobs).into_iter().map(|row| ((at, row.blob), row)));
                }
                None => missing.push((at, blobs)),
            }
        }
        let reads: Vec<_> =
            self.groups(missing).into_iter().map(|asked| self.read_symbols(asked)).collect();
        all.extend(self.together(reads).await?);
        Ok(all)
    }

    /// Returns the best chunks of some candidates, in order.
    ///
    /// # Errors
    /// The database query fails.
    pub(super) async fn texts<'c>(
        self,
        candidates: impl Iterator<Item = &'c Candidate>,
    ) -> Result<HashMap<TextKey, Vec<TextChunk>>, store::Error> {
        let mut numbers: HashMap<usize, Vec<i32>> = HashMap::new();
        for one in candidates {
            numbers.entry(one.shard).or_default().extend(&one.chunks);
        }
        let mut all: Vec<(usize, TextChunk)> = Vec::new();
        let mut missing = Vec::new();
        for (at, numbers) in numbers {
            let mut texts =
                self.view.cache().map(|cache| cache.texts.reader(&self.shards[at].shard));
            let mut others = Vec::new();
            for n in numbers {
                match texts.as_mut().and_then(|texts| texts.chunk(n)) {
                    Some(chunk) => all.push((at, chunk.into())),
                    None => others.push(n),
                }
            }
            if !others.is_empty() {
                missing.push((at, others));
            }
        }
        let reads: Vec<_> =
            self.groups(missing).into_iter().map(|asked| self.read_chunks(asked)).collect();
        all.extend(self.together(reads).await?);
        all.sort_by_key(|(at, chunk)| (*at, chunk.n));
        let mut of_texts: HashMap<TextKey, Vec<TextChunk>> = HashMap::new();
        for (at, chunk) in all {
            of_texts.entry((at, chunk.blob)).or_default().push(chunk);
        }
        Ok(of_texts)
    }

    async fn read_files(
        self,
        asked: Vec<(usize, Vec<BlobId>)>,
    ) -> Result<Vec<(usize, Vec<File>)>, store::Error> {
        let numbers: Vec<(ShardId, Vec<i32>)> = asked
            .iter()
            .map(|(at, blobs)| (self.id(*at), blobs.iter().map(|blob| blob.0).collect()))
            .collect();
        let mut lease = self.view.store().lease().await?;
        let filter = &self.chosen.selection.files;
        let mut read = lease.files_of_shards(&numbers, filter).await?;
        lease.done();
        let of = |at: usize| (at, read.remove(&self.id(at)).unwrap_or_default());
        Ok(asked.into_iter().map(|(at, _)| at).map(of).collect())
    }

    async fn read_symbols(
        self,
        asked: Vec<(usize, Vec<BlobId>)>,
    ) -> Result<Vec<(TextKey, SymbolRow)>, store::Error> {
        let (numbers, ids): (Vec<usize>, Vec<(ShardId, Vec<BlobId>)>) =
            asked.into_iter().map(|(at, blobs)| (at, (self.id(at), blobs))).unzip();
        let mut lease = self.view.store().lease().await?;
        let mut read = lease.symbols_of_shards(&ids).await?;
        lease.done();
        let rows = numbers.into_iter().flat_map(|at| {
            let rows = read.remove(&self.id(at)).unwrap_or_default();
            rows.into_iter().map(move |row| ((at, row.blob), row))
        });
        Ok(rows.collect())
    }

    async fn read_chunks(
        self,
        asked: Vec<(usize, Vec<i32>)>,
    ) -> Result<Vec<(usize, TextChunk)>, store::Error> {
        let (of, numbers): (Vec<usize>, Vec<(ShardId, Vec<i32>)>) =
            asked.into_iter().map(|(at, numbers)| (at, (self.id(at), numbers))).unzip();
        let mut lease = self.view.store().lease().await?;
        let mut read = lease.chunks_of_shards(&numbers).await?;
        lease.done();
        let chunks = of.into_iter().flat_map(|at| {
            let chunks = read.remove(&self.id(at)).unwrap_or_default();
            chunks.into_iter().map(move |chunk| (at, chunk.into()))
        });
        Ok(chunks.collect())
    }

    fn id(self, at: usize) -> ShardId {
        self.shards[at].shard.id
    }

    /// Cuts what is asked of several shards into groups, each for one statement.
    fn groups<T>(self, asked: Vec<(usize, T)>) -> Vec<Vec<(usize, T)>> {
        self.view.store().in_groups(asked, |(at, _)| self.id(*at))
    }

    /// Reads with several connections.
    async fn together<R>(
        self,
        reads: Vec<impl Future<Output = Result<Vec<R>, store::Error>>>,
    ) -> Result<Vec<R>, store::Error> {
        let reads = stream::iter(reads).buffer_unordered(self.view.parallel());
        let read: Vec<Vec<R>> = reads.try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }
}

/// Returns the blobs of some candidates, ascending, by shard.
fn blobs_of<'c>(candidates: impl Iterator<Item = &'c Candidate>) -> Vec<(usize, Vec<BlobId>)> {
    let mut of: HashMap<usize, Vec<BlobId>> = HashMap::new();
    for one in candidates {
        of.entry(one.shard).or_default().push(one.blob);
    }
    let mut all: Vec<(usize, Vec<BlobId>)> = of.into_iter().collect();
    all.sort_unstable_by_key(|(at, _)| *at);
    for (_, blobs) in &mut all {
        blobs.sort_unstable();
    }
    all
}
