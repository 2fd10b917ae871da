//! Files with identical contents as one result: worktrees, forks, vendored copies.
//!
//! Contents are stored once, so copies have the same blob. They match alike, except where the query has conditions on
//! paths; so files are copies of each other only if the same lines of them match. If no line is shown, what matched may
//! be the path: then copies must also have the same path, or the same names of file and folder.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use answer::{FileCopy, FileMatch};
use store::RepoId;

use crate::path::is_copied;
use crate::ranked_file::{CopyKeys, RankedFile};

/// Returns the keys of a file with all its matching lines; `None` if it is not folded.
pub(crate) fn keys(file: &FileMatch) -> Option<CopyKeys> {
    let of = |what: &dyn Fn(&mut DefaultHasher)| {
        let mut hash = DefaultHasher::new();
        file.blob_key.hash(&mut hash);
        what(&mut hash);
        hash.finish()
    };
    if file.lines.is_empty() {
        // Empty files have the same contents by chance.
        return (file.bytes > 0).then(|| {
            let whole = of(&|hash| file.path.hash(hash));
            let mut names = file.repo.split('/').chain(file.path.split('/')).rev();
            let (name, folder) = (names.next(), names.next());
            [whole, of(&|hash| (name, folder, 0).hash(hash))]
        });
    }
    let lines = of(&|hash| {
        for line in &file.lines {
            (line.number, &line.ranges, line.symbols.len()).hash(hash);
        }
    });
    Some([lines, lines])
}

/// Folds copies into the first of them. The results keep their order.
pub(crate) fn fold(sorted: Vec<RankedFile>) -> Vec<RankedFile> {
    let mut results: Vec<Option<RankedFile>> = Vec::with_capacity(sorted.len());
    let mut known: HashMap<u64, usize> = HashMap::new();
    for ranked in sorted {
        let Some(keys) = ranked.keys else {
            results.push(Some(ranked));
            continue;
        };
        let mut found: Vec<usize> = keys.iter().filter_map(|key| known.get(key).copied()).collect();
        found.sort_unstable();
        found.dedup();
        let at = found.first().copied().unwrap_or(results.len());
        match results.get_mut(at) {
            Some(first) => first.as_mut().expect("keys lead to results").file.fold(ranked.file),
            None => results.push(Some(ranked)),
        }
        known.extend(keys.map(|key| (key, at)));
        // A file may be a copy of two results that until now were not copies of each other.
        for other in found.into_iter().skip(1) {
            let folded = results[other].take().expect("keys lead to results");
            results[at].as_mut().expect("it is the first").file.fold(folded.file);
            known.values_mut().filter(|of| **of == other).for_each(|of| *of = at);
        }
    }
    results.into_iter().flatten().collect()
}

/// What says which of several copies is the original.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// The repositories whose git data lie in another one: worktrees, submodules.
    pub linked: HashSet<RepoId>,
    /// The repository in which the user works.
    pub current: Option<RepoId>,
}

impl Origins {
    /// Makes the original the result, and sorts its copies. They are in the order of their scores, which decide between
    /// equals: in a file called like the query, users look first.
    pub fn order(&self, file: &mut FileMatch) {
        if !file.copies.is_empty() {
            let mut copies = file.take_copies();
            copies.sort_by_key(|copy| self.key(copy));
            file.lead(copies);
        }
    }

    /// Returns a key that is smaller for a more original file: not copied into another project; where the user works,
    /// and opens it; not in a worktree.
    fn key(&self, file: &FileCopy) -> (bool, bool, bool) {
        let is_elsewhere = self.current != Some(file.repo_id);
        (is_copied(&file.path), is_elsewhere, self.linked.contains(&file.repo_id))
    }
}

#[cfg(test)]
mod tests {
    use query::{Case, Query};
    use store::{BlobId, ShardId};

    use super::*;
    use crate::{Order, TopK};
    use answer::Line;

    /// Returns a file of a repository (its number), written as `repo path blob`, with a match in each of some lines.
    fn file(written: &str, lines: &[u64]) -> FileMatch {
        let parts: Vec<&str> = written.split(' ').collect();
        let line = |number: &u64| Line {
            number: *number,
            text: "needle".to_owned(),
            ended: true,
            ranges: std::iter::once(0..6).collect(),
            ..Line::default()
        };
        FileMatch {
            repo_id: RepoId(parts[0].parse().unwrap()),
            blob_key: (ShardId(0), BlobId(parts[2].parse().unwrap())),
            repo: format!("host/{}", parts[0]),
            rank: 0,
            path: parts[1].to_owned(),
            path_ranges: Vec::new(),
            language: None,
            bytes: 7,
            lines: lines.iter().map(line).collect(),
            trees: Vec::new(),
            commit: None,
            renamed_from: None,
            copies: Vec::new(),
        }
    }

