//! The cost model: how much is read at a time, and every constant on which this depends. Those of statements are in
//! `store::cost`.
//!
//! Times are of one core of an ordinary machine of 2025; only their ratios matter. `benches/levers.md`
//! and `docs/design` record what each constant gained, and what changes without it.

use std::time::Duration;

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

use ngram::{BLOCK_CHUNKS, NgramQuery};
use query::{Lookup, Plan};

/// Longest time for which shards are ruled out without a pause. In a pause other tasks run, and the deadline
/// is checked.
pub(crate) const WITHOUT_PAUSE: Duration = Duration::from_millis(1);

/// Results expected per surviving chunk, before any chunk was read.
const RESULTS_PER_CHUNK: f64 = 0.25;

/// Blobs whose names are looked at for each result, as long as nothing is known of it.
const BLOBS_PER_NAME: f64 = 16.0;

/// Most chunks of a shard that is searched on the thread of its request: waking another thread would take
/// longer.
pub(crate) const FEW_CHUNKS: usize = 64;

/// Chunks in the first batch: the limit, within these bounds. Later batches grow, so that a search that stops
/// at its limit reads little and one that goes on makes few round trips.
const FIRST_BATCH: RangeInclusive<usize> = 16..=128;

/// Most chunks in a batch.
const MAX_BATCH: usize = 2048;

/// Fewest chunks in a batch.
pub(crate) const SMALL_BATCH: usize = 16;

/// Factor by which a batch near the limit is larger than the number of chunks likely to reach it.
const MORE_THAN_LIKELY: f64 = 1.15;

/// Chunks that must have been read before their hit rate means anything.
pub(crate) const MIN_SAMPLE_CHUNKS: usize = 256;

/// Chunks that must have been read before their hit rate tells whether all shards are needed.
const SMALL_SAMPLE_CHUNKS: usize = 64;

/// Factor by which fewer results than are wanted are likely if all shards are taken to be needed.
const BY_FAR: f64 = 4.0;

/// Fewest blocks in the first range of a shard; each later range is twice as large.
const FIRST_BLOCKS: i32 = 2;

/// Kilobytes of results that all shards of a search may together have sent and the merge not yet read.
pub(crate) const AHEAD_KB: u32 = 32 * 1024;

/// Batches of files that one shard may have sent and the merge not yet read.
pub(crate) const AHEAD_BATCHES: usize = 64;

/// Batches per core, about, into which one read is cut with a limit and texts in memory. Later batches are
/// matched while the results of the first are handed on, and reaching the limit cancels the rest.
pub(crate) const BATCHES_PER_CORE: usize = 2;

/// Bytes of text, about, that are loaded and matched at once. Their results take several times as much at
/// worst.
pub(crate) const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Chunks that are read at once where chunks are read before their files.
pub(crate) const READ_FIRST: usize = 512;

/// Chunks that a blob is assumed to have when it is read as a whole.
pub(crate) const CHUNKS_PER_BLOB: usize = 4;

/// Bytes that a chunk is assumed to have. A chunk may also be a line of any length.
pub(crate) const CHUNK_BYTES: usize = 4096;

/// Bytes of text up to which the waiting task matches by itself, since another thread would cost more. Larger
/// inputs are split into jobs of about this size.
pub(crate) const JOB_BYTES: usize = 256 * 1024;

/// Bytes of text up to which the tasks of a search match by themselves in a process that has started no threads for
/// matching: to start them takes as long as to find a literal in these.
pub(crate) const COLD_BYTES: usize = 1 << 20;

/// Most bytes of a queued job that a waiting task matches in between. Meanwhile no other task of its thread
/// can run.
pub(crate) const MAX_HELP_BYTES: usize = 2 * JOB_BYTES;

/// Longest time for which a task matches texts on its own thread before it hands them to another. Ordinary
/// patterns take a tenth of it; slower ones must not keep other clients of the thread waiting.
/// A unit test has all matching threads busy, and no hurry.
pub(crate) const MAX_INLINE_TIME: Duration =
    Duration::from_millis(if cfg!(test) { 10_000 } else { 5 });

/// Most hashes per literal with which shards are compared. Where the filters are not in memory, each hash is
/// a row to read.
pub(crate) const ORDER_HASHES: usize = 12;

/// Part of a shard's blocks. If more of them may hold a match, most chunks of the shard are assumed to match,
/// until their number is known.
pub(crate) const MANY_BLOCKS: f64 = 0.25;

