//! The place of a client's current folder among the indexed repositories, which are known by the folders that they and
//! their other worktrees were ingested from.
//!
//! The client may be on another machine than this process. Then its folder is in no repository, unless both machines keep
//! them in the same place.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use query::{Case, Field, Pattern, QueryError, Tree, escape};
use search::View;
use store::{Catalog, InTree, MAIN_TREE};

/// Most bytes of a pattern that joins names. The limit of patterns is higher.
const MOST_BYTES: usize = 7 * 1024;

/// Trees named in a sentence.
const MOST_NOTED: usize = 3;

/// The current folder, and the folders of the repositories and their worktrees.
#[derive(Clone, Debug, Default)]
pub struct Here {
    folder: Option<PathBuf>,
    folders: Vec<TreeFolder>,
    inside: Option<InRepo>,
    /// The trees that are searched instead of main ones.
    chosen: Vec<InTree>,
    /// The repositories with several trees.
    several: Vec<String>,
}

/// The folder of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TreeFolder {
    /// The name of its repository.
    repo: String,
    /// The tree; `None` for the main one.
    tree: Option<InTree>,
    folder: PathBuf,
}

/// A file or folder in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InRepo {
    /// The name of the repository.
    pub repo: String,
    /// The tree in whose folder it lies; `None` for the main one.
    pub tree: Option<InTree>,
    /// The path in it; empty for its root.
    pub path: String,
}

/// The files at and below a path.
#[derive(Clone, Debug)]
pub struct Below {
    /// The condition that they meet.
    pub condition: Tree,
    /// The trees to which they belong, of each repository; none for the main one.
    pub trees: BTreeMap<String, Vec<InTree>>,
}

