//! The filters of a shard: they tell which chunks may match a lookup, and which blobs the chunks belong to.
//!
//! A server keeps block filters in memory, and chunk filters next to the texts in memory. If a shard's texts are not in
//! memory, Postgres reads the filter rows that a query needs.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::iter::once;
use std::sync::Arc;

use ngram::{BLOCK_CHUNKS, Columns, NgramQuery, SurvivingBlocks};
use query::{CompiledQuery, Expr, LiteralQuery, Lookup, Scope, ngrams_of_literals};
use store::ChunkRows;

use super::candidates::each_in_a_chunk;
use super::chunk_set::{BlobStarts, ChunkSet};
use super::plans::ShardQuery;
use super::shards::{Selection, ShardTask};
use crate::cache::files::ShardFileFilter;
use crate::cache::texts::Texts;

/// The filters of one shard.
pub(crate) trait Filters {
    /// Returns the chunks that may match a lookup of scope chunk; `None` if nothing is known. May leave out chunks that
    /// are not `left`.
    fn of_lookup(&self, lookup: &Lookup, left: Option<&ChunkSet>) -> Option<ChunkSet>;

    /// Returns the chunks that may hold some literals; `None` if nothing is known.
    fn of_literals(&self, literals: &LiteralQuery) -> Option<ChunkSet>;

    /// Returns the approximate number of chunks that [`of_lookup`](Self::of_lookup) has to examine, to begin with the
    /// fewest; `None` if unknown.
    fn estimate(&self, lookup: &Lookup) -> Option<usize>;

    /// Returns the blobs that the chunks belong to, if they are known.
    fn starts(&self) -> Option<&Arc<BlobStarts>>;
}

/// Filters in memory. A block without texts in memory survives as a whole, except blobs without a wanted file.
pub(crate) struct CachedFilters<'a> {
    pub(crate) task: &'a ShardTask,
    pub(crate) selection: &'a Selection,
    pub(crate) query: &'a CompiledQuery,
    pub(crate) texts: &'a Texts,
    /// The files that are wanted whatever their texts; `None` for all, or if the files are not in memory. Computed only
    /// when needed: most shards are ruled out before.
    wanted: OnceCell<Option<ShardFileFilter<'a>>>,
}

/// The rows of the stored filters that a query needs, and the block filters in memory.
pub(crate) struct StoredFilters<'a> {
    pub(crate) rows: &'a StoredRows,
    pub(crate) task: &'a ShardTask,
    pub(crate) query: &'a CompiledQuery,
}

/// Rows of the stored filters of a shard.
#[derive(Debug)]
pub(crate) struct StoredRows {
    rows: ChunkRows,
    starts: Arc<BlobStarts>,
}

impl<'a> CachedFilters<'a> {
    pub(crate) fn new(
        task: &'a ShardTask,
        selection: &'a Selection,
        query: &'a CompiledQuery,
        texts: &'a Texts,
    ) -> Self {
        Self { task, selection, query, texts, wanted: OnceCell::new() }
    }

    fn wanted(&self) -> Option<&ShardFileFilter<'a>> {
        let Self { task, selection, query, .. } = *self;
        let prepare = || {
            // `file_condition` lacks predicates on which all chosen repositories of the shard agree, so check the
            // repositories, too.
            let condition = &task.query.file_condition;
            let repos = selection.files.repos.as_deref();
            let all = *condition == Expr::Const(true) && repos.is_none();
            let trees = &selection.files.trees;
            let files = task.cached.files.as_ref();
            let files = files.filter(|files| !all || !files.all_pass(trees))?;
            let holds = |repo, of| selection.repo_holds(repo, of);
            Some(files.wanted(condition, query, (repos, trees), holds))
        };
        self.wanted.get_or_init(prepare).as_ref()
    }

    fn blocks(&self, lookup: &Lookup) -> Option<Cow<'_, SurvivingBlocks>> {
        self.task.blocks.surviving(lookup, &self.task.cached, self.query)
    }

    /// Returns the chunks in some blocks that may hold some n-grams: only chunks in `left` if given, else only wanted
    /// ones.
    fn chunks(
        &self,
        ngrams: &NgramQuery,
        blocks: &SurvivingBlocks,
        left: Option<&ChunkSet>,
    ) -> Option<ChunkSet> {
        let shard = &self.task.shard;
        let filter = self.task.cached.filters.as_ref()?;
        let mut reader = self.texts.reader(shard);
        let mut set = ChunkSet::none(shard.chunks);
        for number in blocks.blocks.iter() {
            let start = number as i32 * BLOCK_CHUNKS;
            // The filters may be of a later epoch, with more chunks.
            if start >= shard.chunks {
                break;
            }
            let chunks = start..(start + BLOCK_CHUNKS).min(shard.chunks);
            let files = match left {
                Some(left) if !left.meets(chunks.clone()) => continue,
                Some(_) => None,
                None => self.wanted(),
            };
            if files.is_some_and(|files| !files.may_want_block(number as i32)) {
                continue;
            }
            let (mut here, upto) = match reader.segment(start) {
                Some(segment) => (segment.may_hold(ngrams), segment.upto()),
                None => (Columns::first(0), start),
            };
            let place = |n: i32| (n - start) as usize;
            here.grow(BLOCK_CHUNKS as usize);
            here.add_range(place(upto.max(start))..place(chunks.end));
            if upto > chunks.end {
                here.retain_ranges(once(0..place(chunks.end)));
            }
            if let Some(files) = files
                && !here.is_empty()
            {
                let wanted = files.chunks(&chunks).into_iter();
                here.retain_ranges(wanted.map(|of| place(of.start)..place(of.end)));
            }
            if !here.is_empty() {
                filter.ruled_out(blocks, chunks).for_each(|n| here.remove(place(n)));
                set.set(start, &here);
            }
        }
        if let Some(left) = left {
            set.and(left);
        }
        Some(set)
    }
}

