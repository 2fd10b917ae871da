//! Which repositories lie below a folder, and what they are called.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use gix_config::{File, Source};

use super::Error;

/// A repository on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name: host and path of its origin, or else where it lies.
    pub name: String,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// Its path below the folder that was named, or that folder's own name.
    below: String,
}

/// What lies below a folder.
#[derive(Debug)]
pub(crate) struct Below {
    pub(crate) repos: Vec<Found>,
    /// Folders beside repositories that hold none.
    pub(crate) loose: Vec<PathBuf>,
}

/// The repositories below `path`: every folder with a `.git` (not looked into for more), or every
/// folder `depth` levels down; the folder itself if there are none.
pub(crate) fn repositories(path: &Path, depth: Option<usize>) -> Result<Below, Error> {
    let root = canonical(path)?;
    if !root.is_dir() {
        return Err(Error::NotAFolder(path.to_owned()));
    }
    let mut folders = Vec::new();
    let mut loose = Vec::new();
    match depth {
        Some(depth) => {
            at_depth(&root, depth, &mut folders)?;
            if folders.is_empty() {
                return Err(Error::NoFolders { path: path.to_owned(), depth });
            }
        }
        None => {
            if !with_git(&root, &mut folders, &mut loose)? {
                folders.push(root.clone());
                loose.clear();
            }
        }
    }
    let repos = folders.into_iter().map(|folder| named(&root, folder)).collect();
    Ok(Below { repos, loose })
}

/// The absolute path, links resolved.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, Error> {
    fs::canonicalize(path).map_err(|cause| Error::Path { path: path.to_owned(), cause })
}

fn at_depth(folder: &Path, depth: usize, folders: &mut Vec<PathBuf>) -> Result<(), Error> {
    if depth == 0 {
        folders.push(folder.to_owned());
        return Ok(());
    }
    subfolders(folder)?.iter().try_for_each(|sub| at_depth(sub, depth - 1, folders))
}

/// Collects the repositories at and below `folder`; says whether there are any. Below a folder that
/// cannot be read there are none.
fn with_git(
    folder: &Path,
    repos: &mut Vec<PathBuf>,
    loose: &mut Vec<PathBuf>,
) -> Result<bool, Error> {
    if folder.join(".git").exists() {
        repos.push(folder.to_owned());
        return Ok(true);
    }
    let mut any = false;
    let mut without = Vec::new();
    for sub in subfolders(folder)? {
        if with_git(&sub, repos, loose).unwrap_or(false) {
            any = true;
        } else {
            without.push(sub);
        }
    }
    if any {
        loose.append(&mut without);
    }
    Ok(any)
}

/// The folders in a folder, by name, without links and without `.git`.
fn subfolders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries =
        fs::read_dir(folder).map_err(|cause| Error::Path { path: folder.to_owned(), cause })?;
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git"
        })
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    Ok(folders)
}

fn named(root: &Path, folder: PathBuf) -> Found {
    let below = folder.strip_prefix(root).unwrap_or(&folder).to_string_lossy().into_owned();
    let own =
        root.file_name().map_or_else(|| "root".to_owned(), |n| n.to_string_lossy().into_owned());
    let below = if below.is_empty() { own } else { below };
    Found { name: origin(&folder).unwrap_or_else(|| below.clone()), folder, below }
}

/// The host and path of the remote `origin`: `github.com/golang/go`.
fn origin(folder: &Path) -> Option<String> {
    let config =
        File::from_path_no_includes(git_folder(folder)?.join("config"), Source::Local).ok()?;
    let url = config.string("remote.origin.url")?;
    let url = gix_url::parse(url.as_slice()).ok()?;
    let host = url.host()?;
    let path = String::from_utf8_lossy(&url.path).into_owned();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!path.is_empty()).then(|| format!("{host}/{path}"))
}

/// Where git keeps a repository's configuration: `.git`, or for a submodule or a worktree where the
/// file `.git` says (<https://git-scm.com/docs/gitrepository-layout>).
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(git).ok()?;
    let named = folder.join(text.strip_prefix("gitdir:")?.trim());
    match fs::read_to_string(named.join("commondir")) {
        Ok(common) => Some(named.join(common.trim())),
        Err(_) => Some(named),
    }
}

/// Two clones of one origin would have one name: the later ones are called after their place.
pub(crate) fn make_names_unique(found: &mut Vec<Found>) {
    let mut folders = HashSet::new();
    found.retain(|repo| folders.insert(repo.folder.clone()));
    let mut names = HashSet::new();
    for repo in found {
        if names.contains(&repo.name) {
            repo.name = repo.below.clone();
        }
        while !names.insert(repo.name.clone()) {
            repo.name = repo.folder.to_string_lossy().trim_start_matches('/').to_owned();
            if names.contains(&repo.name) {
                repo.name.push('+');
            }
        }
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
        let mut below = repositories(root, depth).unwrap();
        make_names_unique(&mut below.repos);
        below.repos.into_iter().map(|repo| repo.name).collect()
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
                ("f", "https://github.com/golang/go"),
                ("g", "../elsewhere"),
            ],
            &["h"],
        );
        let expected = [
            "github.com/golang/go",
            "github.com/rust-lang/rust",
            "example.org/x/y",
            "d/e",
            "f",
            "g",
        ];
        assert_eq!(names(root.path(), None), expected);
        let below = repositories(root.path(), None).unwrap();
        let root = root.path().canonicalize().unwrap();
        assert_eq!(below.loose, [root.join("h")]);
    }

    #[test]
    fn a_folder_without_repositories_is_one_itself() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("mine");
        make(&folder, &[], &["src/deep"]);
        assert_eq!(names(&folder, None), ["mine"]);
    }

    #[test]
    fn depth_takes_every_folder() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), &[("x/one", "https://example.org/o/ne")], &["x/two", "y/three/deep"]);
        assert_eq!(names(root.path(), Some(2)), ["example.org/o/ne", "x/two", "y/three"]);
        assert!(matches!(repositories(root.path(), Some(7)), Err(Error::NoFolders { .. })));
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
