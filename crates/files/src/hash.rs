//! Git's hashes of contents, which identify equal contents.

use crate::encoding::Encoding;

/// A hash.
type Oid = [u8; 20];

/// Returns git's hash of these contents (<https://git-scm.com/book/en/v2/Git-Internals-Git-Objects>); `None` for a
/// collision attack, which is possible with SHA-1.
pub fn blob_oid(bytes: &[u8]) -> Option<Oid> {
    hashed(format!("blob {}\0", bytes.len()).as_bytes(), bytes)
}

fn hashed(head: &[u8], bytes: &[u8]) -> Option<Oid> {
    let mut hash = sha1dc::Hasher::new();
    hash.update(head);
    hash.update(bytes);
    hash.finalize().ok().map(sha1dc::Digest::to_bytes)
}

/// Returns whether a stored text can come from a file with this hash. `encoding` is the stored name of its encoding. A
/// text that does not restore the bytes of its file always can, if it shows why.
pub fn is_text_of(oid: &[u8], encoding: Option<&str>, text: &str) -> bool {
    let is_file = |bytes: &[u8]| blob_oid(bytes).is_some_and(|found| found == *oid);
    let encoding = Encoding::of_stored(encoding, text, is_file);
    match encoding.encode(text) {
        Some(bytes) => is_file(&bytes),
        None => !encoding.is_exact() && (encoding.is_foreign() || text.contains('\u{FFFD}')),
    }
}

/// Returns the encoding of a stored text, by its stored name and git's hash of its file in hexadecimal.
pub fn encoding_of(stored: Option<&str>, text: &str, hash: &str) -> Encoding {
    let is_file = |bytes: &[u8]| {
        let hex = |oid: Oid| oid.map(|byte| format!("{byte:02x}")).concat();
        blob_oid(bytes).is_some_and(|found| hex(found) == hash)
    };
    Encoding::of_stored(stored, text, is_file)
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
            // As stored before encodings were recorded.
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
    fn what_was_made_to_collide_is_noticed() {
        // One of a pair with the same hash, from <https://sha-mbles.github.io>.
        let made = include_bytes!("testdata/colliding.bin");
        assert_eq!(hashed(&made[..64], &made[64..]), None);
        assert!(hashed(&made[..64], &made[65..]).is_some());
    }
}
