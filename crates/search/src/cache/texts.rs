//! The texts in a server's memory. They are copies; a missing text is read from Postgres.
//!
//! Texts are kept in segments of neighbouring chunks. Each chunk is compressed separately (LZ4), with a dictionary of
//! strings that the chunks of the segment share. Each chunk has a Bloom filter of its n-grams, so that most
//! non-matching chunks need not be decompressed.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lzzzz::{lz4, lz4_hc};
use memmap2::{Mmap, MmapMut};
use ngram::{BLOCK_CHUNKS, BitSlices, BloomFilter, Columns, FilterKind, NgramQuery};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use store::{BlobId, Chunk, Epoch, Shard, ShardId};

use super::dictionary::dictionary;

/// Chunks in a segment: those of one block of the shard's filters.
pub(crate) const SEGMENT_CHUNKS: i32 = BLOCK_CHUNKS;

/// Compression level of LZ4 HC. LZ4's fast compressor hardly uses a dictionary; higher levels take longer and
/// gain nothing.
const LEVEL: i32 = 3;

/// Panic message if a text is not UTF-8.
pub(crate) const TEXT: &str = "it was a text";

/// Segments by key, up to a number of bytes.
#[derive(Debug)]
pub(crate) struct Texts {
    cache: Cache<SegmentKey, Arc<Segment>, Weight>,
    /// Maximum number of bytes, including those reserved.
    bytes: u64,
    /// Bytes of other data in the same budget.
    reserved: AtomicU64,
}

/// The key of a segment. The texts under a key never change: chunk numbers are reused only when the shard is
/// emptied and goes live again, with another epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SegmentKey {
    pub(crate) shard: ShardId,
    /// Epoch in which the shard went live.
    since: Epoch,
    /// Number of its first chunk, divided by [`SEGMENT_CHUNKS`].
    number: i32,
}

/// Neighbouring chunks of a shard, compressed.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Chunks in the order of their numbers.
    chunks: Vec<ChunkEntry>,
    /// Blob of each chunk. In a separate vector, so that many share a cache line of the processor.
    blobs: Vec<BlobId>,
    /// The dictionary, then the compressed texts. In separate pages: an allocator could round this size up by a
    /// quarter.
    data: Mmap,
    /// Bytes of the dictionary.
    dictionary: usize,
    filters: BitSlices,
    /// Number of the first chunk, and whether no number between it and the last one's is missing.
    first: i32,
    gapless: bool,
    /// Chunks from this number on did not exist yet when the segment was read.
    upto: i32,
}

#[derive(Clone, Copy, Debug)]
struct ChunkEntry {
    n: i32,
    line: i32,
    start: i32,
    /// Bytes of its text.
    bytes: u32,
    /// End of its compressed text in `data`.
    end: u32,
}

/// A chunk in memory, compressed.
#[derive(Clone, Debug)]
pub(crate) struct CompressedChunk {
    segment: Arc<Segment>,
    at: usize,
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<SegmentKey, Arc<Segment>> for Weight {
    fn weight(&self, _: &SegmentKey, segment: &Arc<Segment>) -> u64 {
        segment.memory()
    }
}

impl SegmentKey {
    /// Returns the key of the segment that contains a chunk.
    pub(crate) fn of(shard: &Shard, n: i32) -> Self {
        Self { shard: shard.id, since: shard.since, number: n / SEGMENT_CHUNKS }
    }
}

impl Texts {
    /// Creates a cache of up to `bytes` bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        // Approximate number of segments: each takes about 1 MiB.
        let items = (bytes >> 20).clamp(64, 1 << 20) as usize;
        let cache = Cache::with_weighter(items, bytes, Weight);
        Self { cache, bytes, reserved: AtomicU64::new(0) }
    }

    /// Adds a segment, and evicts others if there is no room.
    pub(crate) fn insert(&self, key: SegmentKey, segment: Segment) {
        self.cache.insert(key, Arc::new(segment));
    }

    /// Returns the chunk number up to which a segment was read, if it is in memory.
    pub(crate) fn upto(&self, key: SegmentKey) -> Option<i32> {
        self.cache.peek(&key).map(|segment| segment.upto)
    }

    /// Removes all segments.
    pub(crate) fn clear(&self) {
        self.cache.clear();
    }

    /// Returns a reader for one shard.
    pub(crate) fn reader<'a>(&'a self, shard: &'a Shard) -> Reader<'a> {
        Reader { texts: self, shard, last: None }
    }

