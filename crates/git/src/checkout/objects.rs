//! The objects of a clone, which git reads for history.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{GitData, MAX_SMALL, Trust, Unread, place};
use files::SkipReason;
use files::beneath;

/// Maximum number of object folders that a clone borrows from.
const MAX_FOLDERS: usize = 32;

/// Maximum number of files and folders among the objects of a clone. A clone that is repacked regularly has some
/// thousands.
const MAX_ENTRIES: usize = 1 << 20;

/// Maximum depth of folders among objects.
const MAX_DEPTH: usize = 4;

/// Maximum size in bytes of the list of commits at which a shallow clone ends.
const MAX_SHALLOW: u64 = 1 << 20;

/// The objects of a clone, from which git cannot escape: they contain no links, and the objects that they borrow are
/// trusted.
#[derive(Debug)]
pub struct Objects {
    /// The folder of the clone's own objects.
    pub folder: PathBuf,
    /// The folders of objects that it borrows.
    pub(crate) borrowed: Vec<PathBuf>,
    /// The commits at which a shallow clone ends, as git lists them.
    pub shallow: Vec<u8>,
    /// The files and folders seen, with their state.
    seen: Vec<(PathBuf, Option<Stamp>)>,
}

/// Distinguishes a file or folder from another at its path, and from itself before a change.
pub(crate) type Stamp = (u64, u64, i64, i64);

impl Objects {
    /// Returns whether nothing changed since the objects were checked. Then git has read only what it should.
    pub fn are_unchanged(&self) -> bool {
        self.seen.iter().all(|(path, before)| stamp(path) == *before)
    }

    /// Returns the state of all files and folders when they were checked.
    pub(crate) fn seen(&self) -> &[(PathBuf, Option<Stamp>)] {
        &self.seen
    }
}

impl GitData {
    /// Checks that the objects may be read, and notes in `trust` where they lie.
    ///
    /// # Errors
    /// The part whose reading is not allowed, or fails.
    pub fn check_objects(&self, trust: &mut Trust) -> Result<(), Unread> {
        self.folders(trust).map(drop)
    }

    /// Checks all objects; `None` if the clone has none.
    ///
    /// # Errors
    /// The part whose reading is not allowed, or fails.
    pub fn objects(&self, trust: &mut Trust) -> Result<Option<Objects>, Unread> {
        let folders = self.folders(trust)?;
        let Some(folder) = folders.first().cloned() else { return Ok(None) };
        let shallow = self.read(&self.common, "shallow", MAX_SHALLOW, trust)?.unwrap_or_default();
        let borrowed = folders[1..].to_vec();
        let mut objects = Objects { folder, borrowed, shallow, seen: Vec::new() };
        let mut entries = 0;
        for folder in &folders {
            let alternates = folder.join("info/alternates");
            objects.seen.push((alternates.clone(), stamp(&alternates)));
            look(folder, 0, &mut entries, &mut objects.seen)
                .map_err(|reason| Unread { path: self.shown(folder, ""), reason })?;
        }
        // The list of the folders may have changed before they were checked.
        let again = self.folders(trust)?;
        if again != folders {
            let path = self.shown(&self.common, "objects/info/alternates");
            return Err(Unread { path, reason: SkipReason::Vanished });
        }
        Ok(Some(objects))
    }

    /// Returns the folder of the objects, if there is one, and those that it borrows from, directly or indirectly.
    fn folders(&self, trust: &mut Trust) -> Result<Vec<PathBuf>, Unread> {
        let Some(own) = self.resolve(&self.common, "objects", trust)? else {
            return Ok(Vec::new());
        };
        let mut folders = vec![own];
        let mut at = 0;
        while let Some(folder) = folders.get(at).cloned() {
            at += 1;
            let list = self.read(&folder, "info/alternates", MAX_SMALL, trust)?.unwrap_or_default();
            for line in list.split(|byte| *byte == b'\n') {
                if line.is_empty() || line.starts_with(b"#") {
                    continue;
                }
                let unread =
                    |reason| Unread { path: self.shown(&folder, "info/alternates"), reason };
                // Git ignores missing folders. It unquotes a line that begins with a quote; this code does not.
                let path = folder.join(place::path(line));
                let path = match path.canonicalize() {
                    Ok(path) => path,
                    Err(_) if !line.starts_with(b"\"") => continue,
                    Err(_) => return Err(unread(SkipReason::Outside)),
                };
                if !trust.allows(&self.checkout, &path) {
                    return Err(unread(SkipReason::Outside));
                }
                if !folders.contains(&path) {
                    folders.push(path);
                }
                if folders.len() > MAX_FOLDERS {
                    return Err(unread(SkipReason::TooLarge));
                }
            }
        }
        Ok(folders)
    }
}

/// Checks a folder of objects, and notes all folders.
fn look(
    folder: &Path,
    depth: usize,
    entries: &mut usize,
    seen: &mut Vec<(PathBuf, Option<Stamp>)>,
) -> Result<(), SkipReason> {
    // Before reading its entries, so that no change is missed.
    seen.push((folder.to_owned(), stamp(folder)));
    for entry in folder.read_dir().map_err(|error| beneath::reason(&error))? {
        let kind = entry.and_then(|entry| Ok((entry.file_type()?, entry.path())));
        let (kind, path) = kind.map_err(|error| beneath::reason(&error))?;
        *entries += 1;
        if kind.is_symlink() {
            return Err(SkipReason::Symlink);
        } else if *entries > MAX_ENTRIES || (kind.is_dir() && depth == MAX_DEPTH) {
            return Err(SkipReason::TooLarge);
        } else if kind.is_dir() {
            look(&path, depth + 1, entries, seen)?;
        } else if !kind.is_file() {
            return Err(SkipReason::Special);
        }
    }
    Ok(())
}

fn stamp(path: &Path) -> Option<Stamp> {
    let of = |found: Metadata| (found.dev(), found.ino(), found.ctime(), found.ctime_nsec());
    path.symlink_metadata().ok().map(of)
}
