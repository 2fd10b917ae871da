//! Finds the text of an error message in code. Code has `%d` or `{}` where a message has a number, a name or a path, so the
//! message as it is stands nowhere.

use std::time::Instant;

use query::{PartKind, QueryParts, quoted};
use search::View;

use super::count::{FileCount, QueryContext, count};
use super::{Hint, MAX_QUERY};

/// Fewest letters of a part of a message that is searched for alone.
const LETTERS: usize = 8;

/// Most parts of a message that are searched for.
const MAX_PARTS: usize = 6;

/// Most files that the text of a message may be in; a part in more files says little.
const MAX_FILES: usize = 200;

/// Returns a hint with the query that finds a message without its numbers, or else its longest part that stands
/// anywhere; `None` if the query is no message, or nothing is found.
pub(super) async fn hint(
    view: &View,
    query: &str,
    beside: &QueryContext,
    until: Instant,
) -> Option<Hint> {
    let (message, filters) = message(query)?;
    for pattern in patterns(&message) {
        let query = format!("{} {filters}", quoted(&pattern));
        let query = query.trim().to_owned();
        let found: FileCount = count(view, &query, beside, until).await?;
        if (1..=MAX_FILES).contains(&found.files) {
            let message = "the message without its numbers and names".to_owned();
            return Some(Hint { message, query: Some(query), docs: None, count: Some(found) });
        }
    }
    None
}

/// Returns the message that a query consists of, and the filters beside it. A query that cannot be parsed is a message as it
/// is.
fn message(query: &str) -> Option<(String, String)> {
    if query.len() > MAX_QUERY {
        return None;
    }
    let Ok(parts) = QueryParts::of(query) else {
        return Some((query.trim().to_owned(), String::new()));
    };
    let is_term = |kind: PartKind| kind == PartKind::Term;
    let texts: Vec<&str> = parts
        .parts
        .iter()
        .filter(|part| is_term(part.kind))
        .map(|part| part.value.as_str())
        .collect();
    let is_filter = |kind: PartKind| {
        matches!(
            kind,
            PartKind::Repo
                | PartKind::Path
                | PartKind::Language
                | PartKind::Property
                | PartKind::Tree
        )
    };
    if texts.is_empty()
        || parts.parts.iter().any(|part| !is_term(part.kind) && !is_filter(part.kind))
    {
        return None;
    }
    Some((texts.join(" "), parts.with(|part| is_filter(part.kind))))
}

/// Returns patterns for a message, the most specific first: its texts with anything between them; then the longest texts
/// alone, those between numbers and quotes before those between colons, too.
fn patterns(message: &str) -> Vec<String> {
    let texts = texts(message);
    if texts.is_empty() {
        return Vec::new();
    }
    let mut patterns = Vec::new();
    let whole: Vec<String> = texts.iter().map(|text| query::escape(text)).collect();
    // A single text that is all of the message was searched for already.
    if texts.len() > 1 || texts[0].len() < message.trim().len() {
        patterns.push(whole.join(".*"));
    }
    let mut alone: Vec<&str> = texts.iter().map(String::as_str).collect();
    longest_first(&mut alone);
    let clauses = texts.iter().flat_map(|text| text.split(": "));
    let mut parts: Vec<&str> = clauses.flat_map(|text| text.split(". ")).collect();
    longest_first(&mut parts);
    for text in alone.into_iter().chain(parts) {
        let pattern = query::escape(text.trim().trim_end_matches([':', ',', ';']));
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        if letters >= LETTERS && text.trim().contains(' ') && !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns.truncate(MAX_PARTS);
    patterns
}

fn longest_first(texts: &mut [&str]) {
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
}

/// Splits a message at what code has no text for: words with digits, what stands in quotes, and paths.
fn texts(message: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut text = String::new();
    let mut rest = message.trim();
    while let Some(first) = rest.chars().next() {
        let quote = match first {
            '\'' | '"' | '`' if !text.ends_with(char::is_alphanumeric) => {
                rest[1..].find(first).map(|end| end + 2)
            }
            _ => None,
        };
        let word = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
        let is_varying =
            |word: &str| word.contains(|c: char| c.is_ascii_digit()) || word.starts_with('/');
        if let Some(end) = quote {
            // The quotes themselves may be in the code.
            text.push(first);
            texts.push(std::mem::take(&mut text));
            text.push(first);
            rest = &rest[end..];
        } else if word > 0 && is_varying(&rest[..word]) {
            texts.push(std::mem::take(&mut text));
            // A full stop at the end of a sentence is not a part of the number before it.
            let end = rest[..word].trim_end_matches(['.', ':', '-', '/']).len().max(1);
            rest = &rest[end..];
        } else {
            let end = word.max(first.len_utf8());
            text.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    texts.push(text);
    texts.retain(|text| text.contains(char::is_alphabetic));
    texts
}

/// Returns whether a character belongs to a word, a number, an address or a path.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || "_-./:+%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_at_numbers_names_and_paths() {
        for (message, expected) in [
            ("Expected 2 arguments, but got 3.", &["Expected ", " arguments, but got "][..]),
            ("1024 worker_connections are not enough", &[" worker_connections are not enough"]),
            ("open '/tmp/x y': no such file", &["open '", "': no such file"]),
            (
                "bad config line 12 in file .git/config",
                &["bad config line ", " in file .git/config"],
            ),
            ("dial tcp 127.0.0.1:5432: connection refused", &["dial tcp ", ": connection refused"]),
            ("can't read /etc/hosts", &["can't read "]),
            ("pid 0x7f3a (x64)", &["pid ", " ("]),
            ("no numbers at all", &["no numbers at all"]),
            ("404", &[]),
        ] {
            let expected: Vec<&str> = expected
                .iter()
                .copied()
                .filter(|text| text.contains(char::is_alphabetic))
                .collect();
            assert_eq!(texts(message), expected, "{message}");
        }
    }

    #[test]
    fn a_message_has_patterns_from_the_whole_to_its_parts() {
        assert_eq!(
            patterns("Expected 2 arguments, but got 3."),
            ["Expected .* arguments, but got ", "arguments, but got"]
        );
        assert_eq!(
            patterns("Error: listen EADDRINUSE: address already in use 0.0.0.0:80"),
            [
                "Error: listen EADDRINUSE: address already in use ",
                "Error: listen EADDRINUSE: address already in use",
                "address already in use",
                "listen EADDRINUSE"
            ]
        );
        assert_eq!(patterns("plain words only"), ["plain words only"]);
        assert!(patterns("12 34").is_empty());
    }

    #[test]
    fn a_query_with_filters_is_a_message_with_filters() {
        let of = |query: &str| message(query);
        let some = |text: &str, filters: &str| Some((text.to_owned(), filters.to_owned()));
        assert_eq!(of("\"got 3 of 4\" repo:x"), some("got 3 of 4", "repo:x"));
        assert_eq!(of("foo(1"), some("foo(1", ""));
        assert_eq!(of("sym:x -y"), None);
        assert_eq!(of("a or b"), None);
    }
}
