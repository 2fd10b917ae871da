//! Reads an index as a stream: its metadata, then one document after another, never the whole in memory.

use std::io::{self, BufRead, BufReader, Read};

use super::Error;
use super::wire::{Broken, Fields, Wire, key};

/// Maximum bytes of a document. A text in the index has at most some megabytes, so its document has fewer.
pub(super) const MAX_DOCUMENT: u64 = 64 << 20;

/// Maximum bytes of the metadata, which include the command line of the tool.
const MAX_METADATA: u64 = 16 << 20;

/// Maximum bytes to keep of a tool's name.
const MAX_TOOL: usize = 100;

/// The metadata of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    /// The tool that made it.
    pub(super) tool: String,
    /// The version of the tool.
    pub(super) version: String,
    /// The folder for which it was made, as a URI.
    pub(super) project_root: String,
}

/// The next part of an index.
#[derive(Debug)]
pub(super) enum Part {
    /// A document.
    Document(Vec<u8>),
    /// A document of more than [`MAX_DOCUMENT`] bytes.
    TooLarge,
    /// The end.
    End,
}

/// Reads an index.
pub(super) struct Stream {
    from: BufReader<Box<dyn Read + Send>>,
    /// Bytes read so far.
    at: u64,
}

impl Stream {
    pub(super) fn new(from: Box<dyn Read + Send>) -> Self {
        Self { from: BufReader::with_capacity(1 << 18, from), at: 0 }
    }

    /// Returns the number of bytes read so far.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Reads the metadata that begin an index.
    pub(super) fn metadata(&mut self) -> Result<Metadata, Error> {
        // Any error here means that this is no index.
        let no_index = |error| match error {
            Error::Broken(_) | Error::CutOff(_) => Error::NoIndex,
            other => other,
        };
        let Some((1, Wire::Bytes)) = self.key().map_err(no_index)? else {
            return Err(Error::NoIndex);
        };
        let len = self.varint().map_err(no_index)?;
        if len > MAX_METADATA {
            return Err(Error::NoIndex);
        }
        let bytes = self.bytes(len).map_err(no_index)?;
        metadata(&bytes).map_err(|Broken| Error::NoIndex)
    }

    /// Returns the next document, or the end.
    pub(super) fn next(&mut self) -> Result<Part, Error> {
        loop {
            let Some((field, wire)) = self.key()? else { return Ok(Part::End) };
            match (field, wire) {
                (2, Wire::Bytes) => {
                    let len = self.varint()?;
                    if len > MAX_DOCUMENT {
                        self.skip(len)?;
                        return Ok(Part::TooLarge);
                    }
                    return Ok(Part::Document(self.bytes(len)?));
                }
                (_, Wire::Varint) => drop(self.varint()?),
                (_, Wire::Fixed(len)) => self.skip(len as u64)?,
                (_, Wire::Bytes) => {
                    let len = self.varint()?;
                    self.skip(len)?;
                }
            }
        }
    }

    /// Reads the key of the next field; none at the end.
    fn key(&mut self) -> Result<Option<(u32, Wire)>, Error> {
        if self.from.fill_buf().map_err(Error::Read)?.is_empty() {
            return Ok(None);
        }
        let at = self.at;
        let number = self.varint()?;
        key(number).map(Some).ok_or(Error::Broken(at))
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let (begun, mut value) = (self.at, 0);
        for shift in (0..70).step_by(7) {
            let mut byte = [0];
            if self.from.read(&mut byte).map_err(Error::Read)? == 0 {
                return Err(Error::CutOff(self.at));
            }
            self.at += 1;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::Broken(begun))
    }

    /// Reads so many bytes. Memory grows with the bytes present, not with the stated length.
    fn bytes(&mut self, len: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        (&mut self.from).take(len).read_to_end(&mut bytes).map_err(Error::Read)?;
        self.at += bytes.len() as u64;
        if bytes.len() as u64 == len { Ok(bytes) } else { Err(Error::CutOff(self.at)) }
    }

