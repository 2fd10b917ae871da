//! Finds the chunks of a shard that survive the filters in memory: those worth reading. Computed once for
//! each lookup, since several decisions depend on it.

use std::cell::LazyCell;
use std::ops::Range;
use std::sync::Arc;

use ngram::{BLOCK_CHUNKS, Columns, NgramQuery, SurvivingBlocks};
use query::{CompiledQuery, Expr, Lookup, Plan, Scope};
use store::{BlobId, Shard};

use super::cost::IndexWorth;
use super::names::Names;
use super::shards::{Selection, ShardTask};
use super::state::Search;
use crate::cache::files::{ShardFileFilter, ShardFiles};
use crate::cache::texts::{Segment, Texts};

/// What of a shard survives the filters in memory.
#[derive(Debug, Default)]
pub(crate) struct Survivors {
    /// The surviving chunks for each lookup of scope chunk, by its terms.
    chunks: Vec<(Vec<usize>, SurvivingChunks)>,
    /// No file has the names that are asked for.
    no_name: bool,
}

/// The chunks of a shard that may hold what one lookup asks for.
#[derive(Debug)]
pub(crate) struct SurvivingChunks {
    /// Blocks with such chunks, ascending.
    blocks: Vec<Block>,
    /// Number of these chunks, about; 0 only if there are none.
    chunks: usize,
}

#[derive(Debug)]
struct Block {
    number: i32,
    /// Segment with the texts of the block and its surviving chunks, if the segment is in memory.
    segment: Option<(Arc<Segment>, Columns)>,
}

impl Survivors {
    /// Finds the survivors of a shard by the filters in memory; empty if there are none in memory.
    pub(crate) fn of(
        task: &ShardTask,
        selection: &Selection,
        query: &CompiledQuery,
        texts: Option<&Texts>,
        go_on: &dyn Fn() -> bool,
    ) -> Self {
        let mut survivors = Self::default();
        let Some(texts) = texts else { return survivors };
        // Prepared only when needed: most shards are ruled out before.
        let wanted = LazyCell::new(|| wanted_files(task, selection, query));
        let wanted = || wanted.as_ref();
        let surviving = |lookup: &Lookup| task.filters.surviving(lookup, &task.cached, query);
        let chunks_of = |lookup: &Lookup, left: Option<&[Range<i32>]>| {
            let (blocks, ngrams) = (surviving(lookup)?, lookup.ngrams(query));
            SurvivingChunks::of(&ngrams, &blocks, task, left, &wanted, texts)
        };
        match &task.query.plan {
            Plan::All(parts) => {
                let named = Names { task, query, go_on }.of_first(parts);
                if named.as_ref().is_some_and(Vec::is_empty) {
                    return Self { no_name: true, ..survivors };
                }
                let extents =
                    |blobs: Vec<BlobId>| Some(task.cached.files.as_ref()?.extents(&blobs));
                let mut left = named.and_then(extents);
                // Begin with the part that fewest blocks may hold: it is the most likely to have no survivor,
                // which rules the shard out.
                let blocks = |lookup: &Lookup| surviving(lookup).map(|found| found.blocks.count());
                let mut parts: Vec<&Plan> = parts.iter().collect();
                parts.sort_by_cached_key(|part| count_blocks(part, &blocks));
                for part in parts {
                    survivors.add(part, &|lookup| chunks_of(lookup, left.as_deref()));
                    if survivors.rules_out(part) {
                        break;
                    }
                    // For later parts, only the chunks of the blobs that this part leaves matter.
                    if let (Plan::Lookup(lookup), Some(files)) = (part, &task.cached.files) {
                        let of_last = survivors.get(lookup);
                        left = of_last.and_then(|last| last.blobs(&task.shard, files)).or(left);
                    }
                }
            }
            plan => survivors.add(plan, &|lookup| chunks_of(lookup, None)),
        }
        if !survivors.rules_out(&task.query.plan) {
            for lookup in &task.query.negated {
                survivors.add_lookup(lookup, &|lookup| chunks_of(lookup, None));
            }
        }
        survivors
    }

    fn add(&mut self, plan: &Plan, chunks_of: &impl Fn(&Lookup) -> Option<SurvivingChunks>) {
        match plan {
            Plan::Lookup(lookup) => self.add_lookup(lookup, chunks_of),
            Plan::Scan => {}
            Plan::All(parts) | Plan::Any(parts) => {
                for part in parts {
                    self.add(part, chunks_of);
                }
            }
        }
    }

