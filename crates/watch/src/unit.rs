//! A checkout or bare clone: which of its folders are to be watched, and what of it has changed.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use git::checkout::{GitData, Trust};
use ingest::watched::WatchedFolder;
use store::{Change, Reason};

use crate::hub::{Hub, Placed};
use crate::state::{Dirty, MOST_PATHS, Owner, Role};
use crate::still::Stillness;
use crate::system;

/// Most folders of branches and tags of a clone that are watched.
const MOST_REFS: usize = 5000;

/// A checkout or bare clone that is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// Its folder.
    pub folder: PathBuf,
    /// Whether it is a repository, and not a worktree of one.
    pub is_main: bool,
    /// Whether ignore files do not apply.
    pub no_ignore: bool,
    /// Whether its files are those of a commit.
    pub from_commit: bool,
    /// Folders outside of it whose git data may be read.
    pub git_folders: Vec<PathBuf>,
    /// The folders of other repositories and worktrees inside of it.
    pub inside: Vec<PathBuf>,
}

/// How changes of its files are noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// By events.
    Watched,
    /// By looking at it from time to time, for this reason.
    Polled(String),
}

/// A checkout or bare clone that is watched.
pub(crate) struct Unit {
    pub(crate) spec: Checkout,
    pub(crate) number: usize,
    git: Option<GitData>,
    /// Hashes of the paths that git tracks, sorted; `None` if they were not read yet.
    tracked: Option<Vec<u64>>,
    /// What distinguishes its folder from another one.
    identity: Option<(u64, u64)>,
    pub(crate) how: How,
    /// Whether its file system tells of what happens here alone, so that it is polled, too.
    pub(crate) silent: Option<&'static str>,
    pub(crate) still: Stillness,
    /// Number of its folders with files, as far as they are watched.
    pub(crate) folders: usize,
    /// Number of its folders with files when they did not fit.
    pub(crate) needs: usize,
    /// When it was placed under watch.
    pub(crate) placed: Option<Instant>,
    /// All that changed before this was passed on.
    pub(crate) told_until: Option<SystemTime>,
}

impl Unit {
    pub(crate) fn new(number: usize, spec: Checkout) -> Self {
        let mut unit = Self {
            spec,
            number,
            git: None,
            tracked: None,
            identity: None,
            how: How::Watched,
            silent: None,
            still: Stillness::default(),
            folders: 0,
            needs: 0,
            placed: None,
            told_until: None,
        };
        unit.find();
        unit
    }

    /// Finds its git data.
    fn find(&mut self) {
        let folder = &self.spec.folder;
        let mut trust = Trust::known(self.spec.git_folders.clone());
        let data = GitData::of(folder, &mut trust).ok().flatten().filter(GitData::has_head);
        self.git = data.or_else(|| GitData::bare(folder));
        self.identity = system::identity(folder);
        self.silent = system::silent(folder);
    }

    fn owner(&self) -> Owner {
        Owner::Unit(self.number)
    }

    /// Returns its files, for a walk.
    pub(crate) fn files(&self) -> WatchedFolder {
        let Checkout { folder, inside, no_ignore, git_folders, .. } = &self.spec;
        WatchedFolder::new(folder, inside, *no_ignore, git_folders.clone())
    }

    /// Returns whether another folder has come to its path, or none is there any more.
    pub(crate) fn has_moved(&self) -> bool {
        system::identity(&self.spec.folder) != self.identity
    }

    /// Returns whether git is changing it.
    pub(crate) fn waits(&mut self, times: (Instant, Instant)) -> bool {
        let Some(git) = &self.git else { return false };
        self.still.waits(git.own(), times)
    }

