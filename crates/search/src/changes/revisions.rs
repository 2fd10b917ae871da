//! The repositories and commits that a comparison means.

use std::hash::Hasher;
use std::path::{Path, PathBuf};

use git::{Clone, Oid};
use query::{Comparison, CompiledQuery};
use store::{Repo, Switch};

use super::error::{CompareError, MAX_REPOS};

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Range {
    /// Two revisions.
    Between(Comparison),
    /// A commit, with its first parent.
    Commit(String),
}

/// A repository, and the commits that are compared in it.
pub(super) struct Revisions {
    pub(super) repo: Repo,
    pub(super) clone: Clone,
    /// The older commit; `None` for an empty tree: the first commit has no parent.
    pub(super) old: Option<Oid>,
    pub(super) new: Oid,
    /// The revisions as they were typed: `v1..v2`.
    pub(super) label: String,
}

impl Range {
    /// Returns the revisions as typed: `v1..v2`.
    pub fn label(&self) -> String {
        match self {
            Self::Between(Comparison { old, new, from_merge_base }) => {
                let dots = if *from_merge_base { "..." } else { ".." };
                format!("{}{dots}{}", or_head(old), or_head(new))
            }
            Self::Commit(commit) => commit.clone(),
        }
    }
}

fn or_head(revision: &str) -> &str {
    if revision.is_empty() { "HEAD" } else { revision }
}

impl Revisions {
    /// Finds the commits in a repository. Reads its clone.
    ///
    /// # Errors
    /// It is not a clone, or has no such revisions.
    pub(super) fn of((repo, worktree): InWorktree, range: &Range) -> Result<Self, CompareError> {
        let name = || repo.name.clone();
        let broken = |error| CompareError::Clone { repo: name(), error };
        let wrong = |error| CompareError::Revision { repo: name(), error };
        let folders: Vec<PathBuf> = repo.git_folders.iter().map(PathBuf::from).collect();
        let clone = Clone::open_at(Path::new(&repo.source), &folders, worktree.as_deref());
        let clone = clone.map_err(broken)?;
        let resolved = |revision: &str| {
            if revision.is_empty() {
                let head = clone.head().map_err(wrong)?;
                return head.ok_or_else(|| CompareError::Unborn { repo: name() });
            }
            clone.resolve(revision).map_err(wrong)
        };
        let (old, new) = match range {
            Range::Between(Comparison { old, new, from_merge_base: false }) => {
                (Some(resolved(old)?), resolved(new)?)
            }
            Range::Between(Comparison { old, new, from_merge_base: true }) => {
                let ends = (resolved(old)?, resolved(new)?);
                let base = clone.merge_base(ends.0, ends.1).map_err(broken)?;
                let none = || CompareError::NoMergeBase {
                    repo: name(),
                    old: or_head(old).to_owned(),
                    new: or_head(new).to_owned(),
                };
                (Some(base.ok_or_else(none)?), ends.1)
            }
            Range::Commit(commit) => {
                let new = resolved(commit)?;
                let parents = clone.commits(&[new], &[]).next().transpose().map_err(broken)?;
                (parents.and_then(|commit| commit.parents.first().copied()), new)
            }
        };
        Ok(Self { repo, clone, old, new, label: range.label() })
    }
}

/// A repository, and the worktree whose `HEAD` is meant; `None` for the main checkout.
pub(super) type InWorktree = (Repo, Option<String>);

/// Returns the repositories whose names a query does not rule out.
///
/// # Errors
/// There are too many.
pub(super) fn named(
    repos: Vec<InWorktree>,
    query: &CompiledQuery,
) -> Result<Vec<InWorktree>, CompareError> {
    let mut named = repos;
    named.retain(|(repo, _)| {
        let known = |of| query.of_repo(of, &repo.name, &repo.metadata.properties, &|| true);
        query.expr.eval(&known) != Some(false)
    });
    if named.len() > MAX_REPOS {
        return Err(CompareError::TooMany(named.len()));
    }
    named.sort_by(|(one, _), (other, _)| {
        rank::walked(&one.name, "").cmp(rank::walked(&other.name, ""))
    });
    Ok(named)
}

/// Finds the commits in each of some repositories. Those that lack a revision, or are not clones, are left out unless all
/// are.
///
/// # Errors
/// No repository has the revisions, or a clone is broken.
pub(super) fn in_each(
    repos: Vec<InWorktree>,
    range: &Range,
) -> Result<Vec<Revisions>, CompareError> {
    let (mut found, mut lacking) = (Vec::new(), None);
    for repo in repos {
        match Revisions::of(repo, range) {
            Ok(revisions) => found.push(revisions),
            Err(error) if error.is_of_this_repository() => {
                lacking.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    match lacking {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// Returns a number that identifies the compared commits, for cursors: a branch that moved gives another.
pub(super) fn switch(compared: &[Revisions]) -> Switch {
    let mut hasher = siphasher::sip::SipHasher13::new();
    for Revisions { repo, old, new, .. } in compared {
        let commits = (repo.id.0, old.map(|old| old.to_string()), new.to_string());
        hasher.write(format!("{commits:?}").as_bytes());
    }
    Switch(hasher.finish().cast_signed())
}
