//! Words: what of a text Postgres is given to index, to search for and to mark.
//!
//! Its parser has ideas of its own about punctuation (`a/b.c` is a file, `x.org` a host, `<b>` a tag that is
//! left out), so it is given words with blanks between them. An identifier is followed by its parts:
//! `getUserName` and `get_user_name` both become `getusername get user name`. A query goes the same way, so
//! that phrases fit.

use std::ops::Range;

/// Longer runs of letters and digits are data, not words.
const MAX_WORD: usize = 64;

/// Stands between what is to be taken for words of their own in a text that is shown, and is not shown.
const APART: char = '\u{1f}';

/// Marks in a text that comes back from Postgres.
pub(crate) const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

/// What it puts between parts of a text.
pub(crate) const BETWEEN: &str = " … ";

/// Words that are common in English and rare in other languages.
const ENGLISH: [&str; 20] = [
    "the", "of", "and", "to", "is", "for", "this", "that", "with", "are", "be", "it", "you", "by",
    "from", "not", "which", "if", "can", "will",
];

/// A text as words with blanks between them, identifiers followed by their parts.
pub(crate) fn spread(text: &str) -> String {
    let mut all = String::with_capacity(text.len() + text.len() / 4);
    for run in runs(text) {
        push(&mut all, &text[run], true);
    }
    all
}

/// Whether a text is written in English, as far as its words tell.
pub(crate) fn is_english(text: &str) -> bool {
    /// Fewer words than that tell nothing.
    const FEW: usize = 15;
    /// More need not be looked at.
    const ENOUGH: usize = 2000;
    /// One word of so many, in a text that is half code.
    const SHARE: usize = 25;
    let words: Vec<&str> = runs(text).map(|run| &text[run]).take(ENOUGH).collect();
    let foreign = words.iter().filter(|word| !word.is_ascii()).count();
    if words.len() < FEW {
        return foreign == 0;
    }
    let known = words.iter().filter(|word| ENGLISH.iter().any(|k| k.eq_ignore_ascii_case(word)));
    known.count() * SHARE >= words.len()
}

/// A query as `websearch_to_tsquery` takes it: quotes, `or` and a minus as they are, all else as words. What is
/// one word here and several in a text is put in quotes. `whole` identifiers are looked for beside their
/// parts; a text that is shown has the parts only.
pub(crate) fn asked(typed: &str, whole: bool) -> String {
    let mut all = String::new();
    let mut rest = typed.trim_start();
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
        let mut words = String::new();
        for run in runs(text) {
            push(&mut words, &text[run], whole);
        }
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

/// The part of a large text in which most words of a query stand, as far as their first letters tell: marking
/// all of a large text would take longer than finding it.
pub(crate) fn window<'t>(text: &'t str, typed: &str) -> &'t str {
    /// Bytes of a block. The part is two of them.
    const BLOCK: usize = 8 << 10;
    /// Letters that the forms of a word have in common.
    const STEM: usize = 4;
    if text.len() <= 2 * BLOCK {
        return text;
    }
    let stem = |word: &str| word.chars().take(STEM).collect::<String>().to_lowercase();
    let mut stems: Vec<String> = Vec::new();
    for run in runs(typed) {
        let word = &typed[run];
        stems.extend(parts(word).map(|part| stem(&word[part])));
    }
    stems.retain(|stem| !ENGLISH.contains(&stem.as_str()));
    let mut cuts: Vec<usize> = (0..text.len()).step_by(BLOCK).collect();
    for cut in &mut cuts {
        while !text.is_char_boundary(*cut) {
            *cut -= 1;
        }
        // A block begins with a line, if there is one soon.
        let line = text[..*cut].rfind('\n').map_or(0, |at| at + 1);
        if *cut - line < BLOCK / 4 {
            *cut = line;
        }
    }
    cuts.push(text.len());
    let holds = |block: &str| -> Vec<bool> {
        let mut held = vec![false; stems.len()];
        for run in runs(block) {
            let word = &block[run];
            for part in parts(word) {
                for (held, stem) in held.iter_mut().zip(&stems) {
                    *held = *held || begins(&word[part.clone()], stem, STEM);
                }
            }
        }
        held
    };
    let held: Vec<Vec<bool>> = cuts.windows(2).map(|ends| holds(&text[ends[0]..ends[1]])).collect();
    let count = |at: usize| {
        let both = held[at].iter().zip(&held[at + 1]);
        both.filter(|(first, second)| **first || **second).count()
    };
    let best = (0..held.len() - 1).rev().max_by_key(|at| count(*at)).unwrap_or(0);
    &text[cuts[best]..cuts[best + 2]]
}