    fn add_lookup(
        &mut self,
        lookup: &Lookup,
        chunks_of: &impl Fn(&Lookup) -> Option<SurvivingChunks>,
    ) {
        if lookup.scope == Scope::Chunk {
            self.chunks.extend(chunks_of(lookup).map(|chunks| (lookup.terms.clone(), chunks)));
        }
    }

    /// Returns the surviving chunks of a lookup.
    pub(crate) fn get(&self, lookup: &Lookup) -> Option<&SurvivingChunks> {
        let of = |(terms, _): &&(Vec<usize>, SurvivingChunks)| *terms == lookup.terms;
        let found = self.chunks.iter().find(of).map(|(_, chunks)| chunks);
        found.filter(|_| lookup.scope == Scope::Chunk)
    }

    /// Returns whether a plan has no survivor.
    pub(crate) fn rules_out(&self, plan: &Plan) -> bool {
        match plan {
            _ if self.no_name => true,
            Plan::Scan => false,
            Plan::Lookup(lookup) => self.get(lookup).is_some_and(|found| found.chunks == 0),
            Plan::All(parts) => parts.iter().any(|part| self.rules_out(part)),
            Plan::Any(parts) => parts.iter().all(|part| self.rules_out(part)),
        }
    }

    /// Returns how many chunks the filters in memory let through for a plan. Lookups of paths, symbols and whole blobs,
    /// and those without filters in memory, count as 0.
    pub(crate) fn count_chunks(&self, plan: &Plan, shard: &Shard) -> usize {
        match plan {
            Plan::Scan => shard.chunks as usize,
            Plan::Lookup(lookup) => self.get(lookup).map_or(0, |found| found.chunks),
            // Paths say nothing about chunks.
            Plan::All(parts) => {
                let parts = parts.iter().filter(|part| !part.is_of_paths());
                parts.map(|part| self.count_chunks(part, shard)).min().unwrap_or_default()
            }
            Plan::Any(parts) => parts.iter().map(|part| self.count_chunks(part, shard)).sum(),
        }
    }

    /// Estimates what asking the trigram index for a lookup is worth; `None` if too little is known of it.
    pub(crate) fn index_worth(
        &self,
        lookup: &Lookup,
        search: &Search,
        task: &ShardTask,
    ) -> Option<IndexWorth> {
        // At 1000 nothing is known of the literals, such as those without a trigram.
        let frequency = Some(lookup.literals.frequency()).filter(|frequency| *frequency < 1000)?;
        let ngrams = lookup.ngrams(search.query()).chunk_ngrams();
        let worth = IndexWorth::of(ngrams, frequency, task.shard.chunks, self.get(lookup)?.chunks);
        // With a limit, the shards with the most results come first, where less is ruled out.
        let times = match search.request.limit {
            None => self.chunks_for_each(lookup, &task.query.plan),
            Some(_) => 1.0,
        };
        Some(worth.times(times))
    }

    /// Returns how many chunks need not be read for each chunk of a lookup that is ruled out: in a blob without what one
    /// part of an `All` asks for, those of the other parts are not read.
    fn chunks_for_each(&self, lookup: &Lookup, plan: &Plan) -> f64 {
        let Plan::All(parts) = plan else { return 1.0 };
        let count = |part: &Plan| -> usize {
            let found = part.lookups().into_iter().filter_map(|lookup| self.get(lookup));
            found.map(|found| found.chunks).sum()
        };
        let part = parts.iter().find(|part| part.lookups().contains(&lookup)).map_or(0, count);
        let all: usize = parts.iter().map(count).sum();
        if part == 0 { 1.0 } else { all as f64 / part as f64 }
    }

    /// Returns the number of chunks that survive for a plan, each lookup taken by itself; `None` if unknown.
    /// For `All`, it counts the part with the fewest: blobs without that part are not read for the others.
    pub(crate) fn count(&self, plan: &Plan) -> Option<usize> {
        match plan {
            Plan::Lookup(lookup) if lookup.scope == Scope::Path => Some(0),
            Plan::Lookup(lookup) => self.get(lookup).map(|found| found.chunks),
            Plan::Any(parts) => parts.iter().map(|part| self.count(part)).sum(),
            Plan::All(parts) => {
                let parts = parts.iter().filter(|part| part.is_of_chunks());
                let counts: Option<Vec<usize>> = parts.map(|part| self.count(part)).collect();
                counts?.into_iter().min()
            }
            Plan::Scan => None,
        }
    }
}

