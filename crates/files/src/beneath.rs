//! Opens files beneath a folder without following links.
//!
//! The owner of a repository may replace a folder by a link, or a file by a pipe, between two checks. So a file is
//! opened relative to the handle of its folder, in a way that cannot leave it, and its type is checked on the open
//! file.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstatat};

use crate::fingerprint::time_of;
use crate::skip::SkipReason;

/// How files are opened. Opening a pipe does not block.
const FILE: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);

/// How folders are opened. Passing through a folder does not require the right to list it.
#[cfg(target_os = "linux")]
const FOLDER: OFlag = OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

/// How the properties of files are read, which needs no right to read their contents.
#[cfg(target_os = "linux")]
const PROPERTIES: OFlag = OFlag::O_PATH.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PROPERTIES: OFlag = FILE;

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder by its absolute path without links.
    ///
    /// # Errors
    /// It cannot be opened, or its path now has a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = OwnedFd::from(File::open("/")?);
        let below = path.strip_prefix("/").map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        if below.as_os_str().is_empty() {
            return Ok(Self(root));
        }
        open_beneath(&root, below, FOLDER).map(Self)
    }

    /// Returns a path that leads this process, and a child before it runs another program, to the folder, even if it
    /// was moved; `None` if the system does not have one.
    pub fn path(&self) -> Option<PathBuf> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        path.is_dir().then_some(path)
    }

    /// Returns what `stat` says of a path beneath the folder, which may lead to a link but not through one.
    ///
    /// # Errors
    /// The path does not exist, cannot be reached, or has a link before its end.
    pub fn stat(&self, path: &Path) -> Result<Metadata, SkipReason> {
        let opened = open_beneath(&self.0, path, PROPERTIES).map_err(|error| reason(&error))?;
        File::from(opened).metadata().map_err(|error| reason(&error))
    }

    /// Opens a folder beneath the folder.
    ///
    /// # Errors
    /// It does not exist, cannot be reached, or its path has a link.
    pub fn folder(&self, path: &Path) -> Result<Self, SkipReason> {
        open_beneath(&self.0, path, FOLDER).map(Self).map_err(|error| reason(&error))
    }

    /// Returns whether a name in the folder is an ordinary file, and when its contents or its inode changed last.
    ///
    /// # Errors
    /// It does not exist, or cannot be reached.
    pub fn last_change(&self, name: &OsStr) -> Result<(bool, SystemTime), SkipReason> {
        let found = fstatat(self.0.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW);
        let found = found.map_err(|error| reason(&error.into()))?;
        let is_file = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG;
        Ok((is_file, time_of(found.st_ctime, found.st_ctime_nsec)))
    }

    /// Returns what distinguishes a name in the folder from another file or folder, and from itself before a change:
    /// the device, the inode, and when that changed last, in seconds and nanoseconds. `None` if there is none.
    pub fn state(&self, name: &OsStr) -> Option<(u64, u64, i64, i64)> {
        let found = fstatat(self.0.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
        Some((found.st_dev as u64, found.st_ino as u64, found.st_ctime, found.st_ctime_nsec))
    }

    /// Opens a file beneath the folder, for reading.
    ///
    /// # Errors
    /// It cannot be opened, is not an ordinary file, or its path has a link.
    pub fn file(&self, path: &Path) -> Result<File, SkipReason> {
        let file = File::from(open_beneath(&self.0, path, FILE).map_err(|error| reason(&error))?);
        match file.metadata() {
            Ok(found) if found.is_file() => Ok(file),
            Ok(_) => Err(SkipReason::Special),
            Err(_) => Err(SkipReason::Unreadable),
        }
    }
}

/// Reads an ordinary file of at most `most` bytes, by its absolute path without links.
///
/// # Errors
/// It cannot be read, is not an ordinary file, is larger, or its path has a link.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, SkipReason> {
    read_all(file(path)?, most)
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// It cannot be read, or is larger.
pub fn read_all(file: File, most: u64) -> Result<Vec<u8>, SkipReason> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    if bytes.len() as u64 > most { Err(SkipReason::TooLarge) } else { Ok(bytes) }
}

/// Opens an ordinary file by its absolute path without links.
///
/// # Errors
/// The same as [`Folder::file`].
pub fn file(path: &Path) -> Result<File, SkipReason> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(SkipReason::Special);
    };
    Folder::open(folder).map_err(|error| reason(&error))?.file(Path::new(name))
}

/// Returns the reason for leaving out a file that cannot be opened or read.
pub fn reason(error: &io::Error) -> SkipReason {
    match error.raw_os_error().map(Errno::from_raw) {
        // A link in place of the file or of a folder above it; or a path that leads out.
        Some(Errno::ELOOP | Errno::EXDEV) => SkipReason::Symlink,
        Some(Errno::ENXIO | Errno::EISDIR) => SkipReason::Special,
        Some(Errno::ENOENT | Errno::ENOTDIR) => SkipReason::Vanished,
        _ => SkipReason::Unreadable,
    }
}

/// Opens a path beneath a folder without following links.
#[cfg(target_os = "linux")]
fn open_beneath(folder: &OwnedFd, path: &Path, flags: OFlag) -> io::Result<OwnedFd> {
    use nix::fcntl::{OpenHow, ResolveFlag, openat2};

    let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS;
    match openat2(folder.as_fd(), path, OpenHow::new().flags(flags).resolve(resolve)) {
        // Kernels before 5.6 lack this call, and some containers forbid it.
        Err(Errno::ENOSYS | Errno::EPERM) => open_by_steps(folder, path, flags),
        opened => Ok(opened?),
    }
}

