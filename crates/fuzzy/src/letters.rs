//! Letters of paths: how they are compared, and where words begin.

use nucleo_matcher::chars::{normalize, to_lower_case};

/// Minimum number of words of a name that can be found by their first letters.
pub(super) const MIN_INITIALS: usize = 3;

/// Folds a letter for comparison: to lower case, and without its accent.
pub fn fold(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    to_lower_case(normalize(letter))
}

/// The role of a letter in its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LetterRole {
    /// Inside a word.
    Inside,
    /// First letter of a word: after a separator, a capital after a lowercase letter, or a digit after a letter.
    Word,
    /// A separator: neither letter nor digit.
    Separator,
    /// First letter of a folder's name.
    Folder,
    /// First letter of the file's name.
    Name,
}

/// Returns the role of a letter, by the letters around it. `in_name` tells that no slash follows.
pub(super) fn role(
    before: Option<char>,
    here: char,
    after: Option<char>,
    in_name: bool,
) -> LetterRole {
    let Some(before) = before.filter(|before| *before != '/') else {
        return match here {
            '/' => LetterRole::Separator,
            _ if in_name => LetterRole::Name,
            _ => LetterRole::Folder,
        };
    };
    if !here.is_alphanumeric() {
        return LetterRole::Separator;
    }
    let hump = here.is_uppercase()
        && (before.is_lowercase()
            || after.is_some_and(char::is_lowercase) && before.is_uppercase());
    let digit = here.is_numeric() && !before.is_numeric();
    let begins = !before.is_alphanumeric() || hump || digit;
    if begins { LetterRole::Word } else { LetterRole::Inside }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_at_humps_digits_and_separators() {
        let shown = |path: &str| -> String {
            let letters: Vec<char> = path.chars().collect();
            let name = path.rfind('/').map_or(0, |at| at + 1);
            (0..letters.len())
                .map(|at| {
                    let before = at.checked_sub(1).map(|at| letters[at]);
                    match role(before, letters[at], letters.get(at + 1).copied(), at >= name) {
                        LetterRole::Inside => '.',
                        LetterRole::Word => 'w',
                        LetterRole::Separator => '-',
                        LetterRole::Folder => 'f',
                        LetterRole::Name => 'n',
                    }
                })
                .collect()
        };
        assert_eq!(shown("src/HTTPServer2.rs"), "f..-n...w.....w-w.");
        assert_eq!(shown("_a/-b"), "fw-nw");
    }
}
