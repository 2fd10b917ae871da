//! N-grams as numbers, their hashes, and the bit of a filter that a hash selects.

/// Multiplier that mixes the bytes of a folded n-gram into the high bits of the product. Odd, like
/// the two below.
pub(crate) const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
/// Multiplier for n-grams with capitals, unfolded.
pub(crate) const MIX_EXACT: u64 = 0xc2b2_ae3d_27d4_eb4f;
/// Multiplier for short folded n-grams.
pub(crate) const MIX_SHORT: u64 = 0xd6e8_feb8_6659_fd93;

/// Multiplier for whole words.
const MIX_WORD: u64 = 0xa076_1d64_78bd_642f;

/// Length in bytes of the n-grams that a chunk's filter has for their punctuation, and the minimum number of
/// punctuation characters in them. The 3-grams of `f()?;` are everywhere; its longer n-grams are not. Of 2,500 pieces
/// of 4 KB of the fetched corpus, one has on average 932 3-grams, and 133 and 49 of these. Each n-gram of the longer
/// kind begins with one of the shorter kind.
pub(crate) const PUNCTUATED: [(usize, u8); 2] = [(4, 2), (5, 3)];

/// Returns whether a byte counts as punctuation.
pub(crate) fn is_punctuation(byte: u8) -> bool {
    byte.is_ascii_punctuation() && byte != b'_'
}

/// Length in bytes of the n-grams that [mix](is_partly_ascii) ASCII and other bytes. All filters have them, with four
/// bits each. A short word such as `für` has two 3-grams, which let one chunk in twenty through, and nothing longer.
pub(crate) const PARTLY_ASCII_BYTES: usize = 4;

/// Returns whether a run of bytes has both ASCII and non-ASCII bytes. Texts of other scripts have hardly any such run,
/// so this adds little to their filters.
pub(crate) fn is_partly_ascii(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii) && !run.is_ascii()
}

/// Returns the n-gram of the first `length` of eight bytes, as a number.
pub(crate) fn ngram_at(eight: &[u8], length: usize) -> u64 {
    u64::from_le_bytes(eight.try_into().expect("eight bytes")) & ((1 << (8 * length)) - 1)
}

/// Mixes the bytes of an n-gram into the high bits of its hash.
pub(crate) const fn mix(bytes: u64, multiplier: u64) -> u64 {
    let once = bytes.wrapping_mul(multiplier);
    (once ^ (once >> 32)).wrapping_mul(multiplier)
}

/// Returns a second hash of the same n-gram, for a second bit.
pub(crate) const fn second_hash(hash: u64) -> u64 {
    hash.rotate_left(32)
}

/// Returns the hashes of a whole word, one for each of its bits.
pub(crate) fn hashes_of_word(word: &str) -> [u64; 4] {
    let hash = word.as_bytes().chunks(8).fold(word.len() as u64, |hash, chunk| {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        mix(hash.rotate_left(23) ^ u64::from_le_bytes(eight), MIX_WORD)
    });
    four_hashes(hash)
}

/// Returns the hashes of an n-gram that mixes ASCII and other bytes, one for each of its bits.
pub(crate) fn hashes_of_partly_ascii(ngram: u64) -> [u64; 4] {
    four_hashes(mix(ngram, MIX))
}

fn four_hashes(hash: u64) -> [u64; 4] {
    let other = mix(hash, MIX);
    [hash, second_hash(hash), other, second_hash(other)]
}

/// Returns the bit of a hash in a filter of `bits` bits.
pub(crate) fn bit_of(hash: u64, bits: usize) -> usize {
    ((hash >> 32) as usize * bits) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_fill_a_filter_of_any_size() {
        for bits in [64, 2048, 1 << 18] {
            let hashes = (0..20 * bits as u64).map(|n| bit_of(mix(n, MIX), bits));
            let mut seen = vec![false; bits];
            hashes.for_each(|bit| seen[bit] = true);
            assert!(seen.iter().all(|seen| *seen), "{bits}");
        }
    }

    /// Filters are stored. If these bits change, raise `FORMAT` of the store's filters; an older index would miss
    /// matches.
    #[test]
    fn bits_are_those_that_are_stored() {
        for (eight, length, bits) in [
            (b"abcdefgh", 3, [1708, 751, 1457]),
            (b"fn abcde", 3, [1061, 145, 693]),
            (b"());abcd", 4, [1886, 525, 417]),
        ] {
            let number = ngram_at(eight, length);
            let of = |multiplier| bit_of(mix(number, multiplier), 2048);
            assert_eq!([MIX, MIX_EXACT, MIX_SHORT].map(of), bits);
        }
        let mixed = ngram_at("für    ".as_bytes(), PARTLY_ASCII_BYTES);
        assert_eq!(
            hashes_of_partly_ascii(mixed).map(|hash| bit_of(hash, 2048)),
            [219, 939, 1551, 1389]
        );
    }

    #[test]
    fn an_ngram_is_its_bytes() {
        assert_eq!(ngram_at(b"abcdefgh", 3), u64::from_le_bytes(*b"abc\0\0\0\0\0"));
        assert_ne!(mix(ngram_at(b"abcdefgh", 3), MIX), mix(ngram_at(b"abcdefgh", 3), MIX_EXACT));
    }
}
