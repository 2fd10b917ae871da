//! The folder of a private server: its paths and locks. Starts no processes.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::sys::statvfs::statvfs;
use nix::unistd::geteuid;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, io};
use crate::lock;
use crate::user::{Owner, foreign};

/// Longest wait for a lock. Its holder may be starting a server, which may recover for minutes.
const LOCK: Duration = Duration::from_mins(6);

/// Time after which this program says what it waits for.
const SILENT: Duration = Duration::from_secs(3);

/// Bytes kept in reserve. With three segments of its log, Postgres recovers on a full disk.
pub(crate) const RESERVE: u64 = 48 << 20;

/// Longest path of a Unix socket, in bytes (`sun_path` of Linux has 108 with the final NUL).
const MAX_SOCKET_PATH_BYTES: usize = 107;

#[derive(Clone, Debug)]
pub(crate) struct Home {
    base: PathBuf,
    run: PathBuf,
}

impl Home {
    /// Returns the paths of a home without touching the disk.
    pub(crate) fn at(base: &Path) -> Self {
        let base = std::path::absolute(base).unwrap_or_else(|_| base.to_owned());
        let mut run = base.join("run");
        if run.join(".s.PGSQL.5432.lock").as_os_str().len() > MAX_SOCKET_PATH_BYTES {
            // The path is too long for a socket. Use a short name in the folder for temporary files, always the same
            // for this home, and also private to its owner.
            let hash = hex(&Sha256::digest(base.as_os_str().as_bytes())[..8]);
            run = PathBuf::from(format!("/tmp/pg-{hash}"));
        }
        Self { base, run }
    }

