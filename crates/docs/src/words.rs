//! The words of texts and queries, as Postgres indexes and searches them.
//!
//! The text search parser of Postgres has rules of its own for punctuation (`a/b.c` is a file, `x.org` a host, `<b>` a
//! tag that it drops), so it gets words separated by spaces. An identifier is followed by its parts: `getUserName` and
//! `get_user_name` both become `getusername get user name`. In scripts that are written without spaces, each two neighbouring
//! characters are a word. Queries get the same treatment, so that phrases match.

use std::ops::Range;

use ::words::is_dense;

/// Maximum number of bytes of a word. Longer runs of letters and digits are data.
pub const MAX_WORD: usize = 64;

/// Words that are common in English and rare in other languages.
pub const ENGLISH: [&str; 20] = [
    "the", "of", "and", "to", "is", "for", "this", "that", "with", "are", "be", "it", "you", "by",
    "from", "not", "which", "if", "can", "will",
];

/// Returns the words of a text, each followed by a space. With `identifiers`, an identifier is followed by its parts, and
/// characters of scripts without spaces are in pairs; else an identifier is replaced by its parts, and such characters are
/// words of their own, as text is marked.
pub fn words_of(text: &str, identifiers: bool) -> String {
    let mut all = String::with_capacity(text.len() + text.len() / 4);
    for run in runs(text) {
        push(&mut all, &text[run], identifiers);
    }
    all
}

/// Guesses from its words whether a text is in English.
pub fn is_english(text: &str) -> bool {
    /// Minimum number of words for a guess.
    const FEW: usize = 15;
    /// Maximum number of words to examine.
    const ENOUGH: usize = 2000;
    /// One in this many words must be common in English: a low share, since half of a text may be code.
    const SHARE: usize = 25;
    let words: Vec<&str> = runs(text).map(|run| &text[run]).take(ENOUGH).collect();
    let foreign = words.iter().filter(|word| !word.is_ascii()).count();
    if words.len() < FEW {
        return foreign == 0;
    }
    let known = words.iter().filter(|word| ENGLISH.iter().any(|k| k.eq_ignore_ascii_case(word)));
    known.count() * SHARE >= words.len()
}

/// Returns a query for `websearch_to_tsquery`: keeps quotes, `or` and minus signs, and splits the rest into words. A
/// word that becomes several is quoted. With `identifiers`, whole identifiers precede their parts, as in the index; the
/// query for marking a text has only the parts.
pub fn websearch_query(query: &str, identifiers: bool) -> String {
    let mut all = String::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let (minus, behind) = match rest.strip_prefix('-') {
            Some(behind) => ("-", behind),
            None => ("", rest),
        };
        let (text, quoted, behind) = match behind.strip_prefix('"') {
            Some(inside) => {
                let (text, behind) = inside.split_once('"').unwrap_or((inside, ""));
                (text, true, behind)
            }
            None => {
                let ends = |c: char| c.is_whitespace() || c == '"';
                let (text, behind) = behind.split_at(behind.find(ends).unwrap_or(behind.len()));
                (text, false, behind)
            }
        };
        rest = behind.trim_start();
        let words = words_of(text, identifiers);
        let words = words.trim_end();
        if words.is_empty() {
            continue;
        }
        if !all.is_empty() {
            all.push(' ');
        }
        let operator = text.eq_ignore_ascii_case("or");
        if !quoted && operator && minus.is_empty() {
            all.push_str("or");
        } else if words.contains(' ') || operator || words.eq_ignore_ascii_case("or") {
            all.extend([minus, "\"", words, "\""]);
        } else {
            all.extend([minus, words]);
        }
    }
    all
}

/// Adds a word, and its parts if it has several; without `identifiers` only the parts.
fn push(all: &mut String, run: &str, identifiers: bool) {
    if identifiers && run.starts_with(is_dense) {
        let places: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        // A single character is a word.
        let count = 2.min(places.len() - 1);
        for ends in places.windows(count + 1) {
            all.push_str(&run[ends[0]..ends[count]]);
            all.push(' ');
        }
        return;
    }
    let parts: Vec<Range<usize>> = parts(run).collect();
    if identifiers || parts.len() == 1 {
        for part in &parts {
            all.push_str(&run[part.clone()]);
        }
        if !parts.is_empty() {
            all.push(' ');
        }
    }
    if parts.len() > 1 {
        for part in parts {
            all.push_str(&run[part]);
            all.push(' ');
        }
    }
}

