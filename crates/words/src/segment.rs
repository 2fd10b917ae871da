//! A segment: the words of some chunks, spread over rows.

use crate::list::{Posting, RowWriter};
use crate::{Word, bucket};

/// Bytes that a row should have, about. Smaller rows have more headers, larger ones take longer to read.
const ROW_BYTES: usize = 2048;

/// The most rows of a segment, as a power of two.
const MAX_BITS: u8 = 20;

/// A row of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its number: see [`bucket`].
    pub number: u32,
    /// Its words and their postings: see [`list`](mod@crate::list).
    pub entries: Vec<u8>,
}

/// The words of some chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The number of the first chunk. Postings count from it.
    pub first: i32,
    /// A byte for each chunk from the first one on: [`length_code`](crate::length_code) of the number of its words, and
    /// [`BLOB_START`](crate::BLOB_START). Empty if lengths are not kept.
    pub lengths: Vec<u8>,
    /// Its words are spread over `1 << bits` buckets.
    pub bits: u8,
    /// The rows that have words, ascending.
    pub rows: Vec<Bucket>,
    /// Number of different words.
    pub words: u32,
    /// Number of postings of all words.
    pub postings: u64,
}

impl Segment {
    /// Returns the bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(|row| row.entries.len()).sum()
    }
}

/// Returns the bits of bucket numbers for a segment whose rows have so many bytes in all.
pub(crate) fn bits_for(bytes: usize) -> u8 {
    let rows = bytes.div_ceil(ROW_BYTES).max(1).next_power_of_two();
    (rows.ilog2() as u8).min(MAX_BITS)
}

/// Writes the rows of a segment.
pub(crate) struct SegmentWriter {
    segment: Segment,
    /// The words of the current row, each with the end of its postings.
    words: Vec<(Word, usize)>,
    postings: Vec<Posting>,
}

impl SegmentWriter {
    pub(crate) fn new(first: i32, lengths: Vec<u8>, bits: u8) -> Self {
        let segment = Segment { first, lengths, bits, ..Segment::default() };
        Self { segment, words: Vec::new(), postings: Vec::new() }
    }

    /// Adds the postings of the next word, ascending.
    pub(crate) fn add(&mut self, word: Word, postings: &[Posting]) {
        if postings.is_empty() {
            return;
        }
        let bits = self.segment.bits;
        if self.words.first().is_some_and(|(first, _)| bucket(*first, bits) != bucket(word, bits)) {
            self.end_row();
        }
        self.postings.extend_from_slice(postings);
        self.words.push((word, self.postings.len()));
    }

    fn end_row(&mut self) {
        let (Some((first, _)), Some((last, _))) = (self.words.first(), self.words.last()) else {
            return;
        };
        let most = self.postings.iter().map(|posting| posting.chunk).max().unwrap_or_default();
        let mut row = RowWriter::new(self.words.len() as u32, *first, *last, most);
        let mut begin = 0;
        for (word, end) in &self.words {
            row.add(*word, &self.postings[begin..*end]);
            begin = *end;
        }
        let number = bucket(*first, self.segment.bits);
        self.segment.words += self.words.len() as u32;
        self.segment.postings += self.postings.len() as u64;
        self.segment.rows.push(Bucket { number, entries: row.finish() });
        self.words.clear();
        self.postings.clear();
    }

    pub(crate) fn finish(mut self) -> Segment {
        self.end_row();
        self.segment
    }
}