impl Filters for CachedFilters<'_> {
    fn of_lookup(&self, lookup: &Lookup, left: Option<&ChunkSet>) -> Option<ChunkSet> {
        self.chunks(&lookup.ngrams(self.query), self.blocks(lookup)?.as_ref(), left)
    }

    fn of_literals(&self, literals: &LiteralQuery) -> Option<ChunkSet> {
        let filter = self.task.cached.filters.as_ref()?;
        let ngrams = ngrams_of_literals(literals);
        self.chunks(&ngrams, &filter.surviving(&ngrams, &filter.hits(&ngrams)), None)
    }

    fn estimate(&self, lookup: &Lookup) -> Option<usize> {
        Some(self.blocks(lookup)?.blocks.count())
    }

    fn starts(&self) -> Option<&Arc<BlobStarts>> {
        self.task.cached.files.as_ref().map(|files| &files.starts)
    }
}

impl StoredRows {
    pub(crate) fn new(rows: ChunkRows) -> Self {
        Self { starts: Arc::new(rows.starts().clone().into()), rows }
    }

    /// Returns the n-grams that the lookups of a shard need from the stored filters.
    pub(crate) fn ngrams<'q>(
        shard_query: &'q ShardQuery,
        query: &'q CompiledQuery,
    ) -> Vec<Cow<'q, NgramQuery>> {
        let mut asked = Vec::new();
        for lookup in shard_query.lookups() {
            match lookup.scope {
                Scope::Chunk => asked.push(lookup.ngrams(query)),
                Scope::Blob => each_in_a_chunk(&lookup.literals, &mut |literals| {
                    asked.push(Cow::Owned(ngrams_of_literals(literals)));
                }),
                Scope::Path | Scope::Symbol => {}
            }
        }
        asked
    }
}

impl StoredFilters<'_> {
    fn chunks(&self, ngrams: &NgramQuery) -> ChunkSet {
        let Self { task, rows, .. } = self;
        let mut chunks = rows.rows.surviving(ngrams);
        if let Some(filter) = task.cached.filters.as_ref().filter(|_| !chunks.is_empty()) {
            let near = filter.surviving(ngrams, &filter.hits(ngrams));
            let size = BLOCK_CHUNKS as usize;
            chunks.retain_ranges(near.blocks.iter().map(|block| block * size..(block + 1) * size));
            let ruled_out = filter.ruled_out(&near, 0..task.shard.chunks);
            ruled_out.for_each(|n| chunks.remove(n as usize));
        }
        chunks.into()
    }
}

