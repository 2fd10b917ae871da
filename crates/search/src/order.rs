//! The order in which a search goes through its shards. It depends on the query and on the stored data, never on the
//! contents of memory or on the limit.
//!
//! First come the shards with the most expected blocks: by the block filters, many blocks may hold a match, and most
//! chunks are in a wanted language, or in a language with the wanted file name extension. A search with a limit then
//! hardly reads the others. Among equals, the smaller number comes first. If filters are not in memory, Postgres
//! returns the few rows that matter.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::Arc;

use futures_util::future::try_join_all;
use ngram::{BLOCK_CHUNKS, Columns, NgramQuery};
use query::{CompiledQuery, Expr, Lookup, Predicate};
use store::{Shard, Store};

use super::cost::{MANY_BLOCKS, ORDER_HASHES};
use super::plans::{HitBitmaps, PlanCache, ShardQuery};
use super::shards::{Selection, ShardCandidate};

/// Expected blocks, in thousandths, of a block with all chunks in a wanted language.
const WHOLE: u64 = 1000;

/// Hashes all parts of a query that determine which files match. A cursor holds the hash, to be valid for the same
/// query only.
pub(crate) fn hash(query: &CompiledQuery) -> u64 {
    let mut hasher = siphasher::sip::SipHasher13::new();
    hasher.write(format!("{:?}", (&query.expr, query.select, &query.languages)).as_bytes());
    for term in &query.terms {
        // The name of a pattern without letters does not tell whether it is caseless: `[!-^]`.
        hasher.write(format!("{:?}", (&term.name, term.is_caseless())).as_bytes());
    }
    for property in &query.properties {
        hasher.write(format!("{:?}", property.term).as_bytes());
    }
    for tree in &query.trees {
        hasher.write(tree.to_string().as_bytes());
    }
    if let Some(changes) = &query.changes {
        hasher.write(changes.to_string().as_bytes());
    }
    hasher.finish()
}

/// Sorts the shards of a search. It may read with so many connections of a store at once.
///
/// # Errors
/// The filters of a shard are not in memory, and the database query fails.
pub(crate) async fn sort(
    selection: &mut Selection,
    query: &CompiledQuery,
    plans: &mut PlanCache,
    reads: (&Store, usize),
) -> Result<(), store::Error> {
    if selection.brute || selection.shards.len() < 2 {
        return Ok(());
    }
    read_filters(selection, query, reads).await?;
    for candidate in &mut selection.shards {
        let shard_query =
            plans.shard_query((&selection.predicates, false), query, &candidate.agreed);
        candidate.expected_blocks = shard_query.map_or(Some(0), |shard_query| {
            Blocks { candidate, query, hits: &mut plans.sampled }.expected_blocks(&shard_query)
        });
    }
    // If nothing is known about any shard, keep the order of numbers rather than sort by size.
    if selection.shards.iter().any(|candidate| candidate.expected_blocks.is_some()) {
        let everything = |of: &ShardCandidate| count_blocks(&of.shard) as u64 * WHOLE;
        selection.shards.sort_by_key(|candidate| {
            let expected_blocks =
                candidate.expected_blocks.unwrap_or_else(|| everything(candidate));
            (Reverse(expected_blocks), candidate.shard.id)
        });
    }
    Ok(())
}

/// Estimates how many chunks of a shard match, from the part of its blocks that may hold a match; 0 if unknown. Chunks
/// that match at random places fall into blocks by a Poisson distribution, so a part p of blocks with matches means
/// -ln(1-p) matching chunks per block.
pub(crate) fn estimate_matching_chunks(candidate: &ShardCandidate) -> usize {
    let (Some(expected_blocks), blocks) =
        (candidate.expected_blocks, count_blocks(&candidate.shard))
    else {
        return 0;
    };
    let part = expected_blocks as f64 / (blocks as u64 * WHOLE).max(1) as f64;
    // Similar files lie together: where many blocks match, most chunks of a block do.
    if part > MANY_BLOCKS {
        return candidate.shard.chunks as usize;
    }
    (-(1.0 - part).ln() * blocks as f64) as usize
}

