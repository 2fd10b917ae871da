//! The encodings of files: detects the encoding of bytes, and converts texts back to bytes.
//!
//! A file is UTF-8 if all of it is valid, or UTF-16 if it begins with that byte order mark. Otherwise the encoding is
//! guessed by the non-ASCII bytes. A guess is accepted if it decodes every byte. No byte is replaced silently: an
//! encoding tells whether it restores the bytes of the file.

use std::borrow::Cow;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding as Charset, GB18030, GBK, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memchr;

/// The byte order mark.
const BOM: char = '\u{FEFF}';

/// Suffix of the name of an encoding that does not restore the bytes of the file.
const INEXACT: &str = " (inexact)";

/// Suffix of the name of UTF-8 after a byte order mark.
const WITH_BOM: &str = " with BOM";

/// The word in the index for texts stored before encodings were recorded.
pub const UNKNOWN: &str = "unknown";

/// The encoding of a file.
///
/// Its written form is a WHATWG name, such as `windows-1251`. `UTF-8 with BOM` has a byte order mark before its text;
/// `UTF-16LE` and `UTF-16BE` always have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    charset: &'static Charset,
    /// Whether the bytes begin with a byte order mark. The text does not include it.
    has_bom: bool,
    /// Whether encoding the text restores the bytes.
    is_exact: bool,
}

impl Encoding {
    /// The encoding of an ordinary file.
    pub const UTF_8: Self = Self { charset: UTF_8, has_bom: false, is_exact: true };

    /// Decodes bytes. Returns `None` if they have a NUL, and so are not text.
    pub fn decode(bytes: Vec<u8>) -> Option<(String, Self)> {
        let utf16 = match bytes.as_slice() {
            [0xFF, 0xFE, ..] => Some(UTF_16LE),
            [0xFE, 0xFF, ..] => Some(UTF_16BE),
            _ => None,
        };
        if let Some(charset) = utf16 {
            let (text, is_invalid) = charset.decode_without_bom_handling(&bytes[2..]);
            let encoding = Self { charset, has_bom: true, is_exact: !is_invalid };
            return memchr(0, text.as_bytes()).is_none().then(|| (text.into_owned(), encoding));
        }
        if memchr(0, &bytes).is_some() {
            return None;
        }
        let (mut text, mut encoding) = match String::from_utf8(bytes) {
            Ok(text) => (text, Self::UTF_8),
            Err(error) => Self::decode_other(error.as_bytes()),
        };
        if encoding.charset == UTF_8 && text.starts_with(BOM) {
            text.drain(..BOM.len_utf8());
            encoding.has_bom = true;
        }
        Some((text, encoding))
    }

