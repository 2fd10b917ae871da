//! Queries for filters: a Boolean expression over the n-grams that a text must have.

use crate::columns::Columns;
use crate::density::Densities;
use crate::fold::fold_beyond_ascii;
use crate::hash::{
    MIX, MIX_EXACT, MIX_SHORT, PARTLY_ASCII_BYTES, PUNCTUATED, bit_of, hashes_of_partly_ascii,
    hashes_of_word, is_partly_ascii, is_punctuation, mix, ngram_at, second_hash,
};
use crate::kind::FilterKind;

/// Number of long n-grams of a literal below which its short ones are looked up, too.
const FEW_LONG_NGRAMS: usize = 12;

/// The n-grams that a text must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NgramQuery {
    /// No n-grams: every text passes.
    Anything,
    /// All n-grams of one literal.
    Hashes(Hashes),
    /// The n-grams of all these queries.
    All(Vec<NgramQuery>),
    /// The n-grams of at least one of these queries.
    Any(Vec<NgramQuery>),
}

/// The hashes of the n-grams of a literal, for each kind of filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    /// Hashes for blocks, dense chunks and groups of paths: of the long n-grams and of those that mix ASCII and others,
    /// then of the short ones.
    block: Vec<u64>,
    /// Number of hashes in `block` that are not of short n-grams.
    long: usize,
    /// Hashes for chunks, the most selective first.
    chunk: Vec<u64>,
    /// Number of hashes in `chunk` of n-grams with more than three bytes.
    chunk_long: usize,
    /// Number of n-grams in `chunk` that have two hashes or four.
    chunk_ngrams: usize,
}

impl NgramQuery {
    /// Makes the query for texts that pass all these queries.
    #[must_use]
    pub fn all(mut queries: Vec<NgramQuery>) -> Self {
        queries.retain(|query| *query != NgramQuery::Anything);
        match queries.len() {
            0 => NgramQuery::Anything,
            1 => queries.remove(0),
            _ => NgramQuery::All(queries),
        }
    }

    /// Makes the query for texts that pass at least one of these queries.
    #[must_use]
    pub fn any(mut queries: Vec<NgramQuery>) -> Self {
        if queries.len() == 1 { queries.remove(0) } else { NgramQuery::Any(queries) }
    }

    /// Returns the bits to look up in a filter of this kind, ascending, without duplicates.
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

    /// Returns the query with, for each literal, at most `most` hashes for blocks: it is faster to evaluate and a
    /// little less selective.
    #[must_use]
    pub fn sample(&self, most: usize) -> Self {
        match self {
            NgramQuery::Anything => NgramQuery::Anything,
            NgramQuery::Hashes(hashes) => NgramQuery::Hashes(hashes.sample(most)),
            NgramQuery::All(parts) => {
                NgramQuery::All(parts.iter().map(|part| part.sample(most)).collect())
            }
            NgramQuery::Any(parts) => {
                NgramQuery::Any(parts.iter().map(|part| part.sample(most)).collect())
            }
        }
    }

    /// Returns the literals of the query that chunk filters can rule out.
    pub fn chunk_literals(&self) -> Vec<&Hashes> {
        match self {
            NgramQuery::Anything => Vec::new(),
            NgramQuery::Hashes(hashes) if hashes.chunk.is_empty() => Vec::new(),
            NgramQuery::Hashes(hashes) => vec![hashes],
            NgramQuery::All(parts) | NgramQuery::Any(parts) => {
                parts.iter().flat_map(NgramQuery::chunk_literals).collect()
            }
        }
    }

