//! Reads one file: decodes it, hashes it and recognises its language; or returns why it is left out.

use store::{ChunkRow, DocRow, FileTodo, Oid};

use super::cut::cut;
use super::source::{FileContents, Reader, Skipped};
use docs::DocText;
use files::Encoding;
use files::SkipReason;

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

/// How a file begins that Git LFS put in place of the contents (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>).
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Bytes that such a file does not have.
const LFS_BYTES: usize = 1024;

/// Reads a file of a source.
pub(crate) fn read(reader: &Reader<'_>, file: &FileTodo) -> Result<ReadFile, Skipped> {
    let oid = file.oid.as_deref().and_then(|oid| git::Oid::try_from(oid).ok());
    let FileContents { bytes, fingerprint, named } = reader(&file.path, oid)?;
    let size = bytes.len() as i64;
    let skipped = |reason, rule, oid| Skipped { reason, bytes: size, fingerprint, rule, oid };
    let found = text_of(&file.path, bytes, fingerprint, file.language.clone());
    let found_oid = match &found {
        Ok(text) => Some(text.oid),
        Err((_, oid)) => *oid,
    };
    if let (Some(named), Some(found)) = (named, found_oid)
        && named.as_bytes().len() == found.len()
        && named.as_bytes() != found
    {
        let rule =
            format!("git's object {named} has other contents; check the clone with: git fsck");
        return Err(Skipped {
            fingerprint: 0,
            ..skipped(SkipReason::Unreadable, Some(rule), None)
        });
    }
    let name = || named.map(|oid| oid.as_bytes().to_vec()).or(found_oid.map(|oid| oid.to_vec()));
    found.map_err(|(reason, _)| skipped(reason, None, name()))
}

/// Decodes and cuts a file with these bytes. `language` is the one that is given to it, if one is.
///
/// # Errors
/// It is binary, a pointer of Git LFS, or has the hash of another file; with git's hash of it.
pub(super) fn text_of(
    path: &str,
    bytes: Vec<u8>,
    fingerprint: i64,
    language: Option<String>,
) -> Result<ReadFile, (SkipReason, Option<Oid>)> {
    let oid = files::blob_oid(&bytes);
    if bytes.len() < LFS_BYTES && bytes.starts_with(LFS) {
        return Err((SkipReason::Lfs, oid));
    }
    let (text, encoding) = Encoding::decode(bytes).ok_or((SkipReason::Binary, oid))?;
    let oid = oid.ok_or((SkipReason::Collision, None))?;
    let (chunks, lines) = cut(&text);
    let language = language.or_else(|| files::language_of(path, &text));
    let doc = DocText::of(path, language.as_deref(), &text).map(|doc| doc.row());
    Ok(ReadFile { oid, text, encoding, chunks, lines, language, doc, fingerprint })
}
