//! Words: of texts and of questions, and the compressed lists of the chunks that have them.
//!
//! A text is cut into words by [`tokens`]: parts of identifiers, whole identifiers, stems, pairs of characters of scripts
//! without spaces. A question is cut in the same way by [`question`]. A [`Word`] is the hash of what is looked up.
//!
//! A *segment* holds the words of some chunks, written at once: for each word a list of [`Posting`]s. [`SegmentBuilder`]
//! makes one of texts, [`merge`] one of several. Its words are spread over *buckets* by hash, each one row of the table
//! `words`, which [`decode`] reads. See [`bucket`] for the number of a row, and [`list`](mod@list) for its bytes.

mod bits;
mod builder;
mod code;
mod damaged;
pub mod list;
mod memory;
mod merge;
mod question;
mod segment;
mod token;
mod word;

pub use builder::{Counter, SegmentBuilder};
pub use code::{BLOB_START, frequency, frequency_code, length, length_code};
pub use damaged::Damaged;
pub use list::{Lists, Posting, decode};
pub use merge::{Part, merge};
pub use question::{MAX_WORDS, QuestionWord, Role, question};
pub use segment::{Bucket, Segment};
pub use token::{is_dense, parts, stem, tokens};
pub use word::{WORD_BITS, Word, bucket};

/// How texts are cut into words, and segments are written. If it changes, the next ingest rebuilds the word index.
pub const FORMAT: i32 = 1;

#[cfg(test)]
mod tests;