impl Here {
    /// Returns the place of a folder among the repositories of a view.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn of(view: &View, folder: Option<&Path>) -> Result<Self, store::Error> {
        let catalog = view.catalog().await?;
        let several = catalog.repos.values().filter(|repo| !repo.trees.trees.is_empty());
        let several = several.map(|repo| repo.name.clone()).collect();
        Ok(Self { several, ..Self::new(folders(&catalog), folder) })
    }

    fn new(folders: Vec<TreeFolder>, folder: Option<&Path>) -> Self {
        let folder = folder.map(resolved);
        let mut here = Self { folder, folders, ..Self::default() };
        here.inside = here.folder.as_deref().and_then(|folder| here.in_repo(folder));
        here.chosen = here.inside.iter().filter_map(|inside| inside.tree.clone()).collect();
        here
    }

    /// Returns the current folder's place in its repository; `None` if it is in none.
    pub fn inside(&self) -> Option<&InRepo> {
        self.inside.as_ref()
    }

    /// Returns the view in which the tree of the current folder, or those chosen since, take the place of main ones.
    pub fn in_view(&self, view: &View) -> View {
        if self.chosen.is_empty() { view.clone() } else { view.clone().in_trees(&self.chosen) }
    }

    /// Returns the place in which some trees of repositories are chosen instead of that of the current folder; none means
    /// the main one.
    #[must_use]
    pub fn choosing(self, trees: &BTreeMap<String, Vec<InTree>>) -> Self {
        let others = self.chosen.into_iter().filter(|tree| !trees.contains_key(&tree.repo));
        let chosen = others.chain(trees.values().flatten().cloned()).collect();
        Self { chosen, ..self }
    }

    /// Returns the place in which the tree of a file or folder is chosen.
    #[must_use]
    pub fn choosing_that_of(self, place: &InRepo) -> Self {
        let trees = place.tree.iter().cloned().collect();
        self.choosing(&BTreeMap::from([(place.repo.clone(), trees)]))
    }

    /// Returns the name of the chosen tree of a repository with several trees.
    pub fn tree_of(&self, repo: &str) -> Option<&str> {
        if !self.several.iter().any(|name| name == repo) {
            return None;
        }
        let chosen = self.chosen.iter().find(|tree| tree.repo == repo);
        Some(chosen.map_or(MAIN_TREE, |tree| tree.tree.as_str()))
    }

    /// Returns a sentence without a full stop about the trees that are searched instead of main ones; `None` if there are
    /// none.
    pub fn trees_note(&self) -> Option<String> {
        let names: Vec<String> = self
            .chosen
            .iter()
            .take(MOST_NOTED)
            .map(|tree| format!("{} {} of {}", tree.kind.word(), tree.tree, tree.repo))
            .collect();
        let more = self.chosen.len().saturating_sub(MOST_NOTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| format!("in {}{more}", names.join(", ")))
    }

    /// Returns the place of a file or folder, given by its path from the current folder: the innermost tree around it.
    /// `None` if it is in none.
    pub fn locate(&self, path: &str) -> Option<InRepo> {
        self.in_repo(&self.absolute(path)?)
    }

    /// Returns the files at and below a path from the current folder. Repositories below it belong to it, as they do for a
    /// walk through folders: with their main trees or, if these are elsewhere, with the worktrees below it. `None` if it
    /// has nothing to do with any repository.
    ///
    /// # Errors
    /// The path is too long for a pattern.
    pub fn below(&self, path: &str) -> Result<Option<Below>, QueryError> {
        let Some(folder) = self.absolute(path) else { return Ok(None) };
        let around = self.in_repo(&folder).filter(|at| !at.path.is_empty());
        let mut trees: BTreeMap<String, Vec<InTree>> = BTreeMap::new();
        let inner = self.folders.iter().filter(|of| of.folder.starts_with(&folder));
        let inner = inner.filter(|of| around.as_ref().is_none_or(|around| around.repo != of.repo));
        // A worktree is searched if the main tree is not there.
        let mut inner: Vec<&TreeFolder> = inner.collect();
        inner.sort_by_key(|of| (of.tree.is_some(), of.folder != folder));
        let whole = inner.iter().find(|of| of.folder == folder);
        for of in &inner {
            let is_known = trees.get(&of.repo).is_some_and(Vec::is_empty)
                || whole.is_some_and(|whole| whole.repo == of.repo && whole.tree != of.tree);
            if !is_known {
                trees.entry(of.repo.clone()).or_default().extend(of.tree.clone());
            }
        }
        let mut any = of_repos(trees.keys().map(String::as_str))?;
        if let Some(InRepo { repo, path, tree }) = around {
            let below =
                Pattern::parse(&format!("^{}(?:/|$)", escape(&path)), Case::Sensitive, false)?;
            let of_repo = of_repos(std::iter::once(repo.as_str()))?;
            any.push(Tree::all([of_repo, vec![Tree::term(Field::Path, below)]].concat()));
            trees.insert(repo, tree.into_iter().collect());
        }
        if any.is_empty() {
            return Ok(None);
        }
        Ok(Some(Below { condition: Tree::any(any), trees }))
    }

    /// Returns the condition for the repository of the current folder, or else for those below it; `None` if there is none.
    ///
    /// # Errors
    /// The name is too long for a pattern.
    pub fn around(&self) -> Result<Option<Below>, QueryError> {
        match &self.inside {
            Some(InRepo { repo, tree, .. }) => {
                let trees = tree.iter().cloned().collect();
                let trees = BTreeMap::from([(repo.clone(), trees)]);
                Ok(Some(Below { condition: self.of_repo(repo)?, trees }))
            }
            None => self.below("."),
        }
    }

    /// Returns the condition for a repository.
    ///
    /// # Errors
    /// The name is too long for a pattern.
    pub fn of_repo(&self, repo: &str) -> Result<Tree, QueryError> {
        Ok(Tree::any(of_repos(std::iter::once(repo))?))
    }

    /// Returns the path of a file from the current folder, if it is in the same tree. `trees` names the trees that have
    /// it; if there are none, it is in the chosen one.
    pub fn relative(&self, repo: &str, trees: &[String], path: &str) -> Option<String> {
        let inside = self.inside.as_ref().filter(|inside| inside.repo == repo)?;
        if self.folder_of(repo, trees)?.tree != inside.tree {
            return None;
        }
        let mut from = inside.path.split('/').filter(|part| !part.is_empty()).peekable();
        let mut to = path.split('/').peekable();
        // The name of the file itself is always printed.
        let mut left = path.split('/').count();
        while left > 1 && from.peek().is_some() && from.peek() == to.peek() {
            from.next();
            to.next();
            left -= 1;
        }
        let up = from.map(|_| "..");
        Some(up.chain(to).collect::<Vec<_>>().join("/"))
    }

    /// Returns the path of a file from the current folder, if it is below it.
    pub fn below_folder(&self, repo: &str, trees: &[String], path: &str) -> Option<String> {
        let file = self.file(repo, trees, path)?;
        file.strip_prefix(self.folder.as_deref()?).ok()?.to_str().map(str::to_owned)
    }

    /// Returns the path of a file in the folder that its tree was ingested from; `None` if it is in no folder.
    pub fn file(&self, repo: &str, trees: &[String], path: &str) -> Option<PathBuf> {
        Some(self.folder_of(repo, trees)?.folder.join(path))
    }

    /// Returns whether a path of the chosen tree of a repository is a file on this machine.
    pub fn is_file(&self, repo: &str, path: &str) -> bool {
        self.file(repo, &[], path).is_some_and(|file| file.is_file())
    }

    /// Returns the folder of one of some trees: the chosen one, if it is among them.
    fn folder_of(&self, repo: &str, trees: &[String]) -> Option<&TreeFolder> {
        let mut folders = self.folders.iter().filter(|of| of.repo == repo);
        let chosen = self.chosen.iter().find(|tree| tree.repo == repo);
        let name =
            |of: &TreeFolder| of.tree.as_ref().map_or(MAIN_TREE, |tree| &tree.tree).to_owned();
        // Changes of revisions are told of the tree at hand.
        if trees.is_empty() || trees.iter().any(|name| name.contains("..")) {
            return folders.find(|of| of.tree.as_ref() == chosen);
        }
        let mut has = folders.filter(|of| trees.contains(&name(of)));
        let first = has.next()?;
        let is_chosen = |of: &&TreeFolder| of.tree.is_some() && of.tree.as_ref() == chosen;
        Some([first].into_iter().chain(has).find(is_chosen).unwrap_or(first))
    }

    /// Returns an absolute path, without links if it exists on this machine.
    fn absolute(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let path =
            if path.is_absolute() { path.to_owned() } else { self.folder.as_ref()?.join(path) };
        Some(resolved(&path))
    }

    fn in_repo(&self, path: &Path) -> Option<InRepo> {
        let around = self.folders.iter().filter_map(|TreeFolder { repo, tree, folder }| {
            let below = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
            let (repo, tree) = (repo.clone(), tree.clone());
            Some((folder.as_os_str().len(), InRepo { repo, tree, path: below }))
        });
        around.max_by_key(|(length, _)| *length).map(|(_, inside)| inside)
    }
}

