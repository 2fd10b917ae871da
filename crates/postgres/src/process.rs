//! Other processes: tells whether a process ID belongs to the server.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// Returns whether a process works in a folder, as a server does in its data directory; `None` if there is no such
/// process, or the system does not say.
pub(crate) fn works_in(pid: u32, folder: &Path) -> Option<bool> {
    let at = folder_of(pid)?.metadata().ok()?;
    let folder = folder.metadata().ok()?;
    Some((at.dev(), at.ino()) == (folder.dev(), folder.ino()))
}

/// Returns the folder in which a process works, under its current name.
pub(crate) fn folder_of(pid: u32) -> Option<PathBuf> {
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    let kind = ProcessRefreshKind::nothing().with_cwd(UpdateKind::Always).without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, kind);
    Some(system.process(pid)?.cwd()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_process_is_found_after_a_move() {
        let root = tempfile::tempdir().unwrap();
        let (before, after) = (root.path().join("before"), root.path().join("after"));
        std::fs::create_dir(&before).unwrap();
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .current_dir(&before)
            .spawn()
            .unwrap();
        assert_eq!(works_in(child.id(), &before), Some(true));
        assert_eq!(works_in(child.id(), root.path()), Some(false));
        std::fs::rename(&before, &after).unwrap();
        assert_eq!(works_in(child.id(), &after), Some(true));
        assert_eq!(folder_of(child.id()).unwrap(), after.canonicalize().unwrap());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(works_in(child.id(), &after), None);
    }
}