    /// Returns the number of its folders with files.
    pub(crate) fn count(&self, stop: &AtomicBool) -> usize {
        let count = AtomicUsize::new(0);
        self.files().folders(None, &|_| {
            count.fetch_add(1, Ordering::Relaxed);
            if stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        count.into_inner()
    }

    /// Ends watching its folders with files, except its own.
    pub(crate) fn leave_work(&mut self, hub: &mut Hub, why: String) {
        let top = self.spec.folder.clone();
        hub.remove(self.owner(), |path, role| role == Role::Work && path != top);
        self.folders = 0;
        self.how = How::Polled(why);
    }

    /// Ends watching it.
    pub(crate) fn leave(&self, hub: &mut Hub) {
        hub.remove(self.owner(), |_, _| true);
    }

    /// Returns why it is polled; `None` if events tell of all changes.
    pub(crate) fn polled_why(&self) -> Option<String> {
        match (&self.how, self.silent) {
            (How::Polled(why), _) => Some(why.clone()),
            (How::Watched, Some(system)) => {
                Some(format!("its file system ({system}) does not tell what others change"))
            }
            (How::Watched, None) => None,
        }
    }

    /// Watches its folder and its git data. Returns whether there is room for that.
    pub(crate) fn place_git(&mut self, hub: &mut Hub) -> bool {
        self.find();
        let top = self.spec.folder.clone();
        let is_bare = self.git.as_ref().is_some_and(|git| git.own() == top);
        let (mut has_room, mut kept) = (true, HashSet::new());
        let owner = self.owner();
        let mut place = |folder: &Path, role, is_top| {
            if !kept.contains(folder) && folder.symlink_metadata().is_ok() {
                has_room &= hub.place(folder, owner, role, is_top) != Placed::Full;
                kept.insert(folder.to_owned());
            }
        };
        place(&top, if is_bare { Role::Git } else { Role::Work }, true);
        if let Some(git) = &self.git {
            place(git.own(), Role::Git, is_bare);
            // Those of a worktree's clone are those of its repository.
            if self.spec.is_main {
                let common = git.common();
                place(common, Role::Git, is_bare && common == top);
                place(&common.join("info"), Role::Info, false);
                place(&common.join("worktrees"), Role::Worktrees, false);
                folders_below(&common.join("refs"), &mut |folder| place(folder, Role::Refs, false));
            }
        }
        hub.remove(owner, |path, role| role != Role::Work && !kept.contains(path));
        has_room
    }

    /// Watches its folders with files that no rule leaves out. Returns whether there is room for that; if not, none but its
    /// own folder is watched.
    pub(crate) fn place_work(&mut self, hub: &mut Hub, stop: &AtomicBool) -> bool {
        let top = self.spec.folder.clone();
        if self.spec.from_commit {
            hub.remove(self.owner(), |path, role| role == Role::Work && path != top);
            self.folders = 0;
            return true;
        }
        let seen = Mutex::new(HashSet::new());
        let has_room = self.place_below(None, hub, stop, Some(&seen));
        let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.folders = seen.len();
        hub.remove(self.owner(), |path, role| {
            role == Role::Work && path != top && !(has_room && seen.contains(path))
        });
        has_room
    }

    /// Watches the folders with files: all, or those at some paths and below them.
    fn place_below(
        &mut self,
        only: Option<&[PathBuf]>,
        hub: &mut Hub,
        stop: &AtomicBool,
        seen: Option<&Mutex<HashSet<PathBuf>>>,
    ) -> bool {
        let (owner, top) = (self.owner(), &self.spec.folder);
        let hub = Mutex::new(hub);
        let (is_full, count) = (AtomicBool::new(false), AtomicUsize::new(0));
        self.files().folders(only, &|folder| {
            let mut hub = hub.lock().unwrap_or_else(PoisonError::into_inner);
            // Before it is listed: of what appears later, an event tells.
            let placed = hub.place(folder, owner, Role::Work, folder == top);
            drop(hub);
            count.fetch_add(1, Ordering::Relaxed);
            if let Some(seen) = seen {
                seen.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned());
            }
            is_full.fetch_or(placed == Placed::Full, Ordering::Relaxed);
            if placed == Placed::Full || stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        self.folders += count.into_inner();
        !is_full.into_inner()
    }

    /// Watches those of some paths that are folders now. Returns whether there is room for that.
    pub(crate) fn place_new(
        &mut self,
        paths: impl Iterator<Item = PathBuf>,
        hub: &mut Hub,
        stop: &AtomicBool,
    ) -> bool {
        let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let below = |path: PathBuf| Some(path.strip_prefix(&self.spec.folder).ok()?.to_owned());
        let folders: Vec<PathBuf> = paths.filter(is_folder).filter_map(below).collect();
        folders.is_empty() || self.place_below(Some(&folders), hub, stop, None)
    }

    /// Reads which paths git tracks, and adds those to the changed ones that it tracks since the last time. If it tracks some
    /// no more, nobody knows which.
    pub(crate) fn read_index(&mut self, hub: &Hub, dirty: Option<&mut Dirty>) {
        let Some(git) = self.git.as_ref().filter(|_| !self.spec.from_commit) else { return };
        let mut trust = Trust::known(self.spec.git_folders.clone());
        let _ = GitData::of(&self.spec.folder, &mut trust);
        let config = git.config(&mut trust).ok().flatten();
        let Ok(found) = git.tracked(config.as_ref(), &mut trust) else {
            // It is damaged, or was replaced meanwhile.
            self.tracked = None;
            dirty.into_iter().for_each(Dirty::all);
            return;
        };
        let hash = |path: &[u8]| {
            let mut hash = DefaultHasher::new();
            path.hash(&mut hash);
            hash.finish()
        };
        let mut now: Vec<u64> = found.paths().map(hash).collect();
        now.sort_unstable();
        if let Some(dirty) = dirty.filter(|dirty| !dirty.all) {
            let Some(before) = &self.tracked else {
                dirty.all();
                self.tracked = Some(now);
                return;
            };
            let mut new = 0;
            for path in found.paths().filter(|path| before.binary_search(&hash(path)).is_err()) {
                new += 1;
                let path = std::str::from_utf8(path).map(|path| self.spec.folder.join(path));
                if let (Ok(path), true) = (path, new <= MOST_PATHS) {
                    dirty.path(&path);
                    // It may be in a folder that was left out.
                    let around: Vec<&Path> = path.ancestors().skip(1).collect();
                    let mut around = around.into_iter().rev();
                    let is_new = |folder: &&Path| {
                        folder.starts_with(&self.spec.folder) && !hub.is_watched(folder)
                    };
                    if let Some(folder) = around.find(is_new) {
                        dirty.folders.insert(folder.to_owned());
                    }
                } else {
                    dirty.all();
                    dirty.replan();
                    break;
                }
            }
            if before.len() + new != now.len() {
                dirty.all();
                dirty.replan();
            }
        }
        self.tracked = Some(now);
    }

    /// Returns what to look at.
    pub(crate) fn change(&self, dirty: &Dirty) -> Option<Change> {
        let of = |paths| Change {
            source: self.spec.folder.to_string_lossy().into_owned(),
            paths,
            reason: Reason::Watched,
        };
        // Git tells of changes of files that are not watched.
        let is_blind = self.how != How::Watched && (dirty.git || dirty.index);
        if dirty.all || is_blind || (self.spec.from_commit && dirty.git) {
            return Some(of(None));
        }
        if self.spec.from_commit || (!dirty.git && dirty.paths.is_empty()) {
            return None;
        }
        let mut paths = Vec::new();
        for path in &dirty.paths {
            // Of a name that is not UTF-8, the folder around it tells.
            let named = path.ancestors().find_map(|path| {
                let below = path.strip_prefix(&self.spec.folder).ok()?;
                Some(below.to_str()?.to_owned())
            });
            match named.as_deref() {
                None | Some("") => return Some(of(None)),
                Some(_) => paths.extend(named),
            }
        }
        paths.dedup();
        Some(of(Some(paths)))
    }

    /// Returns what is polled of it.
    pub(crate) fn polled(&self) -> Polled {
        let files = (!self.spec.from_commit).then(|| Arc::new(self.files()));
        Polled { files, git: self.git.clone(), is_main: self.spec.is_main }
    }
}

/// What is polled of a checkout or bare clone.
#[derive(Clone)]
pub(crate) struct Polled {
    files: Option<Arc<WatchedFolder>>,
    git: Option<GitData>,
    is_main: bool,
}

impl Polled {
    /// Returns a hash of what `stat` says of its files and git data; `None` if `stop` was set meanwhile.
    pub(crate) fn state(&self, stop: &AtomicBool) -> Option<u64> {
        let mut hash = DefaultHasher::new();
        if let Some(files) = &self.files {
            files.state(stop)?.hash(&mut hash);
        }
        if let Some(git) = &self.git {
            let stat = |path: &Path, hash: &mut DefaultHasher| {
                let found = path.symlink_metadata().ok();
                let found = found
                    .map(|found| (found.ino(), found.len(), found.ctime(), found.ctime_nsec()));
                found.hash(hash);
            };
            for name in ["HEAD", "index"] {
                stat(&git.own().join(name), &mut hash);
            }
            if self.is_main {
                for name in
                    ["packed-refs", "config", "info/exclude", "info/attributes", "worktrees"]
                {
                    stat(&git.common().join(name), &mut hash);
                }
                folders_below(&git.common().join("refs"), &mut |folder| {
                    let Ok(entries) = fs::read_dir(folder) else { return };
                    let mut paths: Vec<PathBuf> =
                        entries.flatten().map(|entry| entry.path()).collect();
                    paths.sort();
                    for path in paths {
                        path.hash(&mut hash);
                        stat(&path, &mut hash);
                    }
                });
            }
        }
        Some(hash.finish())
    }
}

/// Passes a folder, and those below it, to `each`, each before it is listed, in the order of their paths.
fn folders_below(folder: &Path, each: &mut dyn FnMut(&Path)) {
    let mut rest = vec![folder.to_owned()];
    for _ in 0..MOST_REFS {
        let Some(folder) = rest.pop() else { return };
        each(&folder);
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let mut inside: Vec<PathBuf> =
            entries.flatten().filter(is_folder).map(|entry| entry.path()).collect();
        inside.sort();
        rest.extend(inside.into_iter().rev());
    }
}
