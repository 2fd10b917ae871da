//! Names repositories, and matches them with indexed ones.
//!
//! A folder keeps its name unless its origin changes. No two folders have the same name: a second clone of an
//! origin is named after its folder.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use store::RepoRow;

use super::find::{FoundRepo, FoundTree, Kind, MAX_NAME_BYTES, is_empty};
use files::shortened;
use git::checkout::{Facts, GitData, Unread};

/// A repository that was found, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedRepo {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
    /// Its row in the index, if it has one.
    pub(crate) known: Option<RepoRow>,
    /// URL before the paths of its files on the web.
    pub(crate) web: Option<String>,
    /// The commit that is checked out, if it is a clone.
    pub(crate) commit: Option<String>,
    /// Rank among the repositories; 0 for none.
    pub(crate) rank: u16,
    /// What else its configuration says of it.
    pub(crate) facts: Option<Facts>,
    /// Folders outside of its own that git may read for its history.
    pub(crate) git_folders: Vec<PathBuf>,
    /// Parts of its git data that are not read.
    pub(crate) unread: Vec<Unread>,
    pub(crate) kind: Kind,
    /// Whether its configuration asks for the files of its commit.
    pub(crate) from_commit: Option<bool>,
    /// The name that its origin would give it, if it is new and another repository has that name.
    pub(crate) taken: Option<String>,
    /// Its git data, if they are read.
    pub(crate) data: Option<GitData>,
    /// The globs of the branches and tags to index, as its configuration gives them.
    pub(crate) branches: Option<String>,
    /// Its other worktrees.
    pub(crate) trees: Vec<FoundTree>,
    /// Whether the indexed worktrees stay.
    pub(crate) keeps_trees: bool,
}

impl NamedRepo {
    fn of(repo: FoundRepo, name: String, known: Option<RepoRow>) -> Self {
        let FoundRepo { folder, origin, web, commit, rank, facts, git_folders, unread, .. } = repo;
        let (kind, from_commit) = (repo.kind, repo.from_commit);
        let FoundRepo { data, branches, trees, keeps_trees, .. } = repo;
        let taken = origin.filter(|origin| known.is_none() && *origin != name);
        Self {
            folder,
            name,
            known,
            web,
            commit,
            rank,
            facts,
            git_folders,
            unread,
            kind,
            from_commit,
            taken,
            data,
            branches,
            trees,
            keeps_trees,
        }
    }
}

/// Names the repositories in `found`. `known` are the indexed ones. Older indexes have worktrees among them, which are now
/// parts of these.
pub(crate) fn settle(found: Vec<FoundRepo>, known: &[RepoRow]) -> Vec<NamedRepo> {
    let worktrees: HashSet<PathBuf> =
        found.iter().flat_map(FoundRepo::worktrees).cloned().collect();
    let by_source: HashMap<&str, &RepoRow> =
        known.iter().map(|row| (row.source.as_str(), row)).collect();
    let by_name: HashMap<&str, &RepoRow> =
        known.iter().map(|row| (row.name.as_str(), row)).collect();
    let mut folders = HashSet::new();
    let mut settled: Vec<NamedRepo> = Vec::new();
    let mut names = HashSet::new();
    let found: Vec<FoundRepo> =
        found.into_iter().filter(|repo| folders.insert(repo.folder.clone())).collect();
    let origins: HashMap<String, &str> = found
        .iter()
        .filter_map(|repo| {
            Some((repo.folder.to_string_lossy().into_owned(), &**repo.origin.as_ref()?))
        })
        .collect();
    let exchanged = exchanged(&origins, &by_source, &by_name);
    // Known folders keep their names before others get one.
    let (old, new): (Vec<FoundRepo>, Vec<FoundRepo>) =
        found.into_iter().partition(|repo| by_source.contains_key(&*repo.folder.to_string_lossy()));
    for repo in old {
        let folder = repo.folder.to_string_lossy();
        let row = exchanged.get(&*folder).copied().unwrap_or_else(|| by_source[&*folder]);
        let other = |name: &str| by_name.get(name).is_some_and(|other| other.id != row.id);
        let name = match &repo.origin {
            Some(origin) if !other(origin) && !names.contains(origin) => origin.clone(),
            _ => row.name.clone(),
        };
        names.insert(name.clone());
        settled.push(NamedRepo::of(repo, name, Some(row.clone())));
    }
    let mut used: HashSet<_> = settled.iter().filter_map(|s| Some(s.known.as_ref()?.id)).collect();
    for repo in new {
        let place = repo.folder.to_string_lossy();
        let place = shortened(place.trim_start_matches('/'), MAX_NAME_BYTES);
        let candidates = repo.origin.clone().into_iter().chain([repo.below.clone(), place.clone()]);
        // A name is free if no repository has it, or if the folder that had it is gone: then the repository has moved.
        let free = |name: &String| {
            !names.contains(name)
                && by_name.get(name.as_str()).is_none_or(|row| {
                    let is_free =
                        is_gone(&row.source) || worktrees.contains(Path::new(&row.source));
                    !used.contains(&row.id) && is_free
                })
        };
        let name = candidates.into_iter().find(free).unwrap_or(place);
        let known = by_name.get(name.as_str()).map(|row| (*row).clone());
        used.extend(known.as_ref().map(|row| row.id));
        names.insert(name.clone());
        settled.push(NamedRepo::of(repo, name, known));
    }
    settled
}

