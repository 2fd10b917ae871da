//! In which order the shards of a search are searched: a function of the query and of what is stored, whatever is in
//! memory and whatever the limit is.
//!
//! The shards come first of which the most blocks may hold what there is to search, by the filters of blocks, and most of
//! whose chunks are in a language that is wanted, or that the ending of a path stands for: with a limit, the others are
//! then hardly looked at. Of shards that promise as much, those with smaller numbers come first. The filters are in a
//! server's memory; of those that are not, Postgres is asked for the few rows of bits that matter.

use std::cmp::Reverse;
use std::hash::Hasher;
use std::sync::Arc;

use ngram::{BLOCK_CHUNKS, Columns, NgramQuery};
use query::{CompiledQuery, Expr, Plan, Predicate};
use store::{Shard, Store};

use super::cost::{MANY_BLOCKS, PROMISE_HASHES};
use super::plans::{Hits, PlanCache, ShardQuery};
use super::shards::{Selection, ShardCandidate};

/// What a block promises all of whose chunks are wanted.
const WHOLE: u64 = 1000;

/// A hash of what is searched for.
pub(crate) fn hash(query: &CompiledQuery) -> u64 {
    let mut hasher = siphasher::sip::SipHasher13::new();
    hasher.write(format!("{:?} {:?}", query.expr, query.select).as_bytes());
    for term in &query.terms {
        hasher.write(term.name.as_bytes());
    }
    hasher.finish()
}

/// Puts the shards of a search in their order.
///
/// # Errors
/// The filters of a shard are not in memory, and the database cannot be asked for them.
pub(crate) async fn sort(
    selection: &mut Selection,
    query: &CompiledQuery,
    plans: &mut PlanCache,
    store: &Store,
) -> Result<(), store::Error> {
    if selection.brute || selection.shards.len() < 2 {
        return Ok(());
    }
    read_filters(selection, query, store).await?;
    for candidate in &mut selection.shards {
        let of_shard = plans.shard_query((&selection.predicates, false), query, &candidate.agreed);
        candidate.promise = of_shard.map_or(Some(0), |of_shard| {
            Blocks { candidate, query, hits: &mut plans.sampled }.promise(&of_shard)
        });
    }
    // Where nothing tells them apart, size does not either.
    if selection.shards.iter().any(|candidate| candidate.promise.is_some()) {
        let everything = |of: &ShardCandidate| count_blocks(&of.shard) as u64 * WHOLE;
        selection.shards.sort_by_key(|candidate| {
            let promise = candidate.promise.unwrap_or_else(|| everything(candidate));
            (Reverse(promise), candidate.shard.id)
        });
    }
    Ok(())
}

/// About how many chunks of a shard have what is searched for, by how many of its blocks promise it; 0 if nothing is known of
/// that. Chunks that lie anywhere leave a block without any as a Poisson distribution does.
pub(crate) fn guessed_chunks(candidate: &ShardCandidate) -> usize {
    let (Some(promise), blocks) = (candidate.promise, count_blocks(&candidate.shard)) else {
        return 0;
    };
    let part = promise as f64 / (blocks as u64 * WHOLE).max(1) as f64;
    // Files lie together that have much in common: then a block of many has many.
    if part > MANY_BLOCKS {
        return candidate.shard.chunks as usize;
    }
    (-(1.0 - part).ln() * blocks as f64) as usize
}

/// Reads of filters that are not in memory the rows that tell of the query.
async fn read_filters(
    selection: &mut Selection,
    query: &CompiledQuery,
    store: &Store,
) -> Result<(), store::Error> {
    let missing = selection.shards.iter().filter(|one| one.cached.filters.is_none());
    let missing: Vec<&Shard> = missing.map(|one| &one.shard).collect();
    let content = |of: &Predicate| matches!(of, Predicate::Content(_));
    if missing.is_empty() || !selection.predicates.iter().any(content) {
        return Ok(());
    }
    let terms = query.terms.iter().map(|term| term.ngrams.sample(PROMISE_HASHES)).collect();
    let mut lease = store.lease().await?;
    let mut filters = lease.filter_rows(&missing, &NgramQuery::any(terms)).await?;
    lease.done();
    for candidate in &mut selection.shards {
        if let Some(filter) = filters.remove(&candidate.shard.id) {
            candidate.cached.filters = Some(Arc::new(filter));
        }
    }
    Ok(())
}

