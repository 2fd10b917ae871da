//! The symbols of a shard in a server's memory: the groups stored in Postgres, compressed.
//!
//! The names of a group are compressed separately, since searches match them. They have a Bloom filter of n-grams and
//! one of whole names, so that most groups need not be decompressed.

use std::ops::Range;

use lzzzz::{lz4, lz4_hc};
use ngram::{BitSlices, BloomFilter, Columns, FilterKind, NgramQuery};
use query::{CompiledTerm, Scratch, fold};
use store::{BlobId, GivenUp, SymbolGroup, SymbolRow};

/// Compression level of LZ4 HC. Higher levels save only a hundredth.
const LEVEL: i32 = 6;

/// Panic message if compression fails.
const ROOM: &str = "there is memory";

/// Panic message if decompression fails.
const PACKED: &str = "it was compressed here";

/// The symbols of a shard, in the order of its blobs.
#[derive(Debug)]
pub(crate) struct ShardSymbols {
    /// Symbols were taken for blobs whose chunks have smaller numbers.
    upto: i32,
    /// Blobs whose symbols were taken.
    blobs: Vec<BlobId>,
    /// Number of the first symbol of each blob, and after the last one, the number of symbols.
    first: Vec<u32>,
    groups: Vec<Group>,
    /// Blobs some or all of whose symbols were given up, ascending.
    given_up: Box<[GivenUp]>,
    /// The compressed names and numbers of each group.
    data: Box<[u8]>,
    /// Filters of the n-grams of all names of a group, and of whole names.
    filters: BitSlices,
    words: BitSlices,
}

/// Neighbouring blobs.
#[derive(Debug)]
struct Group {
    /// Index of the first blob.
    first: u32,
    /// Where its compressed names and numbers begin in the data.
    names: u32,
    numbers: u32,
    /// Decompressed sizes of both, in bytes.
    names_bytes: u32,
    numbers_bytes: u32,
}

impl ShardSymbols {
    /// Compresses the groups of a shard. Groups and blobs with given up symbols are in the order of blobs.
    pub(crate) fn new(groups: Vec<SymbolGroup>, given_up: Vec<GivenUp>, upto: i32) -> Self {
        let mut all = Self {
            upto,
            blobs: Vec::new(),
            first: vec![0],
            groups: Vec::with_capacity(groups.len()),
            given_up: given_up.into(),
            data: Box::default(),
            filters: BitSlices::new(FilterKind::Chunk, &[]),
            words: BitSlices::new(FilterKind::Chunk, &[]),
        };
        let (mut data, mut filters) = (Vec::new(), Vec::with_capacity(groups.len()));
        let mut words = Vec::with_capacity(groups.len());
        for group in groups {
            // A damaged group tells nothing.
            let sizes: Vec<u32> =
                group.rows(None).iter().map(|row| row.starts.len() as u32).collect();
            if sizes.is_empty() {
                continue;
            }
            let names = data.len();
            lz4_hc::compress_to_vec(group.names.as_bytes(), &mut data, LEVEL).expect(ROOM);
            let numbers = data.len();
            lz4_hc::compress_to_vec(&group.numbers, &mut data, LEVEL).expect(ROOM);
            filters.push(BloomFilter::of_chunk(&group.names));
            let folded = fold(&group.names);
            words.push(BloomFilter::of_words(folded.split('\n')));
            all.groups.push(Group {
                first: all.blobs.len() as u32,
                names: names as u32,
                numbers: numbers as u32,
                names_bytes: group.names.len() as u32,
                numbers_bytes: group.numbers.len() as u32,
            });
            all.blobs.extend(group.blobs);
            for size in sizes {
                all.first.push(all.first[all.first.len() - 1] + size);
            }
        }
        all.data = data.into();
        all.filters = BitSlices::new(FilterKind::Chunk, &filters);
        all.words = BitSlices::new(FilterKind::Chunk, &words);
        all
    }

    /// Returns the number below which all chunks belong to blobs whose symbols were taken.
    pub(crate) fn upto(&self) -> i32 {
        self.upto
    }

    /// Returns the blobs some or all of whose symbols were given up, ascending.
    pub(crate) fn given_up(&self) -> &[GivenUp] {
        &self.given_up
    }

