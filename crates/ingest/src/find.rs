//! Finds the repositories below a folder, and reads their names from git's data.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::Error;
use files::shortened;
use git::checkout::{Config, Facts, GitData, Origin, Trust, Unread, web};
use store::Root;

/// Maximum bytes of a repository's name. Longer paths are cut.
pub(crate) const MAX_NAME_BYTES: usize = 500;

/// Maximum number of folders of one kind to list; the others are counted.
const MAX_LISTED: usize = 20;

/// A repository on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundRepo {
    /// Absolute path of its folder.
    pub(crate) folder: PathBuf,
    /// Host and path of its origin, if it has one.
    pub(crate) origin: Option<String>,
    /// Path of its folder below the given folder, or the name of the given folder itself.
    pub(crate) below: String,
    /// URL before the paths of its files on the web, at the commit that is checked out.
    pub(crate) web: Option<String>,
    /// The commit that is checked out, if it is a clone.
    pub(crate) commit: Option<String>,
    /// Rank that its configuration gives it; 0 for none.
    pub(crate) rank: u16,
    /// What else its configuration says of it; `None` if it has none, or it is not read.
    pub(crate) facts: Option<Facts>,
    /// Folders outside of its own that git may read for its history.
    pub(crate) git_folders: Vec<PathBuf>,
    /// Parts of its git data that are not read.
    pub(crate) unread: Vec<Unread>,
    /// Whether its origin's URL yields no name.
    pub(crate) is_origin_odd: bool,
    pub(crate) kind: Kind,
    /// Whether its configuration asks for the files of its commit.
    pub(crate) from_commit: Option<bool>,
    /// Its git data, if they are read.
    pub(crate) data: Option<GitData>,
    /// The globs of the branches and tags to index, as its configuration gives them.
    pub(crate) branches: Option<String>,
    /// Its other worktrees, by name.
    pub(crate) trees: Vec<FoundTree>,
    /// Whether the list of its worktrees cannot be read, so that the indexed ones stay.
    pub(crate) keeps_trees: bool,
}

/// What a repository on disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder without git data.
    Folder,
    /// A clone, or a worktree of one.
    Checkout,
    /// A clone without files of its own.
    Bare,
}

impl FoundRepo {
    /// Returns the folders of its other worktrees.
    pub(crate) fn worktrees(&self) -> impl Iterator<Item = &PathBuf> {
        self.trees.iter().filter_map(|tree| Some(&tree.found.as_ref().ok()?.folder))
    }
}

/// A worktree of a repository besides its main checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundTree {
    /// Its name in the clone.
    pub(crate) name: String,
    /// Its checkout, or a sentence that says why that cannot be read, so that what the index has of it stays.
    pub(crate) found: Result<FoundRepo, String>,
}

/// The result of the search for repositories below a folder.
#[derive(Debug, Default)]
pub(crate) struct FoundRepos {
    /// The folder that was searched: the given one, or the clone that it is a part of.
    pub(crate) root: PathBuf,
    pub(crate) repos: Vec<FoundRepo>,
    /// Folders without repositories, next to folders with some.
    pub(crate) without_repos: Listed,
    /// Symbolic links next to repositories. Ingest does not follow them.
    pub(crate) links: Listed,
    /// Files next to repositories, which belong to none.
    pub(crate) loose: Listed,
    /// Folders that cannot be read; their contents are unknown.
    pub(crate) unreadable: Vec<PathBuf>,
    /// Repositories whose configured rank is not a number.
    pub(crate) unranked: Vec<PathBuf>,
}

/// Folders: the first ones, and the number of the others.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) first: Vec<PathBuf>,
    /// Number of the others.
    pub(crate) more: usize,
}

impl Listed {
    fn push(&mut self, folder: PathBuf) {
        if self.first.len() < MAX_LISTED { self.first.push(folder) } else { self.more += 1 }
    }

    fn append(&mut self, other: Self) {
        other.first.into_iter().for_each(|folder| self.push(folder));
        self.more += other.more;
    }
}

/// Finds the repositories below `path`: every folder with a `.git`, or every folder `depth` levels down. If there are
/// none, the repository is the clone around `path`, or else `path` itself. Checkouts inside them (worktrees, submodules)
/// are found, too. If `follows` is set, also reads git's data outside of `path`, if the user owns them.
///
/// # Errors
/// `path` is no folder, or cannot be read, or its clone is the user's whole home; or there are no folders `depth` levels
/// down.
pub(crate) fn repositories(
    path: &Path,
    depth: Option<usize>,
    follows: bool,
) -> Result<FoundRepos, Error> {
    let mut root = folder(path)?;
    let failed = |cause| Error::Path { path: path.to_owned(), cause };
    check_readable(&root).map_err(failed)?;
    let mut below = FoundRepos::default();
    let mut folders = Vec::new();
    if let Some(depth) = depth {
        at_depth(&root, depth, &mut folders, &mut below);
        if folders.is_empty() && below.unreadable.is_empty() {
            return Err(Error::NoFolders { path: path.to_owned(), depth });
        }
    } else if !with_git(&root, &mut folders, &mut below) {
        let clone = root.ancestors().skip(1).find(|folder| has_git(folder)).map(Path::to_owned);
        if let Some(clone) = clone {
            // Whoever keeps settings in a repository at home does not mean everything there.
            let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
            if home.as_deref() == Some(&*clone) {
                return Err(Error::InsideHome { path: path.to_owned(), clone });
            }
            root = clone;
            check_readable(&root).map_err(failed)?;
        }
        folders.push(root.clone());
        below.without_repos = Listed::default();
        below.loose = Listed::default();
        below.links.first.retain(|link| has_git(link));
    }
    read_all(folders, &root, follows, &mut below);
    below.root = root;
    Ok(below)
}