    /// Creates the folders of a home, each with its owner and mode.
    pub(crate) fn create(base: &Path, owner: &Owner) -> Result<Self> {
        let home = Self::at(base);
        if home.base.to_string_lossy().contains(['"', '$', '`', '\\', '\n']) {
            return Err(Error::Build(format!(
                "{} contains a character that Postgres's pg_ctl does not support; choose another folder with --home",
                home.base.display()
            )));
        }
        owner.check_path(&home.base)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&home.base)
            .map_err(io("cannot create", &home.base))?;
        owner.can_reach(&home.base)?;
        home.check_user()?;
        home.make_run(owner)?;
        Ok(home)
    }

    /// Makes the folder of the socket, private to the owner. Its parent may be shared with other users, so an existing
    /// folder is opened once, checked, and changed by that handle.
    fn make_run(&self, owner: &Owner) -> Result<()> {
        let run = &self.run;
        match DirBuilder::new().mode(0o700).create(run) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(io("cannot create", run)(error));
            }
            _ => {}
        }
        let somebodys = || {
            Error::Build(format!(
                "{} belongs to another user; remove it, or choose another folder with --home",
                run.display()
            ))
        };
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
        let folder = match OpenOptions::new().read(true).custom_flags(flags.bits()).open(run) {
            Ok(folder) => folder,
            // It belongs to another user, or is a link or a file.
            Err(_) if run.symlink_metadata().is_ok() => return Err(somebodys()),
            Err(error) => return Err(io("cannot open", run)(error)),
        };
        let found = folder.metadata().map_err(io("cannot read the status of", run))?;
        if !owner.may_own(found.uid()) {
            return Err(somebodys());
        }
        if found.uid() == geteuid().as_raw() {
            owner.give(&folder, run)?;
        }
        if found.mode() & 0o777 != 0o700 {
            folder
                .set_permissions(Permissions::from_mode(0o700))
                .map_err(io("cannot make private", run))?;
        }
        Ok(())
    }

    /// Checks that this user made the home: another user would leave files in it that its owner cannot use.
    fn check_user(&self) -> Result<()> {
        match self.record().metadata() {
            Ok(found) if found.uid() != geteuid().as_raw() => Err(foreign(&self.base, found.uid())),
            _ => Ok(()),
        }
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Makes the names of files in the home durable.
    pub(crate) fn flush_names(&self) -> Result<()> {
        let flush = || File::open(&self.base)?.sync_all();
        flush().map_err(io("cannot flush", &self.base))
    }

    pub(crate) fn run(&self) -> &Path {
        &self.run
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.run.join(".s.PGSQL.5432")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.base.join("data")
    }

    pub(crate) fn builds(&self) -> PathBuf {
        self.base.join("builds")
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.base.join("build.json")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.run.join("server.log")
    }

    /// Waits for the right to change the server's state.
    pub(crate) fn lock_start(&self) -> Result<File> {
        self.lock("start.lock", File::try_lock)
    }

    /// Registers this program as a user of the server until the file is dropped.
    pub(crate) fn lock_users(&self) -> Result<File> {
        self.lock("users.lock", File::try_lock_shared)
    }

    /// Returns the right to wait for the time to stop the server; `None` if another process has it.
    pub(crate) fn try_lock_keeper(&self) -> Result<Option<File>> {
        let (file, path) = self.lock_file("keeper.lock")?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(io("cannot lock", &path)(error)),
        }
    }

    /// Notes that a user leaves now, and how long the server is to run without one.
    pub(crate) fn write_left(&self, after: Duration) -> Result<()> {
        let (file, path) = self.lock_file("users.lock")?;
        let text = after.as_millis().to_string();
        // The file is modified even if its text stays the same.
        let written = file.set_len(0).and_then(|()| (&file).write_all(text.as_bytes()));
        written.map_err(io("cannot write", &path))
    }

    /// Returns the time until a server without users is to be stopped: zero if that is due, or was never set.
    pub(crate) fn left(&self) -> Duration {
        let path = self.base.join("users.lock");
        let after = read_small(&path).ok().and_then(|text| text.trim().parse().ok());
        let after = Duration::from_millis(after.unwrap_or_default());
        let written = path.symlink_metadata().and_then(|found| found.modified());
        // If the clock was set back, the time begins again.
        let since = written.map(|at| at.elapsed().unwrap_or_default());
        since.map_or(Duration::ZERO, |since| after.saturating_sub(since))
    }

    /// Returns whether a process waits for the time to stop the server.
    pub(crate) fn has_keeper(&self) -> bool {
        self.base.join("keeper.lock").exists() && matches!(self.try_lock_keeper(), Ok(None))
    }

    /// Returns whether no program is registered as a user.
    pub(crate) fn is_unused(&self) -> Result<bool> {
        Ok(self.lock_file("users.lock")?.0.try_lock().is_ok())
    }

    /// Waits for a lock, for as long as starting the server may take.
    fn lock(&self, name: &str, try_lock: fn(&File) -> Result<(), TryLockError>) -> Result<File> {
        let (file, path) = self.lock_file(name)?;
        let begun = Instant::now();
        let mut told = false;
        let mut pause = Duration::from_millis(1);
        loop {
            match try_lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(io("cannot lock", &path)(error)),
            }
            if begun.elapsed() > LOCK {
                return Err(Error::Locked { by: lock::holders(&file), path });
            }
            if !told && begun.elapsed() > SILENT {
                told = true;
                let by = lock::holders(&file);
                tracing::warn!("waiting for {}, which {by} has locked", path.display());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Opens a file for locking, which only this user can open and so lock.
    fn lock_file(&self, name: &str) -> Result<(File, PathBuf)> {
        let path = self.base.join(name);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
            .open(&path)
            .map_err(io("cannot write", &path))?;
        let found = file.metadata().map_err(io("cannot read the status of", &path))?;
        if found.uid() != geteuid().as_raw() {
            return Err(foreign(&path, found.uid()));
        }
        // An earlier version let others read it.
        if found.mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600))
                .map_err(io("cannot make private", &path))?;
        }
        Ok((file, path))
    }

    /// Returns whether the server keeps running without users.
    pub(crate) fn is_kept(&self) -> bool {
        self.base.join("keep").exists()
    }

    pub(crate) fn set_kept(&self, kept: bool) -> Result<()> {
        let path = self.base.join("keep");
        match kept {
            true => File::create(&path).map(drop).map_err(io("cannot write", &path)),
            false if path.exists() => fs::remove_file(&path).map_err(io("cannot remove", &path)),
            false => Ok(()),
        }
    }

    /// Returns the free bytes on the fuller of the disks that hold the server's data and log; `None` if they cannot be
    /// read.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let free = |folder: PathBuf| {
            let disk = statvfs(&folder).ok()?;
            #[allow(clippy::useless_conversion, reason = "their types differ between systems")]
            Some(u64::from(disk.blocks_available()) * u64::from(disk.fragment_size()))
        };
        self.disks().into_iter().filter_map(free).min()
    }

    /// Returns a folder on each disk on which the index grows.
    pub(crate) fn disks(&self) -> [PathBuf; 2] {
        [self.data(), self.data().join("pg_wal")]
    }

    /// Returns the path of the file that reserves space. The server gets the space when its disk is full.
    fn reserve(&self) -> PathBuf {
        self.base.join("reserve")
    }

    /// Reserves the space, unless it is reserved already. Returns whether it is reserved.
    pub(crate) fn fill_reserve(&self) -> bool {
        let path = self.reserve();
        if path.metadata().is_ok_and(|found| found.len() == RESERVE) {
            return true;
        }
        if self.free_bytes().is_none_or(|free| free < 3 * RESERVE) {
            return false;
        }
        let fill = || {
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(true)
                .write(true)
                .mode(0o600)
                .custom_flags(OFlag::O_NOFOLLOW.bits())
                .open(&path)?;
            let zeros = vec![0; 1 << 20];
            (0..RESERVE >> 20).try_for_each(|_| file.write_all(&zeros))
        };
        let filled = fill();
        if filled.is_err() {
            self.use_reserve();
        }
        filled.is_ok()
    }

    /// Gives the reserved space to the server. Returns whether there was some.
    pub(crate) fn use_reserve(&self) -> bool {
        fs::remove_file(self.reserve()).is_ok()
    }

    /// Returns the size of the data directory in bytes; 0 if it does not exist or cannot be read.
    pub(crate) fn data_bytes(&self) -> u64 {
        size_of(&self.data())
    }
}

/// Returns the disk space that the files below a folder take, in bytes, as `du` counts it. Files that cannot be read do
/// not count.
pub fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size_of(&entry.path()),
            // `st_blocks` counts units of 512 bytes on every file system.
            Ok(found) => found.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// Reads at most 1 MiB of a file that another user may have put there; refuses links, and anything that is not a file.
///
/// # Errors
/// It cannot be read, or is something else.
pub(crate) fn read_small(path: &Path) -> std::io::Result<String> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(1 << 20).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
