//! The lengths of the chunks of a shard in words, a byte for each.

use std::ops::Range;

use words::BLOB_START;

/// The lengths of the chunks of a shard, and where its blobs begin.
#[derive(Debug, Default)]
pub(super) struct Lengths(Vec<u8>);

impl Lengths {
    /// Returns these lengths with those of further chunks, from the chunk with this number on.
    pub(super) fn with(&self, further: &[(i32, Vec<u8>)]) -> Self {
        let mut codes = self.0.clone();
        for (first, more) in further {
            let first = first.unsigned_abs() as usize;
            let end = first + more.len();
            if codes.len() < end {
                codes.resize(end, 0);
            }
            codes[first..end].copy_from_slice(more);
        }
        Self(codes)
    }

    /// Returns the number after that of the last chunk.
    pub(super) fn upto(&self) -> i32 {
        self.0.len() as i32
    }

    /// Returns the code of the number of words of a chunk.
    pub(super) fn code(&self, chunk: usize) -> u8 {
        self.0.get(chunk).map_or(0, |code| code & !BLOB_START)
    }

    /// Returns the number of words of a chunk.
    pub(super) fn of(&self, chunk: usize) -> u32 {
        self.0.get(chunk).map_or(0, |code| words::length(*code))
    }

    /// Returns whether a chunk has words.
    pub(super) fn has_words(&self, chunk: usize) -> bool {
        self.0.get(chunk).is_some_and(|code| code & !BLOB_START != 0)
    }

    /// Returns the chunks of a blob, of which this is the first.
    pub(super) fn extent(&self, blob: i32) -> Range<usize> {
        let first = blob.unsigned_abs() as usize;
        let rest = self.0.get(first + 1..).unwrap_or_default();
        let more = rest.iter().position(|code| code & BLOB_START != 0).unwrap_or(rest.len());
        first..(first + 1 + more).min(self.0.len().max(first))
    }

    /// Returns the blob of a chunk.
    pub(super) fn blob_of(&self, chunk: u32) -> i32 {
        let before = &self.0[..(chunk as usize + 1).min(self.0.len())];
        before.iter().rposition(|code| code & BLOB_START != 0).unwrap_or(0) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_known_by_their_first_chunks() {
        let lengths =
            Lengths::default().with(&[(0, vec![0x81, 2, 0x80, 0x83]), (6, vec![0x81, 1])]);
        assert_eq!([0, 2, 3, 6].map(|blob| lengths.extent(blob)), [0..2, 2..3, 3..6, 6..8]);
        assert_eq!([0, 1, 2, 5, 7].map(|chunk| lengths.blob_of(chunk)), [0, 0, 2, 3, 6]);
        assert_eq!([0, 2, 4, 9].map(|chunk| lengths.has_words(chunk)), [true, false, false, false]);
        assert_eq!((lengths.upto(), lengths.extent(9)), (8, 9..9));
    }
}