impl Filters for StoredFilters<'_> {
    fn of_lookup(&self, lookup: &Lookup, left: Option<&ChunkSet>) -> Option<ChunkSet> {
        let mut chunks = self.chunks(&lookup.ngrams(self.query));
        if let Some(left) = left {
            chunks.and(left);
        }
        Some(chunks)
    }

    fn of_literals(&self, literals: &LiteralQuery) -> Option<ChunkSet> {
        Some(self.chunks(&ngrams_of_literals(literals)))
    }

    fn estimate(&self, _: &Lookup) -> Option<usize> {
        None
    }

    fn starts(&self) -> Option<&Arc<BlobStarts>> {
        Some(&self.rows.starts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ngram::{BitSlices, BloomFilter, FilterKind, ShardFilter};
    use query::{Case, Query};
    use store::{BlobId, Chunk, Epoch, File, RepoId, Shard, ShardId};

    use super::super::plans::PlanCache;
    use super::super::survivors::Survivors;
    use super::*;
    use crate::cache::files::ShardFiles;
    use crate::cache::texts::{Segment, SegmentKey};

    #[test]
    fn a_block_without_a_wanted_file_has_no_survivor_even_if_its_texts_are_not_in_memory() {
        let file = |blob, language: &str| File {
            blob: BlobId(blob),
            bytes: 7,
            repo: RepoId(1),
            path: blob.to_string(),
            language: Some(language.to_owned()),
            trees: store::Trees::default(),
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
            worded: chunks,
            languages,
        };
        let texts = Texts::new(1 << 20);
        let survivors = |text: &str| {
            let query = CompiledQuery::new(&Query::parse(text, Case::Smart).unwrap()).unwrap();
            let shards = std::slice::from_ref(&shard);
            let repos = HashMap::new();
            let mut selection = Selection::of(
                (
                    store::FileFilter {
                        epoch,
                        repos: None,
                        languages: None,
                        trees: store::TreeFilter::All,
                    },
                    shards,
                ),
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
            let filters = CachedFilters::new(&task, &selection, &query, &texts);
            let survivors = Survivors::of(&task, &query, &filters, &|| true);
            (survivors.rules_out(&task.query.plan), survivors.count(&task))
        };
        assert_eq!(survivors("c:needle"), (false, Some(2 * BLOCK_CHUNKS as usize)));
        assert_eq!(survivors("c:needle lang:rust"), (false, Some(BLOCK_CHUNKS as usize)));
        assert_eq!(survivors("c:needle lang:c"), (true, Some(0)));
    }

    #[test]
    fn chunks_survive_by_number_and_those_that_are_not_in_memory_as_a_whole() {
        let file = |blob| File {
            blob: BlobId(blob),
            bytes: 7,
            repo: RepoId(1),
            path: blob.to_string(),
            language: None,
            trees: store::Trees::default(),
        };
        let files = Arc::new(ShardFiles::new([3, 5, 515].map(file).into()));
        let mut filter = BloomFilter::new(FilterKind::Block);
        filter.add("a needle\n");
        let empty = BloomFilter::new(FilterKind::Block);
        let blocks = BitSlices::new(FilterKind::Block, &[filter.clone(), filter, empty]);
        let dense = BitSlices::new(FilterKind::Dense, &[]);
        let filters = Arc::new(ShardFilter::new(blocks, (dense, Vec::new()), Vec::new()));
        let (id, epoch, chunks) = (ShardId(0), Epoch(1), 2 * BLOCK_CHUNKS + 8);
        let languages = [].into();
        let filtered = chunks;
        let shard = Shard {
            id,
            bytes: 0,
            since: epoch,
            chunks,
            changed: epoch,
            filtered,
            worded: chunks,
            languages,
        };
        let texts = Texts::new(1 << 24);
        let chunk = |n: i32, text: &str| Chunk {
            n,
            blob: BlobId(n),
            line: 1,
            start: 0,
            contents: text.into(),
        };
        // Chunk 4 is gone; the second block was read when it ended with chunk 515.
        let of_first = [chunk(3, "a needle\n"), chunk(5, "hay\n"), chunk(6, "needles\n")];
        let of_second = [chunk(512, "hay\n"), chunk(515, "needle\n")];
        for (chunks, upto) in [(&of_first[..], 512), (&of_second, 1000)] {
            let key = SegmentKey::of(&shard, chunks[0].n);
            texts.insert(key, Segment::new(chunks, upto).unwrap());
        }
        let query = CompiledQuery::new(&Query::parse("c:needle", Case::Smart).unwrap()).unwrap();
        let mut selection = Selection::of(
            (
                store::FileFilter {
                    epoch,
                    repos: None,
                    languages: None,
                    trees: store::TreeFilter::All,
                },
                std::slice::from_ref(&shard),
            ),
            &HashMap::new(),
            &query,
            None,
            false,
            &|| true,
        );
        let cached = &mut selection.shards[0].cached;
        (cached.files, cached.filters) = (Some(files), Some(filters));
        let task = selection.task(&selection.shards[0], &query, &mut PlanCache::default()).unwrap();
        let filters = CachedFilters::new(&task, &selection, &query, &texts);
        let lookup = task.query.plan.lookups()[0];
        let chunks = |left: Option<&ChunkSet>| -> Vec<i32> {
            filters.of_lookup(lookup, left).unwrap().numbers().collect()
        };
        let unknown = || 1000..1024;
        assert_eq!(chunks(None), [3, 6, 515].into_iter().chain(unknown()).collect::<Vec<_>>());
        assert_eq!(chunks(Some(&ChunkSet::of_ranges(1032, once(4..600)))), [6, 515]);
        assert_eq!(chunks(Some(&ChunkSet::none(1032))), Vec::<i32>::new());
        let starts = filters.starts().unwrap();
        let blobs = filters.of_lookup(lookup, None).unwrap().blobs(starts);
        assert_eq!(blobs, [3, 5, 515].map(BlobId));
    }
}
