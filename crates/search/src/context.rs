//! Adds the lines around a match.

use std::collections::HashMap;

use memchr::memchr_iter;
use store::BlobId;

use answer::{FileMatch, Line};

/// Adds the lines before and after the matching lines of each file. `texts` are whole blobs.
pub(crate) fn add(
    files: &mut [FileMatch],
    texts: &HashMap<BlobId, String>,
    (before, after): (usize, usize),
) {
    for file in files {
        let Some(text) = texts.get(&file.blob_key.1) else { continue };
        file.lines = around(std::mem::take(&mut file.lines), text, before, after);
    }
}

/// Returns whether a text contains a line at its offset.
pub(crate) fn stands_in(line: &Line, text: &str) -> bool {
    let from = line.offset as usize;
    text.as_bytes().get(from..from + line.text.len()) == Some(line.text.as_bytes())
}

/// Returns the numbers of the last lines of the symbols around the lines of a file, by the bytes at which these symbols
/// end; nothing if the file has another text.
pub(crate) fn last_lines(file: &FileMatch, text: &str) -> HashMap<u64, u64> {
    let mut last = HashMap::new();
    if !file.lines.iter().all(|line| stands_in(line, text)) {
        return last;
    }
    for symbol in file.lines.iter().filter_map(|line| line.enclosing.as_deref()) {
        let definition = text.as_bytes().get(symbol.start as usize..symbol.end as usize);
        if let Some(definition) = definition {
            // What ends with a line feed ends in the line before.
            let definition = definition.strip_suffix(b"\n").unwrap_or(definition);
            let feeds = memchr_iter(b'\n', definition).count() as u64;
            last.insert(symbol.end, symbol.line + feeds);
        }
    }
    last
}

pub(crate) fn around(matches: Vec<Line>, text: &str, before: usize, after: usize) -> Vec<Line> {
    let mut starts = vec![0];
    starts.extend(memchr_iter(b'\n', text.as_bytes()).map(|i| i + 1));
    if starts.last() == Some(&text.len()) {
        starts.pop();
    }
    let mut lines: Vec<Line> = Vec::with_capacity(matches.len());
    let mut matches = matches.into_iter().peekable();
    while let Some(found) = matches.next() {
        let at = found.number as usize - 1;
        let shown = lines.last().map_or(0, |line| line.number as usize);
        for index in at.saturating_sub(before).max(shown)..at {
            lines.push(line(text, &starts, index));
        }
        lines.push(found);
        let next = matches.peek().map_or(starts.len(), |line| line.number as usize - 1);
        for index in at + 1..after.saturating_add(at + 1).min(next) {
            lines.push(line(text, &starts, index));
        }
    }
    lines
}

fn line(text: &str, starts: &[usize], index: usize) -> Line {
    let start = starts[index];
    let rest = &text[start..starts.get(index + 1).copied().unwrap_or(text.len())];
    let line = rest.strip_suffix('\n');
    Line {
        number: index as u64 + 1,
        offset: start as u64,
        text: line.unwrap_or(rest).to_owned(),
        ended: line.is_some(),
        ..Line::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the numbers and texts of the lines shown; matching lines are marked with a star.
    fn check(text: &str, matches: &[u64], before: usize, after: usize, expected: &str) {
        let matches = matches
            .iter()
            .map(|n| {
                let ranges = std::iter::once(0..0).collect();
                Line { number: *n, ended: true, ranges, ..Line::default() }
            })
            .collect();
        let shown: Vec<String> = around(matches, text, before, after)
            .iter()
            .map(|l| {
                format!("{}{}{}", l.number, if l.ranges.is_empty() { ":" } else { "*" }, l.text)
            })
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn lines_before_and_after_each_once() {
        check("a\nb\nc\nd\ne\n", &[3], 1, 1, "2:b 3* 4:d");
        check("a\nb\nc\nd\ne\n", &[1, 5], 9, 9, "1* 2:b 3:c 4:d 5*");
        check("a\nb\nc\nd\ne\n", &[1, 2], 1, 0, "1* 2*");
        check("a\nb\nc\nd\ne", &[4], 0, 3, "4* 5:e");
        check("a\nb\nc\nd\ne\nf\n", &[1, 5], 1, 1, "1* 2:b 4:d 5* 6:f");
    }
}
