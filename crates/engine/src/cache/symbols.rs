//! The symbols of a shard in a server's memory: the names that its blobs define, and all else that the rows of
//! Postgres say of them.
//!
//! They are kept in groups of neighbouring blobs with about 4 KB of names. The names of a group are compressed
//! on their own, since a search decides on them, and have a Bloom filter of their n-grams, so that most groups
//! need not be decompressed.

use std::ops::Range;

use lzzzz::{lz4, lz4_hc};
use ngram::{BitSlices, BloomFilter, FilterKind, NgramQuery};
use query::{CompiledTerm, Scratch};
use store::{BlobId, SymbolRow};

/// Bytes of names at which a group ends.
const GROUP_BYTES: usize = 4096;

/// Compression level of LZ4 HC. Higher levels gain a hundredth.
const LEVEL: i32 = 6;

/// Panic message in case something cannot be compressed.
const ROOM: &str = "there is memory";

/// Panic message in case what was compressed here cannot be read.
const PACKED: &str = "it was compressed here";

/// The symbols of a shard, in the order of its blobs.
#[derive(Debug)]
pub(crate) struct ShardSymbols {
    /// Symbols were taken of blobs whose chunks have smaller numbers.
    upto: i32,
    /// Blobs that define something.
    blobs: Vec<BlobId>,
    /// Number of the first symbol of each blob, and after the last one, the number of symbols.
    first: Vec<u32>,
    groups: Vec<Group>,
    /// The compressed names and properties of each group.
    data: Box<[u8]>,
    filters: BitSlices,
}

/// Neighbouring blobs.
#[derive(Debug)]
struct Group {
    /// Index of the first blob.
    first: u32,
    /// Where its compressed names begin in the data, and its compressed properties.
    names: u32,
    rest: u32,
    /// Bytes of both when decompressed.
    names_bytes: u32,
    rest_bytes: u32,
}

impl ShardSymbols {
    /// Compresses the rows of a shard, which are in the order of blobs.
    pub(crate) fn new(rows: &[SymbolRow], upto: i32) -> Self {
        let mut all = Packer::default();
        for row in rows.iter().filter(|row| !row.starts.is_empty()) {
            all.add(row);
        }
        all.end_group();
        Self {
            upto,
            first: all.first.iter().copied().chain([all.symbols]).collect(),
            blobs: all.blobs,
            groups: all.groups,
            data: all.data.into(),
            filters: BitSlices::new(FilterKind::Chunk, &all.filters),
        }
    }

    /// Returns the number under which all chunks are of blobs whose symbols were taken.
    pub(crate) fn upto(&self) -> i32 {
        self.upto
    }

    /// Returns about how many bytes it takes.
    pub(crate) fn memory(&self) -> u64 {
        let lists = self.blobs.len() * size_of::<BlobId>()
            + self.first.len() * size_of::<u32>()
            + self.groups.len() * size_of::<Group>();
        (lists + self.data.len() + self.filters.memory() + size_of::<Self>()) as u64
    }

    /// Returns the blobs in `blobs`, and in `left` if that is given, with a symbol whose name matches one of the
    /// terms, ascending.
    pub(crate) fn matching(
        &self,
        terms: &[&CompiledTerm],
        blobs: &Range<i32>,
        left: Option<&[BlobId]>,
        go_on: &dyn Fn() -> bool,
    ) -> Vec<BlobId> {
        let any = NgramQuery::any(terms.iter().map(|term| term.ngrams.clone()).collect());
        let mut scratches: Vec<Scratch> = terms.iter().map(|term| term.matcher.scratch()).collect();
        let wanted = self.place(blobs.start)..self.place(blobs.end);
        let mut matching = Vec::new();
        let mut names = Vec::new();
        for group in self.filters.columns(&any).iter() {
            let of_group = self.of_group(group);
            let here = of_group.start.max(wanted.start)..of_group.end.min(wanted.end);
            let near = |left: &[BlobId]| {
                let from = left.partition_point(|blob| *blob < self.blobs[here.start]);
                left.get(from).is_some_and(|blob| *blob <= self.blobs[here.end - 1])
            };
            if here.is_empty() || left.is_some_and(|left| !near(left)) {
                continue;
            }
            if !go_on() {
                break;
            }
            self.names(group, &mut names);
            let begin = matching.len();
            for (term, scratch) in terms.iter().zip(&mut scratches) {
                let first = self.first[of_group.start] as usize;
                term.matcher.lines(scratch, &names, go_on, &mut |found| {
                    let symbol = (first + found.line) as u32;
                    let at = self.first.partition_point(|first| *first <= symbol) - 1;
                    let blob = self.blobs[at];
                    let is_left = left.is_none_or(|left| left.binary_search(&blob).is_ok());
                    if here.contains(&at) && is_left && matching.last() != Some(&blob) {
                        matching.push(blob);
                    }
                    true
                });
            }
            if terms.len() > 1 {
                matching[begin..].sort_unstable();
            }
        }
        matching.dedup();
        matching
    }

