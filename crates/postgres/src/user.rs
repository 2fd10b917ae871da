//! The user that owns the server: Postgres refuses to run as root, so root runs it as another user.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::{Gid, Uid, User, fchown, geteuid};

use crate::error::{Error, Result, io};

/// Most links on a path.
const MAX_LINKS: u32 = 40;

/// The user that the server runs as.
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
                "the user with ID {uid} has no name in /etc/passwd, but Postgres needs one; add it, or set DATABASE_URL"
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

    /// Gives a folder that this program has made to the owner.
    pub(crate) fn give(&self, folder: &File, path: &Path) -> Result<()> {
        let Some((uid, gid)) = self.switch else { return Ok(()) };
        fchown(folder, Some(uid), Some(gid)).map_err(|errno| Error::Io {
            action: "cannot change the owner of",
            path: path.to_owned(),
            cause: errno.into(),
        })
    }

    /// Writes a file in a folder of the server, replacing anything of that name.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<()> {
        let fresh = path.with_extension("new");
        match self.switch {
            None => fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, path)),
            Some(_) => {
                let line = "rm -f \"$1\" && cat >\"$1\" && mv -f \"$1\" \"$2\"";
                self.shell(line, &[&fresh, path], text)
            }
        }
        .map_err(io("cannot write", path))
    }

    /// Appends to a file in a folder of the server.
    pub(crate) fn append(&self, path: &Path, text: &str) -> Result<()> {
        match self.switch {
            None => OpenOptions::new()
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(text.as_bytes())),
            Some(_) => self.shell("cat >>\"$1\"", &[path], text),
        }
        .map_err(io("cannot write", path))
    }

    /// Renames a file in a folder of the server, if it exists.
    pub(crate) fn rename(&self, path: &Path, to: &Path) {
        let _ = match self.switch {
            None => fs::rename(path, to),
            Some(_) => self.shell("mv -f \"$1\" \"$2\"", &[path, to], ""),
        };
    }

    /// Removes a file in a folder of the server, if it exists.
    pub(crate) fn remove(&self, path: &Path) {
        let _ = match self.switch {
            None => fs::remove_file(path),
            Some(_) => self.shell("rm -f \"$1\"", &[path], ""),
        };
    }

    /// Runs a line of shell as the owner. The owner of a folder can at any time replace anything in it by a link. So
    /// root writes there only as that user, who gains no access by it.
    fn shell(&self, line: &str, paths: &[&Path], input: &str) -> std::io::Result<()> {
        let mut shell = self.command(Path::new("/bin/sh"), Path::new("/"));
        shell.args(["-c", &format!("umask 077; {line}"), "sh"]).args(paths);
        let mut child =
            shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        // If the shell ends without reading, its stderr says why.
        let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
        let out = child.wait_with_output()?;
        if out.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        let is_full = said.contains("No space left on device");
        let kind = if is_full { ErrorKind::StorageFull } else { ErrorKind::Other };
        Err(std::io::Error::new(kind, said))
    }

    /// Checks that only root can replace a folder that root uses. A folder that another user owns or can write to may
    /// lead anywhere. Folders that do not exist yet are made by root.
    pub(crate) fn check_path(&self, path: &Path) -> Result<()> {
        if self.switch.is_none() {
            return Ok(());
        }
        let mut at = PathBuf::from("/");
        let mut rest: VecDeque<OsString> = names(path);
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            at.push(&name);
            let Ok(found) = at.symlink_metadata() else { return Ok(()) };
            if found.uid() != 0 {
                return Err(foreign(&at, found.uid()));
            }
            if found.is_symlink() {
                links += 1;
                let Some(to) = at.read_link().ok().filter(|_| links <= MAX_LINKS) else { break };
                at.pop();
                if to.is_absolute() {
                    at = PathBuf::from("/");
                }
                let mut to = names(&to);
                to.append(&mut rest);
                rest = to;
                continue;
            }
            // In a folder like /tmp, others cannot replace root's files; but only root may write to the home itself.
            let (mode, last) = (found.mode(), rest.is_empty());
            let by_group = mode & 0o020 != 0 && found.gid() != 0;
            if (by_group || mode & 0o002 != 0) && (last || mode & 0o1000 == 0) {
                return Err(Error::Build(format!(
                    "other users may write to {}, and could redirect root's writes; run chmod go-w on it, or choose \
                     another folder with --home",
                    at.display()
                )));
            }
        }
        Ok(())
    }

    /// Checks that the server's user may enter every folder down to `path`, if root runs the server as that user.
    pub(crate) fn can_reach(&self, path: &Path) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
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

/// Returns the names in a path, without the root.
fn names(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

/// Returns the error for a file of another user.
pub(crate) fn foreign(path: &Path, uid: u32) -> Error {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    let user = user.map_or_else(|| uid.to_string(), |user| user.name);
    Error::Build(format!(
        "{} belongs to the user '{user}', who could redirect this program's writes; run it as '{user}', or choose \
         another folder with --home",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn root_uses_no_folder_that_others_can_replace() {
        if !geteuid().is_root() {
            return;
        }
        let owner = Owner::choose("nobody").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let allowed = |name: &str| owner.check_path(&at(name)).is_ok();
        for name in ["mine/home", "theirs/home", "open", "sticky/home", "sticky/theirs"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["theirs", "sticky/theirs"] {
            chown(at(name), Some(65534), Some(65534)).unwrap();
        }
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
        fs::set_permissions(at("sticky"), fs::Permissions::from_mode(0o1777)).unwrap();
        symlink(at("mine"), at("link")).unwrap();
        symlink("theirs/../mine", at("through")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for name in ["mine/home", "mine/home/new/below", "sticky/home", "link/home", "mine/../mine"]
        {
            assert!(allowed(name), "{name}");
        }
        for name in [
            "theirs",
            "theirs/home",
            "theirs/new",
            "open",
            "open/new",
            "sticky",
            "sticky/theirs",
            "through/home",
        ] {
            assert!(!allowed(name), "{name}");
        }
        symlink(at("mine"), at("theirs/link")).unwrap();
        assert!(!allowed("theirs/link/home"));
        assert!(owner.check_path(&at("loop/home")).is_ok(), "nothing can be made there");
    }

    #[test]
    fn root_writes_as_the_user_of_the_server() {
        if !geteuid().is_root() {
            return;
        }
        let owner = Owner::choose("nobody").unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        owner.give(&File::open(&data).unwrap(), &data).unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "of root\n").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let file = data.join("it's a.conf");
        owner.write(&file, "one\n").unwrap();
        owner.append(&file, "two\n").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\n");
        let found = fs::metadata(&file).unwrap();
        assert!(found.uid() != 0 && found.mode() & 0o777 == 0o600);
        // Through a link, the program writes only where that user may write; the link itself is replaced.
        fs::remove_file(&file).unwrap();
        symlink(&secret, &file).unwrap();
        assert!(owner.append(&file, "x").is_err());
        owner.write(&file, "x").unwrap();
        assert!(!file.is_symlink());
        symlink(&secret, data.join("it's a.new")).unwrap();
        owner.write(&file, "y").unwrap();
        owner.rename(&file, &folder.path().join("outside"));
        owner.remove(&secret);
        assert_eq!(fs::read_to_string(&secret).unwrap(), "of root\n");
        assert_eq!(fs::metadata(&secret).unwrap().uid(), 0);
        assert!(file.exists());
    }
}
