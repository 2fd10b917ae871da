//! Finds the processes that have locked a file, for messages.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

/// Returns the processes that have locked a file, in words. Only Linux tells (`/proc/locks`:
/// <https://man7.org/linux/man-pages/man5/proc_locks.5.html>).
pub(crate) fn holders(file: &File) -> String {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let mut pids: Vec<&str> = match file.metadata() {
        Ok(found) => locks.lines().filter_map(|line| holder(line, found.ino())).collect(),
        Err(_) => Vec::new(),
    };
    pids.sort_unstable();
    pids.dedup();
    match &*pids {
        [] => "another program".to_owned(),
        [pid] => format!("process {pid}"),
        _ => format!("processes {}", pids.join(", ")),
    }
}

/// Returns the process in a line about a lock on the file with this inode, unless it only waits for the lock. Ignores
/// the device, whose number may differ from that in the file's status.
fn holder(line: &str, inode: u64) -> Option<&str> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let (pid, file) = (words.nth(2)?, words.next()?);
    (file.rsplit(':').next()?.parse() == Ok(inode)).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_told() {
        assert_eq!(holder("3: FLOCK  ADVISORY  WRITE 4711 fe:00:23 0 EOF", 23), Some("4711"));
        for other in
            ["3: FLOCK  ADVISORY  WRITE 4711 fe:00:24 0 EOF", "1: -> FLOCK  ADVISORY", "1: POSIX"]
        {
            assert_eq!(holder(other, 23), None, "{other}");
        }
        let file = tempfile::tempfile().unwrap();
        assert_eq!(holders(&file), "another program");
        file.lock().unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(holders(&file), format!("process {}", std::process::id()));
        }
    }
}
