//! The packed columns of a history: numbers in groups of seven bits.
//!
//! Lines are numbered in the order in which commits are read, so the lines of a change mostly have consecutive numbers.
//! Then each takes one byte.

/// A changed file of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// The number of its path before, in the batch; `None` if the commit made it.
    pub old_path: Option<u32>,
    /// The number of its path after; `None` if the commit removed it.
    pub new_path: Option<u32>,
    /// Its lines, in the order of the difference.
    pub lines: Vec<ChangedLine>,
}

/// A line that a commit added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedLine {
    /// Its number in the batch.
    pub line: u32,
    /// Whether it was removed.
    pub is_removed: bool,
}

/// Appends a number.
fn push(packed: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// Reads packed numbers. Ends early if they are damaged.
struct Numbers<'b>(&'b [u8]);

impl Iterator for Numbers<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        self.0 = &[];
        None
    }
}

/// Packs the changed files of a commit.
pub fn pack_changes(files: &[ChangedFile]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut next = 0_i64;
    for file in files {
        let old = file.old_path.map_or(0, |path| u64::from(path) + 1);
        let new = match file.new_path {
            None => 0,
            same if same == file.old_path => 1,
            Some(path) => u64::from(path) + 2,
        };
        push(&mut packed, old);
        push(&mut packed, new);
        push(&mut packed, file.lines.len() as u64);
        for line in &file.lines {
            let delta = i64::from(line.line) - next;
            let zigzag = ((delta << 1) ^ (delta >> 63)).cast_unsigned();
            push(&mut packed, zigzag << 1 | u64::from(line.is_removed));
            next = i64::from(line.line) + 1;
        }
    }
    packed
}

/// Unpacks the changed files of a commit; `None` if they are damaged.
pub fn unpack_changes(packed: &[u8]) -> Option<Vec<ChangedFile>> {
    let mut numbers = Numbers(packed);
    let mut files = Vec::new();
    let mut next = 0_i64;
    while !numbers.0.is_empty() {
        let path = |number: u64, base: u64| u32::try_from(number.checked_sub(base)?).ok();
        let old = numbers.next()?;
        let old_path = if old == 0 { None } else { Some(path(old, 1)?) };
        let new_path = match numbers.next()? {
            0 => None,
            1 => Some(old_path?),
            other => Some(path(other, 2)?),
        };
        let count = usize::try_from(numbers.next()?).ok()?;
        // Each line takes a byte at least.
        if count > numbers.0.len() {
            return None;
        }
        let mut lines = Vec::with_capacity(count);
        for _ in 0..count {
            let number = numbers.next()?;
            let zigzag = number >> 1;
            let delta = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
            let line = u32::try_from(next.checked_add(delta)?).ok()?;
            lines.push(ChangedLine { line, is_removed: number & 1 == 1 });
            next = i64::from(line) + 1;
        }
        files.push(ChangedFile { old_path, new_path, lines });
    }
    Some(files)
}

/// For each of some items, numbers below a bound, descending.
#[derive(Clone, Debug, Default)]
pub struct PackedNumbers(Vec<u8>);

impl PackedNumbers {
    /// Wraps packed numbers.
    pub fn of(packed: Vec<u8>) -> Self {
        Self(packed)
    }

    /// Appends an item with the numbers in `numbers`, which are below `upto` and descend.
    pub fn push(&mut self, numbers: &[i32], upto: i32) {
        push(&mut self.0, numbers.len() as u64);
        let mut before = upto;
        for number in numbers {
            push(&mut self.0, i64::from(before - 1 - number).cast_unsigned());
            before = *number;
        }
    }

    /// Returns the packed bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Calls `seen` with the numbers of each of some items, which ascend. Returns false if they are damaged.
    pub fn each(
        &self,
        items: impl IntoIterator<Item = usize>,
        upto: i32,
        seen: &mut impl FnMut(usize, i32),
    ) -> bool {
        let mut packed = Numbers(&self.0);
        let mut at = 0;
        for item in items {
            while at < item {
                let Some(count) = packed.next() else { return false };
                if !skip(&mut packed.0, count) {
                    return false;
                }
                at += 1;
            }
            let Some(count) = packed.next() else { return false };
            at += 1;
            let mut number = i64::from(upto);
            for _ in 0..count {
                let gap = packed.next().and_then(|gap| i64::try_from(gap).ok());
                let found = gap.and_then(|gap| number.checked_sub(1)?.checked_sub(gap));
                let Some(found) = found.and_then(|found| i32::try_from(found).ok()) else {
                    return false;
                };
                seen(item, found);
                number = i64::from(found);
            }
        }
        true
    }
}

/// Skips some numbers. Returns false if there are fewer.
fn skip(packed: &mut &[u8], count: u64) -> bool {
    let mut left = count;
    let mut at = 0;
    while left > 0 {
        let Some(byte) = packed.get(at) else { return false };
        left -= u64::from(byte & 0x80 == 0);
        at += 1;
    }
    *packed = &packed[at..];
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_unpacked_as_they_were() {
        let line = |line: u32, is_removed: bool| ChangedLine { line, is_removed };
        let files = vec![
            ChangedFile {
                old_path: None,
                new_path: Some(7),
                lines: vec![line(0, false), line(1, false), line(2, true), line(900_000, false)],
            },
            ChangedFile { old_path: Some(7), new_path: Some(7), lines: vec![line(3, true)] },
            ChangedFile { old_path: Some(0), new_path: Some(300), lines: Vec::new() },
            ChangedFile { old_path: Some(1), new_path: None, lines: vec![line(u32::MAX, true)] },
        ];
        let packed = pack_changes(&files);
        assert_eq!(unpack_changes(&packed), Some(files));
        assert_eq!(unpack_changes(&[]), Some(Vec::new()));
        for end in 1..packed.len() {
            // A part is damaged, or has fewer files.
            assert!(unpack_changes(&packed[..end]).is_none_or(|files| files.len() < 4));
        }
        assert_eq!(unpack_changes(&[0xff; 40]), None);
    }

    #[test]
    fn numbers_of_each_item_descend() {
        let of = [vec![99, 98, 5], vec![], vec![0], (0..90).rev().collect()];
        let mut packed = PackedNumbers::default();
        for numbers in &of {
            packed.push(numbers, 100);
        }
        let mut found = vec![Vec::new(); 4];
        assert!(packed.each(0..4, 100, &mut |item, number| found[item].push(number)));
        assert_eq!(found, of);
        let mut found = Vec::new();
        assert!(packed.each([1, 2], 100, &mut |item, number| found.push((item, number))));
        assert_eq!(found, [(2, 0)]);
        assert!(!packed.each([4], 100, &mut |_, _| {}));
    }
}