/// Chunks that are worth a connection of their own in a search with a limit: several connections read side by
/// side.
pub(crate) const CHUNKS_PER_CONNECTION: usize = 128;

/// Chunks of a segment that one search must have read from Postgres before the segment is loaded into memory.
pub(crate) const MISSES: usize = 16;

/// Blocks of 64 paths that are matched between two looks at the clock: one look takes as long as matching a path.
pub(crate) const PATH_BLOCKS_AT_ONCE: usize = 64;

/// Batches of files that wait for the ranking of their results.
pub(crate) const RANK_BATCHES: usize = 2;

/// The cost parameters in which the two sources of a shard differ.
#[derive(Debug)]
pub(crate) struct SourceCosts {
    /// Size of the next batch, as a multiple of all chunks read so far.
    growth: usize,
}

/// Memory has no round trips, so batches grow slowly.
pub(crate) const MEMORY: SourceCosts = SourceCosts { growth: 2 };

/// With Postgres each batch costs a round trip, so batches grow fast.
pub(crate) const POSTGRES: SourceCosts = SourceCosts { growth: 4 };

/// Most candidate chunks of a shard for which they are read ahead, along with those of other shards.
pub(crate) const FEW_CANDIDATES: usize = 32;

/// Most candidate chunks of a shard, by its filters, for which its trigram index is not asked, where one statement asks
/// those of many shards. Each costs about 0.1 ms then, as much as reading and matching so many chunks.
pub(crate) const FEW_FOR_INDEX: usize = 8;

/// Most shards that are asked together.
pub(crate) const AHEAD_SHARDS: usize = 64;

/// Factor by which more chunks are read ahead each time: if those before were not enough, the estimate was wrong.
const AHEAD_GROWTH: usize = 4;

/// Fewest shards that are worth a connection of their own when something is read ahead.
pub(crate) const SHARDS_PER_CONNECTION: usize = 4;

/// Returns about how many chunks are read ahead at once, of all shards with few candidates, where so many results are
/// wanted: a multiple of them, since filters let chunks pass by chance, and of the chunks `read` before.
pub(crate) fn ahead_chunks(wanted: Option<usize>, read: usize) -> usize {
    let likely = wanted.map_or(usize::MAX, |wanted| wanted.saturating_mul(2));
    likely.max(read.saturating_mul(AHEAD_GROWTH)).clamp(64, 512)
}

/// Decides whether a lookup asks the trigram index of a shard whose texts are not in memory, besides the
/// chunk filters. A chunk that survives the filters by chance costs 10 µs and more to read. The index names
/// the documents of a literal in 0.04 to 0.16 ms per shard if it need not recheck them (`no_recheck`). So it
/// is asked unless most documents hold the literal; and always with few n-grams, since then hundreds of
/// chunks of a shard survive by chance.
pub(crate) fn asks_trigram_index(ngrams: &NgramQuery, frequency: u32, no_recheck: bool) -> bool {
    ngrams.chunk_ngrams() < MIN_SELECTIVE_NGRAMS || no_recheck && frequency <= MAX_FREQUENCY
}

/// Decides which lookups of paths ask the index of a shard whose files are not in memory. Where a file must also have a
/// rarer literal in its text, the files that may have it are read anyway, with their paths. An index of paths names a
/// third of all files for `file:test`.
pub(crate) fn asks_path_index(plan: &Plan) -> impl Fn(&Lookup) -> bool {
    let parts = match plan {
        Plan::All(parts) => parts.as_slice(),
        _ => &[],
    };
    let in_text = parts.iter().filter(|part| !part.is_of_paths());
    let rarest = in_text.map(Plan::frequency).min().unwrap_or(u32::MAX);
    move |lookup| {
        let is_part = |part: &Plan| matches!(part, Plan::Lookup(of) if of == lookup);
        let is_rarer = rarest <= MAX_FREQUENCY && 2 * rarest <= lookup.literals.frequency();
        !(is_rarer && parts.iter().any(is_part))
    }
}

/// Microseconds of CPU time, here and in Postgres, for asking the trigram index of a shard, and for each
/// chunk of a document that it names.
const INDEX_LOOKUP_US: f64 = 500.0;
const INDEX_CANDIDATE_US: f64 = 0.13;

/// Microseconds of CPU time for reading a chunk from memory and matching it.
const CHUNK_MATCH_US: f64 = 2.5;