/// Returns the runs of letters, digits and underscores that are short enough for words, and those of letters of scripts
/// without spaces, of any length. No run has both.
pub fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(part)?;
            let is_of_dense = text[start..].starts_with(is_dense);
            let ends = |c: char| !part(c) || is_dense(c) != is_of_dense;
            let end = text[start..].find(ends).map_or(text.len(), |length| start + length);
            at = end;
            if is_of_dense || end - start <= MAX_WORD {
                return Some(start..end);
            }
        }
    })
}

/// Returns the parts of an identifier. Splits at underscores, before a capital that follows a lowercase letter or a
/// digit, and before the last of several capitals if two lowercase letters follow it (`HTTPServer`, but not `URLs`). Of scripts without
/// spaces, each character is a part.
pub fn parts(run: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + run[at..].find(|c| c != '_')?;
        let mut before: Option<char> = None;
        let mut end = run.len();
        for (offset, c) in run[start..].char_indices() {
            let here = start + offset;
            let behind = || run[here..].chars().skip(1).take(2);
            let small = |c: char| c.is_lowercase();
            let begins = before.is_some_and(|before| {
                c.is_uppercase()
                    && (before.is_lowercase()
                        || before.is_numeric()
                        || before.is_uppercase() && behind().filter(|c| small(*c)).count() == 2)
            });
            if c == '_' || begins || before.is_some_and(is_dense) {
                end = here;
                break;
            }
            before = Some(c);
        }
        at = end;
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_followed_by_their_parts() {
        for (text, words) in [
            ("getUserName", "getUserName get User Name "),
            ("get_user_name", "getusername get user name "),
            ("__init__", "init "),
            ("_", ""),
            ("HTTPServer", "HTTPServer HTTP Server "),
            ("URLs of IPv4", "URLs of IPv4 "),
            ("Base64Encode utf8", "Base64Encode Base64 Encode utf8 "),
            ("a/b.c, x@y.org <b>&amp;", "a b c x y org b amp "),
            ("well-known 1.5e3", "well known 1 5e3 "),
            ("Straße überAll", "Straße überAll über All "),
            ("日本語", "日本 本語 "),
            ("如何配置重试次数", "如何 何配 配置 置重 重试 试次 次数 "),
            ("配置retryCount次", "配置 retryCount retry Count 次 "),
            ("", ""),
        ] {
            assert_eq!(words_of(text, true), words, "{text}");
        }
        assert_eq!(words_of(&"x".repeat(MAX_WORD + 1), true), "");
        assert_eq!(words_of(&"语".repeat(50), true), "语语 ".repeat(49));
    }

    #[test]
    fn a_query_keeps_its_operators() {
        for (typed, query) in [
            ("how do I retry", "how do I retry"),
            ("\"user name\" or login -test", "\"user name\" or login -test"),
            ("getUserName", "\"getUserName get User Name\""),
            ("-get_user", "-\"getuser get user\""),
            ("配置 如何配置", "配置 \"如何 何配 配置\""),
            ("a.b", "\"a b\""),
            ("\"open", "open"),
            ("\"or\" OR or, x", "\"or\" or \"or\" x"),
            ("-\"no entry\" & | ! ( )", "-\"no entry\""),
            ("- -- \"\" '", ""),
            ("a\"b c\"d", "a \"b c\" d"),
            ("\u{1f}\u{2}", ""),
        ] {
            assert_eq!(websearch_query(typed, true), query, "{typed}");
        }
        assert_eq!(websearch_query("getUserName x", false), "\"get User Name\" x");
        assert_eq!(websearch_query("配置 x", false), "\"配 置\" x");
    }

    #[test]
    fn english_is_told_by_its_small_words() {
        for (text, english) in [
            ("Utilities", true),
            ("配置重试", false),
            (
                "The server reads its settings from a file, and it is read again when it changes on disk.",
                true,
            ),
            (
                "Der Server liest seine Einstellungen aus einer Datei und liest sie noch einmal wenn sie sich ändert",
                false,
            ),
            (
                "foo_bar baz_qux int32 int64 uint8 float32 float64 bool byte rune string error map chan func",
                false,
            ),
        ] {
            assert_eq!(is_english(text), english, "{text}");
        }
    }
}
