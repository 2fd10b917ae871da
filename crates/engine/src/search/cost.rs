//! The cost model: how much is read at a time, and every figure that this depends on.
//!
//! Times are of one core of an ordinary machine of 2025; only their ratios matter. What each figure gave is in
//! `benches/levers.md`.

use std::time::Duration;

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

use ngram::{BLOCK_CHUNKS, NgramQuery};

/// Shards may be ruled out for so long without a pause, in which other tasks have their turn and the deadline is looked at.
pub(crate) const WITHOUT_PAUSE: Duration = Duration::from_millis(1);

/// Results that a chunk which the filters let through is taken to give, before any was read.
const RESULTS_PER_CHUNK: f64 = 0.25;

/// Shards with at most so many chunks to read are searched on the thread of their request: waking another one takes longer.
pub(crate) const FEW_CHUNKS: usize = 64;

/// Chunks that are read first, for a small limit and at most. Then there are more at a time, so that a search that stops
/// at a limit reads little and one that goes on makes few round trips.
const FIRST_BATCH: RangeInclusive<usize> = 16..=128;

/// Chunks that are read at a time at most.
const MAX_BATCH: usize = 2048;

/// Chunks that are read at a time at least.
pub(crate) const SMALL_BATCH: usize = 16;

/// When the limit is near, what is read at a time is so many times what is likely to be needed to reach it.
const MORE_THAN_LIKELY: f64 = 1.15;

/// Chunks that must have been read for their results to tell anything.
pub(crate) const TELLING_CHUNKS: usize = 256;

/// Blocks whose chunks are listed first at least; then twice as many.
const FIRST_BLOCKS: i32 = 2;

/// Kilobytes of results that the shards of a search may be ahead of who reads them, together.
pub(crate) const AHEAD_KB: u32 = 32 * 1024;

/// Batches of files that a shard may be ahead of who reads them.
pub(crate) const AHEAD_BATCHES: usize = 64;

/// With a limit and texts in memory, what is read at a time is cut into so many batches for each thread, about. What
/// they give is taken in order while the next ones are being read, and who has enough stops the rest.
pub(crate) const BATCHES_PER_CORE: usize = 2;

/// Bytes of text that are loaded and verified at once, about. What is found in them takes several times as much at worst.
pub(crate) const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Chunks that are read at once when they are read before their files.
pub(crate) const READ_FIRST: usize = 512;

/// How many chunks a blob is taken to have that is read as a whole.
pub(crate) const CHUNKS_PER_BLOB: usize = 4;

/// Bytes that a chunk is taken to have, in a file that is not large; in a large one it may be a line of any length.
pub(crate) const CHUNK_BYTES: usize = 4096;

/// Files over this many bytes are taken to be read as a whole.
pub(crate) const LARGE_FILE: usize = 64 * 1024;

/// Texts up to this many bytes are matched where they are: another thread would cost more. What is shared out among
/// threads is cut into parts of about as many.
pub(crate) const SMALL_BYTES: usize = 256 * 1024;

/// Bytes that a task which waits for texts to be matched matches of others at a time. As long as it does, it hears of
/// nothing, and nor do others on its thread.
pub(crate) const HELP_BYTES: usize = 2 * SMALL_BYTES;

/// How long the thread of a task matches texts before it leaves them to others: ordinary patterns take a tenth of it, and
/// what takes longer must not keep other clients of this thread waiting.
pub(crate) const PATIENCE: Duration = Duration::from_millis(5);

/// Hashes of each literal that tell in how many blocks of a shard it may be, to compare shards: where their filters are not
/// in memory, each is a row to be read.
pub(crate) const PROMISE_HASHES: usize = 12;

/// Where more than this part of the blocks of a shard may have what is searched for, most of its chunks are taken to have it,
/// until the database says how many.
pub(crate) const MANY_BLOCKS: f64 = 0.25;

/// Chunks of a search with a limit that are worth a connection of their own when more are read at a time: one core then
/// reads beside the other.
pub(crate) const CHUNKS_PER_CONNECTION: usize = 128;

/// What differs between the two sources of a shard.
#[derive(Debug)]
pub(crate) struct SourceCosts {
    /// The next batch is so many times what has been read.
    growth: usize,
}

