//! Which terms to match in which chunks.

use store::BlobId;

use super::evaluate::{Evaluator, Jobs};
use super::verify::{MatchInput, TextChunk};

/// Chunks to read, by ascending number, each with the terms to match in it.
pub(crate) struct ChunkTerms(Vec<(i32, Vec<usize>)>);

impl ChunkTerms {
    /// Collects for each chunk the terms that named it and are `wanted`.
    pub(crate) fn of(
        chunks: &[(i32, BlobId, usize)],
        on: Evaluator<'_>,
        wanted: impl Fn(BlobId, usize) -> bool,
    ) -> Self {
        let mut chunks = chunks.to_vec();
        chunks.sort_unstable();
        let same = chunks.chunk_by(|(n, ..), (next, ..)| n == next);
        let named = same.filter_map(|same| {
            let mut terms = Vec::new();
            for (_, blob, list) in same {
                for term in &on.candidates.lists[*list].terms {
                    if !terms.contains(term) && wanted(*blob, *term) {
                        terms.push(*term);
                    }
                }
            }
            (!terms.is_empty()).then_some((same[0].0, terms))
        });
        Self(named.collect())
    }

    /// Returns the numbers of the chunks, ascending.
    pub(crate) fn numbers(&self) -> Vec<i32> {
        self.0.iter().map(|(n, _)| *n).collect()
    }

    /// Returns match inputs for those of these chunks that were read, in their order.
    pub(crate) fn inputs(self, chunks: Vec<TextChunk>, on: Evaluator<'_>) -> Vec<MatchInput> {
        let mut jobs = Jobs::new(on);
        let mut named = self.0.into_iter();
        let input = |chunk: TextChunk| {
            let (_, terms) = named.find(|(n, _)| *n == chunk.n)?;
            Some(jobs.input(chunk, terms))
        };
        chunks.into_iter().filter_map(input).collect()
    }
}
