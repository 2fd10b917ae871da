//! The folder of a private server: its paths and locks, no processes.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, io};
use crate::user::Owner;

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
            // The path is too long for a socket. A short name in the folder for temporary files is
            // always the same for this home, and private to its owner, too.
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
                "{} has a character in it that Postgres's pg_ctl cannot take; choose another place with --home",
                home.base.display()
            )));
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&home.base)
            .map_err(io("cannot create", &home.base))?;
        owner.can_reach(&home.base)?;
        home.check_user()?;
        match home.run.symlink_metadata() {
            Ok(found) if !found.is_dir() || !owner.may_own(found.uid()) => {
                return Err(Error::Build(format!(
                    "{} belongs to somebody else; remove it, or choose another place with --home",
                    home.run.display()
                )));
            }
            Ok(_) => {}
            Err(_) => {
                // Another program may create it first.
                DirBuilder::new()
                    .mode(0o700)
                    .recursive(true)
                    .create(&home.run)
                    .map_err(io("cannot create", &home.run))?;
                owner.give(&home.run)?;
            }
        }
        fs::set_permissions(&home.run, Permissions::from_mode(0o700))
            .map_err(io("cannot make private", &home.run))?;
        Ok(home)
    }

    /// Checks that this user made the home: another user would leave files in it that its owner
    /// cannot use.
    fn check_user(&self) -> Result<()> {
        let Ok(found) = self.record().metadata() else { return Ok(()) };
        if found.uid() == geteuid().as_raw() {
            return Ok(());
        }
        let user = User::from_uid(Uid::from_raw(found.uid())).ok().flatten();
        let user = user.map_or_else(|| found.uid().to_string(), |user| user.name);
        Err(Error::Build(format!(
            "the private Postgres in {} belongs to the user '{user}'; run this as '{user}', or choose another \
             place with --home",
            self.base.display()
        )))
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
        let (file, path) = self.lock_file("start.lock")?;
        file.lock().map_err(io("cannot lock", &path))?;
        Ok(file)
    }

    /// Registers this program as a user of the server, until the file is dropped.
    pub(crate) fn lock_users(&self) -> Result<File> {
        let (file, path) = self.lock_file("users.lock")?;
        file.lock_shared().map_err(io("cannot lock", &path))?;
        Ok(file)
    }

    fn lock_file(&self, name: &str) -> Result<(File, PathBuf)> {
        let path = self.base.join(name);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(io("cannot write", &path))?;
        Ok((file, path))
    }

    /// Returns whether the server is to run on without users.
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

    /// Returns the size of the data directory in bytes; 0 if it does not exist or cannot be read.
    pub(crate) fn data_bytes(&self) -> u64 {
        fn sum(dir: &Path) -> u64 {
            let Ok(entries) = fs::read_dir(dir) else { return 0 };
            entries
                .flatten()
                .map(|entry| match entry.metadata() {
                    Ok(found) if found.is_dir() => sum(&entry.path()),
                    Ok(found) => found.len(),
                    Err(_) => 0,
                })
                .sum()
        }
        sum(&self.data())
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