/// There are no round trips.
pub(crate) const MEMORY: SourceCosts = SourceCosts { growth: 2 };

/// Each batch costs a round trip.
pub(crate) const POSTGRES: SourceCosts = SourceCosts { growth: 4 };

/// Whether the trigram index of a shard whose texts are not in memory is asked for a lookup, beside the filters of chunks. A
/// chunk that those let through by chance takes ten microseconds and more to read; the index names the documents that
/// hold a literal in 0.04 to 0.16 ms a shard, if it need not look at them (`no_recheck`). So it is asked unless most
/// documents hold it; and with few n-grams always, since then hundreds of chunks in a shard are let through by chance.
pub(crate) fn asks_trigram_index(ngrams: &NgramQuery, frequency: u32, no_recheck: bool) -> bool {
    ngrams.chunk_ngrams() < TELLING_FROM_POSTGRES || no_recheck && frequency <= MAX_FREQUENCY
}

/// Microseconds of a core, ours and the database's, for asking the trigram index of a shard, and for each chunk that it then
/// names.
const ASK_US: f64 = 800.0;
const NAME_US: f64 = 2.0;

/// Microseconds for reading a chunk from memory and matching it.
const READ_US: f64 = 2.5;

/// N-grams that tell chunks apart: with fewer, so many survive the filters by chance that the trigram index may know better.
/// A chunk of code has one n-gram of a literal by chance in a tenth of all cases, and two in a hundredth.
const TELLING_NGRAMS: usize = 2;
/// The same for texts that are not in memory: reading one takes longer.
const TELLING_FROM_POSTGRES: usize = 3;

/// How many of 1000 chunks hold a literal at most for which the trigram index is asked: half of the documents, of about
/// eighteen chunks each, hold one that is in 40.
const MAX_FREQUENCY: u32 = 40;

/// Whether a shard that is in memory is better searched by way of Postgres: for a pattern of so few n-grams that most of
/// what survives the filters survives by chance. `survivors` are the chunks that do, of `chunks`, of which so many of 1000
/// are likely to hold what the plan asks for.
pub(crate) fn ask_postgres(
    ngrams: usize,
    survivors: usize,
    chunks: i32,
    frequency: u32,
    wanted: Option<usize>,
    rate: &HitRate,
) -> bool {
    let likely = |wanted| wanted as f64 / rate.rate().unwrap_or(RESULTS_PER_CHUNK).max(1e-9);
    let read = wanted.map_or(f64::INFINITY, likely).min(survivors as f64);
    let named = f64::from(chunks) * f64::from(frequency.max(1)) / 1000.0;
    ngrams < TELLING_NGRAMS && read * READ_US > ASK_US + named * NAME_US
}

/// When so few blobs are left, the strings of a pattern that spans lines are not looked up any more.
pub(crate) const FEW_BLOBS_FOR_STRINGS: usize = 16;

/// How many results reading chunks has given, in all shards of a search.
#[derive(Debug, Default)]
pub(crate) struct HitRate {
    chunks: AtomicUsize,
    results: AtomicUsize,
}

impl HitRate {
    /// Notes what was read and found.
    pub(crate) fn note(&self, chunks: usize, results: usize) {
        self.chunks.fetch_add(chunks, Ordering::Relaxed);
        self.results.fetch_add(results, Ordering::Relaxed);
    }

    /// Results for each chunk, once that can be told.
    pub(crate) fn rate(&self) -> Option<f64> {
        let chunks = self.chunks.load(Ordering::Relaxed);
        let results = self.results.load(Ordering::Relaxed);
        (chunks >= TELLING_CHUNKS).then(|| results as f64 / chunks as f64)
    }

    /// Whether so many chunks, which some shards are to read, are likely to give as many results as are wanted, or tell how
    /// many they give. So many shards keep all cores busy.
    pub(crate) fn is_enough(
        &self,
        chunks: usize,
        shards: usize,
        busy: usize,
        wanted: usize,
    ) -> bool {
        let rate = self.rate();
        let likely = chunks as f64 * rate.unwrap_or(RESULTS_PER_CHUNK);
        let telling = chunks >= TELLING_CHUNKS && (rate.is_none() || shards >= busy);
        telling || likely > wanted as f64
    }

