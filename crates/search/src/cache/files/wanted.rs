//! Finds the chunks of a shard that belong to files which are wanted whatever their texts.

use std::ops::Range;

use ngram::{BLOCK_CHUNKS, Columns};
use query::{CompiledQuery, Expr, Predicate};
use store::{BlobId, RepoId, TreeFilter};

use super::{BLOCK_FILES, LanguageSet, Row, ShardFiles};

/// The files of a shard that are wanted whatever their texts.
pub(crate) struct ShardFileFilter<'a> {
    files: &'a ShardFiles,
    condition: &'a Expr,
    repos: Option<&'a [RepoId]>,
    trees: &'a TreeFilter,
    /// For each predicate on the language, whether it holds for each of the shard's languages.
    languages: Vec<(usize, Vec<bool>)>,
    /// For each term on the path, the blocks of files that may match it.
    paths: Vec<(usize, Columns)>,
    repo_holds: Box<dyn Fn(RepoId, Predicate) -> Option<bool> + 'a>,
    /// The blocks of files that may contain a wanted one.
    blocks: Columns,
    /// The blocks of chunks that these files may have.
    chunk_blocks: Columns,
}

impl ShardFiles {
    /// Prepares [`ShardFileFilter::chunks`]: the chunks of the blobs that have a wanted file. Such a file is in one of
    /// `repos`, if given, and in one of `trees`, and `condition` does not rule it out, as far as language, repository and path filters tell.
    pub(crate) fn wanted<'a>(
        &'a self,
        condition: &'a Expr,
        query: &CompiledQuery,
        (repos, trees): (Option<&'a [RepoId]>, &'a TreeFilter),
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
            Predicate::Content(_)
            | Predicate::Repo(_)
            | Predicate::Property(_)
            | Predicate::Symbol(_)
            | Predicate::InTree(_)
            | Predicate::Added(_)
            | Predicate::Removed(_) => {}
        });
        let mut filter = ShardFileFilter {
            files: self,
            condition,
            repos,
            trees,
            languages,
            paths,
            repo_holds: Box::new(repo_holds),
            blocks: Columns::first(self.blocks.len()),
            chunk_blocks: Columns::first(0),
        };
        filter.rule_out_blocks();
        filter
    }
}

impl ShardFileFilter<'_> {
    /// Returns whether the blobs of a block of chunks may have a wanted file, as far as the blocks of files tell.
    pub(crate) fn may_want_block(&self, number: i32) -> bool {
        // Later blocks than that of the last blob have only its chunks.
        let last = self.files.rows.last().map_or(0, |row| row.blob.0 / BLOCK_CHUNKS);
        self.chunk_blocks.contains(number.min(last) as usize)
    }

    /// Returns the chunks in a range that belong to blobs with a wanted file, in order. Chunks of no visible file count
    /// as part of the blob before them.
    pub(crate) fn chunks(&self, range: &Range<i32>) -> Vec<Range<i32>> {
        let files = self.files;
        let rows = files.rows_of(range);
        let mut chunks: Vec<Range<i32>> = Vec::new();
        let mut at = rows.start;
        // Files with equal block, language and repository have the same result.
        let mut last: Option<(u16, RepoId, bool)> = None;
        while at < rows.end {
            let block = at / BLOCK_FILES;
            let next_block = (block + 1) * BLOCK_FILES;
            if !self.blocks.contains(block) {
                at = next_block;
                continue;
            }
            for at in at..rows.end.min(next_block) {
                let row = &files.rows[at];
                if !files.passes(at, self.trees) {
                    continue;
                }
                let alike = last
                    .filter(|(language, repo, _)| (*language, *repo) == (row.language, row.repo));
                let may = alike.map_or_else(|| self.may_hold(at, row), |(.., may)| may);
                last = Some((row.language, row.repo, may));
                if may {
                    let blob = row.blob.0;
                    let later = files.rows[at + 1..].iter().find(|next| next.blob.0 > blob);
                    let mut end = later.map_or(range.end, |next| next.blob.0.min(range.end));
                    if files.is_sparse {
                        end = end.min(files.starts.extent(row.blob).end);
                        if end <= range.start {
                            continue;
                        }
                    }
                    match chunks.last_mut() {
                        Some(last) if last.end >= blob => last.end = end,
                        _ => chunks.push(blob.max(range.start)..end),
                    }
                }
            }
            (at, last) = (next_block, None);
        }
        chunks
    }

    /// Finds the blocks of files, and of chunks, that may contain a wanted file.
    fn rule_out_blocks(&mut self) {
        let wanted_of = |is_one: &[bool]| {
            let mut set = LanguageSet::default();
            let wanted = is_one.iter().enumerate().filter(|(_, is_one)| **is_one);
            wanted.for_each(|(i, _)| set.add(i + 1));
            set
        };
        let of: Vec<(usize, LanguageSet)> =
            self.languages.iter().map(|(index, is_one)| (*index, wanted_of(is_one))).collect();
        let files = &self.files.blocks;
        let may_have = |block: usize| {
            let known = |atom| match atom {
                Predicate::Language(index) => {
                    let (_, wanted) = of.iter().find(|(of, _)| *of == index)?;
                    (!files[block].languages.meets(*wanted)).then_some(false)
                }
                Predicate::Path(term) => {
                    let (_, columns) = self.paths.iter().find(|(of, _)| *of == term)?;
                    (!columns.contains(block)).then_some(false)
                }
                Predicate::Repo(_)
                | Predicate::Property(_)
                | Predicate::Content(_)
                | Predicate::Symbol(_)
                | Predicate::InTree(_)
                | Predicate::Added(_)
                | Predicate::Removed(_) => None,
            };
            self.condition.eval(&known) != Some(false)
        };
        let block_of = |blob: BlobId| blob.0 / BLOCK_CHUNKS;
        let last = self.files.rows.last().map_or(0, |row| block_of(row.blob));
        self.blocks.retain(may_have);
        self.chunk_blocks.grow(last as usize + 1);
        for block in self.blocks.iter() {
            let last = files.get(block + 1).map_or(last, |next| block_of(next.first));
            let chunks = block_of(files[block].first)..=last;
            chunks.for_each(|chunks| self.chunk_blocks.add(chunks as usize));
        }
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
            Predicate::Repo(_) | Predicate::Property(_) => (self.repo_holds)(row.repo, atom),
            Predicate::Content(_)
            | Predicate::Symbol(_)
            | Predicate::InTree(_)
            | Predicate::Added(_)
            | Predicate::Removed(_) => None,
        };
        self.repos.is_none_or(|repos| repos.binary_search(&row.repo).is_ok())
            && self.condition.eval(&known) != Some(false)
    }
}