/// A text in which Postgres finds the same words, to be shown once [`pieces`] has taken out what is not part
/// of it.
pub(crate) fn apart(text: &str) -> String {
    let mut all = String::with_capacity(text.len() + text.len() / 4);
    let mut at = 0;
    let clean = |all: &mut String, text: &str| {
        all.extend(text.chars().filter(|c| *c != APART && !MARKS.contains(c)));
    };
    for run in runs(text) {
        clean(&mut all, &text[at..run.start]);
        let word = &text[run.clone()];
        let mut upto = 0;
        for part in parts(word) {
            // Nothing is to be put at the ends of what stands between blanks.
            let before = text[..run.start + part.start].chars().next_back();
            clean(&mut all, &word[upto..part.start]);
            if before.is_some_and(|c| !c.is_whitespace()) {
                all.push(APART);
            }
            all.push_str(&word[part.clone()]);
            let behind = text[run.start + part.end..].chars().next();
            if behind.is_some_and(|c| !c.is_whitespace()) {
                all.push(APART);
            }
            upto = part.end;
        }
        clean(&mut all, &word[upto..]);
        at = run.end;
    }
    clean(&mut all, &text[at..]);
    all
}

/// The parts of a marked text, of which Postgres has cut some in the middle of an identifier, with the rest of
/// what stands between blanks at both ends. `text` is what it has marked.
pub(crate) fn whole(marked: &str, text: &str) -> String {
    let mut all = String::with_capacity(marked.len());
    let mut from = 0;
    let near = |c: &char| !c.is_whitespace();
    for (n, part) in marked.split(BETWEEN).enumerate() {
        if n > 0 {
            all.push_str(BETWEEN);
        }
        let bare = part.replace(MARKS, "");
        let Some(at) = text[from..].find(&bare).filter(|_| !bare.is_empty()) else {
            all.push_str(part);
            continue;
        };
        let (at, end) = (from + at, from + at + bare.len());
        let mut before: Vec<char> = Vec::new();
        if bare.starts_with(|c: char| near(&c)) {
            before.extend(text[from..at].chars().rev().take_while(near).take(2 * MAX_WORD));
        }
        all.extend(before.into_iter().rev());
        all.push_str(part);
        from = end;
        if bare.ends_with(|c: char| near(&c)) {
            let behind = text[end..].chars().take_while(near).take(2 * MAX_WORD);
            for c in behind {
                all.push(c);
                from += c.len_utf8();
            }
        }
    }
    all
}

/// A marked text in pieces: whether each is marked, and what it says.
pub(crate) fn pieces(marked: &str) -> Vec<(bool, String)> {
    let mut all: Vec<(bool, String)> = Vec::new();
    let mut hit = false;
    for c in marked.chars() {
        if MARKS.contains(&c) {
            hit = c == MARKS[0];
        } else if c != APART {
            match all.last_mut() {
                Some((same, text)) if *same == hit => text.push(c),
                _ => all.push((hit, c.to_string())),
            }
        }
    }
    all
}

/// Whether a word begins with the letters of another, of which there are `whole` unless they are all of it.
fn begins(word: &str, letters: &str, whole: usize) -> bool {
    let mut small = word.chars().flat_map(char::to_lowercase);
    letters.chars().all(|c| small.next() == Some(c))
        && (letters.chars().count() >= whole || small.next().is_none())
}

/// Adds a word with its parts, each with a blank behind it.
fn push(all: &mut String, run: &str, whole: bool) {
    let parts: Vec<Range<usize>> = parts(run).collect();
    if whole || parts.len() == 1 {
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

/// Runs of letters, digits and underscores that can be words.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(part)?;
            let end = text[start..].find(|c| !part(c)).map_or(text.len(), |length| start + length);
            at = end;
            if end - start <= MAX_WORD {
                return Some(start..end);
            }
        }
    })
}

