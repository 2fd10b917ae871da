//! Finds the repositories below a folder, and reads their git configuration.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use gix_config::file::Metadata;
use gix_config::file::init::Options;
use gix_config::{File, Source};

use super::Error;

/// Most bytes that are read of a file of git's. `packed-refs` has a line of about 70 bytes for each branch
/// and tag.
const MAX_GIT_FILE: u64 = 64 << 20;

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
}

/// The result of looking for repositories below a folder.
#[derive(Debug, Default)]
pub(crate) struct FoundRepos {
    pub(crate) repos: Vec<FoundRepo>,
    /// Folders without repositories beside others that have some.
    pub(crate) without_repos: Vec<PathBuf>,
    /// Folders that cannot be read, so that their contents are unknown.
    pub(crate) unreadable: Vec<PathBuf>,
    /// Repositories whose configured rank is not a number.
    pub(crate) unranked: Vec<PathBuf>,
}

/// Finds the repositories below `path`: every folder with a `.git` (not searched for more inside), or every
/// folder `depth` levels down; `path` itself if there are none.
pub(crate) fn repositories(path: &Path, depth: Option<usize>) -> Result<FoundRepos, Error> {
    let root = canonical(path)?;
    if !root.is_dir() {
        return Err(Error::NotAFolder(path.to_owned()));
    }
    let failed = |cause| Error::Path { path: path.to_owned(), cause };
    check_readable(&root).map_err(failed)?;
    let mut below = FoundRepos::default();
    let mut folders = Vec::new();
    if let Some(depth) = depth {
        at_depth(&root, depth, &mut folders, &mut below.unreadable);
        if folders.is_empty() && below.unreadable.is_empty() {
            return Err(Error::NoFolders { path: path.to_owned(), depth });
        }
    } else if !with_git(&root, &mut folders, &mut below) {
        folders.push(root.clone());
        below.without_repos.clear();
    }
    for folder in folders {
        let repo = named(&root, folder, &mut below.unranked);
        below.repos.push(repo);
    }
    Ok(below)
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

fn at_depth(
    folder: &Path,
    depth: usize,
    folders: &mut Vec<PathBuf>,
    unreadable: &mut Vec<PathBuf>,
) {
    if depth == 0 {
        folders.push(folder.to_owned());
        return;
    }
    match subfolders(folder) {
        Ok(subs) => subs.iter().for_each(|sub| at_depth(sub, depth - 1, folders, unreadable)),
        Err(_) => unreadable.push(folder.to_owned()),
    }
}

/// Collects the repositories at and below `folder`. Returns whether there are any.
fn with_git(folder: &Path, repos: &mut Vec<PathBuf>, below: &mut FoundRepos) -> bool {
    let subs = match (folder.join(".git").try_exists(), subfolders(folder)) {
        (Ok(true), _) => {
            repos.push(folder.to_owned());
            return true;
        }
        (Ok(false), Ok(subs)) => subs,
        _ => {
            below.unreadable.push(folder.to_owned());
            return false;
        }
    };
    let mut any = false;
    let mut without = Vec::new();
    for sub in subs {
        let unreadable = below.unreadable.len();
        if with_git(&sub, repos, below) {
            any = true;
        } else if below.unreadable.len() == unreadable {
            without.push(sub);
        }
    }
    if any {
        below.without_repos.append(&mut without);
    }
    any
}

/// Returns the folders in a folder, by name, without links and `.git`.
fn subfolders(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    check_readable(folder)?;
    let mut folders: Vec<PathBuf> = fs::read_dir(folder)?
        .flatten()
        .filter(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git"
        })
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    Ok(folders)
}

fn named(root: &Path, folder: PathBuf, unranked: &mut Vec<PathBuf>) -> FoundRepo {
    let below = folder.strip_prefix(root).unwrap_or(&folder).to_string_lossy().into_owned();
    let own =
        root.file_name().map_or_else(|| "root".to_owned(), |n| n.to_string_lossy().into_owned());
    let config = config(&folder);
    let origin = config.as_ref().and_then(origin);
    let rank = config.as_ref().map_or(Some(0), rank).unwrap_or_else(|| {
        unranked.push(folder.clone());
        0
    });
    let commit = commit(&folder);
    let web = origin.as_deref().and_then(|origin| web(origin, commit.as_deref()?));
    let below = if below.is_empty() { own } else { below };
    FoundRepo { folder, origin, below, web, commit, rank }
}

