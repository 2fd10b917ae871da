//! Finds the name that a mistyped one was probably meant to be.

/// Maximum number of typing mistakes in a name that is still recognized.
const MAX_SLIPS: usize = 2;

/// Longest name, in bytes, that is compared with others: the maximum for a file name.
const MAX_BYTES: usize = 256;

/// Returns the name closest to `typed`, if it is within two typing mistakes and these are less than half its letters.
pub fn nearest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
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
        .map(|(lower, name)| (distance(&lower, &typed), name))
        .filter(|(slips, _)| *slips <= MAX_SLIPS && slips * 2 < letters)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, name)| name)
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
}