    /// Returns the rows of some blobs, which are ascending. Blobs that define nothing have none.
    pub(crate) fn rows(&self, blobs: &[BlobId]) -> Vec<SymbolRow> {
        let mut rows = Vec::new();
        let mut of_group: Vec<SymbolRow> = Vec::new();
        let mut last = None;
        for blob in blobs {
            let Ok(at) = self.blobs.binary_search(blob) else { continue };
            let group = self.groups.partition_point(|group| group.first as usize <= at) - 1;
            if last != Some(group) {
                of_group = self.unpack(group);
                last = Some(group);
            }
            let first = self.groups[group].first as usize;
            rows.push(std::mem::take(&mut of_group[at - first]));
        }
        rows
    }

    /// Returns the index of the first blob with this number or a larger one.
    fn place(&self, blob: i32) -> usize {
        self.blobs.partition_point(|one| one.0 < blob)
    }

    /// Returns the indexes of the blobs of a group.
    fn of_group(&self, group: usize) -> Range<usize> {
        let end = self.groups.get(group + 1).map_or(self.blobs.len(), |next| next.first as usize);
        self.groups[group].first as usize..end
    }

    /// Decompresses the names of a group, one to a line.
    fn names(&self, group: usize, names: &mut Vec<u8>) {
        let of = &self.groups[group];
        names.clear();
        names.resize(of.names_bytes as usize, 0);
        lz4::decompress(&self.data[of.names as usize..of.rest as usize], names).expect(PACKED);
    }

    /// Decompresses the rows of a group.
    fn unpack(&self, group: usize) -> Vec<SymbolRow> {
        let mut names = Vec::new();
        self.names(group, &mut names);
        let of = &self.groups[group];
        let end = self.groups.get(group + 1).map_or(self.data.len(), |next| next.names as usize);
        let mut rest = vec![0; of.rest_bytes as usize];
        lz4::decompress(&self.data[of.rest as usize..end], &mut rest).expect(PACKED);
        let (mut names, mut rest) = (&*names, Numbers(&rest));
        let rows = self.of_group(group).map(|at| {
            let count = (self.first[at + 1] - self.first[at]) as usize;
            let mut ends = memchr::memchr_iter(b'\n', names);
            let bytes = ends.nth(count - 1).expect(PACKED);
            let text = str::from_utf8(&names[..bytes]).expect(PACKED).to_owned();
            names = &names[bytes + 1..];
            rest.row(self.blobs[at], text, count)
        });
        rows.collect()
    }
}

/// Symbols as they are being compressed.
#[derive(Default)]
struct Packer {
    blobs: Vec<BlobId>,
    first: Vec<u32>,
    symbols: u32,
    groups: Vec<Group>,
    data: Vec<u8>,
    filters: Vec<BloomFilter>,
    /// Of the group that is open.
    opened: usize,
    names: String,
    rest: Vec<u8>,
}

impl Packer {
    fn add(&mut self, row: &SymbolRow) {
        self.blobs.push(row.blob);
        self.first.push(self.symbols);
        self.symbols += row.starts.len() as u32;
        self.names.push_str(&row.names);
        self.names.push('\n');
        self.rest.extend(&row.kinds);
        let mut before = (0, 1);
        for (i, start) in row.starts.iter().enumerate() {
            self.number(start - before.0);
            self.number(row.ends[i] - start);
            self.number(row.lines[i] - before.1);
            // Most have the container of the one before, or that one.
            self.number(i as i32 - i32::from(row.parents[i]));
            before = (*start, row.lines[i]);
        }
        if self.names.len() >= GROUP_BYTES {
            self.end_group();
        }
    }

