//! Folding characters outside ASCII, so that texts and literals that differ in case only have the same n-grams.

use std::borrow::Cow;

/// Replaces the characters outside ASCII by those that stand for them in any case; leaves A to Z as they are.
///
/// Two characters that a case-insensitive pattern takes for the same (Unicode's simple case folding) are replaced by the
/// same one. So the long s becomes an s, and the Kelvin sign a k.
pub fn fold_beyond_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || text.chars().all(|c| fold_char(c) == c) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(fold_char).collect())
}

fn fold_char(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    match c {
        // Capitals of several characters, which say nothing of one; and capitals that are no one's lower case.
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        _ => {
            let capital = only(c.to_uppercase()).unwrap_or(c);
            only(capital.to_lowercase()).unwrap_or(capital)
        }
    }
}

/// Returns the only character of a few.
fn only(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_characters_outside_ascii_are_folded() {
        for (text, expected) in [
            ("", ""),
            ("Some ASCII", "Some ASCII"),
            ("naïve—x", "naïve—x"),
            ("ÉTÉ und GRÖẞE", "éTé und GRößE"),
            ("\u{212a}elvin \u{17f}o", "kelvin so"),
            ("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"),
            ("Файл", "файл"),
        ] {
            assert_eq!(fold_beyond_ascii(text), expected);
        }
    }
}