/// Returns an upper bound of the blocks that may hold what a plan asks of chunks; `usize::MAX` if unknown.
fn count_blocks(plan: &Plan, blocks: &impl Fn(&Lookup) -> Option<usize>) -> usize {
    match plan {
        Plan::Scan => usize::MAX,
        Plan::Lookup(lookup) if lookup.scope != Scope::Chunk => 0,
        Plan::Lookup(lookup) => blocks(lookup).unwrap_or(usize::MAX),
        Plan::All(parts) => parts.iter().map(|part| count_blocks(part, blocks)).min().unwrap_or(0),
        Plan::Any(parts) => {
            let each = parts.iter().map(|part| count_blocks(part, blocks));
            each.fold(0, usize::saturating_add)
        }
    }
}

/// Returns the files that are wanted whatever their texts; `None` for all, or if the shard's files are not in
/// memory.
fn wanted_files<'a>(
    task: &'a ShardTask,
    selection: &'a Selection,
    query: &CompiledQuery,
) -> Option<ShardFileFilter<'a>> {
    // `file_condition` lacks predicates on which all chosen repositories of the shard agree, so the repositories
    // are checked, too.
    let (file_condition, repos) = (&task.query.file_condition, selection.files.repos.as_deref());
    let all = *file_condition == Expr::Const(true) && repos.is_none();
    let files = task.cached.files.as_ref().filter(|_| !all)?;
    Some(files.wanted(file_condition, query, repos, |repo, of| selection.repo_holds(repo, of)))
}

