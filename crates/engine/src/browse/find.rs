//! The file finder: the files of a tree whose paths are nearest to a query.

use std::collections::BTreeMap;
use std::ops::Range;

use super::tree::{RepoTree, Tree};
use crate::fuzzy::{
    CANDIDATES, Lookup, PathIndex, PathQuery, QueryPart, QueryTooLong, Scorer, Variant,
};

/// A request to the file finder.
#[derive(Clone, Debug, Default)]
pub struct FindRequest<'a> {
    /// The query: letters in any case, in the order of the path, with gaps and with few errors. Blanks separate parts,
    /// which may stand in any order. The name of the repository may stand before the path.
    pub query: &'a str,
    /// Only in repositories whose names hold this, in any case.
    pub repo: Option<&'a str>,
    /// Only in one of these languages, in lower case; in any if there are none.
    pub languages: &'a [String],
    /// Most files.
    pub limit: usize,
}

/// A file whose path is near to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearFile {
    /// The name of its repository.
    pub repo: String,
    /// Its path in the repository.
    pub path: String,
    /// Its language, when that was recognised.
    pub language: Option<String>,
    /// The bytes of the path that the query matches, in order.
    pub matched: Vec<usize>,
}

impl NearFile {
    /// The ranges of bytes of the path that the query matches, in order.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let runs = self.matched.chunk_by(|at, next| at + 1 == *next);
        runs.map(|run| run[0]..run[run.len() - 1] + 1).collect()
    }
}

impl Tree {
    /// The files whose paths are nearest to a query, the nearest first, and how many there are in all: see
    /// [`crate::fuzzy`]. The first call builds the index of all paths, and so belongs on a thread of its own.
    ///
    /// # Errors
    /// The query is too long.
    ///
    /// # Panics
    /// On a thread of a runtime that drives futures: it blocks there until it has its turn.
    pub fn find(&self, request: &FindRequest<'_>) -> Result<(Vec<NearFile>, usize), QueryTooLong> {
        let query = PathQuery::new(request.query)?;
        let part = request.repo.map(str::to_lowercase);
        let repos: Vec<&RepoTree> = self
            .repos()
            .iter()
            .filter(|repo| part.as_ref().is_none_or(|part| repo.name.to_lowercase().contains(part)))
            .collect();
        let wanted = |file: u32| {
            request.languages.is_empty()
                || self.nth(file).language.is_some_and(|language| {
                    request.languages.iter().any(|one| language.eq_ignore_ascii_case(one))
                })
        };
        let variants = variants(&query, &repos);
        let repo = |file: u32| {
            let at = repos.partition_point(|repo| repo.numbers().end <= file);
            repos[at].name.as_str()
        };
        let lookup = Lookup {
            path: |file| self.nth(file).path,
            repo: &repo,
            wanted,
            limit: request.limit,
            candidates: CANDIDATES,
        };
        let near = self.path_index().lookup(&query, &variants, &lookup);
        let mut scorer = Scorer::new(&query.parts);
        let files = near
            .best
            .into_iter()
            .map(|(file, _)| {
                let (entry, repo) = (self.nth(file), repo(file));
                let around = variants.iter().any(|variant| {
                    variant.in_repo && variant.among.iter().any(|range| range.contains(&file))
                });
                NearFile {
                    repo: repo.to_owned(),
                    path: entry.path.to_owned(),
                    language: entry.language.map(str::to_owned),
                    matched: matched(entry.path, around.then_some(repo), &mut scorer),
                }
            })
            .collect();
        Ok((files, near.found))
    }

    /// The index of the paths, built by the first call.
    fn path_index(&self) -> &PathIndex {
        self.path_index.get_or_init(|| PathIndex::new(self.len(), |file| self.nth(file).path))
    }
}

