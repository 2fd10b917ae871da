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
mod tests {
    use super::*;

    fn make(root: &Path, git: &[(&str, &str)], plain: &[&str]) {
        for (folder, origin) in git {
            let git = root.join(folder).join(".git");
            fs::create_dir_all(&git).unwrap();
            let config = match *origin {
                "" => String::new(),
                url => format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n"),
            };
            fs::write(git.join("config"), config).unwrap();
        }
        for folder in plain {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
    }

    fn names(root: &Path, depth: Option<usize>) -> Vec<String> {
        let below = repositories(root, depth, false).unwrap();
        below.repos.into_iter().map(|repo| repo.origin.unwrap_or(repo.below)).collect()
    }

    #[test]
    fn names_come_from_the_origin_or_the_place() {
        let root = tempfile::tempdir().unwrap();
        make(
            root.path(),
            &[
                ("a", "https://github.com/golang/go.git"),
                ("b", "git@github.com:rust-lang/rust"),
                ("c", "ssh://git@example.org:2222/x/y.git/"),
                ("d/e", ""),
                ("f", "https://github.com/golang/go/"),
                ("g", "../elsewhere"),
            ],
            &["h"],
        );
        let expected = [
            "github.com/golang/go",
            "github.com/rust-lang/rust",
            "example.org/x/y",
            "d/e",
            "github.com/golang/go",
            "g",
        ];
        assert_eq!(names(root.path(), None), expected);
        let below = repositories(root.path(), None, false).unwrap();
        let root = root.path().canonicalize().unwrap();
        assert_eq!(below.without_repos.first, [root.join("h")]);
    }

    #[test]
    fn a_folder_without_repositories_is_one_itself() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("mine");
        make(&folder, &[], &["src/deep"]);
        assert_eq!(names(&folder, None), ["mine"]);
    }

