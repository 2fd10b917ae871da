//! The files of a shard in memory: everything but their texts.

use std::collections::HashMap;
use std::ops::Range;

use ngram::{BitSlices, BloomFilter, Columns, FilterKind, NgramQuery};
use query::{CompiledQuery, CompiledTerm, Expr, Predicate, Scratch};
use store::{BlobId, File, FileFilter, RepoId};

use crate::browse::entry::FileEntry;

/// The files of a shard in one epoch, in the order of their blobs.
#[derive(Debug)]
pub(crate) struct ShardFiles {
    rows: Vec<Row>,
    /// All paths, concatenated.
    paths: String,
    languages: Vec<Language>,
    /// Bloom filters of the n-grams of paths, one for each block of [`BLOCK_FILES`] files.
    pub(crate) filters: BitSlices,
}

/// Files in a block of the path filters.
const BLOCK_FILES: usize = 64;

/// Blocks whose paths are matched between two looks at the clock.
const BLOCKS_AT_ONCE: usize = 64;

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
        };
        let mut bloom_filters: Vec<BloomFilter> = Vec::new();
        let mut known: HashMap<String, u16> = HashMap::new();
        for File { blob, bytes, repo, path, language } in files {
            let language = language.map_or(0, |name| {
                *known.entry(name).or_insert_with_key(|name| {
                    let (name, small) = (name.clone(), name.to_lowercase());
                    all.languages.push(Language { name, small });
                    all.languages.len() as u16
                })
            });
            if all.rows.len().is_multiple_of(BLOCK_FILES) {
                bloom_filters.push(BloomFilter::new(FilterKind::PathGroup));
            }
            if let Some(filter) = bloom_filters.last_mut() {
                filter.add(&path);
            }
            let path_at = all.paths.len() as u32;
            all.paths.push_str(&path);
            all.rows.push(Row { blob, bytes, repo, path: path_at, language });
        }
        all.filters = BitSlices::new(FilterKind::PathGroup, &bloom_filters);
        all
    }

    /// Prepares [`ShardFileFilter::chunks`]: the chunks of the blobs that have a wanted file, which is one in one of
    /// `repos`, if given, and not ruled out by `condition`, as far as language, repository and path filters
    /// tell.
    pub(crate) fn wanted<'a>(
        &'a self,
        condition: &'a Expr,
        query: &CompiledQuery,
        repos: Option<&'a [RepoId]>,
        repo_holds: impl Fn(RepoId, Predicate) -> Option<bool> + 'a,
    ) -> ShardFileFilter<'a> {
        let (mut languages, mut paths) = (Vec::new(), Vec::new());
        condition.predicates(&mut |atom| match atom {
            Predicate::Language(index) => {
                let names = &query.languages[index];
                let is_one = self.languages.iter().map(|l| names.contains(&l.small)).collect();
                languages.push((index, is_one));
            }
            Predicate::Path(term) => {
                paths.push((term, self.filters.columns(&query.terms[term].ngrams)));
            }
            Predicate::Content(_) | Predicate::Repo(_) | Predicate::Symbol(_) => {}
        });
        ShardFileFilter {
            files: self,
            condition,
            repos,
            languages,
            paths,
            repo_holds: Box::new(repo_holds),
        }
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

    /// Returns about how many files may have a path with some n-grams.
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
        // For a light matcher, a look at the clock takes as long as matching a path.
        let heavy = terms.iter().any(|term| term.matcher.is_slow());
        for (nth, block) in self.filters.columns(&any).iter().enumerate() {
            if (heavy || nth % BLOCKS_AT_ONCE == 0) && !go_on() {
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

    /// Returns the ranges of the chunks of some blobs, which are in order. Leaves out blobs without files.
    /// Chunks that belong to no visible file are counted to the blob before them.
    pub(crate) fn extents(&self, blobs: &[BlobId]) -> Vec<Range<i32>> {
        let mut extents: Vec<Range<i32>> = Vec::new();
        let mut at = 0;
        for blob in blobs {
            at = self.seek(at, *blob);
            let same = self.rows[at..].iter().take_while(|row| row.blob == *blob).count();
            at += same;
            let end = self.rows.get(at).map_or(i32::MAX, |next| next.blob.0);
            match extents.last_mut() {
                _ if same == 0 => {}
                Some(last) if last.end == blob.0 => last.end = end,
                _ => extents.push(blob.0..end),
            }
        }
        extents
    }

    /// Returns the blobs from number `from` on, ascending.
    pub(crate) fn blobs(&self, from: i32) -> impl Iterator<Item = BlobId> {
        let rows = &self.rows[self.from(from)..];
        rows.chunk_by(|row, next| row.blob == next.blob).map(|same| same[0].blob)
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
        self.rows.partition_point(|row| row.blob.0 < blob)
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

    fn chosen(&self, rows: Range<usize>, filter: &FileFilter) -> impl Iterator<Item = File> {
        rows.filter_map(|at| {
            let row = &self.rows[at];
            let language = self.language(row);
            let wanted =
                filter.repos.as_ref().is_none_or(|repos| repos.binary_search(&row.repo).is_ok())
                    && filter.languages.as_ref().is_none_or(|languages| {
                        language.is_some_and(|language| languages.contains(&language.small))
                    });
            wanted.then(|| File {
                blob: row.blob,
                bytes: row.bytes,
                repo: row.repo,
                path: self.path(at).to_owned(),
                language: language.map(|language| language.name.clone()),
            })
        })
    }

    fn path(&self, at: usize) -> &str {
        let end = self.rows.get(at + 1).map_or(self.paths.len(), |next| next.path as usize);
        &self.paths[self.rows[at].path as usize..end]
    }
}

/// The files of a shard that are wanted whatever their texts.
pub(crate) struct ShardFileFilter<'a> {
    files: &'a ShardFiles,
    condition: &'a Expr,
    repos: Option<&'a [RepoId]>,
    /// For each predicate on the language, which of the shard's languages are meant.
    languages: Vec<(usize, Vec<bool>)>,
    /// For each term on the path, the blocks of files that may match it.
    paths: Vec<(usize, Columns)>,
    repo_holds: Box<dyn Fn(RepoId, Predicate) -> Option<bool> + 'a>,
}

impl ShardFileFilter<'_> {
    /// Returns, of a range of chunks, those of blobs with a wanted file, in order. Chunks that belong to no visible
    /// file are counted to the blob before them.
    pub(crate) fn chunks(&self, range: &Range<i32>) -> Vec<Range<i32>> {
        let rows = &self.files.rows;
        // The first chunk may belong to a blob that begins before.
        let first = rows[..self.files.from(range.start.saturating_add(1))].last();
        let mut at = first.map_or(0, |row| self.files.from(row.blob.0));
        // Files that agree in block, language and repository have the same result.
        let mut last: Option<(usize, &Row, bool)> = None;
        let mut may_hold = |at: usize, row| {
            let alike = last.filter(|(known, of, _)| {
                let place = |row: &Row| (row.language, row.repo);
                known / BLOCK_FILES == at / BLOCK_FILES && place(of) == place(row)
            });
            let may = alike.map_or_else(|| self.may_hold(at, row), |(.., may)| may);
            last = Some((at, row, may));
            may
        };
        let mut chunks: Vec<Range<i32>> = Vec::new();
        let mut open = None;
        for same in rows[at..].chunk_by(|row, next| row.blob == next.blob) {
            let n = same[0].blob.0;
            if n >= range.end {
                break;
            }
            // Every row must be visited, since `at` counts them.
            let mut any = false;
            for row in same {
                any |= may_hold(at, row);
                at += 1;
            }
            if any {
                open.get_or_insert(n.max(range.start));
            } else if let Some(start) = open.take() {
                chunks.push(start..n);
            }
        }
        chunks.extend(open.map(|start| start..range.end));
        chunks
    }

    fn may_hold(&self, at: usize, row: &Row) -> bool {
        let known = |atom| match atom {
            Predicate::Language(index) => {
                let (_, is_one) = self.languages.iter().find(|(of, _)| *of == index)?;
                Some(row.language.checked_sub(1).is_some_and(|i| is_one[usize::from(i)]))
            }
            Predicate::Path(term) => {
                let (_, columns) = self.paths.iter().find(|(of, _)| *of == term)?;
                (!columns.contains(at / BLOCK_FILES)).then_some(false)
            }
            Predicate::Repo(_) => (self.repo_holds)(row.repo, atom),
            Predicate::Content(_) | Predicate::Symbol(_) => None,
        };
        self.repos.is_none_or(|repos| repos.binary_search(&row.repo).is_ok())
            && self.condition.eval(&known) != Some(false)
    }
}

