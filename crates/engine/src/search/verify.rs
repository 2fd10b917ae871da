//! Verifying: which lines of some texts really match.

use query::Matcher;
use store::BlobId;

use super::Line;

/// A run of whole lines of a blob.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) blob: BlobId,
    /// The number of its first line in the blob, from 1.
    pub(crate) line: u64,
    /// Where it begins in the blob, in bytes.
    pub(crate) start: u64,
    pub(crate) text: String,
}

/// The matching lines of each blob in which there are any. The units are in order.
pub(crate) fn verify(matcher: &Matcher, units: &[Unit]) -> Vec<(BlobId, Vec<Line>)> {
    let mut verified: Vec<(BlobId, Vec<Line>)> = Vec::new();
    for unit in units {
        matcher.lines(&unit.text, |found| {
            let line = Line {
                number: unit.line + found.line as u64,
                offset: unit.start + found.span.start as u64,
                ended: found.span.end < unit.text.len(),
                text: unit.text[found.span].to_owned(),
                ranges: found.ranges,
            };
            match verified.last_mut() {
                Some((blob, lines)) if *blob == unit.blob => lines.push(line),
                _ => verified.push((unit.blob, vec![line])),
            }
        });
    }
    verified
}
