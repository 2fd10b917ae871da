//! A commit of a clone as a source of files: lists them by git's trees, and reads them from git's objects.
//!
//! All files of a commit are tracked, so git's ignore files do not apply to it. Those of codesearch do, as they do to the
//! tracked files in a folder.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use files::{MAX_PATH_BYTES, SkipReason, fingerprint_of_name, shortened};
use git::ignore::Verdict;
use git::{BlobReader, Clone, FileMode, Oid, TreeFile};

use super::folder::{Choice, MAX_RULE_BYTES};
use super::rules::{ATTRIBUTES, GITIGNORE, Level, MAX_FILE_BYTES, NAMES, Ruleset, Texts};
use super::{Entry, FileContents, FileSource, Listing, Part, Reader, Skipped};
use crate::cores;

/// Number of files whose sizes are read at once.
const BATCH: usize = 8192;

/// Number of differing files above which all files are listed: that is sooner done.
const MOST_DIFFERENCES: usize = 2000;

/// A commit whose files are a repository.
pub(crate) struct CommitSource {
    /// The folder of the clone.
    folder: PathBuf,
    /// The hash of the commit; `None` if there is none.
    commit: Option<String>,
    /// An earlier commit: only what differs from it is listed.
    since: Option<String>,
    choice: Choice,
}

/// A file of the commit.
struct Listed {
    path: PathBuf,
    mode: FileMode,
    oid: Oid,
    /// Why it is left out whatever it is, with the rule.
    left_out: Option<(SkipReason, Option<String>)>,
    language: Option<String>,
}

/// The rules in the folders around the last listed file.
struct Levels {
    rules: Ruleset,
    /// The folders with rules.
    folders: HashMap<PathBuf, Vec<String>>,
    /// Each lies in the one before.
    open: Vec<(PathBuf, Arc<Level>)>,
    /// Files with rules that cannot be read.
    broken: Vec<(PathBuf, SkipReason)>,
    /// What is wrong with objects that have rules.
    unread: HashMap<PathBuf, String>,
}

impl CommitSource {
    /// Makes a source of the files of a commit of the clone in a folder, which may be bare.
    pub(crate) fn new(folder: &Path, commit: Option<&str>, choice: Choice) -> Self {
        let (folder, commit) = (folder.to_owned(), commit.map(str::to_owned));
        Self { folder, commit, since: None, choice }
    }

    /// Limits the list to what differs from an earlier commit, unless its rules do, or it is no longer there.
    pub(crate) fn since(mut self, commit: &str) -> Self {
        self.since = Some(commit.to_owned());
        self
    }

    /// Returns the files that differ from the earlier commit: the paths of all of them, and those that are in this one.
    /// `None` to list all files.
    fn differences(
        &self,
        clone: &Clone,
        commit: Oid,
    ) -> Option<(Vec<String>, Vec<git::ChangedFile>)> {
        let since = Oid::from_hex(self.since.as_deref()?.as_bytes()).ok()?;
        let (mut paths, mut files) = (Vec::new(), Vec::new());
        for git::TreeChange { old, new } in clone.differences(since, commit).ok()? {
            let path = String::from_utf8(new.as_ref().or(old.as_ref())?.path.clone()).ok()?;
            let name = path.rsplit('/').next().unwrap_or(&path);
            let has_rules = NAMES.contains(&name) || name == ATTRIBUTES;
            if has_rules || path.len() > MAX_PATH_BYTES {
                return None;
            }
            paths.push(path);
            files.extend(new);
        }
        (paths.len() <= MOST_DIFFERENCES).then_some((paths, files))
    }

    /// Opens the clone. It is not kept open: an ingest may have thousands of clones.
    fn opened(&self) -> Result<Clone, git::Error> {
        Clone::open(&self.folder, &self.choice.git_folders)
    }

    /// Returns the commit.
    fn commit(&self, clone: &Clone) -> Result<Oid, String> {
        let folder = self.folder.display();
        if let Some(commit) = &self.commit {
            return Oid::from_hex(commit.as_bytes())
                .map_err(|_| format!("{folder}: {commit} is no commit"));
        }
        match clone.head() {
            Ok(Some(commit)) => Ok(commit),
            Err(error) => Err(format!("{folder}: {error}")),
            Ok(None) if clone.refs().is_ok_and(|refs| refs.is_empty()) => {
                Err(format!("{folder} has no commits; commit or fetch some, and ingest it again"))
            }
            Ok(None) => {
                let branch = clone.head_branch().unwrap_or_else(|| "a branch".to_owned());
                Err(format!(
                    "the HEAD of {folder} names {branch}, which does not exist; name another branch with: git -C {folder} \
                     symbolic-ref HEAD refs/heads/BRANCH"
                ))
            }
        }
    }

