//! The memory available to this program and the server that it starts: the least of the machine's
//! memory, the limits of the program's control groups, and `ulimit`.
//!
//! A control group's limit applies to all groups below it, so its parent groups count, too
//! (<https://docs.kernel.org/admin-guide/cgroup-v2.html>, `memory.max`;
//! <https://docs.kernel.org/admin-guide/cgroup-v1/memory.html>, `memory.limit_in_bytes`).

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};
use sysinfo::System;

/// An amount of memory that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The amount in bytes.
    pub bytes: u64,
    /// The source of the limit: "the machine", a control group, or `ulimit`.
    pub bound: String,
}

impl Memory {
    /// Returns the memory that this program and its children may use.
    pub fn available() -> Self {
        let mut system = System::new();
        system.refresh_memory();
        let machine = Self { bytes: system.total_memory(), bound: "the machine".to_owned() };
        let bounds = of_groups(Path::new("/")).into_iter().chain(of_ulimit());
        bounds.fold(machine, |least, bound| if bound.bytes < least.bytes { bound } else { least })
    }
}

/// Returns the soft limits of this process, which its children inherit.
fn of_ulimit() -> impl Iterator<Item = Memory> {
    let limits = [(Resource::RLIMIT_AS, "ulimit -v"), (Resource::RLIMIT_DATA, "ulimit -d")];
    limits.into_iter().filter_map(|(resource, name)| {
        let (soft, _) = getrlimit(resource).ok()?;
        Some(Memory { bytes: soft, bound: name.to_owned() })
    })
}

/// Returns the limits of this process's control groups, of both versions. Files are read below
/// `root`.
fn of_groups(root: &Path) -> Vec<Memory> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mut bounds = Vec::new();
    for mount in mounts.lines().filter_map(Mount::of) {
        let Some(group) = groups.lines().find_map(|line| mount.group(line)) else { continue };
        // In a container, the mount may begin at the group itself, or hide the groups above it.
        let below = Path::new(group).strip_prefix(mount.from).unwrap_or(Path::new(""));
        let top = root.join(mount.at.trim_start_matches('/'));
        let mut folder = top.join(below);
        while folder.starts_with(&top) {
            bounds.extend(mount.files().iter().filter_map(|name| limit(root, &folder, name)));
            if !folder.pop() {
                break;
            }
        }
    }
    bounds
}

/// Returns the limit in a file of a control group, if it has one.
fn limit(root: &Path, folder: &Path, name: &str) -> Option<Memory> {
    // "max" is no limit; a number above the machine's memory never becomes the least.
    let bytes: u64 = fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()?;
    let shown: PathBuf = Path::new("/").join(folder.strip_prefix(root).unwrap_or(folder));
    Some(Memory { bytes, bound: format!("{name} of the control group {}", shown.display()) })
}

/// A mounted hierarchy of control groups that may limit memory: a line of `/proc/self/mountinfo`
/// (<https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html>).
struct Mount<'a> {
    /// The mounted group, and the mount point.
    from: &'a str,
    at: &'a str,
    is_second_version: bool,
}

impl<'a> Mount<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (from, at) = (mount.next()?, mount.next()?);
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1)?);
        let is_second_version = name == "cgroup2";
        let is_of_memory = name == "cgroup" && options.split(',').any(|option| option == "memory");
        (is_second_version || is_of_memory).then_some(Self { from, at, is_second_version })
    }

    /// Returns the group of this process in the hierarchy, if a line of `/proc/self/cgroup` names
    /// it.
    fn group<'l>(&self, line: &'l str) -> Option<&'l str> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?);
        let is_of_memory = controllers.split(',').any(|name| name == "memory");
        let is_here = if self.is_second_version { controllers.is_empty() } else { is_of_memory };
        is_here.then_some(group)
    }

    fn files(&self) -> &'static [&'static str] {
        if self.is_second_version {
            &["memory.max", "memory.high"]
        } else {
            &["memory.limit_in_bytes"]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "30 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
    const ONE: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                       35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                       36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";

    /// Returns the least limit of the control groups, and the group that sets it.
    fn least(group: &str, mounts: &str, files: &[(&str, &str)]) -> Option<(u64, String)> {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", group);
        write("proc/self/mountinfo", mounts);
        for (path, text) in files {
            write(&format!("sys/fs/cgroup/{path}"), text);
        }
        let least = of_groups(root.path()).into_iter().min_by_key(|bound| bound.bytes);
        least.map(|bound| (bound.bytes, bound.bound))
    }

    #[test]
    fn every_group_above_counts() {
        let group = "0::/user.slice/app.scope\n";
        let files =
            [("user.slice/app.scope/memory.max", "max\n"), ("user.slice/memory.max", "700\n")];
        let bound = "memory.max of the control group /sys/fs/cgroup/user.slice".to_owned();
        assert_eq!(least(group, TWO, &files), Some((700, bound)));
        let high = [("user.slice/memory.high", "600\n"), ("user.slice/memory.max", "700\n")];
        assert_eq!(least(group, TWO, &high).unwrap().0, 600);
        assert_eq!(least(group, TWO, &[]), None);
    }

    #[test]
    fn the_first_version_has_a_hierarchy_for_memory() {
        let group = "4:memory:/docker/abc\n3:cpu:/docker/abc\n0::/\n";
        let files = [
            ("memory/docker/abc/memory.limit_in_bytes", "700\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("cpu/docker/abc/memory.limit_in_bytes", "1\n"),
        ];
        assert_eq!(least(group, ONE, &files).unwrap().0, 700);
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_top() {
        let mounts = TWO.replace("0:27 / ", "0:27 /docker/abc ");
        let files = [("memory.max", "700\n")];
        assert_eq!(least("0::/docker/abc\n", &mounts, &files).unwrap().0, 700);
        // In a namespace of its own, the process sees only "/", or a path that leads outside.
        assert_eq!(least("0::/\n", TWO, &files).unwrap().0, 700);
        assert_eq!(least("0::/../other\n", TWO, &files).unwrap().0, 700);
    }

    #[test]
    fn there_is_some() {
        let memory = Memory::available();
        assert!(memory.bytes > 1 << 20 && !memory.bound.is_empty(), "{memory:?}");
    }
}
