//! What the system allows: how many folders may be watched, and which file systems tell of all changes.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the number of folders that the system lets a user watch; `None` if it has no such limit.
pub(crate) fn watches() -> Option<usize> {
    number("/proc/sys/fs/inotify/max_user_watches")
}

/// Returns the number of watchers that the system lets a user have; `None` if it has no such limit.
pub(crate) fn watchers() -> Option<usize> {
    number("/proc/sys/fs/inotify/max_user_instances")
}

fn number(path: &str) -> Option<usize> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns the name of the file system of a folder, if changes that others make to it may cause no events here.
#[cfg(target_os = "linux")]
pub(crate) fn silent(folder: &Path) -> Option<&'static str> {
    let found = nix::sys::statfs::statfs(folder).ok()?;
    #[allow(clippy::unnecessary_cast, reason = "the type is another one on other machines")]
    name(found.filesystem_type().0 as i64)
}

/// Returns the name of the file system of a folder, if changes that others make to it may cause no events here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn silent(_: &Path) -> Option<&'static str> {
    None
}

/// Returns the name of a file system by its magic number (statfs(2)), if others may change it unnoticed: over a network, in
/// the host of a virtual machine, in a lower layer, or in a program.
fn name(magic: i64) -> Option<&'static str> {
    Some(match magic & 0xffff_ffff {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xff53_4d42 | 0xfe53_4d42 => "CIFS",
        0x6573_5546 => "FUSE",
        0x0102_1997 => "9P",
        0x794c_7630 => "overlayfs",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x0bd0_0bd0 => "Lustre",
        0x0116_1970 => "GFS2",
        0x7461_636f => "OCFS2",
        0x786f_4256 => "vboxsf",
        0xbacb_acbc => "vmhgfs",
        _ => return None,
    })
}

/// Returns what distinguishes a file from another one that may come to its path; `None` if there is none.
pub(crate) fn file_identity(file: &Path) -> Option<(u64, u64)> {
    let found = file.symlink_metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// Returns what distinguishes a folder from another one that may come to its path: its device and its inode. `None` if it
/// is none.
pub(crate) fn identity(folder: &Path) -> Option<(u64, u64)> {
    let found = folder.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_known_by_their_numbers() {
        // As statfs(2) gives them; some machines extend the sign.
        for (magic, expected) in [
            (0xef53, None),
            (0x0102_1994, None),
            (0x6969, Some("NFS")),
            (0x6573_5546, Some("FUSE")),
            (i64::from(0xff53_4d42_u32 as i32), Some("CIFS")),
            (0x794c_7630, Some("overlayfs")),
        ] {
            assert_eq!(name(magic), expected, "{magic:x}");
        }
    }

    #[test]
    fn a_folder_is_not_the_one_before_it() {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().join("a");
        assert_eq!(identity(&at), None);
        std::fs::create_dir(&at).unwrap();
        let before = identity(&at);
        assert!(before.is_some());
        std::fs::rename(&at, temporary.path().join("b")).unwrap();
        std::fs::create_dir(&at).unwrap();
        assert_ne!(identity(&at), before);
        assert_eq!(identity(&temporary.path().join("b")), before);
    }
}
