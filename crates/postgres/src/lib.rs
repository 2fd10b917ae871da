//! A private Postgres: finding or downloading, starting, attaching and stopping it.
//!
//! This crate knows nothing of code search. It turns a folder (the *home*) into a running server
//! that only the owner's programs can reach: no TCP, no password, a socket in a folder of mode 0700
//! and `peer` authentication.
//!
//! # When the server stops
//! Every program that uses the server holds a *shared* lock on `users.lock`. A program that exits
//! tries to turn it into an exclusive one; if that succeeds, it was the last user and stops the
//! server, at once or after a time ([`Idle`]). The kernel drops the lock of a killed program. The server then runs on; the next program
//! attaches to it, and the last one stops it. All changes of state (install, `initdb`, start, stop)
//! happen under an exclusive `start.lock`.
//!
//! # Files in the home
//! `builds/` holds downloaded builds of Postgres; `data/` the data directory; `build.json` the build that made it
//! (another major version never opens it); `run/` the socket and `server.log` (they lie in the folder for temporary
//! files if the home's path is too long for a socket); `reserve` takes up space, which the server gets when its disk is
//! full.
//!
//! # Root
//! Root runs the server as another user, who owns `data/` and `run/` and may replace anything there by a link. So root
//! writes to them only as that user, and uses a home only if nobody else can replace it.

mod builds;
mod error;
mod home;
mod idle;
mod lock;
mod memory;
mod process;
mod server;
mod user;

pub use builds::{Build, Source};
pub use error::{Error, Result};
pub use home::size_of;
pub use idle::{Idle, wait};
pub use memory::Memory;

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use home::Home;
use user::Owner;

/// The place of the private server, its name, and the source of its programs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that holds all files of the server. Created if missing.
    pub home: PathBuf,
    /// The name of the role and of the database.
    pub name: String,
    /// The source of Postgres's programs.
    pub source: Source,
    /// How long the server runs on after its last user has left; `None` to stop it at once.
    pub idle: Option<Idle>,
}

/// A running server that this program uses. Call [`Postgres::close`] when done. If a program is
/// killed instead, its server runs on, and the next program attaches to it.
#[derive(Debug)]
pub struct Postgres {
    home: Home,
    owner: Owner,
    build: Build,
    users: File,
    name: String,
    idle: Option<Idle>,
    /// The process of the server, and its data directory: device and inode.
    running: Running,
}

/// A server's identity, by which it is found if its folder is moved.
type Running = (Option<u32>, Option<(u64, u64)>);

/// The state of a private server, read without starting it.
#[derive(Clone, Debug)]
pub struct Status {
    /// The home that was read.
    pub home: PathBuf,
    /// The build that made the data directory, if there is one.
    pub build: Option<Build>,
    /// The process id of the server, if it runs.
    pub pid: Option<u32>,
    /// Whether the server keeps running after its last user has left ([`Postgres::keep`]).
    pub kept: bool,
    /// The time after which the server stops unless it is used, if nobody uses it now.
    pub stops_in: Option<Duration>,
    /// Size of the data directory in bytes.
    pub bytes: u64,
    /// The memory that a program started like this one may use.
    pub memory: Memory,
    /// The memory settings of the server at its last start, with their values.
    pub given: Vec<String>,
}

impl Postgres {
    /// Ensures that the server runs, and returns once it accepts connections. Attaches to a running
    /// server, or starts one, after making the data directory and finding or downloading Postgres
    /// if necessary.
    ///
    /// Blocks; the download reports its progress through `tracing` spans.
    ///
    /// # Errors
    /// There is no usable build of Postgres, one of its programs fails, the disk is full, or the
    /// home belongs to another user.
    pub fn open(options: &Options) -> Result<Self> {
        let owner = Owner::choose(&options.name)?;
        let home = Home::create(&options.home, &owner)?;
        let _start = home.lock_start()?;
        let build = server::ensure_data(&home, &owner, &options.name, &options.source)?;
        server::ensure_running(&home, &owner, &build, &options.name)?;
        let users = home.lock_users()?;
        let running = (server::pid(&home), identity(&home.data()));
        let (name, idle) = (options.name.clone(), options.idle.clone());
        Ok(Self { home, owner, build, users, name, idle, running })
    }

    /// Returns the folder of the socket; the port is always 5432.
    pub fn socket_dir(&self) -> &Path {
        self.home.run()
    }

    /// Returns the name of the role and of the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the build of the server.
    pub fn build(&self) -> &Build {
        &self.build
    }

    /// Starts the server again if it has died.
    ///
    /// # Errors
    /// The server does not start, or the home cannot be locked.
    pub fn ensure_running(&self) -> Result<()> {
        if server::is_ready(&self.home) {
            return Ok(());
        }
        let _start = self.home.lock_start()?;
        server::ensure_running(&self.home, &self.owner, &self.build, &self.name)
    }

