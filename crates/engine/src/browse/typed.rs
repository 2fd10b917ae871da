//! What was typed to find a file, and the letters that it is compared by.

use nucleo_matcher::chars::{normalize, to_lower_case};
use thiserror::Error;

/// Most letters that may be typed.
pub const MAX_LETTERS: usize = 256;

/// Most parts with blanks between them.
pub const MAX_PARTS: usize = 8;

/// What was typed: parts with blanks between them, which may stand in any order in a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    pub(crate) parts: Vec<Part>,
}

/// A part of what was typed, with no blank in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) letters: Vec<char>,
    /// The same as UTF-8.
    pub(crate) text: String,
}

/// Too much was typed to be a part of a path.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TooMuch {
    /// More than [`MAX_LETTERS`].
    #[error(
        "that is {0} letters; type {MAX_LETTERS} or fewer: the name of the file, or a part of its path"
    )]
    Letters(usize),
    /// More than [`MAX_PARTS`].
    #[error(
        "those are {0} words; type {MAX_PARTS} or fewer: the name of the file, or parts of its path"
    )]
    Parts(usize),
}

impl Typed {
    /// Reads what was typed. Slashes before a part, and `./`, say nothing about a path.
    ///
    /// # Errors
    /// It is longer than anybody types.
    pub fn new(text: &str) -> Result<Self, TooMuch> {
        let letters = text.trim().chars().count();
        if letters > MAX_LETTERS {
            return Err(TooMuch::Letters(letters));
        }
        let bare = |part: &str| {
            let mut part = part;
            while let Some(rest) = part.strip_prefix("./").or_else(|| part.strip_prefix('/')) {
                part = rest;
            }
            part.chars().map(fold).collect::<Vec<char>>()
        };
        let parts: Vec<Part> = text
            .split_whitespace()
            .map(bare)
            .filter(|letters| !letters.is_empty())
            .map(Part::new)
            .collect();
        if parts.len() > MAX_PARTS {
            return Err(TooMuch::Parts(parts.len()));
        }
        Ok(Self { parts })
    }
}

impl Part {
    pub(crate) fn new(letters: Vec<char>) -> Self {
        Self { text: letters.iter().collect(), letters }
    }
}

/// A letter as it is compared: small, and without its accent.
pub(crate) fn fold(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    to_lower_case(normalize(letter))
}

/// Where a letter of a path stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// In a word.
    Inside,
    /// The first of a word: after a separator, a capital after a small letter, a digit after a letter.
    Word,
    /// A separator: anything but letters and digits.
    Separator,
    /// The first of a folder's name.
    Folder,
    /// The first of the file's name.
    Name,
}

/// Where a letter stands, by the letters around it; `name` is whether no slash follows.
pub(crate) fn stand(before: Option<char>, here: char, after: Option<char>, name: bool) -> Stand {
    let Some(before) = before.filter(|before| *before != '/') else {
        return match here {
            '/' => Stand::Separator,
            _ if name => Stand::Name,
            _ => Stand::Folder,
        };
    };
    if !here.is_alphanumeric() {
        return Stand::Separator;
    }
    let hump = here.is_uppercase()
        && (before.is_lowercase()
            || after.is_some_and(char::is_lowercase) && before.is_uppercase());
    let digit = here.is_numeric() && !before.is_numeric();
    if !before.is_alphanumeric() || hump || digit { Stand::Word } else { Stand::Inside }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_folded() {
        let parts = |text: &str| -> Vec<String> {
            Typed::new(text).unwrap().parts.into_iter().map(|part| part.text).collect()
        };
        assert_eq!(parts(" ./Src//Main.RS  /É "), ["src//main.rs", "e"]);
        assert_eq!(parts("/// ./"), Vec::<String>::new());
        assert_eq!(Typed::new(&"x".repeat(257)), Err(TooMuch::Letters(257)));
        assert_eq!(Typed::new("a b c d e f g h i"), Err(TooMuch::Parts(9)));
    }

    #[test]
    fn words_begin_at_humps_digits_and_separators() {
        let shown = |path: &str| -> String {
            let letters: Vec<char> = path.chars().collect();
            let name = path.rfind('/').map_or(0, |at| at + 1);
            (0..letters.len())
                .map(|at| {
                    let before = at.checked_sub(1).map(|at| letters[at]);
                    match stand(before, letters[at], letters.get(at + 1).copied(), at >= name) {
                        Stand::Inside => '.',
                        Stand::Word => 'w',
                        Stand::Separator => '-',
                        Stand::Folder => 'f',
                        Stand::Name => 'n',
                    }
                })
                .collect()
        };
        assert_eq!(shown("src/HTTPServer2.rs"), "f..-n...w.....w-w.");
        assert_eq!(shown("_a/-b"), "fw-nw");
    }
}
