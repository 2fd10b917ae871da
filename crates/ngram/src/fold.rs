//! Folding of non-ASCII characters, so that texts and literals that differ only in case have the same n-grams.

use std::borrow::Cow;

/// Replaces non-ASCII characters by their folded forms; leaves A to Z as they are.
///
/// Characters that are equal to a case-insensitive pattern (Unicode's simple case folding) get the same replacement. So
/// the long s becomes an s, and the Kelvin sign a k.
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
        // Capitals of several characters, which do not determine one; and capitals that are the lower case of nothing.
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        _ => {
            let capital = only(c.to_uppercase()).unwrap_or(c);
            only(capital.to_lowercase()).unwrap_or(capital)
        }
    }
}

/// Returns the only character; `None` if there are more or none.
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