    /// How many of `chunks` chunk numbers, of which the filters let `named` through, are gone through first: as many as are
    /// likely to give what is wanted.
    pub(crate) fn first_range(&self, chunks: i32, named: usize, wanted: Option<usize>) -> i32 {
        let part = wanted.map_or(1.0, |wanted| {
            let rate = self.rate().unwrap_or(RESULTS_PER_CHUNK).max(1e-9);
            wanted as f64 / rate * MORE_THAN_LIKELY / named.max(1) as f64
        });
        ((f64::from(chunks) * part.min(1.0)) as i32).max(FIRST_BLOCKS * BLOCK_CHUNKS)
    }
}

/// How much of a shard is read at a time.
#[derive(Debug)]
pub(crate) struct BatchSizer {
    /// Chunks at first.
    first: usize,
    growth: usize,
    /// Chunks that were read.
    read: usize,
    /// Results in them.
    found: usize,
    /// Chunks that were read since something was found.
    in_vain: usize,
}

impl BatchSizer {
    /// For a search with a limit, or without.
    pub(crate) fn new(limit: Option<usize>, costs: &SourceCosts) -> Self {
        let first = limit.unwrap_or(usize::MAX).clamp(*FIRST_BATCH.start(), *FIRST_BATCH.end());
        Self { first, growth: costs.growth, read: 0, found: 0, in_vain: 0 }
    }

    /// Notes how many chunks are read, before what they give is known.
    pub(crate) fn reads(&mut self, chunks: usize) {
        self.read += chunks;
    }

    /// Notes what they gave.
    pub(crate) fn gave(&mut self, chunks: usize, results: usize) {
        self.found += results;
        self.in_vain = if results > 0 { 0 } else { self.in_vain + chunks };
    }

    /// How many chunks to read at a time: no more than are likely to be needed for the results that are wanted.
    pub(crate) fn size(&self, wanted: Option<usize>, elsewhere: &HitRate) -> usize {
        let most = self.first.max(self.read.saturating_mul(self.growth)).min(MAX_BATCH);
        // One more than was found, so that where nothing is, more is read at a time.
        let own = (self.read >= SMALL_BATCH).then(|| (self.found + 1) as f64 / self.read as f64);
        // And so it is when a shard that gave much gives no more.
        let least = SMALL_BATCH.max(self.in_vain);
        match (wanted, own.or_else(|| elsewhere.rate())) {
            (Some(wanted), Some(rate)) => {
                let likely = wanted as f64 / rate.max(1e-9) * MORE_THAN_LIKELY;
                most.min((likely as usize).max(least))
            }
            _ => most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_and_end_near_the_limit() {
        let elsewhere = HitRate::default();
        let mut sizer = BatchSizer::new(Some(10), &MEMORY);
        assert_eq!(sizer.size(Some(11), &elsewhere), 16);
        sizer.reads(16);
        sizer.gave(16, 7);
        // Every second chunk gave a result.
        assert_eq!(sizer.size(Some(4), &elsewhere), SMALL_BATCH);
        let mut sizer = BatchSizer::new(None, &POSTGRES);
        assert_eq!(sizer.size(None, &elsewhere), 128);
        sizer.reads(128);
        sizer.gave(128, 0);
        assert_eq!(sizer.size(None, &elsewhere), 512);
        sizer.reads(10_000);
        assert_eq!(sizer.size(None, &elsewhere), MAX_BATCH);
    }

    #[test]
    fn what_other_shards_gave_tells_how_much_is_needed() {
        let rate = HitRate::default();
        assert_eq!(rate.rate(), None);
        assert!(rate.is_enough(200, 1, 2, 10) && !rate.is_enough(200, 1, 2, 100));
        rate.note(1000, 10);
        assert_eq!(rate.rate(), Some(0.01));
        assert!(!rate.is_enough(200, 1, 2, 10) && rate.is_enough(2000, 1, 2, 10));
        assert_eq!(rate.first_range(20_000, 10, Some(100)), 20_000);
        assert_eq!(rate.first_range(20_000, 10_000, Some(10)), 2300);
        assert_eq!(rate.first_range(20_000, 10_000, None), 20_000);
    }
}