    #[test]
    fn a_checkout_inside_of_another_is_a_repository_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), &[("a", ""), ("a/.worktrees/w", ""), ("a/sub/deep/er", "")], &["a/src"]);
        let all = ["a", "a/.worktrees/w", "a/sub/deep/er"];
        assert_eq!(names(root.path(), None), all);
        assert_eq!(names(root.path(), Some(1)), all);
        // A folder of a clone means the clone.
        let inside = repositories(&root.path().join("a/src"), None, false).unwrap();
        assert_eq!(inside.root, root.path().join("a").canonicalize().unwrap());
        assert_eq!(names(&root.path().join("a/src"), None), names(&root.path().join("a"), None));
        assert_eq!(names(&root.path().join("a/src"), Some(0)), ["src"]);
    }

    #[test]
    fn what_lies_beside_repositories_is_told() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), &[("a", ""), ("x/b", "")], &["plain"]);
        fs::write(root.path().join("x/note.txt"), "note").unwrap();
        let link = |to: &str, from: &str| {
            std::os::unix::fs::symlink(root.path().join(to), root.path().join(from)).unwrap();
        };
        link("a", "link");
        link("nowhere", "broken");
        for depth in [None, Some(1)] {
            let below = repositories(root.path(), depth, false).unwrap();
            let root = root.path().canonicalize().unwrap();
            assert_eq!(below.links.first, [root.join("link")]);
            let loose = if depth.is_none() { vec![root.join("x"), root] } else { vec![root] };
            assert_eq!(below.loose.first, loose);
        }
    }

    #[test]
    fn depth_takes_every_folder() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), &[("x/one", "https://example.org/o/ne")], &["x/two", "y/three/deep"]);
        assert_eq!(names(root.path(), Some(2)), ["example.org/o/ne", "x/two", "y/three"]);
        assert!(matches!(repositories(root.path(), Some(7), false), Err(Error::NoFolders { .. })));
    }

    #[test]
    fn a_forge_has_an_address_for_each_file() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let root = tempfile::tempdir().unwrap();
        let origins =
            ["https://github.com/a/b", "https://gitlab.example.org/a/b", "https://x.org/a"];
        let folders = ["one", "two", "three"];
        let all: Vec<(&str, &str)> = folders.into_iter().zip(origins).collect();
        make(root.path(), &all, &["one/.git/refs/heads"]);
        let write = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
        write("one/.git/HEAD", "ref: refs/heads/main\n");
        write("one/.git/refs/heads/main", &format!("{hash}\n"));
        write("two/.git/HEAD", "ref: refs/heads/x\n");
        write("two/.git/packed-refs", &format!("# pack-refs\n{hash} refs/heads/x\n"));
        write("three/.git/HEAD", hash);
        let below = repositories(root.path(), None, false).unwrap();
        let webs: Vec<Option<String>> = below.repos.into_iter().map(|repo| repo.web).collect();
        let github = format!("https://github.com/a/b/blob/{hash}/");
        let gitlab = format!("https://gitlab.example.org/a/b/-/blob/{hash}/");
        assert_eq!(webs, [Some(github), None, Some(gitlab)]);
    }

    #[test]
    fn what_is_not_read_of_git_is_told_and_the_files_are_still_there() {
        let root = tempfile::tempdir().unwrap();
        let link = |to: &str, from: &str| {
            fs::create_dir_all(root.path().join(from).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(to, root.path().join(from)).unwrap();
        };
        make(root.path(), &[("one", "https://github.com/a/b"), ("two", "https://x/%00")], &[]);
        // Reading it would never end.
        link("/dev/zero", "one/.git/HEAD");
        link(".git", "three/.git");
        let below = repositories(root.path(), None, false).unwrap();
        let told: Vec<_> = below
            .repos
            .iter()
            .map(|repo| {
                let unread: Vec<_> = repo.unread.iter().map(|part| &*part.path).collect();
                (repo.origin.as_deref(), &*repo.below, unread.join(" "), repo.is_origin_odd)
            })
            .collect();
        assert_eq!(
            told,
            [
                (Some("github.com/a/b"), "one", ".git/HEAD".to_owned(), false),
                (None, "three", ".git".to_owned(), false),
                (None, "two", String::new(), true),
            ]
        );
    }

    #[test]
    fn many_folders_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let plain: Vec<String> = (0..50).map(|n| format!("x/{n:02}")).collect();
        let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
        make(root.path(), &[("x/repo", "")], &plain);
        let Listed { first, more } = repositories(root.path(), None, false).unwrap().without_repos;
        assert_eq!((first.len(), more), (MAX_LISTED, 50 - MAX_LISTED));
        let long = vec!["y".repeat(200); 4].join("/");
        make(root.path(), &[(&long, "")], &[]);
        let below = repositories(root.path(), None, false).unwrap();
        assert!(below.repos.iter().all(|repo| repo.below.len() <= MAX_NAME_BYTES));
    }

    #[test]
    fn a_rank_is_what_the_configuration_says() {
        let root = tempfile::tempdir().unwrap();
        for (folder, config) in [
            ("a", "[codesearch]\n\trank = 7\n[zoekt]\n\tpriority = 900\n"),
            ("b", "[zoekt]\n\tpriority = 12.5\n"),
            ("c", "[zoekt]\n\tpriority = 1e9\n"),
            ("d", "[core]\n\tbare = false\n"),
            ("e", "[codesearch]\n\trank = high\n"),
            ("f", "[codesearch]\n\trank = 65536\n"),
            ("g", "[zoekt]\n\tpriority = -3\n"),
        ] {
            make(root.path(), &[(folder, "")], &[]);
            fs::write(root.path().join(folder).join(".git/config"), config).unwrap();
        }
        let below = repositories(root.path(), None, false).unwrap();
        let ranks: Vec<u16> = below.repos.iter().map(|repo| repo.rank).collect();
        assert_eq!(ranks, [7, 12, u16::MAX, 0, 0, 0, 0]);
        let unranked: Vec<_> =
            below.unranked.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(unranked, ["e", "f"]);
    }

    #[test]
    fn a_submodule_names_its_configuration() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), &[("outer", "")], &["outer/.git/modules/sub", "sub"]);
        let config = "[remote \"origin\"]\nurl = https://example.org/s/ub\n";
        fs::write(root.path().join("outer/.git/modules/sub/config"), config).unwrap();
        fs::write(root.path().join("sub/.git"), "gitdir: ../outer/.git/modules/sub\n").unwrap();
        assert_eq!(names(root.path(), None), ["outer", "example.org/s/ub"]);
    }
}