    /// Adds a number with seven bits to a byte; small ones of either sign are short.
    fn number(&mut self, number: i32) {
        let mut rest = (number << 1 ^ number >> 31).cast_unsigned();
        while rest >= 0x80 {
            self.rest.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.rest.push(rest as u8);
    }

    fn end_group(&mut self) {
        if self.names.is_empty() {
            return;
        }
        let names = self.data.len();
        lz4_hc::compress_to_vec(self.names.as_bytes(), &mut self.data, LEVEL).expect(ROOM);
        let rest = self.data.len();
        lz4_hc::compress_to_vec(&self.rest, &mut self.data, LEVEL).expect(ROOM);
        self.filters.push(BloomFilter::of_chunk(&self.names));
        self.groups.push(Group {
            first: self.opened as u32,
            names: names as u32,
            rest: rest as u32,
            names_bytes: self.names.len() as u32,
            rest_bytes: self.rest.len() as u32,
        });
        self.opened = self.blobs.len();
        self.names.clear();
        self.rest.clear();
    }
}

/// Reads what [`Packer`] wrote.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn row(&mut self, blob: BlobId, names: String, count: usize) -> SymbolRow {
        let (kinds, rest) = self.0.split_at(count);
        self.0 = rest;
        let mut row = SymbolRow { blob, names, kinds: kinds.to_vec(), ..SymbolRow::default() };
        let mut before = (0, 1);
        for i in 0..count {
            let start = before.0 + self.next();
            row.starts.push(start);
            row.ends.push(start + self.next());
            let line = before.1 + self.next();
            row.lines.push(line);
            row.parents.push((i as i32 - self.next()) as i16);
            before = (start, line);
        }
        row
    }

    fn next(&mut self) -> i32 {
        let (mut number, mut shift) = (0_u32, 0);
        while let Some((byte, rest)) = self.0.split_first() {
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if *byte < 0x80 {
                break;
            }
        }
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use query::{Case, CompiledQuery, Query};

    use super::*;

    fn row(blob: i32, names: &[&str]) -> SymbolRow {
        let count = names.len() as i32;
        SymbolRow {
            blob: BlobId(blob),
            names: names.join("\n"),
            kinds: (0..count as u8).collect(),
            starts: (0..count).map(|i| i * 1000 + blob).collect(),
            ends: (0..count).map(|i| (count - i) * 100_000).collect(),
            lines: (1..=count).map(|i| i * i).collect(),
            parents: (0..count as i16).map(|i| i - 1).collect(),
        }
    }

    fn rows() -> Vec<SymbolRow> {
        let mut rows = vec![row(1, &["Größe", "open", "close"]), row(4, &[])];
        rows.extend((0..500).map(|i| {
            let (one, other) = (format!("name_{i}"), format!("Other{}", i * 7919));
            row(10 + 3 * i, &[&one, &other, "open"])
        }));
        rows
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = rows();
        let symbols = ShardSymbols::new(&rows, 2000);
        assert!(symbols.groups.len() > 2);
        let all: Vec<BlobId> = (0..2000).map(BlobId).collect();
        let mut expected = rows.clone();
        expected.retain(|row| !row.starts.is_empty());
        assert_eq!(symbols.rows(&all), expected);
        assert_eq!(symbols.rows(&[BlobId(4), BlobId(13)]), [rows[3].clone()]);
        assert!(ShardSymbols::new(&[], 0).rows(&all).is_empty());
    }

    #[test]
    fn blobs_are_found_by_the_names_they_define() {
        let symbols = ShardSymbols::new(&rows(), 2000);
        let found = |text: &str, blobs: Range<i32>, left: Option<&[i32]>| {
            let query = CompiledQuery::new(&Query::parse(text, Case::Smart).unwrap()).unwrap();
            let terms: Vec<&CompiledTerm> = query.terms.iter().collect();
            let left: Option<Vec<BlobId>> =
                left.map(|left| left.iter().copied().map(BlobId).collect());
            let found = symbols.matching(&terms, &blobs, left.as_deref(), &|| true);
            found.into_iter().map(|blob| blob.0).collect::<Vec<_>>()
        };
        let all = 0..i32::MAX;
        assert_eq!(found("sym:^name_77$", all.clone(), None), [10 + 3 * 77]);
        assert_eq!(found("sym:^name_7$ or sym:größe", all.clone(), None), [1, 31]);
        assert_eq!(found("sym:open", 0..14, None), [1, 10, 13]);
        assert_eq!(found("sym:open", all.clone(), Some(&[2, 13, 1000])), [13, 1000]);
        assert_eq!(found("sym:name.open", all.clone(), Some(&[13])), [13]);
        assert_eq!(found("sym:nowhere", all.clone(), None), [0; 0]);
        assert_eq!(found("sym:e$", all, Some(&[1])), [1]);
        let empty = ShardSymbols::new(&[], 0);
        assert!(empty.matching(&[], &(0..9), None, &|| true).is_empty());
    }
}
