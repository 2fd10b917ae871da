//! Queries for filters: the n-grams that a text must have, as a Boolean expression.

use crate::hash::{
    MIX, MIX_EXACT, MIX_SHORT, NON_ASCII_FOLD, PUNCTUATED, bit_of, is_punctuation, mix, ngram_at,
    second,
};
use crate::kind::FilterKind;

/// Long n-grams of a literal below which its short ones are asked for, too.
const FEW: usize = 12;

/// The n-grams that a text must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NgramQuery {
    /// None: every text will do.
    Anything,
    /// All of these.
    Hashes(Hashes),
    /// The n-grams of all of these.
    All(Vec<NgramQuery>),
    /// The n-grams of one of these.
    Any(Vec<NgramQuery>),
}

/// The hashes of the n-grams of a literal, for each kind of filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    /// For blocks, dense chunks and groups of paths.
    block: Vec<u64>,
    chunk: Vec<u64>,
    /// Those that rule out the most first.
    cached_chunk: Vec<u64>,
}

impl NgramQuery {
    /// Texts with one of the characters that fold to ASCII letters without being one.
    pub fn non_ascii_fold() -> Self {
        let hashes = || NON_ASCII_FOLD.to_vec();
        Hashes { block: hashes(), chunk: hashes(), cached_chunk: hashes() }.into()
    }

    /// All of some queries.
    #[must_use]
    pub fn all(mut queries: Vec<NgramQuery>) -> Self {
        queries.retain(|query| *query != NgramQuery::Anything);
        match queries.len() {
            0 => NgramQuery::Anything,
            1 => queries.remove(0),
            _ => NgramQuery::All(queries),
        }
    }

    /// One of some queries.
    #[must_use]
    pub fn any(mut queries: Vec<NgramQuery>) -> Self {
        if queries.len() == 1 { queries.remove(0) } else { NgramQuery::Any(queries) }
    }

    /// The bits that a filter of this kind is asked for, each once, ascending.
    pub fn bits(&self, kind: FilterKind) -> Vec<usize> {
        let mut bits = match self {
            NgramQuery::Anything => Vec::new(),
            NgramQuery::Hashes(hashes) => {
                hashes.of(kind).iter().map(|hash| bit_of(*hash, kind.bits())).collect()
            }
            NgramQuery::All(parts) | NgramQuery::Any(parts) => {
                parts.iter().flat_map(|part| part.bits(kind)).collect()
            }
        };
        bits.sort_unstable();
        bits.dedup();
        bits
    }

    /// How many literals the n-grams are of; those with capitals count twice.
    pub fn literals(&self) -> usize {
        match self {
            NgramQuery::Anything => 0,
            NgramQuery::Hashes(_) => 1,
            NgramQuery::All(parts) | NgramQuery::Any(parts) => {
                parts.iter().map(NgramQuery::literals).sum()
            }
        }
    }

    /// How many n-grams the filter of a chunk is asked for at least.
    pub fn chunk_ngrams(&self) -> usize {
        match self {
            NgramQuery::Anything => 0,
            NgramQuery::Hashes(hashes) => hashes.chunk.len(),
            NgramQuery::All(all) => all.iter().map(NgramQuery::chunk_ngrams).sum(),
            NgramQuery::Any(any) => any.iter().map(NgramQuery::chunk_ngrams).min().unwrap_or(0),
        }
    }

    /// All n-grams of a piece of a line, in small letters.
    pub fn folded(text: &str) -> Self {
        let small = text.to_ascii_lowercase();
        let hashes = |length, odd| {
            let mut hashes = Vec::new();
            each_ngram(&small, length, |ngram, _| hashes.push(mix(ngram, odd)));
            hashes
        };
        let mut block = hashes(FilterKind::Block.long(), MIX);
        if block.len() < FEW
            && let Some(short) = FilterKind::Block.short()
        {
            block.extend(hashes(short, MIX_SHORT));
        }
        let chunk = hashes(FilterKind::Chunk.long(), MIX);
        let mut cached_chunk = Vec::new();
        each_punctuated(&small, |ngram, _| cached_chunk.push(mix(ngram, MIX)));
        cached_chunk.extend(chunk.iter().flat_map(|hash| [*hash, second(*hash)]));
        Hashes { block, chunk, cached_chunk }.into()
    }

