//! Bloom filters of the n-grams of one text.

use crate::hash::{bit_of, hashes_of_word};
use crate::kind::FilterKind;
use crate::query::NgramQuery;
use crate::text::hashes_of;

/// Bits per byte of a text, in the filter of a large chunk.
const BITS_PER_BYTE: usize = 2;

/// Bits set in a [`FilterKind::Dense`] filter above which a chunk is dense. 6 of 100 chunks of the
/// fetched corpus are.
const DENSE_BITS: u32 = 3200;

/// A Bloom filter of one text: it contains all its n-grams and, by chance, a few others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    kind: FilterKind,
    bits: Vec<u64>,
}

impl BloomFilter {
    /// Makes an empty filter.
    pub fn new(kind: FilterKind) -> Self {
        Self { kind, bits: vec![0; kind.bits() / 64] }
    }

    /// Makes an empty filter for one large text of this many bytes. It is queried like the filter
    /// of a block.
    pub fn for_text(bytes: usize) -> Self {
        Self { kind: FilterKind::Block, bits: vec![0; bytes / (64 / BITS_PER_BYTE) + 1] }
    }

    /// Makes the filter of a chunk.
    pub fn of_chunk(text: &str) -> Self {
        let kind = FilterKind::Chunk;
        let mut hashes = Vec::new();
        hashes_of(kind, text, &mut hashes);
        Self { kind, bits: bits_of::<{ FilterKind::Chunk.bits() }>(&hashes) }
    }

