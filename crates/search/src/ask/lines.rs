//! Finds the lines of texts that have words of a question.

use std::ops::Range;

use answer::{Line, apart};
use rustc_hash::FxHashMap;
use words::{QuestionWord, Word};

/// The words of a question that are looked for in lines; bit n is that of word n.
#[derive(Debug, Default)]
pub(super) struct Wanted(FxHashMap<Word, u64>);

/// The lines of a text that have words of a question, in order, and for each line its words: bit n is that of word n.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WordLines {
    pub(super) lines: Vec<Line>,
    pub(super) words: Vec<u64>,
}

impl Wanted {
    /// Returns those words of a question whose bits are set.
    pub(super) fn of(question: &[QuestionWord], bits: u64) -> Self {
        let words = question.iter().enumerate().filter(|(word, _)| bits >> word & 1 == 1);
        Self(words.map(|(word, of)| (of.word, 1 << word)).collect())
    }

    /// Returns where a text has the words.
    pub(super) fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        words::tokens(text, &mut |range, word| {
            if self.0.contains_key(&word) {
                ranges.push(range);
            }
        });
        ranges
    }
}

impl WordLines {
    /// Adds the lines of a chunk, which begins with a line of this number and at this offset in its text. Chunks come in
    /// order.
    pub(super) fn add(&mut self, text: &str, (number, offset): (u64, u64), wanted: &Wanted) {
        let mut found = Vec::new();
        words::tokens(text, &mut |range, word| {
            if let Some(words) = wanted.0.get(&word) {
                found.push((range, *words));
            }
        });
        found.sort_by_key(|(range, _)| (range.start, range.end));
        let mut found = found.into_iter().peekable();
        let (mut number, mut start) = (number, 0);
        // Counts the lines without a word, too.
        while let Some((first, _)) = found.peek() {
            let feeds = memchr::memchr_iter(b'\n', &text.as_bytes()[start..first.start]);
            let (mut passed, mut last) = (0, None);
            for feed in feeds {
                (passed, last) = (passed + 1, Some(feed));
            }
            number += passed;
            start = last.map_or(start, |feed| start + feed + 1);
            let end = memchr::memchr(b'\n', &text.as_bytes()[start..])
                .map_or(text.len(), |at| start + at);
            let (mut ranges, mut words) = (Vec::new(), 0);
            while let Some((range, of)) = found.next_if(|(range, _)| range.start < end) {
                ranges.push(range.start - start..range.end.min(end) - start);
                words |= of;
            }
            if ranges.is_empty() {
                // A word cannot begin with a line feed.
                found.next();
                continue;
            }
            self.lines.push(Line {
                number,
                offset: offset + start as u64,
                text: text[start..end].to_owned(),
                ended: end < text.len(),
                ranges: apart(ranges),
                ..Line::default()
            });
            self.words.push(words);
            number += 1;
            start = (end + 1).min(text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_words_at_their_places() {
        let question = words::question("retry backoff");
        let wanted = Wanted::of(&question, 0b11);
        let mut lines = WordLines::default();
        lines.add("a\nretryBackoff(retry)\n\nb\n", (7, 100), &wanted);
        lines.add("b\nthe backoff", (11, 125), &wanted);
        let told: Vec<_> = lines
            .lines
            .iter()
            .zip(&lines.words)
            .map(|(line, words)| {
                let marked: Vec<&str> =
                    line.ranges.iter().map(|range| &line.text[range.clone()]).collect();
                (line.number, line.offset, marked.join("|"), line.ended, *words)
            })
            .collect();
        let expected = [
            (8, 102, "retry|Backoff|retry".to_owned(), true, 0b11),
            (12, 127, "backoff".to_owned(), false, 0b10),
        ];
        assert_eq!(told, expected);
    }
}
