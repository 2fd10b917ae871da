//! The files of a shard in memory: everything except their texts.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ngram::{BitSlices, BloomFilter, FilterKind, NgramQuery};
use query::{CompiledTerm, Scratch};
use store::{BlobId, File, FileFilter, RepoId, TreeFilter, Trees};

use crate::chunk_set::BlobStarts;
use crate::cost::PATH_BLOCKS_AT_ONCE;
use crate::entry::FileEntry;

mod wanted;

pub(crate) use wanted::ShardFileFilter;

/// The files of a shard in one epoch, in the order of their blobs.
#[derive(Debug)]
pub(crate) struct ShardFiles {
    rows: Vec<Row>,
    /// All paths, concatenated.
    paths: String,
    languages: Vec<Language>,
    /// Bloom filters of the n-grams of paths, one for each block of [`BLOCK_FILES`] files.
    pub(crate) filters: BitSlices,
    /// The blobs of the files.
    pub(crate) starts: Arc<BlobStarts>,
    blocks: Vec<FileBlock>,
    /// The trees of each file; empty if all are of main trees alone.
    trees: Vec<Trees>,
    /// Whether `starts` also has the ends of blobs, as the shard has many other blobs between those of the files.
    is_sparse: bool,
}

/// Data on a block of [`BLOCK_FILES`] files, besides its filter.
#[derive(Clone, Copy, Debug)]
struct FileBlock {
    /// The blob of its first file.
    first: BlobId,
    languages: LanguageSet,
}

/// A set of languages of a shard: bit n % 64 is set for the language whose [`Row::language`] is n. If a shard has 64
/// languages or more, the set may include others, too.
#[derive(Clone, Copy, Debug, Default)]
struct LanguageSet(u64);

impl LanguageSet {
    fn add(&mut self, language: usize) {
        self.0 |= 1 << (language % 64);
    }

    fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Files in a block of the path filters.
const BLOCK_FILES: usize = 64;

/// A language that some files have.
#[derive(Debug)]
struct Language {
    name: String,
    /// Name in lower case.
    small: String,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    blob: BlobId,
    bytes: i32,
    repo: RepoId,
    /// Offset of its path in `paths`. The path ends where the next one begins.
    path: u32,
    /// Index into `languages`, plus one; 0 for none.
    language: u16,
}

impl ShardFiles {
    /// Creates the table of all files of a shard, which are in the order of blob, repository and path.
    pub(crate) fn new(files: Vec<File>) -> Self {
        let bytes = files.iter().map(|file| file.path.len()).sum();
        let mut all = Self {
            rows: Vec::with_capacity(files.len() + 1),
            paths: String::with_capacity(bytes),
            languages: Vec::new(),
            filters: BitSlices::new(FilterKind::PathGroup, &[]),
            starts: Arc::new(BlobStarts::new(files.iter().map(|file| file.blob))),
            blocks: Vec::new(),
            trees: Vec::new(),
            is_sparse: false,
        };
        if files.iter().any(|file| file.trees != Trees::default()) {
            all.trees.extend(files.iter().map(|file| file.trees));
        }
        let mut bloom_filters: Vec<BloomFilter> = Vec::new();
        let mut known: HashMap<String, u16> = HashMap::new();
        for File { blob, bytes, repo, path, language, trees: _ } in files {
            let language = language.map_or(0, |name| {
                *known.entry(name).or_insert_with_key(|name| {
                    let (name, small) = (name.clone(), name.to_lowercase());
                    all.languages.push(Language { name, small });
                    all.languages.len() as u16
                })
            });
            if all.rows.len().is_multiple_of(BLOCK_FILES) {
                bloom_filters.push(BloomFilter::new(FilterKind::PathGroup));
                all.blocks.push(FileBlock { first: blob, languages: LanguageSet::default() });
            }
            if let Some(filter) = bloom_filters.last_mut() {
                filter.add(&path);
            }
            if let Some(block) = all.blocks.last_mut() {
                block.languages.add(usize::from(language));
            }
            let path_at = all.paths.len() as u32;
            all.paths.push_str(&path);
            all.rows.push(Row { blob, bytes, repo, path: path_at, language });
        }
        all.filters = BitSlices::new(FilterKind::PathGroup, &bloom_filters);
        all
    }

    /// Creates the table of some files of a shard, in order. `ends` are the numbers after the last chunks of their blobs,
    /// as far as they are known: chunks from there on belong to other files.
    pub(crate) fn sparse(files: Vec<File>, mut ends: Vec<i32>) -> Self {
        ends.extend(files.iter().map(|file| file.blob.0));
        ends.sort_unstable();
        let mut all = Self::new(files);
        all.starts = Arc::new(BlobStarts::new(ends.iter().copied().map(BlobId)));
        all.is_sparse = true;
        all
    }

