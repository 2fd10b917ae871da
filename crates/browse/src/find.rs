//! The file finder: returns the files of a tree whose paths are nearest to a query.

use std::collections::BTreeMap;
use std::ops::Range;

use fuzzy::{CANDIDATES, Lookup, PathQuery, QueryPart, QueryTooLong, Scorer, Variant};
use search::{RepoTree, Tree};

/// A request to the file finder.
#[derive(Clone, Debug, Default)]
pub struct FindRequest<'a> {
    /// Letters in any case, in the order of the path; gaps and a few errors are allowed. Spaces separate
    /// parts, which may match in any order. The name of the repository may stand before the path.
    pub query: &'a str,
    /// Only repositories whose names contain this text, in any case.
    pub repo: Option<&'a str>,
    /// Only files in one of these languages, in lower case; all files if empty.
    pub languages: &'a [String],
    /// Most files returned.
    pub limit: usize,
}

/// A file whose path is near a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearFile {
    /// Name of its repository.
    pub repo: String,
    /// Path in its repository.
    pub path: String,
    /// Language, if it was recognised.
    pub language: Option<String>,
    /// Offsets of the bytes of the path that match, ascending.
    pub matched: Vec<usize>,
}

impl NearFile {
    /// Returns the matching bytes of the path as ranges, in order.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let runs = self.matched.chunk_by(|at, next| at + 1 == *next);
        runs.map(|run| run[0]..run[run.len() - 1] + 1).collect()
    }
}

/// Returns the files whose paths are nearest to a query, nearest first, and the number of all near files;
/// see [`fuzzy`]. The first call builds the index of all paths, so it should run on a thread of
/// its own.
///
/// # Errors
/// The query is too long.
///
/// # Panics
/// When called on a thread of an async runtime: it blocks until other lookups are done.
pub fn find(
    tree: &Tree,
    request: &FindRequest<'_>,
) -> Result<(Vec<NearFile>, usize), QueryTooLong> {
    let query = PathQuery::new(request.query)?;
    let part = request.repo.map(str::to_lowercase);
    let repos: Vec<&RepoTree> = tree
        .repos()
        .iter()
        .filter(|repo| part.as_ref().is_none_or(|part| repo.name.to_lowercase().contains(part)))
        .collect();
    let wanted = |file: u32| {
        request.languages.is_empty()
            || tree.nth(file).language.is_some_and(|language| {
                request.languages.iter().any(|one| language.eq_ignore_ascii_case(one))
            })
    };
    let variants = variants(&query, &repos);
    let repo = |file: u32| {
        let at = repos.partition_point(|repo| repo.numbers().end <= file);
        repos[at].name.as_str()
    };
    let lookup = Lookup {
        path: |file| tree.nth(file).path,
        repo: &repo,
        wanted,
        limit: request.limit,
        candidates: CANDIDATES,
    };
    let near = tree.path_index().lookup(&query, &variants, &lookup);
    let mut scorer = Scorer::new(&query.parts);
    let files = near
        .best
        .into_iter()
        .map(|(file, _)| {
            let (entry, repo) = (tree.nth(file), repo(file));
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

/// Returns the variants of a query: the query itself for most repositories; and for those that it names
/// before a slash, the rest of the query.
fn variants(query: &PathQuery, repos: &[&RepoTree]) -> Vec<Variant> {
    let mut named: BTreeMap<(usize, usize), Vec<Range<u32>>> = BTreeMap::new();
    let mut others = Vec::new();
    for repo in repos {
        let of = match longest_name(query, &repo.folded) {
            Some(name) => named.entry(name).or_default(),
            None => &mut others,
        };
        // Neighbouring ranges are joined.
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

/// Returns the index of the part that names a repository, and the number of letters of the name in it. The name, or its
/// last folders, must stand before a slash with something after it.
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

/// Returns the bytes of a path that a query matches. With `repo`, the query may also match the name of the
/// repository before the path. If that costs less, returns the bytes of that alignment that lie in the path.
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
        // At the same cost, a match in the path alone wins.
        assert_eq!(marked("linux/fork.c", "linux/fork.c", linux), "linux/fork.c");
    }
}
