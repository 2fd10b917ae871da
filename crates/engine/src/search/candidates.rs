//! Candidates: which blobs of a shard can match, and of each term the chunks in which it can.

use query::{Atom, Index, Lookup, Plan};
use store::{BlobId, Epoch, Found, Lease, ShardId};

/// When so few blobs are left, reading all of them is cheaper than asking the index for another term,
/// however rare.
const FEW_BLOBS: usize = 16;

/// What the index named in one shard.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The blobs, ascending; none for all there are.
    pub(crate) blobs: Option<Vec<BlobId>>,
    /// For some terms, all chunks in which they can match.
    pub(crate) lists: Vec<List>,
    /// For some atoms, all blobs for whose files they can hold, ascending.
    within: Vec<(Vec<Atom>, Vec<BlobId>)>,
}

/// All chunks of a shard in which one of some terms can match.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) terms: Vec<usize>,
    /// Ascending, each with its blob.
    pub(crate) chunks: Vec<(i32, BlobId)>,
}

impl Candidates {
    /// Asks the indexes of a shard.
    pub(crate) async fn ask(
        lease: &mut Lease,
        shard: ShardId,
        epoch: Epoch,
        plan: &Plan,
    ) -> Result<Self, store::Error> {
        let mut asking = Asking { lease, shard, epoch, lists: Vec::new(), within: Vec::new() };
        let blobs = asking.follow(plan).await?;
        Ok(Self { blobs, lists: asking.lists, within: asking.within })
    }

    /// Whether an atom is known not to hold for any file with a blob.
    pub(crate) fn rules_out(&self, blob: BlobId, atom: Atom) -> bool {
        let without = |(atoms, blobs): &(Vec<Atom>, Vec<BlobId>)| {
            atoms.contains(&atom) && blobs.binary_search(&blob).is_err()
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
}

struct Asking<'a> {
    lease: &'a mut Lease,
    shard: ShardId,
    epoch: Epoch,
    lists: Vec<List>,
    within: Vec<(Vec<Atom>, Vec<BlobId>)>,
}

impl Asking<'_> {
    /// The blobs that a plan finds; none for all.
    async fn follow(&mut self, plan: &Plan) -> Result<Option<Vec<BlobId>>, store::Error> {
        match plan {
            Plan::Scan => Ok(None),
            Plan::Lookup(lookup) => Ok(Some(self.look_up(&[lookup]).await?)),
            Plan::All(parts) => {
                let mut left: Option<Vec<BlobId>> = None;
                for part in parts {
                    // The more the index would name, the more blobs are cheaper to read: a chunk in
                    // 1000 takes it about as long as half a blob takes to read.
                    let few = FEW_BLOBS.max(part.frequency() as usize / 2);
                    if left.as_ref().is_some_and(|left| left.len() <= few) {
                        break;
                    }
                    let found = Box::pin(self.follow(part)).await?;
                    left = match (left, found) {
                        (Some(left), Some(found)) => Some(intersection(&left, &found)),
                        (left, found) => left.or(found),
                    };
                }
                Ok(left)
            }
            Plan::Any(parts) => {
                // Those that can be asked in one statement first.
                let lookups: Vec<&Lookup> = parts
                    .iter()
                    .filter_map(|plan| match plan {
                        Plan::Lookup(lookup) => Some(lookup),
                        _ => None,
                    })
                    .collect();
                let mut union =
                    if lookups.is_empty() { Vec::new() } else { self.look_up(&lookups).await? };
                for part in parts.iter().filter(|part| !matches!(part, Plan::Lookup(_))) {
                    match Box::pin(self.follow(part)).await? {
                        Some(found) => union.extend(found),
                        None => return Ok(None),
                    }
                }
                union.sort_unstable();
                union.dedup();
                Ok(Some(union))
            }
        }
    }

    /// The blobs that one of some lookups finds, ascending.
    async fn look_up(&mut self, lookups: &[&Lookup]) -> Result<Vec<BlobId>, store::Error> {
        let found = self.lease.lookups(self.shard, self.epoch, lookups).await?;
        let mut blobs = Vec::new();
        for (lookup, found) in lookups.iter().zip(found) {
            match found {
                Found::Blobs(found) => {
                    blobs.extend(&found);
                    let atom =
                        if lookup.index == Index::Paths { Atom::Path } else { Atom::Content };
                    self.within.push((lookup.terms.iter().copied().map(atom).collect(), found));
                }
                Found::Chunks(chunks) => {
                    blobs.extend(chunks.iter().map(|(_, blob)| *blob));
                    self.lists.push(List { terms: lookup.terms.clone(), chunks });
                }
            }
        }
        blobs.sort_unstable();
        blobs.dedup();
        Ok(blobs)
    }
}

/// What two ascending lists have in common.
fn intersection(left: &[BlobId], right: &[BlobId]) -> Vec<BlobId> {
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    short.iter().filter(|blob| long.binary_search(blob).is_ok()).copied().collect()
}