    /// Reads the files with rules.
    fn levels(&self, clone: &Clone, commit: Oid) -> Result<Levels, git::Error> {
        let mut found = Vec::new();
        clone.list(commit, &mut |TreeFile { path, mode, oid }| {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
            let is_file = matches!(mode, FileMode::File | FileMode::Executable);
            let has_rules = NAMES.iter().any(|kind| kind.as_bytes() == name && *kind != GITIGNORE);
            if is_file && (has_rules && !self.choice.no_ignore || name == ATTRIBUTES.as_bytes()) {
                found.push((PathBuf::from(OsStr::from_bytes(path)), oid));
            }
            ControlFlow::Continue(())
        })?;
        let reader = clone.reader();
        let (mut texts, mut unread) = (HashMap::new(), HashMap::new());
        let mut folders = HashMap::<PathBuf, Vec<String>>::new();
        for (path, oid) in found {
            let text = match reader.read(oid, MAX_FILE_BYTES) {
                Ok(text) => text.ok_or(SkipReason::TooLarge),
                Err(error) => {
                    unread.insert(path.clone(), error.to_string());
                    Err(SkipReason::Unreadable)
                }
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            folders.entry(folder).or_default().push(name);
            texts.insert(path, text);
        }
        let rules = Ruleset::of(Texts::Commit(texts), false);
        let mut levels = Levels { rules, folders, open: Vec::new(), broken: Vec::new(), unread };
        let top = levels.read(Level::top(), Path::new(""));
        levels.open.push((PathBuf::new(), Arc::new(top)));
        Ok(levels)
    }

    /// Returns what is known of a file without its size.
    fn listed(&self, file: TreeFile<'_>, levels: &mut Levels) -> Listed {
        let path = PathBuf::from(OsStr::from_bytes(file.path));
        let level = levels.at(path.parent().unwrap_or(Path::new("")));
        let excluded = match (level.excluded(), level.said(&path, false)) {
            (Some(cause), _) => Some(cause.rule.to_string()),
            (None, Some(Verdict::LeftOut(rule))) => Some(rule),
            (None, Some(Verdict::Taken) | None) => None,
        };
        let left_out =
            if let Some((_, reason)) = levels.broken.iter().find(|(broken, _)| *broken == path) {
                Some((*reason, levels.unread.get(&path).cloned()))
            } else if let Some(rule) = excluded {
                Some((SkipReason::Excluded, Some(rule)))
            } else if self.choice.skips_secrets && files::looks_secret(&path.to_string_lossy()) {
                Some((SkipReason::Secret, Some("--secrets skip".to_owned())))
            } else {
                let rule = || Some(format!("commit {}", file.oid));
                (file.mode == FileMode::Submodule).then(|| (SkipReason::Submodule, rule()))
            };
        let language = level.language(&path);
        Listed { path, mode: file.mode, oid: file.oid, left_out, language }
    }
}

/// Passes on files, whose sizes are read by several threads.
fn pass_on(
    batch: &mut Vec<Listed>,
    readers: &mut [BlobReader],
    seen: &(dyn Fn(Entry) -> ControlFlow<()> + Sync),
) -> ControlFlow<()> {
    let part = batch.len().div_ceil(readers.len()).max(1);
    let mut parts = Vec::new();
    while !batch.is_empty() {
        parts.push(batch.split_off(batch.len().saturating_sub(part)));
    }
    std::thread::scope(|scope| {
        let send = |part: Vec<Listed>, reader: &mut BlobReader| {
            part.into_iter().try_for_each(|file| seen(entry(file, reader)))
        };
        let work: Vec<_> = parts
            .into_iter()
            .rev()
            .zip(readers)
            .map(|(part, reader)| scope.spawn(move || send(part, reader)))
            .collect();
        work.into_iter().try_for_each(|work| work.join().expect("listing does not panic"))
    })
}

/// Returns a file with its size. If its object cannot be read, the attempt to read the file tells why: it need not
/// be made if the contents are known.
fn entry(file: Listed, reader: &BlobReader) -> Entry {
    let Listed { path, mode, oid, left_out, language } = file;
    if let Some((reason, rule)) = left_out {
        let rule = rule.map(|rule| shortened(&rule, MAX_RULE_BYTES));
        return Entry { rule, ..Entry::unknown(&path, reason) };
    }
    let reason = (mode == FileMode::Link).then_some(SkipReason::Symlink);
    let bytes = reader.size(oid).unwrap_or(0);
    let entry = Entry::new(&path, bytes, fingerprint_of_name(oid.as_bytes()), reason);
    Entry { oid: Some(oid), language, ..entry }
}

impl Levels {
    /// Returns the rules for the files in a folder. Folders come in the order of paths.
    fn at(&mut self, folder: &Path) -> Arc<Level> {
        while !folder.starts_with(&self.open[self.open.len() - 1].0) {
            self.open.pop();
        }
        let (at, mut level) = self.open[self.open.len() - 1].clone();
        let Ok(rest) = folder.strip_prefix(&at) else { return level };
        let mut at = at;
        for name in rest {
            at.push(name);
            let said = level.said(&at, true);
            let next = Level::below(&level, at.clone(), said);
            level = Arc::new(self.read(next, &at));
            self.open.push((at.clone(), Arc::clone(&level)));
        }
        level
    }