    /// Returns the files that have one of these blobs, or all files, in order.
    pub(crate) fn of(&self, blobs: Option<&[BlobId]>, filter: &FileFilter) -> Vec<File> {
        let Some(blobs) = blobs else { return self.chosen(0..self.rows.len(), filter).collect() };
        let mut files = Vec::with_capacity(blobs.len());
        let mut from = 0;
        for blob in blobs {
            from = self.seek(from, *blob);
            let same = self.rows[from..].iter().take_while(|row| row.blob == *blob).count();
            files.extend(self.chosen(from..from + same, filter));
            from += same;
        }
        files
    }

    /// Returns approximately how many files have a path that may contain some n-grams.
    pub(crate) fn candidates(&self, ngrams: &NgramQuery) -> usize {
        self.filters.columns(ngrams).count() * BLOCK_FILES
    }

    /// Returns the blobs in `blobs`, and in `left` if that is given, with a file whose path matches one of
    /// the terms, ascending.
    pub(crate) fn matching(
        &self,
        terms: &[&CompiledTerm],
        blobs: &Range<i32>,
        mut left: Option<&[BlobId]>,
        go_on: &dyn Fn() -> bool,
    ) -> Vec<BlobId> {
        let any = NgramQuery::any(terms.iter().map(|term| term.ngrams.clone()).collect());
        let mut scratches: Vec<Scratch> = terms.iter().map(|term| term.matcher.scratch()).collect();
        let mut matching = Vec::new();
        let rows = self.from(blobs.start)..self.from(blobs.end);
        if rows.is_empty() {
            return matching;
        }
        // For a light matcher, checking the clock takes as long as matching a path.
        let heavy = terms.iter().any(|term| term.matcher.is_slow());
        for (nth, block) in self.filters.columns(&any).iter().enumerate() {
            if (heavy || nth % PATH_BLOCKS_AT_ONCE == 0) && !go_on() {
                break;
            }
            let from = rows.start.max(block * BLOCK_FILES);
            for at in from..rows.end.min((block + 1) * BLOCK_FILES) {
                if let Some(left) = &mut left {
                    let blob = self.rows[at].blob;
                    let gone = left.iter().take_while(|left| **left < blob).count();
                    *left = &left[gone..];
                    if left.first() != Some(&blob) {
                        continue;
                    }
                }
                let path = self.path(at);
                let mut both = terms.iter().zip(&mut scratches);
                if both.any(|(term, scratch)| term.matcher.is_match_with(scratch, path, go_on)) {
                    matching.push(self.rows[at].blob);
                }
            }
        }
        matching.dedup();
        matching
    }

    /// Returns the index of the first file, from `from` on, whose blob is `blob` or a later one. Galloping
    /// search: finds near files without touching far ones.
    fn seek(&self, from: usize, blob: BlobId) -> usize {
        let before = |at: usize| self.rows.get(at).is_some_and(|row| row.blob < blob);
        let (mut start, mut step) = (from, 1);
        while before(start + step) {
            start += step;
            step *= 2;
        }
        let rows = &self.rows[start..self.rows.len().min(start + step)];
        start + rows.partition_point(|row| row.blob < blob)
    }

    /// Returns the index of the first file whose blob has this number or a larger one.
    fn from(&self, blob: i32) -> usize {
        // Files of one blob may lie in two blocks.
        let block = self.blocks.partition_point(|block| block.first.0 < blob).saturating_sub(1);
        let start = block * BLOCK_FILES;
        let rows = &self.rows[start..self.rows.len().min(start + BLOCK_FILES)];
        start + rows.partition_point(|row| row.blob.0 < blob)
    }

    /// Returns the indexes of the files whose blobs have a range of chunks. Chunks of no visible file count as part of
    /// the blob before them.
    fn rows_of(&self, chunks: &Range<i32>) -> Range<usize> {
        // The first chunk may belong to a blob that begins before.
        let first = self.rows[..self.from(chunks.start.saturating_add(1))].last();
        let start = first.map_or(0, |row| self.from(row.blob.0));
        start..self.from(chunks.end).max(start)
    }

    /// Returns the number of files.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns a file by index.
    pub(crate) fn entry(&self, at: usize) -> FileEntry<'_> {
        let row = &self.rows[at];
        FileEntry {
            path: self.path(at),
            bytes: row.bytes as usize,
            language: self.language(row).map(|language| language.name.as_str()),
            repo: row.repo,
            blob: row.blob,
        }
    }

