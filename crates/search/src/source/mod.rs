//! The source of a shard: memory or Postgres. It is chosen once, before the search of the shard begins. The
//! search itself does not depend on it.

mod memory;
mod postgres;
mod reader;
mod run;

use std::ops::Range;

use store::{BlobId, File, SymbolRow};

pub(crate) use memory::MemorySource;
pub(crate) use postgres::PostgresSource;
pub(crate) use reader::ShardReader;
pub(crate) use run::{ShardRun, is_in_memory};

use super::candidates::Candidates;
use super::cost::SourceCosts;
use super::verify::TextChunk;

/// The source of one shard for one search.
pub(crate) trait Source: Send + Sync {
    /// The type that reads files and texts.
    type Reader: ContentReader;

    /// Returns the reader of the shard's files and texts.
    fn reader(&self) -> &Self::Reader;

    /// Returns the cost parameters.
    fn costs(&self) -> &'static SourceCosts;

    /// Returns whether later batches are read and matched while the results of the first are handed on. That
    /// is worth it only without round trips.
    fn pipelines(&self) -> bool;

    /// Returns whether chunks are read before their files. Not worth it where reading a chunk costs more than
    /// a file.
    fn reads_chunks_first(&self) -> bool;

    /// Returns the number of chunks that may have to be read; `None` if unknown.
    fn known_chunks(&self) -> Option<usize>;

    /// Returns about how many blobs have their names looked at, if names alone say which blobs are candidates and that is
    /// found out range by range.
    fn named_blobs(&self) -> Option<usize> {
        None
    }

    /// Returns the blob at which a range ends that holds about the chunks with numbers under `end`, without
    /// cutting a blob; `i32::MAX` for the end of the shard.
    fn end_of_range(&self, end: i32) -> i32;

    /// Returns the candidates among a range of blobs.
    fn candidates(
        &self,
        blobs: Range<i32>,
    ) -> impl Future<Output = Result<Candidates, store::Error>> + Send;
}

/// Reads files and texts of one shard for one search, independent of the source of candidates.
pub(crate) trait ContentReader: Send + Sync {
    /// Returns the files that have one of these blobs, or all files, in the order of blob, repository and
    /// path.
    fn files(
        &self,
        blobs: Option<&[BlobId]>,
    ) -> impl Future<Output = Result<Vec<File>, store::Error>> + Send;

    /// Returns chunks by ascending number, if all of them can be had without waiting.
    fn cached_chunks(&self, numbers: &[i32]) -> Option<Vec<TextChunk>>;

    /// Reads chunks by ascending number. Chunks that are gone are left out.
    fn chunks(
        &self,
        numbers: &[i32],
    ) -> impl Future<Output = Result<Vec<TextChunk>, store::Error>> + Send;

    /// Reads the symbols of some blobs, which are ascending. Blobs without a row are left out.
    fn symbols(
        &self,
        blobs: &[BlobId],
    ) -> impl Future<Output = Result<Vec<SymbolRow>, store::Error>> + Send;

    /// Reads the chunks that hold these bytes of their blobs, by ascending number.
    fn chunks_at(
        &self,
        places: &[(BlobId, i32)],
    ) -> impl Future<Output = Result<Vec<TextChunk>, store::Error>> + Send;

    /// Reads all chunks of some blobs, in order. Each blob is given with its size in bytes.
    fn blobs(
        &self,
        blobs: &[(BlobId, usize)],
    ) -> impl Future<Output = Result<Vec<TextChunk>, store::Error>> + Send;
}