    /// Reads the rules in a folder.
    fn read(&mut self, mut level: Level, folder: &Path) -> Level {
        if let Some(names) = self.folders.remove(folder) {
            self.broken.extend(level.read(&self.rules, &names));
            if names.iter().any(|name| name == ATTRIBUTES) {
                level.read_attributes(&self.rules);
            }
        }
        level
    }
}

impl FileSource for CommitSource {
    fn list(&self, seen: &(dyn Fn(Entry) -> ControlFlow<()> + Sync)) -> Result<Listing, String> {
        let failed = |error: git::Error| format!("{}: {error}", self.folder.display());
        let clone = self.opened().map_err(failed)?;
        let commit = self.commit(&clone)?;
        let mut levels = self.levels(&clone, commit).map_err(failed)?;
        let mut readers: Vec<BlobReader> = (0..cores()).map(|_| clone.reader()).collect();
        if let Some((below, files)) = self.differences(&clone, commit) {
            let file = |file: &git::ChangedFile| {
                let git::ChangedFile { path, oid, mode } = file;
                self.listed(TreeFile { path, mode: *mode, oid: *oid }, &mut levels)
            };
            let mut batch: Vec<Listed> = files.iter().map(file).collect();
            let _ = pass_on(&mut batch, &mut readers, seen);
            let part = Some(Part { below, around: Vec::new() });
            return Ok(Listing { part, languages: levels.rules.languages(), ..Listing::default() });
        }
        let mut batch = Vec::with_capacity(BATCH);
        let listed = clone.list(commit, &mut |file| {
            batch.push(self.listed(file, &mut levels));
            if batch.len() < BATCH {
                return ControlFlow::Continue(());
            }
            pass_on(&mut batch, &mut readers, seen)
        });
        listed.map_err(failed)?;
        let _ = pass_on(&mut batch, &mut readers, seen);
        Ok(Listing { languages: levels.rules.languages(), ..Listing::default() })
    }

    fn open(&self, max_bytes: u64) -> Result<Reader<'_>, SkipReason> {
        let clone = self.opened().map_err(|_| SkipReason::Unreadable)?;
        let skips_secrets = self.choice.skips_secrets;
        // As many as there are threads.
        let idle = Mutex::new(Vec::<BlobReader>::new());
        Ok(Box::new(move |path, oid| {
            let oid = oid.ok_or_else(|| Skipped::new(SkipReason::Vanished, 0))?;
            let free = || idle.lock().unwrap_or_else(PoisonError::into_inner);
            let reader = free().pop().unwrap_or_else(|| clone.reader());
            let read = reader.read(oid, max_bytes);
            let size = || reader.size(oid).unwrap_or(0);
            let read = match read {
                Ok(Some(bytes))
                    if skips_secrets
                        && files::is_private_key(path, &String::from_utf8_lossy(&bytes)) =>
                {
                    Err(Skipped::new(SkipReason::Secret, bytes.len() as u64))
                }
                Ok(Some(bytes)) => {
                    let fingerprint = fingerprint_of_name(oid.as_bytes());
                    Ok(FileContents { bytes, fingerprint, named: Some(oid) })
                }
                Ok(None) => Err(Skipped::new(SkipReason::TooLarge, size())),
                Err(error) => {
                    let rule = Some(shortened(&error.to_string(), MAX_RULE_BYTES));
                    Err(Skipped { rule, ..Skipped::new(SkipReason::Unreadable, 0) })
                }
            };
            free().push(reader);
            read
        }))
    }
}
