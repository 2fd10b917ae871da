//! Reads one file: decodes it, hashes it and recognises its language; or returns why it is left out.

use store::{ChunkRow, DocRow, Oid};

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

/// Reads the file at `path` of a source.
pub(crate) fn read(reader: &Reader<'_>, path: &str) -> Result<ReadFile, Skipped> {
    let FileContents { bytes, fingerprint } = reader(path)?;
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
