//! Families of languages that use each other's definitions by the same names.

/// The families, by the names of languages in lowercase.
const FAMILIES: [&[&str]; 3] = [
    &["c", "c++", "objective-c", "objective-c++", "cuda"],
    &["javascript", "typescript", "tsx", "jsx", "vue", "svelte"],
    &["java", "kotlin", "scala", "groovy"],
];

/// Returns the languages of the family of a language, in lowercase; the language itself if it has none.
pub(super) fn of(language: &str) -> Vec<&str> {
    let lower = language.to_lowercase();
    let family = FAMILIES.iter().find(|family| family.contains(&lower.as_str()));
    family.map_or_else(|| vec![language], |family| family.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_of_a_family_are_searched_together() {
        assert!(of("C").contains(&"c++") && of("TypeScript").contains(&"javascript"));
        assert_eq!(of("Rust"), ["Rust"]);
    }
}