#[cfg(test)]
mod tests {
    use query::{Case, CompiledQuery, Query};
    use store::Epoch;

    use super::*;

    fn file(blob: i32, repo: i32, path: &str, language: Option<&str>) -> File {
        File {
            blob: BlobId(blob),
            bytes: 7,
            repo: RepoId(repo),
            path: path.to_owned(),
            language: language.map(str::to_owned),
        }
    }

    /// Returns a query, and its condition on files.
    fn of_files(query: &str) -> (CompiledQuery, Expr) {
        let query = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
        let condition = query.expr.without_text();
        (query, condition)
    }

    #[test]
    fn the_chunks_of_files_that_are_wanted_are_known() {
        let (rust, go) = (Some("Rust"), Some("Go"));
        let mut all = vec![
            file(1, 1, "a.rs", rust),
            // One blob is shared by a file of each language.
            file(4, 1, "b.rs", rust),
            file(4, 2, "b.go", go),
            file(5, 1, "c.rs", rust),
            file(6, 2, "d.go", go),
            file(7, 2, "README", None),
        ];
        // Paths are told apart by block only.
        all.extend((10..200).map(|n| file(n, 3, &format!("test/t{n}.rs"), rust)));
        let files = ShardFiles::new(all.clone());
        let wanted = |query: &str| {
            let (query, condition) = of_files(query);
            let holds = |repo: RepoId, atom| match atom {
                Predicate::Repo(term) => {
                    Some(query.terms[term].matcher.is_match(&format!("r{}", repo.0)))
                }
                _ => None,
            };
            let wanted = files.wanted(&condition, &query, None, holds);
            let all_chunks = wanted.chunks(&(0..i32::MAX));
            // A part of the chunks is judged as it is among all.
            for (start, end) in [(0, 4), (4, 5), (5, 60), (6, 7), (60, 150), (150, 5000)] {
                let part = |chunk: &i32| all_chunks.iter().any(|some| some.contains(chunk));
                let of_part: Vec<i32> =
                    wanted.chunks(&(start..end)).into_iter().flatten().collect();
                assert_eq!(of_part, (start..end).filter(part).collect::<Vec<_>>(), "{query:?}");
            }
            let wanted = all_chunks;
            // No file that matches is left out.
            for file in &all {
                let known = |atom| match atom {
                    Predicate::Language(at) => Some(
                        file.language
                            .as_ref()
                            .is_some_and(|name| query.languages[at].contains(&name.to_lowercase())),
                    ),
                    Predicate::Path(term) => Some(query.terms[term].matcher.is_match(&file.path)),
                    atom => holds(file.repo, atom),
                };
                let holds = condition.eval(&known) != Some(false);
                let is_in = wanted.iter().any(|range| range.contains(&file.blob.0));
                assert!(is_in || !holds, "{condition:?}: {}", file.path);
            }
            wanted.into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(wanted("foo"), [(1, i32::MAX)]);
        assert_eq!(wanted("foo lang:rust"), [(1, 6), (10, i32::MAX)]);
        assert_eq!(wanted("foo lang:go"), [(4, 5), (6, 7)]);
        assert_eq!(wanted("foo -lang:rust"), [(4, 5), (6, 10)]);
        assert_eq!(wanted("foo lang:go or lang:rust r:r1"), [(1, 7)]);
        assert_eq!(wanted("foo -r:r3"), [(1, 10)]);
        assert_eq!(wanted("foo lang:java"), []);
        // The 65th file has blob 68.
        assert_eq!(wanted("foo f:README"), [(1, 68)]);
        assert_eq!(wanted("foo f:README lang:go"), [(4, 5), (6, 7)]);
        assert_eq!(wanted("foo f:t199"), [(196, i32::MAX)]);
        assert_eq!(wanted("foo -f:t199"), [(1, i32::MAX)]);
        // A predicate on which all chosen repositories agree is not in the condition.
        let (query, condition) = of_files("foo lang:rust");
        let of_repos = |repos| {
            let wanted = files.wanted(&condition, &query, Some(repos), |_, _| None);
            wanted.chunks(&(0..i32::MAX))
        };
        assert_eq!(of_repos(&[RepoId(2)]), []);
        assert_eq!(of_repos(&[RepoId(1), RepoId(2)]), of_repos(&[RepoId(1)]));
        assert_eq!(
            of_repos(&[RepoId(1)]).first().map(|range| (range.start, range.end)),
            Some((1, 6))
        );
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
        };
        let paths = |blobs: Option<&[BlobId]>, filter: &FileFilter| {
            files.of(blobs, filter).into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        assert_eq!(format!("{:?}", files.of(None, &filter(None, None))), format!("{all:?}"));
        let some = [BlobId(1), BlobId(4), BlobId(9)];
        assert_eq!(paths(Some(&some), &filter(None, None)), ["a.rs", "b\nb.rs", "README"]);
        assert_eq!(paths(Some(&some), &filter(Some(vec![RepoId(2)]), None)), ["b\nb.rs", "README"]);
        assert_eq!(paths(None, &filter(None, Some("go"))), ["c/a.go"]);
        assert_eq!(files.blobs(0).collect::<Vec<_>>(), [BlobId(1), BlobId(5), BlobId(9)]);
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
        assert_eq!(files.blobs(2).collect::<Vec<_>>(), [BlobId(5), BlobId(9)]);
        let extents = |blobs: &[i32]| {
            let blobs: Vec<BlobId> = blobs.iter().copied().map(BlobId).collect();
            let extents = files.extents(&blobs).into_iter();
            extents.map(|extent| (extent.start, extent.end)).collect::<Vec<_>>()
        };
        assert_eq!(extents(&[1, 5]), [(1, 9)]);
        assert_eq!(extents(&[0, 1, 2, 9]), [(1, 5), (9, i32::MAX)]);
        assert_eq!(extents(&[0, 6, 10]), []);
    }
}
