//! A folder on disk as a source of files: walks it by path and `stat`, and reads files beneath it.
//!
//! Of a clone, it lists what git tracks, and what git does not track and no ignore file names ([`super::rules`]).

use std::collections::HashSet;
use std::fs::{DirEntry, FileType};
use std::io::Read;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use git::checkout::{Config, GitData, Tracked, Trust, Unread};
use git::ignore::{Rules, Verdict};
use git::user::Excludes;

use super::rules::{self, Cause, Level, Ruleset, bytes_of};
use super::scope::{Scope, Wanted};
use super::still::{self, Stillness};
use super::{Entry, FileContents, FileSource, Listing, Reader, Skipped, tree};
use crate::cores;
use files::beneath::{self, Folder};
use files::{SkipReason, fingerprint, times};

/// Maximum number of attempts to read a file that changes meanwhile.
const ATTEMPTS: usize = 3;

/// A folder whose files are a repository.
pub(crate) struct FolderSource {
    folder: PathBuf,
    /// Other repositories inside it.
    inside: HashSet<PathBuf>,
    choice: Choice,
    /// Paths in it to which the list is limited; `None` for all.
    only: Option<Vec<PathBuf>>,
    still: Stillness,
}

/// Which of a folder's files are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// Whether ignore files do not apply.
    pub(crate) no_ignore: bool,
    /// Whether files that look like secrets are left out.
    pub(crate) skips_secrets: bool,
    /// Folders outside of the checkout whose git data may be read.
    pub(crate) git_folders: Vec<PathBuf>,
    /// The ignore rules of the user.
    pub(crate) of_user: Arc<Excludes>,
}

/// A folder that is not listed yet.
struct Unlisted {
    path: PathBuf,
    /// The rules for it, without those in it.
    level: Level,
    /// The tracked files below it.
    tracked: Range<usize>,
    /// Whether git tracks everything below it, as a folder of a sparse index.
    is_sparse: bool,
    /// Whether all of it is wanted, and not only some of what is in it.
    is_whole: bool,
}

/// A walk through the folder.
struct Walk<'w> {
    source: &'w FolderSource,
    tracked: Tracked,
    /// `None` if ignore files do not apply.
    rules: Option<Ruleset>,
    attributes: Ruleset,
    seen: &'w (dyn Fn(Entry) -> ControlFlow<()> + Sync),
    /// The paths to which the list is limited, if it is.
    scope: Option<Scope>,
    /// Of a walk that only looks for folders: called with each of them before it is listed.
    folders: Option<EachFolder<'w>>,
}

/// A function that is called with folders, from several threads.
pub(crate) type EachFolder<'w> = &'w (dyn Fn(&Path) -> ControlFlow<()> + Sync);

/// What git knows of a clone.
#[derive(Default)]
struct View {
    tracked: Tracked,
    /// Rules that stand in no folder; `None` if git's rules do not apply.
    rules: Option<Vec<Arc<Rules>>>,
    folds_case: bool,
    /// The clone's own rules, if they cannot be read.
    broken: Option<Unread>,
    /// Whether attributes outside of the checkout may have git write other contents of the same size to files.
    converts: bool,
    /// Whether git tracks other contents than at the last list.
    is_other: bool,
}

impl FolderSource {
    /// Makes a source of the files of a folder, except those of other checkouts inside it, which are among the folders
    /// of `all` repositories.
    pub(crate) fn new(folder: &Path, all: &[PathBuf], choice: Choice) -> Self {
        let is_inside = |other: &&PathBuf| *other != folder && other.starts_with(folder);
        let inside = all.iter().filter(is_inside).cloned().collect();
        let still = Stillness::default();
        Self { folder: folder.to_owned(), inside, choice, only: None, still }
    }

    /// Limits the list to some paths and what is below them. No ignore file outside of them has changed.
    pub(crate) fn only(mut self, paths: &[String]) -> Self {
        self.only = Some(paths.iter().map(PathBuf::from).collect());
        self
    }

