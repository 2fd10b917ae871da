//! Finds the name that a mistyped one was probably meant to be.

/// Maximum number of typing mistakes in a name that is still recognized.
const MAX_SLIPS: usize = 2;

/// Longest name, in bytes, that is compared with others: the maximum for a file name.
const MAX_BYTES: usize = 256;

/// Names of languages and types of files that many people use, the most common first. ripgrep's short names stand with
/// the names of the languages.
const COMMON: &[&str] = &[
    "javascript",
    "js",
    "typescript",
    "ts",
    "python",
    "py",
    "java",
    "go",
    "rust",
    "c",
    "c++",
    "cpp",
    "c#",
    "csharp",
    "php",
    "ruby",
    "shell",
    "sh",
    "html",
    "css",
    "json",
    "yaml",
    "markdown",
    "md",
    "sql",
    "kotlin",
    "swift",
    "scala",
    "lua",
    "perl",
    "r",
    "dart",
    "toml",
    "xml",
    "docker",
    "dockerfile",
    "makefile",
    "make",
    "objective-c",
    "objc",
    "haskell",
    "elixir",
    "vue",
    "txt",
    "plain text",
];

/// Returns the name closest to `typed`, if it is within two typing mistakes and these are less than half its letters.
pub fn nearest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest_by(typed, names, |slips, _| slips)
}

/// Like [`nearest`], for languages and types of files: names in common use come before rare ones with one mistake less.
pub fn nearest_in_use<'n>(
    typed: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let place = |name: &str| COMMON.iter().position(|known| *known == name);
    nearest_by(typed, names, |slips, lower| match place(lower) {
        Some(place) => (slips, false, place),
        None => (slips + 1, true, 0),
    })
}

/// Returns the near name with the smallest key of its mistakes and its lower-case form; of equal ones, the first.
fn nearest_by<'n, K: Ord>(
    typed: &str,
    names: impl IntoIterator<Item = &'n str>,
    key: impl Fn(usize, &str) -> K,
) -> Option<&'n str> {
    if typed.len() > MAX_BYTES {
        return None;
    }
    let typed = typed.to_lowercase();
    let letters = typed.chars().count();
    // Names that differ more in length are too far away; comparing two texts takes time proportional to the product of
    // their lengths.
    let is_as_long = |name: &str| name.chars().count().abs_diff(letters) <= MAX_SLIPS;
    names
        .into_iter()
        .map(|name| (name.to_lowercase(), name))
        .filter(|(lower, _)| is_as_long(lower))
        .map(|(lower, name)| (distance(&lower, &typed), lower, name))
        .filter(|(slips, ..)| *slips <= MAX_SLIPS && slips * 2 < letters)
        .min_by_key(|(slips, lower, _)| key(*slips, lower))
        .map(|(.., name)| name)
}

/// Returns the Damerau-Levenshtein distance: how many letters differ, are missing, are added, or are swapped with a
/// neighbour.
pub fn distance(one: &str, other: &str) -> usize {
    strsim::damerau_levenshtein(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_near_or_it_is_not_named() {
        let names = ["go", "rust", "javascript", "c++"];
        for (typed, expected) in [
            ("goo", Some("go")),
            ("Rsut", Some("rust")),
            ("javascrpt", Some("javascript")),
            ("klingon", None),
            ("gp", None),
            ("", None),
            ("bogus", None),
            (&"go".repeat(1 << 20), None),
        ] {
            assert_eq!(nearest(typed, names), expected, "{typed:.20}");
        }
    }

    #[test]
    fn of_near_languages_the_one_in_use_is_named() {
        let names = ["boxlang", "cool", "lua", "java", "javascript", "elm", "perl", "html"];
        for (typed, expected) in [
            ("luaa", Some("lua")),
            ("jav", Some("java")),
            ("perk", Some("perl")),
            ("htm", Some("html")),
            ("boxlng", Some("boxlang")),
            ("coool", Some("cool")),
        ] {
            assert_eq!(nearest_in_use(typed, names), expected, "{typed}");
        }
        // A common name with two mistakes goes before a rare one with two.
        assert_eq!(nearest_in_use("javas", ["jabas", "java"]), Some("java"));
        assert_eq!(nearest("javas", ["jabas", "java"]), Some("jabas"));
    }
}
