//! How full the rows of the chunk filters are: this tells which bits rule out most chunks.

use crate::hash::bit_of;
use crate::kind::FilterKind;

/// The fraction of chunks in which each bit of a [chunk filter](FilterKind::Chunk) is set, in units of 1/255. The
/// hashes of some n-grams share their bit with common n-grams, so the bits of a literal differ by a factor of five.
/// Results are correct with any values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Densities(Vec<u8>);

impl Densities {
    /// Counts the bits set in each row.
    pub(crate) fn of<'r>(rows: impl Iterator<Item = &'r [u8]>) -> Self {
        let set = |row: &[u8]| row.iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
        let counts: Vec<usize> = rows.map(set).collect();
        // Do not count unused columns: the fullest bit is that of an n-gram which nearly all chunks have.
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        Self(counts.into_iter().map(|count| (count * 255).div_ceil(most) as u8).collect())
    }

    /// Restores densities from their [bytes](Self::bytes); if these are invalid, all bits count the same.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        let fits = bytes.len() == FilterKind::Chunk.bits();
        Self(if fits { bytes } else { vec![85; FilterKind::Chunk.bits()] })
    }

    /// Returns a byte for each bit, for storing.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Sorts hashes by the fraction of chunks in which their bit is set, smallest first.
    pub(crate) fn sort(&self, hashes: &mut [u64]) {
        hashes.sort_by_key(|hash| self.0[bit_of(*hash, FilterKind::Chunk.bits())]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitSlices, BloomFilter, NgramQuery};

    #[test]
    fn the_emptiest_bits_are_asked_first() {
        let texts = ["the common words", "the common text", "the rare xqz", "the common word"];
        let filters: Vec<BloomFilter> =
            texts.iter().map(|text| BloomFilter::of_chunk(text)).collect();
        let densities = BitSlices::new(FilterKind::Chunk, &filters).densities();
        assert_eq!(Densities::from_bytes(densities.bytes().to_vec()), densities);
        let bits_of = |text: &str, most, densities: &Densities| {
            NgramQuery::folded(text).chunk_literals()[0].most_selective_bits(most, densities)
        };
        let bits = bits_of("the rare xqz", 4, &densities);
        assert_eq!(bits.len(), 4);
        // Only one text has the n-grams of "rare xqz".
        assert!(bits.iter().all(|bit| densities.bytes()[*bit] <= 64), "{bits:?}");
        // The others have all these bits, which rule out as much as possible.
        let common = bits_of("the ", 4, &densities);
        assert!(common.iter().all(|bit| densities.bytes()[*bit] == 255));
        // Unknown densities still choose some.
        let unknown = Densities::from_bytes(vec![1, 2, 3]);
        assert_eq!(bits_of("the rare xqz", 3, &unknown).len(), 3);
    }

    #[test]
    fn long_ngrams_are_asked_before_emptier_bits() {
        let unknown = Densities::from_bytes(Vec::new());
        let query = NgramQuery::folded("unwrap()?;");
        let bits = query.chunk_literals()[0].most_selective_bits(4, &unknown);
        let all = query.bits(FilterKind::Chunk);
        assert!(bits.len() == 4 && bits.iter().all(|bit| all.contains(bit)));
        // "p()?", "()?;" and "p()?;"
        let texts = ["unwrap() ?;", "unwrap( )?;"].map(BloomFilter::of_chunk);
        let slices = BitSlices::new(FilterKind::Chunk, &texts);
        let both = bits.iter().fold(u8::MAX, |both, bit| both & slices.rows()[*bit]);
        assert_eq!(both, 0);
    }
}
