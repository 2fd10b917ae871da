//! Makes segments of texts.

use crate::code::{BLOB_START, frequency_code, length_code};
use crate::list::{Posting, RowWriter};
use crate::merge::{Part, merge};
use crate::segment::Segment;
use crate::{Word, tokens};

/// Number of postings to sort at once: 8 bytes each.
const RUN: usize = 1 << 21;

/// Bits of a chunk's number, and of a frequency code, beside a word's.
const CHUNK_BITS: u32 = 21;
const CODE_BITS: u32 = 3;

/// Maximum number of different words kept of a chunk. An ordinary chunk has about 150; those with more are long lines:
/// minified or generated text, and data.
const MAX_WORDS: usize = 1024;

/// Number of places for the words of a chunk; a power of two, twice as many as words are kept.
const PLACES: usize = 2 * MAX_WORDS;

/// Counts the words of chunks.
#[derive(Debug)]
pub struct Counter {
    /// Of each place, the turn in which it was taken, and the index of its word.
    places: Vec<(u32, u32)>,
    turn: u32,
    words: Vec<(Word, u32)>,
}

impl Default for Counter {
    fn default() -> Self {
        Self { places: vec![(0, 0); PLACES], turn: 0, words: Vec::with_capacity(MAX_WORDS) }
    }
}

impl Counter {
    /// Calls `each` for the different words of some texts, as they first occur, with their frequency codes; of those with
    /// more than 1024, only for the first. Returns the number of all words.
    pub fn count<'t>(
        &mut self,
        texts: impl IntoIterator<Item = &'t str>,
        mut each: impl FnMut(Word, u8),
    ) -> u32 {
        if self.turn == u32::MAX {
            *self = Self::default();
        }
        self.turn += 1;
        let Self { places, turn, words } = self;
        words.clear();
        let mut count = 0_u32;
        let mut add = |_, word: Word| {
            count += 1;
            let mut at = word.0 as usize % PLACES;
            loop {
                let (taken, index) = places[at];
                if taken != *turn {
                    if words.len() < MAX_WORDS {
                        places[at] = (*turn, words.len() as u32);
                        words.push((word, 1));
                    }
                    return;
                }
                let known = &mut words[index as usize];
                if known.0 == word {
                    known.1 += 1;
                    return;
                }
                at = (at + 1) % PLACES;
            }
        };
        for text in texts {
            tokens(text, &mut add);
        }
        for (word, count) in &*words {
            each(*word, frequency_code(*count));
        }
        count
    }
}

/// Makes a segment of chunks, in ascending order. It sorts two million postings at once, and holds the rest compressed.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    first: Option<i32>,
    lengths: Vec<u8>,
    /// The first chunk of the current run, and its postings: word, chunk and code.
    run_first: i32,
    run: Vec<u64>,
    /// The runs before it.
    runs: Vec<(i32, Vec<u8>)>,
    counter: Counter,
}

impl SegmentBuilder {
    /// Makes a builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether it has no chunk.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds the text of chunk `n`, with its length, and whether it begins a blob.
    pub fn add_chunk(&mut self, n: i32, text: &str, begins_blob: bool) {
        let count = self.take([text], n);
        let first = self.first.unwrap_or(n);
        self.lengths.resize((n - first) as usize, 0);
        self.lengths.push(length_code(count) | if begins_blob { BLOB_START } else { 0 });
    }

    /// Adds the names that chunk `n` defines. No length is kept.
    pub fn add_names<'t>(&mut self, n: i32, names: impl IntoIterator<Item = &'t str>) {
        self.take(names, n);
    }

    /// Adds some words of chunk `n`, in any order. Neither a length nor frequencies are kept.
    pub fn add_words(&mut self, n: i32, mut words: Vec<Word>) {
        words.sort_unstable();
        words.dedup();
        let chunk = self.place(n);
        self.run.extend(words.iter().map(|word| (word.0 << CHUNK_BITS | chunk) << CODE_BITS));
    }

    /// Adds the postings of a chunk. Returns the number of its words.
    fn take<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>, n: i32) -> u32 {
        let chunk = self.place(n);
        let run = &mut self.run;
        self.counter.count(texts, |word, code| {
            run.push((word.0 << CHUNK_BITS | chunk) << CODE_BITS | u64::from(code));
        })
    }

    /// Returns the number of a chunk in the current run; first ends that run if it is long.
    fn place(&mut self, n: i32) -> u64 {
        if self.first.is_none() {
            self.first = Some(n);
            self.run_first = n;
        }
        if self.run.len() >= RUN || (n - self.run_first) >> CHUNK_BITS > 0 {
            self.end_run();
            self.run_first = n;
        }
        (n - self.run_first) as u64
    }

    /// Compresses the current run.
    fn end_run(&mut self) {
        let mut run = std::mem::take(&mut self.run);
        run.sort_unstable();
        let word = |packed: u64| Word(packed >> (CHUNK_BITS + CODE_BITS));
        let lists = || run.chunk_by(|one, next| word(*one) == word(*next));
        if let (Some(first), Some(last)) = (run.first(), run.last()) {
            let mut row = RowWriter::new(
                lists().count() as u32,
                word(*first),
                word(*last),
                (1 << CHUNK_BITS) - 1,
            );
            let mut postings = Vec::new();
            for list in lists() {
                postings.clear();
                postings.extend(list.iter().map(|packed| Posting {
                    chunk: (packed >> CODE_BITS) as u32 & ((1 << CHUNK_BITS) - 1),
                    code: *packed as u8 & ((1 << CODE_BITS) - 1),
                }));
                row.add(word(list[0]), &postings);
            }
            self.runs.push((self.run_first, row.finish()));
        }
        run.clear();
        self.run = run;
    }

    /// Returns the segment; `None` if there are no chunks.
    pub fn finish(mut self) -> Option<Segment> {
        let first = self.first?;
        self.end_run();
        self.run = Vec::new();
        let lengths = Part { first, lengths: &self.lengths, rows: Vec::new() };
        let runs = self.runs.iter().map(|(first, row)| Part {
            first: *first,
            lengths: &[],
            rows: vec![row],
        });
        let parts = std::iter::once(lengths).chain(runs).collect();
        Some(merge(parts, &|_| true).expect("the runs are as they were written"))
    }
}