    /// Decodes bytes that are not UTF-8.
    fn decode_other(bytes: &[u8]) -> (String, Self) {
        let says_utf8 = bytes.starts_with(BOM.encode_utf8(&mut [0; 4]).as_bytes());
        if !says_utf8
            && !is_mostly_utf8(bytes)
            && let Some((text, charset)) = guess(bytes)
        {
            let mut encoding = Self { charset, has_bom: false, is_exact: true };
            if charset == GBK && encoding.encode(&text).is_none_or(|again| again != bytes) {
                // It decodes like GB18030, but encodes less.
                encoding.charset = GB18030;
            }
            // Some encodings can write a character in two ways.
            encoding.is_exact = encoding.encode(&text).is_some_and(|again| again == bytes);
            return (text, encoding);
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        (text, Self { is_exact: false, ..Self::UTF_8 })
    }

    /// Returns the bytes of a file with this text and encoding; `None` if they cannot be restored.
    pub fn encode<'a>(&self, text: &'a str) -> Option<Cow<'a, [u8]>> {
        if !self.is_exact {
            return None;
        }
        let utf16 = |unit: fn(u16) -> [u8; 2]| {
            let units = std::iter::once(BOM as u16).chain(text.encode_utf16());
            Cow::Owned(units.flat_map(unit).collect())
        };
        match self.charset {
            charset if charset == UTF_16LE => Some(utf16(u16::to_le_bytes)),
            charset if charset == UTF_16BE => Some(utf16(u16::to_be_bytes)),
            charset if charset == UTF_8 && self.has_bom => {
                Some(Cow::Owned(format!("{BOM}{text}").into_bytes()))
            }
            charset => {
                let (bytes, _, lacks_some) = charset.encode(text);
                (!lacks_some).then_some(bytes)
            }
        }
    }

    /// Returns the encoding with a name, as [`Self::word`] returns it.
    pub fn of(word: Option<&str>) -> Option<Self> {
        let Some(word) = word else { return Some(Self::UTF_8) };
        let (name, is_exact) =
            word.strip_suffix(INEXACT).map_or((word, true), |name| (name, false));
        let (name, with_bom) =
            name.strip_suffix(WITH_BOM).map_or((name, false), |name| (name, true));
        let charset = Charset::for_label(name.as_bytes())?;
        let has_bom = with_bom || charset == UTF_16LE || charset == UTF_16BE;
        Some(Self { charset, has_bom, is_exact })
    }

    /// Returns the encoding of a stored text. `is_file` recognises the bytes of its file.
    pub fn of_stored(word: Option<&str>, text: &str, is_file: impl Fn(&[u8]) -> bool) -> Self {
        if let Some(encoding) = Self::of(word) {
            return encoding;
        }
        let marked = |charset| Self { charset, has_bom: true, is_exact: true };
        let possible = [Self::UTF_8, marked(UTF_8), marked(UTF_16LE), marked(UTF_16BE)];
        let is_it = |encoding: &Self| encoding.encode(text).is_some_and(|bytes| is_file(&bytes));
        possible.into_iter().find(is_it).unwrap_or(Self { is_exact: false, ..Self::UTF_8 })
    }

    /// Returns the name to store; `None` for UTF-8.
    pub fn word(&self) -> Option<String> {
        (*self != Self::UTF_8).then(|| self.to_string())
    }

    /// Returns whether earlier versions, which knew only UTF-8 and UTF-16, stored another text.
    pub fn is_foreign(&self) -> bool {
        ![UTF_8, UTF_16LE, UTF_16BE].contains(&self.charset)
    }

    /// Returns whether [`Self::encode`] restores the bytes of the file.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the name in the `charset` of a `Content-Type`.
    pub fn charset(&self) -> String {
        self.charset.name().to_ascii_lowercase()
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.charset.name())?;
        if self.has_bom && self.charset == UTF_8 {
            f.write_str(WITH_BOM)?;
        }
        f.write_str(if self.is_exact { "" } else { INEXACT })
    }
}

/// Decodes git's output about a commit, whose encoding is unknown.
pub fn decode_lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => Encoding::decode_other(bytes).0,
    }
}

/// Number of bytes in valid characters, for each invalid sequence, from which a text counts as UTF-8. Texts in other
/// encodings have such characters by chance: up to a hundredth of short Japanese, Chinese and Korean snippets have so
/// many.
const VALID_BYTES: usize = 4;

/// Returns whether bytes are UTF-8 except for a few sequences.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().bytes().filter(|byte| !byte.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    valid > VALID_BYTES * invalid
}

/// Decodes bytes in their most likely encoding, if they are valid in it.
fn guess(bytes: &[u8]) -> Option<(String, &'static Charset)> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let charset = detector.guess(None, Utf8Detection::Deny);
    let text = charset.decode_without_bom_handling_and_without_replacement(bytes)?;
    // These do not occur in texts, so the guess is wrong.
    let is_control = |c| ('\u{80}'..='\u{9F}').contains(&c);
    (!text.contains(is_control)).then(|| (text.into_owned(), charset))
}

#[cfg(test)]
mod tests;