/// Returns the rows of folders that have come to each other's places, by folder: each has the origin that the one in another
/// of these places had.
fn exchanged<'k>(
    origins: &HashMap<String, &str>,
    by_source: &HashMap<&str, &'k RepoRow>,
    by_name: &HashMap<&str, &'k RepoRow>,
) -> HashMap<String, &'k RepoRow> {
    // Of a folder, the row of its origin, unless it is its own.
    let moved = |folder: &str| {
        let (own, origin) = (by_source.get(folder)?, origins.get(folder)?);
        let row = by_name.get(origin).copied()?;
        (row.id != own.id).then_some(row)
    };
    let is_round = |folder: &str| {
        let mut at = moved(folder);
        for _ in 0..origins.len() {
            match at {
                Some(row) if row.source == folder => return true,
                Some(row) => at = moved(&row.source),
                None => return false,
            }
        }
        false
    };
    let known = origins.keys().filter(|folder| is_round(folder));
    known.filter_map(|folder| Some((folder.clone(), moved(folder)?))).collect()
}

/// Returns whether a folder certainly no longer exists. A folder that cannot be accessed may exist.
pub(crate) fn is_gone(source: &str) -> bool {
    matches!(Path::new(source).try_exists(), Ok(false))
}

/// Whether the folder is gone along with its neighbours: its nearest existing ancestor is empty, like the mount point
/// of a missing disk.
pub(crate) fn may_be_unmounted(source: &str) -> bool {
    let above = Path::new(source).ancestors().skip(1).find(|folder| folder.is_dir());
    above.is_some_and(is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::RepoId;

    /// Settles `found` (folder, origin, path below) against `known` (id, name, folder); the result is
    /// `name=id`, in order.
    fn check(known: &[(i32, &str, &str)], found: &[(&str, &str, &str)], expected: &str) {
        let known: Vec<RepoRow> = known
            .iter()
            .map(|(id, name, source)| RepoRow {
                id: RepoId(*id),
                name: (*name).to_owned(),
                source: (*source).to_owned(),
                web: None,
                commit: None,
                rank: 0,
                git_folders: Vec::new(),
                no_ignore: false,
                skips_secrets: false,
                from_commit: false,
                languages: None,
                is_lost: false,
            })
            .collect();
        let found = found
            .iter()
            .map(|(folder, origin, below)| FoundRepo {
                folder: PathBuf::from(folder),
                origin: (!origin.is_empty()).then(|| (*origin).to_owned()),
                below: (*below).to_owned(),
                web: None,
                commit: None,
                rank: 0,
                facts: None,
                git_folders: Vec::new(),
                unread: Vec::new(),
                is_origin_odd: false,
                kind: Kind::Checkout,
                from_commit: None,
                data: None,
                branches: None,
                trees: Vec::new(),
                keeps_trees: false,
            })
            .collect();
        let named: Vec<String> = settle(found, &known)
            .into_iter()
            .map(|s| {
                format!(
                    "{}={}",
                    s.name,
                    s.known.map_or("new".to_owned(), |row| row.id.0.to_string())
                )
            })
            .collect();
        assert_eq!(named.join(" "), expected);
    }

    #[test]
    fn new_repositories_get_their_origin_or_their_place() {
        check(&[], &[("/x/a", "h/a", "a"), ("/x/b", "", "b")], "h/a=new b=new");
        check(
            &[],
            &[("/x/a", "h/a", "a"), ("/x/b", "h/a", "b"), ("/x/a", "h/a", "a")],
            "h/a=new b=new",
        );
        check(&[], &[("/x/a", "", "a"), ("/y/a", "", "a")], "a=new y/a=new");
    }

    #[test]
    fn a_name_stays_with_its_folder() {
        let known = [(1, "h/a", "/tmp"), (2, "b", "/usr")];
        check(&known, &[("/usr", "h/a", "usr")], "b=2");
        check(&known, &[("/tmp", "h/a", "tmp"), ("/usr", "h/a", "usr")], "h/a=1 b=2");
        check(&known, &[("/usr", "", "another")], "b=2");
        check(&known, &[("/etc", "h/a", "etc")], "etc=new");
        check(&known, &[("/etc", "", "b")], "etc=new");
    }

    #[test]
    fn folders_that_come_to_each_others_places_take_their_names_along() {
        let known = [(1, "h/a", "/a"), (2, "h/b", "/b"), (3, "h/c", "/c"), (4, "h/d", "/d")];
        let two = [("/a", "h/b", "a"), ("/b", "h/a", "b"), ("/c", "h/c", "c")];
        check(&known, &two, "h/b=2 h/a=1 h/c=3");
        let three =
            [("/a", "h/b", "a"), ("/b", "h/c", "b"), ("/c", "h/a", "c"), ("/d", "h/a", "d")];
        check(&known, &three, "h/b=2 h/c=3 h/a=1 h/d=4");
        // Nobody has come to the place of the last one.
        let chain = [("/a", "h/b", "a"), ("/b", "h/c", "b"), ("/c", "h/c", "c")];
        check(&known, &chain, "h/a=1 h/b=2 h/c=3");
        check(&known, &[("/a", "h/b", "a")], "h/a=1");
    }

    #[test]
    fn a_new_origin_renames_and_a_moved_folder_is_the_same() {
        check(&[(1, "h/old", "/tmp")], &[("/tmp", "h/new", "tmp")], "h/new=1");
        check(&[(1, "h/a", "/nowhere/a")], &[("/tmp", "h/a", "tmp")], "h/a=1");
        check(&[(1, "a", "/nowhere/a")], &[("/tmp", "", "a")], "a=1");
    }
}
