//! Bit-sliced filters of many texts: a row for each bit, a column for each text.

use std::ops::Range;

use crate::columns::Columns;
use crate::density::Densities;
use crate::filter::BloomFilter;
use crate::hash::bit_of;
use crate::kind::FilterKind;
use crate::query::NgramQuery;

/// The filters of many texts, or only the rows of some of their bits.
#[derive(Debug)]
pub struct BitSlices {
    kind: FilterKind,
    /// The bits whose rows are here, ascending; `None` if all are. Any column may have the other bits set.
    bits: Option<Vec<usize>>,
    /// The rows one after another, each a bitmap of the columns with this bit set.
    rows: Vec<u8>,
    /// The bits of a row that are columns in use.
    all: Columns,
}

impl BitSlices {
    /// Makes a column for each filter, in order. A filter with another number of bits is stretched or folded to the
    /// kind's number; it keeps at least the same n-grams.
    pub fn new(kind: FilterKind, filters: &[BloomFilter]) -> Self {
        let mut slices = Self { kind, bits: None, rows: Vec::new(), all: Columns::first(0) };
        slices.add(0, filters);
        slices
    }

    /// Makes `columns` columns from the rows of all bits, which follow one another and have equal
    /// lengths. Rows may be wider than the columns need. Returns `None` if they are narrower.
    pub fn from_rows(kind: FilterKind, columns: usize, rows: Vec<u8>) -> Option<Self> {
        let (stored, width) = (rows.len() / kind.bits(), columns.div_ceil(8));
        if !rows.len().is_multiple_of(kind.bits()) || stored < width {
            return None;
        }
        let mut slices = Self { kind, bits: None, rows, all: Columns::first(columns) };
        if stored > width {
            slices.rows = slices.with_width(stored, width);
        }
        Some(slices)
    }

    /// Makes `columns` columns with the rows of some bits, ascending. The rows are empty until they
    /// are [set](Self::set).
    pub fn with_bits(kind: FilterKind, bits: Vec<usize>, columns: usize) -> Self {
        let all = Columns::first(columns);
        Self { kind, rows: vec![0; bits.len() * all.0.len()], bits: Some(bits), all }
    }

    /// Sets bytes of the row of a bit, from byte `first` on. Ignores bytes beyond the row's end, and bits without a
    /// row.
    pub fn set(&mut self, bit: usize, first: usize, bytes: &[u8]) {
        let (Some(at), width) = (self.place(bit), self.width()) else { return };
        let row = &mut self.rows[at * width..(at + 1) * width];
        let room = row.get_mut(first..).unwrap_or_default();
        room.iter_mut().zip(bytes).for_each(|(byte, new)| *byte = *new);
    }

    /// Returns the index of the row of a bit.
    fn place(&self, bit: usize) -> Option<usize> {
        match &self.bits {
            None => Some(bit),
            Some(bits) => bits.binary_search(&bit).ok(),
        }
    }

    /// Returns how full the row of each bit is. All rows must be held.
    pub fn densities(&self) -> Densities {
        Densities::of(self.rows.chunks_exact(self.width().max(1)))
    }

    /// Returns the rows one after another, [`width`](Self::width) bytes each.
    pub fn rows(&self) -> &[u8] {
        &self.rows
    }

    /// Adds filters to the columns from `first` on: existing columns gain the n-grams, new columns
    /// are appended. All rows must be held.
    pub fn add(&mut self, first: usize, filters: &[BloomFilter]) {
        let (before, all) = (self.width(), Columns::first(first + filters.len()));
        if all.0.len() > before {
            self.rows = self.with_width(before, all.0.len());
            self.all.0.resize(all.0.len(), 0);
        }
        self.all.or(&all);
        let width = self.width();
        for (column, filter) in (first..).zip(filters) {
            let (byte, bit) = (column / 8, 1 << (column % 8));
            filter.each_bit_of(self.kind.bits(), |at| self.rows[at * width + byte] |= bit);
        }
    }

    /// Adds the filters of another set of the same kind, column by column.
    pub fn or(&mut self, other: &BitSlices) {
        let (before, width) = (self.width(), self.width().max(other.width()));
        if width > before {
            self.rows = self.with_width(before, width);
            self.all.0.resize(width, 0);
        }
        self.all.or(&other.all);
        let theirs = other.rows.chunks_exact(other.width().max(1));
        for (row, their) in self.rows.chunks_exact_mut(width.max(1)).zip(theirs) {
            row.iter_mut().zip(their).for_each(|(byte, other)| *byte |= other);
        }
    }