    /// Makes a filter of whole words, for queries for [words](NgramQuery::word) only. It is as large as a chunk's.
    pub fn of_words<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let kind = FilterKind::Chunk;
        let hashes: Vec<u64> = words.flat_map(hashes_of_word).collect();
        Self { kind, bits: bits_of::<{ FilterKind::Chunk.bits() }>(&hashes) }
    }

    /// Restores a filter from its [bytes](Self::to_bytes). It must be of a dense chunk, a block or
    /// a large text; other chunks' filters are not recognised.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks();
        let bits: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        // The filter of a large text is always larger than that of a dense chunk.
        let kind = if bits.len() * 64 == FilterKind::Dense.bits() {
            FilterKind::Dense
        } else {
            FilterKind::Block
        };
        Self { kind, bits }
    }

    /// Returns the kind of the filter.
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// Returns the filter as little-endian bytes, for storing.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bits.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Adds all n-grams of a text.
    pub fn add(&mut self, text: &str) {
        let mut hashes = Vec::new();
        hashes_of(self.kind, text, &mut hashes);
        for hash in hashes {
            let bit = bit_of(hash, self.bits.len() * 64);
            self.bits[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Adds all n-grams of a chunk to the filter of its block. A dense chunk is not added; its own
    /// filter is returned instead. `hashes` is scratch space.
    ///
    /// # Panics
    /// This is not the filter of a block.
    pub fn add_chunk(&mut self, text: &str, hashes: &mut Vec<u64>) -> Option<BloomFilter> {
        // Filters of blocks and of dense chunks have the same n-grams.
        hashes_of(FilterKind::Dense, text, hashes);
        let bits = bits_of::<{ FilterKind::Dense.bits() }>(hashes);
        if bits.iter().map(|word| word.count_ones()).sum::<u32>() > DENSE_BITS {
            return Some(Self { kind: FilterKind::Dense, bits });
        }
        let block: &mut [u64; FilterKind::Block.bits() / 64] =
            self.bits.as_mut_slice().try_into().expect("it is the filter of a block");
        for hash in hashes {
            let bit = bit_of(*hash, block.len() * 64);
            block[bit / 64] |= 1 << (bit % 64);
        }
        None
    }

    /// Returns whether the text may have the n-grams.
    pub fn may_hold(&self, ngrams: &NgramQuery) -> bool {
        match ngrams {
            NgramQuery::Anything => true,
            NgramQuery::Hashes(hashes) => hashes.of(self.kind).iter().all(|hash| {
                let bit = bit_of(*hash, self.bits.len() * 64);
                self.bits[bit / 64] >> (bit % 64) & 1 == 1
            }),
            NgramQuery::All(all) => all.iter().all(|one| self.may_hold(one)),
            NgramQuery::Any(any) => any.iter().any(|one| self.may_hold(one)),
        }
    }

    /// Returns whether the filter holds all n-grams of another one with as many bits.
    pub fn holds(&self, other: &Self) -> bool {
        let mut words = self.bits.iter().zip(&other.bits);
        self.bits.len() == other.bits.len() && words.all(|(own, other)| own & other == *other)
    }

    /// Returns whether this filter has more than a quarter of the bits of a `kind`. Folded to the size of that kind, it
    /// would let much more text through.
    pub fn is_coarse_as(&self, kind: FilterKind) -> bool {
        self.bits.len() * 64 * 4 > kind.bits()
    }

    /// Returns the bytes of memory that the filter takes.
    pub fn memory(&self) -> usize {
        self.bits.len() * 8
    }

    /// Calls `seen` with each bit that a filter of `bits` bits needs to hold at least the same
    /// n-grams.
    pub(crate) fn each_bit_of(&self, bits: usize, mut seen: impl FnMut(usize)) {
        let own = self.bits.len() * 64;
        // The least hash that selects a bit of this filter; the lower 32 bits do not matter.
        let least = |bit: usize| ((bit << 32).div_ceil(own) as u64) << 32;
        for (i, mut rest) in self.bits.iter().copied().enumerate() {
            while rest != 0 {
                let bit = i * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if own == bits {
                    seen(bit);
                } else {
                    let upto = least(bit + 1).wrapping_sub(1 << 32);
                    (bit_of(least(bit), bits)..=bit_of(upto, bits)).for_each(&mut seen);
                }
            }
        }
    }
}

/// Returns the bits of a small filter with these hashes. First marks one byte per bit, since hashes far outnumber
/// words; then packs 64 marks into each word.
fn bits_of<const BITS: usize>(hashes: &[u64]) -> Vec<u64> {
    let mut marks = [0_u8; BITS];
    for hash in hashes {
        marks[bit_of(*hash, BITS)] = 1;
    }
    // The highest byte of the product holds the lowest bits of the eight bytes.
    let eight =
        |marks: &[u8; 8]| u64::from_le_bytes(*marks).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let word = |marks: &[u8; 64]| {
        let (eights, _) = marks.as_chunks();
        eights.iter().rev().fold(0, |word, marks| word << 8 | eight(marks))
    };
    marks.as_chunks().0.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> NgramQuery {
        NgramQuery::folded(text)
    }

    #[test]
    fn a_filter_is_stored_as_bytes() {
        for mut filter in [BloomFilter::new(FilterKind::Block), BloomFilter::for_text(9)] {
            filter.add("some Text");
            assert_eq!(BloomFilter::from_bytes(&filter.to_bytes()), filter);
            let either = NgramQuery::any(vec![NgramQuery::Anything, folded("text")]);
            assert!(filter.may_hold(&NgramQuery::exact("me Text")) && filter.may_hold(&either));
            assert!(!filter.may_hold(&folded("nowhere")));
        }
    }

    #[test]
    fn filters_are_the_same_however_they_are_made() {
        let text = "Some::Text(){}\nof \u{212a}elvin, in FOUR lines\n\nab\nthe END";
        let filter = |kind| {
            let mut filter = BloomFilter::new(kind);
            filter.add(text);
            filter
        };
        assert_eq!(BloomFilter::of_chunk(text), filter(FilterKind::Chunk));
        let mut block = BloomFilter::new(FilterKind::Block);
        assert_eq!(block.add_chunk(text, &mut Vec::new()), None);
        assert_eq!(block, filter(FilterKind::Block));
        let numbers = (0..4000_u32).map(|n| n.wrapping_mul(0x9e37_79b9).to_string());
        let dense: String = numbers.collect();
        let mut own = BloomFilter::new(FilterKind::Dense);
        own.add(&dense);
        assert_eq!(block.add_chunk(&dense, &mut Vec::new()), Some(own));
    }

    #[test]
    fn a_dense_chunk_has_a_filter_of_its_own() {
        let mut block = BloomFilter::new(FilterKind::Block);
        assert_eq!(block.add_chunk("fn main() {}\n", &mut Vec::new()), None);
        assert!(block.may_hold(&folded("main")));
        let before = block.clone();
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            char::from(b'!' + (random >> 60) as u8 * 5 + (random >> 57) as u8 % 5)
        };
        let data: String = (0..4096).map(|_| next()).collect();
        let own = block.add_chunk(&data, &mut Vec::new()).unwrap();
        assert_eq!(block, before);
        assert!(own.may_hold(&folded(&data[100..120])));
        assert!(own.may_hold(&NgramQuery::exact(&data[100..120])));
        assert!(!own.may_hold(&folded("not in this data")));
        assert_eq!(BloomFilter::from_bytes(&own.to_bytes()), own);
    }

    #[test]
    fn a_text_may_have_a_filter_of_its_own() {
        let numbers: Vec<String> = (0..5000).map(|i| (i * 7919).to_string()).collect();
        let text = numbers.join(" ");
        let mut filter = BloomFilter::for_text(text.len());
        filter.add(&text);
        assert!(filter.may_hold(&folded(&text[1000..1100])));
        assert!(!filter.may_hold(&folded("some Text that is not in it")));
        assert!(filter.memory() < text.len() / 2);
    }

    #[test]
    fn letters_outside_ascii_have_no_case() {
        for kind in [FilterKind::Block, FilterKind::Chunk, FilterKind::PathGroup] {
            let mut filter = BloomFilter::new(kind);
            filter.add("\u{212a}ernel GRÖßE");
            for text in ["kernel", "größe", "GRÖ\u{1e9e}E"] {
                assert!(filter.may_hold(&folded(text)), "{text} {kind:?}");
                assert!(filter.may_hold(&NgramQuery::exact("GRÖ\u{1e9e}E")), "{kind:?}");
            }
            assert!(!filter.may_hold(&folded("große")), "{kind:?}");
            // It has both 3-grams of this word.
            filter.add("füx xür");
            assert!(!filter.may_hold(&folded("für")), "{kind:?}");
            filter.add("dafür");
            assert!(filter.may_hold(&folded("für")), "{kind:?}");
        }
    }
}