/// False positive rate of a chunk's filter for one n-gram. Measured with the two n-grams of `für`: of 617,000 chunks
/// 29,800 pass and 49 contain it, and √(29,800 / 617,000) = 0.22.
const BY_CHANCE: f64 = 0.22;

/// Number of n-grams from which the filters tell the chunks apart that are not in memory.
const MIN_SELECTIVE_NGRAMS: usize = 3;

/// Most chunks in 1000 that may hold a literal for which the trigram index is asked. At one chunk in 40, half
/// of the documents, of about 18 chunks each, hold it.
const MAX_FREQUENCY: u32 = 40;

/// Number of unrelated chunks that hold a literal as often as a document does. A document has 18 chunks of some
/// neighbouring files, which are alike. Measured with `var`, `int`, `err`, `get`, `new`, `def`, `fun` and `sel`, which are
/// in 65, 97, 91, 93, 82, 95, 81 and 74 % of 5,556 documents; by this number, in 65, 100, 98, 97, 85, 99, 88 and 75 %.
const UNRELATED_CHUNKS: i32 = 6;

/// Microseconds of CPU time that asking the trigram index for lookups saves, and that it costs beside
/// [`INDEX_LOOKUP_US`], where texts are in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IndexWorth {
    saved: f64,
    spent: f64,
}

impl IndexWorth {
    /// Estimates it for a lookup of a literal with so many n-grams, which is in `frequency` of 1000 chunks. `survivors` of
    /// the shard's `chunks` survive the filters. The index rules out those that survive by chance, unless they lie in
    /// documents that hold the literal.
    pub(crate) fn of(ngrams: usize, frequency: u32, chunks: i32, survivors: usize) -> Self {
        let share = 1.0 - (1.0 - f64::from(frequency.max(1)) / 1000.0).powi(UNRELATED_CHUNKS);
        let by_chance = by_chance(ngrams, chunks).min(survivors as f64);
        Self {
            saved: by_chance * (1.0 - share) * CHUNK_MATCH_US,
            spent: f64::from(chunks) * share * INDEX_CANDIDATE_US,
        }
    }

    /// Returns what it is worth if so many chunks need not be read for each one that is ruled out.
    pub(crate) fn times(self, chunks: f64) -> Self {
        Self { saved: self.saved * chunks, ..self }
    }

    /// Returns whether more is saved than spent.
    pub(crate) fn is_positive(self) -> bool {
        self.saved > self.spent
    }

    /// Adds another lookup, which is asked in the same statement.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { saved: self.saved + other.saved, spent: self.spent + other.spent }
    }
}

/// Decides whether the trigram index of a shard that is in memory is asked. `survivors` is the number of chunks to read;
/// `wanted` is the number of results still wanted.
pub(crate) fn prefers_trigram_index(
    worth: IndexWorth,
    survivors: usize,
    wanted: Option<usize>,
    rate: &HitRate,
) -> bool {
    let likely = |wanted| wanted as f64 / rate.rate().unwrap_or(RESULTS_PER_CHUNK).max(1e-9);
    // With a limit, only a part of the chunks is read.
    let part = wanted.map_or(1.0, |wanted| (likely(wanted) / survivors.max(1) as f64).min(1.0));
    part * worth.saved > INDEX_LOOKUP_US + worth.spent
}

/// Returns how many of `chunks` chunks pass the filters by chance for a literal with this number of n-grams.
fn by_chance(ngrams: usize, chunks: i32) -> f64 {
    f64::from(chunks) * BY_CHANCE.powi(ngrams.min(32) as i32)
}

/// Most blobs of a shard whose names (paths, and what they define) are matched before filters are asked for chunks.
/// Matching so many takes as long as asking the filters of a shard: about a quarter of a millisecond.
pub(crate) const FEW_NAMED_BLOBS: usize = 300;

/// Number of blobs left at which no more literals of a pattern that spans lines are looked up.
pub(crate) const FEW_BLOBS_FOR_STRINGS: usize = 16;

/// The number of results per chunk read, over all shards of a search.
#[derive(Debug, Default)]
pub(crate) struct HitRate {
    chunks: AtomicUsize,
    results: AtomicUsize,
}

impl HitRate {
    /// Adds chunks that were read and the results found in them.
    pub(crate) fn note(&self, chunks: usize, results: usize) {
        self.chunks.fetch_add(chunks, Ordering::Relaxed);
        self.results.fetch_add(results, Ordering::Relaxed);
    }