    /// The n-grams of a piece of a line that have capitals.
    pub fn exact(text: &str) -> Self {
        let has_capital =
            |at, length| text.as_bytes()[at..at + length].iter().any(u8::is_ascii_uppercase);
        let hashes = |length| {
            let mut hashes = Vec::new();
            each_ngram(text, length, |ngram, at| {
                if has_capital(at, length) {
                    hashes.push(mix(ngram, MIX_EXACT));
                }
            });
            hashes
        };
        let (block, chunk) = (hashes(FilterKind::Block.long()), hashes(FilterKind::Chunk.long()));
        let mut cached_chunk = Vec::new();
        each_punctuated(text, |ngram, (at, length)| {
            if has_capital(at, length) {
                cached_chunk.push(mix(ngram, MIX_EXACT));
            }
        });
        cached_chunk.extend(&chunk);
        Hashes { block, chunk, cached_chunk }.into()
    }
}

impl Hashes {
    /// The bits that the filter of a chunk with all of these n-grams has set: bit n is bit n % 8, from the lowest, of byte
    /// n / 8 of the filter as bytes.
    pub fn chunk_bits(&self) -> impl ExactSizeIterator<Item = usize> {
        self.chunk.iter().map(|hash| bit_of(*hash, FilterKind::Chunk.bits()))
    }

    /// The hashes that a kind of filter is asked for.
    pub(crate) fn of(&self, kind: FilterKind) -> &[u64] {
        match kind {
            FilterKind::Block | FilterKind::Dense | FilterKind::PathGroup => &self.block,
            FilterKind::Chunk => &self.chunk,
            FilterKind::CachedChunk => &self.cached_chunk,
        }
    }
}

impl From<Hashes> for NgramQuery {
    fn from(hashes: Hashes) -> Self {
        let none =
            hashes.block.is_empty() && hashes.chunk.is_empty() && hashes.cached_chunk.is_empty();
        if none { NgramQuery::Anything } else { NgramQuery::Hashes(hashes) }
    }
}

/// Calls `seen` with each n-gram of so many bytes, as a number, and its place.
fn each_ngram(text: &str, length: usize, mut seen: impl FnMut(u64, usize)) {
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend([0; 8]);
    for at in 0..(text.len() + 1).saturating_sub(length) {
        seen(ngram_at(&bytes[at..at + 8], length), at);
    }
}

/// Calls `seen` with each n-gram that a filter holds for its punctuation, as a number, and its place and length: the
/// longest first.
fn each_punctuated(text: &str, mut seen: impl FnMut(u64, (usize, usize))) {
    for (length, least) in PUNCTUATED.into_iter().rev() {
        each_ngram(text, length, |ngram, at| {
            let ngram_bytes = &text.as_bytes()[at..at + length];
            let count = ngram_bytes.iter().filter(|byte| is_punctuation(**byte)).count();
            if count >= usize::from(least) {
                seen(ngram, (at, length));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_ask_for_what_they_have() {
        assert_eq!(NgramQuery::folded("=>"), NgramQuery::Anything);
        assert_eq!(NgramQuery::exact("small"), NgramQuery::Anything);
        assert_eq!(NgramQuery::folded("Word"), NgramQuery::folded("wORD"));
        assert_ne!(NgramQuery::exact("Word"), NgramQuery::exact("wORD"));
        assert_eq!(NgramQuery::folded("word").chunk_ngrams(), 2);
    }

    #[test]
    fn queries_are_counted() {
        let word = || NgramQuery::folded("a_word");
        let all = NgramQuery::all(vec![word(), NgramQuery::Anything, word()]);
        assert_eq!((all.literals(), all.chunk_ngrams()), (2, 8));
        let any = NgramQuery::any(vec![all, NgramQuery::folded("abc")]);
        assert_eq!((any.literals(), any.chunk_ngrams()), (3, 1));
        assert_eq!(NgramQuery::all(Vec::new()), NgramQuery::Anything);
        assert_eq!(NgramQuery::any(vec![word()]), word());
    }

    #[test]
    fn chunk_bits_are_those_of_a_chunk_filter() {
        let NgramQuery::Hashes(hashes) = NgramQuery::exact("Some") else {
            panic!("it has n-grams")
        };
        let bytes = crate::BloomFilter::of_chunk("in Some text").to_bytes();
        assert!(hashes.chunk_bits().all(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1));
        assert_eq!(hashes.chunk_bits().len(), 1);
    }
}
