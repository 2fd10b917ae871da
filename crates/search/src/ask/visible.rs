//! The chunks of a shard that a question is about: those of the files which the view sees and which pass its fields.

use store::BlobId;

use super::lengths::Lengths;

/// The chunks of a shard that belong to files of a question.
#[derive(Debug, Default)]
pub(super) struct VisibleChunks {
    /// Bit n % 64 of element n / 64 is that of chunk n.
    chunks: Vec<u64>,
    /// Number of those that have words.
    pub(super) count: u64,
    /// Number of their words.
    pub(super) words: u64,
    /// The blobs that several of the files have, ascending, with the number of these files.
    several: Vec<(i32, u32)>,
    /// Number of files whose chunks have no lengths yet.
    pub(super) unindexed: usize,
}

impl VisibleChunks {
    /// Returns the chunks of the blobs of some files, ascending; several files may have a blob.
    pub(super) fn of(blobs: impl Iterator<Item = BlobId>, lengths: &Lengths) -> Self {
        let mut all = Self::default();
        all.chunks.resize(lengths.upto().unsigned_abs().div_ceil(64) as usize, 0);
        let mut last = None;
        for BlobId(blob) in blobs {
            if blob >= lengths.upto() {
                all.unindexed += 1;
                continue;
            }
            if last == Some(blob) {
                match all.several.last_mut() {
                    Some((of, files)) if *of == blob => *files += 1,
                    _ => all.several.push((blob, 2)),
                }
                continue;
            }
            last = Some(blob);
            for chunk in lengths.extent(blob) {
                all.chunks[chunk / 64] |= 1 << (chunk % 64);
                all.count += u64::from(lengths.has_words(chunk));
                all.words += u64::from(lengths.of(chunk));
            }
        }
        all.several.shrink_to_fit();
        all
    }

    /// Returns whether a chunk belongs to one of the files.
    pub(super) fn has(&self, chunk: u32) -> bool {
        let word = self.chunks.get(chunk as usize / 64);
        word.is_some_and(|word| word >> (chunk % 64) & 1 == 1)
    }

    /// Returns the number of the files that have a blob, which is one of theirs.
    pub(super) fn files(&self, blob: i32) -> usize {
        let at = self.several.binary_search_by_key(&blob, |(of, _)| *of);
        at.map_or(1, |at| self.several[at].1 as usize)
    }

    /// Returns about how many bytes it takes in memory.
    pub(super) fn memory(&self) -> usize {
        8 * (self.chunks.len() + self.several.len()) + 128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chunks_of_the_files_count() {
        let mut codes = vec![1; 140];
        for start in [0, 3, 64, 70, 139] {
            codes[start] |= 0x80;
        }
        codes[71] = 0;
        let lengths = Lengths::default().with(&[(0, codes)]);
        let blobs = [3, 70, 70, 70, 139, 150].map(BlobId);
        let visible = VisibleChunks::of(blobs.into_iter(), &lengths);
        let chunks = (0..200).filter(|chunk| visible.has(*chunk)).collect::<Vec<_>>();
        assert_eq!(chunks, (3..64).chain(70..140).collect::<Vec<_>>());
        let one = u64::from(words::length(1));
        assert_eq!((visible.count, visible.words), (61 + 69, (61 + 69) * one));
        assert_eq!([3, 70, 139].map(|blob| visible.files(blob)), [1, 3, 1]);
        assert_eq!(visible.unindexed, 1);
    }
}