impl SurvivingChunks {
    /// Finds the chunks in `blocks` that may hold some n-grams. Keeps only the chunks that are `left` if that
    /// is given, else only the `wanted` ones. `None` if no filters of the shard are in memory.
    pub(crate) fn of<'a>(
        ngrams: &NgramQuery,
        blocks: &SurvivingBlocks,
        task: &ShardTask,
        left: Option<&[Range<i32>]>,
        wanted: &impl Fn() -> Option<&'a ShardFileFilter<'a>>,
        texts: &Texts,
    ) -> Option<Self> {
        let filter = task.cached.filters.as_ref()?;
        let mut reader = texts.reader(&task.shard);
        let mut survivors = Self { blocks: Vec::with_capacity(blocks.blocks.count()), chunks: 0 };
        for number in blocks.blocks.iter() {
            let number = number as i32;
            let chunks = number * BLOCK_CHUNKS..(number + 1) * BLOCK_CHUNKS;
            if left.is_some_and(|left| overlapping(left, &chunks).next().is_none()) {
                continue;
            }
            let files = left.is_none().then(wanted).flatten();
            if files.is_some_and(|files| !files.may_want_block(number)) {
                continue;
            }
            let segment = reader.segment(chunks.start).map(|segment| {
                let mut columns = segment.may_hold(ngrams);
                if let Some(left) = left {
                    let here = overlapping(left, &chunks);
                    columns.retain_ranges(here.map(|numbers| segment.places(numbers)));
                } else if !columns.is_empty()
                    && let Some(files) = files
                {
                    let here = files.chunks(&chunks);
                    columns.retain_ranges(here.iter().map(|numbers| segment.places(numbers)));
                }
                if !columns.is_empty() {
                    let without = filter.ruled_out(blocks, chunks.clone());
                    for at in without.filter_map(|n| segment.find(n)) {
                        columns.remove(at);
                    }
                }
                (Arc::clone(segment), columns)
            });
            let count = match &segment {
                Some((_, columns)) => columns.count(),
                None => match wanted().map(|files| files.chunks(&chunks)) {
                    Some(here) if here.is_empty() => continue,
                    Some(here) => here.iter().map(ExactSizeIterator::len).sum(),
                    None => BLOCK_CHUNKS as usize,
                },
            };
            let block = Block { number, segment };
            if count > 0 || !block.is_whole(&task.shard) {
                survivors.blocks.push(block);
                survivors.chunks += count.max(1);
            }
        }
        Some(survivors)
    }

    /// Returns the ranges of all chunks of the blobs that have survivors; `None` if some texts are not in
    /// memory.
    fn blobs(&self, shard: &Shard, files: &ShardFiles) -> Option<Vec<Range<i32>>> {
        if !self.blocks.iter().all(|block| block.is_whole(shard)) {
            return None;
        }
        let known = self.blocks.iter().filter_map(|block| block.segment.as_ref());
        let chunks = known.flat_map(|(segment, columns)| segment.entries(columns, 0));
        let mut blobs: Vec<BlobId> = chunks.map(|(_, blob)| blob).collect();
        blobs.dedup();
        Some(files.extents(&blobs))
    }

    /// Returns the number of surviving chunks, about; 0 only if there are none.
    pub(crate) fn count(&self) -> usize {
        self.chunks
    }

    /// Returns the surviving chunks with these numbers, ascending and under `upto`, each with its blob. Keeps
    /// only the blobs that are `left`, if that is given.
    pub(crate) fn with_blobs(
        &self,
        numbers: &Range<i32>,
        upto: i32,
        left: Option<&[BlobId]>,
        files: &ShardFiles,
    ) -> Vec<(i32, BlobId)> {
        // Found only if some chunk is not in memory.
        let (begin, mut blobs) = (numbers.start, None);
        // A chunk that is not in memory and belongs to no visible file is attributed to the blob before it.
        // Reading it shows its real blob.
        let mut blob = None;
        let mut chunks = Vec::new();
        let first = self.blocks.partition_point(|block| block.last() < numbers.start);
        for block in &self.blocks[first..] {
            let from = numbers.start.max(block.number * BLOCK_CHUNKS);
            let numbers = from..numbers.end.min(upto).min(block.last() + 1);
            if numbers.is_empty() {
                break;
            }
            let mut unknown = numbers.clone();
            if let Some((segment, columns)) = &block.segment {
                unknown.start = segment.upto().clamp(numbers.start, numbers.end);
                let known = numbers.start..unknown.start;
                let here =
                    |from| segment.entries(columns, from).take_while(|(n, _)| *n < known.end);
                match left {
                    None => chunks.extend(here(known.start)),
                    Some(left) => {
                        // The first blob may begin in an earlier block.
                        let first = left.partition_point(|blob| blob.0 <= known.start);
                        let left = &left[first.saturating_sub(1)..];
                        for blob in left.iter().take_while(|blob| blob.0 < known.end) {
                            let named = here(blob.0.max(known.start));
                            chunks.extend(named.take_while(|(_, of)| of == blob));
                        }
                    }
                }
            }
            for n in unknown {
                let blobs = blobs.get_or_insert_with(|| files.blobs(begin).peekable());
                while let Some(next) = blobs.next_if(|next| next.0 <= n) {
                    blob = Some(next);
                }
                let of = blob.filter(|of| left.is_none_or(|left| left.binary_search(of).is_ok()));
                chunks.extend(of.map(|blob| (n, blob)));
            }
        }
        chunks
    }
}

/// Returns those of some ranges, which are in order, that overlap `this`.
fn overlapping<'r>(
    ranges: &'r [Range<i32>],
    this: &Range<i32>,
) -> impl Iterator<Item = &'r Range<i32>> {
    let (from, end) = (ranges.partition_point(|range| range.end <= this.start), this.end);
    ranges[from..].iter().take_while(move |range| range.start < end)
}

impl Block {
    /// Returns whether all chunks of the block are in memory.
    fn is_whole(&self, shard: &Shard) -> bool {
        let upto = shard.chunks.min((self.number + 1) * BLOCK_CHUNKS);
        self.segment.as_ref().is_some_and(|(segment, _)| segment.upto() >= upto)
    }