    /// Returns the results, each with its copies, and their number.
    fn folded(files: Vec<FileMatch>, origins: &Origins, keep: usize) -> (Vec<String>, usize) {
        let query = Query::parse("needle", Case::Smart).unwrap();
        let mut top = TopK::new(&query, Order::Relevance, keep);
        top.fold_copies(&query);
        let all = files.len();
        top.add(files, |file, lines| {
            lines.keep(file, 1);
            Vec::new()
        });
        assert_eq!(top.files, all);
        top.settle();
        let results = top.results();
        let shown = |file: &FileMatch| {
            let copies = file.copies.iter().map(|of| format!("{}/{}", of.repo_id.0, of.path));
            let own = format!("{}/{}", file.repo_id.0, file.path);
            [own].into_iter().chain(copies).collect::<Vec<_>>().join(" ")
        };
        let best = top.into_best(0, origins);
        (best.map(|(ranked, _)| shown(&ranked.file)).collect(), results)
    }

    #[test]
    fn copies_are_one_result_and_the_original_stands_for_them() {
        let files = || {
            ["3 vendor/x/a.c 1", "2 src/a.c 1", "1 src/a.c 1", "1 old/src/a.c 1", "1 b.c 2"]
                .map(|written| file(written, &[4, 9]))
                .to_vec()
        };
        let linked = Origins { linked: [RepoId(1)].into(), current: None };
        let (found, results) = folded(files(), &linked, 10);
        let copies = "2/src/a.c 1/src/a.c 1/old/src/a.c 3/vendor/x/a.c";
        assert_eq!((found, results), (vec!["1/b.c".to_owned(), copies.to_owned()], 2));
        // The repository in which the user works comes first, but not what it copied.
        let of = |current| Origins { linked: [RepoId(1)].into(), current: Some(RepoId(current)) };
        assert!(folded(files(), &of(1), 10).0[1].starts_with("1/src/a.c 1/old/src/a.c 2/src/a.c"));
        assert!(folded(files(), &of(3), 10).0[1].starts_with("2/src/a.c 1/src/a.c"));
        // Of equals, the one with the better score is the original.
        let named = vec![file("1 a.c 1", &[4]), file("2 src/needle.c 1", &[4])];
        assert_eq!(folded(named, &Origins::default(), 9).0, ["2/src/needle.c 1/a.c"]);
        // The order in which files are found changes nothing.
        let mut reversed = files();
        reversed.reverse();
        assert_eq!(folded(reversed, &linked, 10).0[1], copies);
    }

    #[test]
    fn the_limit_counts_results() {
        let files: Vec<FileMatch> =
            (0..30).map(|n| file(&format!("{} a{}.c {}", n % 3, n / 3, n / 3), &[1])).collect();
        let (found, results) = folded(files, &Origins::default(), 4);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|found| found.split(' ').count() == 3), "{found:?}");
        assert_eq!(results, 10);
    }

    #[test]
    fn files_with_other_matching_lines_are_no_copies() {
        let files = vec![file("1 a.c 1", &[1]), file("2 a.c 1", &[1, 2]), file("3 a.c 2", &[1])];
        assert_eq!(folded(files, &Origins::default(), 9).1, 3);
    }

    #[test]
    fn files_that_match_by_their_paths_are_copies_if_these_agree() {
        let files = |paths: &[&str]| paths.iter().map(|path| file(path, &[])).collect::<Vec<_>>();
        let apart = files(&["1 a/__init__.py 1", "1 b/__init__.py 1", "2 b/mod.py 1"]);
        assert_eq!(folded(apart, &Origins::default(), 9).1, 3);
        let mut empty = files(&["1 a/b.py 1", "2 a/b.py 1"]);
        for file in &mut empty {
            file.bytes = 0;
        }
        assert_eq!(folded(empty, &Origins::default(), 9).1, 2);
        // The third joins the first two.
        for turn in 0..3 {
            let mut same = files(&["1 c/a/b.py 1", "3 vendor/a/b.py 1", "2 vendor/a/b.py 1"]);
            same.rotate_left(turn);
            let (found, _) = folded(same, &Origins::default(), 9);
            assert_eq!(found, ["1/c/a/b.py 2/vendor/a/b.py 3/vendor/a/b.py"]);
        }
        let mut chain = files(&["1 LICENSE 1", "2 LICENSE 1", "3 vendor/2/LICENSE 1"]);
        chain.reverse();
        assert_eq!(folded(chain, &Origins::default(), 9).1, 1);
    }
}