    fn trust(&self) -> Trust {
        Trust::known(self.choice.git_folders.clone())
    }

    /// Reads what git knows of the folder; nothing if it is no clone.
    ///
    /// # Errors
    /// The part that cannot be read. Without it, nobody knows what is tracked.
    fn view(&self) -> Result<View, Unread> {
        let mut trust = self.trust();
        let Some(data) = GitData::of(&self.folder, &mut trust)?.filter(GitData::has_head) else {
            return Ok(View::default());
        };
        // If it cannot be read, `find` has told it.
        let config = data.config(&mut trust).ok().flatten();
        let folds_case = config.as_ref().is_some_and(Config::folds_case);
        let tracked = data.tracked(config.as_ref(), &mut trust)?;
        let is_other = self.still.read(&self.folder, &tracked);
        let (mut found, mut broken) = (Vec::new(), None);
        let read = |path: PathBuf| match beneath::read(&path, rules::MAX_FILE_BYTES) {
            Err(SkipReason::Vanished) => Ok(None),
            read => read.map(Some),
        };
        let unread = |reason| Unread { path: ".git/info/exclude".to_owned(), reason };
        let text = data
            .exclude(&mut trust)
            .and_then(|path| path.map_or(Ok(None), |path| read(path).map_err(unread)));
        match text {
            Ok(text) => found
                .extend(text.map(|text| Rules::parse(&text, ".git/info/exclude", b"", folds_case))),
            Err(part) => broken = Some(part),
        }
        if let Some((path, text)) = &*self.choice.of_user {
            found.push(Rules::parse(text, &path.to_string_lossy(), b"", folds_case));
        }
        let rules = Some(found.into_iter().map(Arc::new).collect());
        let converts = data.converts(&mut trust) || git::user::converts();
        Ok(View { tracked, rules, folds_case, broken, converts, is_other })
    }
}

