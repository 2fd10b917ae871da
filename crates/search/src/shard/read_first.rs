//! Reads the candidate chunks of a batch before its files.

use store::BlobId;

use super::super::batch::Batch;
use super::super::chunk_terms::{ChunkTerms, are_read_at_once, rarest_first};
use super::super::cost::READ_FIRST;
use super::super::evaluate::{Evaluator, Hits};
use super::super::jobs::Matching;
use super::super::source::Source;
use super::ShardSearch;

impl<S: Source> ShardSearch<'_, S> {
    /// Reads the candidate chunks of a batch, and drops the blobs whose files cannot match, whatever their paths.
    pub(super) async fn read_chunks_first(
        &self,
        batch: &mut Batch,
        matching: Option<Matching>,
        share_left: &mut Option<f64>,
        evaluator: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<(), store::Error> {
        if let Some(matching) = matching {
            hits.add(self.search.state.matching.found(matching).await);
            evaluator.candidates.lists.iter().for_each(|list| hits.add_read(&list.terms));
        } else {
            let count = evaluator.candidates.lists.len();
            let mut groups = rarest_first(&batch.chunks, count);
            if let [first, _, ..] = &*groups
                && self.are_read_at_once(&batch.chunks, first, *share_left)
            {
                groups = vec![groups.concat()];
            }
            for (nth, lists) in groups.into_iter().enumerate() {
                if nth == 1 {
                    let may = batch.blobs.iter().filter(|blob| evaluator.may_match(**blob, hits));
                    *share_left = Some(may.count() as f64 / batch.blobs.len().max(1) as f64);
                }
                let named: Vec<_> = batch
                    .chunks
                    .chunk_by(|(_, blob, _), (_, next, _)| blob == next)
                    .filter(|chunks| evaluator.may_match(chunks[0].1, hits))
                    .flat_map(|chunks| chunks.iter().filter(|(.., list)| lists.contains(list)))
                    .copied()
                    .collect();
                self.read_parts(&named, evaluator, hits).await?;
                if self.is_over() {
                    return Ok(());
                }
                for list in lists {
                    hits.add_read(&evaluator.candidates.lists[list].terms);
                }
            }
        }
        batch.blobs.retain(|blob| evaluator.may_match(*blob, hits));
        Ok(())
    }

    /// Returns whether all candidate lists of a batch are read at once. From memory they always are: a chunk is
    /// decompressed only if the blob has the terms that were matched before.
    fn are_read_at_once(
        &self,
        chunks: &[(i32, BlobId, usize)],
        first: &[usize],
        share_left: Option<f64>,
    ) -> bool {
        self.task.cached.texts
            || share_left.is_some_and(|share| are_read_at_once(chunks, first, share))
    }

    /// Reads some chunks in parts, since a chunk may be a line of any length. A part holds all chunks of its blobs,
    /// since the hits of a blob are added all at once.
    async fn read_parts(
        &self,
        mut rest: &[(i32, BlobId, usize)],
        evaluator: Evaluator<'_>,
        hits: &mut Hits,
    ) -> Result<(), store::Error> {
        while let Some((_, last, _)) = rest.get(READ_FIRST.min(rest.len()).wrapping_sub(1)) {
            let (part, tail) = rest.split_at(rest.partition_point(|(_, blob, _)| blob <= last));
            rest = tail;
            let named = ChunkTerms::of(part, evaluator, |_, term| !hits.has_read(term));
            hits.add(self.match_chunks(named, evaluator).await?);
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }
}
