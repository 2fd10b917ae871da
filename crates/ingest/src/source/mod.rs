//! The interface between an ingest and the sources of a repository's files.
//!
//! [`folder`] is a folder on disk, [`commit`] a commit of a clone. Anything that lists paths and returns contents may be a source.

pub(crate) mod commit;
pub(crate) mod folder;
mod rules;
mod scope;
mod still;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use rules::{ATTRIBUTES, NAMES as IGNORE_FILES};

use std::ops::ControlFlow;
use std::path::Path;

use files::{MAX_PATH_BYTES, SkipReason, shortened};

/// The files of one repository. Its methods block; call them only from threads that may block.
pub(crate) trait FileSource: Send + Sync {
    /// Passes every file to `seen`, in any order and from any threads, without reading one; also passes paths that are
    /// no files or cannot be accessed. Ends early if `seen` breaks.
    ///
    /// # Errors
    /// The files cannot be listed. A sentence says why, and what to do. Some may have been passed on.
    fn list(&self, seen: &(dyn Fn(Entry) -> ControlFlow<()> + Sync)) -> Result<Listing, String>;

    /// Prepares to read files of at most `max_bytes`.
    ///
    /// # Errors
    /// The reason why no file can be read.
    fn open(&self, max_bytes: u64) -> Result<Reader<'_>, SkipReason>;

    /// Returns whether somebody is changing many of the files, so that a list should wait.
    fn is_changing(&self) -> bool {
        false
    }

    /// Returns whether somebody has begun to since the last list, or has done it: then what was read is neither what was
    /// before nor what is after.
    fn has_changed(&self) -> bool {
        false
    }
}

/// What is to be known of a list of files.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Notices for the user.
    pub(crate) notices: Vec<String>,
    /// The rules that give languages to files, as [`files::languages_of`] takes them; of a part, those in and around it.
    pub(crate) languages: Vec<u8>,
    /// The part that was listed; `None` for all.
    pub(crate) part: Option<Part>,
}

/// A part of the files of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Files and folders, with all that is in them.
    pub(crate) below: Vec<String>,
    /// The folders around them, without what is in them: an ignored folder has a row of its own.
    pub(crate) around: Vec<String>,
}

impl Part {
    /// Returns whether what has a path is in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let is_below = |of: &String| {
            let rest = path.strip_prefix(of.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // A file may have been where a folder is now.
        let is_around = |of: &String| path.strip_suffix('/').unwrap_or(path) == of;
        self.below.iter().any(is_below) || self.around.iter().any(is_around)
    }
}

/// Reads the file at a path, of which the list said this name of its contents, from several threads at once.
pub(crate) type Reader<'a> =
    Box<dyn Fn(&str, Option<git::Oid>) -> Result<FileContents, Skipped> + Send + Sync + 'a>;

/// A file as its source lists it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its path in the repository.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// A hash that stays the same only while the contents do: see [`files::fingerprint`]. 0 if there is none.
    pub(crate) fingerprint: i64,
    /// The reason to leave it out without reading it.
    pub(crate) left_out: Option<SkipReason>,
    /// The rule that leaves it out.
    pub(crate) rule: Option<String>,
    /// Git's name of its contents, if that is known without reading it.
    pub(crate) oid: Option<git::Oid>,
    /// Whether git may have changed the contents when it wrote the file, except for their size.
    pub(crate) may_differ: bool,
    /// The language that `.gitattributes` gives it.
    pub(crate) language: Option<String>,
}

impl Entry {
    /// Makes an entry. If its path cannot be indexed, it is left out; a path that is too long is cut.
    pub(crate) fn new(
        path: &Path,
        bytes: u64,
        fingerprint: i64,
        left_out: Option<SkipReason>,
    ) -> Self {
        let text = path.to_string_lossy();
        let odd = match () {
            () if path.to_str().is_none() => Some(SkipReason::Name),
            () if text.len() > MAX_PATH_BYTES => Some(SkipReason::Path),
            () => None,
        };
        let path = shortened(&text, MAX_PATH_BYTES);
        let left_out = odd.or(left_out);
        let (rule, oid, may_differ, language) = (None, None, false, None);
        Self { path, bytes, fingerprint, left_out, rule, oid, may_differ, language }
    }

    /// Makes an entry of which only the reason to leave it out is known.
    pub(crate) fn unknown(path: &Path, reason: SkipReason) -> Self {
        Self { left_out: Some(reason), ..Self::new(path, 0, 0, None) }
    }
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct FileContents {
    pub(crate) bytes: Vec<u8>,
    /// As in [`Entry`], at the time of reading.
    pub(crate) fingerprint: i64,
    /// Git's name of exactly these bytes, if they were found by it.
    pub(crate) named: Option<git::Oid>,
}

/// A file that was left out when ingest tried to read it.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(crate) reason: SkipReason,
    pub(crate) bytes: i64,
    pub(crate) fingerprint: i64,
    /// More about the reason, if there is more to say.
    pub(crate) rule: Option<String>,
    /// Git's name of its contents, if they are the reason.
    pub(crate) oid: Option<Vec<u8>>,
}

impl Skipped {
    /// Leaves out a file of so many bytes, which the next ingest will try again.
    pub(crate) fn new(reason: SkipReason, bytes: u64) -> Self {
        Self { reason, bytes: bytes as i64, fingerprint: 0, rule: None, oid: None }
    }
}
