//! The interface between the search of a shard and its source, which provides candidates, and their files and texts.

use std::ops::Range;

use store::{BlobId, File, SymbolRow};

use super::candidates::Candidates;
use super::cost::SourceCosts;
use super::verify::TextChunk;

/// Finds the candidates of one shard for one search.
pub(crate) trait Source: Send + Sync {
    /// The type that reads files and texts.
    type Reader: ContentReader;

    /// Returns the reader of the shard's files and texts.
    fn reader(&self) -> &Self::Reader;

    /// Returns the pace at which to read the shard.
    fn pace(&self) -> Pace;

    /// Returns the blob that ends a range with about the chunks numbered below `end`, without cutting a blob;
    /// `i32::MAX` for the end of the shard.
    fn end_of_range(&self, end: i32) -> i32;

    /// Returns the candidates among a range of blobs.
    fn candidates(
        &self,
        blobs: Range<i32>,
    ) -> impl Future<Output = Result<Candidates, store::Error>> + Send;
}

/// The amounts of a shard to read at a time, and their order.
pub(crate) struct Pace {
    pub(crate) costs: &'static SourceCosts,
    /// Whether later batches are read and matched while the results of the first are passed on. This pays off only
    /// without round trips.
    pub(crate) pipelines: bool,
    /// Whether chunks are read before their files. Not worth it if reading a chunk costs more than a file.
    pub(crate) reads_chunks_first: bool,
    /// Number of chunks that may have to be read; `None` if unknown.
    pub(crate) known_chunks: Option<usize>,
    /// Approximate number of blobs whose names are matched, if names alone determine the candidates and are matched
    /// range by range.
    pub(crate) named_blobs: Option<usize>,
}

/// Reads files and texts of one shard for one search, independent of the source of candidates.
pub(crate) trait ContentReader: Send + Sync {
    /// Returns the files that have one of these blobs, or all files, in the order of blob, repository and path.
    fn files(
        &self,
        blobs: Option<&[BlobId]>,
    ) -> impl Future<Output = Result<Vec<File>, store::Error>> + Send;

    /// Returns chunks by ascending number, if all are available without waiting.
    fn cached_chunks(&self, numbers: &[i32]) -> Option<Vec<TextChunk>>;

    /// Reads chunks by ascending number. Deleted chunks are left out.
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
