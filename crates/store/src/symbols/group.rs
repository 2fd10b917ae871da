//! Groups of neighbouring blobs, one to a row of `symbols_NNN`. A blob defines some hundred bytes of names, too few to
//! compress, or to justify a row's header.
//!
//! The numbers of a group are stored byte by byte: for each of the [`PLANES`] a byte of every symbol. They are small
//! differences, so most planes are zeros, which Postgres compresses away; and SQL reads them with `get_byte`.
//!
//! ```text
//! kind
//! index - parent, 0 for none                         two planes, low byte first
//! line - line before (1 at the first of a blob)      four planes
//! start - end before (0 at the first of a blob)      four planes; n is 2n, -n is 2n - 1
//! end - (start + length of the name)                 four planes
//! ```

use std::ops::Range;

use memchr::memchr_iter;
use ngram::BloomFilter;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::row::SymbolRow;
use crate::BlobId;

/// Bytes of names at which a group ends. A filter of 4 KB of names has two fifths of its bits set.
const GROUP_BYTES: usize = 4096;

/// Bytes of numbers for each symbol.
const PLANES: usize = 15;

/// The symbols of neighbouring blobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolGroup {
    /// The blobs, ascending.
    pub blobs: Vec<BlobId>,
    /// Number of symbols of each blob.
    pub counts: Vec<i16>,
    /// The names of all symbols, with a line feed between two.
    pub names: String,
    /// All other data of the symbols: see the module.
    pub numbers: Vec<u8>,
}

impl FromRow<'_, PgRow> for SymbolGroup {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let blobs: Vec<i32> = row.try_get("blobs")?;
        Ok(Self {
            blobs: blobs.into_iter().map(BlobId).collect(),
            counts: row.try_get("counts")?,
            names: row.try_get("names")?,
            numbers: row.try_get("numbers")?,
        })
    }
}

impl SymbolGroup {
    /// Makes groups of the rows of some blobs, which are ascending. Only the last one may have room.
    pub fn all(rows: &[SymbolRow]) -> Vec<Self> {
        cut(rows).map(Self::of).collect()
    }

    fn of(rows: &[SymbolRow]) -> Self {
        let mut group = Self::default();
        let mut planes = vec![Vec::new(); PLANES];
        for row in rows {
            group.blobs.push(row.blob);
            group.counts.push(row.starts.len() as i16);
            if row.starts.is_empty() {
                continue;
            }
            if !group.names.is_empty() {
                group.names.push('\n');
            }
            group.names.push_str(&row.names);
            let (mut line, mut end) = (1_i32, 0_i32);
            for (at, name) in row.names().enumerate() {
                let parent = row.parents[at];
                let above = if parent < 0 { 0 } else { (at as i16).wrapping_sub(parent) };
                let gap = row.starts[at].wrapping_sub(end);
                let after = row.ends[at].wrapping_sub(row.starts[at] + name.len() as i32);
                let numbers = [
                    &[row.kinds[at]][..],
                    &above.to_le_bytes(),
                    &row.lines[at].wrapping_sub(line).to_le_bytes(),
                    &(gap << 1 ^ gap >> 31).to_le_bytes(),
                    &after.to_le_bytes(),
                ];
                for (plane, byte) in planes.iter_mut().zip(numbers.concat()) {
                    plane.push(byte);
                }
                (line, end) = (row.lines[at], row.ends[at]);
            }
        }
        group.numbers = planes.concat();
        group
    }

    /// Returns the Bloom filter of its names, as it is stored.
    pub fn filter(&self) -> Vec<u8> {
        BloomFilter::of_chunk(&self.names).to_bytes()
    }

    /// Returns the number of its symbols.
    pub fn len(&self) -> usize {
        self.numbers.len() / PLANES
    }

    /// Returns whether it has no symbols. It may have blobs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows of its blobs, or of those that are `wanted` (ascending); none of a damaged group.
    pub fn rows(&self, wanted: Option<&[BlobId]>) -> Vec<SymbolRow> {
        let counts = || self.counts.iter().map(|count| usize::from(count.unsigned_abs()));
        let names = match self.len() {
            // An empty text would have one empty name.
            0 => 0,
            _ => memchr_iter(b'\n', self.names.as_bytes()).count() + 1,
        };
        if counts().sum::<usize>() != self.len()
            || names != self.len()
            || self.blobs.len() != self.counts.len()
        {
            return Vec::new();
        }
        let mut rows = Vec::new();
        let (mut first, mut begin) = (0, 0);
        let mut ends = memchr_iter(b'\n', self.names.as_bytes()).chain([self.names.len()]);
        for (blob, count) in self.blobs.iter().zip(counts()) {
            let names = match count.checked_sub(1).and_then(|last| ends.nth(last)) {
                Some(end) => {
                    let names = &self.names[begin..end];
                    begin = end + 1;
                    names
                }
                None => "",
            };
            if wanted.is_none_or(|wanted| wanted.binary_search(blob).is_ok()) {
                rows.push(self.row(*blob, names, first..first + count));
            }
            first += count;
        }
        rows
    }

