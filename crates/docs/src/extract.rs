//! Extracts the doc of a file.

use super::doc_text::DocText;
use super::{comment, format};

/// Bytes of a file that are searched for its doc. They have about 16,383 words, the maximum number of positions in a
/// `tsvector`.
const MAX_TEXT: usize = 128 << 10;

impl DocText {
    /// Returns the doc of a file: a whole README or the like, or the comment at the head of a source file; `None` if
    /// there is none. Reads only the beginning of a large file.
    pub fn of(path: &str, language: Option<&str>, text: &str) -> Option<Self> {
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