/// The variants of a query: the query itself for most repositories; for those that it names before a slash, what comes
/// behind that.
fn variants(query: &PathQuery, repos: &[&RepoTree]) -> Vec<Variant> {
    let mut named: BTreeMap<(usize, usize), Vec<Range<u32>>> = BTreeMap::new();
    let mut others = Vec::new();
    for repo in repos {
        let of = match longest_name(query, &repo.folded) {
            Some(name) => named.entry(name).or_default(),
            None => &mut others,
        };
        // Neighbouring ranges become one.
        match (of.last_mut(), repo.numbers()) {
            (Some(last), numbers) if last.end == numbers.start => last.end = numbers.end,
            (_, numbers) => of.push(numbers),
        }
    }
    let all = Variant { query: query.clone(), among: others, in_repo: false };
    let rest = named.into_iter().map(|((part, letters), among)| {
        let mut query = query.clone();
        let rest = query.parts[part].letters[letters..].iter().copied();
        query.parts[part] = QueryPart::new(rest.skip_while(|letter| *letter == '/').collect());
        Variant { query, among, in_repo: true }
    });
    std::iter::once(all).chain(rest).collect()
}

/// The part of a query that names a repository, and how many of its letters do: the name or its last folders, before a
/// slash with something behind it.
fn longest_name(query: &PathQuery, repo: &str) -> Option<(usize, usize)> {
    let names = query.parts.iter().enumerate().flat_map(|(at, part)| {
        part.text.match_indices('/').filter_map(move |(slash, _)| {
            let (name, rest) = part.text.split_at(slash);
            let before = repo.strip_suffix(name)?;
            let whole = before.is_empty() || before.ends_with('/');
            (whole && !name.is_empty() && !rest.trim_start_matches('/').is_empty())
                .then(|| (name.chars().count(), at))
        })
    });
    names.max().map(|(letters, at)| (at, letters))
}

/// The bytes of a path that a query matches. If the name of its repository is a folder around it, and the path is
/// nearer so, they are those of that alignment which lie in the path.
fn matched(path: &str, repo: Option<&str>, scorer: &mut Scorer) -> Vec<usize> {
    let mut cost = |text: &str| scorer.costs([Some(text)], |_, _| u16::MAX);
    let own = cost(path);
    let with_repo = repo.map(|repo| format!("{repo}/{path}"));
    let around = with_repo.filter(|text| cost(text) < own);
    let text = around.as_deref().unwrap_or(path);
    let mut matched = Vec::new();
    scorer.mark(text, &mut matched);
    let before = text.len() - path.len();
    matched.retain(|at| *at >= before);
    for at in &mut matched {
        *at -= before;
    }
    matched.sort_unstable();
    matched.dedup();
    matched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_before_a_slash() {
        for (query, repo, expected) in [
            ("linux/kernel/fork.c", "github.com/torvalds/linux", Some((0, 5))),
            ("torvalds/linux/fork.c", "github.com/torvalds/linux", Some((0, 14))),
            ("fork Linux//kernel", "linux", Some((1, 5))),
            ("nux/kernel/fork.c", "github.com/torvalds/linux", None),
            ("linux/", "linux", None),
            ("linux", "linux", None),
            ("größe/a", "x/grosse", None),
            ("grösse/a", "x/grosse", Some((0, 6))),
        ] {
            assert_eq!(longest_name(&PathQuery::new(query).unwrap(), repo), expected, "{query}");
        }
    }

    #[test]
    fn of_a_repository_nothing_is_marked() {
        let marked = |query: &str, path: &str, repo: Option<&str>| -> String {
            let mut scorer = Scorer::new(&PathQuery::new(query).unwrap().parts);
            let marked = matched(path, repo, &mut scorer);
            marked.into_iter().map(|at| &path[at..=at]).collect()
        };
        let linux = Some("torvalds/linux");
        assert_eq!(marked("linux/kernel/fork.c", "kernel/fork.c", linux), "kernel/fork.c");
        assert_eq!(marked("linux/fork.c", "kernel/fork.c", linux), "/fork.c");
        // A match in the path itself at no greater cost comes first.
        assert_eq!(marked("linux/fork.c", "linux/fork.c", linux), "linux/fork.c");
    }
}
