//! A private Postgres: found or fetched, started, attached to and stopped.
//!
//! This crate knows nothing of code search. It turns a folder (the *home*) into a running server
//! that only the owner's programs can reach: no TCP, no password, a socket in a folder of mode 0700
//! and `peer` authentication.
//!
//! # Who stops the server
//! Every program that uses the server holds a *shared* lock on `users.lock`. Whoever can turn it
//! into an exclusive one on the way out is the last, and stops the server. The kernel drops a
//! killed program's lock, so an orphaned server is attached to by the next program and stopped by
//! the last one. All changes of state (install, `initdb`, start, stop) happen under an exclusive
//! `start.lock`.
//!
//! # What lies in the home
//! `builds/` downloaded Postgres builds; `data/` the data directory; `build.json` which build made
//! it (it is never opened with another major version); `run/` the socket and `server.log` (in the folder
//! for temporary files when the home's path is too long for a socket).

mod builds;
mod error;
mod home;
mod memory;
mod server;
mod user;

pub use builds::{Build, Source};
pub use error::{Error, Result};
pub use memory::Memory;

use std::fs::File;
use std::path::{Path, PathBuf};

use home::Home;
use user::Owner;

/// How the private server is to be had.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that holds everything of the server. Made when missing.
    pub home: PathBuf,
    /// The name of the role and of the database.
    pub name: String,
    /// Where the programs of Postgres come from.
    pub source: Source,
}

/// A running server that this program uses. Call [`Postgres::close`] when done; a program that is
/// killed instead leaves a server behind that the next one attaches to.
#[derive(Debug)]
pub struct Postgres {
    home: Home,
    owner: Owner,
    build: Build,
    users: File,
    name: String,
}

/// What can be seen of a private server without starting it.
#[derive(Clone, Debug)]
pub struct Status {
    /// The home that was looked at.
    pub home: PathBuf,
    /// The build that made the data directory, when there is one.
    pub build: Option<Build>,
    /// The process id of the server, when it runs.
    pub pid: Option<u32>,
    /// Whether the server goes on when its last user leaves ([`Postgres::keep`]).
    pub kept: bool,
    /// Size of the data directory in bytes.
    pub bytes: u64,
    /// The memory that a program started like this one may use.
    pub memory: Memory,
    /// What the server was given of it when it was started last: settings with their values.
    pub given: Vec<String>,
}

impl Postgres {
    /// Makes the server run, and returns once it accepts connections: attaches to a running one,
    /// else starts it, else makes the data directory, else finds or downloads Postgres.
    ///
    /// Blocks; the download reports its progress through `tracing` spans.
    ///
    /// # Errors
    /// There is no usable build of Postgres, a program of it fails, the disk is full, or the home belongs to somebody else.
    pub fn open(options: &Options) -> Result<Self> {
        let owner = Owner::choose(&options.name)?;
        let home = Home::create(&options.home, &owner)?;
        let _start = home.lock_start()?;
        let build = server::ensure_data(&home, &owner, &options.name, &options.source)?;
        server::ensure_running(&home, &owner, &build)?;
        let users = home.lock_users()?;
        Ok(Self { home, owner, build, users, name: options.name.clone() })
    }

    /// The folder of the socket; the port is always 5432.
    pub fn socket_dir(&self) -> &Path {
        self.home.run()
    }

    /// The name of the role and of the database to connect to.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The build that runs.
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
        server::ensure_running(&self.home, &self.owner, &self.build)
    }

    /// Why the server broke off, if its log tells: a full disk takes it down in the middle of a
    /// statement, and its clients only see a broken connection.
    pub fn trouble(&self) -> Option<Error> {
        server::log_tells_full_disk(&self.home)
            .then(|| Error::DiskFull(self.home.base().to_owned()))
    }

    /// Lets the server run on after its last user has left, until [`stop`].
    ///
    /// # Errors
    /// The home cannot be written.
    pub fn keep(&self) -> Result<()> {
        self.home.set_kept(true)
    }

    /// Leaves the server, and stops it if nobody else uses it and it is not kept. Says whether it
    /// was stopped.
    ///
    /// # Errors
    /// The server does not stop, or the home cannot be locked.
    pub fn close(self) -> Result<bool> {
        let _start = self.home.lock_start()?;
        if self.home.is_kept() || self.users.try_lock().is_err() {
            return Ok(false);
        }
        server::stop(&self.home, &self.owner, &self.build)?;
        Ok(true)
    }
}

/// Looks at the private server without starting it.
///
/// # Errors
/// What says which build made the data directory cannot be read.
pub fn status(options: &Options) -> Result<Status> {
    let home = Home::at(&options.home);
    Ok(Status {
        home: options.home.clone(),
        build: builds::recorded(&home)?,
        pid: server::is_ready(&home).then(|| server::pid(&home)).flatten(),
        kept: home.is_kept(),
        bytes: home.data_bytes(),
        memory: Memory::available(),
        given: server::given(&home),
    })
}

/// Stops the private server, kept or not. Says whether one was running.
///
/// # Errors
/// [`Error::InUse`] when another program uses it, unless `force`; or the server does not stop.
pub fn stop(options: &Options, force: bool) -> Result<bool> {
    let home = Home::at(&options.home);
    if builds::recorded(&home)?.is_none() {
        return Ok(false);
    }
    let owner = Owner::choose(&options.name)?;
    let _start = home.lock_start()?;
    let users = home.lock_users()?;
    if !force && users.try_lock().is_err() {
        return Err(Error::InUse);
    }
    home.set_kept(false)?;
    let Some(build) = builds::recorded(&home)? else { return Ok(false) };
    if !server::is_ready(&home) {
        return Ok(false);
    }
    server::stop(&home, &owner, &build)?;
    Ok(true)
}

/// Whether this program runs as root, so that the server would run as somebody else.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
