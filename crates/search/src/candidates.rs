//! Candidates: the blobs of a shard that can match, and for each term the chunks that can. This module follows a plan;
//! [`super::find`] answers its lookups.

use std::sync::Arc;

use query::{LiteralQuery, Lookup, Plan, Predicate, Scope};
use store::BlobId;

use super::chunk_set::{BlobStarts, ChunkSet, intersection, union};
use super::cost::FEW_BLOBS_FOR_STRINGS;

/// The candidates of one shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    /// Blobs, ascending; `None` for all blobs of the shard.
    pub(crate) blobs: Option<Vec<BlobId>>,
    /// Lists of the chunks that can match some terms. Within the candidate blobs, they are complete.
    pub(crate) lists: Vec<CandidateList>,
    /// The blobs that the chunks of the lists belong to; `None` without lists.
    pub(crate) starts: Option<Arc<BlobStarts>>,
    /// Blobs for which some predicates can hold, ascending. The predicates hold for no other blob.
    within: Vec<(Vec<Predicate>, Vec<BlobId>)>,
}

/// The chunks in which at least one of some terms can match: all those of the candidate blobs, and perhaps others.
#[derive(Clone, Debug)]
pub(crate) struct CandidateList {
    pub(crate) terms: Vec<usize>,
    pub(crate) chunks: ChunkSet,
}

/// Answers the lookups of a plan in one shard.
pub(crate) trait LookupExecutor {
    /// Returns a superset of the matches of a lookup; `None` if nothing is ruled out. For chunks, paths and symbols,
    /// the answer may leave out blobs that are not in `left`.
    fn look_up(&self, lookup: &Lookup, left: Option<&[BlobId]>) -> Option<Answer>;

    /// Returns the approximate number of chunks or files that a lookup examines, if known in advance.
    fn count(&self, lookup: &Lookup) -> Option<usize>;

    /// Returns the blobs that the chunks of answers belong to, if any answer has chunks.
    fn starts(&self) -> Option<&Arc<BlobStarts>>;
}

/// The answer to a lookup in a shard; a superset of the true answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Chunks(ChunkSet),
    /// Blobs, ascending, without duplicates.
    Blobs(Vec<BlobId>),
}

impl Candidates {
    /// Follows a plan. Then answers the lookups of negated terms for the remaining blobs: these list chunks, and leave
    /// out no blob.
    pub(crate) fn of(plan: &Plan, negated: &[Lookup], source: &impl LookupExecutor) -> Self {
        let mut found = Self { starts: source.starts().cloned(), ..Self::default() };
        found.blobs = match plan {
            // Only the top level narrows: within an alternative, a blob that was ruled out may still be found by
            // another alternative.
            Plan::All(parts) => found.narrow(&shortest_first(parts, source), source),
            plan => found.follow(plan, source, None),
        };
        let blobs = found.blobs.take();
        if !blobs.as_ref().is_some_and(Vec::is_empty) {
            for lookup in negated {
                found.look_up(lookup, source, blobs.as_deref());
            }
        }
        Self { blobs, ..found }
    }

    /// Makes some blobs, ascending, the candidates: each is searched as a whole.
    pub(crate) fn in_blobs(blobs: Vec<BlobId>) -> Self {
        Self { blobs: Some(blobs), ..Self::default() }
    }

    /// Removes the blobs before `first`.
    pub(crate) fn drop_before(&mut self, first: BlobId) {
        if let Some(blobs) = &mut self.blobs {
            blobs.drain(..blobs.partition_point(|blob| *blob < first));
        }
    }

    /// Returns whether a predicate is known to hold for no file with a blob.
    pub(crate) fn rules_out(&self, blob: BlobId, predicate: Predicate) -> bool {
        let without = |(predicates, blobs): &(Vec<Predicate>, Vec<BlobId>)| {
            predicates.contains(&predicate) && blobs.binary_search(&blob).is_err()
        };
        self.within.iter().any(without)
    }

    /// Returns whether there are at most `most` candidate blobs, and at most `most` chunks in the lists.
    pub(crate) fn are_at_most(&self, most: usize) -> bool {
        self.blobs.as_ref().is_some_and(|blobs| blobs.len() <= most) && self.chunks() <= most
    }

