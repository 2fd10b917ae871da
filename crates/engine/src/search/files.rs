//! What a server keeps of the files of a shard: everything but their texts.

use std::collections::HashMap;
use std::ops::Range;

use query::{CompiledTerm, GramSet, Grams, Kind, Probe, Scratch};
use store::{BlobId, File, FileFilter, RepoId};

use crate::browse::Entry;

/// The files of a shard at one epoch, in the order of their blobs.
#[derive(Debug)]
pub(crate) struct ShardFiles {
    rows: Vec<Row>,
    /// All paths, one behind the other.
    paths: String,
    /// Each language once, as it is written and in small letters.
    languages: Vec<(String, String)>,
    /// Which n-grams the paths hold, in blocks of [`BLOCK_FILES`].
    pub(crate) grams: Grams,
}

/// Files in a block of the summary of paths.
const BLOCK_FILES: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Row {
    blob: BlobId,
    bytes: i32,
    repo: RepoId,
    /// Where its path begins; it ends where the next one begins.
    path: u32,
    /// One more than its place among the languages, 0 for none.
    language: u16,
}

impl ShardFiles {
    /// `files` are all files of the shard, in order of blobs, repositories and paths.
    pub(crate) fn new(files: Vec<File>) -> Self {
        let bytes = files.iter().map(|file| file.path.len()).sum();
        let mut all = Self {
            rows: Vec::with_capacity(files.len() + 1),
            paths: String::with_capacity(bytes),
            languages: Vec::new(),
            grams: Grams::new(Kind::Paths, &[]),
        };
        let mut sets: Vec<GramSet> = Vec::new();
        let mut known: HashMap<String, u16> = HashMap::new();
        for File { blob, bytes, repo, path, language } in files {
            let language = language.map_or(0, |name| {
                *known.entry(name).or_insert_with_key(|name| {
                    all.languages.push((name.clone(), name.to_lowercase()));
                    all.languages.len() as u16
                })
            });
            if all.rows.len().is_multiple_of(BLOCK_FILES) {
                sets.push(GramSet::new(Kind::Paths));
            }
            if let Some(set) = sets.last_mut() {
                set.add(&path);
            }
            let path_at = all.paths.len() as u32;
            all.paths.push_str(&path);
            all.rows.push(Row { blob, bytes, repo, path: path_at, language });
        }
        all.grams = Grams::new(Kind::Paths, &sets);
        all
    }

    /// The files that have one of these contents, or all, in order.
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

    /// Of the blobs with these numbers, those of files whose path one of some terms matches, ascending.
    pub(crate) fn matching(&self, terms: &[&CompiledTerm], blobs: &Range<i32>) -> Vec<BlobId> {
        let any = Probe::any(terms.iter().map(|term| term.probe.clone()).collect());
        let mut scratches: Vec<Scratch> = terms.iter().map(|term| term.matcher.scratch()).collect();
        let mut matching = Vec::new();
        let rows = self.from(blobs.start)..self.from(blobs.end);
        if rows.is_empty() {
            return matching;
        }
        for block in self.grams.parts(&any).iter() {
            let from = rows.start.max(block * BLOCK_FILES);
            for at in from..rows.end.min((block + 1) * BLOCK_FILES) {
                let path = self.path(at);
                let mut both = terms.iter().zip(&mut scratches);
                if both.any(|(term, scratch)| term.matcher.is_match_with(scratch, path)) {
                    matching.push(self.rows[at].blob);
                }
            }
        }
        matching.dedup();
        matching
    }

    /// All blobs from this number on, ascending.
    pub(crate) fn blobs(&self, from: i32) -> impl Iterator<Item = BlobId> {
        let rows = &self.rows[self.from(from)..];
        rows.chunk_by(|row, next| row.blob == next.blob).map(|same| same[0].blob)
    }

    /// The chunks of some stretches, which are in order, each with its blob. What belongs to no file any longer counts
    /// as the blob's before it: which it really is shows when it is read.
    pub(crate) fn chunks(&self, stretches: &[Range<i32>]) -> Vec<(i32, BlobId)> {
        let mut chunks = Vec::with_capacity(stretches.iter().map(ExactSizeIterator::len).sum());
        let mut at = 0;
        for stretch in stretches {
            // The file with the last blob before the stretch, if there is one.
            at = self.seek(at, BlobId(stretch.start)).saturating_sub(1);
            for n in stretch.clone() {
                while self.rows.get(at + 1).is_some_and(|next| next.blob.0 <= n) {
                    at += 1;
                }
                let row = self.rows.get(at).filter(|row| row.blob.0 <= n);
                chunks.extend(row.map(|row| (n, row.blob)));
            }
        }
        chunks
    }

