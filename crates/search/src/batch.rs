//! Batches: the candidates of a shard, cut into pieces to read one at a time.

use store::{BlobId, File};

use super::candidates::{CandidateList, Candidates};
use super::chunk_set::BlobStarts;
use super::cost::{
    BATCHES_PER_CORE, CHUNK_BYTES, CHUNKS_PER_BLOB, JOB_BYTES, MAX_BYTES, READ_FIRST, SMALL_BATCH,
};
use super::evaluate::OpenFile;
use super::verify::MatchInput;

/// Some blobs and their candidate chunks.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) blobs: Vec<BlobId>,
    /// Chunk number, blob, and index of the candidate list that names the chunk; in the order of blobs.
    pub(crate) chunks: Vec<(i32, BlobId, usize)>,
    /// Files with these blobs, if they are loaded already.
    pub(crate) files: Option<Vec<File>>,
}

/// A batch, cut into groups with a bounded number of bytes.
pub(crate) struct FileGroups {
    pub(crate) batch: Batch,
    pub(crate) open: std::iter::Peekable<std::vec::IntoIter<OpenFile>>,
}

/// Some files of a batch, all files of each blob, and their candidate chunks.
pub(crate) struct FileGroup {
    pub(crate) open: Vec<OpenFile>,
    pub(crate) chunks: Vec<(i32, BlobId, usize)>,
}

impl Batch {
    /// Returns the approximate number of chunks to read: the candidate chunks, or the blobs if those are more, since a
    /// blob that is read as a whole has no candidate chunks.
    pub(crate) fn reads(&self) -> usize {
        self.chunks.len().max(self.blobs.len())
    }

    /// Cuts the batch at the same blobs at which its texts are cut into `parts`.
    pub(crate) fn cut(
        mut self,
        parts: Vec<Vec<MatchInput>>,
    ) -> impl Iterator<Item = (Batch, Vec<MatchInput>)> {
        let mut left = parts.len();
        parts.into_iter().map(move |inputs| {
            left -= 1;
            let rest = match inputs.last().filter(|_| left > 0) {
                Some(last) => self.split_off(last.chunk.blob),
                None => Batch::default(),
            };
            (std::mem::replace(&mut self, rest), inputs)
        })
    }

    /// Splits off the blobs after `last`. Assumes that no files are loaded yet.
    fn split_off(&mut self, last: BlobId) -> Batch {
        let blobs = self.blobs.partition_point(|blob| *blob <= last);
        let chunks = self.chunks.partition_point(|(_, blob, _)| *blob <= last);
        let blobs = self.blobs.split_off(blobs);
        Batch { blobs, chunks: self.chunks.split_off(chunks), files: None }
    }
}

impl FileGroups {
    pub(crate) fn next(&mut self) -> Option<FileGroup> {
        let mut group = FileGroup { open: Vec::new(), chunks: Vec::new() };
        let mut bytes = 0;
        while bytes < MAX_BYTES
            && let Some(first) = self.open.next()
        {
            let (blob, size) = (first.file.blob, first.file.bytes as usize);
            // Files and chunks are both in the order of blobs.
            let named = self.batch.chunks.partition_point(|(_, at, _)| *at < blob);
            let behind = self.batch.chunks.partition_point(|(_, at, _)| *at <= blob);
            let chunks = &self.batch.chunks[named..behind];
            bytes += size;
            group.chunks.extend_from_slice(chunks);
            group.open.push(first);
            while let Some(next) = self.open.next_if(|next| next.file.blob == blob) {
                group.open.push(next);
            }
        }
        (!group.open.is_empty()).then_some(group)
    }
}

/// The candidates of a shard, batch by batch.
pub(crate) struct Batches<'a> {
    lists: &'a [CandidateList],
    starts: Option<&'a BlobStarts>,
    blobs: Vec<BlobId>,
    /// All files of the shard in the order of `blobs`, if they were loaded at once.
    files: Option<std::iter::Peekable<std::vec::IntoIter<File>>>,
    at: usize,
    /// Whether some term is matched in whole texts.
    pub(crate) whole: bool,
    /// Whether candidate chunks are read before their files. With chunks in memory this costs less than asking for
    /// files, most of which do not match.
    pub(crate) read_first: bool,
    /// Approximate number of batches into which one read is cut; 1 if nothing is read ahead.
    parts: usize,
    /// The share of blobs left after the first of several candidate lists, when lists were last read one by one.
    pub(crate) share_left: Option<f64>,
}

impl<'a> Batches<'a> {
    /// Cuts candidates into batches. `files` are all files of the shard if no blobs are named. `whole`: some term is
    /// matched in whole texts. `read_first`: chunks are read before their files. `ahead`: the number of cores for
    /// reading chunks ahead; `None` for no reading ahead.
    pub(crate) fn of(
        candidates: &'a Candidates,
        files: Option<Vec<File>>,
        whole: bool,
        read_first: bool,
        ahead: Option<usize>,
    ) -> Self {
        let mut blobs: Vec<BlobId> = match (&candidates.blobs, &files) {
            (Some(blobs), _) => blobs.clone(),
            (None, Some(files)) => files.iter().map(|file| file.blob).collect(),
            (None, None) => Vec::new(),
        };
        blobs.dedup();
        let read_first = read_first && files.is_none() && !candidates.lists.is_empty();
        // Whole texts are never read ahead.
        let ahead = ahead.filter(|_| read_first && !whole);
        Self {
            lists: &candidates.lists,
            starts: candidates.starts.as_deref(),
            blobs,
            files: files.map(|files| files.into_iter().peekable()),
            at: 0,
            whole,
            read_first,
            parts: ahead.map_or(1, |cores| BATCHES_PER_CORE * cores),
            share_left: None,
        }
    }

