//! The kinds of filters: of what they are, how many bits they have, and how long their n-grams are.

/// The texts that a filter is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// A block of chunks. Code sets nearly half of the bits of a block of 512 chunks.
    Block,
    /// A chunk. Folded n-grams set two bits each, and longer n-grams with several punctuation characters are in it, too.
    /// Code sets a third of the bits of one of 4 KB.
    Chunk,
    /// A chunk of a few kilobytes with so many different n-grams that they would fill the filter of its block: tables of
    /// numbers, encoded data.
    Dense,
    /// Some dozens of paths.
    PathGroup,
}

impl FilterKind {
    /// Bits in the filter.
    pub const fn bits(self) -> usize {
        match self {
            FilterKind::Block => 1 << 18,
            FilterKind::Chunk => 1 << 12,
            FilterKind::Dense | FilterKind::PathGroup => 1 << 13,
        }
    }

    /// Bytes in an n-gram. Longer ones are rarer: there are fewer of them in a literal, and more in a text. Filters with
    /// few bits hold short ones best: of chunks of 4 KB, n-grams of 3 bytes let half as many through as those of 4 in as
    /// many bits.
    pub(crate) const fn long(self) -> usize {
        match self {
            FilterKind::Chunk => 3,
            FilterKind::Block | FilterKind::Dense | FilterKind::PathGroup => 5,
        }
    }

    /// Bytes in a short n-gram, for literals with no or few longer ones.
    pub(crate) const fn short(self) -> Option<usize> {
        match self {
            FilterKind::Chunk => None,
            FilterKind::Block | FilterKind::Dense | FilterKind::PathGroup => Some(3),
        }
    }
}
