//! A set of columns of bit-sliced filters, as a bitmap.

use std::ops::Range;

/// A set of columns: bit n % 8, from the lowest, of byte n / 8 is column n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(pub(crate) Vec<u8>);

impl Columns {
    /// Makes the set of the first `count` columns.
    pub fn first(count: usize) -> Self {
        let mut bytes = vec![u8::MAX; count.div_ceil(8)];
        if let (Some(last), 1..) = (bytes.last_mut(), count % 8) {
            *last = (1 << (count % 8)) - 1;
        }
        Self(bytes)
    }

    /// Returns the bitmap: bit n % 8, from the lowest, of byte n / 8 is column n.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Makes room for at least `count` columns.
    pub fn grow(&mut self, count: usize) {
        self.0.resize(self.0.len().max(count.div_ceil(8)), 0);
    }

    /// Sets bytes of the bitmap, from byte `first` on. Ignores bytes beyond its end.
    pub fn set_bytes(&mut self, first: usize, bytes: &[u8]) {
        let room = self.0.get_mut(first..).unwrap_or_default();
        room.iter_mut().zip(bytes).for_each(|(byte, new)| *byte = *new);
    }

    /// Adds the columns in some bytes of a bitmap, which begin at byte `first`. Ignores bytes beyond the end.
    pub fn or_bytes(&mut self, first: usize, bytes: &[u8]) {
        let room = self.0.get_mut(first..).unwrap_or_default();
        room.iter_mut().zip(bytes).for_each(|(byte, new)| *byte |= *new);
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// Returns the number of columns in the set.
    pub fn count(&self) -> usize {
        let (words, rest) = self.0.as_chunks::<8>();
        // Most words of a large set are empty.
        let words = words.iter().map(|word| u64::from_le_bytes(*word)).filter(|word| *word != 0);
        let bytes = rest.iter().map(|byte| byte.count_ones());
        words.map(u64::count_ones).chain(bytes).map(|ones| ones as usize).sum()
    }

    /// Returns whether the set contains a column.
    pub fn contains(&self, column: usize) -> bool {
        self.0.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1)
    }

    /// Iterates over the columns, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.iter_from(0)
    }

    /// Iterates over the columns from `first` on, ascending.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = usize> {
        // Reads eight bytes at a time; fewer at the end.
        let word = |at: usize| {
            let bytes = self.0.get(at..self.0.len().min(at + 8))?;
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            Some(u64::from_le_bytes(eight))
        };
        let mut at = first / 8;
        let mut rest = word(at).map_or(0, |word| word & u64::MAX << (first % 8));
        std::iter::from_fn(move || {
            while rest == 0 {
                at += 8;
                rest = word(at)?;
            }
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(at * 8 + bit)
        })
    }

    /// Adds the columns of another set.
    pub fn or(&mut self, other: &Columns) {
        self.0.iter_mut().zip(&other.0).for_each(|(byte, other)| *byte |= other);
    }

    /// Keeps only the columns that are in the other set, too.
    pub fn and(&mut self, other: &Columns) {
        self.and_row(&other.0);
    }

    /// Keeps the columns for which `is_true` holds.
    pub fn retain(&mut self, is_true: impl Fn(usize) -> bool) {
        for column in self.clone().iter().filter(|column| !is_true(*column)) {
            self.remove(column);
        }
    }

    /// Removes a column.
    pub fn remove(&mut self, column: usize) {
        if let Some(byte) = self.0.get_mut(column / 8) {
            *byte &= !(1 << (column % 8));
        }
    }

    /// Adds a column.
    pub fn add(&mut self, column: usize) {
        if let Some(byte) = self.0.get_mut(column / 8) {
            *byte |= 1 << (column % 8);
        }
    }

    /// Adds the columns of a range, as far as there is room.
    pub fn add_range(&mut self, range: Range<usize>) {
        let end = range.end.min(self.0.len() * 8);
        if range.start >= end {
            return;
        }
        let (first, last) = (range.start / 8, (end - 1) / 8);
        let (head, tail) = (u8::MAX << (range.start % 8), u8::MAX >> (7 - (end - 1) % 8));
        if first == last {
            self.0[first] |= head & tail;
        } else {
            self.0[first] |= head;
            self.0[first + 1..last].fill(u8::MAX);
            self.0[last] |= tail;
        }
    }

    /// Keeps the columns within some ranges.
    pub fn retain_ranges(&mut self, ranges: impl IntoIterator<Item = Range<usize>>) {
        let mut kept = Self(vec![0; self.0.len()]);
        ranges.into_iter().for_each(|range| kept.add_range(range));
        self.and(&kept);
    }

    /// Returns the last column of the set that is `column` or before it.
    pub fn last_to(&self, column: usize) -> Option<usize> {
        let last = (column / 8).min(self.0.len().checked_sub(1)?);
        let below = if column / 8 > last { u8::MAX } else { u8::MAX >> (7 - column % 8) };
        let bit = |byte: u8| 7 - byte.leading_zeros() as usize;
        if self.0[last] & below != 0 {
            return Some(last * 8 + bit(self.0[last] & below));
        }
        let at = self.0[..last].iter().rposition(|byte| *byte != 0)?;
        Some(at * 8 + bit(self.0[at]))
    }

    /// Returns the columns within some bytes of the bitmap, numbered from the first of these bytes.
    #[must_use]
    pub fn within(&self, bytes: &Range<usize>) -> Self {
        Self(self.0[bytes.clone()].to_vec())
    }

    /// Keeps the columns that are set in a row, too, and returns whether any are left.
    pub(crate) fn and_row(&mut self, row: &[u8]) -> bool {
        let mut left = 0;
        for (byte, other) in self.0.iter_mut().zip(row) {
            *byte &= other;
            left |= *byte;
        }
        left != 0
    }
}

