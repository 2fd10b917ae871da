//! Overwrites parts of a text with spaces, so that everything else keeps its place.

use std::borrow::Cow;
use std::ops::Range;

/// Returns whether a byte is part of a word.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A text, parts of which may be blanked.
pub(crate) struct Blanks<'t> {
    text: &'t str,
    blanked: Option<Vec<u8>>,
}

impl<'t> Blanks<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, blanked: None }
    }

    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// Returns where a string occurs in the original text.
    pub(crate) fn find<'a>(&self, string: &'a str) -> impl Iterator<Item = usize> + use<'t, 'a> {
        self.text.match_indices(string).map(|(at, _)| at)
    }

    /// Returns a byte of the original text; 0 beyond its end.
    pub(crate) fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or_default()
    }

    /// Returns the end of the run of bytes of a kind that begins at a place.
    pub(crate) fn end_of(&self, at: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().position(|byte| !is(*byte)).unwrap_or(rest.len())
    }

    /// Returns the place after the parentheses that open at a place, if they are near.
    pub(crate) fn after_parentheses(&self, at: usize) -> Option<usize> {
        const MOST: usize = 2000;
        let rest = self.text.as_bytes().get(at..)?;
        let mut open = 0_usize;
        for (n, byte) in rest.iter().enumerate().take(MOST) {
            match byte {
                b'(' => open += 1,
                b')' if open == 1 => return Some(at + n + 1),
                b')' => open -= 1,
                _ => {}
            }
        }
        None
    }

    /// Returns whether only spaces and blanked text precede a place on its line.
    pub(crate) fn is_first_on_line(&self, at: usize) -> bool {
        let bytes = self.blanked.as_deref().unwrap_or(self.text.as_bytes());
        let before = bytes[..at].iter().rev().take_while(|byte| **byte != b'\n');
        before.take(200).all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Blanks a part, except line feeds.
    pub(crate) fn blank(&mut self, part: Range<usize>) {
        self.overwrite(part, b' ');
    }

    /// Replaces a word, which the parser would take for a keyword, by a meaningless name.
    pub(crate) fn make_name(&mut self, word: Range<usize>) {
        self.overwrite(word, b'x');
    }

    /// Replaces an ASCII byte by another.
    pub(crate) fn put(&mut self, at: usize, byte: u8) {
        let bytes = self.blanked.get_or_insert_with(|| self.text.as_bytes().to_vec());
        bytes[at] = byte;
    }

    fn overwrite(&mut self, part: Range<usize>, with: u8) {
        let bytes = self.blanked.get_or_insert_with(|| self.text.as_bytes().to_vec());
        for byte in &mut bytes[part] {
            if *byte != b'\n' {
                *byte = with;
            }
        }
    }

    /// Returns the bytes of the text.
    pub(crate) fn into_bytes(self) -> Cow<'t, [u8]> {
        self.blanked.map_or(Cow::Borrowed(self.text.as_bytes()), Cow::Owned)
    }
}
