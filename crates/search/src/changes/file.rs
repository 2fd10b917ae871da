//! A changed file: its paths, its texts and their differences.

use std::ops::Range;

use files::{Encoding, decode_lossy};
use git::{BlobReader, FileMode, Hunk, TreeChange};

/// Largest text that is compared, in bytes.
pub(super) const MAX_TEXT: u64 = 4 << 20;

/// Largest pointer of git LFS, in bytes, and its beginning.
const LFS_POINTER: (usize, &str) = (1024, "version https://git-lfs.github.com/spec/v1");

/// A file that is different in two revisions.
#[derive(Clone, Debug)]
pub struct ChangedFile {
    /// The file in the older revision; `None` if it was added.
    pub old: Option<Side>,
    /// The file in the newer revision; `None` if it was deleted.
    pub new: Option<Side>,
    /// The texts, or why they are not compared.
    pub contents: Contents,
}

/// A file in one of the revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its path.
    pub path: String,
    /// Git's hash of its contents, in hexadecimal.
    pub hash: String,
    /// Its kind.
    pub mode: FileMode,
}

/// The contents of a changed file.
#[derive(Clone, Debug)]
pub enum Contents {
    /// The texts.
    Texts(Texts),
    /// They are not compared, for the reason with this word: `binary`, `too-large`, `symlink`, `submodule`, `lfs` or
    /// `missing`.
    LeftOut(&'static str),
}

/// Two texts and their differences.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// The older one; empty if the file was added.
    pub old: String,
    /// The newer one; empty if the file was deleted.
    pub new: String,
    /// The differences, in order.
    pub hunks: Vec<Hunk>,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The newer revision added it.
    Added,
    /// The newer revision deleted it.
    Deleted,
    /// It has another path; perhaps its contents changed, too.
    Renamed,
    /// Its contents or its mode changed.
    Modified,
}

impl Status {
    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Modified => "modified",
        }
    }
}

impl ChangedFile {
    /// Returns the path in the newer revision or, if it was deleted, in the older one.
    pub fn path(&self) -> &str {
        self.new.as_ref().or(self.old.as_ref()).map_or("", |side| &side.path)
    }

    /// Returns the path in the older revision, if it was another one.
    pub fn renamed_from(&self) -> Option<&str> {
        let (old, new) = (self.old.as_ref()?, self.new.as_ref()?);
        (old.path != new.path).then_some(old.path.as_str())
    }

    /// Returns what happened to it.
    pub fn status(&self) -> Status {
        match (&self.old, &self.new) {
            (None, _) => Status::Added,
            (_, None) => Status::Deleted,
            (Some(old), Some(new)) if old.path != new.path => Status::Renamed,
            _ => Status::Modified,
        }
    }

    /// Returns the numbers of added and of removed lines; `None` if they are unknown.
    pub fn counts(&self) -> Option<(usize, usize)> {
        let Contents::Texts(texts) = &self.contents else { return None };
        let sum =
            |side: fn(&Hunk) -> &Range<u32>| texts.hunks.iter().map(|of| side(of).len()).sum();
        Some((sum(|hunk| &hunk.new), sum(|hunk| &hunk.old)))
    }

    /// Returns the language, as its newer text or its path tells.
    pub fn language(&self) -> Option<String> {
        let text = match &self.contents {
            Contents::Texts(texts) if self.new.is_some() => texts.new.as_str(),
            Contents::Texts(texts) => texts.old.as_str(),
            Contents::LeftOut(_) => "",
        };
        files::language_of(self.path(), text)
    }
}

/// Returns the path of a file in git as it is shown: a name that is not UTF-8 cannot be shown as it is.
pub(super) fn shown_path(path: &[u8]) -> String {
    str::from_utf8(path).map_or_else(|_| decode_lossy(path), str::to_owned)
}

/// Returns the bytes that comparing the contents reads.
pub(super) fn bytes_of(change: &TreeChange, reader: &BlobReader) -> u64 {
    let same = matches!((&change.old, &change.new), (Some(old), Some(new)) if old.oid == new.oid);
    let mut bytes = 0;
    for side in [&change.old, &change.new].into_iter().flatten().filter(|_| !same) {
        if is_file(side.mode) {
            // What cannot be read is reported when it is read.
            let size = reader.size(side.oid).unwrap_or_default();
            bytes += if size > MAX_TEXT { 0 } else { size };
        }
    }
    bytes
}

fn is_file(mode: FileMode) -> bool {
    matches!(mode, FileMode::File | FileMode::Executable)
}

/// Reads and compares the contents of a changed file.
///
/// # Errors
/// The clone is broken.
pub(super) fn read(change: &TreeChange, reader: &BlobReader) -> Result<ChangedFile, git::Error> {
    let side = |of: &git::ChangedFile| Side {
        path: shown_path(&of.path),
        hash: of.oid.to_string(),
        mode: of.mode,
    };
    let (old, new) = (change.old.as_ref().map(side), change.new.as_ref().map(side));
    let contents = contents(change, reader)?;
    Ok(ChangedFile { old, new, contents })
}

fn contents(change: &TreeChange, reader: &BlobReader) -> Result<Contents, git::Error> {
    let sides = [&change.old, &change.new];
    let files = sides.map(|side| side.as_ref().filter(|of| is_file(of.mode)));
    let others = sides.into_iter().flatten().find(|of| !is_file(of.mode));
    if let ([None, None], Some(other)) = (files, others) {
        let is_link = other.mode == FileMode::Link;
        return Ok(Contents::LeftOut(if is_link { "symlink" } else { "submodule" }));
    }
    if let [Some(old), Some(new)] = files
        && old.oid == new.oid
    {
        return Ok(Contents::Texts(Texts::default()));
    }
    // Of a file that became a link, or the other way round, the text of the file is added or removed.
    let mut texts = Vec::with_capacity(2);
    for side in files {
        texts.push(match side {
            None => String::new(),
            Some(side) => match text(side, reader)? {
                Ok(text) => text,
                Err(why) => return Ok(Contents::LeftOut(why)),
            },
        });
    }
    let (Some(new), Some(old)) = (texts.pop(), texts.pop()) else {
        return Ok(Contents::Texts(Texts::default()));
    };
    let hunks = git::line_changes(&old, &new);
    Ok(Contents::Texts(Texts { old, new, hunks }))
}

/// Reads the text of a file, or returns the word for the reason why it has none.
fn text(
    file: &git::ChangedFile,
    reader: &BlobReader,
) -> Result<Result<String, &'static str>, git::Error> {
    let bytes = match reader.read(file.oid, MAX_TEXT) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Err("too-large")),
        // A partial clone has not fetched it yet.
        Err(git::Error::Missing { .. }) => return Ok(Err("missing")),
        Err(error) => return Err(error),
    };
    let (most, begin) = LFS_POINTER;
    if bytes.len() <= most && bytes.starts_with(begin.as_bytes()) {
        return Ok(Err("lfs"));
    }
    Ok(Encoding::decode(bytes).map(|(text, _)| text).ok_or("binary"))
}