/// Reads the filter rows that the query needs, for the shards whose filters are not in memory.
async fn read_filters(
    selection: &mut Selection,
    query: &CompiledQuery,
    (store, connections): (&Store, usize),
) -> Result<(), store::Error> {
    let missing = selection.shards.iter().filter(|one| one.cached.filters.is_none());
    let missing: Vec<&Shard> = missing.map(|one| &one.shard).collect();
    let content = |of: &Predicate| matches!(of, Predicate::Content(_) | Predicate::Symbol(_));
    if missing.is_empty() || !selection.predicates.iter().any(content) {
        return Ok(());
    }
    let terms = query.terms.iter().map(|term| term.ngrams.sample(ORDER_HASHES)).collect();
    let ngrams = NgramQuery::any(terms);
    // The groups of nodes are asked at once.
    let mut parts = store.in_groups(missing, |shard| shard.id);
    if store.is_distributed() {
        let of_each = parts.len().div_ceil(connections.max(1));
        parts = parts.chunks(of_each).map(<[Vec<&Shard>]>::concat).collect();
    } else {
        parts = vec![parts.concat()];
    }
    let reading = try_join_all(parts.iter().map(async |part| {
        let mut lease = store.lease().await?;
        let filters = lease.filter_rows(part, &ngrams).await?;
        lease.done();
        Ok::<_, store::Error>(filters)
    }));
    let mut filters: HashMap<_, _> = reading.await?.into_iter().flatten().collect();
    for candidate in &mut selection.shards {
        if let Some(filter) = filters.remove(&candidate.shard.id) {
            candidate.cached.filters = Some(Arc::new(filter));
        }
    }
    Ok(())
}

/// Returns the number of a shard's blocks with filters.
fn count_blocks(shard: &Shard) -> usize {
    (shard.filtered.max(0) as usize).div_ceil(BLOCK_CHUNKS as usize)
}

/// Finds the blocks of one shard that may match.
struct Blocks<'a> {
    candidate: &'a ShardCandidate,
    query: &'a CompiledQuery,
    hits: &'a mut HitBitmaps,
}

impl Blocks<'_> {
    /// Returns the expected blocks of the shard, in thousandths; `None` if nothing is known.
    fn expected_blocks(&mut self, shard_query: &ShardQuery) -> Option<u64> {
        let shard = &self.candidate.shard;
        let blocks = shard_query.of_texts.as_ref().and_then(|plan| {
            let and = combined(Columns::and);
            plan.fold(&mut |lookup| self.of_lookup(lookup), &and, &combined(Columns::or))
        });
        let blocks = blocks.map(|blocks| blocks.count() as u64);
        let wanted = in_languages(&shard_query.file_condition, shard, self.query);
        if blocks.is_none() && wanted.is_none() {
            return None;
        }
        Some(blocks.unwrap_or(count_blocks(shard) as u64) * wanted.unwrap_or(WHOLE))
    }

    /// Returns the blocks that may match a lookup; `None` if unknown.
    fn of_lookup(&mut self, lookup: &Lookup) -> Option<Columns> {
        let each: Option<Vec<Columns>> =
            lookup.terms.iter().map(|term| self.of_term(*term)).collect();
        each?.into_iter().reduce(combined(Columns::or))
    }

    /// Returns the blocks that may hold a term; `None` if unknown.
    fn of_term(&mut self, term: usize) -> Option<Columns> {
        let shard = &self.candidate.shard;
        let filter = self.candidate.cached.filters.as_deref()?;
        let mut blocks = filter.blocks(self.hits.of(term, self.query, filter));
        // The filters may be of a later epoch, with more blocks.
        blocks.retain_ranges(std::iter::once(0..count_blocks(shard)));
        Some(blocks)
    }
}

fn combined(with: fn(&mut Columns, &Columns)) -> impl Fn(Columns, Columns) -> Columns {
    move |mut all, one| {
        with(&mut all, &one);
        all
    }
}

/// Returns how many chunks in 1000 belong to files in the languages that a condition requires, by name or by path
/// extension; `None` if it requires none.
fn in_languages(file_condition: &Expr, shard: &Shard, query: &CompiledQuery) -> Option<u64> {
    let names = match file_condition {
        Expr::Predicate(Predicate::Language(index)) => &query.languages[*index],
        Expr::Predicate(Predicate::Path(term)) => query.terms[*term].languages_of_paths.as_ref()?,
        Expr::All(parts) => {
            return parts.iter().filter_map(|part| in_languages(part, shard, query)).min();
        }
        Expr::Const(_) | Expr::Predicate(_) | Expr::Not(_) | Expr::Any(_) => return None,
    };
    let wanted = shard.languages.iter().filter(|(name, _)| names.contains(name));
    let chunks: u64 = wanted.map(|(_, chunks)| u64::from(*chunks)).sum();
    // Rounded up: a few of very many chunks are more than none.
    Some((chunks * WHOLE).div_ceil((shard.chunks.max(1) as u64).max(chunks)))
}
