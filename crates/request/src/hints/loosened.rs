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

/// Most files that each of several parts may be in, to search for any of them; and most such parts.
const MAX_EACH: usize = 50;
const SEVERAL: usize = 3;

/// Returns a hint with the query that finds a message without its numbers, or else those of its parts that stand in few
/// files; `None` if the query is no message, or nothing is found.
pub(super) async fn hint(
    view: &View,
    query: &str,
    beside: &QueryContext,
    until: Instant,
) -> Option<Hint> {
    let (message, filters) = message(query)?;
    let texts = texts(&message);
    let of = |patterns: &[String]| {
        let any: Vec<String> = patterns.iter().map(|pattern| quoted(pattern)).collect();
        let any = any.join(" or ");
        let any = if patterns.len() > 1 && !filters.is_empty() { format!("({any})") } else { any };
        format!("{any} {filters}").trim().to_owned()
    };
    let told = |query: String, found: FileCount| {
        let message = "the message without its numbers and names".to_owned();
        Some(Hint { message, query: Some(query), docs: None, count: Some(found) })
    };
    for pattern in whole(&message, &texts) {
        let query = of(&[pattern]);
        let found = count(view, &query, beside, until).await?;
        if (1..=MAX_FILES).contains(&found.files) {
            return told(query, found);
        }
    }
    for parts in [alone(&texts), clauses(&texts)] {
        let (mut few, mut first) = (Vec::new(), None);
        for pattern in parts {
            let query = of(std::slice::from_ref(&pattern));
            // What has been found until then is better than nothing.
            let Some(found) = count(view, &query, beside, until).await else { break };
            if (1..=MAX_EACH).contains(&found.files) && few.len() < SEVERAL {
                few.push(pattern);
            }
            if (1..=MAX_FILES).contains(&found.files) && first.is_none() {
                first = Some((query, found));
            }
        }
        if few.len() > 1 {
            let query = of(&few);
            if let Some(found) = count(view, &query, beside, until).await {
                return told(query, found);
            }
        }
        if let Some((query, found)) = first {
            return told(query, found);
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

/// Returns patterns for a whole message, with anything between its texts. What a program puts before all of its messages,
/// such as `fatal: `, is left out first: that finds all that the other pattern finds.
fn whole(message: &str, texts: &[String]) -> Vec<String> {
    let escaped = |texts: &[&str]| -> String {
        texts.iter().map(|text| query::escape(text)).collect::<Vec<_>>().join(".*")
    };
    let mut patterns = Vec::new();
    let all: Vec<&str> = texts.iter().map(String::as_str).collect();
    let Some((first, others)) = all.split_first() else { return patterns };
    if let Some((before, rest)) = first.split_once(": ")
        && !before.contains(' ')
        && message.trim_start().starts_with(before)
    {
        let rest: Vec<&str> = [rest].iter().chain(others).copied().collect();
        if letters(&rest.concat()) >= LETTERS {
            patterns.push(escaped(&rest));
        }
    }
    // A single text that is all of the message was searched for already.
    if all.len() > 1 || first.len() < message.trim().len() {
        patterns.push(escaped(&all));
    }
    patterns
}

/// Returns patterns for the texts between numbers and quotes, the longest first.
fn alone(texts: &[String]) -> Vec<String> {
    worth_it(texts.iter().map(String::as_str).collect())
}

/// Returns patterns for the texts between colons, too, the longest first.
fn clauses(texts: &[String]) -> Vec<String> {
    let clauses = texts.iter().flat_map(|text| text.split(": "));
    worth_it(clauses.flat_map(|text| text.split(". ")).collect())
}

/// Returns patterns for texts of several words, the longest first.
fn worth_it(mut texts: Vec<&str>) -> Vec<String> {
    longest_first(&mut texts);
    let mut patterns = Vec::new();
    for text in texts {
        let pattern = query::escape(text.trim().trim_end_matches([':', ',', ';']));
        if letters(text) >= LETTERS && text.trim().contains(' ') && !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns.truncate(MAX_PARTS);
    patterns
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphabetic()).count()
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
        let is_path =
            |word: &str| word.starts_with('/') || word.starts_with('.') && word.contains('/');
        let is_varying = |word: &str| word.contains(|c: char| c.is_ascii_digit()) || is_path(word);
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
            ("bad config line 12 in file .git/config", &["bad config line ", " in file "]),
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
        let of = |message: &str| {
            let texts = texts(message);
            (whole(message, &texts), alone(&texts), clauses(&texts))
        };
        let (whole, alone, _) = of("Expected 2 arguments, but got 3.");
        assert_eq!(whole, ["Expected .* arguments, but got "]);
        assert_eq!(alone, ["arguments, but got"]);
        let (whole, alone, clauses) =
            of("Error: listen EADDRINUSE: address already in use 0.0.0.0:80");
        assert_eq!(
            whole,
            [
                "listen EADDRINUSE: address already in use ",
                "Error: listen EADDRINUSE: address already in use "
            ]
        );
        assert_eq!(alone, ["Error: listen EADDRINUSE: address already in use"]);
        assert_eq!(clauses, ["address already in use", "listen EADDRINUSE"]);
        let (whole, alone, _) = of("0/5 nodes are available: 2 Insufficient cpu, 3 had a taint");
        assert_eq!(whole, [" nodes are available: .* Insufficient cpu, .* had a taint"]);
        assert_eq!(alone, ["nodes are available", "Insufficient cpu", "had a taint"]);
        assert_eq!(of("plain words only").0, [""; 0]);
        assert_eq!(of("plain words only").1, ["plain words only"]);
        assert_eq!(of("12 34"), (vec![], vec![], vec![]));
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