    /// Reserves this many bytes of the budget for other data.
    pub(crate) fn reserve(&self, reserved: u64) {
        if self.reserved.swap(reserved, Ordering::Relaxed) != reserved {
            self.cache.set_capacity(self.bytes.saturating_sub(reserved));
        }
    }

    /// Returns the bytes in use and the limit, both including the reserved bytes.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let reserved = self.reserved.load(Ordering::Relaxed);
        (self.cache.weight() + reserved, self.cache.capacity() + reserved)
    }
}

/// Reads chunks of one shard. Fastest in the order of their numbers.
pub(crate) struct Reader<'a> {
    texts: &'a Texts,
    shard: &'a Shard,
    /// Number of the segment looked up last, and the segment if it is in memory.
    last: Option<(i32, Option<Arc<Segment>>)>,
}

impl Reader<'_> {
    /// Returns the segment that contains a chunk, if it is in memory.
    pub(crate) fn segment(&mut self, n: i32) -> Option<&Arc<Segment>> {
        let number = n / SEGMENT_CHUNKS;
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            self.last = Some((number, self.texts.cache.get(&SegmentKey::of(self.shard, n))));
        }
        self.last.as_ref().and_then(|(_, segment)| segment.as_ref())
    }

    /// Returns a chunk, if it is in memory.
    pub(crate) fn chunk(&mut self, n: i32) -> Option<CompressedChunk> {
        let segment = self.segment(n)?;
        let at = segment.find(n)?;
        Some(CompressedChunk { segment: Arc::clone(segment), at })
    }

    /// Returns the chunk that contains a byte of a blob, if it and all before it are in memory.
    pub(crate) fn chunk_at(&mut self, blob: BlobId, at: i32) -> Option<CompressedChunk> {
        let holds = |chunk: &CompressedChunk| at < chunk.start() + chunk.bytes() as i32;
        let mut n = blob.0;
        loop {
            let chunk = self.chunk(n).filter(|chunk| chunk.blob() == blob)?;
            if holds(&chunk) {
                return Some(chunk);
            }
            n += 1;
        }
    }

    /// Returns all chunks of a blob with `bytes` bytes, if they are in memory.
    pub(crate) fn blob(&mut self, blob: BlobId, bytes: usize) -> Option<Vec<CompressedChunk>> {
        let mut chunks = Vec::new();
        for n in blob.0.. {
            let chunk = self.chunk(n)?;
            if chunk.blob() != blob {
                return None;
            }
            let end = chunk.start() as usize + chunk.bytes();
            chunks.push(chunk);
            if end >= bytes {
                break;
            }
        }
        Some(chunks)
    }
}

impl Segment {
    /// Compresses chunks: all chunks of the segment with numbers below `upto`, in order.
    ///
    /// # Errors
    /// The system is out of memory.
    pub(crate) fn new(chunks: &[Chunk], upto: i32) -> std::io::Result<Self> {
        let mut entries = Vec::with_capacity(chunks.len());
        let blobs = chunks.iter().map(|chunk| chunk.blob).collect();
        let mut bloom_filters = Vec::with_capacity(chunks.len());
        let texts: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.contents.as_bytes()).collect();
        let dictionary = dictionary(&texts);
        let packed = pack(&texts, &dictionary);
        let mut end = dictionary.len();
        for (chunk, packed) in chunks.iter().zip(&packed) {
            bloom_filters.push(BloomFilter::of_chunk(&chunk.contents));
            end += packed.len();
            entries.push(ChunkEntry {
                n: chunk.n,
                line: chunk.line,
                start: chunk.start,
                bytes: chunk.contents.len() as u32,
                end: end as u32,
            });
        }
        let data = in_pages(std::iter::once(&dictionary).chain(&packed), end)?;
        let (dictionary, filters) =
            (dictionary.len(), BitSlices::new(FilterKind::Chunk, &bloom_filters));
        let (first, last) = match &*entries {
            [first, .., last] => (first.n, last.n),
            [only] => (only.n, only.n),
            [] => (0, -1),
        };
        let gapless = last - first + 1 == entries.len() as i32;
        Ok(Self { chunks: entries, blobs, data, dictionary, filters, first, gapless, upto })
    }

    fn memory(&self) -> u64 {
        let entries = self.chunks.len() * (size_of::<ChunkEntry>() + size_of::<BlobId>());
        (entries + self.data.len() + self.filters.memory() + size_of::<Self>()) as u64
    }

    /// Returns the chunks that may hold the n-grams: bit n stands for the n-th number of the segment.
    pub(crate) fn may_hold(&self, ngrams: &NgramQuery) -> Columns {
        let places = self.filters.columns(ngrams);
        let start = self.first - self.first % SEGMENT_CHUNKS;
        if self.gapless && self.first == start {
            return places;
        }
        let mut numbers = Columns::first(0);
        numbers.grow(SEGMENT_CHUNKS as usize);
        places.iter().for_each(|at| numbers.add((self.chunks[at].n - start) as usize));
        numbers
    }

    /// Returns the number from which on chunks did not exist yet when the segment was read.
    pub(crate) fn upto(&self) -> i32 {
        self.upto
    }

    /// Returns the place of a chunk, if the segment has it.
    pub(crate) fn find(&self, n: i32) -> Option<usize> {
        // There is hardly ever a gap.
        if self.gapless {
            let place = usize::try_from(n - self.first).ok()?;
            return Some(place).filter(|place| *place < self.chunks.len());
        }
        self.chunks.binary_search_by_key(&n, |entry| entry.n).ok()
    }
}

