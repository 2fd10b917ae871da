//! Keeps a server running for some time after its last user has left, and then stops it.
//!
//! A process of its own waits ([`wait`]), the *keeper*; the last user starts it. If it is killed, the server runs on until
//! its next last user starts another one.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Result, io};
use crate::home::Home;
use crate::user::Owner;
use crate::{Options, builds, server};

/// Interval at which the keeper looks whether the server was stopped.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Shortest pause between two looks.
const SHORTEST: Duration = Duration::from_millis(100);

/// How long a server runs without a user, and the command that waits for that time to pass by calling [`wait`].
#[derive(Clone, Debug)]
pub struct Idle {
    /// The time; zero to stop the server at once.
    pub after: Duration,
    /// The program of the keeper.
    pub program: std::path::PathBuf,
    /// Its arguments.
    pub args: Vec<std::ffi::OsString>,
}

/// Notes that the server is no longer used from now on, and starts a keeper unless one waits already.
pub(crate) fn leave(home: &Home, idle: &Idle) -> Result<()> {
    home.write_left(idle.after)?;
    if home.try_lock_keeper()?.is_none() {
        return Ok(());
    }
    let mut keeper = Command::new(&idle.program);
    // In a group of its own, Ctrl-C does not reach it.
    keeper.args(&idle.args).process_group(0).current_dir("/");
    keeper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    keeper.spawn().map(drop).map_err(io("cannot run", &idle.program))
}

/// Waits until the server has had no user for the time that the last one set, and stops it. Starts it first if it does not run. Returns early if
/// another process waits, or if the server was stopped or is to be kept.
///
/// # Errors
/// The server does not start or stop, or the home cannot be locked.
pub fn wait(options: &Options) -> Result<()> {
    let home = Home::at(&options.home);
    let Some(_keeper) = home.try_lock_keeper()? else { return Ok(()) };
    let owner = Owner::choose(&options.name)?;
    owner.check_path(home.base())?;
    let Some(build) = builds::recorded(&home)? else { return Ok(()) };
    {
        let _start = home.lock_start()?;
        server::ensure_running(&home, &owner, &build, &options.name)?;
    }
    loop {
        let left = home.left();
        if left.is_zero() {
            let _start = home.lock_start()?;
            if home.is_kept() {
                return Ok(());
            }
            // A user may have come and gone meanwhile.
            if home.is_unused()? && home.left().is_zero() {
                return if server::runs(&home) {
                    server::stop(&home, &owner, &build)
                } else {
                    Ok(())
                };
            }
        }
        std::thread::sleep(left.clamp(SHORTEST, LOOK_EVERY));
        if !server::is_ready(&home) {
            return Ok(());
        }
    }
}