    /// Returns the reason why the server died, if its log tells. A full disk stops the server in the middle of a
    /// statement, and its clients see only a broken connection.
    pub fn trouble(&self) -> Option<Error> {
        server::log_tells_full_disk(&self.home)
            .then(|| Error::DiskFull(self.home.base().to_owned()))
    }

    /// Ensures that there is space to write to the index, and space in reserve, with which the server recovers if the
    /// disk becomes full anyway.
    ///
    /// # Errors
    /// [`Error::NoRoom`].
    pub fn ensure_room(&self) -> Result<()> {
        let free = self.home.free_bytes().unwrap_or(u64::MAX);
        if free >= home::RESERVE && self.home.fill_reserve() {
            return Ok(());
        }
        Err(Error::NoRoom { path: self.home.base().to_owned(), free, need: 3 * home::RESERVE })
    }

    /// Returns a folder on each disk on which the index grows.
    pub fn disks(&self) -> [PathBuf; 2] {
        self.home.disks()
    }

    /// Keeps the server running after its last user has left, until [`stop`].
    ///
    /// # Errors
    /// The home cannot be written.
    pub fn keep(&self) -> Result<()> {
        self.home.set_kept(true)
    }

    /// Stops using the server. If nobody else uses it and it is not kept, it stops after the time of [`Options::idle`].
    ///
    /// # Errors
    /// The server does not stop, or the home cannot be locked.
    pub fn close(self) -> Result<()> {
        self.leave(false)
    }

    /// Like [`close`](Self::close), after much was written: the server starts again, with little memory in use.
    ///
    /// # Errors
    /// Those of [`close`](Self::close).
    pub fn close_afresh(self) -> Result<()> {
        self.leave(true)
    }

    fn leave(self, afresh: bool) -> Result<()> {
        let home = self.home_of_now();
        let _start = home.lock_start()?;
        if home.is_kept() || self.users.try_lock().is_err() {
            return Ok(());
        }
        let idle = self.idle.as_ref().filter(|idle| !idle.after.is_zero());
        if afresh || idle.is_none() {
            server::stop(&home, &self.owner, &self.build)?;
        }
        match idle {
            Some(idle) => {
                drop(self.users);
                idle::leave(&home, idle)
            }
            None => Ok(()),
        }
    }

    /// Returns the home, at its new path if it was moved while the server ran.
    fn home_of_now(&self) -> Home {
        let (pid, data) = self.running;
        if identity(&self.home.data()) == data {
            return self.home.clone();
        }
        let moved = pid.and_then(process::folder_of).filter(|folder| identity(folder) == data);
        let moved = moved.as_deref().and_then(Path::parent).map(Home::at);
        moved
            .filter(|home| self.owner.check_path(home.base()).is_ok())
            .unwrap_or_else(|| self.home.clone())
    }
}

/// Returns the device and the inode of a folder.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let found = folder.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// Returns whether the private server has a data directory.
///
/// # Errors
/// The record of the build that made it cannot be read.
pub fn is_made(options: &Options) -> Result<bool> {
    Ok(builds::recorded(&Home::at(&options.home))?.is_some())
}

/// Returns whether the private server runs.
pub fn is_running(options: &Options) -> bool {
    server::is_ready(&Home::at(&options.home))
}

/// Returns the state of the private server without starting it. Visits every file of the data directory, which takes
/// more than 10 ms: callers that need less use [`is_made`] or [`is_running`].
///
/// # Errors
/// The record of the build that made the data directory cannot be read.
pub fn status(options: &Options) -> Result<Status> {
    let home = Home::at(&options.home);
    Ok(Status {
        home: options.home.clone(),
        build: builds::recorded(&home)?,
        pid: server::is_ready(&home).then(|| server::pid(&home)).flatten(),
        kept: home.is_kept(),
        stops_in: (home.has_keeper() && home.is_unused()?).then(|| home.left()),
        bytes: home.data_bytes(),
        memory: Memory::available(),
        given: server::given(&home),
    })
}

/// Stops the private server, kept or not. Returns whether one was running.
///
/// # Errors
/// [`Error::InUse`] if another program uses it, unless `force`; or the server does not stop.
pub fn stop(options: &Options, force: bool) -> Result<bool> {
    let home = Home::at(&options.home);
    if builds::recorded(&home)?.is_none() {
        return Ok(false);
    }
    let owner = Owner::choose(&options.name)?;
    owner.check_path(home.base())?;
    let _start = home.lock_start()?;
    let users = home.lock_users()?;
    if !force && users.try_lock().is_err() {
        return Err(Error::InUse);
    }
    home.set_kept(false)?;
    let Some(build) = builds::recorded(&home)? else { return Ok(false) };
    if !server::runs(&home) {
        return Ok(false);
    }
    server::stop(&home, &owner, &build)?;
    Ok(true)
}

/// Returns whether this program runs as root; the server then runs as another user.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
