//! Where what is known of a shard comes from: memory or Postgres. A shard is searched from one of them, chosen once
//! before its search begins; what is searched for, and how, does not depend on it.

mod memory;
mod postgres;
mod reader;
mod run;

use std::ops::Range;

use store::{BlobId, File};

pub(crate) use memory::MemorySource;
pub(crate) use postgres::PostgresSource;
pub(crate) use reader::ShardReader;
pub(crate) use run::{ShardRun, is_in_memory};

use super::candidates::Candidates;
use super::cost::SourceCosts;
use super::verify::TextChunk;

/// The source of one shard for one search.
pub(crate) trait Source: Send + Sync {
    /// What reads its files and texts.
    type Reader: Reads;

    /// Reads its files and texts.
    fn reader(&self) -> &Self::Reader;

    /// What reading from it costs.
    fn costs(&self) -> &'static SourceCosts;

    /// Whether the next batches are read while what the first ones gave is handed on, which costs nobody a round trip.
    fn reads_ahead(&self) -> bool;

    /// Whether chunks are read before their files: not where most of the files are not wanted.
    fn reads_chunks_first(&self) -> bool;

    /// How many chunks may have to be read, as far as is known; none if nothing is known.
    fn survivors(&self) -> Option<usize>;

    /// Where a range of blobs ends that has about the chunks with numbers under `end`: no blob is cut in two. `i32::MAX`
    /// for the end of the shard.
    fn end_of_range(&self, end: i32) -> i32;

    /// The candidates among the blobs in a range of numbers.
    fn candidates(
        &self,
        blobs: Range<i32>,
    ) -> impl Future<Output = Result<Candidates, store::Error>> + Send;
}

/// Reads files and texts of one shard for one search, whoever named the candidates.
pub(crate) trait Reads: Send + Sync {
    /// The files that have one of these contents, or all files, in the order of their blobs, repositories and paths.
    fn files(
        &self,
        blobs: Option<&[BlobId]>,
    ) -> impl Future<Output = Result<Vec<File>, store::Error>> + Send;

    /// Some chunks by their numbers, which are ascending, if all of them can be had without waiting.
    fn chunks_at_hand(&self, numbers: &[i32]) -> Option<Vec<TextChunk>>;

    /// Some chunks by their numbers, which are ascending; those that are no more are left out.
    fn chunks(
        &self,
        numbers: &[i32],
    ) -> impl Future<Output = Result<Vec<TextChunk>, store::Error>> + Send;

    /// All chunks of some blobs, each with its size in bytes, in their order.
    fn blobs(
        &self,
        blobs: &[(BlobId, usize)],
    ) -> impl Future<Output = Result<Vec<TextChunk>, store::Error>> + Send;
}
