//! Repositories that appear in folders that were ingested.
//!
//! A clone is queued when it is complete: its files are checked out, or the commit of its `HEAD` is there if it is bare. One
//! without either, such as a new one, is queued when nothing happens to it for a moment.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use git::checkout::{GitData, Trust};
use store::{Change, Reason};

use crate::hub::{Hub, Placed};
use crate::state::{Owner, Role};

/// Time without a change after which a clone without files is queued.
const QUIET: Duration = Duration::from_secs(2);

/// Shortest and longest time between two looks at a clone that is not known yet.
const LOOK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_mins(1));

/// A folder that was ingested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder, absolute and without links.
    pub folder: PathBuf,
    /// Levels below it at which every folder is a repository; `None` if every clone is one.
    pub depth: Option<usize>,
}

/// What was last seen of a clone that is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    times: Vec<Option<(u64, i64, i64)>>,
    is_complete: bool,
}

#[derive(Debug)]
struct Candidate {
    since: Instant,
    next: Instant,
    seen: Seen,
    changed: Instant,
    queued: Option<Seen>,
}

/// The clones that are not known yet.
#[derive(Debug, Default)]
pub(crate) struct Clones {
    candidates: BTreeMap<PathBuf, Candidate>,
}

impl Clones {
    /// Looks for clones in a folder in or below a root, whose other folders it watches. `known` are the folders of
    /// repositories and worktrees. Returns whether there was room for the watches.
    pub(crate) fn find(
        &mut self,
        (number, root): (usize, &Root),
        folder: &Path,
        known: &HashSet<PathBuf>,
        hub: &mut Hub,
    ) -> bool {
        let level = folder.strip_prefix(&root.folder).map_or(0, |below| below.components().count());
        let mut has_room = true;
        let mut rest = vec![(folder.to_owned(), level)];
        while let Some((folder, level)) = rest.pop() {
            if folder.ancestors().any(|around| known.contains(around)) {
                continue;
            }
            if root.depth.is_some_and(|depth| level >= depth)
                || root.depth.is_none() && is_clone(&folder)
            {
                self.add(folder);
                continue;
            }
            // Before it is listed: of what appears later, an event tells.
            match hub.place(&folder, Owner::Root(number), Role::Root, false) {
                Placed::Yes => {}
                Placed::No => continue,
                Placed::Full => has_room = false,
            }
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    rest.push((entry.path(), level + 1));
                }
            }
            // While it was listed.
            if root.depth.is_none() && is_clone(&folder) {
                self.add(folder);
            }
        }
        has_room
    }

    /// Adds a folder that is or will be a repository.
    pub(crate) fn add(&mut self, folder: PathBuf) {
        let now = Instant::now();
        self.candidates.entry(folder).or_insert_with_key(|folder| Candidate {
            since: now,
            next: now,
            seen: look(folder),
            changed: now,
            queued: None,
        });
    }

    /// Returns the time of the next look.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.candidates.values().map(|candidate| candidate.next).min()
    }

    /// Returns what to look at of those that are due, and forgets those that are known now, or gone.
    pub(crate) fn due(&mut self, known: &HashSet<PathBuf>) -> Vec<Change> {
        let now = Instant::now();
        let mut changes = Vec::new();
        self.candidates.retain(|folder, candidate| {
            if known.contains(folder) || !folder.is_dir() {
                return false;
            }
            if now < candidate.next {
                return true;
            }
            let seen = look(folder);
            if seen != candidate.seen {
                candidate.changed = now;
                candidate.seen = seen;
            }
            candidate.next = now + ((now - candidate.since) / 20).clamp(LOOK.0, LOOK.1);
            let seen = &candidate.seen;
            let is_quiet = now >= candidate.changed + QUIET;
            if candidate.queued.as_ref() != Some(seen) && (seen.is_complete || is_quiet) {
                candidate.queued = Some(seen.clone());
                changes.extend(folder.to_str().map(|folder| Change {
                    source: folder.to_owned(),
                    paths: None,
                    reason: Reason::Watched,
                }));
            }
            true
        });
        changes
    }
}

/// Returns whether a folder is a clone, or is becoming one.
fn is_clone(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok() || GitData::bare(folder).is_some()
}

fn look(folder: &Path) -> Seen {
    // A worktree's data are elsewhere, and name it.
    let mut trust = Trust::known(Vec::new());
    let git = GitData::of(folder, &mut trust).ok().flatten();
    let bare = || GitData::bare(folder);
    let is_complete = match git.as_ref().filter(|git| git.has_head()) {
        Some(git) => {
            let own = git.own();
            own.join("index").exists() && !own.join("index.lock").exists()
        }
        None => bare().is_some_and(|bare| bare.commit(&mut trust).ok().flatten().is_some()),
    };
    let place = git.or_else(bare);
    let mut paths = vec![folder.to_owned(), folder.join(".git")];
    if let Some(git) = place {
        let own = git.own();
        paths.extend(
            ["HEAD", "index", "index.lock", "packed-refs", "refs/heads", "objects/pack"]
                .map(|name| own.join(name)),
        );
        // A pack that is being fetched.
        let pack = fs::read_dir(own.join("objects/pack"));
        let packs = pack.into_iter().flatten().flatten().map(|entry| entry.path());
        paths.extend(packs.filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmp_"))
        }));
    }
    let times = paths.iter().map(|path| {
        let found = path.symlink_metadata().ok()?;
        Some((found.len(), found.mtime(), found.mtime_nsec()))
    });
    Seen { times: times.collect(), is_complete }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_is_complete_when_its_files_are_checked_out() {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().canonicalize().unwrap();
        let git = at.join(".git");
        for folder in ["objects/pack", "refs/heads"] {
            fs::create_dir_all(git.join(folder)).unwrap();
        }
        assert!(!look(&at).is_complete);
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let before = look(&at);
        assert!(!before.is_complete);
        fs::write(git.join("objects/pack/tmp_pack_1"), "some").unwrap();
        let fetching = look(&at);
        assert_ne!(before, fetching);
        fs::write(git.join("objects/pack/tmp_pack_1"), "some more").unwrap();
        assert_ne!(fetching, look(&at));
        fs::write(git.join("index.lock"), "").unwrap();
        assert!(!look(&at).is_complete);
        fs::rename(git.join("index.lock"), git.join("index")).unwrap();
        assert!(look(&at).is_complete);
        fs::write(git.join("index.lock"), "").unwrap();
        assert!(!look(&at).is_complete);
    }

    #[test]
    fn a_bare_clone_is_complete_when_it_has_its_commit() {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().canonicalize().unwrap();
        for folder in ["objects/pack", "refs/heads"] {
            fs::create_dir_all(at.join(folder)).unwrap();
        }
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert!(is_clone(&at) && !look(&at).is_complete);
        fs::write(at.join("refs/heads/main"), "0123456789abcdef0123456789abcdef01234567").unwrap();
        assert!(look(&at).is_complete);
    }
}