/// How many blocks of a shard have filters.
fn count_blocks(shard: &Shard) -> usize {
    (shard.filtered.max(0) as usize).div_ceil(BLOCK_CHUNKS as usize)
}

/// The blocks of one shard.
struct Blocks<'a> {
    candidate: &'a ShardCandidate,
    query: &'a CompiledQuery,
    hits: &'a mut Hits,
}

impl Blocks<'_> {
    /// How much a shard promises, in thousandths of a block; none if nothing is known of that.
    fn promise(&mut self, of_shard: &ShardQuery) -> Option<u64> {
        let shard = &self.candidate.shard;
        let blocks = self.of_plan(&of_shard.plan).map(|blocks| blocks.count() as u64);
        let wanted = in_languages(&of_shard.of_files, shard, self.query);
        if blocks.is_none() && wanted.is_none() {
            return None;
        }
        Some(blocks.unwrap_or(count_blocks(shard) as u64) * wanted.unwrap_or(WHOLE))
    }

    /// Those that may hold what a plan asks for of texts; none for all.
    fn of_plan(&mut self, plan: &Plan) -> Option<Columns> {
        match plan {
            Plan::Scan => None,
            plan if plan.is_of_paths() => None,
            Plan::Lookup(lookup) => {
                let each: Option<Vec<Columns>> =
                    lookup.terms.iter().map(|term| self.of_term(*term)).collect();
                reduce(each?, Columns::or)
            }
            Plan::All(parts) => {
                let parts = parts.iter().filter_map(|part| self.of_plan(part)).collect();
                reduce(parts, Columns::and)
            }
            // What paths add is little.
            Plan::Any(parts) => {
                let parts = parts.iter().filter(|part| !part.is_of_paths());
                let parts: Option<Vec<Columns>> = parts.map(|part| self.of_plan(part)).collect();
                reduce(parts?, Columns::or)
            }
        }
    }

    /// Those that may hold a term; none if that is not known.
    fn of_term(&mut self, term: usize) -> Option<Columns> {
        let shard = &self.candidate.shard;
        let filter = self.candidate.cached.filters.as_deref()?;
        let mut blocks = filter.blocks(self.hits.of(term, self.query, filter));
        // They may be of a later state of the index, with more blocks.
        blocks.keep(std::iter::once(0..count_blocks(shard)));
        Some(blocks)
    }
}

fn reduce(parts: Vec<Columns>, with: fn(&mut Columns, &Columns)) -> Option<Columns> {
    parts.into_iter().reduce(|mut all, one| {
        with(&mut all, &one);
        all
    })
}

/// How many of 1000 chunks of a shard are of files in the languages that a condition on files wants, or that its paths
/// end like; none if it wants all.
fn in_languages(of_files: &Expr, shard: &Shard, query: &CompiledQuery) -> Option<u64> {
    let names = match of_files {
        Expr::Predicate(Predicate::Language(index)) => &query.languages[*index],
        Expr::Predicate(Predicate::Path(term)) => query.terms[*term].languages_of_paths.as_ref()?,
        Expr::All(parts) => {
            return parts.iter().filter_map(|part| in_languages(part, shard, query)).min();
        }
        Expr::Const(_) | Expr::Predicate(_) | Expr::Not(_) | Expr::Any(_) => return None,
    };
    let wanted = shard.languages.iter().filter(|(name, _)| names.contains(name));
    let chunks: u64 = wanted.map(|(_, chunks)| u64::from(*chunks)).sum();
    // A few of many chunks are more than none.
    Some((chunks * WHOLE).div_ceil((shard.chunks.max(1) as u64).max(chunks)))
}
