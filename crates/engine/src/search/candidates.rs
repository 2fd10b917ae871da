//! Candidates: which blobs of a shard can match, and of each term the chunks in which it can.

use std::ops::Range;

use ngram::NgramQuery;
use query::{
    CompiledQuery, CompiledTerm, LiteralQuery, Lookup, Plan, Predicate, Scope, ngrams_of_literals,
};
use store::{BlobId, Epoch, Found};

use super::connection::Connection;
use super::select::Target;
use super::sift::Sifts;
use super::texts::Texts;

/// When so few blobs are left, reading all of them is cheaper than asking the index for another term,
/// however rare.
const FEW_BLOBS: usize = 16;

/// What the index named in one shard.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The blobs, ascending; none for all there are.
    pub(crate) blobs: Option<Vec<BlobId>>,
    /// For some terms, all chunks of the blobs in which they can match.
    pub(crate) lists: Vec<List>,
    /// For some atoms, all blobs for whose files they can hold, ascending.
    within: Vec<(Vec<Predicate>, Vec<BlobId>)>,
}

/// All chunks of the candidates of a shard in which one of some terms can match, and perhaps of other blobs.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) terms: Vec<usize>,
    /// Ascending, each with its blob.
    pub(crate) chunks: Vec<(i32, BlobId)>,
}

/// Who names the candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The indexes in Postgres.
    Scope,
    /// The summaries in memory: more candidates, and no question to Postgres. Of the blobs with these
    /// numbers only, no blob cut in two.
    Summary(Range<i32>),
}

/// Where candidates are looked for, and what for.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) target: &'a Target,
    /// What the summaries let through.
    pub(crate) sifts: &'a Sifts,
    pub(crate) epoch: Epoch,
    pub(crate) program: &'a CompiledQuery,
    /// The texts in memory.
    pub(crate) texts: Option<&'a Texts>,
}

impl Place<'_> {
    /// Whether all is in memory, or nearly, that tells which chunks of a stretch are worth reading.
    fn knows_texts(&self) -> bool {
        let known = &self.target.known;
        known.texts && known.files.is_some()
    }
}

impl Candidates {
    /// Finds the candidates in a shard.
    pub(crate) async fn find(
        source: Source,
        conn: &mut Connection,
        place: Place<'_>,
    ) -> Result<Self, store::Error> {
        let (lists, within) = (Vec::new(), Vec::new());
        let mut asking = Asking { source, conn, place, left: None, lists, within };
        let blobs = asking.follow(&place.target.work.plan).await?;
        Ok(Self { blobs, lists: asking.lists, within: asking.within })
    }

    /// Without the blobs before this one.
    pub(crate) fn drop_before(&mut self, first: BlobId) {
        if let Some(blobs) = &mut self.blobs {
            blobs.drain(..blobs.partition_point(|blob| *blob < first));
        }
    }