    /// Returns the numbers of the chunks in all lists, ascending, without duplicates.
    pub(crate) fn chunk_numbers(&self) -> Vec<i32> {
        let sets = self.lists.iter().map(|list| &list.chunks);
        let all = sets.cloned().reduce(|mut all, set| {
            all.or(&set);
            all
        });
        all.iter().flat_map(ChunkSet::numbers).collect()
    }

    /// Returns the numbers of the candidate blobs; none if all blobs are candidates.
    pub(crate) fn blob_numbers(&self) -> Vec<i32> {
        self.blobs.iter().flatten().map(|blob| blob.0).collect()
    }

    /// Drops the chunks of blobs that are no candidates.
    pub(crate) fn drop_others(&mut self) {
        if let (Some(blobs), Some(starts)) = (&self.blobs, &self.starts) {
            for list in &mut self.lists {
                list.chunks.retain_blobs(blobs, starts);
            }
        }
    }

    /// Returns the number of chunks in all lists.
    pub(crate) fn chunks(&self) -> usize {
        self.lists.iter().map(|list| list.chunks.count()).sum()
    }

    /// Returns whether a list holds all chunks in which a term can match.
    pub(crate) fn lists_term(&self, term: usize) -> bool {
        self.lists.iter().any(|list| list.terms.contains(&term))
    }

    /// Returns the blobs that a plan finds; `None` for all.
    fn follow(
        &mut self,
        plan: &Plan,
        source: &impl LookupExecutor,
        left: Option<&[BlobId]>,
    ) -> Option<Vec<BlobId>> {
        let mut look_up = |lookup: &Lookup| self.look_up(lookup, source, left);
        plan.fold(&mut look_up, &|one, other| intersection(&one, &other), &union)
    }

    /// Returns the blobs that all plans find. Each plan looks only at the blobs that earlier plans left.
    fn narrow(&mut self, parts: &[&Plan], source: &impl LookupExecutor) -> Option<Vec<BlobId>> {
        let mut left: Option<Vec<BlobId>> = None;
        for part in parts {
            if left.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
            let found = self.follow(part, source, left.as_deref());
            left = both(left, found);
        }
        left
    }

    /// Returns the blobs that a lookup finds, ascending; `None` for all.
    fn look_up(
        &mut self,
        lookup: &Lookup,
        source: &impl LookupExecutor,
        left: Option<&[BlobId]>,
    ) -> Option<Vec<BlobId>> {
        match source.look_up(lookup, left)? {
            Answer::Blobs(found) => {
                let predicate = match lookup.scope {
                    Scope::Path => Predicate::Path,
                    Scope::Symbol => Predicate::Symbol,
                    Scope::Chunk | Scope::Blob => Predicate::Content,
                };
                let predicates = lookup.terms.iter().copied().map(predicate).collect();
                self.within.push((predicates, found.clone()));
                Some(found)
            }
            Answer::Chunks(chunks) => {
                let blobs = match source.starts() {
                    _ if chunks.is_empty() => Vec::new(),
                    starts => chunks.blobs(starts?),
                };
                self.lists.push(CandidateList { terms: lookup.terms.clone(), chunks });
                Some(blobs)
            }
        }
    }
}

/// Returns the parts of a plan in the order in which to follow them: the part with the fewest candidates first, since
/// the others then look only at the blobs that it leaves. Keeps the plan's order, which is an estimate, if not all
/// counts are known.
fn shortest_first<'p>(parts: &'p [Plan], source: &impl LookupExecutor) -> Vec<&'p Plan> {
    let count = |plan: &Plan| {
        let mut count = |lookup: &Lookup| source.count(lookup);
        plan.fold(&mut count, &usize::min, &usize::saturating_add)
    };
    let counts: Option<Vec<usize>> = parts.iter().map(count).collect();
    let mut parts: Vec<(usize, &Plan)> =
        counts.unwrap_or_else(|| vec![0; parts.len()]).into_iter().zip(parts).collect();
    parts.sort_by_key(|(count, _)| *count);
    parts.into_iter().map(|(_, part)| part).collect()
}

/// Returns a superset of the blobs that hold the literals, each literal in any of their chunks; `None` for all blobs.
/// `in_a_chunk` answers for literals that must lie in a single chunk.
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
            each?.into_iter().reduce(union)
        }
        LiteralQuery::Any(_) | LiteralQuery::Literal(_) => in_a_chunk(literals),
    }
}

