//! Finding a file by some letters of its path.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use rayon::prelude::*;

use super::tree::{Entry, RepoTree, Tree};

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Finding<'a> {
    /// What was typed: letters in any case, in their order, with gaps. A blank separates what may stand in any order.
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
    /// The bytes of the path that match, in order.
    pub matched: Vec<usize>,
}

impl Tree {
    /// The files whose repository and path are most like what was typed, the best first, and how many
    /// there are in all. Takes its time for large trees: for a thread of its own.
    pub fn find(&self, finding: &Finding<'_>) -> (Vec<Near>, usize) {
        let pattern = Pattern::parse(finding.typed, CaseMatching::Ignore, Normalization::Smart);
        let holds = |name: &str| {
            finding.repo.is_none_or(|part| name.to_lowercase().contains(&part.to_lowercase()))
        };
        let speaks = |entry: &Entry<'_>| {
            finding.languages.is_empty()
                || entry.language.is_some_and(|language| {
                    finding.languages.iter().any(|one| language.eq_ignore_ascii_case(one))
                })
        };
        let repos: Vec<&RepoTree> = self.repos().iter().filter(|repo| holds(&repo.name)).collect();
        // Scores are compared first, then short paths come first, then the order of the tree.
        let parts: Vec<(Vec<_>, usize)> = repos
            .par_iter()
            .enumerate()
            .map_init(
                || (Matcher::new(Config::DEFAULT.match_paths()), Vec::new()),
                |(matcher, buffer), (at, repo)| {
                    let mut best = Vec::new();
                    let mut count = 0;
                    for (row, place) in self.places(repo).iter().enumerate() {
                        let entry = self.entry(*place);
                        if !speaks(&entry) {
                            continue;
                        }
                        let Some(score) = pattern.score(Utf32Str::new(entry.path, buffer), matcher)
                        else {
                            continue;
                        };
                        count += 1;
                        let name = entry.path.rsplit('/').next().unwrap_or(entry.path);
                        // A name that is what was typed goes before all others.
                        let exact = name.eq_ignore_ascii_case(finding.typed);
                        best.push((Reverse((exact, score)), entry.path.len(), at, row));
                        if best.len() >= 2 * finding.limit.max(64) {
                            keep(&mut best, finding.limit);
                        }
                    }
                    keep(&mut best, finding.limit);
                    (best, count)
                },
            )
            .collect();
        let count = parts.iter().map(|(_, count)| count).sum();
        let mut best: Vec<_> = parts.into_iter().flat_map(|(best, _)| best).collect();
        keep(&mut best, finding.limit);
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let near = best
            .into_iter()
            .map(|(_, _, at, row)| {
                let repo = repos[at];
                let entry = self.entry(self.places(repo)[row]);
                Near {
                    repo: repo.name.clone(),
                    path: entry.path.to_owned(),
                    language: entry.language.map(str::to_owned),
                    matched: matched(&pattern, entry.path, &mut matcher),
                }
            })
            .collect();
        (near, count)
    }
}

fn keep<T: Ord>(best: &mut Vec<T>, most: usize) {
    best.sort_unstable();
    best.truncate(most);
}

/// The bytes of a path that a pattern matches.
fn matched(pattern: &Pattern, path: &str, matcher: &mut Matcher) -> Vec<usize> {
    let (mut buffer, mut indices) = (Vec::new(), Vec::new());
    let text = Utf32Str::new(path, &mut buffer);
    let plain = matches!(text, Utf32Str::Ascii(_));
    pattern.indices(text, matcher, &mut indices);
    indices.sort_unstable();
    indices.dedup();
    if plain {
        return indices.into_iter().map(|i| i as usize).collect();
    }
    // They count what a reader sees as characters; for paths beyond ASCII nothing is marked.
    Vec::new()
}
