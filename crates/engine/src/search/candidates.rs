//! Candidates: which blobs of a shard can match, and of each term the chunks in which it can. A plan is followed here;
//! its lookups are answered by the source of the shard.

use query::{LiteralQuery, Lookup, Plan, Predicate, Scope};
use store::BlobId;

use super::cost::FEW_BLOBS_FOR_STRINGS;

/// What was named in one shard.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The blobs, ascending; none for all there are.
    pub(crate) blobs: Option<Vec<BlobId>>,
    /// For some terms, all chunks of the blobs in which they can match.
    pub(crate) lists: Vec<List>,
    /// For some predicates, all blobs for whose files they can hold, ascending.
    within: Vec<(Vec<Predicate>, Vec<BlobId>)>,
}

/// All chunks of the candidates of a shard in which one of some terms can match, and perhaps of other blobs.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) terms: Vec<usize>,
    /// Ascending, each with its blob.
    pub(crate) chunks: Vec<(i32, BlobId)>,
}

/// Answers the lookups of a plan in one shard.
pub(crate) trait LookUp {
    /// What a lookup finds, perhaps with more than that; none if all blobs answer it. Of chunks and paths, what is not in the
    /// blobs that are `left` may be left out.
    fn look_up(&self, lookup: &Lookup, left: Option<&[BlobId]>) -> Option<Answer>;
}

/// What a lookup found in a shard, and perhaps more than that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Chunks, ascending, each with its blob.
    Chunks(Vec<(i32, BlobId)>),
    /// Blobs, ascending, each once.
    Blobs(Vec<BlobId>),
}

impl Candidates {
    /// Follows a plan.
    pub(crate) fn of(plan: &Plan, source: &impl LookUp) -> Self {
        let mut found = Self::default();
        found.blobs = match plan {
            // Only here: what is not left of a part within an alternative may be found by another one.
            Plan::All(parts) => found.all(parts, source, true, None),
            plan => found.follow(plan, source, None),
        };
        found
    }

    /// Without the blobs before this one.
    pub(crate) fn drop_before(&mut self, first: BlobId) {
        if let Some(blobs) = &mut self.blobs {
            blobs.drain(..blobs.partition_point(|blob| *blob < first));
        }
    }

    /// Whether a predicate is known not to hold for any file with a blob.
    pub(crate) fn rules_out(&self, blob: BlobId, predicate: Predicate) -> bool {
        let without = |(predicates, blobs): &(Vec<Predicate>, Vec<BlobId>)| {
            predicates.contains(&predicate) && blobs.binary_search(&blob).is_err()
        };
        self.within.iter().any(without)
    }

    /// How many chunks were named.
    pub(crate) fn chunks(&self) -> usize {
        self.lists.iter().map(|list| list.chunks.len()).sum()
    }

    /// Whether all chunks are known in which a term can match.
    pub(crate) fn lists_term(&self, term: usize) -> bool {
        self.lists.iter().any(|list| list.terms.contains(&term))
    }

    /// The blobs that a plan finds; none for all.
    fn follow(
        &mut self,
        plan: &Plan,
        source: &impl LookUp,
        left: Option<&[BlobId]>,
    ) -> Option<Vec<BlobId>> {
        match plan {
            Plan::Scan => None,
            Plan::Lookup(lookup) => self.look_up(lookup, source, left),
            Plan::All(parts) => self.all(parts, source, false, left),
            Plan::Any(parts) => self.any(parts, source, left),
        }
    }

    /// The blobs that all of some plans find. With `narrowing`, each is followed only in the blobs that those before it
    /// left.
    fn all(
        &mut self,
        parts: &[Plan],
        source: &impl LookUp,
        narrowing: bool,
        within: Option<&[BlobId]>,
    ) -> Option<Vec<BlobId>> {
        let mut left: Option<Vec<BlobId>> = None;
        for part in parts {
            if left.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
            let within = if narrowing { left.as_deref().or(within) } else { within };
            let found = self.follow(part, source, within);
            left = both(left, found);
        }
        left
    }

