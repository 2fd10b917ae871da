//! Candidates: which blobs of a shard can match, and of each term the chunks in which it can. A plan is followed here;
//! its lookups are answered by the source of the shard.

use query::{Lookup, Plan, Predicate, Scope};
use store::BlobId;

use super::cost::SourceCosts;

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
    /// What lookups cost.
    fn costs(&self) -> &'static SourceCosts;

    /// What each of some lookups finds, perhaps with more than that. Of chunks and paths, what is not in the blobs that are
    /// `left` may be left out.
    fn look_up(
        &mut self,
        lookups: &[&Lookup],
        left: Option<&[BlobId]>,
    ) -> impl Future<Output = Result<Answers, store::Error>> + Send;
}

/// The answers to some lookups, in their order; none for those that all blobs answer.
pub(crate) type Answers = Vec<Option<Answer>>;

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
    pub(crate) async fn of(
        plan: &Plan,
        source: &mut (impl LookUp + Send),
    ) -> Result<Self, store::Error> {
        let mut found = Self::default();
        found.blobs = match plan {
            // Only here: what is not left of a part within an alternative may be found by another one.
            Plan::All(parts) => found.all(parts, source, true, None).await?,
            plan => found.follow(plan, source, None).await?,
        };
        Ok(found)
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
    async fn follow(
        &mut self,
        plan: &Plan,
        source: &mut (impl LookUp + Send),
        left: Option<&[BlobId]>,
    ) -> Result<Option<Vec<BlobId>>, store::Error> {
        match plan {
            Plan::Scan => Ok(None),
            Plan::Lookup(lookup) => self.look_up(&[lookup], source, left).await,
            Plan::All(parts) => Box::pin(self.all(parts, source, false, left)).await,
            Plan::Any(parts) => Box::pin(self.any(parts, source, left)).await,
        }
    }

    /// The blobs that all of some plans find. With `narrowing`, each is followed only in the blobs that those before it
    /// left.
    async fn all(
        &mut self,
        parts: &[Plan],
        source: &mut (impl LookUp + Send),
        narrowing: bool,
        within: Option<&[BlobId]>,
    ) -> Result<Option<Vec<BlobId>>, store::Error> {
        let mut left: Option<Vec<BlobId>> = None;
        for part in parts {
            let few = source.costs().few_blobs(part.frequency());
            if left.as_ref().is_some_and(|left| left.len() <= few) {
                break;
            }
            let within = if narrowing { left.as_deref().or(within) } else { within };
            let found = self.follow(part, source, within).await?;
            left = both(left, found);
        }
        Ok(left)
    }

    /// The blobs that one of some plans finds.
    async fn any(
        &mut self,
        parts: &[Plan],
        source: &mut (impl LookUp + Send),
        left: Option<&[BlobId]>,
    ) -> Result<Option<Vec<BlobId>>, store::Error> {
        // Those that can be asked in one statement first.
        let lookup = |plan: &'_ Plan| matches!(plan, Plan::Lookup(_));
        let lookups: Vec<&Lookup> = parts
            .iter()
            .filter_map(|plan| match plan {
                Plan::Lookup(lookup) => Some(lookup),
                _ => None,
            })
            .collect();
        let mut union = Vec::new();
        if !lookups.is_empty() {
            let Some(found) = self.look_up(&lookups, source, left).await? else { return Ok(None) };
            union = found;
        }
        for part in parts.iter().filter(|part| !lookup(part)) {
            match self.follow(part, source, left).await? {
                Some(found) => union.extend(found),
                None => return Ok(None),
            }
        }
        union.sort_unstable();
        union.dedup();
        Ok(Some(union))
    }

    /// The blobs that one of some lookups finds, ascending; none for all.
    async fn look_up(
        &mut self,
        lookups: &[&Lookup],
        source: &mut (impl LookUp + Send),
        left: Option<&[BlobId]>,
    ) -> Result<Option<Vec<BlobId>>, store::Error> {
        let answers = source.look_up(lookups, left).await?;
        if answers.iter().any(Option::is_none) {
            return Ok(None);
        }
        let mut blobs = Vec::new();
        for (lookup, found) in lookups.iter().zip(answers.into_iter().flatten()) {
            match found {
                Answer::Blobs(found) => {
                    blobs.extend(&found);
                    let predicate = match lookup.scope {
                        Scope::Path => Predicate::Path,
                        Scope::Chunk | Scope::Blob => Predicate::Content,
                    };
                    self.within
                        .push((lookup.terms.iter().copied().map(predicate).collect(), found));
                }
                Answer::Chunks(chunks) => {
                    let same = chunks.chunk_by(|(_, blob), (_, next)| blob == next);
                    blobs.extend(same.map(|same| same[0].1));
                    self.lists.push(List { terms: lookup.terms.clone(), chunks });
                }
            }
        }
        // Of a few that are in order each, which a stable sort sees.
        blobs.sort();
        blobs.dedup();
        Ok(Some(blobs))
    }
}

/// What two ascending lists have in common, if there are two; none is all there is.
pub(crate) fn both(left: Option<Vec<BlobId>>, right: Option<Vec<BlobId>>) -> Option<Vec<BlobId>> {
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
