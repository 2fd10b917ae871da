//! Reasons for leaving a file out of the index.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Maximum length of a file's path in its repository, in bytes. A longer path does not fit into a Postgres index.
pub const MAX_PATH_BYTES: usize = 2500;

/// Why a file is left out of the index. Each such file is a row of `skipped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// Its text contains a NUL.
    Binary,
    /// It is larger than the limit.
    TooLarge,
    /// It is a symbolic link, or lies in a folder that has become one. Its target is indexed at its own path, if that
    /// is in the tree.
    Symlink,
    /// It is neither a file nor a folder: a socket, a pipe, a device.
    Special,
    /// It, or its folder, could not be opened.
    Unreadable,
    /// It disappeared between the walk and reading.
    Vanished,
    /// Its name is not UTF-8.
    Name,
    /// Its path is longer than [`MAX_PATH_BYTES`]. The row has the beginning of the path.
    Path,
    /// It has the hash of another file, but other contents.
    Collision,
    /// It is git data outside the ingested folder, which may belong to another user.
    Outside,
    /// An ignore file names it, or the folder around it, and git does not track it. The path of a folder ends with a
    /// slash.
    Ignored,
    /// `.ignore` or `.codesearchignore` names it, or the folder around it, although git tracks it.
    Excluded,
    /// It looks like a secret, and the user wants none.
    Secret,
    /// It is a submodule: a commit of another repository.
    Submodule,
    /// It is a pointer of Git LFS, whose contents lie elsewhere.
    Lfs,
}

impl SkipReason {
    /// All reasons.
    pub const ALL: [Self; 15] = [
        Self::Binary,
        Self::TooLarge,
        Self::Symlink,
        Self::Special,
        Self::Unreadable,
        Self::Vanished,
        Self::Name,
        Self::Path,
        Self::Collision,
        Self::Outside,
        Self::Ignored,
        Self::Excluded,
        Self::Secret,
        Self::Submodule,
        Self::Lfs,
    ];

    /// Returns the stored word for the reason.
    pub fn word(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge => "too-large",
            Self::Symlink => "symlink",
            Self::Special => "special",
            Self::Unreadable => "unreadable",
            Self::Vanished => "vanished",
            Self::Name => "name",
            Self::Path => "path",
            Self::Collision => "collision",
            Self::Outside => "outside",
            Self::Ignored => "ignored",
            Self::Excluded => "excluded",
            Self::Secret => "secret",
            Self::Submodule => "submodule",
            Self::Lfs => "lfs",
        }
    }

    /// Returns the reason for a stored word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}

/// Writes the reason as printed after "n files left out: ".
impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "binary",
            Self::TooLarge => "over the size limit",
            Self::Symlink => "symbolic links",
            Self::Special => "not regular files",
            Self::Unreadable => "unreadable",
            Self::Vanished => "deleted while reading",
            Self::Name => "names that are not UTF-8",
            Self::Path => "paths over 2,500 bytes",
            Self::Collision => "hash collisions with other files",
            Self::Outside => "git data outside the ingested folder",
            Self::Ignored => "named by an ignore file",
            Self::Excluded => "tracked, but named by .ignore or .codesearchignore",
            Self::Secret => "possible secrets",
            Self::Submodule => "submodules",
            Self::Lfs => "Git LFS pointers",
        })
    }
}

/// Shortens a text to at most `most` bytes, including a hash of the whole, so that different texts stay different.
pub fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut hash = SipHasher13::new();
    hash.write(text.as_bytes());
    let end = format!("…{:016x}", hash.finish());
    format!("{}{end}", &text[..text.floor_char_boundary(most - end.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shortened_stays_different() {
        let [one, two] = ["é".repeat(40), "é".repeat(41)].map(|text| shortened(&text, 50));
        assert!(one.len() <= 50 && one.starts_with("ééé") && one != two, "{one} {two}");
        assert_eq!(shortened("short", 50), "short");
        assert_eq!(MAX_PATH_BYTES, 2500);
    }
}
