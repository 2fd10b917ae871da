//! The place of a client's current folder among the indexed repositories, which are known by the folders that they were
//! ingested from.
//!
//! The client may be on another machine than this process. Then its folder is in no repository, unless both machines keep
//! them in the same place.

use std::path::{Component, Path, PathBuf};

use query::{Case, Field, Pattern, QueryError, Tree, escape};
use search::View;

/// Most bytes of a pattern that joins names. The limit of patterns is higher.
const MOST_BYTES: usize = 7 * 1024;

/// The current folder, and the folders of the repositories.
#[derive(Clone, Debug, Default)]
pub struct Here {
    folder: Option<PathBuf>,
    /// The names of the repositories, and their folders.
    repos: Vec<(String, PathBuf)>,
    inside: Option<InRepo>,
}

/// A file or folder in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InRepo {
    /// The name of the repository.
    pub repo: String,
    /// The path in it; empty for its root.
    pub path: String,
}

impl Here {
    /// Returns the place of a folder among the repositories of a view.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn of(view: &View, folder: Option<&Path>) -> Result<Self, store::Error> {
        let repos = view.repos().await?.into_iter();
        let repos = repos.map(|repo| (repo.name, PathBuf::from(repo.source))).collect();
        Ok(Self::new(repos, folder))
    }

    fn new(repos: Vec<(String, PathBuf)>, folder: Option<&Path>) -> Self {
        let folder = folder.map(resolved);
        let mut here = Self { folder, repos, inside: None };
        here.inside = here.folder.as_deref().and_then(|folder| here.in_repo(folder));
        here
    }

    /// Returns the current folder's place in its repository; `None` if it is in none.
    pub fn inside(&self) -> Option<&InRepo> {
        self.inside.as_ref()
    }

    /// Returns the place of a file or folder, given by its path from the current folder: the innermost repository around
    /// it. `None` if it is in none.
    pub fn locate(&self, path: &str) -> Option<InRepo> {
        self.in_repo(&self.absolute(path)?)
    }

    /// Returns the condition for the files at and below a path from the current folder. Repositories below it belong to it,
    /// as they do for a walk through folders. `None` if it has nothing to do with any repository.
    ///
    /// # Errors
    /// The path is too long for a pattern.
    pub fn below(&self, path: &str) -> Result<Option<Tree>, QueryError> {
        let Some(folder) = self.absolute(path) else { return Ok(None) };
        let is_below = |(_, source): &&(String, PathBuf)| source.starts_with(&folder);
        let inner = self.repos.iter().filter(is_below).map(|(name, _)| name.as_str());
        let mut any = of_repos(inner)?;
        if let Some(InRepo { repo, path }) = self.in_repo(&folder).filter(|at| !at.path.is_empty())
        {
            let below =
                Pattern::parse(&format!("^{}(?:/|$)", escape(&path)), Case::Sensitive, false)?;
            let of_repo = of_repos(std::iter::once(repo.as_str()))?;
            any.push(Tree::all([of_repo, vec![Tree::term(Field::Path, below)]].concat()));
        }
        Ok(if any.is_empty() { None } else { Some(Tree::any(any)) })
    }

    /// Returns the condition for the repository of the current folder, or else for those below it; `None` if there is none.
    ///
    /// # Errors
    /// The name is too long for a pattern.
    pub fn around(&self) -> Result<Option<Tree>, QueryError> {
        match &self.inside {
            Some(inside) => self.of_repo(&inside.repo).map(Some),
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

    /// Returns the path of a file from the current folder, if it is in the same repository.
    pub fn relative(&self, repo: &str, path: &str) -> Option<String> {
        let inside = self.inside.as_ref().filter(|inside| inside.repo == repo)?;
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
    pub fn below_folder(&self, repo: &str, path: &str) -> Option<String> {
        let file = self.file(repo, path)?;
        file.strip_prefix(self.folder.as_deref()?).ok()?.to_str().map(str::to_owned)
    }

    /// Returns the path of a file in the folder that its repository was ingested from.
    pub fn file(&self, repo: &str, path: &str) -> Option<PathBuf> {
        let (_, source) = self.repos.iter().find(|(name, _)| name == repo)?;
        Some(source.join(path))
    }

    /// Returns whether a path of a repository is a file on this machine.
    pub fn is_file(&self, repo: &str, path: &str) -> bool {
        self.file(repo, path).is_some_and(|file| file.is_file())
    }

    /// Returns an absolute path, without links if it exists on this machine.
    fn absolute(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let path =
            if path.is_absolute() { path.to_owned() } else { self.folder.as_ref()?.join(path) };
        Some(resolved(&path))
    }

    fn in_repo(&self, path: &Path) -> Option<InRepo> {
        let around = self.repos.iter().filter_map(|(name, source)| {
            let below = path.strip_prefix(source).ok()?.to_str()?.to_owned();
            Some((source.as_os_str().len(), InRepo { repo: name.clone(), path: below }))
        });
        around.max_by_key(|(length, _)| *length).map(|(_, inside)| inside)
    }
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
        let repos = [("outer", "/r/a"), ("sub", "/r/a/lib/sub"), ("other", "/r/b")];
        let repos = repos.map(|(name, source)| (name.to_owned(), PathBuf::from(source)));
        Here::new(repos.to_vec(), Some(Path::new(folder)))
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
        let relative = |folder: &str, path: &str| here(folder).relative("outer", path);
        assert_eq!(relative("/r/a", "src/x.rs").as_deref(), Some("src/x.rs"));
        assert_eq!(relative("/r/a/src", "src/x.rs").as_deref(), Some("x.rs"));
        assert_eq!(relative("/r/a/src/deep", "src/x.rs").as_deref(), Some("../x.rs"));
        assert_eq!(relative("/r/a/src", "srcs/x.rs").as_deref(), Some("../srcs/x.rs"));
        assert_eq!(relative("/r/a/src", "src").as_deref(), Some("../src"));
        assert_eq!(relative("/r/b", "src/x.rs"), None);
        assert_eq!(here("/r").relative("outer", "x"), None);
    }

    #[test]
    fn a_folder_has_the_repositories_below_it() {
        let below = |folder: &str, path: &str| {
            let tree = here(folder).below(path).unwrap();
            tree.map(|tree| query::Query::from_tree(tree).terms().len())
        };
        // The repositories below; the folder of a repository and its path.
        assert_eq!(below("/r", "."), Some(1));
        assert_eq!(below("/r", "b/src"), Some(2));
        assert_eq!(below("/r/a", "lib"), Some(3));
        assert_eq!(below("/", "x"), None);
        assert!(here("/r/a/src").around().unwrap().is_some());
        assert!(here("/elsewhere").around().unwrap().is_none());
    }
}
