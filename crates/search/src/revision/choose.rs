//! The repositories in which a revision is searched on demand, and its commit in each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use git::{Clone as GitClone, Oid, RevisionError};
use query::{CompiledQuery, Expr, Predicate, TreeField, TreeName, TreeTerm};
use store::{CatalogRepo, CatalogRepos, ClonePlace, RepoId};

use crate::missing::Missing;
use crate::types::Error;

/// Maximum number of repositories in which a revision is searched on demand.
pub(crate) const MOST_REPOS: usize = 20;

/// Maximum number of revisions of a query that are searched on demand.
pub(crate) const MOST_REVISIONS: usize = 8;

/// Maximum number of repositories that a sentence names.
const NAMED: usize = 3;

/// The revisions to search on demand.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The revisions of the query.
    pub(crate) revisions: Vec<Revision>,
    /// The repositories in which not every revision means an indexed tree, by name.
    pub(crate) repos: Vec<(RepoId, String)>,
    /// The worktrees whose `HEAD` is meant, of the repositories in which it is not that of the main checkout.
    worktrees: HashMap<RepoId, String>,
    /// The repositories in which every revision means one, ascending.
    pub(crate) indexed: Vec<RepoId>,
}

/// A revision of a query.
#[derive(Debug)]
pub(crate) struct Revision {
    /// Its name, as typed.
    pub(crate) name: String,
    /// The query's terms with this name, as indices of [`CompiledQuery::trees`].
    pub(crate) terms: Vec<usize>,
}

/// A commit to search.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) place: ClonePlace,
    pub(crate) clone: GitClone,
    pub(crate) commit: Oid,
    /// The revision that named it, as an index of [`Asked::revisions`].
    pub(crate) revision: usize,
}

/// What a search tells about revisions that it did not find everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// Sentences without a full stop.
    pub(crate) notes: Vec<String>,
    /// The sentence about the first commit that was not searched, or not as a whole.
    pub(crate) cut: Option<String>,
    /// The shards whose files of indexed trees are not known, since their nodes do not answer.
    pub(crate) missing: Missing,
}

impl Notes {
    /// Adds a sentence about results that are missing.
    pub(crate) fn cut(&mut self, why: String) {
        self.cut.get_or_insert(why);
    }
}