    /// Returns the files with this blob.
    pub(crate) fn of_blob(&self, blob: BlobId) -> impl Iterator<Item = FileEntry<'_>> {
        (self.from(blob.0)..self.from(blob.0 + 1)).map(|at| self.entry(at))
    }

    fn language(&self, row: &Row) -> Option<&Language> {
        row.language.checked_sub(1).map(|i| &self.languages[usize::from(i)])
    }

    /// Returns the files that pass a filter, in order, each with the trees that have it.
    pub(crate) fn passing(
        &self,
        filter: &FileFilter,
    ) -> impl Iterator<Item = (FileEntry<'_>, Trees)> {
        let wanted = (0..self.rows.len()).filter(|at| self.is_wanted(*at, filter));
        wanted.map(|at| (self.entry(at), self.trees(at)))
    }

    /// Returns whether a file passes a filter.
    fn is_wanted(&self, at: usize, filter: &FileFilter) -> bool {
        let row = &self.rows[at];
        filter.repos.as_ref().is_none_or(|repos| repos.binary_search(&row.repo).is_ok())
            && self.passes(at, &filter.trees)
            && filter.languages.as_ref().is_none_or(|languages| {
                let language = self.language(row);
                language.is_some_and(|language| languages.contains(&language.small))
            })
    }

    fn chosen(&self, rows: Range<usize>, filter: &FileFilter) -> impl Iterator<Item = File> {
        rows.filter_map(|at| {
            let row = &self.rows[at];
            let language = self.language(row);
            self.is_wanted(at, filter).then(|| File {
                blob: row.blob,
                bytes: row.bytes,
                repo: row.repo,
                path: self.path(at).to_owned(),
                language: language.map(|language| language.name.clone()),
                trees: self.trees(at),
            })
        })
    }

    /// Returns the trees that have a file.
    fn trees(&self, at: usize) -> Trees {
        self.trees.get(at).copied().unwrap_or_default()
    }

    /// Returns whether it is certain that one of some trees has each file.
    pub(crate) fn all_pass(&self, trees: &TreeFilter) -> bool {
        match trees {
            TreeFilter::Main => self.trees.is_empty(),
            TreeFilter::All => true,
            TreeFilter::Chosen(_) => false,
        }
    }

    /// Returns whether one of some trees has a file.
    pub(crate) fn passes(&self, at: usize, trees: &TreeFilter) -> bool {
        trees.passes(self.rows[at].repo, self.trees(at))
    }

    fn path(&self, at: usize) -> &str {
        let end = self.rows.get(at + 1).map_or(self.paths.len(), |next| next.path as usize);
        &self.paths[self.rows[at].path as usize..end]
    }
}

#[cfg(test)]
mod tests {
    use query::{Case, CompiledQuery, Query};
    use store::Epoch;

    use super::*;

    pub(super) fn file(blob: i32, repo: i32, path: &str, language: Option<&str>) -> File {
        File {
            blob: BlobId(blob),
            bytes: 7,
            repo: RepoId(repo),
            path: path.to_owned(),
            language: language.map(str::to_owned),
            trees: Trees::default(),
        }
    }

    #[test]
    fn files_come_back_as_they_were() {
        let all = vec![
            file(1, 1, "a.rs", Some("Rust")),
            file(1, 2, "b\nb.rs", Some("Rust")),
            file(5, 1, "c/a.go", Some("Go")),
            file(9, 2, "README", None),
        ];
        let files = ShardFiles::new(all.clone());
        let filter = |repos: Option<Vec<RepoId>>, languages: Option<&str>| FileFilter {
            epoch: Epoch(1),
            repos,
            languages: languages.map(|name| vec![name.to_owned()]),
            trees: TreeFilter::Main,
        };
        let paths = |blobs: Option<&[BlobId]>, filter: &FileFilter| {
            files.of(blobs, filter).into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        assert_eq!(format!("{:?}", files.of(None, &filter(None, None))), format!("{all:?}"));
        let some = [BlobId(1), BlobId(4), BlobId(9)];
        assert_eq!(paths(Some(&some), &filter(None, None)), ["a.rs", "b\nb.rs", "README"]);
        assert_eq!(paths(Some(&some), &filter(Some(vec![RepoId(2)]), None)), ["b\nb.rs", "README"]);
        assert_eq!(paths(None, &filter(None, Some("go"))), ["c/a.go"]);
        let matching = |query: &str| {
            let query = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
            files.matching(&query.terms.iter().collect::<Vec<_>>(), &(0..i32::MAX), None, &|| true)
        };
        assert_eq!(matching("(^a|b$)"), [BlobId(1)]);
        assert_eq!(matching("read or a.go"), [BlobId(5), BlobId(9)]);
        assert_eq!(matching("write"), []);
        let query = CompiledQuery::new(&Query::parse("[ab]", Case::Smart).unwrap()).unwrap();
        let terms: Vec<_> = query.terms.iter().collect();
        assert_eq!(files.matching(&terms, &(2..9), None, &|| true), [BlobId(5)]);
        let left = |left: &[i32]| {
            let left: Vec<BlobId> = left.iter().copied().map(BlobId).collect();
            files.matching(&terms, &(0..i32::MAX), Some(&left), &|| true)
        };
        assert_eq!(left(&[0, 2, 5, 7]), [BlobId(5)]);
        assert_eq!(left(&[4, 9]), [BlobId(9)]);
        assert_eq!(left(&[]), []);
    }
}