impl From<Vec<u8>> for Columns {
    /// Takes a row as a set.
    fn from(row: Vec<u8>) -> Self {
        Self(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(columns: &[usize], bytes: usize) -> Columns {
        let mut all = Columns(vec![0; bytes]);
        for column in columns {
            all.add(*column);
        }
        all
    }

    #[test]
    fn the_last_column_before_another_is_found() {
        let set = of(&[3, 8, 15, 40], 6);
        let last = |column| set.last_to(column);
        assert_eq!([0, 2, 3, 7].map(last), [None, None, Some(3), Some(3)]);
        assert_eq!([8, 14, 15, 39].map(last), [Some(8), Some(8), Some(15), Some(15)]);
        assert_eq!([40, 47, 48, 1000].map(last), [Some(40); 4]);
        assert_eq!(of(&[], 3).last_to(20), None);
        assert_eq!(of(&[], 0).last_to(0), None);
        assert_eq!(of(&[1, 63, 64, 70], 9).count(), 4);
    }

    #[test]
    fn columns_outside_of_ranges_are_dropped() {
        let kept = |ranges: &[(usize, usize)]| {
            let mut columns = of(&[2, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29], 4);
            columns.retain_ranges(ranges.iter().map(|(start, end)| *start..*end));
            columns.iter().collect::<Vec<_>>()
        };
        assert_eq!(kept(&[(0, 99)]), [2, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
        assert_eq!(kept(&[(0, 2), (3, 21), (23, 24), (29, 30)]), [20, 23, 29]);
        assert!(kept(&[]).is_empty() && kept(&[(30, 40)]).is_empty());
    }

    #[test]
    fn columns_are_passed_from_any_on() {
        for count in [0, 1, 8, 63, 64, 65, 200] {
            let all = Columns::first(count);
            assert_eq!(all.count(), count);
            for first in [0, 7, 64, 71, 198, 200, 999] {
                assert!(all.iter_from(first).eq(first..count), "{count} {first}");
            }
        }
    }

    #[test]
    fn columns_are_a_set() {
        let mut columns = of(&[1, 9, 15], 2);
        columns.or(&of(&[2], 2));
        columns.and(&of(&[2, 9, 15], 2));
        columns.retain(|column| column != 15);
        assert_eq!(columns.iter().collect::<Vec<_>>(), [2, 9]);
        assert_eq!(columns.within(&(1..2)).iter().collect::<Vec<_>>(), [1]);
        columns.grow(30);
        assert_eq!(Columns::from(columns.bytes().to_vec()), columns);
        columns.remove(2);
        assert!(columns.contains(9) && !columns.contains(2) && !columns.contains(99));
    }
}