/// Returns whether a text with these literals has them in a single chunk: no `All` needs several.
fn is_in_a_chunk(literals: &LiteralQuery) -> bool {
    match literals {
        LiteralQuery::Any(parts) => !parts.iter().any(|part| matches!(part, LiteralQuery::All(_))),
        LiteralQuery::Literal(_) => true,
        LiteralQuery::All(_) | LiteralQuery::Anything => false,
    }
}

/// Calls `seen` with each literal query that [`blobs_with`] may pass to `in_a_chunk`.
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
        LiteralQuery::Anything | LiteralQuery::Literal(_) => {}
    }
}

/// Returns the intersection of two ascending lists; `None` stands for all blobs.
fn both(left: Option<Vec<BlobId>>, right: Option<Vec<BlobId>>) -> Option<Vec<BlobId>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(intersection(&left, &right)),
        (left, right) => left.or(right),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use query::{Case, CompiledQuery, Query};

    use super::*;

    /// Answers each lookup with the first blobs of a shard: one for each letter of its literal, tenfold for paths.
    #[derive(Default)]
    struct Letters {
        /// The answered lookups, each with the number of blobs that were left.
        asked: RefCell<Vec<(String, Option<usize>)>>,
        /// Whether the numbers of paths are unknown in advance.
        unknown: bool,
    }

    fn letters(lookup: &Lookup) -> usize {
        lookup.literals.to_string().len() - 2
    }

    impl LookupExecutor for Letters {
        fn look_up(&self, lookup: &Lookup, left: Option<&[BlobId]>) -> Option<Answer> {
            self.asked.borrow_mut().push((lookup.literals.to_string(), left.map(<[_]>::len)));
            let count = self.count(lookup).unwrap_or(99);
            Some(Answer::Blobs((0..count as i32).map(BlobId).collect()))
        }

        fn count(&self, lookup: &Lookup) -> Option<usize> {
            match lookup.scope {
                Scope::Path => (!self.unknown).then_some(10 * letters(lookup)),
                _ => Some(letters(lookup)),
            }
        }

        fn starts(&self) -> Option<&Arc<BlobStarts>> {
            None
        }
    }

    fn asked(query: &str, source: &Letters) -> Vec<(String, Option<usize>)> {
        let compiled = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
        let plan = Plan::of(&compiled.expr, &compiled);
        assert!(!Candidates::of(&plan, &[], source).blobs.unwrap().is_empty());
        source.asked.take()
    }

    #[test]
    fn few_candidates_are_few_blobs_with_few_chunks() {
        let chunks = |of: &[i32]| CandidateList {
            terms: vec![0],
            chunks: ChunkSet::of_ranges(20, of.iter().map(|n| *n..n + 1)),
        };
        let starts = BlobStarts::new([0, 3, 9].into_iter().map(BlobId));
        let mut candidates = Candidates {
            blobs: Some(vec![BlobId(0), BlobId(9)]),
            lists: vec![chunks(&[1, 4, 9, 11]), chunks(&[1, 10])],
            starts: Some(Arc::new(starts)),
            within: Vec::new(),
        };
        assert_eq!(candidates.chunk_numbers(), [1, 4, 9, 10, 11]);
        candidates.drop_others();
        assert_eq!(candidates.chunk_numbers(), [1, 9, 10, 11]);
        assert!(candidates.are_at_most(5));
        assert!(!candidates.are_at_most(4) && !candidates.are_at_most(1));
        assert_eq!(candidates.blob_numbers(), [0, 9]);
        candidates.blobs = None;
        assert!(!candidates.are_at_most(1000));
    }

    #[test]
    fn what_has_the_fewest_candidates_narrows_the_rest() {
        let lookup = |text: &str, left| (format!("\"{text}\""), left);
        let (known, unknown) =
            (Letters::default(), Letters { unknown: true, ..Default::default() });
        let fewest_first =
            vec![lookup("quiesce", None), lookup("idempotent", Some(7)), lookup("test", Some(7))];
        assert_eq!(asked("f:test c:idempotent c:quiesce", &known), fewest_first);
        // By estimate, paths come first.
        let by_estimate =
            vec![lookup("test", None), lookup("quiesce", Some(99)), lookup("idempotent", Some(7))];
        assert_eq!(asked("f:test c:idempotent c:quiesce", &unknown), by_estimate);
    }
}
