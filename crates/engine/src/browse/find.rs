//! Finding a file by what was typed of its path.

use std::collections::BTreeMap;
use std::ops::Range;

use super::align::Aligner;
use super::names::{CANDIDATES, Names, Scope, Way};
use super::tree::{RepoTree, Tree};
use super::typed::{Part, TooMuch, Typed};

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Finding<'a> {
    /// What was typed: letters in any case, in their order, with gaps, and with few errors. A blank
    /// separates what may stand in any order. The name of the repository may stand before the path.
    pub typed: &'a str,
    /// Only in repositories whose names hold this, in any case.
    pub repo: Option<&'a str>,
    /// Only in one of these languages, in small letters; in any if there are none.
    pub languages: &'a [String],
    /// Most files.
    pub limit: usize,
}

/// A file whose path is like what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// The name of its repository.
    pub repo: String,
    /// Its path in the repository.
    pub path: String,
    /// Its language, when that was recognised.
    pub language: Option<String>,
    /// The bytes of the path that are what was typed, in order.
    pub matched: Vec<usize>,
}

impl Near {
    /// The stretches of the path that are what was typed, in order.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let runs = self.matched.chunk_by(|at, next| at + 1 == *next);
        runs.map(|run| run[0]..run[run.len() - 1] + 1).collect()
    }
}

impl Tree {
    /// The files whose paths are nearest to what was typed, the best first, and how many there are in all. What
    /// counts is told where the index of names is defined. Takes its time the first time: for a thread of its own.
    ///
    /// # Errors
    /// What was typed is too long.
    ///
    /// # Panics
    /// On a thread of a runtime that drives futures: it waits there for its turn.
    pub fn find(&self, finding: &Finding<'_>) -> Result<(Vec<Near>, usize), TooMuch> {
        let typed = Typed::new(finding.typed)?;
        let part = finding.repo.map(str::to_lowercase);
        let repos: Vec<&RepoTree> = self
            .repos()
            .iter()
            .filter(|repo| part.as_ref().is_none_or(|part| repo.name.to_lowercase().contains(part)))
            .collect();
        let wanted = |file: u32| {
            finding.languages.is_empty()
                || self.nth(file).language.is_some_and(|language| {
                    finding.languages.iter().any(|one| language.eq_ignore_ascii_case(one))
                })
        };
        let ways = ways(&typed, &repos);
        let repo = |file: u32| {
            let at = repos.partition_point(|repo| repo.numbers().end <= file);
            repos[at].name.as_str()
        };
        let scope = Scope {
            path: |file| self.nth(file).path,
            repo: &repo,
            wanted,
            limit: finding.limit,
            candidates: CANDIDATES,
        };
        let near = self.names().nearest_in(&typed, &ways, &scope);
        let mut aligner = Aligner::new(&typed.parts);
        let files = near
            .best
            .into_iter()
            .map(|(file, _)| {
                let (entry, repo) = (self.nth(file), repo(file));
                let around = ways
                    .iter()
                    .any(|way| way.in_repo && way.among.iter().any(|range| range.contains(&file)));
                Near {
                    repo: repo.to_owned(),
                    path: entry.path.to_owned(),
                    language: entry.language.map(str::to_owned),
                    matched: matched(entry.path, around.then_some(repo), &mut aligner),
                }
            })
            .collect();
        Ok((files, near.found))
    }

    /// The index of the paths. Made when it is first asked for.
    fn names(&self) -> &Names {
        self.names.get_or_init(|| Names::new(self.len(), |file| self.nth(file).path))
    }
}

/// What files must hold, by their repositories: of most all that was typed; of those whose name stands before a slash
/// in it what comes behind that.
fn ways(typed: &Typed, repos: &[&RepoTree]) -> Vec<Way> {
    let mut named: BTreeMap<(usize, usize), Vec<Range<u32>>> = BTreeMap::new();
    let mut others = Vec::new();
    for repo in repos {
        let of = match longest_name(typed, &repo.folded) {
            Some(name) => named.entry(name).or_default(),
            None => &mut others,
        };
        // Of neighbours one.
        match (of.last_mut(), repo.numbers()) {
            (Some(last), numbers) if last.end == numbers.start => last.end = numbers.end,
            (_, numbers) => of.push(numbers),
        }
    }
    let all = Way { typed: typed.clone(), among: others, in_repo: false };
    let rest = named.into_iter().map(|((part, letters), among)| {
        let mut typed = typed.clone();
        let rest = typed.parts[part].letters[letters..].iter().copied();
        typed.parts[part] = Part::new(rest.skip_while(|letter| *letter == '/').collect());
        Way { typed, among, in_repo: true }
    });
    std::iter::once(all).chain(rest).collect()
}

/// Which part names a repository, and how many letters of it do: its name or the last folders of that, before
/// a slash with something behind it.
fn longest_name(typed: &Typed, repo: &str) -> Option<(usize, usize)> {
    let names = typed.parts.iter().enumerate().flat_map(|(at, part)| {
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

/// The bytes of a path that are what was typed; if the name of its repository is a folder around it, and that
/// is nearer, without those of the name.
fn matched(path: &str, repo: Option<&str>, aligner: &mut Aligner) -> Vec<usize> {
    let mut cost = |text: &str| aligner.costs([Some(text)], |_, _| u16::MAX);
    let own = cost(path);
    let with_repo = repo.map(|repo| format!("{repo}/{path}"));
    let around = with_repo.filter(|text| cost(text) < own);
    let text = around.as_deref().unwrap_or(path);
    let mut matched = Vec::new();
    aligner.mark(text, &mut matched);
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
        for (typed, repo, expected) in [
            ("linux/kernel/fork.c", "github.com/torvalds/linux", Some((0, 5))),
            ("torvalds/linux/fork.c", "github.com/torvalds/linux", Some((0, 14))),
            ("fork Linux//kernel", "linux", Some((1, 5))),
            ("nux/kernel/fork.c", "github.com/torvalds/linux", None),
            ("linux/", "linux", None),
            ("linux", "linux", None),
            ("größe/a", "x/grosse", None),
            ("grösse/a", "x/grosse", Some((0, 6))),
        ] {
            assert_eq!(longest_name(&Typed::new(typed).unwrap(), repo), expected, "{typed}");
        }
    }

    #[test]
    fn of_a_repository_nothing_is_marked() {
        let marked = |typed: &str, path: &str, repo: Option<&str>| -> String {
            let mut aligner = Aligner::new(&Typed::new(typed).unwrap().parts);
            let marked = matched(path, repo, &mut aligner);
            marked.into_iter().map(|at| &path[at..=at]).collect()
        };
        let linux = Some("torvalds/linux");
        assert_eq!(marked("linux/kernel/fork.c", "kernel/fork.c", linux), "kernel/fork.c");
        assert_eq!(marked("linux/fork.c", "kernel/fork.c", linux), "/fork.c");
        // What the path itself holds at no greater cost is marked in it.
        assert_eq!(marked("linux/fork.c", "linux/fork.c", linux), "linux/fork.c");
    }
}
