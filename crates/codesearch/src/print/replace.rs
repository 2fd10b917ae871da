//! `--replace`: prints another text in place of each match.

use std::ops::Range;

use anyhow::{Context, Result};
use query::Pattern;
use regex::{Regex, RegexBuilder};

/// Replaces the matches of one pattern.
pub(crate) struct Replacer {
    regex: Regex,
    with: String,
}

impl Replacer {
    /// Makes a replacer. `with` may name groups of the pattern: `$1`, `${name}`.
    ///
    /// # Errors
    /// The pattern with its groups takes too much memory when compiled.
    pub(crate) fn new(pattern: &Pattern, with: &str) -> Result<Self> {
        let regex = RegexBuilder::new(pattern.source())
            .case_insensitive(pattern.is_caseless())
            .multi_line(true)
            .build()
            .context("--replace")?;
        Ok(Self { regex, with: with.to_owned() })
    }

    /// Returns a line with each match replaced, and the ranges of the replacements.
    pub(super) fn replaced(
        &self,
        line: &str,
        ranges: &[Range<usize>],
    ) -> (String, Vec<Range<usize>>) {
        let mut text = String::with_capacity(line.len());
        let mut places = Vec::with_capacity(ranges.len());
        let mut at = 0;
        for range in ranges {
            text.push_str(&line[at..range.start]);
            let from = text.len();
            match self.regex.captures_at(line, range.start) {
                Some(groups) => groups.expand(&self.with, &mut text),
                None => text.push_str(&line[range.clone()]),
            }
            places.push(from..text.len());
            at = range.end;
        }
        text.push_str(&line[at..]);
        (text, places)
    }
}

#[cfg(test)]
mod tests {
    use query::Case;

    use super::*;

    #[test]
    fn groups_and_places() {
        let pattern = Pattern::parse(r"(\w)(?P<rest>\w*)!", Case::Smart, false).unwrap();
        let replacer = Replacer::new(&pattern, "<${rest}$1$$>").unwrap();
        let (text, places) = replacer.replaced("say Abc! d!", &[4..8, 9..11]);
        assert_eq!(text, "say <bcA$> <d$>");
        assert_eq!(places, [4..10, 11..15]);
    }
}
