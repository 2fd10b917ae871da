//! Which repositories the rows of the queue concern, and how these were ingested.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use store::{PendingRow, Reason, RepoId, RepoRow, Root, Tree};

use super::part;
use crate::find;

/// A folder to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// That of an indexed repository, or one in which there may be repositories.
    pub(super) folder: PathBuf,
    /// Whether it is that of an indexed repository.
    pub(super) is_repo: bool,
    /// The ingested folder in which it lies.
    pub(super) root: Root,
    /// Whether that is remembered. Else nobody has ingested a folder around it since that is noted.
    pub(super) has_root: bool,
    /// Paths in it to which the list is limited; `None` for all, in all trees.
    pub(super) part: Option<Vec<String>>,
    /// If there is a part: the worktrees in which something else has changed, each with the paths in it.
    pub(super) trees: BTreeMap<PathBuf, Vec<String>>,
    /// Whether nothing but the part can have changed.
    pub(super) is_complete: bool,
    /// The rows.
    pub(super) rows: Vec<i64>,
}

impl Target {
    /// Adds another one of the same folder.
    fn add(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.is_complete &= other.is_complete;
        self.part = match (self.part.take(), other.part) {
            (Some(one), Some(other)) => part::of(&[one, other].concat()),
            _ => None,
        };
        for (tree, paths) in other.trees {
            self.trees.entry(tree).or_default().extend(paths);
        }
    }

    /// Returns the folders of which a part is listed, with the paths; `None` if all is listed.
    pub(super) fn parts(&self) -> Option<Vec<(&Path, Vec<String>)>> {
        let own = (&*self.folder, self.part.clone().filter(|_| self.is_repo)?);
        let trees = self.trees.iter().map(|(tree, paths)| Some((&**tree, part::of(paths)?)));
        std::iter::once(Some(own)).chain(trees).collect()
    }
}

/// What the index has.
pub(super) struct Index<'i> {
    pub(super) repos: &'i [RepoRow],
    pub(super) trees: &'i HashMap<RepoId, Vec<Tree>>,
    pub(super) roots: &'i [Root],
    /// Maximum bytes of a file in folders that nobody has ingested.
    pub(super) max_bytes: u64,
}

/// Returns an absolute path without links, as far as it exists.
pub(crate) fn resolved(source: &Path) -> PathBuf {
    let mut rest = Vec::new();
    for folder in source.ancestors() {
        if let Ok(found) = folder.canonicalize() {
            return rest.iter().rev().fold(found, |path: PathBuf, name| path.join(name));
        }
        let Some(name) = folder.file_name() else { break };
        rest.push(name);
    }
    source.to_owned()
}