    /// Returns the rows, now `before` bytes each, with `width` bytes each.
    fn with_width(&self, before: usize, width: usize) -> Vec<u8> {
        let mut rows = vec![0; self.kind.bits() * width];
        let both = before.min(width);
        if both > 0 {
            let old = self.rows.chunks_exact(before);
            for (row, old) in rows.chunks_exact_mut(width).zip(old) {
                row[..both].copy_from_slice(&old[..both]);
            }
        }
        rows
    }

    /// Puts columns of several sets side by side. All have the same kind and hold rows of the same
    /// bits. Each row consists of the given bytes of the first set's row, then those of the
    /// second's, and so on.
    pub fn concat(kind: FilterKind, several: &[(&BitSlices, Range<usize>)]) -> Self {
        let mut all = Columns::first(0);
        for (slices, bytes) in several {
            all.0.extend_from_slice(&slices.all.0[bytes.clone()]);
        }
        let width = all.0.len();
        let bits = several.first().and_then(|(first, _)| first.bits.clone());
        let mut rows = vec![0; bits.as_ref().map_or(kind.bits(), Vec::len) * width];
        let mut from = 0;
        for (slices, bytes) in several {
            let theirs = slices.rows.chunks_exact(slices.width().max(1));
            for (row, their) in rows.chunks_exact_mut(width.max(1)).zip(theirs) {
                row[from..from + bytes.len()].copy_from_slice(&their[bytes.clone()]);
            }
            from += bytes.len();
        }
        Self { kind, bits, rows, all }
    }

    /// Returns whether a column holds at least the n-grams of another filter. All rows must be
    /// held.
    pub fn holds(&self, column: usize, filter: &BloomFilter) -> bool {
        let (width, mut holds) = (self.width(), column / 8 < self.width());
        filter.each_bit_of(self.kind.bits(), |at| {
            holds = holds && self.rows[at * width + column / 8] >> (column % 8) & 1 == 1;
        });
        holds
    }

    /// Returns the bytes in a row: one for every eight columns.
    pub fn width(&self) -> usize {
        self.all.0.len()
    }

    /// Returns the columns that may satisfy a query.
    pub fn columns(&self, ngrams: &NgramQuery) -> Columns {
        self.columns_within(&(0..self.width()), ngrams)
    }

    /// Returns the columns within some bytes of a row that may satisfy a query, numbered from the
    /// first of these bytes.
    pub fn columns_within(&self, bytes: &Range<usize>, ngrams: &NgramQuery) -> Columns {
        let (kind, width) = (self.kind, self.width());
        let row = |bit: usize| {
            let at = self.place(bit)? * width;
            Some(&self.rows[at + bytes.start..at + bytes.end])
        };
        columns_of_rows(ngrams, kind, &row, self.all.within(bytes))
    }

    /// Returns the bytes of memory that the rows take.
    pub fn memory(&self) -> usize {
        self.rows.len()
    }
}