    /// Returns the columns of the query, at most `all`, given those of its literals. A literal whose columns are
    /// unknown is assumed to be in all.
    pub fn columns_of<'l>(
        &self,
        all: &Columns,
        literal: &impl Fn(&Hashes) -> Option<&'l Columns>,
    ) -> Columns {
        let each = |parts: &[Self], with: fn(&mut Columns, &Columns)| {
            let parts = parts.iter().map(|part| part.columns_of(all, literal));
            parts.reduce(|mut found, part| {
                with(&mut found, &part);
                found
            })
        };
        match self {
            NgramQuery::Anything => all.clone(),
            NgramQuery::Hashes(hashes) => literal(hashes).unwrap_or(all).clone(),
            NgramQuery::All(parts) => each(parts, Columns::and).unwrap_or_else(|| all.clone()),
            NgramQuery::Any(parts) => each(parts, Columns::or).unwrap_or_else(|| {
                let mut none = all.clone();
                none.retain_ranges([]);
                none
            }),
        }
    }

    /// Returns the minimum number of n-grams to look up in the filter of a chunk.
    pub fn chunk_ngrams(&self) -> usize {
        match self {
            NgramQuery::Anything => 0,
            NgramQuery::Hashes(hashes) => hashes.chunk_ngrams,
            NgramQuery::All(all) => all.iter().map(NgramQuery::chunk_ngrams).sum(),
            NgramQuery::Any(any) => any.iter().map(NgramQuery::chunk_ngrams).min().unwrap_or(0),
        }
    }

    /// Makes the query for a literal within a line, in any case.
    pub fn folded(text: &str) -> Self {
        let small = fold_beyond_ascii(text).to_ascii_lowercase();
        let hashes = |length, multiplier| {
            let mut hashes = Vec::new();
            each_ngram(&small, length, |ngram, _| hashes.push(mix(ngram, multiplier)));
            hashes
        };
        let mut mixed = Vec::new();
        each_ngram(&small, PARTLY_ASCII_BYTES, |ngram, at| {
            if is_partly_ascii(&small.as_bytes()[at..at + PARTLY_ASCII_BYTES]) {
                mixed.push(hashes_of_partly_ascii(ngram));
            }
        });
        let mut block = mixed.as_flattened().to_vec();
        block.extend(hashes(FilterKind::Block.ngram_bytes(), MIX));
        let long = block.len();
        if long < FEW_LONG_NGRAMS
            && let Some(short) = FilterKind::Block.short_ngram_bytes()
        {
            block.extend(hashes(short, MIX_SHORT));
        }
        let short = hashes(FilterKind::Chunk.ngram_bytes(), MIX);
        let mut chunk = Vec::new();
        each_punctuated(&small, |ngram, _| chunk.push(mix(ngram, MIX)));
        chunk.extend(mixed.as_flattened());
        let chunk_long = chunk.len();
        chunk.extend(short.iter().flat_map(|hash| [*hash, second_hash(*hash)]));
        Hashes { block, long, chunk, chunk_long, chunk_ngrams: mixed.len() + short.len() }.into()
    }

    /// Makes the query for a whole word, for filters [of words](crate::BloomFilter::of_words).
    pub fn word(word: &str) -> Self {
        Hashes { chunk: hashes_of_word(word).to_vec(), ..Hashes::default() }.into()
    }

    /// Makes the query for the n-grams with capitals of a literal within a line.
    pub fn exact(text: &str) -> Self {
        let text = &*fold_beyond_ascii(text);
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
        let (block, short) =
            (hashes(FilterKind::Block.ngram_bytes()), hashes(FilterKind::Chunk.ngram_bytes()));
        let mut chunk = Vec::new();
        each_punctuated(text, |ngram, (at, length)| {
            if has_capital(at, length) {
                chunk.push(mix(ngram, MIX_EXACT));
            }
        });
        let chunk_long = chunk.len();
        chunk.extend(&short);
        Hashes { long: block.len(), block, chunk, chunk_long, chunk_ngrams: short.len() }.into()
    }
}

impl Hashes {
    /// Returns at most `most` of the hashes for blocks, from the whole literal. Long n-grams come first, since they are
    /// rarer.
    fn sample(&self, most: usize) -> Self {
        let some = |all: &[u64], most: usize| -> Vec<u64> {
            let count = all.len().min(most);
            (0..count).map(|i| all[i * all.len() / count]).collect()
        };
        let (long, short) = self.block.split_at(self.long);
        let mut block = some(long, most);
        let long = block.len();
        block.extend(some(short, most - long));
        Self { block, long, ..self.clone() }
    }

