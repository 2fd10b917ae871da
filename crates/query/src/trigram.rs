//! The trigrams of a literal, as `pg_trgm` finds them, and which few of them to look up.
//!
//! `pg_trgm`'s rules (<https://www.postgresql.org/docs/current/pgtrgm.html>): letters are folded to
//! small ones; a word is a run of letters and digits; three characters of a word in a row make a
//! trigram. A word that is seen to begin is padded with two blanks in front, one that is seen to end
//! with one behind. In `LIKE '%literal%'` a word at an end of the literal may go on beyond it, so it
//! is padded only where the literal itself holds the border.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// Trigrams looked up for one literal. Each costs a lookup, and after the rarest few the others
/// hardly rule anything out: over 13 literals of all kinds, four were on average as good as all of
/// them at half the time, and never slower.
const LOOKED_UP: usize = 4;

/// Chunks in 1000 that hold a trigram which is not in the list of common ones.
const RARE: u32 = 8;

/// How many of 1000 chunks of code hold a trigram, for the common ones.
static COMMON: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| {
    let lines = include_str!("common_trigrams.tsv").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(t, n)| Some((t, n.parse().ok()?)))
        .collect()
});

/// A trigram that every text with the literal in it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigram {
    /// Its three characters, in small letters, blanks for the padding.
    pub text: String,
    /// The bytes of the literal that say so: its letters, and the borders of a padded word.
    pub span: Range<usize>,
}

impl Trigram {
    /// How many of 1000 chunks of ordinary code are likely to hold it.
    pub fn frequency(&self) -> u32 {
        COMMON.get(self.text.as_str()).copied().unwrap_or(RARE)
    }
}

/// The trigrams that `pg_trgm` finds in `LIKE '%literal%'`, in order; the same one may come twice.
///
/// Which characters outside ASCII are letters depends on the server's locale. A wrong guess costs time, never a match: a
/// lookup asks for parts of the literal, and the server finds their trigrams itself.
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
        // Each character of the padded word, with the character of the literal it stands for.
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

/// Whether `pg_trgm` finds at least one trigram in `LIKE '%literal%'`. Without one the server would
/// look at every stretch.
pub fn has_trigram(literal: &str) -> bool {
    !trigrams(literal).is_empty()
}

/// The parts of a literal whose trigrams are worth looking up, in order and apart from each other:
/// together they hold the rarest few. `fmt.println` gives `fmt.` and `ntln`.
pub fn rarest(literal: &str) -> Vec<&str> {
    // Where letters are a matter of the server's locale, so are trigrams: leave it all of them.
    if literal.chars().any(|c| !c.is_ascii() && c.is_alphanumeric()) {
        return vec![literal];
    }
    // Neighbours say much the same, so of equally rare ones take some that are far apart: steps of the
    // golden ratio go through the literal evenly.
    let mut all: Vec<(usize, Trigram)> = trigrams(literal).into_iter().enumerate().collect();
    all.sort_by_key(|(place, trigram)| (trigram.frequency(), place * 618 % 1000));
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut chosen: Vec<&str> = Vec::new();
    for (_, trigram) in &all {
        if chosen.len() < LOOKED_UP && !chosen.contains(&trigram.text.as_str()) {
            chosen.push(&trigram.text);
            spans.push(trigram.span.clone());
        }
    }
    spans.sort_by_key(|span| span.start);
    // Parts that overlap become one: `LIKE '%abc%cde%'` does not hold for `abcde`.
    let mut parts: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match parts.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => parts.push(span),
        }
    }
    parts.into_iter().map(|part| &literal[part]).collect()
}

/// How many of 1000 chunks of ordinary code are likely to hold a literal: as many as hold the rarest
/// of its trigrams, at most.
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
        let check = |literal: &str, expected: &[&str]| assert_eq!(rarest(literal), expected);
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
