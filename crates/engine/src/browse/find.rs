//! Finding a file by what was typed of its path.

use std::ops::Range;

use super::align::Aligner;
use super::names::{CANDIDATES, Names, Scope};
use super::tree::{RepoTree, Tree};
use super::typed::{TooMuch, Typed};

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Finding<'a> {
    /// What was typed: letters in any case, in their order, with gaps, and with few errors. A blank
    /// separates what may stand in any order.
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
        let among: Vec<Range<u32>> = repos.iter().map(|repo| repo.numbers()).collect();
        let near = self.names().nearest_in(
            &typed,
            &Scope {
                among: &among,
                path: |file| self.nth(file).path,
                wanted,
                limit: finding.limit,
                candidates: CANDIDATES.max(2 * finding.limit),
            },
        );
        let mut aligner = Aligner::default();
        let files = near
            .best
            .into_iter()
            .map(|(file, _)| {
                let entry = self.nth(file);
                let at = repos.partition_point(|repo| repo.numbers().end <= file);
                let mut matched = Vec::new();
                aligner.path(entry.path);
                for part in &typed.parts {
                    if aligner.cost(part, u16::MAX).is_some() {
                        aligner.mark(part, &mut matched);
                    }
                }
                matched.sort_unstable();
                matched.dedup();
                Near {
                    repo: repos[at].name.clone(),
                    path: entry.path.to_owned(),
                    language: entry.language.map(str::to_owned),
                    matched,
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