/// Returns which of `columns` may satisfy a query. `row` returns the row of a bit, if known, with a bit for each
/// column.
fn columns_of_rows<'r>(
    ngrams: &NgramQuery,
    kind: FilterKind,
    row: &impl Fn(usize) -> Option<&'r [u8]>,
    mut columns: Columns,
) -> Columns {
    match ngrams {
        NgramQuery::Anything => columns,
        NgramQuery::Hashes(hashes) => {
            for hash in hashes.of(kind) {
                let Some(row) = row(bit_of(*hash, kind.bits())) else { continue };
                if !columns.and_row(row) {
                    break;
                }
            }
            columns
        }
        NgramQuery::All(all) => {
            all.iter().fold(columns, |columns, one| columns_of_rows(one, kind, row, columns))
        }
        NgramQuery::Any(any) => {
            let mut found = Columns(vec![0; columns.0.len()]);
            for one in any {
                found.or(&columns_of_rows(one, kind, row, columns.clone()));
            }
            found
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [FilterKind; 4] =
        [FilterKind::Block, FilterKind::Chunk, FilterKind::Dense, FilterKind::PathGroup];

    fn filters(kind: FilterKind, texts: &[&str]) -> Vec<BloomFilter> {
        let filter = |text: &&str| {
            let mut filter = BloomFilter::new(kind);
            filter.add(text);
            filter
        };
        texts.iter().map(filter).collect()
    }

    /// Returns the columns that may hold a literal, as it is or in any case.
    fn found(slices: &BitSlices, literal: &str, exact: bool) -> Vec<usize> {
        let folded = NgramQuery::folded(literal);
        let both = || NgramQuery::all(vec![folded.clone(), NgramQuery::exact(literal)]);
        slices.columns(&if exact { both() } else { folded }).iter().collect()
    }

    #[test]
    fn literals_are_never_ruled_out_where_they_are() {
        let texts = ["fn Main() {\n", "\tprintln!(\"Grüße, {}\", x.y);\n}", "a.b", "", "xyz"];
        for kind in KINDS {
            let slices = BitSlices::new(kind, &filters(kind, &texts));
            for (column, text) in texts.iter().enumerate() {
                for line in text.split('\n') {
                    for (from, _) in line.char_indices() {
                        for upto in (from..=line.len()).filter(|at| line.is_char_boundary(*at)) {
                            let literal = &line[from..upto];
                            for exact in [false, true] {
                                assert!(
                                    found(&slices, literal, exact).contains(&column),
                                    "{literal}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn other_texts_are_ruled_out() {
        let texts = ["bytes.Buffer b; fmt.Sprint(x)\n", "the long road", "Bytes from buffers"];
        for kind in KINDS {
            let slices = BitSlices::new(kind, &filters(kind, &texts));
            let check = |literal, exact, expected: &[usize]| {
                assert_eq!(found(&slices, literal, exact), expected, "{literal} {kind:?}");
            };
            check("buffers", true, &[2]);
            check("bytes.BUFFER", false, &[0]);
            check("Buffer", true, &[0]);
            check("Buffer", false, &[0, 2]);
            check("Bytes", true, &[2]);
            check("fmt.print", false, &[]);
            check("=>", true, &[0, 1, 2]);
            assert_eq!(slices.columns(&NgramQuery::any(Vec::new())).count(), 0);
        }
    }

    #[test]
    fn rows_are_stored_and_grow() {
        let texts: Vec<String> = (0..21).map(|n| format!("text_number_{n}_")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for kind in KINDS {
            let filters = filters(kind, &texts);
            let whole = BitSlices::new(kind, &filters);
            let mut grown = BitSlices::new(kind, &filters[..3]);
            grown.add(3, &filters[3..9]);
            grown.add(8, &filters[8..]);
            assert_eq!(grown.rows(), whole.rows(), "{kind:?}");
            let stored = BitSlices::from_rows(kind, 21, whole.rows().to_vec()).unwrap();
            assert_eq!(found(&stored, "number_7_", true), [7]);
            // Takes the first columns of wider rows.
            let some = BitSlices::from_rows(kind, 5, whole.rows().to_vec()).unwrap();
            assert_eq!((some.width(), some.columns(&NgramQuery::Anything).count()), (1, 5));
            assert_eq!(found(&some, "number_4_", true), [4]);
            assert!(BitSlices::from_rows(kind, 25, whole.rows().to_vec()).is_none());
        }
    }

    #[test]
    fn some_rows_answer_like_all() {
        let texts = [
            "some_long_name()",
            "another_name",
            "long_lines",
            "",
            "some other",
            "x",
            "y",
            "z",
            "long_name",
        ];
        for kind in KINDS {
            let slices = BitSlices::new(kind, &filters(kind, &texts));
            let ngrams = NgramQuery::any(vec![
                NgramQuery::all(vec![NgramQuery::folded("LONG_"), NgramQuery::folded("name")]),
                NgramQuery::folded("other"),
            ]);
            let mut rows = BitSlices::with_bits(kind, ngrams.bits(kind), 9);
            for bit in ngrams.bits(kind) {
                let row = &slices.rows()[bit * slices.width()..][..slices.width()];
                rows.set(bit, 0, &row[..1]);
                rows.set(bit, 1, &[row[1..].to_vec(), vec![7]].concat());
            }
            assert_eq!(rows.columns(&ngrams), slices.columns(&ngrams), "{kind:?}");
            // A missing row rules out less.
            let all = NgramQuery::all(vec![ngrams.clone(), NgramQuery::folded("zzzqqq")]);
            assert_eq!(rows.columns(&all), slices.columns(&ngrams), "{kind:?}");
            let both = BitSlices::concat(kind, &[(&rows, 0..2), (&rows, 1..2)]);
            assert_eq!(both.columns(&ngrams).within(&(0..2)), rows.columns(&ngrams));
            assert_eq!(
                both.columns(&ngrams).within(&(2..3)),
                rows.columns(&ngrams).within(&(1..2))
            );
        }
    }

    #[test]
    fn filters_are_put_together() {
        let texts =
            ["first_text", "second", "third_text", "4th", "5th", "6th", "7th", "8th", "ninth_text"];
        for kind in KINDS {
            let all = filters(kind, &texts);
            let empty = BloomFilter::new(kind);
            let head: Vec<BloomFilter> = all[..3].to_vec();
            let rest: Vec<BloomFilter> =
                (0..9).map(|n| if n < 3 { empty.clone() } else { all[n].clone() }).collect();
            for (a, b) in [(&head, &rest), (&rest, &head)] {
                let mut both = BitSlices::new(kind, a);
                both.or(&BitSlices::new(kind, b));
                assert_eq!(both.rows(), BitSlices::new(kind, &all).rows(), "{kind:?}");
                assert_eq!(found(&both, "text", true), [0, 2, 8]);
            }
        }
    }

    #[test]
    fn columns_stand_beside_others() {
        let texts = |n: usize, word: &str| {
            (0..n).map(|i| format!("{word}_{i}_in_a_text")).collect::<Vec<_>>()
        };
        for kind in KINDS {
            let of = |texts: &[String]| {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                BitSlices::new(kind, &filters(kind, &texts))
            };
            let (a, none, b) = (of(&texts(11, "long")), of(&[]), of(&texts(20, "short")));
            let both =
                BitSlices::concat(kind, &[(&b, 1..2), (&none, 0..0), (&a, 0..2), (&b, 0..3)]);
            assert_eq!(both.width(), 6);
            assert_eq!(both.columns(&NgramQuery::Anything).count(), 8 + 11 + 20, "{kind:?}");
            for literal in ["long_7_in", "short_7_in", "short", "LONG_1", "nowhere"] {
                let ngrams = NgramQuery::folded(literal);
                let found = both.columns(&ngrams);
                assert_eq!(found.within(&(0..1)), b.columns(&ngrams).within(&(1..2)), "{literal}");
                assert_eq!(found.within(&(1..3)), a.columns(&ngrams), "{literal} {kind:?}");
                assert_eq!(found.within(&(3..6)), b.columns(&ngrams), "{literal} {kind:?}");
                assert_eq!(both.columns_within(&(1..3), &ngrams), a.columns(&ngrams), "{literal}");
            }
        }
    }

    #[test]
    fn filters_of_another_size_hold_the_same() {
        let numbers: Vec<String> = (0..3000).map(|i| (i * 7919).to_string()).collect();
        let text = numbers.join(" ");
        let lengths = [40, 1000, text.len(), 131_072, 131_100, 200_000, 1_000_000];
        let filters = lengths.map(|bytes| {
            let mut filter = BloomFilter::for_text(bytes);
            filter.add(&text);
            filter
        });
        let slices = BitSlices::new(FilterKind::Block, &filters);
        for number in &numbers {
            assert_eq!(found(&slices, number, true).len(), lengths.len(), "{number}");
        }
        // The small filters are full.
        let found = found(&slices, "some Text that is not in it", true);
        assert!(found.iter().all(|column| *column < 2), "{found:?}");
    }

    #[test]
    fn ngrams_with_punctuation_rule_out_more() {
        let texts = ["let a = B.unwrap();\nc()?;\n", "let a = B.unwrap()?;\n", "B.unwrap( )?;"];
        let check = |kind, texts: &[&str], expected: &[usize]| {
            let slices = BitSlices::new(kind, &filters(kind, texts));
            assert_eq!(found(&slices, ".unwrap()?;", true), expected, "{kind:?}");
        };
        check(FilterKind::Chunk, &texts, &[1]);
        let texts = ["a.unwrap();\nb.pop()?;\n", "a.unwrap()?;\n"];
        check(FilterKind::Chunk, &texts, &[1]);
    }
}