impl Index<'_> {
    /// Returns the targets of rows, none inside another unless both are indexed repositories.
    pub(super) fn targets(&self, rows: &[PendingRow]) -> Vec<Target> {
        let mut targets: BTreeMap<PathBuf, Target> = BTreeMap::new();
        let of_rows = rows.iter().flat_map(|row| {
            let target = self.target(row);
            self.inside(row, &target).into_iter().chain([target])
        });
        for target in of_rows.collect::<Vec<_>>() {
            match targets.get_mut(&target.folder) {
                None => drop(targets.insert(target.folder.clone(), target)),
                Some(known) => known.add(target),
            }
        }
        // A folder is searched with all that is in it.
        let folders: Vec<PathBuf> =
            targets.values().filter(|of| !of.is_repo).map(|of| of.folder.clone()).collect();
        let mut moved: Vec<(PathBuf, Vec<i64>)> = Vec::new();
        targets.retain(|folder, target| {
            let around = folders.iter().find(|of| folder != *of && folder.starts_with(of));
            if let Some(around) = around {
                moved.push((around.clone(), std::mem::take(&mut target.rows)));
            }
            around.is_none()
        });
        for (mut folder, rows) in moved {
            while let Some(around) =
                folders.iter().find(|of| folder != **of && folder.starts_with(of))
            {
                folder.clone_from(around);
            }
            if let Some(target) = targets.get_mut(&folder) {
                target.rows.extend(rows);
            }
        }
        targets.into_values().collect()
    }

    fn target(&self, row: &PendingRow) -> Target {
        let source = Path::new(&row.change.source);
        let folder = if self.repo(source).is_some() { source.to_owned() } else { resolved(source) };
        let is_complete = row.change.reason == Reason::Watched;
        let of_repo = |repo: &RepoRow, part: Option<Vec<String>>| {
            let folder = PathBuf::from(&repo.source);
            let (root, has_root) = self.root(&folder);
            let (rows, trees) = (vec![row.id], BTreeMap::new());
            let mut target =
                Target { folder, is_repo: true, root, has_root, part, trees, is_complete, rows };
            self.move_to_trees(repo, &mut target);
            target
        };
        let paths = row.change.paths.as_deref();
        let around = self.repos.iter().filter(|repo| folder.starts_with(&repo.source));
        let around = around.filter(|repo| Path::new(&repo.source) != folder);
        let around = around.max_by_key(|repo| repo.source.len());
        if let Some(repo) = self.repo(&folder) {
            // A folder that is no longer a checkout is a part of the clone around it.
            let is_former = || folder.is_dir() && !find::is_repository(&folder);
            if let Some(around) = around.filter(|around| around.commit.is_some() && is_former()) {
                return of_repo(around, None);
            }
            return of_repo(repo, paths.and_then(part::of));
        }
        // A worktree may lie in another repository.
        let of_tree = self.repos.iter().flat_map(|repo| {
            let trees = self.worktrees(repo).filter(|tree| folder.starts_with(tree));
            trees.map(move |tree| (repo, tree))
        });
        let of_tree = of_tree.max_by_key(|(_, tree)| tree.as_os_str().len());
        let is_inner =
            |tree: &Path| around.is_none_or(|repo| repo.source.len() < tree.as_os_str().len());
        let is_checkout = |at: &Path| at.join(".git").symlink_metadata().is_ok();
        if let Some((repo, tree)) = of_tree.filter(|(_, tree)| is_inner(tree)) {
            let below = folder.strip_prefix(tree).ok().and_then(Path::to_str);
            let below = below.filter(|below| below.is_empty() || !is_checkout(&folder));
            let paths = below.and_then(|below| match paths {
                None => (!below.is_empty()).then(|| vec![below.to_owned()]),
                Some(paths) => {
                    let join =
                        |path: &String| Path::new(below).join(path).to_str().map(str::to_owned);
                    paths.iter().map(join).collect()
                }
            });
            let part = paths.and_then(|paths| part::of(&paths));
            let mut target = of_repo(repo, part.as_ref().map(|_| Vec::new()));
            target.trees.extend(part.map(|part| (tree.to_owned(), part)));
            return target;
        }
        if let Some(repo) = around
            && let Ok(below) = folder.strip_prefix(&repo.source)
        {
            let below = below.to_str().filter(|_| !is_checkout(&folder));
            let all = below.and_then(|below| match paths {
                None => part::of(&[below.to_owned()]),
                Some(paths) => {
                    let paths = paths.iter().map(|path| format!("{below}/{path}"));
                    part::of(&paths.collect::<Vec<_>>())
                }
            });
            return of_repo(repo, all);
        }
        let (root, has_root) = self.root(&folder);
        let folder = outermost(&root, folder);
        let (part, trees, rows) = (None, BTreeMap::new(), vec![row.id]);
        Target { folder, is_repo: false, root, has_root, part, trees, is_complete, rows }
    }

    /// Returns the folders of the worktrees of a repository.
    fn worktrees<'s>(&'s self, repo: &RepoRow) -> impl Iterator<Item = &'s Path> + use<'s> {
        let trees = self.trees.get(&repo.id).into_iter().flatten();
        trees.filter_map(|tree| tree.source.as_deref()).map(Path::new)
    }

    /// Moves paths of a target that lie in worktrees of its repository to these.
    fn move_to_trees(&self, repo: &RepoRow, target: &mut Target) {
        let Some(part) = target.part.take() else { return };
        let mut own = Vec::new();
        for path in part {
            let at = target.folder.join(&path);
            let inside = self.worktrees(repo).filter(|tree| at.starts_with(tree));
            let Some(tree) = inside.max_by_key(|tree| tree.as_os_str().len()) else {
                own.push(path);
                continue;
            };
            let below = at.strip_prefix(tree).ok().and_then(Path::to_str);
            let Some(below) = below.filter(|below| !below.is_empty()) else { return };
            target.trees.entry(tree.to_owned()).or_default().push(below.to_owned());
        }
        target.part = Some(own);
    }

    /// Returns the repositories inside a target that have some of its paths.
    fn inside(&self, row: &PendingRow, target: &Target) -> Vec<Target> {
        let Some(paths) = row.change.paths.as_deref().filter(|_| target.is_repo) else {
            return Vec::new();
        };
        let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for path in paths {
            let at = Path::new(&row.change.source).join(path);
            let around = self.repos.iter().filter(|repo| at.starts_with(&repo.source));
            let owner = around.max_by_key(|repo| repo.source.len());
            if let Some(owner) = owner.filter(|owner| Path::new(&owner.source) != target.folder)
                && let Ok(below) = at.strip_prefix(&owner.source)
            {
                let below = below.to_string_lossy().into_owned();
                all.entry(&owner.source).or_default().push(below);
            }
        }
        let target = |(source, paths): (&str, Vec<String>)| {
            let (root, has_root) = self.root(Path::new(source));
            let (folder, part, trees) = (source.into(), part::of(&paths), BTreeMap::new());
            let mut target = Target { folder, root, has_root, part, trees, ..target.clone() };
            if let Some(repo) = self.repo(Path::new(source)) {
                self.move_to_trees(repo, &mut target);
            }
            target
        };
        all.into_iter().map(target).collect()
    }

    /// Returns the repository in a folder.
    pub(super) fn repo(&self, folder: &Path) -> Option<&RepoRow> {
        self.repos.iter().find(|repo| Path::new(&repo.source) == folder)
    }

    /// Returns the innermost ingested folder around a folder, and whether there is one.
    fn root(&self, folder: &Path) -> (Root, bool) {
        let around = self.roots.iter().filter(|root| folder.starts_with(&root.path));
        match around.max_by_key(|root| root.path.len()) {
            Some(root) => (root.clone(), true),
            None => {
                let path = folder.to_string_lossy().into_owned();
                let max_bytes = self.max_bytes;
                (Root { path, depth: None, follows: false, max_bytes }, false)
            }
        }
    }
}

