//! Entry points for fuzzers, see [`crate::fuzz`].

use super::compat::{livegrep as of_livegrep, zoekt as of_zoekt};
use super::cursor::Cursor;
use super::pages;

/// Parses a cursor; a valid one survives printing and parsing.
pub fn cursor(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Some(cursor) = Cursor::parse(text) {
        assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
    }
}

/// Reads the body of a Zoekt search.
pub fn zoekt(bytes: &[u8]) {
    of_zoekt::fuzz(bytes);
}

/// Reads a livegrep form.
pub fn livegrep(bytes: &[u8]) {
    of_livegrep::fuzz(bytes);
}

/// Highlights a file in the language that the first byte selects.
pub fn colours(bytes: &[u8]) {
    pages::fuzz(bytes);
}
