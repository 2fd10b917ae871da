//! The user that owns the server: Postgres refuses to run as root, so root runs it as another user.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{Gid, Uid, User, chown, geteuid};

use crate::error::{Error, Result};

/// The user the server runs as.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// User and group to switch to; `None` if this program runs as an ordinary user.
    switch: Option<(Uid, Gid)>,
    /// The name of the server's user.
    pub(crate) name: String,
    /// The name of the user who runs this program, as `peer` authentication sees it.
    pub(crate) client: String,
}

impl Owner {
    /// Chooses the owner: an ordinary user owns the server themselves; root gives it to the first
    /// of `preferred`, `postgres` and `nobody` that exists.
    pub(crate) fn choose(preferred: &str) -> Result<Self> {
        let uid = geteuid();
        let client = User::from_uid(uid)
            .ok()
            .flatten()
            .map(|user| user.name)
            .ok_or_else(|| Error::Build(format!(
                "the user with id {uid} has no name in /etc/passwd, which Postgres insists on; add one, \
                 or set DATABASE_URL"
            )))?;
        if !uid.is_root() {
            return Ok(Self { switch: None, name: client.clone(), client });
        }
        [preferred, "postgres", "nobody"]
            .iter()
            .find_map(|name| User::from_name(name).ok().flatten())
            .map(|user| Self { switch: Some((user.uid, user.gid)), name: user.name, client })
            .ok_or_else(|| {
                Error::Build(format!(
                    "Postgres does not run as root, and there is no user '{preferred}', 'postgres' or \
                     'nobody' to run it as; create one, or set DATABASE_URL"
                ))
            })
    }

    /// Returns a command that runs as the owner, in `dir`, without environment variables that would
    /// misdirect Postgres.
    pub(crate) fn command(&self, program: &Path, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(dir);
        for (key, _) in std::env::vars_os() {
            if key.to_string_lossy().starts_with("PG") {
                command.env_remove(key);
            }
        }
        command.env("LC_ALL", "C");
        if let Some((uid, gid)) = self.switch {
            command.uid(uid.as_raw()).gid(gid.as_raw());
        }
        command
    }

    /// Returns whether a folder with this owner may be the server's: it belongs to the server's
    /// user, or to this program's.
    pub(crate) fn may_own(&self, uid: u32) -> bool {
        self.switch.map_or(geteuid(), |(owner, _)| owner).as_raw() == uid
            || geteuid().as_raw() == uid
    }

    /// Gives a file or folder to the owner.
    pub(crate) fn give(&self, path: &Path) -> Result<()> {
        let Some((uid, gid)) = self.switch else { return Ok(()) };
        chown(path, Some(uid), Some(gid)).map_err(|errno| Error::Io {
            action: "cannot change the owner of",
            path: path.to_owned(),
            cause: errno.into(),
        })
    }

    /// Checks that the server's user may enter every folder down to `path`, if root runs the server
    /// as that user.
    pub(crate) fn can_reach(&self, path: &Path) -> Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let Some((uid, gid)) = self.switch else { return Ok(()) };
        for dir in path.ancestors().filter(|d| !d.as_os_str().is_empty()) {
            let Ok(found) = dir.metadata() else { continue };
            let bit = match (found.uid() == uid.as_raw(), found.gid() == gid.as_raw()) {
                (true, _) => 0o100,
                (_, true) => 0o010,
                _ => 0o001,
            };
            if found.permissions().mode() & bit == 0 {
                return Err(Error::Unreachable { user: self.name.clone(), path: dir.to_owned() });
            }
        }
        Ok(())
    }
}
