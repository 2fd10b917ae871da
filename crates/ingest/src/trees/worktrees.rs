//! Brings the checkouts of each clone together: the main one is the repository, the others are its trees.
//!
//! Anybody may have made a clone, and its data may name any folder of the machine as a worktree. So a checkout or a clone
//! outside the ingested folders is followed only if both sides name each other and the user owns both.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use git::checkout::{GitData, LinkedWorktree, Trust, WorktreePlace};

use crate::find::{self, FoundRepo, FoundTree, Kind};
use crate::names::may_be_unmounted;

/// The folders that an ingest was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// The folders, or the clones that they are parts of.
    pub(crate) roots: &'a [PathBuf],
    /// Whether git data elsewhere are read if the user owns them.
    pub(crate) follows: bool,
}

impl Asked<'_> {
    fn has(self, folder: &Path) -> bool {
        self.roots.iter().any(|root| folder.starts_with(root))
    }
}

/// Returns the repositories, each with its worktrees, of checkouts that were found; and adds sentences about those that
/// are not indexed to `notices`.
pub(crate) fn gather(
    found: Vec<FoundRepo>,
    asked: Asked<'_>,
    notices: &mut Vec<String>,
) -> Vec<FoundRepo> {
    let mut repos = Vec::new();
    let mut clones: BTreeMap<PathBuf, Vec<FoundRepo>> = BTreeMap::new();
    let mut seen = std::collections::HashSet::new();
    for repo in found {
        // Two given folders may overlap.
        if !seen.insert(repo.folder.clone()) {
            continue;
        }
        match &repo.data {
            Some(data) => clones.entry(data.common().to_owned()).or_default().push(repo),
            None => repos.push(repo),
        }
    }
    for checkouts in clones.into_values() {
        repos.extend(of_clone(checkouts, asked, notices));
    }
    // As they were found.
    repos.sort_by(|one, two| one.folder.cmp(&two.folder));
    repos
}

/// Returns the repositories of checkouts of one clone: one, and those that do not belong to it.
fn of_clone(
    mut checkouts: Vec<FoundRepo>,
    asked: Asked<'_>,
    notices: &mut Vec<String>,
) -> Vec<FoundRepo> {
    let is_main = |repo: &FoundRepo| is_main(repo, asked);
    let with_files = checkouts.iter().position(|repo| is_main(repo) && repo.kind != Kind::Bare);
    if with_files.is_some() {
        // A folder whose `.git` leads to a bare clone in it stands for that.
        checkouts.retain(|repo| repo.kind != Kind::Bare);
    }
    let main = match checkouts.iter().position(is_main) {
        Some(at) => Some(checkouts.remove(at)),
        None => checkouts.iter().find_map(|repo| main_of(repo, asked)),
    };
    let Some(mut main) = main else { return checkouts };
    let Some(data) = main.data.clone() else { return checkouts };
    let mut trust = Trust::of_ingest(&main.folder, asked.follows);
    let _ = GitData::of(&main.folder, &mut trust);
    let listed = match data.worktrees(&mut trust) {
        Ok(listed) => listed,
        Err(part) => {
            main.unread.push(part);
            main.keeps_trees = true;
            Vec::new()
        }
    };
    let mut by_folder: HashMap<PathBuf, FoundRepo> =
        checkouts.into_iter().map(|repo| (repo.folder.clone(), repo)).collect();
    for LinkedWorktree { name, place } in listed {
        let of = format!("the worktree {name} of {}", main.folder.display());
        let found = match place {
            WorktreePlace::At(folder) => {
                let found = by_folder.remove(&folder).or_else(|| follow(&main, &folder, asked));
                let Some(found) = found else {
                    notices.push(format!(
                        "not indexed: {of}: its folder {} is outside of the given ones, and you do not own both it and \
                         the clone; to index it, name this folder, too",
                        folder.display()
                    ));
                    continue;
                };
                if find::is_empty(&folder) || find::check_readable(&folder).is_err() {
                    Err(format!(
                        "not updated: {of}: {} is empty or cannot be read; is a disk missing?",
                        folder.display()
                    ))
                } else {
                    Ok(found)
                }
            }
            WorktreePlace::Gone { folder, is_locked } => {
                // No disk is missing where the clone is.
                let is_inside = folder.starts_with(&main.folder);
                let may_return = !is_inside && may_be_unmounted(&folder.to_string_lossy());
                if !is_locked && !may_return {
                    // Git would prune it, too.
                    continue;
                }
                Err(format!(
                    "not updated: {of}: its folder {} does not exist; is a disk missing? To remove it, run: git worktree \
                     remove --force {name}",
                    folder.display()
                ))
            }
            WorktreePlace::Elsewhere(folder) => Err(format!(
                "not updated: {of}: the .git of {} does not lead to it; to repair that, run: git worktree repair {}",
                folder.display(),
                folder.display()
            )),
            WorktreePlace::Broken(reason) => Err(format!(
                "not updated: {of}: its data in {} cannot be read ({reason})",
                data.common().join("worktrees").join(&name).display()
            )),
        };
        main.trees.push(FoundTree { name, found });
    }
    // What the clone does not list, or lists elsewhere, is a repository of its own.
    std::iter::once(main).chain(by_folder.into_values()).collect()
}

/// Returns whether a checkout is the main one of its clone, or the clone itself if it is bare.
fn is_main(repo: &FoundRepo, asked: Asked<'_>) -> bool {
    let Some(data) = &repo.data else { return false };
    let mut trust = Trust::of_ingest(&repo.folder, asked.follows);
    let _ = GitData::of(&repo.folder, &mut trust);
    repo.kind == Kind::Bare
        || data.main_checkout(&mut trust).as_ref() == Some(&repo.folder)
        || (data.worktree().is_none() && data.common().starts_with(&repo.folder))
}

/// Returns the main checkout of the clone that a worktree belongs to, if it may be followed.
fn main_of(worktree: &FoundRepo, asked: Asked<'_>) -> Option<FoundRepo> {
    let data = worktree.data.as_ref()?;
    let mut trust = Trust::of_ingest(&worktree.folder, asked.follows);
    GitData::of(&worktree.folder, &mut trust).ok()??;
    let bare = || GitData::bare(data.common()).map(|_| data.common().to_owned());
    let folder = data.main_checkout(&mut trust).or_else(bare)?;
    folder.to_str()?;
    let is_ours =
        || data.points_back() && data.is_owned(&worktree.folder) && data.is_owned(&folder);
    (asked.has(&folder) || is_ours())
        .then(|| read(folder, asked))
        .filter(|repo| repo.data.is_some())
}

/// Reads about a worktree that was not found, if it may be followed. Its `.git` leads to the clone, which lists it.
fn follow(main: &FoundRepo, folder: &Path, asked: Asked<'_>) -> Option<FoundRepo> {
    folder.to_str()?;
    let data = main.data.as_ref()?;
    let repo = read(folder.to_owned(), asked);
    let is_ours =
        repo.data.as_ref().is_some_and(|tree| tree.is_owned(folder)) && data.is_owned(&main.folder);
    (repo.data.is_some() && (asked.has(folder) || is_ours)).then_some(repo)
}

fn read(folder: PathBuf, asked: Asked<'_>) -> FoundRepo {
    let root = asked.roots.iter().find(|root| folder.starts_with(root)).unwrap_or(&folder).clone();
    let trust = Trust::of_ingest(&root, asked.follows);
    find::named(&root, folder, trust, &mut Vec::new())
}
