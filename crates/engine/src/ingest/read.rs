//! Reads one file: decodes it, hashes it and recognises its language; or says why it is left out.

use std::fs::Metadata;
use std::hash::Hasher;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use siphasher::sip::SipHasher13;
use store::{ChunkRow, DocRow, Oid};

use super::beneath::{self, Folder};
use super::cut::cut;
use super::skip::SkipReason;
use crate::docs::DocText;
use crate::encoding::Encoding;

/// Age of a change below which a file may change again with the same times.
const RACY: Duration = Duration::from_secs(2);

/// Most attempts to read a file that changes while it is read.
const ATTEMPTS: usize = 3;

/// Bytes of a file that are looked at to tell languages with the same extension apart.
const LANGUAGE_BYTES: usize = 4096;

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
/// It is binary, or made to have the hash of another file.
pub(super) fn text_of(
    path: &str,
    bytes: Vec<u8>,
    fingerprint: i64,
) -> Result<ReadFile, SkipReason> {
    let oid = blob_oid(&bytes);
    let (text, encoding) = Encoding::decode(bytes).ok_or(SkipReason::Binary)?;
    let oid = oid.ok_or(SkipReason::Collision)?;
    let (chunks, lines) = cut(&text);
    let language = language(path, &text);
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

/// Returns git's hash of these contents (<https://git-scm.com/book/en/v2/Git-Internals-Git-Objects>); `None` if they were
/// made to have the hash of others, as is possible with SHA-1.
fn blob_oid(bytes: &[u8]) -> Option<Oid> {
    hashed(format!("blob {}\0", bytes.len()).as_bytes(), bytes)
}

fn hashed(head: &[u8], bytes: &[u8]) -> Option<Oid> {
    let mut hash = sha1dc::Hasher::new();
    hash.update(head);
    hash.update(bytes);
    hash.finalize().ok().map(sha1dc::Digest::to_bytes)
}

/// Returns whether a stored text can come from a file with this hash. `encoding` is the stored name of its encoding. A text
/// that does not give the bytes of its file again always can, if it shows why.
pub(crate) fn is_text_of(oid: &[u8], encoding: Option<&str>, text: &str) -> bool {
    let is_file = |bytes: &[u8]| blob_oid(bytes).is_some_and(|found| found == *oid);
    let encoding = Encoding::of_stored(encoding, text, is_file);
    match encoding.encode(text) {
        Some(bytes) => is_file(&bytes),
        None => !encoding.is_exact() && (encoding.is_foreign() || text.contains('\u{FFFD}')),
    }
}

/// Returns the encoding of a stored text, by its stored name and git's hash of its file in hexadecimal.
pub(crate) fn encoding_of(stored: Option<&str>, text: &str, hash: &str) -> Encoding {
    let is_file = |bytes: &[u8]| {
        let hex = |oid: Oid| oid.map(|byte| format!("{byte:02x}")).concat();
        blob_oid(bytes).is_some_and(|found| hex(found) == hash)
    };
    Encoding::of_stored(stored, text, is_file)
}

/// Returns the language of a text, by its path and its beginning.
pub(crate) fn language(path: &str, text: &str) -> Option<String> {
    let mut end = text.len().min(LANGUAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    query::language_of(path, &text.as_bytes()[..end]).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::UNKNOWN;

    #[test]
    fn a_text_is_known_by_the_hash_of_its_file() {
        let files: [&[u8]; 7] = [
            b"",
            b"a\n",
            b"\xef\xbb\xbfa\n",
            b"\xff\xfea\0\n\0",
            b"\xfe\xff\0a\0\n",
            b"caf\xe9",
            b"d\xc3\xada d\xc3\xada\xff",
        ];
        for file in files {
            let (text, encoding) = Encoding::decode(file.to_vec()).unwrap();
            let word = encoding.word();
            let is_it = |word| is_text_of(&blob_oid(file).unwrap(), word, &text);
            assert!(is_it(word.as_deref()), "{file:?}");
            // As it was stored before encodings were.
            assert_eq!(is_it(Some(UNKNOWN)), !encoding.is_foreign(), "{file:?}");
            assert!(!is_text_of(&blob_oid(b"another").unwrap(), word.as_deref(), "text"));
        }
        assert!(is_text_of(&blob_oid(b"caf\xe9").unwrap(), Some(UNKNOWN), "caf\u{FFFD}"));
    }

    #[test]
    fn the_hash_is_gits() {
        let hex = |oid: Oid| oid.map(|b| format!("{b:02x}")).concat();
        assert_eq!(hex(blob_oid(b"").unwrap()), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(hex(blob_oid(b"hello\n").unwrap()), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn languages_by_name_and_by_contents() {
        assert_eq!(language("src/main.rs", "").as_deref(), Some("Rust"));
        assert_eq!(language("Makefile", "").as_deref(), Some("Makefile"));
        assert_eq!(language("run", "#!/bin/bash\necho é\n").as_deref(), Some("Shell"));
        assert_eq!(
            language("run", "#! /usr/bin/env -S python3.11 -u\r\n").as_deref(),
            Some("Python")
        );
        assert_eq!(language("fit.m", "function y = fit(x)\n% fits\n").as_deref(), Some("MATLAB"));
        assert_eq!(language("no.such-ending", "text"), None);
    }

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

    #[test]
    fn what_was_made_to_collide_is_noticed() {
        // One of a pair with the same hash, from <https://sha-mbles.github.io>.
        let made = include_bytes!("testdata/colliding.bin");
        assert_eq!(hashed(&made[..64], &made[64..]), None);
        assert!(hashed(&made[..64], &made[65..]).is_some());
    }
}
