//! The files that `.gitignore` leaves out, if the user asks for it.
//!
//! Ignore files are read beneath their repository, so that neither a link in place of one nor a link that appears later
//! reveals another file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use files::SkipReason;
use files::beneath::{self, Folder};
use git::checkout::{GitData, Trust};

/// Maximum bytes of an ignore file: those that people write have some KB.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// Maximum bytes of all ignore files of a repository. Their rules stay in memory during its walk.
const MAX_BYTES: u64 = 4 << 20;

/// The rules of a repository.
pub(crate) struct Ignored {
    root: PathBuf,
    folder: Option<Folder>,
    /// The clone's own rules, which come after all others.
    exclude: Gitignore,
    by_folder: RwLock<HashMap<PathBuf, Gitignore>>,
    bytes: AtomicU64,
}

impl Ignored {
    /// Makes the rules of a repository, and reads those of its clone.
    ///
    /// # Errors
    /// The path of the clone's rules, and why they cannot be read.
    pub(crate) fn new(root: &Path) -> Result<Self, (PathBuf, SkipReason)> {
        let mut ignored = Self {
            root: root.to_owned(),
            folder: Folder::open(root).ok(),
            exclude: Gitignore::empty(),
            by_folder: RwLock::default(),
            bytes: AtomicU64::new(0),
        };
        // Rules outside of the checkout are not read.
        let mut trust = Trust::known(Vec::new());
        let data = GitData::of(root, &mut trust).ok().flatten();
        let path = data.and_then(|data| data.exclude(&mut trust).ok().flatten());
        if let Some(path) = path {
            let rules = beneath::read(&path, MAX_FILE_BYTES);
            ignored.exclude = rules
                .and_then(|text| ignored.rules(root, &text))
                .map_err(|reason| (path, reason))?;
        }
        Ok(ignored)
    }

    /// Reads the rules in a folder.
    ///
    /// # Errors
    /// The path of the file, and why it cannot be read.
    pub(crate) fn enter(&self, folder: &Path) -> Result<(), (PathBuf, SkipReason)> {
        let path = folder.join(".gitignore");
        let Some(root) = &self.folder else { return Ok(()) };
        let below = path.strip_prefix(&self.root).unwrap_or(&path);
        let text = match root.file(below).and_then(|file| beneath::read_all(file, MAX_FILE_BYTES)) {
            Ok(text) => text,
            Err(SkipReason::Vanished) => return Ok(()),
            Err(reason) => return Err((path, reason)),
        };
        let rules = self.rules(folder, &text).map_err(|reason| (path, reason))?;
        self.by_folder.write().expect("no panics hold it").insert(folder.to_owned(), rules);
        Ok(())
    }

    /// Whether a file or folder is left out, if its folders are not.
    pub(crate) fn leaves_out(&self, path: &Path, is_folder: bool) -> bool {
        let by_folder = self.by_folder.read().expect("no panics hold it");
        let above = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root));
        let rules = above.filter_map(|folder| by_folder.get(folder)).chain([&self.exclude]);
        let mut said = rules.map(|rules| rules.matched(path, is_folder));
        said.find(|said| !said.is_none()).is_some_and(|said| matches!(said, Match::Ignore(_)))
    }

    fn rules(&self, folder: &Path, text: &[u8]) -> Result<Gitignore, SkipReason> {
        if self.bytes.fetch_add(text.len() as u64, Ordering::Relaxed) + text.len() as u64
            > MAX_BYTES
        {
            return Err(SkipReason::TooLarge);
        }
        let mut builder = GitignoreBuilder::new(folder);
        let text = String::from_utf8_lossy(text);
        for line in text.strip_prefix('\u{FEFF}').unwrap_or(&text).lines() {
            // Like git, skip an invalid rule.
            let _ = builder.add_line(None, line);
        }
        builder.build().map_err(|_| SkipReason::TooLarge)
    }
}