    /// Returns at most `most` of the bits to look up in a chunk filter, each once: those of the longer n-grams, which
    /// are rare by nature, then those that are set in the fewest chunks.
    pub fn most_selective_bits(&self, most: usize, densities: &Densities) -> Vec<usize> {
        let mut chunk = self.chunk.clone();
        let (long, short) = chunk.split_at_mut(self.chunk_long);
        densities.sort(long);
        densities.sort(short);
        let mut bits = Vec::with_capacity(most);
        for bit in chunk.iter().map(|hash| bit_of(*hash, FilterKind::Chunk.bits())) {
            if bits.len() == most {
                break;
            }
            if !bits.contains(&bit) {
                bits.push(bit);
            }
        }
        bits
    }

    /// Returns the hashes to look up in filters of a kind.
    pub(crate) fn of(&self, kind: FilterKind) -> &[u64] {
        match kind {
            FilterKind::Block | FilterKind::Dense | FilterKind::PathGroup => &self.block,
            FilterKind::Chunk => &self.chunk,
        }
    }
}

impl From<Hashes> for NgramQuery {
    fn from(hashes: Hashes) -> Self {
        let none = hashes.block.is_empty() && hashes.chunk.is_empty();
        if none { NgramQuery::Anything } else { NgramQuery::Hashes(hashes) }
    }
}

/// Calls `seen` with each n-gram of `length` bytes, as a number, and its offset.
fn each_ngram(text: &str, length: usize, mut seen: impl FnMut(u64, usize)) {
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend([0; 8]);
    for at in 0..(text.len() + 1).saturating_sub(length) {
        seen(ngram_at(&bytes[at..at + 8], length), at);
    }
}

/// Calls `seen` with each n-gram that a filter has for its punctuation, as a number, and its offset and length; the
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
    fn columns_of_literals_make_those_of_a_query() {
        let (foo, bar) = (NgramQuery::folded("foo"), NgramQuery::folded("bar"));
        let (all, mut of_foo, mut of_bar) =
            (Columns::first(9), Columns::first(9), Columns::first(9));
        of_foo.retain_ranges(std::iter::once(2..5));
        of_bar.retain_ranges(std::iter::once(4..9));
        let columns = |query: &NgramQuery| {
            let literal = |hashes: &Hashes| match hashes {
                foo_hashes if NgramQuery::from(foo_hashes.clone()) == foo => Some(&of_foo),
                bar_hashes if NgramQuery::from(bar_hashes.clone()) == bar => Some(&of_bar),
                _ => None,
            };
            query.columns_of(&all, &literal).iter().collect::<Vec<_>>()
        };
        assert_eq!(columns(&foo), [2, 3, 4]);
        assert_eq!(columns(&NgramQuery::all(vec![foo.clone(), bar.clone()])), [4]);
        assert_eq!(
            columns(&NgramQuery::any(vec![foo.clone(), bar.clone()])),
            [2, 3, 4, 5, 6, 7, 8]
        );
        // The third literal's columns are unknown.
        let unknown = NgramQuery::all(vec![foo.clone(), NgramQuery::folded("unknown")]);
        assert_eq!(columns(&unknown), [2, 3, 4]);
        assert_eq!(columns(&NgramQuery::Anything).len(), 9);
        assert_eq!(columns(&NgramQuery::Any(Vec::new())), [0; 0]);
    }

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
        assert_eq!((all.chunk_literals().len(), all.chunk_ngrams()), (2, 8));
        let any = NgramQuery::any(vec![all, NgramQuery::folded("abc")]);
        assert_eq!((any.chunk_literals().len(), any.chunk_ngrams()), (3, 1));
        assert_eq!(NgramQuery::all(Vec::new()), NgramQuery::Anything);
        assert_eq!(NgramQuery::any(vec![word()]), word());
    }

    #[test]
    fn a_sample_asks_for_less_of_the_same() {
        let query = NgramQuery::any(vec![
            NgramQuery::folded("some_long_literal"),
            NgramQuery::all(vec![NgramQuery::folded("abc"), NgramQuery::exact("Other->Literal")]),
        ]);
        let few = query.sample(4);
        let (all, some) = (query.bits(FilterKind::Block), few.bits(FilterKind::Block));
        assert!(some.iter().all(|bit| all.contains(bit)) && some.len() < all.len());
        assert_eq!(
            (few.chunk_literals().len(), few.chunk_ngrams()),
            (query.chunk_literals().len(), query.chunk_ngrams())
        );
        assert_eq!(query.sample(99), query);
    }
}
