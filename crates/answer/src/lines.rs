//! Merges the matches of several terms.

use std::ops::Range;

use crate::Line;

/// Merges the lines of several terms in one file: each line once, with sorted ranges that do not overlap.
pub fn merge(mut parts: Vec<Vec<Line>>) -> Vec<Line> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut lines: Vec<Line> = parts.into_iter().flatten().collect();
    lines.sort_by_key(|line| line.number);
    let mut merged: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        match merged.last_mut() {
            Some(last) if last.number == line.number => {
                last.ranges.extend(line.ranges);
                last.symbols.extend(line.symbols);
                last.continues |= line.continues;
                last.takes_feed |= line.takes_feed;
            }
            _ => merged.push(line),
        }
    }
    for line in &mut merged {
        line.ranges = apart(std::mem::take(&mut line.ranges));
        line.symbols.sort_by_key(|found| found.range.start);
        line.symbols.dedup();
    }
    merged
}

/// Adds to matching lines the symbols of the lines in `defining` with the same numbers. Both are in order.
pub fn with_symbols(mut lines: Vec<Line>, defining: Vec<Line>) -> Vec<Line> {
    let mut rest = lines.iter_mut().peekable();
    for other in defining {
        while rest.next_if(|line| line.number < other.number).is_some() {}
        if let Some(line) = rest.next_if(|line| line.number == other.number) {
            line.symbols.extend(other.symbols);
            line.symbols.sort_by_key(|found| found.range.start);
            line.symbols.dedup();
        }
    }
    lines
}

/// Sorts ranges and merges those that overlap.
pub fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    if ranges.len() < 2 {
        return ranges;
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start < last.end || range == *last => {
                last.end = last.end.max(range.end);
            }
            _ => apart.push(range),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_terms_become_one() {
        let line = |number: u64, ranges: &[(usize, usize)]| Line {
            number,
            offset: 0,
            text: String::new(),
            ended: true,
            ranges: ranges.iter().map(|(start, end)| *start..*end).collect(),
            ..Line::default()
        };
        let merged = merge(vec![
            vec![line(1, &[(0, 3), (5, 6)]), line(4, &[(1, 1)])],
            vec![line(1, &[(2, 4), (8, 9)]), line(2, &[(0, 1)]), line(4, &[(1, 1)])],
        ]);
        let expected =
            vec![line(1, &[(0, 4), (5, 6), (8, 9)]), line(2, &[(0, 1)]), line(4, &[(1, 1)])];
        assert_eq!(merged, expected);
    }
}