impl Walk<'_> {
    /// Lists a folder, and adds those in it that are not left out.
    fn visit(&self, part: Unlisted, more: &mut Vec<Unlisted>) -> ControlFlow<()> {
        let Unlisted { path, mut level, tracked, is_sparse, mut is_whole } = part;
        if let Some(each) = self.folders.filter(|_| is_whole) {
            each(&path)?;
        }
        let listed =
            std::fs::read_dir(&path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let Ok(entries) = listed else {
            return (self.seen)(Entry::unknown(self.below(&path), SkipReason::Unreadable));
        };
        let mut broken = Vec::new();
        if let Some(rules) = &self.rules {
            let mut names = Vec::new();
            for entry in &entries {
                let name = entry.file_name();
                // Git follows no links to them, either. A folder has no rules.
                if rules.reads(&name)
                    && entry.file_type().is_ok_and(|kind| !kind.is_symlink() && !kind.is_dir())
                {
                    names.push(name.to_string_lossy().into_owned());
                }
            }
            broken = level.read(rules, &names);
            for (path, reason) in &broken {
                if !is_whole && self.wanted(path) != Wanted::All {
                    continue;
                }
                let rule = "untracked files in its folder are left out, too".to_owned();
                (self.seen)(Entry { rule: Some(rule), ..Entry::unknown(path, *reason) })?;
            }
        }
        match entries.iter().find(|entry| entry.file_name() == rules::ATTRIBUTES) {
            Some(entry) if entry.file_type().is_ok_and(|kind| kind.is_file()) => {
                level.read_attributes(&self.attributes);
            }
            Some(_) => level.convert(),
            // Git takes those that it tracks.
            None => {
                let below = self.below(&path).join(rules::ATTRIBUTES);
                if self.tracked.has(bytes_of(&below), &tracked) {
                    level.convert();
                }
            }
        }
        let level = Arc::new(level);
        if !is_whole && self.rules.as_ref().is_some_and(|rules| level.ignored(rules).is_some()) {
            // It has a row as long as any untracked file is in it.
            self.widen(self.below(&path));
            is_whole = true;
        }
        for entry in entries {
            if entry.file_name() == ".git" {
                continue;
            }
            let path = entry.path();
            let wanted = if is_whole { Wanted::All } else { self.wanted(self.below(&path)) };
            if wanted == Wanted::Nothing {
                continue;
            }
            let Ok(kind) = entry.file_type() else {
                (self.seen)(Entry::unknown(self.below(&path), SkipReason::Unreadable))?;
                continue;
            };
            if broken.iter().any(|(broken, _)| broken == self.below(&path)) {
                continue;
            }
            if kind.is_dir() {
                let entered = self.enter(path, &level, &tracked, is_sparse)?;
                let is_whole = wanted == Wanted::All;
                more.extend(entered.map(|entered| Unlisted { is_whole, ..entered }));
            } else if wanted == Wanted::All && self.folders.is_none() {
                let is_tracked =
                    is_sparse || self.tracked.has(bytes_of(self.below(&path)), &tracked);
                self.file(&entry, &path, kind, &level, is_tracked.then_some(&tracked))?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns what is to be listed of a folder, if anything is.
    fn enter(
        &self,
        path: PathBuf,
        level: &Arc<Level>,
        tracked: &Range<usize>,
        is_sparse: bool,
    ) -> ControlFlow<(), Option<Unlisted>> {
        let next = ControlFlow::Continue;
        if self.source.inside.contains(&path) {
            return next(None);
        }
        let below = self.below(&path);
        let inside = self.tracked.below(bytes_of(below), tracked);
        let is_sparse = is_sparse || self.tracked.is_sparse(&inside);
        let Some(rules) = &self.rules else {
            let level = Level::below(level, below.to_owned(), None);
            return next(Some(Unlisted {
                path,
                level,
                tracked: inside,
                is_sparse,
                is_whole: true,
            }));
        };
        if self.tracked.has_submodule(bytes_of(below), tracked) {
            // It is not checked out, and git lists none of its files.
            if std::fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
                self.ignored(&below.join(""), "a submodule that is not checked out")?;
            }
            return next(None);
        }
        let said = level.said(below, true);
        if inside.is_empty() && !is_sparse {
            if let Some(cause) = level.ignored(rules) {
                self.ignored_by(cause)?;
                return next(None);
            }
            let verdict = said.clone().or_else(|| level.git_says(rules, below, true));
            if let Some(Verdict::LeftOut(rule)) = verdict {
                self.ignored(&below.join(""), &rule)?;
                return next(None);
            }
        }
        let level = Level::below(level, below.to_owned(), said);
        next(Some(Unlisted { path, level, tracked: inside, is_sparse, is_whole: true }))
    }

    /// Returns what is wanted of a path in the repository.
    fn wanted(&self, below: &Path) -> Wanted {
        self.scope.as_ref().map_or(Wanted::All, |scope| scope.wanted(below))
    }

    fn widen(&self, folder: &Path) {
        if let Some(scope) = &self.scope {
            scope.widened.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
        }
    }

    /// Passes on a file, or why it is left out. If it is tracked, its path is among those of a range.
    fn file(
        &self,
        entry: &DirEntry,
        path: &Path,
        kind: FileType,
        level: &Level,
        tracked: Option<&Range<usize>>,
    ) -> ControlFlow<()> {
        let (below, is_tracked) = (self.below(path), tracked.is_some());
        if let Some(rules) = &self.rules {
            if !is_tracked && let Some(cause) = level.ignored(rules) {
                return self.ignored_by(cause);
            }
            if is_tracked && let Some(cause) = level.excluded() {
                return self.left_out(below, SkipReason::Excluded, &cause.rule);
            }
            match level.said(below, false) {
                Some(Verdict::LeftOut(rule)) if is_tracked => {
                    return self.left_out(below, SkipReason::Excluded, &rule);
                }
                Some(Verdict::LeftOut(rule)) => return self.ignored(below, &rule),
                Some(Verdict::Taken) => {}
                None if is_tracked => {}
                None => {
                    if let Some(Verdict::LeftOut(rule)) = level.git_says(rules, below, false) {
                        return self.ignored(below, &rule);
                    }
                }
            }
        }
        if self.source.choice.skips_secrets && files::looks_secret(&below.to_string_lossy()) {
            return self.left_out(below, SkipReason::Secret, "--secrets skip");
        }
        let Ok(found) = entry.metadata() else {
            return (self.seen)(Entry::unknown(below, SkipReason::Unreadable));
        };
        let reason = match () {
            () if kind.is_symlink() => Some(SkipReason::Symlink),
            () if !kind.is_file() => Some(SkipReason::Special),
            () => None,
        };
        // A secret is known by its text.
        let may_trust = reason.is_none() && !level.converts() && !self.source.choice.skips_secrets;
        let oid = tracked
            .filter(|_| may_trust)
            .and_then(|tracked| self.tracked.oid(bytes_of(below), tracked, &found));
        let language = level.language(below);
        let entry = Entry::new(below, found.len(), fingerprint(&found), reason);
        (self.seen)(Entry { oid, may_differ: true, language, ..entry })
    }

    /// Leaves out an untracked file, or a folder whose path ends with a slash.
    fn ignored(&self, below: &Path, rule: &str) -> ControlFlow<()> {
        self.left_out(below, SkipReason::Ignored, rule)
    }

    /// Leaves out an untracked file because of its folder, which is named once.
    fn ignored_by(&self, cause: &Cause) -> ControlFlow<()> {
        match &cause.folder {
            Some(at) if !at.told.swap(true, Ordering::Relaxed) => {
                self.ignored(&at.path.join(""), &cause.rule)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn left_out(&self, below: &Path, reason: SkipReason, rule: &str) -> ControlFlow<()> {
        let rule = Some(files::shortened(rule, MAX_RULE_BYTES));
        (self.seen)(Entry { rule, ..Entry::unknown(below, reason) })
    }

    fn below<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.source.folder).unwrap_or(path)
    }
}

impl FolderSource {
    /// Passes every folder that [`list`](FileSource::list) would list, of some paths and all below them, to `each`, before
    /// it is listed, in any order and from any threads. Ends early if `each` breaks.
    pub(crate) fn folders(&self, only: Option<&[PathBuf]>, each: EachFolder<'_>) {
        self.walk(&|_| ControlFlow::Continue(()), only, Some(each));
    }

    /// Passes files to `seen`, as [`list`](FileSource::list) does, or folders.
    pub(crate) fn walk<'w>(
        &'w self,
        seen: &'w (dyn Fn(Entry) -> ControlFlow<()> + Sync),
        only: Option<&[PathBuf]>,
        folders: Option<EachFolder<'w>>,
    ) -> Listing {
        let mut notices = Vec::new();
        let (mut tracked, mut rules, mut level) = (Tracked::default(), None, Level::top());
        let mut folds_case = false;
        let mut scope = only.map(|paths| Scope::of(&self.folder, paths));
        if self.choice.no_ignore {
            let view = self.view().unwrap_or_default();
            scope = scope.filter(|_| !view.is_other);
        } else {
            let view = self.view().unwrap_or_else(|Unread { path, reason }| {
                // What is indexed is decided by other rules than before.
                scope = None;
                let folder = self.folder.display();
                notices.push(format!(
                    "all files of {folder} are indexed, also those that .gitignore names: {folder}/{path} cannot be read \
                     ({reason})"
                ));
                // What else is missing of git's data, `find` has told.
                if path.rsplit('/').next().is_some_and(|name| name.contains("index")) {
                    let _ = seen(Entry::unknown(Path::new(&path), reason));
                }
                View::default()
            });
            if let Some(Unread { path, reason }) = view.broken {
                scope = None;
                level.break_with(&format!("{path} cannot be read"));
                notices.push(format!(
                    "untracked files of {} are left out: its {path} cannot be read ({reason})",
                    self.folder.display()
                ));
                let rule = Some("untracked files are left out, too".to_owned());
                let _ = seen(Entry { rule, ..Entry::unknown(Path::new(&path), reason) });
            }
            scope = scope.filter(|_| !view.is_other);
            if view.converts {
                level.convert();
            }
            (tracked, folds_case) = (view.tracked, view.folds_case);
            rules = Some(Ruleset::new(&self.folder, view.rules, view.folds_case));
        }
        let all = tracked.all();
        let attributes = Ruleset::new(&self.folder, None, folds_case);
        let walk = Walk { source: self, tracked, rules, attributes, seen, scope, folders };
        let first = Unlisted {
            path: self.folder.clone(),
            level,
            tracked: all,
            is_sparse: false,
            is_whole: walk.scope.is_none(),
        };
        // A few paths are found sooner than threads are started.
        let threads = if walk.scope.is_some() { 1 } else { cores() };
        tree::each(first, threads, &|part, more| walk.visit(part, more));
        let languages = walk.attributes.languages();
        Listing { notices, languages, part: walk.scope.map(Scope::into_part) }
    }
}

impl FileSource for FolderSource {
    fn list(&self, seen: &(dyn Fn(Entry) -> ControlFlow<()> + Sync)) -> Result<Listing, String> {
        self.still.begin(&self.folder, self.trust());
        Ok(self.walk(seen, self.only.as_deref(), None))
    }

    fn is_changing(&self) -> bool {
        still::is_changing(&self.folder, self.trust())
    }

    fn has_changed(&self) -> bool {
        self.still.has_changed(&self.folder, self.trust())
    }

    fn open(&self, max_bytes: u64) -> Result<Reader<'_>, SkipReason> {
        let folder = Folder::open(&self.folder).map_err(|error| beneath::reason(&error))?;
        let skips_secrets = self.choice.skips_secrets;
        Ok(Box::new(move |path, _| {
            let read = read_stable(&folder, Path::new(path), max_bytes)?;
            if skips_secrets && files::is_private_key(path, &String::from_utf8_lossy(&read.bytes)) {
                return Err(Skipped::new(SkipReason::Secret, read.bytes.len() as u64));
            }
            Ok(read)
        }))
    }
}

/// Maximum bytes of a rule that the ledger shows.
pub(super) const MAX_RULE_BYTES: usize = 300;

/// Reads the bytes of a file as they were at one moment, as far as its times show.
fn read_stable(folder: &Folder, path: &Path, max_bytes: u64) -> Result<FileContents, Skipped> {
    let failed = |error: std::io::Error| Skipped::new(beneath::reason(&error), 0);
    let mut bytes = Vec::new();
    for _ in 0..ATTEMPTS {
        // The file may have become something else since the walk.
        let mut file = folder.file(path).map_err(|reason| Skipped::new(reason, 0))?;
        let before = file.metadata().map_err(failed)?;
        if before.len() > max_bytes {
            return Err(Skipped::new(SkipReason::TooLarge, before.len()));
        }
        bytes.clear();
        bytes.reserve_exact(before.len() as usize + 1);
        (&mut file).take(max_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
        let after = file.metadata().map_err(failed)?;
        if times(&before) == times(&after) && bytes.len() as u64 == after.len() {
            return Ok(FileContents { bytes, fingerprint: fingerprint(&after), named: None });
        }
    }
    // The file changes all the time. Take the last bytes; without a fingerprint, the next ingest reads it again.
    if bytes.len() as u64 > max_bytes {
        return Err(Skipped::new(SkipReason::TooLarge, bytes.len() as u64));
    }
    Ok(FileContents { bytes, fingerprint: 0, named: None })
}

#[cfg(test)]
mod tests;
