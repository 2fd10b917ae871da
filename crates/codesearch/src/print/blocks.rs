//! Blocks: lines that are counted and printed as one, as in ripgrep. A pattern that spans lines makes one block of
//! adjacent matching lines; otherwise each line is a block.

use std::ops::Range;

use answer::Line;

/// Splits the lines of a file into blocks. Lines of context stand alone.
pub(super) fn blocks(lines: &[Line], spans_lines: bool) -> impl Iterator<Item = &[Line]> {
    lines.chunk_by(move |line, next| {
        spans_lines
            && !line.ranges.is_empty()
            && !next.ranges.is_empty()
            && line.number + 1 == next.number
    })
}

/// Returns the matches of a block, as byte ranges of [`text`].
pub(super) fn matches(block: &[Line]) -> Vec<Range<usize>> {
    let mut matches: Vec<Range<usize>> = Vec::new();
    for line in block {
        let start = (line.offset - block[0].offset) as usize;
        for (at, range) in line.ranges.iter().enumerate() {
            let feed = usize::from(line.takes_feed && line.ended && at + 1 == line.ranges.len());
            let end = start + range.end + feed;
            match matches.last_mut().filter(|_| line.continues && at == 0) {
                Some(begun) => begun.end = end,
                None => matches.push(start + range.start..end),
            }
        }
    }
    matches
}

/// Returns the text of a block, with the line feeds.
pub(super) fn text(block: &[Line]) -> String {
    let mut text = String::new();
    for line in block {
        text.push_str(&line.text);
        text.push_str(if line.ended { "\n" } else { "" });
    }
    text
}

/// Returns the number of matches in some lines. A match that spans lines counts once.
pub(super) fn count_matches(lines: &[Line]) -> usize {
    lines.iter().map(|line| line.ranges.len() - usize::from(line.continues)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_block_and_their_matches_are_whole() {
        let line = |number, text: &str, ranges: &[Range<usize>], continues, takes_feed| Line {
            number,
            offset: (number - 1) * 3,
            text: text.to_owned(),
            ended: true,
            ranges: ranges.to_vec(),
            continues,
            takes_feed,
            ..Line::default()
        };
        let lines = [
            line(1, "ab", std::slice::from_ref(&(1..2)), false, true),
            line(2, "ba", &[0..1, 1..2], true, true),
            line(3, "xy", &[], false, false),
            line(4, "aa", &[0..1, 1..2], false, false),
        ];
        let all: Vec<_> = blocks(&lines, true).map(|block| (text(block), matches(block))).collect();
        assert_eq!(
            all,
            [
                ("ab\nba\n".to_owned(), vec![1..4, 4..6]),
                ("xy\n".to_owned(), vec![]),
                ("aa\n".to_owned(), vec![0..1, 1..2]),
            ]
        );
        assert_eq!(blocks(&lines, false).count(), 4);
        assert_eq!(count_matches(&lines), 4);
    }
}
