//! What is watched, and what events have said of it since somebody looked.
//!
//! Events only mark; who handles them looks at the files themselves. So it does not matter if an event comes late, twice, or
//! after another one has made it untrue.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::event::{Event, What};

/// Number of changed paths of a checkout from which all of it is looked at.
pub(crate) const MOST_PATHS: usize = 1000;

/// Number of changed files that somebody saves at once.
const SMALL: usize = 8;

/// The number of a checkout, or of a folder in which repositories are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Owner {
    /// A checkout or a bare clone.
    Unit(usize),
    /// A folder that was ingested, outside of the repositories in it.
    Root(usize),
}

/// What a watched folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Files of a checkout.
    Work,
    /// Git data: `HEAD`, `index`, `packed-refs`, `config`.
    Git,
    /// Branches and tags.
    Refs,
    /// Git's `info`: `exclude`, `attributes`.
    Info,
    /// The list of worktrees.
    Worktrees,
    /// Repositories, or folders with some.
    Root,
}

/// A watched folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) owner: Owner,
    pub(crate) role: Role,
    /// Whether it is the folder of the checkout or bare clone itself.
    pub(crate) is_top: bool,
    /// The watcher that has it.
    pub(crate) watcher: usize,
}

/// What has changed of a checkout.
#[allow(clippy::struct_excessive_bools, reason = "events set each of them alone")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dirty {
    /// When that was first and last noticed.
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    /// Whether any file may have changed.
    pub(crate) all: bool,
    /// Whether other folders may be to be watched.
    pub(crate) replan: bool,
    /// Whether its commit, its branches or its worktrees may be others.
    pub(crate) git: bool,
    /// Whether git's index was written.
    pub(crate) index: bool,
    /// Changed files and folders; with a folder, all in it.
    pub(crate) paths: BTreeSet<PathBuf>,
    /// Of these, those that may be folders which nobody watches.
    pub(crate) folders: BTreeSet<PathBuf>,
}

impl Dirty {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            first: now,
            last: now,
            all: false,
            replan: false,
            git: false,
            index: false,
            paths: BTreeSet::new(),
            folders: BTreeSet::new(),
        }
    }

    /// Returns whether no more than a few files have changed.
    pub(crate) fn is_small(&self) -> bool {
        let is_wide = self.all || self.replan || self.git || self.index;
        !is_wide && self.paths.len() <= SMALL
    }

    pub(crate) fn path(&mut self, path: &Path) {
        if !self.all {
            self.paths.insert(path.to_owned());
            if self.paths.len() > MOST_PATHS {
                self.all();
            }
        }
    }

    pub(crate) fn folder(&mut self, path: &Path) {
        self.path(path);
        if !self.replan {
            self.folders.insert(path.to_owned());
            if self.folders.len() > MOST_PATHS {
                self.replan();
            }
        }
    }

    pub(crate) fn all(&mut self) {
        self.all = true;
        self.paths.clear();
    }

    pub(crate) fn replan(&mut self) {
        self.replan = true;
        self.folders.clear();
    }
}

/// What is watched, and what has changed.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) folders: BTreeMap<PathBuf, Watched>,
    pub(crate) dirty: BTreeMap<usize, Dirty>,
    /// Paths in folders of [`Role::Root`] at which a repository may have appeared, and when that was first and last noticed.
    pub(crate) touched: BTreeMap<PathBuf, (Instant, Instant)>,
    /// Watchers that have lost events.
    pub(crate) lost: BTreeSet<usize>,
    /// Folders that are forgotten, with the watchers that may go on to watch them.
    pub(crate) ended: Vec<(PathBuf, usize)>,
    /// Number of events that marked something.
    pub(crate) events: u64,
}

impl State {
    /// Returns what has changed of a checkout, to add to it.
    pub(crate) fn mark(&mut self, unit: usize, now: Instant) -> &mut Dirty {
        let dirty = self.dirty.entry(unit).or_insert_with(|| Dirty::new(now));
        dirty.last = now;
        dirty
    }

    /// Marks what events of a watcher tell. Returns whether they tell anything.
    pub(crate) fn note(&mut self, watcher: usize, events: &[Event], now: Instant) -> bool {
        let before = self.events;
        for event in events {
            match event {
                Event::At(path, what) => self.path(path, *what, now),
                Event::Lost => {
                    self.lost.insert(watcher);
                    self.events += 1;
                }
            }
        }
        self.events != before
    }