    /// Returns the number of its last chunk, if the block is full.
    fn last(&self) -> i32 {
        (self.number + 1) * BLOCK_CHUNKS - 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ngram::{BitSlices, BloomFilter, FilterKind, ShardFilter};
    use query::{Case, LiteralQuery, Pattern, Query, ngram_query};
    use store::{Chunk, Epoch, File, RepoId, ShardId};

    use super::super::plans::PlanCache;
    use super::*;

    fn survivors() -> SurvivingChunks {
        let chunk =
            |n, text: &str| Chunk { n, blob: BlobId(n), line: 1, start: 0, contents: text.into() };
        let chunks = [chunk(3, "the Long road\n"), chunk(5, "a long way\n")];
        let segment = Arc::new(Segment::new(&chunks, 8).unwrap());
        let pattern = Pattern::parse("Long", Case::Smart, false).unwrap();
        let columns = segment.may_hold(&ngram_query(&LiteralQuery::of(&pattern), &pattern));
        let blocks = vec![
            Block { number: 0, segment: Some((segment, columns)) },
            Block { number: 2, segment: None },
        ];
        SurvivingChunks { blocks, chunks: 0 }
    }

    #[test]
    fn chunks_are_named_with_their_blobs() {
        let file = |blob| File {
            blob: BlobId(blob),
            bytes: 7,
            repo: RepoId(1),
            path: blob.to_string(),
            language: None,
        };
        let files = ShardFiles::new([3, 5, 9, 1025].map(file).into());
        let named = |numbers, upto, left: Option<&[BlobId]>| {
            let chunks = survivors().with_blobs(&numbers, upto, left, &files).into_iter();
            chunks.map(|(n, blob)| (n, blob.0)).collect::<Vec<_>>()
        };
        let all = |numbers, upto| named(numbers, upto, None);
        assert_eq!(all(0..11, 2000), [(3, 3), (8, 5), (9, 9), (10, 9)]);
        assert_eq!(all(5..10, 10), [(8, 5), (9, 9)]);
        assert_eq!(all(509..1026, 2000), [(1025, 1025)]);
        assert_eq!(all(1025..i32::MAX, 1027), [(1025, 1025), (1026, 1025)]);
        // Only in some of the blobs.
        let of = |left: &[i32], numbers| {
            let left: Vec<BlobId> = left.iter().copied().map(BlobId).collect();
            named(numbers, 2000, Some(&left))
        };
        assert_eq!(of(&[3, 9], 0..11), [(3, 3), (9, 9), (10, 9)]);
        assert_eq!(of(&[5], 4..11), [(8, 5)]);
        assert_eq!(of(&[2, 4, 1025], 0..1026), [(1025, 1025)]);
        assert_eq!(of(&[], 0..1026), []);
    }

    #[test]
    fn a_block_without_a_wanted_file_has_no_survivor_even_if_its_texts_are_not_in_memory() {
        let file = |blob, language: &str| File {
            blob: BlobId(blob),
            bytes: 7,
            repo: RepoId(1),
            path: blob.to_string(),
            language: Some(language.to_owned()),
        };
        let files = Arc::new(ShardFiles::new(vec![file(0, "Go"), file(BLOCK_CHUNKS, "Rust")]));
        let mut filter = BloomFilter::new(FilterKind::Block);
        filter.add("a needle\n");
        let blocks = BitSlices::new(FilterKind::Block, &[filter.clone(), filter]);
        let dense = BitSlices::new(FilterKind::Dense, &[]);
        let filters = Arc::new(ShardFilter::new(blocks, (dense, Vec::new()), Vec::new()));
        let chunks = 2 * BLOCK_CHUNKS;
        let (id, epoch) = (ShardId(0), Epoch(1));
        let languages = [("go".to_owned(), 512), ("rust".to_owned(), 512)].into();
        let shard = Shard {
            id,
            bytes: 0,
            since: epoch,
            chunks,
            changed: epoch,
            filtered: chunks,
            languages,
        };
        let texts = Texts::new(1 << 20);
        let survivors = |text: &str| {
            let query = CompiledQuery::new(&Query::parse(text, Case::Smart).unwrap()).unwrap();
            let shards = std::slice::from_ref(&shard);
            let repos = HashMap::new();
            let mut selection = Selection::of(
                (store::FileFilter { epoch, repos: None, languages: None }, shards),
                &repos,
                &query,
                None,
                false,
                &|| true,
            );
            let cached = &mut selection.shards[0].cached;
            cached.files = Some(Arc::clone(&files));
            cached.filters = Some(Arc::clone(&filters));
            let task = selection.task(&selection.shards[0], &query, &mut PlanCache::default());
            let task = task.expect("the filters hold the word");
            let survivors = Survivors::of(&task, &selection, &query, Some(&texts), &|| true);
            let plan = &task.query.plan;
            (survivors.rules_out(plan), survivors.count(plan))
        };
        assert_eq!(survivors("c:needle"), (false, Some(2 * BLOCK_CHUNKS as usize)));
        assert_eq!(survivors("c:needle lang:rust"), (false, Some(BLOCK_CHUNKS as usize)));
        assert_eq!(survivors("c:needle lang:c"), (true, Some(0)));
    }
}