impl CompressedChunk {
    fn entry(&self) -> &ChunkEntry {
        &self.segment.chunks[self.at]
    }

    /// Returns its number in the shard.
    pub(crate) fn number(&self) -> i32 {
        self.entry().n
    }

    /// Returns its blob.
    pub(crate) fn blob(&self) -> BlobId {
        self.segment.blobs[self.at]
    }

    /// Returns the number of its first line in the blob, from 1.
    pub(crate) fn line(&self) -> i32 {
        self.entry().line
    }

    /// Returns the offset of its start in the blob, in bytes.
    pub(crate) fn start(&self) -> i32 {
        self.entry().start
    }

    /// Returns the size of its text in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entry().bytes as usize
    }

    /// Decompresses its text into `buffer`, over the previous text. The bytes are UTF-8 and not checked again.
    pub(crate) fn unpack<'s>(&self, buffer: &'s mut DecompressBuffer) -> &'s [u8] {
        let (dictionary, text) = buffer.after_dictionary(&self.segment, self.bytes());
        let begin = match self.at {
            0 => self.segment.dictionary,
            at => self.segment.chunks[at - 1].end as usize,
        };
        let packed = &self.segment.data[begin..self.entry().end as usize];
        if !text.is_empty() {
            let done = lz4::decompress_with_dict(packed, text, dictionary);
            done.expect("it was compressed here");
        }
        text
    }
}

thread_local! {
    static BUFFER: RefCell<DecompressBuffer> = RefCell::default();
}

/// A buffer for decompressing one chunk after another: the dictionary of their segment, directly followed by the text.
/// LZ4 is twice as fast with this layout (`LZ4_decompress_safe_usingDict` in `lz4.h`). Each thread keeps one, so that a
/// search need not allocate and clear its pages.
#[derive(Debug, Default)]
pub(crate) struct DecompressBuffer {
    bytes: Vec<u8>,
    /// Segment whose dictionary is in the buffer.
    of: Option<Arc<Segment>>,
}

impl DecompressBuffer {
    /// Calls `work` with the buffer of this thread.
    ///
    /// # Panics
    /// The buffer is in use.
    pub(crate) fn with<T>(work: impl FnOnce(&mut DecompressBuffer) -> T) -> T {
        BUFFER.with_borrow_mut(work)
    }

    /// Returns the dictionary of a segment, and room for a text of `bytes` bytes.
    fn after_dictionary(&mut self, segment: &Arc<Segment>, bytes: usize) -> (&[u8], &mut [u8]) {
        let dictionary = &segment.data[..segment.dictionary];
        // The buffer never shrinks, so it is zeroed only once.
        if self.bytes.len() < dictionary.len() + bytes {
            self.bytes.resize(dictionary.len() + bytes, 0);
        }
        if !self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, segment)) {
            self.bytes[..dictionary.len()].copy_from_slice(dictionary);
            self.of = Some(Arc::clone(segment));
        }
        let (dictionary, rest) = self.bytes.split_at_mut(dictionary.len());
        (dictionary, &mut rest[..bytes])
    }
}

/// Copies parts, `bytes` bytes in total, one after another into separate pages.
fn in_pages<'b>(parts: impl Iterator<Item = &'b Vec<u8>>, bytes: usize) -> std::io::Result<Mmap> {
    let mut pages = MmapMut::map_anon(bytes.max(1))?;
    let mut rest = &mut pages[..];
    for part in parts {
        let (here, after) = rest.split_at_mut(part.len());
        here.copy_from_slice(part);
        rest = after;
    }
    pages.make_read_only()
}

