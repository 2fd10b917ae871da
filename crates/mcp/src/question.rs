//! Which queries are questions in words.

/// Fewest words of a question, and of a query after which other files are worth their bytes though some have been found.
pub(super) const LEAST_WORDS: usize = 3;

/// How questions begin.
const BEGIN: [&str; 8] = ["how", "where", "what", "which", "why", "who", "when", "whose"];

/// Returns whether a query is a question in words: it begins like one, and has no operator or field.
pub(super) fn is_question(typed: &str) -> bool {
    let first = typed.split_whitespace().next().unwrap_or_default().to_lowercase();
    BEGIN.contains(&first.as_str())
        && typed.split_whitespace().count() >= LEAST_WORDS
        && query::is_only_words(typed)
}