/// Finds the repositories in a folder again. If it lies in an ingested folder, `root`, they are those that an ingest of
/// that finds in it, and have the same names.
///
/// # Errors
/// As those of [`repositories`].
pub(crate) fn below(path: &Path, root: Option<&Root>) -> Result<FoundRepos, Error> {
    let Some(Root { path: root, depth, follows, .. }) = root else {
        return repositories(path, None, false);
    };
    let (root, at) = (Path::new(root), folder(path)?);
    if root == at {
        return repositories(path, *depth, *follows);
    }
    check_readable(&at).map_err(|cause| Error::Path { path: path.to_owned(), cause })?;
    let (mut below, mut folders) = (FoundRepos::default(), Vec::new());
    match depth {
        Some(depth) => {
            let level = at.strip_prefix(root).map_or(0, |below| below.iter().count());
            at_depth(&at, depth.saturating_sub(level), &mut folders, &mut below);
        }
        None => drop(with_git(&at, &mut folders, &mut below)),
    }
    read_all(folders, root, *follows, &mut below);
    below.root = at;
    Ok(below)
}

/// Reads about repositories in some folders, and about the checkouts inside of these.
fn read_all(mut folders: Vec<PathBuf>, root: &Path, follows: bool, below: &mut FoundRepos) {
    let nested: Vec<PathBuf> =
        folders.par_iter().flat_map_iter(|folder| checkouts_in(folder)).collect();
    folders.extend(nested);
    for folder in folders {
        let trust = Trust::of_ingest(root, follows);
        let repo = named(root, folder, trust, &mut below.unranked);
        below.repos.push(repo);
    }
}

/// Returns the absolute path of a folder, with links resolved.
fn folder(path: &Path) -> Result<PathBuf, Error> {
    let folder = canonical(path)?;
    if folder.is_dir() { Ok(folder) } else { Err(Error::NotAFolder(path.to_owned())) }
}

/// Returns whether a folder is a checkout or a bare clone.
pub(crate) fn is_repository(folder: &Path) -> bool {
    has_git(folder) || is_bare(folder)
}

/// Returns the absolute path, with links resolved.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, Error> {
    fs::canonicalize(path).map_err(|cause| Error::Path { path: path.to_owned(), cause })
}

/// Checks that a folder can be listed and entered.
pub(crate) fn check_readable(folder: &Path) -> std::io::Result<()> {
    fs::read_dir(folder)?;
    fs::metadata(folder.join(".")).map(drop)
}

/// Whether a folder is empty, or has only what an empty file system has.
pub(crate) fn is_empty(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().all(|entry| entry.file_name() == "lost+found")
}

fn at_depth(folder: &Path, depth: usize, folders: &mut Vec<PathBuf>, below: &mut FoundRepos) {
    if depth == 0 {
        folders.push(folder.to_owned());
        return;
    }
    let Ok(inside) = Inside::of(folder) else {
        below.unreadable.push(folder.to_owned());
        return;
    };
    for sub in &inside.folders {
        at_depth(sub, depth - 1, folders, below);
    }
    inside.others_into(below);
}

fn has_git(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// Returns whether a folder is a bare clone. The `.git` of a clone is none.
fn is_bare(folder: &Path) -> bool {
    folder.file_name().is_none_or(|name| name != ".git") && GitData::bare(folder).is_some()
}

/// Returns the checkouts inside a repository, by path.
pub(crate) fn checkouts_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    checkouts_below(folder, 0, &mut found);
    found.retain(|checkout| checkout != folder);
    found.sort();
    found
}

/// Levels below which one thread lists the rest.
const MAX_PARALLEL_LEVELS: usize = 4;

fn checkouts_below(folder: &Path, level: usize, found: &mut Vec<PathBuf>) {
    let mut rest = vec![folder.to_owned()];
    while let Some(folder) = rest.pop() {
        // The walk for files reports folders that cannot be read.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if entry.file_name() == ".git" {
                found.push(folder.clone());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                rest.push(entry.path());
            }
        }
        if level < MAX_PARALLEL_LEVELS {
            let below = rest.par_iter().map(|folder| {
                let mut found = Vec::new();
                checkouts_below(folder, level + 1, &mut found);
                found
            });
            found.extend(below.flatten().collect::<Vec<_>>());
            return;
        }
    }
}