/// Compresses each text with a dictionary.
fn pack(texts: &[&[u8]], dictionary: &[u8]) -> Vec<Vec<u8>> {
    const ROOM: &str = "there is memory, and room for the worst case";
    let dictionary = lz4_hc::Compressor::with_dict(dictionary, LEVEL).expect(ROOM);
    let mut compressor = lz4_hc::Compressor::new().expect(ROOM);
    let pack = |text: &&[u8]| {
        let mut packed = Vec::new();
        if !text.is_empty() {
            // Detaching the dictionary first resets the stream, which would otherwise continue from the
            // previous text.
            compressor.attach_dict(None, LEVEL);
            compressor.attach_dict(Some(&dictionary), LEVEL);
            compressor.next_to_vec(text, &mut packed).expect(ROOM);
        }
        packed
    };
    texts.iter().map(pack).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(since: i32) -> Shard {
        let epoch = Epoch(since);
        let id = ShardId(3);
        Shard {
            id,
            bytes: 0,
            since: epoch,
            chunks: 1000,
            changed: epoch,
            filtered: 0,
            worded: 0,
            languages: [].into(),
        }
    }

    fn chunk(n: i32, blob: i32, start: i32, text: &str) -> Chunk {
        Chunk { n, blob: BlobId(blob), line: 1, start, contents: text.into() }
    }

    #[test]
    fn chunks_come_back_as_they_were() {
        let texts = Texts::new(1 << 20);
        let text = "é line\n".repeat(100);
        let chunks = [chunk(10, 10, 0, &text), chunk(11, 10, 800, &text), chunk(14, 14, 0, "")];
        texts.insert(SegmentKey::of(&shard(7), 10), Segment::new(&chunks, 20).unwrap());
        let (here, other) = (shard(7), shard(8));
        let mut reader = texts.reader(&here);
        let mut buffer = DecompressBuffer::default();
        assert_eq!(reader.chunk(11).unwrap().unpack(&mut buffer), text.as_bytes());
        assert_eq!(reader.chunk(10).unwrap().bytes(), 800);
        assert!(reader.chunk(12).is_none() && reader.chunk(600).is_none());
        // A blob is either completely in memory or not at all.
        assert_eq!(reader.blob(BlobId(10), 1600).unwrap().len(), 2);
        assert!(reader.blob(BlobId(10), 1700).is_none());
        assert_eq!(reader.blob(BlobId(14), 0).unwrap().len(), 1);
        let at = |reader: &mut Reader<'_>, at| {
            reader.chunk_at(BlobId(10), at).map(|chunk| chunk.number())
        };
        let places = [0, 799, 800, 1599, 1600].map(|place| at(&mut reader, place));
        assert_eq!(places, [Some(10), Some(10), Some(11), Some(11), None]);
        assert!(texts.reader(&other).chunk(10).is_none());
    }

    #[test]
    fn chunks_of_several_segments_come_back_in_one_buffer() {
        let texts = Texts::new(64 << 20);
        let text = |n: i32| {
            let lines = (0..100).map(|i| format!("let line_{} = {n} + {};\n", i * 7919, i % 7));
            lines.collect::<String>()
        };
        for first in [0, SEGMENT_CHUNKS, 2 * SEGMENT_CHUNKS] {
            // The last segment has too little text for a dictionary.
            let count = if first == 2 * SEGMENT_CHUNKS { 9 } else { SEGMENT_CHUNKS };
            let chunks: Vec<_> = (first..first + count).map(|n| chunk(n, n, 0, &text(n))).collect();
            texts.insert(
                SegmentKey::of(&shard(7), first),
                Segment::new(&chunks, first + count).unwrap(),
            );
        }
        let here = shard(7);
        let mut reader = texts.reader(&here);
        let mut buffer = DecompressBuffer::default();
        for n in [5, 6, 600, 7, 1026, 1025, 601, 511, 512, 0, 1032] {
            assert_eq!(reader.chunk(n).unwrap().unpack(&mut buffer), text(n).as_bytes(), "{n}");
        }
        let dictionaries = [0, 600, 1025].map(|n| reader.segment(n).unwrap().dictionary);
        assert_eq!(dictionaries.map(|bytes| bytes > 0), [true, true, false]);
    }

    #[test]
    fn there_is_a_bound() {
        let texts = Texts::new(1 << 20);
        let numbers: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
        let text = numbers.join(" ");
        for n in 0..1000 {
            let one = chunk(n * SEGMENT_CHUNKS, 0, 0, &text);
            texts.insert(SegmentKey::of(&shard(7), one.n), Segment::new(&[one], 0).unwrap());
        }
        let (used, room) = texts.usage();
        assert!(used <= room && used > room / 2, "{used} of {room}");
    }
}
