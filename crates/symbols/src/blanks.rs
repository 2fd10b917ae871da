//! Overwriting parts of a text, so that all else stays where it is.

use std::borrow::Cow;
use std::ops::Range;

/// Whether a byte is one of a word.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A text of which parts may be blanked.
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

    /// Returns where a string is in the text as it was.
    pub(crate) fn find<'a>(&self, string: &'a str) -> impl Iterator<Item = usize> + use<'t, 'a> {
        self.text.match_indices(string).map(|(at, _)| at)
    }

    /// Returns a byte of the text as it was; 0 beyond it.
    pub(crate) fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or_default()
    }

    /// Returns the end of the bytes from a place on that are of a kind.
    pub(crate) fn end_of(&self, at: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().position(|byte| !is(*byte)).unwrap_or(rest.len())
    }

    /// Returns the place after the parentheses that open at a place, if they are short.
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

    /// Returns whether nothing but blanks, and what was blanked, stands before a place on its line.
    pub(crate) fn is_first_on_line(&self, at: usize) -> bool {
        let bytes = self.blanked.as_deref().unwrap_or(self.text.as_bytes());
        let before = bytes[..at].iter().rev().take_while(|byte| **byte != b'\n');
        before.take(200).all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Blanks a part. Line feeds stay.
    pub(crate) fn blank(&mut self, part: Range<usize>) {
        self.overwrite(part, b' ');
    }

    /// Puts a name that means nothing in the place of a word, which the parser would take for a keyword.
    pub(crate) fn make_name(&mut self, word: Range<usize>) {
        self.overwrite(word, b'x');
    }

    /// Puts a byte in the place of another one that is ASCII.
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