    /// The first file from here on whose blob is this one or a later one. Steps that double find what is
    /// near without a look at what is far.
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

    /// The first file whose blob has this number or a larger one.
    fn from(&self, blob: i32) -> usize {
        self.rows.partition_point(|row| row.blob.0 < blob)
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A file by its place.
    pub(crate) fn entry(&self, at: usize) -> Entry<'_> {
        let row = &self.rows[at];
        Entry {
            path: self.path(at),
            bytes: row.bytes as usize,
            language: self.language(row).map(|(name, _)| name.as_str()),
            repo: row.repo,
            blob: row.blob,
        }
    }

    /// The files with some contents.
    pub(crate) fn of_blob(&self, blob: BlobId) -> impl Iterator<Item = Entry<'_>> {
        (self.from(blob.0)..self.from(blob.0 + 1)).map(|at| self.entry(at))
    }

    fn language(&self, row: &Row) -> Option<&(String, String)> {
        row.language.checked_sub(1).map(|i| &self.languages[usize::from(i)])
    }

    fn chosen(&self, rows: Range<usize>, filter: &FileFilter) -> impl Iterator<Item = File> {
        rows.filter_map(|at| {
            let row = &self.rows[at];
            let language = self.language(row);
            let wanted =
                filter.repos.as_ref().is_none_or(|repos| repos.binary_search(&row.repo).is_ok())
                    && filter.languages.as_ref().is_none_or(|languages| {
                        language.is_some_and(|(_, small)| languages.contains(small))
                    });
            wanted.then(|| File {
                blob: row.blob,
                bytes: row.bytes,
                repo: row.repo,
                path: self.path(at).to_owned(),
                language: language.map(|(name, _)| name.clone()),
            })
        })
    }

    fn path(&self, at: usize) -> &str {
        let end = self.rows.get(at + 1).map_or(self.paths.len(), |next| next.path as usize);
        &self.paths[self.rows[at].path as usize..end]
    }
}

#[cfg(test)]
mod tests {
    use query::{Case, Program, Query};
    use store::Epoch;

    use super::*;

    #[test]
    fn files_come_back_as_they_were() {
        let file = |blob, repo, path: &str, language: Option<&str>| File {
            blob: BlobId(blob),
            bytes: 7,
            repo: RepoId(repo),
            path: path.to_owned(),
            language: language.map(str::to_owned),
        };
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
        let chunks = |stretches: &[Range<i32>]| -> Vec<(i32, i32)> {
            files.chunks(stretches).into_iter().map(|(n, blob)| (n, blob.0)).collect()
        };
        let named = [(1, 1), (4, 1), (5, 5), (9, 9), (10, 9)];
        assert_eq!(chunks(&[0..2, 4..6, 9..11]), named);
        assert_eq!(chunks(&[0..1, 4..6]), [(4, 1), (5, 5)]);
        assert_eq!(chunks(&[8..9, 20..21]), [(8, 5), (20, 9)]);
        assert_eq!(paths(None, &filter(None, Some("go"))), ["c/a.go"]);
        assert_eq!(files.blobs(0).collect::<Vec<_>>(), [BlobId(1), BlobId(5), BlobId(9)]);
        let matching = |query: &str| {
            let program = Program::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
            files.matching(&program.terms.iter().collect::<Vec<_>>(), &(0..i32::MAX))
        };
        assert_eq!(matching("(^a|b$)"), [BlobId(1)]);
        assert_eq!(matching("read or a.go"), [BlobId(5), BlobId(9)]);
        assert_eq!(matching("write"), []);
        let program = Program::new(&Query::parse("[ab]", Case::Smart).unwrap()).unwrap();
        let terms: Vec<_> = program.terms.iter().collect();
        assert_eq!(files.matching(&terms, &(2..9)), [BlobId(5)]);
        assert_eq!(files.blobs(2).collect::<Vec<_>>(), [BlobId(5), BlobId(9)]);
    }
}