    /// Returns the row of a blob, given its names and the indexes of its symbols.
    fn row(&self, blob: BlobId, names: &str, symbols: Range<usize>) -> SymbolRow {
        let mut row = SymbolRow { blob, names: names.to_owned(), ..SymbolRow::default() };
        let plane = |at: usize| {
            let begin = at * self.len();
            &self.numbers[begin + symbols.start..begin + symbols.end]
        };
        let number =
            |planes: [&[u8]; 4], at: usize| i32::from_le_bytes(planes.map(|plane| plane[at]));
        let (low, high) = (plane(1), plane(2));
        let [lines, gaps, afters] =
            [3, 7, 11].map(|first| [0, 1, 2, 3].map(|byte| plane(first + byte)));
        row.kinds.extend_from_slice(plane(0));
        let (mut line, mut end) = (1_i32, 0_i32);
        for (at, name) in names.split('\n').take(symbols.len()).enumerate() {
            let above = i16::from_le_bytes([low[at], high[at]]);
            let gap = number(gaps, at);
            let start = end.wrapping_add((gap.cast_unsigned() >> 1).cast_signed() ^ -(gap & 1));
            line = line.wrapping_add(number(lines, at));
            end = start.wrapping_add(name.len() as i32).wrapping_add(number(afters, at));
            row.starts.push(start);
            row.ends.push(end);
            row.lines.push(line);
            row.parents.push(if above == 0 { -1 } else { (at as i16).wrapping_sub(above) });
        }
        row
    }
}

/// Splits rows into groups.
fn cut(rows: &[SymbolRow]) -> impl Iterator<Item = &[SymbolRow]> {
    let (mut names, mut blobs) = (0, 0);
    rows.chunk_by(move |row, _| {
        names += row.names.len() + usize::from(names > 0 && !row.names.is_empty());
        blobs += 1;
        let goes_on = has_room(names, blobs);
        if !goes_on {
            (names, blobs) = (0, 0);
        }
        goes_on
    })
}

/// Returns how many of some rows, which are ascending, make full groups.
pub(crate) fn full(rows: &[SymbolRow]) -> usize {
    // Not last(), which would iterate from the end.
    let none: &[SymbolRow] = &[];
    let last = cut(rows).fold(none, |_, group| group);
    let group = SymbolGroup::of(last);
    let rest = if has_room(group.names.len(), group.blobs.len()) { last.len() } else { 0 };
    rows.len() - rest
}

/// Returns whether a group has room for another blob, given the bytes of its names and the number of its blobs.
pub(super) fn has_room(names: usize, blobs: usize) -> bool {
    names + blobs < GROUP_BYTES
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn row(blob: i32, names: &[&str]) -> SymbolRow {
        let count = names.len() as i32;
        SymbolRow {
            blob: BlobId(blob),
            names: names.join("\n"),
            kinds: (0..count as u8).collect(),
            starts: (0..count).map(|i| i * 1000 + blob).collect(),
            ends: (0..count).map(|i| (count - i) * 100_000).collect(),
            lines: (1..=count).map(|i| i * i).collect(),
            // Also one that follows.
            parents: (0..count as i16).map(|i| if i == 1 { 2 } else { i - 1 }).collect(),
        }
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let mut rows = vec![row(1, &["Größe", "open", "close"]), row(4, &[])];
        rows.extend((0..500).map(|i| {
            let (one, other) = (format!("name_{i}"), format!("Other{}", i * 7919));
            row(10 + 3 * i, &[&one, &other, "open"])
        }));
        rows.push(row(3000, &[]));
        let groups = SymbolGroup::all(&rows);
        assert!(groups.len() > 2);
        let room = |group: &SymbolGroup| has_room(group.names.len(), group.blobs.len());
        assert!(!groups[..groups.len() - 1].iter().any(room) && groups.last().is_some_and(room));
        assert_eq!(full(&rows), rows.len() - groups.last().unwrap().blobs.len());
        assert_eq!(full(&rows[..full(&rows)]), full(&rows));
        let unpacked: Vec<SymbolRow> = groups.iter().flat_map(|group| group.rows(None)).collect();
        assert_eq!(unpacked, rows);
        assert_eq!(
            groups[0].rows(Some(&[BlobId(3), BlobId(4), BlobId(13)])),
            [rows[1].clone(), rows[3].clone()]
        );
        assert!(SymbolGroup::all(&[]).is_empty());
        let empty = SymbolGroup::all(&rows[1..2]);
        assert_eq!((empty[0].is_empty(), empty[0].rows(None)), (true, vec![row(4, &[])]));
    }

    #[test]
    fn a_damaged_group_has_no_rows() {
        let group = SymbolGroup::all(&[row(1, &["one", "two"]), row(2, &["three"])]).remove(0);
        assert_eq!(group.rows(None).len(), 2);
        let damages: [fn(&mut SymbolGroup); 4] = [
            |group| group.numbers.truncate(30),
            |group| group.names.push_str("\nfour"),
            |group| group.counts[0] = 3,
            |group| group.blobs.truncate(1),
        ];
        for damage in damages {
            let mut other = group.clone();
            damage(&mut other);
            assert!(other.rows(None).is_empty(), "{other:?}");
        }
    }
}
