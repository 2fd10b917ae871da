//! Errors of a private server, in words for the person who can fix them.

use std::path::{Path, PathBuf};

/// The reason why an operation on the private server failed. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation on the home failed.
    #[error("{action} {path}: {cause}", path = path.display())]
    Io {
        /// The attempted action, as the beginning of a sentence: "cannot create".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        cause: std::io::Error,
    },
    /// There is no usable build of Postgres.
    #[error("{0}")]
    Build(String),
    /// The archive is not the one whose checksum is pinned.
    #[error(
        "the Postgres archive is corrupt: its SHA-256 is {found}, expected {expected}; try again, or \
         pass a good file with --postgres-archive"
    )]
    Checksum {
        /// The SHA-256 of the archive.
        found: String,
        /// The pinned SHA-256.
        expected: String,
    },
    /// Root would start a server as a user who cannot reach the home.
    #[error(
        "Postgres does not run as root, and its user '{user}' cannot enter {path}; let it (chmod o+x {path}), or \
         choose another folder with --home", path = path.display()
    )]
    Unreachable {
        /// The user that the server would run as.
        user: String,
        /// The folder that this user may not enter.
        path: PathBuf,
    },
    /// The data directory lacks a file that every data directory has.
    #[error(
        "cannot read {path}, which every Postgres data directory has: {cause}; nothing was changed. Restore \
         the file or its permissions, or move the data directory away to start with an empty index",
        path = file.display()
    )]
    Damaged {
        /// The file that cannot be read.
        file: PathBuf,
        /// The reason.
        cause: std::io::Error,
    },
    /// A program of Postgres failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Its name.
        program: &'static str,
        /// The line of its output that names the error.
        reason: String,
    },
    /// The disk is full.
    #[error("the disk that holds {path} is full; free some space and try again; nothing is lost", path = .0.display())]
    DiskFull(PathBuf),
    /// Too little of the disk is free to write to the index.
    #[error(
        "the disk that holds {path} is nearly full: {free} MB are left, and writing to the index may need {need} MB; \
         free some space and try again; nothing was changed", path = path.display(), free = free >> 20, need = need >> 20
    )]
    NoRoom {
        /// The home.
        path: PathBuf,
        /// Bytes that are free.
        free: u64,
        /// Bytes that should be free.
        need: u64,
    },
    /// Another program has locked a file for minutes.
    #[error(
        "{by} has held the lock on {path} for minutes; wait for it to end, or end it, and try again",
        path = path.display()
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The program that has locked it, in words.
        by: String,
    },
    /// A server runs on the data, but its socket is not where it should be.
    #[error(
        "Postgres (process {pid}) runs on the data in {path}, but its socket is missing: the folder was moved, or the \
         socket removed; end the programs that use it, and try again", path = path.display()
    )]
    Elsewhere {
        /// The home.
        path: PathBuf,
        /// The process of the server.
        pid: u32,
    },
    /// The server is in use by other programs.
    #[error("another program uses the server; stop that program first, or use --force")]
    InUse,
}

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Converts an I/O error, adding the attempted action and its path.
pub(crate) fn io<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |cause| match cause.kind() {
        std::io::ErrorKind::StorageFull => Error::DiskFull(path.to_owned()),
        _ => Error::Io { action, path: path.to_owned(), cause },
    }
}