/// Returns the folders of all trees that have one, main trees before others.
fn folders(catalog: &Catalog) -> Vec<TreeFolder> {
    let mut folders = Vec::with_capacity(catalog.repos.len());
    for repo in catalog.repos.values() {
        let folder = PathBuf::from(&repo.source);
        // A bare clone has no files.
        if repo.commit.is_none() || folder.join(".git").exists() {
            folders.push(TreeFolder { repo: repo.name.clone(), tree: None, folder });
        }
        for tree in &repo.trees.trees {
            let Some(source) = &tree.source else { continue };
            let (repo, folder) = (repo.name.clone(), PathBuf::from(source));
            let in_tree = InTree { repo: repo.clone(), kind: tree.kind, tree: tree.name.clone() };
            folders.push(TreeFolder { repo, tree: Some(in_tree), folder });
        }
    }
    folders.sort_by_key(|of| of.tree.is_some());
    folders
}

/// Returns conditions of which each file of these repositories meets one.
fn of_repos<'n>(names: impl Iterator<Item = &'n str>) -> Result<Vec<Tree>, QueryError> {
    let (mut terms, mut some, mut bytes) = (Vec::new(), Vec::new(), 0);
    let term = |some: &mut Vec<String>| {
        let pattern = format!("^(?:{})$", std::mem::take(some).join("|"));
        Ok(Tree::term(Field::Repo, Pattern::parse(&pattern, Case::Sensitive, false)?))
    };
    for name in names.map(escape) {
        if bytes + name.len() > MOST_BYTES && !some.is_empty() {
            terms.push(term(&mut some)?);
            bytes = 0;
        }
        bytes += name.len() + 1;
        some.push(name);
    }
    if !some.is_empty() {
        terms.push(term(&mut some)?);
    }
    Ok(terms)
}

