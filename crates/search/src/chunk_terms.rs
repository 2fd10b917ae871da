//! The terms to match in each chunk.

use store::BlobId;

use super::cost::SMALL_BATCH;
use super::evaluate::{Evaluator, Jobs};
use super::verify::{MatchInput, TextChunk};

/// Chunks to read, by ascending number, each with the terms to match in it.
pub(crate) struct ChunkTerms(Vec<(i32, Vec<usize>)>);

impl ChunkTerms {
    /// Collects for each chunk the terms that named it and are `wanted`.
    pub(crate) fn of(
        chunks: &[(i32, BlobId, usize)],
        evaluator: Evaluator<'_>,
        wanted: impl Fn(BlobId, usize) -> bool,
    ) -> Self {
        let mut chunks = chunks.to_vec();
        chunks.sort_unstable();
        let same = chunks.chunk_by(|(n, ..), (next, ..)| n == next);
        let named = same.filter_map(|same| {
            let mut terms = Vec::new();
            for (_, blob, list) in same {
                for term in &evaluator.candidates.lists[*list].terms {
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

    /// Returns match inputs for the chunks that were read, in their order.
    pub(crate) fn inputs(
        self,
        chunks: Vec<TextChunk>,
        evaluator: Evaluator<'_>,
    ) -> Vec<MatchInput> {
        let mut jobs = Jobs::new(evaluator);
        let mut named = self.0.into_iter();
        let input = |chunk: TextChunk| {
            let (_, terms) = named.find(|(n, _)| *n == chunk.n)?;
            Some(jobs.input(chunk, terms))
        };
        chunks.into_iter().filter_map(input).collect()
    }
}

/// Returns the order in which to read the chunks of `lists` candidate lists: the shortest list first, since few blobs
/// may be left after it. Lists in one group are read at once: few chunks are not worth a round trip of their own.
pub(crate) fn rarest_first(chunks: &[(i32, BlobId, usize)], lists: usize) -> Vec<Vec<usize>> {
    let length = |list| chunks.iter().filter(|(.., of)| *of == list).count();
    let mut order: Vec<(usize, usize)> = (0..lists).map(|list| (length(list), list)).collect();
    order.sort_unstable();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut together = 0;
    for (chunks, list) in order {
        match groups.last_mut() {
            Some(group) if together + chunks < 2 * SMALL_BATCH || chunks == 0 => group.push(list),
            _ => {
                groups.push(vec![list]);
                together = 0;
            }
        }
        together += chunks;
    }
    groups
}

/// Returns whether reading all candidate lists of a batch at once takes no more than reading the lists of `first` and
/// then the others, if the share `share_left` of the blobs remains after the first. In two steps, chunks in several
/// lists are read twice.
pub(crate) fn are_read_at_once(
    chunks: &[(i32, BlobId, usize)],
    first: &[usize],
    share_left: f64,
) -> bool {
    let before = chunks.iter().filter(|(.., list)| first.contains(list)).count();
    let mut numbers: Vec<i32> = chunks.iter().map(|(n, ..)| *n).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.len() as f64 <= before as f64 + share_left * (chunks.len() - before) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lists_are_read_first_and_together() {
        let chunks = |lengths: &[usize]| -> Vec<(i32, BlobId, usize)> {
            let lists = lengths.iter().enumerate();
            lists
                .flat_map(|(list, length)| (0..*length as i32).map(move |n| (n, BlobId(n), list)))
                .collect()
        };
        let order = |lengths: &[usize]| rarest_first(&chunks(lengths), lengths.len());
        assert_eq!(order(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(order(&[500, 3, 4]), [vec![1, 2], vec![0]]);
        assert_eq!(order(&[500, 0, 400, 600]), [vec![1], vec![2], vec![0], vec![3]]);
        assert_eq!(order(&[0, 0]), [vec![0, 1]]);
    }

    #[test]
    fn lists_are_read_at_once_if_the_first_rules_out_less_than_they_share() {
        // The second list names all chunks of the first, and as many others.
        let chunk = |n: i32, list| (n, BlobId(n), list);
        let chunks: Vec<_> =
            (0..10).map(|n| chunk(n, 0)).chain((0..20).map(|n| chunk(n, 1))).collect();
        assert!(are_read_at_once(&chunks, &[0], 1.0) && are_read_at_once(&chunks, &[0], 0.5));
        assert!(!are_read_at_once(&chunks, &[0], 0.4));
        // Lists with no common chunk are read one after the other, unless nothing is ruled out.
        let chunks: Vec<_> =
            (0..10).map(|n| chunk(n, 0)).chain((10..20).map(|n| chunk(n, 1))).collect();
        assert!(are_read_at_once(&chunks, &[0], 1.0) && !are_read_at_once(&chunks, &[0], 0.9));
    }
}