    /// Returns the size of the next batch in chunks, if `at_once` chunks may be read at a time and `underway` of them
    /// are being read; `None` if no batch should start now.
    pub(crate) fn size(&self, at_once: usize, underway: usize) -> Option<usize> {
        let left = at_once.saturating_sub(underway);
        if underway > 0 && (self.parts == 1 || left < SMALL_BATCH) {
            return None;
        }
        if self.parts == 1 || at_once * CHUNK_BYTES <= JOB_BYTES {
            return Some(left);
        }
        // The remaining chunks are cut evenly, so a batch may be nearly twice `size`, which is still no more than
        // `READ_FIRST`.
        let size = (at_once / self.parts).clamp(JOB_BYTES / CHUNK_BYTES, READ_FIRST / 2);
        Some(left / (left / size).max(1))
    }

    /// Returns whether batches are read ahead.
    pub(crate) fn are_pipelined(&self) -> bool {
        self.parts > 1
    }

    /// Returns whether no blobs are left.
    pub(crate) fn is_over(&self) -> bool {
        self.at == self.blobs.len()
    }

    /// Returns the next batch, with about `size` chunks to read.
    pub(crate) fn next(&mut self, size: usize) -> Option<Batch> {
        if self.is_over() {
            return None;
        }
        let mut batch = Batch::default();
        let mut blobs = 0;
        while self.at < self.blobs.len() && batch.chunks.len().max(blobs) < size {
            let blob = self.blobs[self.at];
            let extent = self.starts.map_or(0..0, |starts| starts.extent(blob));
            for (i, list) in self.lists.iter().enumerate() {
                batch.chunks.extend(list.chunks.within(extent.clone()).map(|n| (n, blob, i)));
            }
            batch.blobs.push(blob);
            // A blob that is decided without its text still costs a row.
            blobs += if self.whole { CHUNKS_PER_BLOB } else { 1 };
            self.at += 1;
        }
        if let (Some(files), Some(last)) = (&mut self.files, batch.blobs.last()) {
            let mut some = Vec::new();
            while let Some(file) = files.next_if(|file| file.blob <= *last) {
                some.push(file);
            }
            batch.files = Some(some);
        }
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use query::Expr;

    use super::super::verify::{ChunkText, MatchJob, TextChunk};
    use super::*;

    fn batches(parts: usize) -> Batches<'static> {
        Batches {
            lists: &[],
            starts: None,
            blobs: Vec::new(),
            files: None,
            at: 0,
            whole: false,
            read_first: true,
            parts,
            share_left: None,
        }
    }

    /// Returns the sizes of the batches that start in a row before one is done.
    fn begun(parts: usize, at_once: usize) -> Vec<usize> {
        let batches = batches(parts);
        let mut sizes: Vec<usize> = Vec::new();
        while let Some(size) = batches.size(at_once, sizes.iter().sum()) {
            sizes.push(size);
        }
        sizes
    }

    #[test]
    fn what_is_read_at_a_time_is_cut_into_batches_that_are_worth_a_thread() {
        // One batch, if nothing is read ahead or there is little to read.
        assert_eq!(begun(1, 2048), [2048]);
        assert_eq!(begun(4, 64), [64]);
        assert_eq!(begun(4, 100), [100]);
        assert_eq!(begun(4, 128), [64, 64]);
        assert_eq!(begun(4, 600), [150, 150, 150, 150]);
        // No batch is larger than what is read at once.
        assert_eq!(begun(4, 2048), [256; 8]);
        assert!(begun(4, 511).iter().all(|size| *size < READ_FIRST));
        // No batch starts with fewer chunks than the minimum.
        let batches = batches(4);
        assert_eq!(batches.size(200, 185), None);
        assert_eq!(batches.size(200, 184), Some(SMALL_BATCH));
    }

    #[test]
    fn a_batch_is_cut_where_its_texts_are() {
        let input = |blob| MatchInput {
            chunk: TextChunk {
                n: 0,
                blob: BlobId(blob),
                line: 1,
                start: 0,
                text: ChunkText::Owned(String::new()),
            },
            job: MatchJob { terms: [0].into(), condition: Expr::Const(true).into() },
        };
        let blobs = [1, 3, 6, 7, 9].map(BlobId).to_vec();
        // A chunk that is named twice, and a blob without a named chunk, stay with their blob.
        let chunks = [(1, 1, 0), (2, 1, 0), (3, 3, 0), (3, 3, 1), (7, 7, 0)];
        let chunks = chunks.map(|(n, blob, list)| (n, BlobId(blob), list)).to_vec();
        let batch = Batch { blobs, chunks, files: None };
        let parts = vec![vec![input(1), input(1)], vec![input(3)], vec![input(7)]];
        let cut: Vec<(Vec<i32>, usize)> = batch
            .cut(parts)
            .map(|(batch, inputs)| {
                let named = batch.chunks.iter().all(|(_, blob, _)| batch.blobs.contains(blob));
                assert!(named && batch.blobs.contains(&inputs[0].chunk.blob));
                (batch.blobs.iter().map(|blob| blob.0).collect(), batch.chunks.len())
            })
            .collect();
        assert_eq!(cut, [(vec![1], 2), (vec![3], 2), (vec![6, 7, 9], 1)]);
    }
}