    /// The blobs that one of some plans finds.
    fn any(
        &mut self,
        parts: &[Plan],
        source: &impl LookUp,
        left: Option<&[BlobId]>,
    ) -> Option<Vec<BlobId>> {
        let mut union = Vec::new();
        for part in parts {
            union.extend(self.follow(part, source, left)?);
        }
        // Of a few that are in order each, which a stable sort sees.
        union.sort();
        union.dedup();
        Some(union)
    }

    /// The blobs that a lookup finds, ascending; none for all.
    fn look_up(
        &mut self,
        lookup: &Lookup,
        source: &impl LookUp,
        left: Option<&[BlobId]>,
    ) -> Option<Vec<BlobId>> {
        match source.look_up(lookup, left)? {
            Answer::Blobs(found) => {
                let predicate = match lookup.scope {
                    Scope::Path => Predicate::Path,
                    Scope::Chunk | Scope::Blob => Predicate::Content,
                };
                let predicates = lookup.terms.iter().copied().map(predicate).collect();
                self.within.push((predicates, found.clone()));
                Some(found)
            }
            Answer::Chunks(chunks) => {
                let same = chunks.chunk_by(|(_, blob), (_, next)| blob == next);
                let blobs = same.map(|same| same[0].1).collect();
                self.lists.push(List { terms: lookup.terms.clone(), chunks });
                Some(blobs)
            }
        }
    }
}

/// The blobs of which each string of some literals lies in some chunk, or more; none for all. `in_a_chunk` gives those of
/// literals that lie in one chunk.
pub(crate) fn blobs_with(
    literals: &LiteralQuery,
    in_a_chunk: &impl Fn(&LiteralQuery) -> Option<Vec<BlobId>>,
) -> Option<Vec<BlobId>> {
    match literals {
        LiteralQuery::Anything => None,
        LiteralQuery::All(parts) => {
            let mut parts: Vec<&LiteralQuery> = parts.iter().collect();
            parts.sort_by_key(|part| part.frequency());
            let mut left: Option<Vec<BlobId>> = None;
            for part in parts {
                if left.as_ref().is_some_and(|left| left.len() <= FEW_BLOBS_FOR_STRINGS) {
                    break;
                }
                left = both(left, blobs_with(part, in_a_chunk));
            }
            left
        }
        LiteralQuery::Any(parts) if !is_in_a_chunk(literals) => {
            let each: Option<Vec<_>> =
                parts.iter().map(|part| blobs_with(part, in_a_chunk)).collect();
            let mut union = each?.concat();
            union.sort_unstable();
            union.dedup();
            Some(union)
        }
        LiteralQuery::Any(_) | LiteralQuery::Literal(_) | LiteralQuery::NonAsciiFold => {
            in_a_chunk(literals)
        }
    }
}

/// Whether what holds one of some literals holds it in one chunk.
fn is_in_a_chunk(literals: &LiteralQuery) -> bool {
    match literals {
        LiteralQuery::Any(parts) => !parts.iter().any(|part| matches!(part, LiteralQuery::All(_))),
        LiteralQuery::Literal(_) | LiteralQuery::NonAsciiFold => true,
        LiteralQuery::All(_) | LiteralQuery::Anything => false,
    }
}

/// Calls `seen` with all that [`blobs_with`] asks for.
pub(crate) fn each_in_a_chunk<'l>(
    literals: &'l LiteralQuery,
    seen: &mut impl FnMut(&'l LiteralQuery),
) {
    match literals {
        literals if is_in_a_chunk(literals) => seen(literals),
        LiteralQuery::All(parts) | LiteralQuery::Any(parts) => {
            for part in parts {
                each_in_a_chunk(part, seen);
            }
        }
        LiteralQuery::Anything | LiteralQuery::Literal(_) | LiteralQuery::NonAsciiFold => {}
    }
}

/// What two ascending lists have in common, if there are two; none is all there is.
fn both(left: Option<Vec<BlobId>>, right: Option<Vec<BlobId>>) -> Option<Vec<BlobId>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(intersection(&left, &right)),
        (left, right) => left.or(right),
    }
}

/// What two ascending lists have in common.
fn intersection(left: &[BlobId], right: &[BlobId]) -> Vec<BlobId> {
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    short.iter().filter(|blob| long.binary_search(blob).is_ok()).copied().collect()
}
