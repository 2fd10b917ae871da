//! The Unix sockets of a server: that of the index's folder, to which only the user who runs the server can connect, and
//! that of a proxy.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::cli::DatabaseArgs;
use crate::database::{external, postgres_options};

/// Returns the path of the socket of an index's server; `None` if the index's folder is unknown.
pub(crate) fn path(database: &DatabaseArgs) -> Option<PathBuf> {
    let home = postgres_options(database).ok()?.home;
    let index = external(database).unwrap_or(&database.index);
    Some(client::socket_path(&home, index))
}

/// A listening socket, removed when dropped.
pub(crate) struct Socket {
    path: PathBuf,
    listener: Option<UnixListener>,
    inode: u64,
}

impl Socket {
    /// Listens on the socket of an index; `None` if another server does already.
    ///
    /// # Errors
    /// The socket cannot be created.
    pub(crate) fn listen(database: &DatabaseArgs) -> io::Result<Option<Self>> {
        let Some(path) = path(database) else { return Ok(None) };
        if UnixStream::connect(&path).is_ok() {
            return Ok(None);
        }
        make_folder(&path)?;
        Self::at(path, 0o600).map(Some)
    }

    /// Listens on the socket of a proxy, for the user and the group that run the server.
    ///
    /// # Errors
    /// The socket cannot be created, or something else is there.
    pub(crate) fn of_proxy(path: &Path) -> Result<Self> {
        let shown = path.display();
        ensure!(
            UnixStream::connect(path).is_err(),
            "{shown} is the socket of a server already; choose another path with --proxy-socket"
        );
        let is_ours = |found: fs::Metadata| found.file_type().is_socket();
        ensure!(
            fs::symlink_metadata(path).map_or(true, is_ours),
            "{shown} is not a socket; choose another path with --proxy-socket"
        );
        let path = std::path::absolute(path)?;
        Self::at(path, 0o660).with_context(|| {
            format!("cannot make the socket {shown}; choose a folder for --proxy-socket that this user may write to")
        })
    }

    fn at(path: PathBuf, mode: u32) -> io::Result<Self> {
        // The socket gets its mode before it gets its name, and replaces that of a server that died.
        let fresh = path.with_extension(std::process::id().to_string());
        let _ = fs::remove_file(&fresh);
        let listener = UnixListener::bind(&fresh)?;
        let named = fs::set_permissions(&fresh, Permissions::from_mode(mode))
            .and_then(|()| fs::rename(&fresh, &path));
        if let Err(error) = named {
            let _ = fs::remove_file(&fresh);
            return Err(error);
        }
        listener.set_nonblocking(true)?;
        let inode = fs::symlink_metadata(&path)?.ino();
        Ok(Self { path, listener: Some(listener), inode })
    }

    /// Takes the listener.
    pub(crate) fn take(&mut self) -> Option<UnixListener> {
        self.listener.take()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Another server may have replaced it.
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the folder of a socket. Another user may have made a folder among the temporary files before: only a private one
/// will do there.
fn make_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let is_temporary = folder.parent() == Some(Path::new(client::TEMPORARY));
    // The home of a private Postgres, which may be made later, is open to the user that Postgres runs as.
    let mode = if is_temporary { 0o700 } else { 0o755 };
    DirBuilder::new().recursive(true).mode(mode).create(folder)?;
    if !is_temporary {
        return Ok(());
    }
    let found = fs::symlink_metadata(folder)?;
    let is_private = found.is_dir()
        && found.uid() == nix::unistd::geteuid().as_raw()
        && found.mode() & 0o022 == 0;
    if !is_private {
        return Err(io::Error::other(format!(
            "{} can be changed by other users; choose another folder with --home",
            folder.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_socket_is_that_of_a_home() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode() & 0o777;
        make_folder(&folder.path().join("home/main.sock")).unwrap();
        DirBuilder::new().mode(0o755).create(folder.path().join("other")).unwrap();
        assert_eq!(mode("home"), mode("other"));
    }
}