/// Collects the repositories at and below `folder`. Returns whether there are any.
fn with_git(folder: &Path, repos: &mut Vec<PathBuf>, below: &mut FoundRepos) -> bool {
    // `.git` may be a file or link, too.
    let inside = match folder.join(".git").symlink_metadata() {
        Ok(_) => {
            repos.push(folder.to_owned());
            return true;
        }
        Err(error) if error.kind() == ErrorKind::NotFound && is_bare(folder) => {
            repos.push(folder.to_owned());
            return true;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Inside::of(folder),
        Err(error) => Err(error),
    };
    let Ok(inside) = inside else {
        below.unreadable.push(folder.to_owned());
        return false;
    };
    let mut any = false;
    let mut without = Listed::default();
    for sub in &inside.folders {
        let unreadable = below.unreadable.len();
        if with_git(sub, repos, below) {
            any = true;
        } else if below.unreadable.len() == unreadable {
            without.push(sub.clone());
        }
    }
    if any {
        below.without_repos.append(without);
    }
    // Nothing to report without repositories and links.
    if any || !inside.links.is_empty() {
        inside.others_into(below);
    }
    any
}

/// The contents of a folder, by name, without `.git`.
struct Inside {
    folders: Vec<PathBuf>,
    /// Symbolic links to folders.
    links: Vec<PathBuf>,
    has_files: bool,
    folder: PathBuf,
}

impl Inside {
    fn of(folder: &Path) -> std::io::Result<Self> {
        check_readable(folder)?;
        let (mut folders, mut links, mut has_files) = (Vec::new(), Vec::new(), false);
        for entry in fs::read_dir(folder)?.flatten().filter(|entry| entry.file_name() != ".git") {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_symlink() && entry.path().is_dir() => links.push(entry.path()),
                _ => has_files = true,
            }
        }
        folders.sort();
        links.sort();
        Ok(Self { folders, links, has_files, folder: folder.to_owned() })
    }

    /// Notes links and files next to repositories.
    fn others_into(self, below: &mut FoundRepos) {
        self.links.into_iter().for_each(|link| below.links.push(link));
        if self.has_files {
            below.loose.push(self.folder);
        }
    }
}

/// Reads git's data about the repository in a folder.
pub(crate) fn named(
    root: &Path,
    folder: PathBuf,
    mut trust: Trust,
    unranked: &mut Vec<PathBuf>,
) -> FoundRepo {
    let below = folder.strip_prefix(root).unwrap_or(&folder).to_string_lossy();
    let own = || root.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let below = if below.is_empty() { own() } else { below };
    let below = shortened(&below, MAX_NAME_BYTES);
    let mut unread = Vec::new();
    let data = GitData::of(&folder, &mut trust).unwrap_or_else(|part| {
        unread.push(part);
        None
    });
    let (data, kind) = match data {
        Some(data) if data.has_head() => (Some(data), Kind::Checkout),
        data if data.is_none() && unread.is_empty() && is_bare(&folder) => {
            (GitData::bare(&folder), Kind::Bare)
        }
        data => (data, Kind::Folder),
    };
    let mut config = None::<Config>;
    let mut commit = None;
    if let Some(data) = &data {
        let mut or_told = |part: Unread| unread.push(part);
        config = data.config(&mut trust).map_err(&mut or_told).ok().flatten();
        commit = data.commit(&mut trust).map_err(&mut or_told).ok().flatten();
        let _ = data.check_objects(&mut trust).map_err(&mut or_told);
        data.note_rules(&mut trust);
    }
    let said = config.as_ref().map_or(Origin::None, Config::origin);
    let is_origin_odd = said == Origin::Odd;
    let origin = if let Origin::At(origin) = said { Some(origin) } else { None };
    let rank = config.as_ref().map_or(Some(0), Config::rank).unwrap_or_else(|| {
        unranked.push(folder.clone());
        0
    });
    let facts = config.as_ref().map(Config::facts);
    let web = origin.as_deref().and_then(|origin| web(origin, commit.as_deref()?));
    let git_folders = trust.into_folders();
    // Where `.git` leads to a bare clone, the files beside it belong to nobody.
    let has_no_files = kind == Kind::Checkout
        && data.as_ref().is_some_and(|data| data.worktree().is_none())
        && config.as_ref().is_some_and(Config::is_bare);
    let from_commit = config.as_ref().and_then(Config::from_commit);
    let from_commit = from_commit.or_else(|| has_no_files.then_some(true));
    let branches = config.as_ref().and_then(Config::branches);
    let (trees, keeps_trees) = (Vec::new(), false);
    FoundRepo {
        folder,
        origin,
        below,
        web,
        commit,
        rank,
        facts,
        git_folders,
        unread,
        is_origin_odd,
        kind,
        from_commit,
        data,
        branches,
        trees,
        keeps_trees,
    }
}

#[cfg(test)]
mod tests;