/// The parts of an identifier: cut at underscores, before a capital that follows a small letter or a digit, and
/// before the last of several capitals when small letters follow it (`HTTPServer`, but not `URLs`).
fn parts(run: &str) -> impl Iterator<Item = Range<usize>> {
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
            if c == '_' || begins {
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
            ("日本語", "日本語 "),
            ("", ""),
        ] {
            assert_eq!(spread(text), words, "{text}");
        }
        assert_eq!(spread(&"x".repeat(MAX_WORD + 1)), "");
    }

    #[test]
    fn a_query_keeps_its_operators() {
        for (typed, query) in [
            ("how do I retry", "how do I retry"),
            ("\"user name\" or login -test", "\"user name\" or login -test"),
            ("getUserName", "\"getUserName get User Name\""),
            ("-get_user", "-\"getuser get user\""),
            ("a.b", "\"a b\""),
            ("\"open", "open"),
            ("\"or\" OR or, x", "\"or\" or \"or\" x"),
            ("-\"no entry\" & | ! ( )", "-\"no entry\""),
            ("- -- \"\" '", ""),
            ("a\"b c\"d", "a \"b c\" d"),
            ("\u{1f}\u{2}", ""),
        ] {
            assert_eq!(asked(typed, true), query, "{typed}");
        }
        assert_eq!(asked("getUserName x", false), "\"get User Name\" x");
    }

    #[test]
    fn what_is_shown_is_what_was_written() {
        for text in ["<b>a/b.c</b> getUserName, x_y!", " plain  words\n", "", "é-ü", "a\u{300}b"]
        {
            assert_eq!(pieces(&apart(text)).concat_text(), text, "{text}");
        }
        assert_eq!(apart("a.getUser b"), "a\u{1f}.\u{1f}get\u{1f}\u{1f}User b");
        assert_eq!(pieces(&apart("a\u{2}b\u{3}\u{1f}c")).concat_text(), "abc");
        assert_eq!(
            pieces("x \u{2}y\u{3}\u{1f}\u{2}z\u{3}."),
            [(false, "x ".to_owned()), (true, "yz".to_owned()), (false, ".".to_owned())]
        );
    }

    trait ConcatText {
        fn concat_text(&self) -> String;
    }

    impl ConcatText for Vec<(bool, String)> {
        fn concat_text(&self) -> String {
            self.iter().map(|(_, text)| text.as_str()).collect()
        }
    }

    #[test]
    fn the_part_of_a_large_text_that_fits_best() {
        let filler = "nothing of interest here\n".repeat(2000);
        let text = format!("retry\n{filler}Retries are configured here, not: é\n{filler}the end");
        for (query, holds) in [
            ("configuring retries", "Retries are configured"),
            ("RetryConfig", "Retries are configured"),
            ("retry", "retry\n"),
            ("end", "the end"),
            ("the absent", "retry\n"),
            ("", "retry\n"),
        ] {
            let part = window(&text, query);
            assert!(part.contains(holds) && part.len() < 24 << 10, "{query}: {} bytes", part.len());
        }
        assert_eq!(window("short", "x"), "short");
        assert!(window(&"é".repeat(20_000), "x").len() < 24 << 10);
    }

    #[test]
    fn parts_of_a_text_begin_and_end_with_whole_identifiers() {
        let text = apart("one pg_try_lock(x) two, and getUserName() three pg_try_lock end");
        let (a, b) = (MARKS[0], MARKS[1]);
        for (marked, shown) in [
            (format!("{a}try{b}{APART}_{APART}lock"), "pg_try_lock(x)"),
            ("two, and".to_owned(), "two, and"),
            (format!("{a}one{b} pg"), "one pg_try_lock(x)"),
            (format!("{a}User{b}{BETWEEN}three pg"), "getUserName() … three pg_try_lock"),
            // The second one is the later one.
            (format!("two,{BETWEEN}{a}lock{b} end"), "two, … pg_try_lock end"),
            ("not from there".to_owned(), "not from there"),
            (String::new(), ""),
        ] {
            let whole = pieces(&whole(&marked, &text));
            let all: String = whole.into_iter().map(|(_, text)| text).collect();
            assert_eq!(all, shown, "{marked:?}");
        }
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
