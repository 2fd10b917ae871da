//! The kinds of filters: what each covers, its bits, and the length of its n-grams.

/// The kind of text that a filter covers. Filters of all kinds have the n-grams of four bytes that mix ASCII and other
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// A block of chunks. A block of 512 chunks of code sets nearly half of the bits.
    Block,
    /// A chunk. Each folded n-gram sets two bits; longer n-grams with several punctuation
    /// characters are added, too. 4 KB of code set a third of the bits.
    Chunk,
    /// A chunk of a few kilobytes with so many different n-grams that they would fill the filter of
    /// its block: tables of numbers, encoded data.
    Dense,
    /// A group of some dozens of paths.
    PathGroup,
}

impl FilterKind {
    /// Returns the number of bits in the filter.
    pub const fn bits(self) -> usize {
        match self {
            FilterKind::Block => 1 << 18,
            FilterKind::Chunk => 1 << 12,
            FilterKind::Dense | FilterKind::PathGroup => 1 << 13,
        }
    }

    /// Returns the length of an n-gram, in bytes. Longer n-grams are rarer, but a literal has fewer
    /// of them and a text more different ones. Filters with few bits hold short n-grams best: as
    /// filters of 4 KB chunks, 3-grams let half as many chunks through as 4-grams in the same
    /// number of bits.
    pub(crate) const fn ngram_bytes(self) -> usize {
        match self {
            FilterKind::Chunk => 3,
            FilterKind::Block | FilterKind::Dense | FilterKind::PathGroup => 5,
        }
    }

    /// Returns the length in bytes of the short n-grams, for literals with no or few long ones.
    pub(crate) const fn short_ngram_bytes(self) -> Option<usize> {
        match self {
            FilterKind::Chunk => None,
            FilterKind::Block | FilterKind::Dense | FilterKind::PathGroup => Some(3),
        }
    }
}
