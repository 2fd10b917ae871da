//! Snippets: the displayed part of a doc, in which Postgres marks the words of the query.

use super::types::TextRun;
use ::docs::words::{ENGLISH, MAX_WORD, parts, runs};

/// Separator between words of a text that Postgres marks. Removed before the text is shown.
const SEPARATOR: char = '\u{1f}';

/// Marks that Postgres puts before and after a match.
pub(super) const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

/// Text that Postgres puts between fragments.
pub(super) const BETWEEN: &str = " … ";

/// Returns the part of a large text with the most words of a query, by their first letters. Marking a whole large text
/// would take longer than finding it.
pub(super) fn best_part<'t>(text: &'t str, query: &str) -> &'t str {
    /// Bytes of a block. The part is two blocks.
    const BLOCK: usize = 8 << 10;
    /// Number of letters shared by the forms of a word.
    const STEM: usize = 4;
    if text.len() <= 2 * BLOCK {
        return text;
    }
    let stem = |word: &str| word.chars().take(STEM).collect::<String>().to_lowercase();
    let mut stems: Vec<String> = Vec::new();
    for run in runs(query) {
        let word = &query[run];
        stems.extend(parts(word).map(|part| stem(&word[part])));
    }
    stems.retain(|stem| !ENGLISH.contains(&stem.as_str()));
    let mut cuts: Vec<usize> = (0..text.len()).step_by(BLOCK).collect();
    for cut in &mut cuts {
        while !text.is_char_boundary(*cut) {
            *cut -= 1;
        }
        // Start a block at the start of a line, if one is near.
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

/// Returns a text in which Postgres finds the words of [`words`](super::words): puts a [`SEPARATOR`] where Postgres
/// would not see two words. [`split_marked`] removes the separators.
pub(super) fn separate_words(text: &str) -> String {
    let mut all = String::with_capacity(text.len() + text.len() / 4);
    let mut at = 0;
    let clean = |all: &mut String, text: &str| {
        all.extend(text.chars().filter(|c| *c != SEPARATOR && !MARKS.contains(c)));
    };
    for run in runs(text) {
        clean(&mut all, &text[at..run.start]);
        let word = &text[run.clone()];
        let mut upto = 0;
        for part in parts(word) {
            // No separator next to white space.
            let before = text[..run.start + part.start].chars().next_back();
            clean(&mut all, &word[upto..part.start]);
            if before.is_some_and(|c| !c.is_whitespace()) {
                all.push(SEPARATOR);
            }
            all.push_str(&word[part.clone()]);
            let behind = text[run.start + part.end..].chars().next();
            if behind.is_some_and(|c| !c.is_whitespace()) {
                all.push(SEPARATOR);
            }
            upto = part.end;
        }
        clean(&mut all, &word[upto..]);
        at = run.end;
    }
    clean(&mut all, &text[at..]);
    all
}

/// Extends the fragments that Postgres cut from `text` at both ends to the next white space: it may have cut
/// inside an identifier.
pub(super) fn complete_words(marked: &str, text: &str) -> String {
    let mut all = String::with_capacity(marked.len());
    let mut from = 0;
    let near = |c: &char| !c.is_whitespace() && !::words::is_dense(*c);
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

/// Splits a marked text into runs, without marks and separators.
pub(super) fn split_marked(marked: &str) -> Vec<TextRun> {
    let mut all: Vec<TextRun> = Vec::new();
    let mut hit = false;
    for c in marked.chars() {
        if MARKS.contains(&c) {
            hit = c == MARKS[0];
        } else if c != SEPARATOR {
            match all.last_mut() {
                Some(run) if run.hit == hit => run.text.push(c),
                _ => all.push(TextRun { hit, text: c.to_string() }),
            }
        }
    }
    all
}

/// Returns whether a word begins with `letters`. If these are fewer than `whole`, the word must equal them.
fn begins(word: &str, letters: &str, whole: usize) -> bool {
    let mut small = word.chars().flat_map(char::to_lowercase);
    letters.chars().all(|c| small.next() == Some(c))
        && (letters.chars().count() >= whole || small.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_was_written() {
        for text in ["<b>a/b.c</b> getUserName, x_y!", " plain  words\n", "", "é-ü", "a\u{300}b"]
        {
            assert_eq!(shown(&separate_words(text)), text, "{text}");
        }
        assert_eq!(separate_words("a.getUser b"), "a\u{1f}.\u{1f}get\u{1f}\u{1f}User b");
        assert_eq!(shown(&separate_words("a\u{2}b\u{3}\u{1f}c")), "abc");
        assert_eq!(
            split_marked("x \u{2}y\u{3}\u{1f}\u{2}z\u{3}."),
            [(false, "x "), (true, "yz"), (false, ".")]
                .map(|(hit, text)| TextRun { hit, text: text.to_owned() })
        );
    }

    fn shown(marked: &str) -> String {
        split_marked(marked).into_iter().map(|run| run.text).collect()
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
            let part = best_part(&text, query);
            assert!(part.contains(holds) && part.len() < 24 << 10, "{query}: {} bytes", part.len());
        }
        assert_eq!(best_part("short", "x"), "short");
        assert!(best_part(&"é".repeat(20_000), "x").len() < 24 << 10);
    }

    #[test]
    fn parts_of_a_text_begin_and_end_with_whole_identifiers() {
        let text =
            separate_words("one pg_try_lock(x) two, and getUserName() three pg_try_lock end");
        let (a, b) = (MARKS[0], MARKS[1]);
        for (marked, expected) in [
            (format!("{a}try{b}{SEPARATOR}_{SEPARATOR}lock"), "pg_try_lock(x)"),
            ("two, and".to_owned(), "two, and"),
            (format!("{a}one{b} pg"), "one pg_try_lock(x)"),
            (format!("{a}User{b}{BETWEEN}three pg"), "getUserName() … three pg_try_lock"),
            // The second fragment is found after the first.
            (format!("two,{BETWEEN}{a}lock{b} end"), "two, … pg_try_lock end"),
            ("not from there".to_owned(), "not from there"),
            (String::new(), ""),
        ] {
            assert_eq!(shown(&complete_words(&marked, &text)), expected, "{marked:?}");
        }
    }
}