/// Opens a path beneath a folder without following links.
#[cfg(not(target_os = "linux"))]
fn open_beneath(folder: &OwnedFd, path: &Path, flags: OFlag) -> io::Result<OwnedFd> {
    open_by_steps(folder, path, flags)
}

/// Opens one folder after another, then the last name of a path.
fn open_by_steps(folder: &OwnedFd, path: &Path, flags: OFlag) -> io::Result<OwnedFd> {
    let mut at = folder.try_clone()?;
    let mut names = path.components().filter(|part| *part != Component::CurDir).peekable();
    while let Some(part) = names.next() {
        let Component::Normal(name) = part else { return Err(Errno::EXDEV.into()) };
        let flags = if names.peek().is_some() { FOLDER } else { flags };
        at = match openat(at.as_fd(), name, flags | OFlag::O_NOFOLLOW, Mode::empty()) {
            Ok(opened) => opened,
            // If a folder is required, some systems report a link only as not a folder.
            Err(Errno::ENOTDIR) if is_link(&at, name) => return Err(Errno::ELOOP.into()),
            Err(error) => return Err(error.into()),
        };
    }
    Ok(at)
}

/// Returns whether a name in a folder is a link.
fn is_link(folder: &OwnedFd, name: &std::ffi::OsStr) -> bool {
    nix::fcntl::readlinkat(folder.as_fd(), name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changed_at;
    use std::fs;
    use std::os::unix::fs::symlink;

    type Open = fn(&OwnedFd, &Path, OFlag) -> io::Result<OwnedFd>;

    #[test]
    fn no_link_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("in/deep")).unwrap();
        fs::create_dir(at("out")).unwrap();
        for path in ["in/deep/a", "out/a"] {
            fs::write(at(path), path).unwrap();
        }
        symlink(at("out"), at("in/link")).unwrap();
        symlink("deep", at("in/near")).unwrap();
        symlink("deep/a", at("in/name")).unwrap();
        nix::unistd::mkfifo(&at("in/pipe"), Mode::S_IRWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("in/socket")).unwrap();
        let folder = OwnedFd::from(File::open(at("in")).unwrap());
        for open in [open_beneath as Open, open_by_steps] {
            let mut text = String::new();
            let opened = open(&folder, Path::new("deep/a"), FILE).unwrap();
            File::from(opened).read_to_string(&mut text).unwrap();
            assert_eq!(text, "in/deep/a");
            for (path, expected) in [
                ("link/a", SkipReason::Symlink),
                ("near/a", SkipReason::Symlink),
                ("name", SkipReason::Symlink),
                ("../out/a", SkipReason::Symlink),
                ("/etc/passwd", SkipReason::Symlink),
                ("deep/b", SkipReason::Vanished),
                ("deep/a/b", SkipReason::Vanished),
                ("socket", SkipReason::Special),
            ] {
                let error = open(&folder, Path::new(path), FILE).unwrap_err();
                assert_eq!(reason(&error), expected, "{path}");
            }
        }
        let folder = Folder(folder);
        // Opening a pipe does not wait for a writer.
        assert_eq!(folder.file(Path::new("pipe")).unwrap_err(), SkipReason::Special);
        let stat = |path: &str| folder.stat(Path::new(path)).map(|found| found.is_file());
        assert_eq!(stat("deep/a"), Ok(true));
        assert_eq!((stat("pipe"), stat("deep")), (Ok(false), Ok(false)));
        assert_eq!(
            (stat("link/a"), stat("near/a")),
            (Err(SkipReason::Symlink), Err(SkipReason::Symlink))
        );
        assert_eq!(
            (stat("../out/a"), stat("gone")),
            (Err(SkipReason::Symlink), Err(SkipReason::Vanished))
        );
        #[cfg(target_os = "linux")]
        assert_eq!(stat("name"), Ok(false));
        assert_eq!(folder.folder(Path::new("near")).unwrap_err(), SkipReason::Symlink);
        let deep = folder.folder(Path::new("deep")).unwrap();
        let changed = deep.last_change(OsStr::new("a")).unwrap();
        let expected = changed_at(&at("in/deep/a").metadata().unwrap());
        assert_eq!(changed, (true, expected));
        assert!(!folder.last_change(OsStr::new("name")).unwrap().0);
        let state = |name: &str| folder.state(OsStr::new(name));
        let found = std::os::unix::fs::MetadataExt::ino;
        assert_eq!(
            state("deep").map(|state| state.1),
            Some(found(&at("in/deep").metadata().unwrap()))
        );
        assert_eq!(state(".").map(|state| state.1), Some(found(&at("in").metadata().unwrap())));
        assert_ne!(state("near"), state("deep"));
        assert_eq!(state("gone"), None);
        assert_eq!(deep.last_change(OsStr::new("b")).unwrap_err(), SkipReason::Vanished);
        let root = root.path().canonicalize().unwrap();
        assert!(Folder::open(&root.join("in/link")).is_err());
        assert_eq!(read(&root.join("out/a"), 5).unwrap(), b"out/a");
        assert_eq!(read(&root.join("out/a"), 4), Err(SkipReason::TooLarge));
        assert_eq!(read(&root.join("in/link/a"), 9), Err(SkipReason::Symlink));
        assert_eq!(read(&root.join("in"), 9), Err(SkipReason::Special));
        Folder::open(Path::new("/")).unwrap();
    }
}
