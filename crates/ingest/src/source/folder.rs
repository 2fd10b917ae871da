//! A folder on disk as a source of files: walks it by path and `stat`, and reads files beneath it.

use std::collections::HashSet;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::ignored::Ignored;
use super::{Entry, FileContents, FileSource, Reader, Skipped};
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
    gitignore: bool,
}

impl FolderSource {
    /// Makes a source of the files of a folder, except those of other checkouts inside it, which are among the folders
    /// of `all` repositories; with `gitignore`, also except those that `.gitignore` names.
    pub(crate) fn new(folder: &Path, all: &[PathBuf], gitignore: bool) -> Self {
        let is_inside = |other: &&PathBuf| *other != folder && other.starts_with(folder);
        let inside = all.iter().filter(is_inside).cloned().collect();
        Self { folder: folder.to_owned(), inside, gitignore }
    }

    /// Returns the entry of an unreadable path.
    fn left_out(&self, path: &Path, reason: SkipReason) -> Entry {
        Entry::unknown(self.below(path), reason)
    }

    fn below<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.folder).unwrap_or(path)
    }

    /// Whether a file or folder does not belong to the repository, given that the folders around it do.
    fn leaves_out(&self, entry: &DirEntry, is_folder: bool, rules: Option<&Ignored>) -> bool {
        entry.file_name() == ".git"
            || (!self.inside.is_empty() && self.inside.contains(entry.path()))
            || rules.is_some_and(|rules| rules.leaves_out(entry.path(), is_folder))
    }

    /// Returns the entry of one step of the walk; `None` for a folder.
    fn see(&self, entry: Result<DirEntry, ignore::Error>) -> Option<Entry> {
        let entry = match entry {
            Ok(entry) => entry,
            // An error names its file or folder, unless it is about a broken `.gitignore`.
            Err(error) => {
                return error_path(&error).map(|path| self.left_out(path, SkipReason::Unreadable));
            }
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if let Some(error) = entry.error() {
                // The rules after it do not apply.
                tracing::warn!(
                    "an ignore file has a rule that is invalid or not UTF-8; its other rules apply: {error}"
                );
            }
            return None;
        }
        let Ok(found) = entry.path().symlink_metadata() else {
            return Some(self.left_out(entry.path(), SkipReason::Unreadable));
        };
        let reason = match () {
            () if kind.is_symlink() => Some(SkipReason::Symlink),
            () if !kind.is_file() => Some(SkipReason::Special),
            () => None,
        };
        Some(Entry::new(self.below(entry.path()), found.len(), fingerprint(&found), reason))
    }
}

impl FileSource for FolderSource {
    fn list(&self, seen: &(dyn Fn(Entry) -> ControlFlow<()> + Sync)) {
        let tell = |entry| match seen(entry) {
            ControlFlow::Continue(()) => WalkState::Continue,
            ControlFlow::Break(()) => WalkState::Quit,
        };
        let ignored = match self.gitignore.then(|| Ignored::new(&self.folder)).transpose() {
            Ok(ignored) => ignored,
            Err((path, reason)) => {
                tell(self.left_out(&path, reason));
                return;
            }
        };
        let visit = |entry: Result<DirEntry, ignore::Error>| {
            if let Ok(entry) = &entry {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                if entry.depth() > 0 && self.leaves_out(entry, is_folder, ignored.as_ref()) {
                    return WalkState::Skip;
                }
                // Do not read a folder whose rules are unreadable: they may protect a secret.
                if let Some(rules) = ignored.as_ref().filter(|_| is_folder)
                    && let Err((path, reason)) = rules.enter(entry.path())
                {
                    let state = tell(self.left_out(&path, reason));
                    return if state == WalkState::Continue { WalkState::Skip } else { state };
                }
            }
            self.see(entry).map_or(WalkState::Continue, tell)
        };
        WalkBuilder::new(&self.folder)
            .standard_filters(false)
            .follow_links(false)
            .threads(cores())
            .build_parallel()
            .run(|| Box::new(visit));
    }

    fn open(&self, max_bytes: u64) -> Result<Reader<'_>, SkipReason> {
        let folder = Folder::open(&self.folder).map_err(|error| beneath::reason(&error))?;
        Ok(Box::new(move |path| read_stable(&folder, Path::new(path), max_bytes)))
    }
}

fn error_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            error_path(err)
        }
        _ => None,
    }
}

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
            return Ok(FileContents { bytes, fingerprint: fingerprint(&after) });
        }
    }
    // The file changes all the time. Take the last bytes; without a fingerprint, the next ingest reads it again.
    if bytes.len() as u64 > max_bytes {
        return Err(Skipped::new(SkipReason::TooLarge, bytes.len() as u64));
    }
    Ok(FileContents { bytes, fingerprint: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(reader: &Reader<'_>, path: &str) -> Result<Vec<u8>, SkipReason> {
        reader(path).map(|read| read.bytes).map_err(|skipped| skipped.reason)
    }

    #[test]
    fn what_cannot_be_read_is_left_out_with_a_reason() {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().canonicalize().unwrap();
        std::fs::write(at.join("big"), "12345").unwrap();
        std::os::unix::fs::symlink("big", at.join("link")).unwrap();
        let source = FolderSource::new(&at, &[], false);
        let reason = |path: &str, max| text(&source.open(max).unwrap(), path).unwrap_err();
        assert_eq!(reason("big", 4), SkipReason::TooLarge);
        assert_eq!(reason("gone", 4), SkipReason::Vanished);
        assert_eq!(reason("link", 9), SkipReason::Symlink);
        assert_eq!(reason(".", 9), SkipReason::Special);
        assert_eq!(text(&source.open(5).unwrap(), "big").unwrap(), b"12345");
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_entered() {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().canonicalize().unwrap();
        for path in ["repo/sub", "private"] {
            std::fs::create_dir_all(at.join(path)).unwrap();
            std::fs::write(at.join(path).join("a.txt"), path).unwrap();
        }
        let source = FolderSource::new(&at.join("repo"), &[], false);
        let reader = source.open(99).unwrap();
        assert_eq!(text(&reader, "sub/a.txt").unwrap(), b"repo/sub");
        std::fs::rename(at.join("repo/sub"), at.join("kept")).unwrap();
        std::os::unix::fs::symlink("../private", at.join("repo/sub")).unwrap();
        assert_eq!(text(&reader, "sub/a.txt"), Err(SkipReason::Symlink));
        // Replace the repository itself.
        std::fs::rename(at.join("repo"), at.join("before")).unwrap();
        std::os::unix::fs::symlink("private", at.join("repo")).unwrap();
        assert_eq!(source.open(99).err(), Some(SkipReason::Symlink));
        assert_eq!(text(&reader, "a.txt"), Err(SkipReason::Vanished));
    }
}