/// Returns whether a name of a revision is a glob, which means indexed trees only: no name in git has these characters.
pub(crate) fn is_glob(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Returns the terms of a condition if it is a revision, or several of which one must have the file.
fn revisions(expr: &Expr, query: &CompiledQuery) -> Vec<usize> {
    match expr {
        Expr::Predicate(Predicate::InTree(term)) => {
            let TreeTerm { field, name, .. } = &query.trees[*term];
            let is_one = *field == TreeField::Revision && !is_glob(name);
            is_one.then_some(*term).into_iter().collect()
        }
        Expr::Any(parts) => {
            let each: Vec<Vec<usize>> = parts.iter().map(|part| revisions(part, query)).collect();
            if each.iter().any(Vec::is_empty) { Vec::new() } else { each.concat() }
        }
        _ => Vec::new(),
    }
}

/// Returns the terms with revisions that a query requires at its top level, as indices of [`CompiledQuery::trees`].
pub(crate) fn required(query: &CompiledQuery) -> Vec<usize> {
    match &query.expr {
        Expr::All(parts) => parts.iter().flat_map(|part| revisions(part, query)).collect(),
        other => revisions(other, query),
    }
}

/// Returns whether a query does not rule out a repository by its name.
pub(crate) fn may_be(query: &CompiledQuery, repo: &CatalogRepo, go_on: &dyn Fn() -> bool) -> bool {
    let known = |of| query.of_repo(of, &repo.name, &repo.properties, go_on);
    query.expr.eval(&known) != Some(false)
}

/// Returns the revisions that a query requires at its top level, if some of them are searched on demand.
///
/// # Errors
/// There are too many revisions.
pub(crate) fn asked(
    query: &CompiledQuery,
    repos: &CatalogRepos,
    worktree: &dyn Fn(&str) -> Option<String>,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Asked>, Error> {
    let terms = required(query);
    if terms.is_empty() || query.changes.is_some() {
        return Ok(None);
    }
    let mut named: Vec<Revision> = Vec::new();
    for term in terms {
        let name = &query.trees[term].name;
        match named.iter_mut().find(|known| known.name == *name) {
            Some(known) => known.terms.push(term),
            None => named.push(Revision { name: name.clone(), terms: vec![term] }),
        }
    }
    let is_indexed = |revision: &Revision, repo: &CatalogRepo| {
        // The commit of a worktree is not that of a main tree.
        if revision.name == "HEAD" && worktree(&repo.name).is_some() {
            return false;
        }
        let means = |tree: TreeName<'_>| query.trees[revision.terms[0]].means(tree);
        means(repo.main_tree()) || repo.trees.trees.iter().map(store::Tree::name).any(means)
    };
    let (mut unindexed, mut indexed) = (Vec::new(), Vec::new());
    let mut worktrees = HashMap::new();
    for (id, repo) in repos.iter().filter(|(_, repo)| may_be(query, repo, go_on)) {
        if named.iter().all(|revision| is_indexed(revision, repo)) {
            indexed.push(*id);
        } else {
            worktrees.extend(worktree(&repo.name).map(|tree| (*id, tree)));
            unindexed.push((*id, repo.name.clone()));
        }
    }
    if unindexed.is_empty() {
        return Ok(None);
    }
    if named.len() > MOST_REVISIONS {
        return Err(Error::Revision(format!(
            "the query names {} revisions; name at most {MOST_REVISIONS}, as they are not indexed",
            named.len()
        )));
    }
    unindexed.sort_by(|(_, a), (_, b)| a.cmp(b));
    indexed.sort_unstable();
    Ok(Some(Asked { revisions: named, repos: unindexed, worktrees, indexed }))
}

impl Asked {
    /// Returns the sentence about too many repositories, if there are too many.
    pub(crate) fn are_too_many(&self) -> Option<String> {
        let (name, count) = (&self.revisions[0].name, self.repos.len());
        (count > MOST_REPOS).then(|| {
            format!(
                "the revision {name} is not indexed in {count} repositories, and a search reads at most {MOST_REPOS} \
                 clones; name fewer repositories by repo:"
            )
        })
    }

    /// Resolves the revisions in the clones of some repositories, one after the other. Returns the commits found, in the
    /// order of the repositories' names. It reads from disk, so it should run on a thread of its own.
    ///
    /// # Errors
    /// No repository has one of the revisions.
    pub(crate) fn resolve(
        &self,
        places: Vec<ClonePlace>,
        notes: &mut Notes,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Chosen>, Error> {
        let mut places: HashMap<RepoId, ClonePlace> =
            places.into_iter().map(|place| (place.repo, place)).collect();
        let mut found = Vec::new();
        let mut unknown: Vec<Vec<(&str, String)>> =
            self.revisions.iter().map(|_| Vec::new()).collect();
        let mut failed = Vec::new();
        for (id, name) in &self.repos {
            // A repository that was removed since has no place.
            let Some(place) = places.remove(id).filter(|_| go_on()) else { continue };
            let clone = match open(&place, self.worktrees.get(id).map(String::as_str)) {
                Ok(clone) => Some(clone),
                Err(error @ git::Error::NoClone) => {
                    for of in &mut unknown {
                        of.push((name, error.to_string()));
                    }
                    None
                }
                Err(error) => {
                    failed.push(format!("{name}: {error}"));
                    None
                }
            };
            let Some(clone) = clone else { continue };
            for (revision, Revision { name: asked, .. }) in self.revisions.iter().enumerate() {
                match clone.resolve(asked) {
                    Ok(commit) => {
                        let (place, clone) = (place.clone(), clone.clone());
                        found.push(Chosen { place, clone, commit, revision });
                    }
                    Err(error) if is_unknown(&error) => {
                        unknown[revision].push((name, error.to_string()));
                    }
                    Err(error) => failed.push(format!("{name}: {error}")),
                }
            }
        }
        if found.is_empty() && self.indexed.is_empty() {
            let all = unknown.iter().flatten().collect::<Vec<_>>();
            let why = match (failed.first(), &*all) {
                (Some(first), _) => first.clone(),
                (None, []) => return Ok(found),
                (None, [(repo, why)]) => format!("{repo}: {why}"),
                (None, _) if self.repos.len() == 1 => {
                    format!("{}: {}", all[0].0, all[0].1)
                }
                (None, _) => format!(
                    "none of the {} repositories has the revision {}; name a branch, a tag or a commit",
                    self.repos.len(),
                    self.revisions[0].name
                ),
            };
            return Err(Error::Revision(why));
        }
        for (revision, repos) in self.revisions.iter().zip(unknown) {
            if !repos.is_empty() {
                let mut names: Vec<&str> =
                    repos.iter().take(NAMED).map(|(repo, _)| *repo).collect();
                let more = format!("{} more", repos.len() - names.len());
                if repos.len() > names.len() {
                    names.push(&more);
                }
                let name = &revision.name;
                notes.notes.push(format!("the revision {name} is unknown in {}", names.join(", ")));
            }
        }
        if let Some(first) = failed.first() {
            notes.cut(first.clone());
        }
        Ok(found)
    }
}

/// Opens the clone of a repository. Its `HEAD` is that of a worktree, if one is named.
///
/// # Errors
/// There is none, or it cannot be read.
pub(crate) fn open(place: &ClonePlace, worktree: Option<&str>) -> Result<GitClone, git::Error> {
    let folders: Vec<PathBuf> = place.git_folders.iter().map(PathBuf::from).collect();
    GitClone::open_at(Path::new(&place.source), &folders, worktree)
}

/// Returns whether a revision is certainly not in a clone.
fn is_unknown(error: &RevisionError) -> bool {
    matches!(error, RevisionError::Unknown { .. } | RevisionError::NoAncestor { .. })
}