#[cfg(test)]
mod tests {
    use query::{Case, Query};

    use super::super::tests::file;
    use super::*;

    /// Returns a query, and its condition on files.
    fn of_files(query: &str) -> (CompiledQuery, Expr) {
        let query = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
        let condition = query.expr.without_text();
        (query, condition)
    }

    #[test]
    fn blocks_of_chunks_without_wanted_files_are_ruled_out() {
        // The first 64 files lie in the blocks 0 to 2, the others in the blocks 2 to 6.
        let of = |n: i32| if n < 64 { ("alpha.go", Some("Go")) } else { ("beta.rs", Some("Rust")) };
        let all = (0..160).map(|n| file(n * 20, 1, of(n).0, of(n).1)).collect();
        let files = ShardFiles::new(all);
        let blocks = |query: &str| {
            let (query, condition) = of_files(query);
            let wanted = files.wanted(&condition, &query, (None, &TreeFilter::All), |_, _| None);
            (0..9).filter(|block| wanted.may_want_block(*block)).collect::<Vec<i32>>()
        };
        assert_eq!(blocks("foo lang:go"), [0, 1, 2]);
        // All chunks after the last file count as part of it.
        assert_eq!(blocks("foo lang:rust"), [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(blocks("foo f:alpha"), [0, 1, 2]);
        assert_eq!(blocks("foo lang:rust or lang:go"), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(blocks("foo lang:java"), Vec::<i32>::new());
        assert_eq!(blocks("foo -lang:java"), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
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
        // Only blocks distinguish paths.
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
            let wanted = files.wanted(&condition, &query, (None, &TreeFilter::All), holds);
            let all_chunks = wanted.chunks(&(0..i32::MAX));
            // A part of the chunks gives the same result as among all.
            for (start, end) in [(0, 4), (4, 5), (5, 60), (6, 7), (60, 150), (150, 5000)] {
                let part = |chunk: &i32| all_chunks.iter().any(|some| some.contains(chunk));
                let of_part: Vec<i32> =
                    wanted.chunks(&(start..end)).into_iter().flatten().collect();
                assert_eq!(of_part, (start..end).filter(part).collect::<Vec<_>>(), "{query:?}");
            }
            // No block with such chunks is ruled out.
            for block in 0..12 {
                let chunks = block * BLOCK_CHUNKS..(block + 1) * BLOCK_CHUNKS;
                let may = wanted.may_want_block(block);
                assert!(may || wanted.chunks(&chunks).is_empty(), "{query:?}: {block}");
            }
            let wanted = all_chunks;
            // No matching file is left out.
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
        // A predicate with the same value in all chosen repositories is not in the condition.
        let (query, condition) = of_files("foo lang:rust");
        let of_repos = |repos| {
            let wanted =
                files.wanted(&condition, &query, (Some(repos), &TreeFilter::All), |_, _| None);
            wanted.chunks(&(0..i32::MAX))
        };
        assert_eq!(of_repos(&[RepoId(2)]), []);
        assert_eq!(of_repos(&[RepoId(1), RepoId(2)]), of_repos(&[RepoId(1)]));
        assert_eq!(
            of_repos(&[RepoId(1)]).first().map(|range| (range.start, range.end)),
            Some((1, 6))
        );
    }
}