/// Returns a path without links, or at least without `.` and `..`.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(folder: &str) -> Here {
        let worktree = |name: &str| {
            let (repo, tree) = ("outer".to_owned(), name.to_owned());
            Some(InTree { repo, kind: store::TreeKind::Worktree, tree })
        };
        let folders = [
            ("outer", None, "/r/a"),
            ("sub", None, "/r/a/lib/sub"),
            ("other", None, "/r/b"),
            ("outer", worktree("fix"), "/wt/fix"),
            ("outer", worktree("new"), "/wt/new"),
            ("outer", worktree("nested"), "/r/a/nested"),
        ];
        let folders = folders.map(|(repo, tree, folder)| TreeFolder {
            repo: repo.to_owned(),
            tree,
            folder: PathBuf::from(folder),
        });
        Here::new(folders.to_vec(), Some(Path::new(folder)))
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_innermost_repository_wins() {
        let at = |folder: &str| here(folder).inside().map(|at| (at.repo.clone(), at.path.clone()));
        let some = |repo: &str, path: &str| Some((repo.to_owned(), path.to_owned()));
        assert_eq!(at("/r/a"), some("outer", ""));
        assert_eq!(at("/r/a/lib"), some("outer", "lib"));
        assert_eq!(at("/r/a/lib/sub/x"), some("sub", "x"));
        assert_eq!(at("/r/ab"), None);
        assert_eq!(at("/r"), None);
        assert_eq!(here("/r/a/lib").locate("sub/../../x.rs").unwrap().path, "x.rs");
        assert_eq!(here("/r").locate("b/x").unwrap().repo, "other");
        assert_eq!(here("/r").locate("c/x"), None);
    }

    #[test]
    fn paths_are_relative_to_the_folder() {
        let relative = |folder: &str, path: &str| here(folder).relative("outer", &[], path);
        assert_eq!(relative("/r/a", "src/x.rs").as_deref(), Some("src/x.rs"));
        assert_eq!(relative("/r/a/src", "src/x.rs").as_deref(), Some("x.rs"));
        assert_eq!(relative("/r/a/src/deep", "src/x.rs").as_deref(), Some("../x.rs"));
        assert_eq!(relative("/r/a/src", "srcs/x.rs").as_deref(), Some("../srcs/x.rs"));
        assert_eq!(relative("/r/a/src", "src").as_deref(), Some("../src"));
        assert_eq!(relative("/r/b", "src/x.rs"), None);
        assert_eq!(here("/r").relative("outer", &[], "x"), None);
    }

    #[test]
    fn a_folder_has_the_repositories_below_it() {
        let below = |folder: &str, path: &str| {
            let tree = here(folder).below(path).unwrap();
            tree.map(|below| query::Query::from_tree(below.condition).terms().len())
        };
        // The repositories below; the folder of a repository and its path.
        assert_eq!(below("/r", "."), Some(1));
        assert_eq!(below("/r", "b/src"), Some(2));
        assert_eq!(below("/r/a", "lib"), Some(3));
        assert_eq!(below("/", "x"), None);
        assert!(here("/r/a/src").around().unwrap().is_some());
        assert!(here("/elsewhere").around().unwrap().is_none());
    }

    #[test]
    fn a_worktree_takes_the_place_of_the_main_tree() {
        let fix = here("/wt/fix/src");
        assert_eq!(fix.inside().unwrap().tree.as_ref().unwrap().tree, "fix");
        assert_eq!(fix.chosen.len(), 1);
        assert_eq!(here("/r/a/nested/x").chosen[0].tree, "nested");
        assert_eq!(here("/r/a/src").chosen, []);
        let relative = |trees: &[&str]| fix.relative("outer", &names(trees), "src/x.rs");
        assert_eq!(relative(&[]).as_deref(), Some("x.rs"));
        assert_eq!(relative(&["main", "fix"]).as_deref(), Some("x.rs"));
        assert_eq!(relative(&["main", "new"]), None);
        assert_eq!(relative(&["a..b"]).as_deref(), Some("x.rs"));
        let file = |trees: &[&str]| {
            let file = fix.file("outer", &names(trees), "x");
            file.map(|file| file.to_str().unwrap().to_owned())
        };
        assert_eq!(file(&[]).as_deref(), Some("/wt/fix/x"));
        assert_eq!(file(&["main", "new"]).as_deref(), Some("/r/a/x"));
        assert_eq!(file(&["new", "nested"]).as_deref(), Some("/wt/new/x"));
        assert_eq!(file(&["v1.2.0"]), None);
        assert_eq!(fix.file("other", &[], "x").unwrap(), Path::new("/r/b/x"));
    }

    #[test]
    fn paths_choose_trees() {
        let trees = |folder: &str, path: &str| -> Vec<(String, Vec<String>)> {
            let below = here(folder).below(path).unwrap().unwrap();
            let names = |trees: Vec<InTree>| trees.into_iter().map(|tree| tree.tree).collect();
            below.trees.into_iter().map(|(repo, trees)| (repo, names(trees))).collect()
        };
        let of = |repo: &str, trees: &[&str]| (repo.to_owned(), names(trees));
        assert_eq!(trees("/r", "."), [of("other", &[]), of("outer", &[]), of("sub", &[])]);
        assert_eq!(trees("/wt", "."), [of("outer", &["fix", "new"])]);
        assert_eq!(trees("/wt/fix", "."), [of("outer", &["fix"])]);
        assert_eq!(trees("/wt/fix", "../new/src"), [of("outer", &["new"])]);
        assert_eq!(trees("/wt/fix", "/r/a/lib"), [of("outer", &[]), of("sub", &[])]);
        assert_eq!(trees("/r/a", "nested"), [of("outer", &["nested"])]);
        assert_eq!(trees("/", "."), [of("other", &[]), of("outer", &[]), of("sub", &[])]);
        let other = here("/wt/fix").locate("../new/x").unwrap();
        assert_eq!(here("/wt/fix").choosing_that_of(&other).chosen[0].tree, "new");
        assert_eq!(here("/wt/fix").choosing(&BTreeMap::new()).chosen[0].tree, "fix");
        let main = here("/wt/fix").locate("/r/a/x").unwrap();
        assert_eq!(here("/wt/fix").choosing_that_of(&main).chosen, []);
    }
}