    fn skip(&mut self, len: u64) -> Result<(), Error> {
        let skipped = io::copy(&mut (&mut self.from).take(len), &mut io::sink());
        let skipped = skipped.map_err(Error::Read)?;
        self.at += skipped;
        if skipped == len { Ok(()) } else { Err(Error::CutOff(self.at)) }
    }
}

fn metadata(bytes: &[u8]) -> Result<Metadata, Broken> {
    let mut found = Metadata::default();
    for field in Fields::of(bytes) {
        match field? {
            (2, tool) => {
                for field in tool.fields()? {
                    match field? {
                        (1, name) => found.tool = short(name.text()?),
                        (2, version) => found.version = short(version.text()?),
                        _ => {}
                    }
                }
            }
            (3, root) => root.text()?.clone_into(&mut found.project_root),
            _ => {}
        }
    }
    // Postgres has no text with a zero byte.
    if found.tool.contains('\0') || found.version.contains('\0') {
        return Err(Broken);
    }
    if found.tool.is_empty() {
        "unknown".clone_into(&mut found.tool);
    }
    Ok(found)
}

fn short(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TOOL)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(bytes: &[u8]) -> Stream {
        Stream::new(Box::new(io::Cursor::new(bytes.to_vec())))
    }

    /// Metadata of the tool "t", two documents, and a field between them that is skipped.
    const INDEX: &[u8] = &[0x0a, 5, 0x12, 3, 0x0a, 1, b't', 0x12, 2, 7, 8, 0x1a, 1, 0, 0x12, 1, 9];

    #[test]
    fn documents_come_one_after_another() {
        let mut all = stream(INDEX);
        let metadata = all.metadata().unwrap();
        assert_eq!((&*metadata.tool, &*metadata.version), ("t", ""));
        assert!(matches!(all.next().unwrap(), Part::Document(bytes) if bytes == [7, 8]));
        assert!(matches!(all.next().unwrap(), Part::Document(bytes) if bytes == [9]));
        assert!(matches!(all.next().unwrap(), Part::End));
        assert_eq!(all.at(), INDEX.len() as u64);
    }

    #[test]
    fn what_is_cut_off_is_told() {
        for cut in 0..INDEX.len() {
            let mut all = stream(&INDEX[..cut]);
            if cut < 7 {
                assert!(matches!(all.metadata(), Err(Error::NoIndex)), "{cut}");
                continue;
            }
            all.metadata().unwrap();
            let ended = loop {
                match all.next() {
                    Ok(Part::End) => break true,
                    Ok(_) => {}
                    Err(Error::CutOff(at)) => {
                        assert!(at <= cut as u64);
                        break false;
                    }
                    Err(other) => panic!("{other}"),
                }
            };
            // It may end between two fields.
            assert_eq!(ended, [7, 11, 14].contains(&cut), "{cut}");
        }
    }

    #[test]
    fn what_is_no_index_is_told_so() {
        for other in
            [&b"hello world"[..], b"{\"id\":1}", b"\x1f\x8b\x08", b"", b"\n\nab", &[0xff; 40]]
        {
            assert!(matches!(stream(other).metadata(), Err(Error::NoIndex)), "{other:?}");
        }
        let mut broken = stream(&[&INDEX[..7], &[0x0f, 0]].concat());
        broken.metadata().unwrap();
        assert!(matches!(broken.next(), Err(Error::Broken(7))));
    }

    #[test]
    fn memory_is_not_taken_for_what_is_only_said_to_be_there() {
        // A document of 2^40 bytes, and one of nearly 64 MB with only three bytes present.
        for length in [&[0x80, 0x80, 0x80, 0x80, 0x80, 0x20][..], &[0x80, 0x80, 0x80, 0x1f]] {
            let mut all = stream(&[&INDEX[..7], &[0x12], length, &[1, 2, 3]].concat());
            all.metadata().unwrap();
            assert!(matches!(all.next(), Err(Error::CutOff(_))));
        }
    }
}
