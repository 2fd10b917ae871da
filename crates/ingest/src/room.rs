//! Free space on the disk of the index. Ingest stops before the disk is full: a Postgres that cannot write its log
//! stops.

use std::path::PathBuf;

use nix::sys::statvfs::statvfs;

use super::Error;

/// Bytes that an ingest leaves free.
const KEPT: u64 = 48 << 20;

/// Thousandths of a text's bytes that its index takes, with all derived data (`docs/performance.md`).
const INDEX_PER_TEXT: u64 = 1300;

/// Thousandths of the bytes of files to read that their index takes at least: many files may be left out, or have the
/// same contents as others.
const INDEX_PER_FILE: u64 = 500;

/// The free space at some moment.
pub(crate) struct Room<'a> {
    disks: &'a [PathBuf],
    /// Bytes that may be used; `None` if unknown.
    free: Option<u64>,
}

impl<'a> Room<'a> {
    /// Measures free space on the disks of some folders.
    pub(crate) fn of(disks: &'a [PathBuf]) -> Self {
        Self { disks, free: free_bytes(disks) }
    }

    /// Checks that there is space to index files of so many bytes, before one is read.
    pub(crate) fn check_files(&self, bytes: i64) -> Result<(), Error> {
        self.check(bytes, INDEX_PER_FILE)
    }

    /// Checks that there is space to index so many bytes of text, stored since the measurement.
    pub(crate) fn check_stored(&self, bytes: i64) -> Result<(), Error> {
        self.check(bytes, INDEX_PER_TEXT)?;
        // Other programs use the disk, too.
        Self::of(self.disks).check(0, 0)
    }

    fn check(&self, bytes: i64, thousandths: u64) -> Result<(), Error> {
        let need = KEPT + bytes.unsigned_abs() / 1000 * thousandths;
        match (self.free, self.disks.first()) {
            (Some(free), Some(disk)) if free < need => {
                Err(Error::NoRoom { disk: disk.clone(), free: free >> 20, need: need >> 20 })
            }
            _ => Ok(()),
        }
    }
}

fn free_bytes(disks: &[PathBuf]) -> Option<u64> {
    let free = |folder: &PathBuf| {
        let disk = statvfs(folder).ok()?;
        #[allow(clippy::useless_conversion, reason = "their types differ between systems")]
        Some(u64::from(disk.blocks_available()) * u64::from(disk.fragment_size()))
    };
    disks.iter().filter_map(free).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ingest_needs_room_for_the_index_of_its_texts() {
        let disks = [PathBuf::from("/")];
        let room = |mib: u64| Room { disks: &disks, free: Some(mib << 20) };
        assert!(room(200).check_files(200 << 20).is_ok());
        assert!(room(40).check_files(0).is_err());
        let told = room(200).check_files(2 << 30).unwrap_err().to_string();
        assert!(
            told.contains("is nearly full: 200 MB are left, and this needs about 1071 MB"),
            "{told}"
        );
        assert!(room(200).check(100 << 20, INDEX_PER_TEXT).is_ok());
        assert!(room(200).check(130 << 20, INDEX_PER_TEXT).is_err());
        // The free space of another machine is unknown.
        assert!(Room::of(&[]).check_stored(i64::MAX).is_ok());
        assert!(free_bytes(&disks).is_some());
    }
}