/// Returns the URL before file paths, if the origin lies at a known kind of forge.
fn web(origin: &str, commit: &str) -> Option<String> {
    let (host, _) = origin.split_once('/')?;
    let is = |kinds: &[&str]| kinds.iter().any(|kind| host.contains(kind));
    if is(&["github"]) {
        Some(format!("https://{origin}/blob/{commit}/"))
    } else if is(&["gitlab"]) {
        Some(format!("https://{origin}/-/blob/{commit}/"))
    } else if is(&["gitea", "forgejo", "codeberg"]) {
        Some(format!("https://{origin}/src/commit/{commit}/"))
    } else {
        None
    }
}

/// Returns the commit that is checked out (<https://git-scm.com/docs/gitrepository-layout>).
pub(crate) fn commit(folder: &Path) -> Option<String> {
    let common = git_folder(folder)?;
    let own = own_git_folder(folder).unwrap_or_else(|| common.clone());
    let head = read_small(&own.join("HEAD"))?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => match read_small(&common.join(name)) {
            Some(commit) => commit.trim().to_owned(),
            None => {
                let packed = read_small(&common.join("packed-refs"))?;
                let line = packed.lines().find(|line| line.split(' ').nth(1) == Some(name))?;
                line.split(' ').next()?.to_owned()
            }
        },
    };
    let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(commit)
}

/// Reads the configuration of a repository.
fn config(folder: &Path) -> Option<File> {
    let mut text = read_bytes(&git_folder(folder)?.join("config"))?;
    File::from_bytes_owned(&mut text, Metadata::from(Source::Local), Options::default()).ok()
}

/// Returns the rank in a configuration: `codesearch.rank`, or else Zoekt's priority, which may be a fraction
/// or out of bounds. 0 if neither is set; `None` if it is not a number.
fn rank(config: &File) -> Option<u16> {
    if let Some(rank) = config.string("codesearch.rank") {
        return String::from_utf8_lossy(&rank).trim().parse().ok();
    }
    let Some(priority) = config.string("zoekt.priority") else { return Some(0) };
    let priority: f64 = String::from_utf8_lossy(&priority).trim().parse().ok()?;
    (!priority.is_nan()).then_some(priority as u16)
}

/// Returns host and path of the remote `origin`, such as `github.com/golang/go`.
fn origin(config: &File) -> Option<String> {
    let url = config.string("remote.origin.url")?;
    let url = gix_url::parse(url.as_slice()).ok()?;
    let host = url.host()?;
    let path = String::from_utf8_lossy(&url.path).into_owned();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!path.is_empty()).then(|| format!("{host}/{path}"))
}

/// Returns the folder of git's data for this checkout: `.git`, or, for a submodule or a worktree, the folder
/// that the file `.git` names (<https://git-scm.com/docs/gitrepository-layout>).
pub(crate) fn own_git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = read_small(&git)?;
    Some(folder.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the folder of git's data that all checkouts of a repository share, such as its configuration.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let named = own_git_folder(folder)?;
    match read_small(&named.join("commondir")) {
        Some(common) => Some(named.join(common.trim())),
        None => Some(named),
    }
}

/// Reads a file of git's. Only a regular file of limited size: anybody may have made the repository, and put
/// a link to a device or a pipe in its place.
fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_GIT_FILE + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_GIT_FILE).then_some(bytes)
}

/// Reads a file of git's as text.
fn read_small(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path)?).ok()
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
        let below = repositories(root, depth).unwrap();
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
        let below = repositories(root.path(), None).unwrap();
        let root = root.path().canonicalize().unwrap();
        assert_eq!(below.without_repos, [root.join("h")]);
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
        let below = repositories(root.path(), None).unwrap();
        let webs: Vec<Option<String>> = below.repos.into_iter().map(|repo| repo.web).collect();
        let github = format!("https://github.com/a/b/blob/{hash}/");
        let gitlab = format!("https://gitlab.example.org/a/b/-/blob/{hash}/");
        assert_eq!(webs, [Some(github), None, Some(gitlab)]);
    }

    #[test]
    fn what_is_no_ordinary_file_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join("one/.git");
        make(root.path(), &[("one", "https://github.com/a/b")], &["one/.git/refs"]);
        // Each of these would otherwise be read forever.
        std::os::unix::fs::symlink("/dev/zero", git.join("HEAD")).unwrap();
        assert_eq!(commit(&root.path().join("one")), None);
        fs::remove_file(git.join("HEAD")).unwrap();
        fs::write(git.join("HEAD"), "ref: /dev/zero\n").unwrap();
        assert_eq!(commit(&root.path().join("one")), None);
        nix::unistd::mkfifo(&git.join("refs/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/pipe\n").unwrap();
        assert_eq!(commit(&root.path().join("one")), None);
        fs::remove_file(git.join("config")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", git.join("config")).unwrap();
        assert!(config(&root.path().join("one")).is_none());
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
        let below = repositories(root.path(), None).unwrap();
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