/// Returns the folder to search if something has changed in a folder below a root: that of the outermost repository
/// around it, if there is one.
fn outermost(root: &Root, folder: PathBuf) -> PathBuf {
    let Ok(below) = folder.strip_prefix(&root.path) else { return folder };
    let mut at = PathBuf::from(&root.path);
    for (level, name) in below.iter().enumerate() {
        let is_repo = match root.depth {
            Some(depth) => level == depth,
            None => find::is_repository(&at),
        };
        if is_repo {
            return at;
        }
        at.push(name);
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Change;

    fn repo(id: i32, source: &str) -> RepoRow {
        RepoRow {
            id: RepoId(id),
            name: source.to_owned(),
            source: source.to_owned(),
            web: None,
            commit: None,
            rank: 0,
            git_folders: Vec::new(),
            no_ignore: false,
            skips_secrets: false,
            from_commit: false,
            languages: None,
            is_lost: false,
        }
    }

    #[test]
    fn rows_are_brought_together_by_repository() {
        let repos = [repo(1, "/none/a"), repo(2, "/none/a/nested"), repo(3, "/none/b")];
        let root = Root { path: "/none".to_owned(), depth: None, follows: true, max_bytes: 5 };
        let index = Index {
            repos: &repos,
            trees: &HashMap::new(),
            roots: std::slice::from_ref(&root),
            max_bytes: 7,
        };
        let row = |id: i64, source: &str, paths: &[&str]| PendingRow {
            id,
            change: Change {
                source: source.to_owned(),
                paths: (!paths.is_empty())
                    .then(|| paths.iter().map(|path| (*path).to_owned()).collect()),
                reason: if id < 10 { Reason::Watched } else { Reason::Asked },
            },
            since: 0.0,
            due_in: 0.0,
            failures: 0,
            failure: None,
        };
        let told = |rows: &[PendingRow]| {
            let shown = |target: &Target| {
                let part = target.part.as_ref().map_or("all".to_owned(), |part| part.join(","));
                let (folder, repo) = (target.folder.display(), target.is_repo);
                format!("{folder} {repo} {part} {} {:?}", target.is_complete, target.rows)
            };
            index.targets(rows).iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&[
                row(1, "/none/a", &["x", "y"]),
                row(2, "/none/a", &["y", "z/.gitignore"]),
                row(3, "/none/a/nested", &[]),
                row(14, "/none/b/sub", &["deep"]),
                row(5, "/none/a", &["nested/n"]),
                row(15, "/other/c", &[]),
            ]),
            [
                "/none/a true nested/n,x,y,z true [1, 2, 5]",
                "/none/a/nested true all true [3, 5]",
                "/none/b true sub/deep false [14]",
                "/other/c false all false [15]"
            ]
        );
        // All of a repository, and all of a folder.
        assert_eq!(
            told(&[row(1, "/none/a", &["x"]), row(2, "/none/a", &[])]),
            ["/none/a true all true [1, 2]"]
        );
        assert_eq!(
            told(&[row(1, "/none/a", &["x"]), row(2, "/none", &[]), row(3, "/none/c", &[])]),
            ["/none false all true [2, 1, 3]"]
        );
        assert_eq!(index.root(Path::new("/none/x/y")), (root.clone(), true));
        assert_eq!(index.root(Path::new("/nonex")).0.max_bytes, 7);
    }
}
