//! The texts that a server keeps in memory, so that Postgres only names candidates.
//!
//! They are a copy, never the truth: what is not here is read from Postgres. A chunk is kept by its
//! shard, the epoch with which that shard went live, and its number in it; under these three its text
//! never changes, since numbers are not used again until the shard is emptied and filled anew.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use store::{BlobId, Chunk, Epoch, ShardId};

/// What a chunk takes beside its text: the key, the numbers, the cache's own book-keeping.
const OVERHEAD_BYTES: u64 = 112;

/// Chunks by their place, compressed, up to a number of bytes.
#[derive(Debug)]
pub(crate) struct Texts {
    cache: Cache<Place, Arc<Packed>, Weight>,
}

/// Where a chunk stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) shard: ShardId,
    /// The epoch with which the shard went live.
    pub(crate) since: Epoch,
    pub(crate) n: i32,
}

/// A chunk with its text compressed (LZ4, with its length in front).
#[derive(Debug)]
struct Packed {
    blob: BlobId,
    line: i32,
    start: i32,
    text: Box<[u8]>,
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Place, Arc<Packed>> for Weight {
    fn weight(&self, _: &Place, packed: &Arc<Packed>) -> u64 {
        packed.text.len() as u64 + OVERHEAD_BYTES
    }
}

impl Texts {
    /// Keeps up to so many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        // How many there will be, about: a chunk takes half of its 4 KB.
        let items = (bytes / 2048).clamp(64, 1 << 24) as usize;
        Self { cache: Cache::with_weighter(items, bytes, Weight) }
    }

    /// A chunk, if it is here.
    pub(crate) fn get(&self, place: Place) -> Option<Chunk> {
        let packed = self.cache.get(&place)?;
        let text = lz4_flex::decompress_size_prepended(&packed.text).ok()?;
        Some(Chunk {
            n: place.n,
            blob: packed.blob,
            line: packed.line,
            start: packed.start,
            contents: String::from_utf8(text).ok()?,
        })
    }

    /// All chunks of a blob of so many bytes, if they are here.
    pub(crate) fn blob(&self, place: Place, bytes: usize) -> Option<Vec<Chunk>> {
        let mut chunks = Vec::new();
        for n in place.n.. {
            let chunk = self.get(Place { n, ..place })?;
            let end = chunk.start as usize + chunk.contents.len();
            chunks.push(chunk);
            if end >= bytes {
                break;
            }
        }
        Some(chunks)
    }

    /// Keeps a chunk, perhaps in place of others.
    pub(crate) fn keep(&self, shard: ShardId, since: Epoch, chunk: &Chunk) {
        let text = lz4_flex::compress_prepend_size(chunk.contents.as_bytes()).into_boxed_slice();
        let packed = Packed { blob: chunk.blob, line: chunk.line, start: chunk.start, text };
        self.cache.insert(Place { shard, since, n: chunk.n }, Arc::new(packed));
    }

    /// Bytes that are in use, and that may be.
    pub(crate) fn fill(&self) -> (u64, u64) {
        (self.cache.weight(), self.cache.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_as_they_were_until_there_is_no_room() {
        let texts = Texts::new(1 << 20);
        let place = |n| Place { shard: ShardId(3), since: Epoch(7), n };
        let chunk = |n: i32, start: i32| Chunk {
            n,
            blob: BlobId(10),
            line: 1,
            start,
            contents: "é line\n".repeat(100),
        };
        texts.keep(ShardId(3), Epoch(7), &chunk(10, 0));
        assert_eq!(texts.get(place(10)).unwrap().contents, "é line\n".repeat(100));
        assert!(texts.get(Place { since: Epoch(8), ..place(10) }).is_none());
        // A blob is whole or not there.
        assert!(texts.blob(place(10), 1600).is_none());
        texts.keep(ShardId(3), Epoch(7), &chunk(11, 800));
        assert_eq!(texts.blob(place(10), 1600).unwrap().len(), 2);
        for n in 0..100_000 {
            texts.keep(ShardId(4), Epoch(7), &chunk(n, 0));
        }
        let (used, room) = texts.fill();
        assert!(used <= room && used > room / 2, "{used} of {room}");
    }
}