    /// Whether an atom is known not to hold for any file with a blob.
    pub(crate) fn rules_out(&self, blob: BlobId, atom: Predicate) -> bool {
        let without = |(atoms, blobs): &(Vec<Predicate>, Vec<BlobId>)| {
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
    source: Source,
    conn: &'a mut Connection,
    place: Place<'a>,
    /// The blobs, ascending, that can be candidates after what was found already, if not all can be.
    left: Option<Vec<BlobId>>,
    lists: Vec<List>,
    within: Vec<(Vec<Predicate>, Vec<BlobId>)>,
}

impl Asking<'_> {
    /// The blobs that a plan finds; none for all.
    async fn follow(&mut self, plan: &Plan) -> Result<Option<Vec<BlobId>>, store::Error> {
        match plan {
            Plan::Scan => Ok(None),
            Plan::Lookup(lookup) => self.look_up(&[lookup]).await,
            Plan::All(parts) => {
                let source = self.source.clone();
                // What is not left of a part of the plan may be found by another.
                let is_all = std::ptr::eq(plan, &raw const self.place.target.work.plan);
                let mut left: Option<Vec<BlobId>> = None;
                for part in parts {
                    // The more the index would name, the more blobs are cheaper to read: a chunk in
                    // 1000 takes it about as long as half a blob takes to read. What is in memory costs next to
                    // nothing.
                    let few = match self.source {
                        Source::Scope => FEW_BLOBS.max(part.frequency() as usize / 2),
                        Source::Summary(_) => 0,
                    };
                    if left.as_ref().is_some_and(|left| left.len() <= few) {
                        break;
                    }
                    if is_all {
                        self.left.clone_from(&left);
                    }
                    let found = Box::pin(self.follow(part)).await?;
                    left = both(left, found);
                    // What the index names of the rarest, the summaries hardly let through for the others by mistake.
                    let asked = self.source == Source::Scope && part.is_of_chunks();
                    if asked && self.place.knows_texts() {
                        self.source = Source::Summary(0..i32::MAX);
                    }
                }
                self.source = source;
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
                let mut union = Vec::new();
                if !lookups.is_empty() {
                    let Some(found) = self.look_up(&lookups).await? else { return Ok(None) };
                    union = found;
                }
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

    /// The blobs that one of some lookups finds, ascending; none for all.
    async fn look_up(&mut self, lookups: &[&Lookup]) -> Result<Option<Vec<BlobId>>, store::Error> {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for lookup in lookups {
            match self.remembered(lookup) {
                Some(found) => here.push((*lookup, found)),
                None if lookup.scope == Scope::Blob && self.place.knows_texts() => {
                    let Some(blobs) = self.texts(&lookup.literals).await? else { return Ok(None) };
                    here.push((*lookup, Found::Blobs(blobs)));
                }
                None => there.push((*lookup, lookup.ngrams(self.place.program).into_owned())),
            }
        }
        if !there.is_empty() {
            let found = self.ask(&there).await?;
            here.extend(there.into_iter().map(|(lookup, _)| lookup).zip(found));
        }
        let mut blobs = Vec::new();
        for (lookup, mut found) in here {
            self.rule_out(lookup, &mut found);
            match found {
                Found::Blobs(found) => {
                    blobs.extend(&found);
                    let atom = if lookup.scope == Scope::Path {
                        Predicate::Path
                    } else {
                        Predicate::Content
                    };
                    self.within.push((lookup.terms.iter().copied().map(atom).collect(), found));
                }
                Found::Documents(_) => unreachable!("they are told as chunks"),
                Found::Chunks(chunks) => {
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

impl Asking<'_> {
    /// What the index answers to some lookups.
    async fn ask(&mut self, lookups: &[(&Lookup, NgramQuery)]) -> Result<Vec<Found>, store::Error> {
        let Place { target, epoch, .. } = self.place;
        let stretches = self.place.knows_texts();
        let lease = self.conn.lease().await?;
        let found = lease.lookups(target.shard.id, epoch, lookups, stretches).await?;
        let told = |found| match (found, &target.known.files) {
            (Found::Documents(stretches), Some(files)) => Found::Chunks(files.chunks(&stretches)),
            (found, _) => found,
        };
        Ok(found.into_iter().map(told).collect())
    }

    /// The blobs of which each string of a need may lie in some chunk, ascending; none for all. What is in memory
    /// tells which chunks of the stretches that the index names.
    async fn texts(
        &mut self,
        literals: &LiteralQuery,
    ) -> Result<Option<Vec<BlobId>>, store::Error> {
        match literals {
            LiteralQuery::Anything => Ok(None),
            LiteralQuery::All(parts) => {
                let mut parts: Vec<&LiteralQuery> = parts.iter().collect();
                parts.sort_by_key(|literals| literals.frequency());
                let mut left: Option<Vec<BlobId>> = None;
                for part in parts {
                    if left.as_ref().is_some_and(|left| left.len() <= FEW_BLOBS) {
                        break;
                    }
                    let found = Box::pin(self.texts(part)).await?;
                    left = both(left, found);
                }
                Ok(left)
            }
            LiteralQuery::Any(parts)
                if parts.iter().any(|part| matches!(part, LiteralQuery::All(_))) =>
            {
                let mut union = Vec::new();
                for part in parts {
                    let Some(found) = Box::pin(self.texts(part)).await? else { return Ok(None) };
                    union.extend(found);
                }
                union.sort_unstable();
                union.dedup();
                Ok(Some(union))
            }
            // What lies in one chunk.
            LiteralQuery::Any(_) | LiteralQuery::Literal(_) | LiteralQuery::NonAsciiFold => {
                let lookup =
                    Lookup { scope: Scope::Chunk, terms: Vec::new(), literals: literals.clone() };
                let ngrams = ngrams_of_literals(literals);
                let found = self.ask(&[(&lookup, ngrams.clone())]).await?;
                let Some(Found::Chunks(mut chunks)) = found.into_iter().next() else {
                    return Ok(None);
                };
                if let Some(texts) = self.place.texts {
                    texts.reader(&self.place.target.shard).retain(&ngrams, &mut chunks);
                }
                let mut blobs: Vec<BlobId> = chunks.into_iter().map(|(_, blob)| blob).collect();
                blobs.dedup();
                Ok(Some(blobs))
            }
        }
    }

    /// What is found without Postgres: paths are matched in memory, and chunks named by the summary if
    /// it is asked.
    fn remembered(&self, lookup: &Lookup) -> Option<Found> {
        let Place { target, program, sifts, .. } = self.place;
        let files = target.known.files.as_ref()?;
        let left = self.left.as_deref();
        match (lookup.scope, &self.source) {
            (Scope::Path, source) => {
                let terms: Vec<&CompiledTerm> =
                    lookup.terms.iter().map(|term| &program.terms[*term]).collect();
                let all = 0..i32::MAX;
                let blobs = if let Source::Summary(blobs) = source { blobs } else { &all };
                Some(Found::Blobs(files.matching(&terms, blobs, left)))
            }
            (Scope::Chunk, Source::Summary(numbers)) => {
                let sifted = sifts.get(lookup)?;
                Some(Found::Chunks(sifted.named(numbers, target.shard.chunks, left, files)))
            }
            (Scope::Chunk | Scope::Blob, _) => None,
        }
    }

    /// Drops the chunks that the index names and the summaries rule out.
    fn rule_out(&self, lookup: &Lookup, found: &mut Found) {
        let sifts = self.place.sifts;
        let Found::Chunks(chunks) = found else { return };
        if self.source != Source::Scope {
            return;
        }
        if let Some(sifted) = sifts.get(lookup) {
            sifted.retain(chunks);
        }
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
