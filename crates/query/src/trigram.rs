//! The trigrams of a literal, as `pg_trgm` extracts them, and the choice of the few to look up.
//!
//! `pg_trgm`'s rules (<https://www.postgresql.org/docs/current/pgtrgm.html>): letters are folded to lower case; a word
//! is a run of letters and digits; three consecutive characters of a word make a trigram. A word is padded with two
//! spaces before and one after it. In `LIKE '%literal%'` a word at an end of the literal may continue beyond it, so it
//! is padded only where the literal itself contains the border.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// Trigrams looked up for one literal. Each costs a lookup, and beyond the rarest few the others rule out hardly
/// anything. Over 13 literals of all kinds, four were on average as selective as all, took half the time, and were
/// never slower.
const MAX_TRIGRAMS: usize = 4;

/// Estimated frequency, in chunks of 1000, of a trigram that is not in the list of common ones.
const RARE: u32 = 8;

/// The frequency of the common trigrams: how many of 1000 chunks of code contain each.
static COMMON: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| {
    let lines = include_str!("common_trigrams.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(t, n)| Some((t, n.parse().ok()?)))
        .collect()
});

/// A trigram that every text with the literal contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigram {
    /// Its three lower-case characters, with spaces for the padding.
    pub text: String,
    /// The bytes of the literal that the trigram covers: its letters, and the border characters of a padded word.
    pub span: Range<usize>,
}

impl Trigram {
    /// Returns an estimate of how many of 1000 chunks of ordinary code contain it.
    pub fn frequency(&self) -> u32 {
        COMMON.get(self.text.as_str()).copied().unwrap_or(RARE)
    }
}

/// Returns the trigrams that `pg_trgm` extracts from `LIKE '%literal%'`, in order, with repetitions.
///
/// Which non-ASCII characters are letters depends on the server's locale. A wrong guess costs time, never a match:
/// lookups pass parts of the literal, from which the server extracts the trigrams itself.
pub fn trigrams(literal: &str) -> Vec<Trigram> {
    let mut found = Vec::new();
    let chars: Vec<(usize, char)> = literal.char_indices().collect();
    let mut at = 0;
    while at < chars.len() {
        if !chars[at].1.is_alphanumeric() {
            at += 1;
            continue;
        }
        let start = at;
        while at < chars.len() && chars[at].1.is_alphanumeric() {
            at += 1;
        }
        // The characters of the padded word, each with the index of its character in the literal.
        let mut word: Vec<(char, usize)> = Vec::with_capacity(at - start + 3);
        if start > 0 {
            word.extend([(' ', start - 1); 2]);
        }
        word.extend((start..at).map(|i| (chars[i].1.to_ascii_lowercase(), i)));
        if at < chars.len() {
            word.push((' ', at));
        }
        let end = |i: usize| chars.get(i + 1).map_or(literal.len(), |(byte, _)| *byte);
        found.extend(word.windows(3).map(|window| Trigram {
            text: window.iter().map(|(c, _)| c).collect(),
            span: chars[window[0].1].0..end(window[2].1),
        }));
    }
    found
}

/// Returns whether `pg_trgm` extracts at least one trigram from `LIKE '%literal%'`. Without one the server would read
/// every document.
pub fn has_trigram(literal: &str) -> bool {
    !trigrams(literal).is_empty()
}

/// Returns the parts of a literal that are worth looking up, in order and without overlaps. Together they contain its
/// rarest trigrams. `fmt.println` gives `fmt.` and `ntln`.
pub fn rarest_parts(literal: &str) -> Vec<&str> {
    // The server's locale decides the trigrams of non-ASCII letters, so it gets the whole literal.
    if literal.chars().any(|c| !c.is_ascii() && c.is_alphanumeric()) {
        return vec![literal];
    }
    // Neighbouring trigrams carry similar information. Among equally rare ones, steps of the golden ratio pick distant
    // ones.
    let mut all: Vec<(usize, Trigram)> = trigrams(literal).into_iter().enumerate().collect();
    all.sort_by_key(|(place, trigram)| (trigram.frequency(), place * 618 % 1000));
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut chosen: Vec<&str> = Vec::new();
    for (_, trigram) in &all {
        if chosen.len() < MAX_TRIGRAMS && !chosen.contains(&trigram.text.as_str()) {
            chosen.push(&trigram.text);
            spans.push(trigram.span.clone());
        }
    }
    spans.sort_by_key(|span| span.start);
    // Overlapping parts are merged: `LIKE '%abc%cde%'` does not match `abcde`.
    let mut parts: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match parts.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => parts.push(span),
        }
    }
    parts.into_iter().map(|part| &literal[part]).collect()
}

/// Returns an upper estimate of how many of 1000 chunks of ordinary code contain a literal: the frequency of its rarest
/// trigram.
pub(crate) fn frequency(literal: &str) -> u32 {
    trigrams(literal).iter().map(Trigram::frequency).min().unwrap_or(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(literal: &str, expected: &[&str]) {
        let found: Vec<String> = trigrams(literal)
            .into_iter()
            .map(|t| format!("{}={}", t.text, &literal[t.span]))
            .collect();
        assert_eq!(found, expected, "{literal:?}");
    }

    #[test]
    fn words_are_padded_where_their_border_is_seen() {
        check("abcd", &["abc=abc", "bcd=bcd"]);
        check("ab", &[]);
        check(".ab", &["  a=.a", " ab=.ab"]);
        check("ab.", &["ab =ab."]);
        check("a.b", &["  b=.b"]);
        check("(if)", &["  i=(i", " if=(if", "if =if)"]);
        check(" a ", &["  a= a", " a = a "]);
        check("a_b", &["  b=_b"]);
        check("Fmt.", &["fmt=Fmt", "mt =mt."]);
        check("=>", &[]);
        check("", &[]);
        check("日本語", &["日本語=日本語"]);
    }

    #[test]
    fn the_rarest_few_are_looked_up() {
        let check = |literal: &str, expected: &[&str]| assert_eq!(rarest_parts(literal), expected);
        check("var", &["var"]);
        check("fmt.println", &["fmt.", "ntln"]);
        check("getelementbyid", &["ntbyid"]);
        check("ac8ac5d63b66b83b90ce41a2d4061635", &["ac8", "5d6", "83b", "061"]);
        check("naïve", &["naïve"]);
        check("aaaaaaaaaaaa", &["aaa"]);
    }

    #[test]
    fn what_is_not_common_is_rare() {
        assert!(frequency("static int") > frequency("deadlock"));
        assert_eq!(frequency("zqx"), RARE);
        assert_eq!(frequency("=>"), 1000);
    }
}
