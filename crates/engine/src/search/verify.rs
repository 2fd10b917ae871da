//! Verifying: which lines of some texts really match.

use std::ops::Range;
use std::sync::Arc;

use query::{Program, Scratch};
use store::{BlobId, Chunk};

use super::Line;
use super::texts::{Packed, Space, TEXT};

/// A run of whole lines of a blob.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) blob: BlobId,
    /// The number of its first line in the blob, from 1.
    pub(crate) line: u64,
    /// Where it begins in the blob, in bytes.
    pub(crate) start: u64,
    pub(crate) text: Text,
    /// The terms to look for in it.
    pub(crate) terms: Terms,
}

/// Terms by their numbers. The units of a search have few different ones.
pub(crate) type Terms = Arc<[usize]>;

/// A text as it came.
#[derive(Debug)]
pub(crate) enum Text {
    /// From Postgres.
    Plain(String),
    /// From memory.
    Packed(Packed),
}

impl Unit {
    /// A chunk from Postgres.
    pub(crate) fn plain(chunk: Chunk, terms: Terms) -> Self {
        let Chunk { blob, line, start, contents, .. } = chunk;
        Self { blob, line: line as u64, start: start as u64, text: Text::Plain(contents), terms }
    }

    /// A chunk from memory.
    pub(crate) fn packed(chunk: Packed, terms: Terms) -> Self {
        let (blob, line, start) = (chunk.blob(), chunk.line() as u64, chunk.start() as u64);
        Self { blob, line, start, text: Text::Packed(chunk), terms }
    }
}

impl Text {
    /// Bytes of it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Text::Plain(text) => text.len(),
            Text::Packed(packed) => packed.bytes(),
        }
    }

    /// The text itself, perhaps in `space`.
    pub(crate) fn read<'t>(&'t self, space: &'t mut Space) -> &'t [u8] {
        match self {
            Text::Plain(text) => text.as_bytes(),
            Text::Packed(packed) => packed.unpack(space),
        }
    }
}

/// Space to match in, for each term of a search.
pub(crate) type Scratches = Vec<Option<Scratch>>;

/// Puts units of the same blob, which are in order and complete, together to one each.
pub(crate) fn join(units: Vec<Unit>) -> Vec<Unit> {
    let mut joined: Vec<Unit> = Vec::new();
    Space::with(|space| {
        for unit in units {
            let text = str::from_utf8(unit.text.read(space)).expect(TEXT);
            match joined.last_mut() {
                Some(Unit { blob, text: Text::Plain(whole), .. }) if *blob == unit.blob => {
                    whole.push_str(text);
                }
                _ => {
                    let text = Text::Plain(text.to_owned());
                    joined.push(Unit { text, ..unit });
                }
            }
        }
    });
    joined
}

/// What was found of one term in one blob.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) blob: BlobId,
    pub(crate) term: usize,
    /// The lines that match, in order; the first one only, if no more was asked for.
    pub(crate) lines: Vec<Line>,
}

/// Looks for terms in texts, as long as it is to go on. The units are in order. With `first_only`, one
/// line of each term and blob will do.
pub(crate) fn verify(
    program: &Program,
    units: &[Unit],
    first_only: bool,
    scratches: &mut Scratches,
    go_on: &dyn Fn() -> bool,
) -> Vec<Hit> {
    Space::with(|space| verify_in(space, program, units, first_only, scratches, go_on))
}

fn verify_in(
    space: &mut Space,
    program: &Program,
    units: &[Unit],
    first_only: bool,
    scratches: &mut Scratches,
    go_on: &dyn Fn() -> bool,
) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    // The hits of the current blob begin here.
    let mut current = 0;
    scratches.resize_with(program.terms.len(), || None);
    for unit in units {
        if !go_on() {
            break;
        }
        if hits.get(current).is_some_and(|hit| hit.blob != unit.blob) {
            current = hits.len();
        }
        let text = unit.text.read(space);
        for term in &*unit.terms {
            let known = hits[current..].iter().position(|hit| hit.term == *term);
            if first_only && known.is_some() {
                continue;
            }
            let mut lines = Vec::new();
            let matcher = &program.terms[*term].matcher;
            let scratch = scratches[*term].get_or_insert_with(|| matcher.scratch());
            matcher.lines(scratch, text, go_on, &mut |found| {
                lines.push(Line {
                    number: unit.line + found.line as u64,
                    offset: unit.start + found.span.start as u64,
                    ended: found.span.end < text.len(),
                    text: str::from_utf8(&text[found.span]).expect(TEXT).to_owned(),
                    ranges: found.ranges,
                });
                !first_only && go_on()
            });
            match known {
                _ if lines.is_empty() => {}
                Some(known) => hits[current + known].lines.append(&mut lines),
                None => hits.push(Hit { blob: unit.blob, term: *term, lines }),
            }
        }
    }
    hits
}

/// The lines of several terms as those of one file: each line once, its ranges in order and apart.
pub(crate) fn merge(mut parts: Vec<Vec<Line>>) -> Vec<Line> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut lines: Vec<Line> = parts.into_iter().flatten().collect();
    lines.sort_by_key(|line| line.number);
    let mut merged: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        match merged.last_mut() {
            Some(last) if last.number == line.number => last.ranges.extend(line.ranges),
            _ => merged.push(line),
        }
    }
    for line in &mut merged {
        line.ranges = apart(std::mem::take(&mut line.ranges));
    }
    merged
}

/// Ranges in order; those that overlap are one.
pub(crate) fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
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