    /// Forgets a folder and all below it, which are not there any more. If it was renamed, the system goes on to watch all
    /// of them, by paths that are no longer true.
    fn forget(&mut self, folder: &Path, now: Instant) {
        let below = self.folders.range(folder.to_owned()..);
        let below: Vec<PathBuf> = below
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(folder))
            .cloned()
            .collect();
        for path in below {
            let Some(watched) = self.folders.remove(&path) else { continue };
            self.ended.push((path, watched.watcher));
            let Owner::Unit(unit) = watched.owner else { continue };
            if watched.is_top || watched.role == Role::Git {
                let dirty = self.mark(unit, now);
                dirty.all();
                dirty.replan();
            } else if watched.role != Role::Work {
                let dirty = self.mark(unit, now);
                dirty.git = true;
                dirty.replan();
            }
        }
    }

    fn path(&mut self, path: &Path, what: What, now: Instant) {
        let itself = self.folders.get(path).copied();
        let above = path.parent().and_then(|above| self.folders.get(above)).copied();
        if itself.is_some() && what == What::Went {
            self.forget(path, now);
            self.events += 1;
        }
        if let Some(above) = above {
            self.inside(above, path, what, itself.is_some(), now);
        }
        if let Some(itself) = itself
            && above.is_none_or(|above| above.owner != itself.owner)
        {
            self.itself(itself, path, what, now);
        }
    }

    /// Marks what happened to a watched folder that no folder of the same checkout holds.
    fn itself(&mut self, watched: Watched, path: &Path, what: What, now: Instant) {
        let unit = match watched.owner {
            Owner::Root(_) if what == What::Changed => return,
            Owner::Root(_) => return self.touch(path.to_owned(), now),
            Owner::Unit(unit) => unit,
        };
        let dirty = self.mark(unit, now);
        dirty.all();
        dirty.replan();
        self.events += 1;
    }

    /// Marks what happened at a path in a watched folder, which may be one itself.
    fn inside(
        &mut self,
        watched: Watched,
        path: &Path,
        what: What,
        is_watched: bool,
        now: Instant,
    ) {
        let Some(name) = path.file_name() else { return };
        let unit = match watched.owner {
            Owner::Root(_) => return self.in_root(path, name, what, now),
            Owner::Unit(unit) => unit,
        };
        match (watched.role, name.as_encoded_bytes()) {
            (Role::Work, b".git") if what != What::Changed => {
                let dirty = self.mark(unit, now);
                dirty.all();
                dirty.replan();
                if let Some(above) = path.parent().filter(|_| !watched.is_top) {
                    self.touch(above.to_owned(), now);
                }
            }
            (Role::Work, b".git") => return,
            (Role::Work, b".gitignore" | b".ignore" | b".codesearchignore") => {
                // An ingest knows that it decides about all in its folder.
                let dirty = self.mark(unit, now);
                dirty.path(path);
                dirty.replan();
            }
            (Role::Work, _) => {
                let dirty = self.mark(unit, now);
                if is_watched || !matches!(what, What::Changed | What::Came { is_file: true }) {
                    dirty.folder(path);
                } else {
                    dirty.path(path);
                }
            }
            (Role::Git, b"HEAD" | b"packed-refs") => self.mark(unit, now).git = true,
            (Role::Git, b"index") => self.mark(unit, now).index = true,
            (Role::Git, b"config" | b"config.worktree" | b"gitdir" | b"commondir") => {
                let dirty = self.mark(unit, now);
                dirty.git = true;
                dirty.all();
            }
            (Role::Git, b"refs" | b"info" | b"worktrees") if what != What::Changed => {
                let dirty = self.mark(unit, now);
                dirty.git = true;
                dirty.replan();
            }
            // Who waits for git to end looks again.
            (Role::Git, b"index.lock" | b"rebase-merge" | b"rebase-apply")
                if self.dirty.contains_key(&unit) => {}
            (Role::Refs | Role::Worktrees, name) if !name.ends_with(b".lock") => {
                let dirty = self.mark(unit, now);
                dirty.git = true;
                if !matches!(what, What::Changed | What::Came { is_file: true }) {
                    dirty.replan();
                }
            }
            (Role::Info, b"exclude" | b"attributes") => {
                let dirty = self.mark(unit, now);
                dirty.all();
                dirty.replan();
            }
            _ => return,
        }
        self.events += 1;
    }

    fn in_root(&mut self, path: &Path, name: &OsStr, what: What, now: Instant) {
        if what == What::Changed {
            return;
        }
        match name.as_encoded_bytes() {
            // The folder around it may be a clone now, or none any more.
            b".git" | b"HEAD" | b"objects" | b"refs" => {
                if let Some(above) = path.parent() {
                    self.touch(above.to_owned(), now);
                }
            }
            _ if what == (What::Came { is_file: true }) => return,
            _ => self.touch(path.to_owned(), now),
        }
        self.events += 1;
    }

    fn touch(&mut self, path: PathBuf, now: Instant) {
        self.touched.entry(path).or_insert((now, now)).1 = now;
        self.events += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkout in `/r`, whose folder `/r/sub` and git data are watched.
    fn state() -> State {
        let mut state = State::default();
        let owner = Owner::Unit(0);
        for (path, role, is_top) in [
            ("/r", Role::Work, true),
            ("/r/sub", Role::Work, false),
            ("/r/sub/deep", Role::Work, false),
            ("/r/.git", Role::Git, false),
            ("/r/.git/refs", Role::Refs, false),
        ] {
            state.folders.insert(path.into(), Watched { owner, role, is_top, watcher: 0 });
        }
        state
    }

    fn note(state: &mut State, what: What, path: &str) -> bool {
        state.note(0, &[Event::At(path.into(), what)], Instant::now())
    }

    const SAVED: What = What::Changed;
    const CAME: What = What::Came { is_file: false };
    const WENT: What = What::Went;

    #[test]
    fn what_concerns_no_file_marks_nothing() {
        let mut state = state();
        for path in [
            "/r/.git/COMMIT_EDITMSG",
            "/r/.git/refs/main.lock",
            "/elsewhere/file",
            "/r/.git/index.lock",
        ] {
            assert!(!note(&mut state, SAVED, path), "{path}");
        }
        assert!(state.dirty.is_empty());
    }

    #[test]
    fn what_is_marked_depends_on_the_place() {
        let marked = |what, path: &str| {
            let mut state = state();
            assert!(note(&mut state, what, path), "{path}");
            let dirty = &state.dirty[&0];
            let of = |paths: &BTreeSet<PathBuf>| {
                paths
                    .iter()
                    .map(|path| path.to_str().unwrap().to_owned())
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            let flags = [
                (dirty.all, "all"),
                (dirty.replan, "replan"),
                (dirty.git, "git"),
                (dirty.index, "index"),
            ];
            let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name);
            format!(
                "{}|{}|{}",
                flags.collect::<Vec<_>>().join(" "),
                of(&dirty.paths),
                of(&dirty.folders)
            )
        };
        assert_eq!(marked(SAVED, "/r/sub/file"), "|/r/sub/file|");
        assert_eq!(marked(CAME, "/r/sub/new"), "|/r/sub/new|/r/sub/new");
        assert_eq!(marked(WENT, "/r/sub"), "|/r/sub|/r/sub");
        assert_eq!(marked(WENT, "/r"), "all replan git||");
        assert_eq!(marked(SAVED, "/r/sub/.gitignore"), "replan|/r/sub/.gitignore|");
        assert_eq!(marked(CAME, "/r/.git/HEAD"), "git||");
        assert_eq!(marked(CAME, "/r/.git/index"), "index||");
        assert_eq!(marked(CAME, "/r/.git/config"), "all git||");
        assert_eq!(marked(CAME, "/r/.git/refs/main"), "replan git||");
        assert_eq!(marked(CAME, "/r/sub/.git"), "all replan||");
    }

    #[test]
    fn what_is_in_a_folder_that_went_is_watched_no_more() {
        let mut state = state();
        note(&mut state, WENT, "/r/sub");
        let left: Vec<&str> = state.folders.keys().filter_map(|path| path.to_str()).collect();
        assert_eq!(left, ["/r", "/r/.git", "/r/.git/refs"]);
        assert_eq!(state.ended, [("/r/sub".into(), 0), ("/r/sub/deep".into(), 0)]);
    }

    #[test]
    fn many_paths_are_all() {
        let mut state = state();
        for n in 0..=MOST_PATHS {
            note(&mut state, CAME, &format!("/r/sub/{n}"));
        }
        let dirty = &state.dirty[&0];
        assert!(dirty.all && dirty.replan && dirty.paths.is_empty() && dirty.folders.is_empty());
    }
}
