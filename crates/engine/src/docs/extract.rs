//! The doc of a file.

use super::doc_text::DocText;
use super::{comment, format};

/// Bytes of a file that are searched for its doc: a `tsvector` has 16,383 positions, and about as many words are in
/// them.
const MAX_TEXT: usize = 128 << 10;

impl DocText {
    /// The doc of a file: all of a README or the like, the comment at the head of a source file. None if it has none. Of
    /// a large file only the beginning is read.
    pub(crate) fn of(path: &str, language: Option<&str>, text: &str) -> Option<Self> {
        let mut end = text.len().min(MAX_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let doc = match format::format(path, language, text) {
            Some(format) => format::read(format, text),
            None => comment::read(language?, text),
        }?;
        let letters = doc.body.chars().filter(|c| c.is_alphabetic()).take(3).count();
        (letters == 3).then(|| doc.bounded())
    }
}
