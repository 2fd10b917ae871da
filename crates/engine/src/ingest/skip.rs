//! Why a file is left out.

use std::fmt;

/// Why a file is left out of the index. Leaving out is data: every such file is a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// It holds a NUL byte, or no text in an encoding that is recognised.
    Binary,
    /// It is larger than the limit.
    TooLarge,
    /// It is a symbolic link; what it points to is indexed where it lies, if it lies in the tree.
    Symlink,
    /// It is neither a file nor a folder: a socket, a pipe, a device.
    Special,
    /// It, or the folder, could not be opened.
    Unreadable,
    /// It was there when the tree was walked, and gone when it was read.
    Vanished,
    /// Its name is not UTF-8.
    Name,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::Binary,
        Self::TooLarge,
        Self::Symlink,
        Self::Special,
        Self::Unreadable,
        Self::Vanished,
        Self::Name,
    ];

    /// The word by which it is stored.
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

    /// The reason that is stored by this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}

/// Completes "n files left out: ...".
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
