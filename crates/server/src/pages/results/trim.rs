//! Trims a found file to the part that a page of results can show.

use answer::{FileMatch, Line};

use crate::pages::view::{CONTEXT, MAX_LINES};
use rank::{BestLines, DroppedMatches};

/// Most bytes of a line that are kept, around its first match.
const MAX_LINE: usize = 4096;

/// Changed lines shown of a file.
const MAX_CHANGES: usize = 60;

/// Keeps the best lines of a file and drops the others. Returns the matches in dropped lines that the page shows as
/// context of kept lines, by line number and range.
pub(super) fn trim(file: &mut FileMatch, lines: &BestLines<'_>) -> DroppedMatches {
    let mut hidden = Vec::new();
    if file.lines.iter().any(|line| line.change.is_some()) {
        // Changed lines belong together, and stand in no file to be read further.
        file.lines.truncate(MAX_CHANGES);
    } else if file.lines.len() > MAX_LINES {
        let best = lines.of(file, MAX_LINES);
        let (mut kept, mut dropped) = (Vec::with_capacity(best.len()), Vec::new());
        for (at, line) in std::mem::take(&mut file.lines).into_iter().enumerate() {
            if best.contains(&at) { kept.push(line) } else { dropped.push(line) }
        }
        let near = |line: &Line| {
            kept.iter().any(|kept| kept.number.abs_diff(line.number) <= CONTEXT as u64)
        };
        dropped.retain(near);
        // A line may consist of a megabyte of matches.
        let ranges = |line: Line| (line.number, line.ranges.into_iter().take(64).collect());
        hidden.extend(dropped.into_iter().map(ranges));
        file.lines = kept;
    }
    file.lines.iter_mut().for_each(shorten);
    hidden
}

/// Cuts a long line around its first match.
fn shorten(line: &mut Line) {
    if line.text.len() <= MAX_LINE {
        return;
    }
    let first = line.ranges.first().map_or(0, |range| range.start);
    let from = line.text.floor_char_boundary(first.saturating_sub(MAX_LINE / 4));
    let upto = line.text.floor_char_boundary(from + MAX_LINE);
    line.text = line.text[from..upto].to_owned();
    line.offset += from as u64;
    line.ranges.retain_mut(|range| {
        *range = range.start.saturating_sub(from)..range.end.min(upto).saturating_sub(from);
        range.start <= range.end && range.end <= upto - from
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_kept_around_its_first_match() {
        let text = format!("{}needle{}needle", "é".repeat(5000), "y".repeat(5000));
        let second = text.len() - 6;
        let ranges = vec![10_000..10_006, second..text.len()];
        let mut line = Line { number: 1, offset: 7, text, ended: true, ranges, ..Line::default() };
        shorten(&mut line);
        assert!(line.text.len() <= MAX_LINE);
        assert_eq!(line.ranges.len(), 1);
        assert_eq!(&line.text[line.ranges[0].clone()], "needle");
        assert_eq!(line.offset + line.ranges[0].start as u64, 10_007);
    }
}
