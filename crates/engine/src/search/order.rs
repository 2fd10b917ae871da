//! In which order the shards of a search are searched: a function of the query and of what is stored, whatever is in
//! memory and whatever the limit is.

use std::hash::Hasher;

use ngram::Columns;
use query::{CompiledQuery, Plan, Scope};
use store::Store;

use super::plans::{Hits, PlanCache};
use super::shards::{Selection, ShardCandidate};

/// A hash of what is searched for.
pub(crate) fn hash(query: &CompiledQuery) -> u64 {
    let mut hasher = siphasher::sip::SipHasher13::new();
    hasher.write(format!("{:?} {:?}", query.expr, query.select).as_bytes());
    for term in &query.terms {
        hasher.write(term.name.as_bytes());
    }
    hasher.finish()
}

/// Puts those shards first of which the most blocks may hold what there is to search, by the filters of blocks: with a
/// limit, the others are then hardly looked at. Of shards with as many, those with smaller numbers come first.
///
/// # Errors
/// The filters of a shard are not in memory, and the database cannot be asked for them.
pub(crate) async fn sort(
    selection: &mut Selection,
    query: &CompiledQuery,
    plans: &mut PlanCache,
    _store: &Store,
) -> Result<(), store::Error> {
    let candidates = std::mem::take(&mut selection.shards);
    let mut ranked: Vec<(usize, ShardCandidate)> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let of_shard = plans.shard_query(selection, query, &candidate.agreed);
        let blocks = of_shard.map_or(Some(0), |of_shard| {
            let hits = &mut plans.hits;
            blocks(&of_shard.plan, &candidate, query, hits).map(|blocks| blocks.count())
        });
        ranked.push((blocks.unwrap_or(usize::MAX), candidate));
    }
    ranked.sort_by_key(|(blocks, candidate)| (std::cmp::Reverse(*blocks), candidate.shard.id));
    selection.shards = ranked.into_iter().map(|(_, candidate)| candidate).collect();
    Ok(())
}

/// The blocks of a shard that may hold what a plan asks for of texts; none for all.
fn blocks(
    plan: &Plan,
    candidate: &ShardCandidate,
    query: &CompiledQuery,
    hits: &mut Hits,
) -> Option<Columns> {
    let mut of = |parts: &[Plan]| -> Vec<Option<Columns>> {
        parts.iter().map(|part| blocks(part, candidate, query, hits)).collect()
    };
    match plan {
        Plan::Scan => None,
        Plan::Lookup(lookup) if lookup.scope == Scope::Path => None,
        Plan::Lookup(lookup) => {
            let filter = candidate.cached.filters.as_deref()?;
            let each = lookup.terms.iter();
            let each = each.map(|term| filter.blocks(hits.of(*term, query, filter)));
            each.reduce(|mut all, one| {
                all.or(&one);
                all
            })
        }
        Plan::All(parts) => of(parts).into_iter().flatten().reduce(|mut all, one| {
            all.and(&one);
            all
        }),
        Plan::Any(parts) => {
            let parts: Option<Vec<Columns>> = of(parts).into_iter().collect();
            parts?.into_iter().reduce(|mut any, one| {
                any.or(&one);
                any
            })
        }
    }
}