    /// Returns the approximate size in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let lists = self.blobs.len() * size_of::<BlobId>()
            + self.first.len() * size_of::<u32>()
            + self.groups.len() * size_of::<Group>()
            + self
                .given_up
                .iter()
                .map(|one| size_of::<GivenUp>() + one.reason.len())
                .sum::<usize>();
        (lists + self.data.len() + self.filters.memory() + self.words.memory() + size_of::<Self>())
            as u64
    }

    /// Returns the groups that may have a name matching one of the terms.
    fn groups_of(&self, terms: &[&CompiledTerm]) -> Columns {
        let words = |term: &&CompiledTerm| term.symbol.as_ref()?.words.clone();
        let words: Option<Vec<NgramQuery>> = terms.iter().map(words).collect();
        match words {
            Some(words) => self.words.columns(&NgramQuery::any(words)),
            None => {
                let ngrams = terms.iter().map(|term| term.ngrams.clone());
                self.filters.columns(&NgramQuery::any(ngrams.collect()))
            }
        }
    }

    /// Returns approximately how many blobs [`ShardSymbols::matching`] examines.
    pub(crate) fn candidates(&self, terms: &[&CompiledTerm]) -> usize {
        self.groups_of(terms).count() * self.blobs.len() / self.groups.len().max(1)
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
        let groups = self.groups_of(terms);
        let mut scratches: Vec<Scratch> = terms.iter().map(|term| term.matcher.scratch()).collect();
        let wanted = self.place(blobs.start)..self.place(blobs.end);
        let mut matching = Vec::new();
        let mut names = Vec::new();
        for group in groups.iter() {
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

    /// Returns the rows of some blobs, which are ascending. Blobs whose symbols were not taken have none.
    pub(crate) fn rows(&self, blobs: &[BlobId]) -> Vec<SymbolRow> {
        let mut rows = Vec::new();
        let mut rest = blobs;
        while let Some(blob) = rest.first() {
            let at = self.place(blob.0 + 1);
            let group = self.groups.partition_point(|group| (group.first as usize) < at);
            let Some(group) = group.checked_sub(1) else {
                rest = &rest[1..];
                continue;
            };
            let last = self.blobs[self.of_group(group).end - 1];
            let (here, after) = rest.split_at(rest.partition_point(|blob| *blob <= last).max(1));
            rows.extend(self.unpack(group).rows(Some(here)));
            rest = after;
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

    /// Decompresses the names of a group, one on each line.
    fn names(&self, group: usize, names: &mut Vec<u8>) {
        let of = &self.groups[group];
        names.clear();
        names.resize(of.names_bytes as usize, 0);
        decompress(&self.data[of.names as usize..of.numbers as usize], names);
    }

    /// Decompresses a group.
    fn unpack(&self, group: usize) -> SymbolGroup {
        let mut names = Vec::new();
        self.names(group, &mut names);
        let (of, blobs) = (&self.groups[group], self.of_group(group));
        let end = self.groups.get(group + 1).map_or(self.data.len(), |next| next.names as usize);
        let mut numbers = vec![0; of.numbers_bytes as usize];
        decompress(&self.data[of.numbers as usize..end], &mut numbers);
        SymbolGroup {
            counts: blobs.clone().map(|at| (self.first[at + 1] - self.first[at]) as i16).collect(),
            blobs: self.blobs[blobs].to_vec(),
            names: String::from_utf8(names).expect(PACKED),
            numbers,
        }
    }
}

/// Decompresses into a buffer of the exact size. Skips an empty buffer, since LZ4 refuses empty input.
fn decompress(data: &[u8], buffer: &mut [u8]) {
    if !buffer.is_empty() {
        lz4::decompress(data, buffer).expect(PACKED);
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
        let symbols = ShardSymbols::new(SymbolGroup::all(&rows), Vec::new(), 2000);
        assert!(symbols.groups.len() > 2);
        let all: Vec<BlobId> = (0..2000).map(BlobId).collect();
        assert_eq!(symbols.rows(&all), rows);
        for row in &rows {
            assert_eq!(symbols.rows(&[row.blob]), *std::slice::from_ref(row));
        }
        let some = [0, 4, 5, 13, 1000, 1900].map(BlobId);
        assert_eq!(symbols.rows(&some), [&rows[1], &rows[3], &rows[332]].map(Clone::clone));
        assert!(ShardSymbols::new(Vec::new(), Vec::new(), 0).rows(&all).is_empty());
        // A group without definitions.
        let nothing = [row(3, &[])];
        let symbols = ShardSymbols::new(SymbolGroup::all(&nothing), Vec::new(), 9);
        assert_eq!(symbols.rows(&all), nothing);
    }

    #[test]
    fn blobs_are_found_by_the_names_they_define() {
        let symbols = ShardSymbols::new(SymbolGroup::all(&rows()), Vec::new(), 2000);
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
        let empty = ShardSymbols::new(Vec::new(), Vec::new(), 0);
        assert!(empty.matching(&[], &(0..9), None, &|| true).is_empty());
    }
}
