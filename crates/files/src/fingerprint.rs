//! Fingerprints: hashes of what `stat` says of a file, by which ingest and searches see that it has changed.

use std::fs::Metadata;
use std::hash::Hasher;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use siphasher::sip::SipHasher13;

/// Version of the data on a file other than its contents. It changes when files that were read before may get another
/// language: the next ingest reads them again.
const FORMAT: u64 = 1;

/// Age of a change below which the file may change again with the same times.
pub const RACY: Duration = Duration::from_secs(2);

/// Returns a hash of all values that change with a file's contents, and of [`FORMAT`].
pub fn fingerprint_of(parts: impl IntoIterator<Item = u64>) -> i64 {
    let mut hash = SipHasher13::new();
    hash.write_u64(FORMAT);
    parts.into_iter().for_each(|part| hash.write_u64(part));
    hash.finish() as i64
}

/// Returns a hash of everything that `stat` says about a file's contents. Returns 0, which never counts as unchanged, if the
/// file changed less than [`RACY`] ago: a later change could have the same times (git calls such entries racy).
pub fn fingerprint(found: &Metadata) -> i64 {
    if changed_at(found).elapsed().is_ok_and(|age| age < RACY) {
        return 0;
    }
    let times = times(found).map(|time| time as u64);
    fingerprint_of([found.dev(), found.ino(), found.size()].into_iter().chain(times))
}

/// Returns a hash of git's name of a file's contents, never 0.
pub fn fingerprint_of_name(oid: &[u8]) -> i64 {
    let parts = oid.chunks(8).map(|part| {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        u64::from_be_bytes(bytes)
    });
    match fingerprint_of(parts) {
        0 => 1,
        hash => hash,
    }
}

/// Returns a hash of all that decides the languages of a repository's files besides their names and texts: of the version, and
/// of some rules.
pub fn languages_of(rules: &[u8]) -> i64 {
    let mut hash = SipHasher13::new();
    hash.write_u64(FORMAT);
    hash.write(rules);
    hash.finish() as i64
}

/// Returns when a file's contents or its inode changed last.
pub fn changed_at(found: &Metadata) -> SystemTime {
    time_of(found.ctime(), found.ctime_nsec())
}

/// Returns a time given in seconds and nanoseconds since 1970.
pub(crate) fn time_of(seconds: i64, nanoseconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(seconds.max(0) as u64, nanoseconds as u32)
}

/// Returns the times of the last change of a file's contents and of its inode, each in seconds and
/// nanoseconds.
pub fn times(found: &Metadata) -> [i64; 4] {
    [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()]
}
