//! Reads one file: decodes it, hashes it and recognises its language; or says why it is left out.

use std::fs::Metadata;
use std::hash::Hasher;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use siphasher::sip::SipHasher13;
use store::{ChunkRow, DocRow, Oid};

use super::cut::cut;
use docs::DocText;
use files::Encoding;
use files::SkipReason;
use files::beneath::{self, Folder};

/// Age of a change below which a file may change again with the same times.
const RACY: Duration = Duration::from_secs(2);

/// Most attempts to read a file that changes while it is read.
const ATTEMPTS: usize = 3;

/// The form of what is told of a file beside its contents. It changes when files that were read before may have another
/// language: the next ingest reads them again.
const FORMAT: u64 = 1;

/// A file that was read.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) oid: Oid,
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
    pub(crate) chunks: Vec<ChunkRow>,
    pub(crate) lines: i32,
    pub(crate) language: Option<String>,
    pub(crate) doc: Option<DocRow>,
    pub(crate) fingerprint: i64,
}

/// A file that was left out.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(crate) reason: SkipReason,
    pub(crate) bytes: i64,
    pub(crate) fingerprint: i64,
}

/// Returns a hash of everything that `stat` says about a file's contents, and of [`FORMAT`]: while it stays the same, so
/// do they. Returns 0, which never counts as unchanged, if the file changed less than [`RACY`] ago: a later
/// change could have the same times (git calls such entries racy).
pub(crate) fn fingerprint(found: &Metadata) -> i64 {
    let changed = SystemTime::UNIX_EPOCH
        + Duration::new(found.ctime().max(0) as u64, found.ctime_nsec() as u32);
    if changed.elapsed().is_ok_and(|age| age < RACY) {
        return 0;
    }
    let mut hash = SipHasher13::new();
    for part in [FORMAT, found.dev(), found.ino(), found.size()] {
        hash.write_u64(part);
    }
    for part in times(found) {
        hash.write_i64(part);
    }
    hash.finish() as i64
}

/// Returns the times of the last change of a file's contents and of its inode, each in seconds and
/// nanoseconds.
fn times(found: &Metadata) -> [i64; 4] {
    [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()]
}

/// Reads the file at `path` in a repository's `folder`.
pub(crate) fn read(folder: &Folder, path: &str, max_bytes: u64) -> Result<ReadFile, Skipped> {
    let (bytes, fingerprint) = read_stable(folder, Path::new(path), max_bytes)?;
    let size = bytes.len() as i64;
    text_of(path, bytes, fingerprint).map_err(|reason| Skipped { reason, bytes: size, fingerprint })
}

/// Decodes and cuts a file with these bytes.
///
/// # Errors
/// It is binary, or has the hash of another file.
pub(super) fn text_of(
    path: &str,
    bytes: Vec<u8>,
    fingerprint: i64,
) -> Result<ReadFile, SkipReason> {
    let oid = files::blob_oid(&bytes);
    let (text, encoding) = Encoding::decode(bytes).ok_or(SkipReason::Binary)?;
    let oid = oid.ok_or(SkipReason::Collision)?;
    let (chunks, lines) = cut(&text);
    let language = files::language_of(path, &text);
    let doc = DocText::of(path, language.as_deref(), &text).map(|doc| doc.row());
    Ok(ReadFile { oid, text, encoding, chunks, lines, language, doc, fingerprint })
}

/// Reads the bytes of a file as they were at one moment, as far as its times tell.
fn read_stable(folder: &Folder, path: &Path, max_bytes: u64) -> Result<(Vec<u8>, i64), Skipped> {
    let skip = |reason, bytes: u64| Skipped { reason, bytes: bytes as i64, fingerprint: 0 };
    let failed = |error: std::io::Error| skip(beneath::reason(&error), 0);
    let mut bytes = Vec::new();
    for _ in 0..ATTEMPTS {
        // The file may have become something else since the walk.
        let mut file = folder.file(path).map_err(|reason| skip(reason, 0))?;
        let before = file.metadata().map_err(failed)?;
        if before.len() > max_bytes {
            return Err(skip(SkipReason::TooLarge, before.len()));
        }
        bytes.clear();
        bytes.reserve_exact(before.len() as usize + 1);
        (&mut file).take(max_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
        let after = file.metadata().map_err(failed)?;
        if times(&before) == times(&after) && bytes.len() as u64 == after.len() {
            return Ok((bytes, fingerprint(&after)));
        }
    }
    // The file changes all the time. Take the last bytes read; without a fingerprint, the next ingest reads
    // it again.
    if bytes.len() as u64 > max_bytes {
        return Err(skip(SkipReason::TooLarge, bytes.len() as u64));
    }
    Ok((bytes, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_left_out_with_a_reason() {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().canonicalize().unwrap();
        std::fs::write(at.join("big"), "12345").unwrap();
        std::os::unix::fs::symlink("big", at.join("link")).unwrap();
        let folder = Folder::open(&at).unwrap();
        let reason = |path: &str, max| read(&folder, path, max).unwrap_err().reason;
        assert_eq!(reason("big", 4), SkipReason::TooLarge);
        assert_eq!(reason("gone", 4), SkipReason::Vanished);
        assert_eq!(reason("link", 9), SkipReason::Symlink);
        assert_eq!(reason(".", 9), SkipReason::Special);
        assert_eq!(read(&folder, "big", 5).unwrap().text, "12345");
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_entered() {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().canonicalize().unwrap();
        for path in ["repo/sub", "private"] {
            std::fs::create_dir_all(at.join(path)).unwrap();
            std::fs::write(at.join(path).join("a.txt"), path).unwrap();
        }
        let folder = Folder::open(&at.join("repo")).unwrap();
        assert_eq!(read(&folder, "sub/a.txt", 99).unwrap().text, "repo/sub");
        std::fs::rename(at.join("repo/sub"), at.join("kept")).unwrap();
        std::os::unix::fs::symlink("../private", at.join("repo/sub")).unwrap();
        assert_eq!(read(&folder, "sub/a.txt", 99).unwrap_err().reason, SkipReason::Symlink);
        // The repository itself.
        std::fs::rename(at.join("repo"), at.join("before")).unwrap();
        std::os::unix::fs::symlink("private", at.join("repo")).unwrap();
        assert!(Folder::open(&at.join("repo")).is_err());
        assert_eq!(read(&folder, "a.txt", 99).unwrap_err().reason, SkipReason::Vanished);
    }
}
