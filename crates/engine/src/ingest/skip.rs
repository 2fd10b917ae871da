//! Reasons for leaving a file out of the index.

use std::fmt;

/// Why a file is left out of the index. Each such file is a row of `skipped`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// Its text holds a NUL character.
    Binary,
    /// It is larger than the limit.
    TooLarge,
    /// It is a symbolic link. Its target is indexed where it lies, if that is in the tree.
    Symlink,
    /// It is neither a file nor a folder: a socket, a pipe, a device.
    Special,
    /// It, or its folder, could not be opened.
    Unreadable,
    /// It was there during the walk, and gone when it was to be read.
    Vanished,
    /// Its name is not UTF-8.
    Name,
}

impl SkipReason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::Binary,
        Self::TooLarge,
        Self::Symlink,
        Self::Special,
        Self::Unreadable,
        Self::Vanished,
        Self::Name,
    ];

    /// Returns the word that is stored for the reason.
    pub fn word(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge => "too-large",
            Self::Symlink => "symlink",
            Self::Special => "special",
            Self::Unreadable => "unreadable",
            Self::Vanished => "vanished",
            Self::Name => "name",
        }
    }

    /// Returns the reason for a stored word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}

/// Writes the reason as it follows "n files left out: ".
impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "binary",
            Self::TooLarge => "over the size limit",
            Self::Symlink => "symbolic links",
            Self::Special => "not regular files",
            Self::Unreadable => "unreadable",
            Self::Vanished => "gone while reading",
            Self::Name => "names that are not UTF-8",
        })
    }
}
