//! Which name somebody may have meant by another one.

/// Most slips of a finger in a name that is still recognised.
const MAX_SLIPS: usize = 2;

/// The name that somebody meant who typed another one, if one is so near that it was a slip of a finger.
pub fn nearest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let typed = typed.to_lowercase();
    let slips = |name: &str| distance(&name.to_lowercase(), &typed);
    let letters = typed.chars().count();
    names
        .into_iter()
        .map(|name| (slips(name), name))
        .filter(|(slips, _)| *slips <= MAX_SLIPS && slips * 2 < letters)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, name)| name)
}

/// How many letters differ, are missing, are too many or have changed places with their neighbour in one of two names.
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
        ] {
            assert_eq!(nearest(typed, names), expected, "{typed}");
        }
    }
}
