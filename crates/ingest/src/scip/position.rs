//! Converts SCIP's lines and columns to bytes of a text.

use std::collections::HashMap;

/// The unit of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Utf8,
    Utf16,
    Utf32,
}

impl Unit {
    /// Returns the units to try for SCIP's `position_encoding`. If the index does not state its unit, the first unit
    /// that fits the text is used.
    pub(super) fn of(encoding: i32) -> &'static [Self] {
        match encoding {
            1 => &[Unit::Utf8],
            2 => &[Unit::Utf16],
            3 => &[Unit::Utf32],
            _ => &[Unit::Utf16, Unit::Utf8, Unit::Utf32],
        }
    }

    fn len(self, c: char) -> usize {
        match self {
            Unit::Utf8 => c.len_utf8(),
            Unit::Utf16 => c.len_utf16(),
            Unit::Utf32 => 1,
        }
    }
}

/// Finds places in a text. All lookups together take time linear in the text and their number.
pub(super) struct Lines<'t> {
    text: &'t str,
    unit: Unit,
    /// Where each line begins.
    starts: Vec<usize>,
    /// For lines looked up before: the byte offset of each column; none if columns are bytes.
    columns: HashMap<usize, Option<Vec<u32>>>,
}

/// Entry for a column within a character.
const WITHIN: u32 = u32::MAX;

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, unit: Unit) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self { text, unit, starts, columns: HashMap::new() }
    }

    /// Returns the byte of a line and column, both from 0; none if outside the text or within a character.
    pub(super) fn byte(&mut self, line: i32, column: i32) -> Option<usize> {
        let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
        let start = *self.starts.get(line)?;
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let text = &self.text[start..end];
        let unit = self.unit;
        let columns = self.columns.entry(line).or_insert_with(|| columns(text, unit));
        match columns {
            None => (column <= text.len()).then_some(start + column),
            Some(columns) => {
                let byte = *columns.get(column).filter(|byte| **byte != WITHIN)?;
                Some(start + byte as usize)
            }
        }
    }

    /// Returns a range of three or four numbers as bytes; none if it is not in the text.
    pub(super) fn range(&mut self, range: &[i32]) -> Option<(usize, usize)> {
        let (from, upto) = match *range {
            [line, from, upto] => (self.byte(line, from)?, self.byte(line, upto)?),
            [first, from, last, upto] => (self.byte(first, from)?, self.byte(last, upto)?),
            _ => return None,
        };
        (from <= upto).then_some((from, upto))
    }
}

/// Returns the byte offset of each column of a line, then of its end; none if columns are bytes.
fn columns(line: &str, unit: Unit) -> Option<Vec<u32>> {
    if line.is_ascii() {
        return None;
    }
    let mut columns = Vec::with_capacity(line.len() + 1);
    for (at, c) in line.char_indices() {
        columns.push(at as u32);
        columns.extend(std::iter::repeat_n(WITHIN, unit.len(c) - 1));
    }
    columns.push(line.len() as u32);
    Some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_in_the_unit_of_the_index() {
        // 1, 2, 3 and 4 bytes; the last has two units of UTF-16.
        let text = "one\naé€𝄞z\nlast";
        let bytes = |unit| {
            let mut lines = Lines::new(text, unit);
            (0..12).map(|column| lines.byte(1, column)).collect::<Vec<_>>()
        };
        let (a, e, euro, clef, z, end) = (Some(4), Some(5), Some(7), Some(10), Some(14), Some(15));
        let n = None;
        assert_eq!(bytes(Unit::Utf8), [a, e, n, euro, n, n, clef, n, n, n, z, end]);
        assert_eq!(bytes(Unit::Utf16), [a, e, euro, clef, n, z, end, n, n, n, n, n]);
        assert_eq!(bytes(Unit::Utf32), [a, e, euro, clef, z, end, n, n, n, n, n, n]);
    }

    #[test]
    fn what_is_not_in_the_text_is_nowhere() {
        let mut lines = Lines::new("ab\n\ncd\n", Unit::Utf16);
        assert_eq!(lines.byte(0, 2), Some(2));
        assert_eq!((lines.byte(0, 3), lines.byte(1, 0), lines.byte(1, 1)), (None, Some(3), None));
        assert_eq!((lines.byte(3, 0), lines.byte(4, 0)), (Some(7), None));
        assert_eq!(
            (lines.byte(-1, 0), lines.byte(0, -1), lines.byte(i32::MAX, 0)),
            (None, None, None)
        );
        assert_eq!(lines.range(&[0, 0, 2]), Some((0, 2)));
        assert_eq!(lines.range(&[0, 1, 2, 2]), Some((1, 6)));
        assert_eq!(
            (lines.range(&[0, 2, 1]), lines.range(&[0]), lines.range(&[])),
            (None, None, None)
        );
        assert_eq!(Lines::new("", Unit::Utf8).range(&[0, 0, 0]), Some((0, 0)));
    }
}