    /// Returns the results per chunk, once enough chunks were read.
    pub(crate) fn rate(&self) -> Option<f64> {
        let chunks = self.chunks.load(Ordering::Relaxed);
        let results = self.results.load(Ordering::Relaxed);
        (chunks >= MIN_SAMPLE_CHUNKS).then(|| results as f64 / chunks as f64)
    }

    /// Returns how many results some chunks are likely to give.
    fn results_in(&self, chunks: usize) -> f64 {
        chunks as f64 * self.rate().unwrap_or(RESULTS_PER_CHUNK)
    }

    /// Returns whether some chunks are likely to give by far fewer results than are wanted, so that all of them are needed.
    /// If little is known, they are expected to give many: reading what is not needed costs more than reading in two steps.
    pub(crate) fn needs_all(&self, chunks: usize, wanted: usize) -> bool {
        let read = self.chunks.load(Ordering::Relaxed);
        let rate = if read < SMALL_SAMPLE_CHUNKS {
            2.0 * RESULTS_PER_CHUNK
        } else {
            self.results.load(Ordering::Relaxed) as f64 / read as f64
        };
        chunks as f64 * rate * BY_FAR <= wanted as f64
    }

    /// Returns whether `chunks` chunks to read in `shards` shards are likely to give the wanted results, or
    /// will at least show the hit rate. `busy` shards keep all cores busy.
    pub(crate) fn is_enough(
        &self,
        chunks: usize,
        shards: usize,
        busy: usize,
        wanted: usize,
    ) -> bool {
        let telling = chunks >= MIN_SAMPLE_CHUNKS && (self.rate().is_none() || shards >= busy);
        telling || self.results_in(chunks) > wanted as f64
    }

    /// Returns the size, in chunk numbers, of the first range of a shard that is likely to give the wanted
    /// results. The filters let `named` of its `chunks` chunks through.
    pub(crate) fn first_range(&self, chunks: i32, named: usize, wanted: Option<usize>) -> i32 {
        let part = wanted.map_or(1.0, |wanted| {
            let rate = self.rate().unwrap_or(RESULTS_PER_CHUNK).max(1e-9);
            wanted as f64 / rate * MORE_THAN_LIKELY / named.max(1) as f64
        });
        first_part(chunks, part)
    }
}

/// Returns the size, in chunk numbers, of the first range of a shard that is likely to give the wanted results, if the names
/// of about `blobs` blobs of its `chunks` chunks have to be looked at for all.
pub(crate) fn first_range_of_names(chunks: i32, blobs: usize, wanted: Option<usize>) -> i32 {
    let part = wanted.map_or(1.0, |wanted| wanted as f64 * BLOBS_PER_NAME / blobs.max(1) as f64);
    first_part(chunks, part)
}

/// Returns a part of the chunks of a shard, but at least [`FIRST_BLOCKS`].
fn first_part(chunks: i32, part: f64) -> i32 {
    ((f64::from(chunks) * part.min(1.0)) as i32).max(FIRST_BLOCKS * BLOCK_CHUNKS)
}

/// Decides how much of a shard is read at a time.
#[derive(Debug)]
pub(crate) struct BatchSizer {
    /// Chunks in the first batch.
    first: usize,
    growth: usize,
    /// Chunks read so far.
    read: usize,
    /// Results found in them.
    found: usize,
    /// Chunks read since the last result.
    in_vain: usize,
}

impl BatchSizer {
    /// Creates a sizer for a search with this limit, or without one.
    pub(crate) fn new(limit: Option<usize>, costs: &SourceCosts) -> Self {
        let first = limit.unwrap_or(usize::MAX).clamp(*FIRST_BATCH.start(), *FIRST_BATCH.end());
        Self { first, growth: costs.growth, read: 0, found: 0, in_vain: 0 }
    }

    /// Notes that chunks are being read, before their results are known.
    pub(crate) fn reads(&mut self, chunks: usize) {
        self.read += chunks;
    }

    /// Notes the results of chunks that were read.
    pub(crate) fn gave(&mut self, chunks: usize, results: usize) {
        self.found += results;
        self.in_vain = if results > 0 { 0 } else { self.in_vain + chunks };
    }

    /// Returns the number of chunks to read at a time: no more than are likely to give the results still
    /// wanted.
    pub(crate) fn size(&self, wanted: Option<usize>, overall: &HitRate) -> usize {
        let most = self.first.max(self.read.saturating_mul(self.growth)).min(MAX_BATCH);
        // One more result than found, so that without any result batches still have a finite estimate and
        // grow.
        let own = (self.read >= SMALL_BATCH).then(|| (self.found + 1) as f64 / self.read as f64);
        // They also grow when a shard that gave many results gives no more.
        let least = SMALL_BATCH.max(self.in_vain);
        match (wanted, own.or_else(|| overall.rate())) {
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
    use query::{Case, CompiledQuery, Query, Scope};

    use super::*;

    #[test]
    fn paths_are_not_looked_up_beside_a_rare_literal() {
        let asked = |query: &str| {
            let compiled = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
            let plan = Plan::of(&compiled.expr, &compiled);
            let asks = asks_path_index(&plan);
            let of_paths = plan.lookups().into_iter().filter(|of| of.scope == Scope::Path);
            of_paths.filter(|lookup| asks(lookup)).count()
        };
        assert_eq!(asked("c:idempotent f:test"), 0);
        assert_eq!(asked("c:idempotent f:test f:main"), 0);
        assert_eq!(asked("c:idempotent f:test f:quiesce"), 1);
        // The word may itself be in the path.
        assert_eq!(asked("idempotent f:test"), 1);
        assert_eq!(asked("idempotent"), 1);
        assert_eq!(asked("c:return f:test"), 1);
        assert_eq!(asked("f:test f:main"), 2);
    }

    #[test]
    fn the_trigram_index_is_asked_where_it_rules_out_more_than_it_names() {
        let of = |ngrams, frequency| IndexWorth::of(ngrams, frequency, 20_000, 20_000);
        let asks = |worth: IndexWorth, wanted| {
            worth.is_positive() && prefers_trigram_index(worth, 5000, wanted, &HitRate::default())
        };
        // A rare word of three letters has one n-gram, which a fifth of all chunks have by chance.
        assert!(asks(of(1, 8), None));
        // With a limit, few chunks are read.
        assert!(!asks(of(1, 8), Some(10)));
        // Nearly all documents have `int`.
        assert!(!asks(of(1, 682), None));
        // Filters let few chunks pass by chance that lack four n-grams; but these may be all that others are read for.
        assert!(!asks(of(4, 8), None) && asks(of(4, 8).times(20.0), None));
    }

    #[test]
    fn batches_grow_and_end_near_the_limit() {
        let overall = HitRate::default();
        let mut sizer = BatchSizer::new(Some(10), &MEMORY);
        assert_eq!(sizer.size(Some(11), &overall), 16);
        sizer.reads(16);
        sizer.gave(16, 7);
        // About every second chunk gave a result.
        assert_eq!(sizer.size(Some(4), &overall), SMALL_BATCH);
        let mut sizer = BatchSizer::new(None, &POSTGRES);
        assert_eq!(sizer.size(None, &overall), 128);
        sizer.reads(128);
        sizer.gave(128, 0);
        assert_eq!(sizer.size(None, &overall), 512);
        sizer.reads(10_000);
        assert_eq!(sizer.size(None, &overall), MAX_BATCH);
    }

    #[test]
    fn all_shards_are_needed_if_they_are_likely_to_give_by_far_too_little() {
        let rate = HitRate::default();
        // Nothing is known of the rate: every second chunk is expected to give a result.
        assert!(rate.needs_all(50, 100) && !rate.needs_all(51, 100));
        rate.note(63, 0);
        assert!(!rate.needs_all(51, 100));
        rate.note(1, 0);
        assert!(rate.needs_all(1_000_000, 100));
        rate.note(64, 128);
        assert!(!rate.needs_all(51, 100) && rate.needs_all(25, 100));
    }

    #[test]
    fn more_chunks_are_read_ahead_each_time() {
        assert_eq!(ahead_chunks(None, 0), 512);
        assert_eq!(ahead_chunks(Some(10), 0), 64);
        assert_eq!(ahead_chunks(Some(100), 0), 200);
        assert_eq!(ahead_chunks(Some(10), 64), 256);
        assert_eq!(ahead_chunks(Some(10), 10_000), 512);
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
        assert_eq!(first_range_of_names(20_000, 1600, Some(10)), 2000);
        assert_eq!(first_range_of_names(20_000, 90, Some(10)), 20_000);
        assert_eq!(first_range_of_names(20_000, 1600, None), 20_000);
    }
}
