//! What is worked out once in a search, for many shards: their plans, and what signature files say of each term.

use std::collections::BTreeMap;
use std::sync::Arc;

use ngram::{HitBitmap, ShardFilter};
use query::{CompiledQuery, Expr, Plan, Predicate};

use super::cost::PROMISE_HASHES;

/// What there is to do in a shard. Many shards share one.
#[derive(Debug)]
pub(crate) struct ShardQuery {
    /// What its indexes are asked.
    pub(crate) plan: Plan,
    /// What must hold of a file, whatever its text is.
    pub(crate) of_files: Expr,
    /// The terms that are matched with paths.
    pub(crate) path_terms: Vec<usize>,
    /// What is known to hold for no file.
    pub(crate) ruled_out: Vec<Predicate>,
}

/// What is worked out once in a search, for many shards.
#[derive(Debug)]
pub(crate) struct PlanCache {
    /// What there is to do where the predicates have some values, for all values that were met; none if that leaves nothing.
    queries: BTreeMap<Vec<Option<bool>>, Option<Arc<ShardQuery>>>,
    /// What the signature files say of the terms.
    pub(crate) hits: Hits,
    /// What they say of a part of the n-grams of each.
    pub(crate) sampled: Hits,
    /// In which order the predicates are worked out.
    order: Vec<usize>,
}

/// What signature files say of the terms of a query.
#[derive(Debug)]
pub(crate) struct Hits {
    known: Vec<(usize, HitBitmap)>,
    /// How many hashes of each literal they are asked for at most.
    most: usize,
}

impl Hits {
    /// What that of a shard says of a term.
    pub(crate) fn of(
        &mut self,
        term: usize,
        query: &CompiledQuery,
        filter: &ShardFilter,
    ) -> &HitBitmap {
        let known = self.known.iter().position(|(of, hits)| *of == term && hits.is_of(filter));
        let at = known.unwrap_or_else(|| {
            let ngrams = &query.terms[term].ngrams;
            let hits = match self.most {
                usize::MAX => filter.hits(ngrams),
                most => filter.hits(&ngrams.sample(most)),
            };
            self.known.push((term, hits));
            self.known.len() - 1
        });
        &self.known[at].1
    }
}

impl Default for PlanCache {
    fn default() -> Self {
        let hits = |most| Hits { known: Vec::new(), most };
        Self {
            queries: BTreeMap::new(),
            hits: hits(usize::MAX),
            sampled: hits(PROMISE_HASHES),
            order: Vec::new(),
        }
    }
}

impl PlanCache {
    /// In which order it is worked out what holds of some predicates, by their places: first of the terms that the
    /// fewest blocks may hold.
    pub(crate) fn order(
        &mut self,
        predicates: &[Predicate],
        filter: Option<&ShardFilter>,
        query: &CompiledQuery,
    ) -> Vec<usize> {
        if self.order.is_empty() {
            let mut blocks = |predicate| match (predicate, filter) {
                (Predicate::Content(term) | Predicate::Path(term), Some(filter))
                    if !query.terms[term].matcher.spans_lines() =>
                {
                    self.hits.of(term, query, filter).count()
                }
                _ => usize::MAX,
            };
            let mut order: Vec<_> = predicates.iter().map(|of| blocks(*of)).enumerate().collect();
            order.sort_by_key(|(_, blocks)| *blocks);
            self.order = order.into_iter().map(|(at, _)| at).collect();
        }
        self.order.clone()
    }

    /// What there is to do where the predicates have these values; none if that leaves nothing. With `brute`, every plan is a
    /// scan.
    pub(crate) fn shard_query(
        &mut self,
        (predicates, brute): (&[Predicate], bool),
        query: &CompiledQuery,
        values: &[Option<bool>],
    ) -> Option<Arc<ShardQuery>> {
        if let Some(known) = self.queries.get(values) {
            return known.clone();
        }
        let new = ShardQuery::of(query, predicates, brute, values).map(Arc::new);
        self.queries.insert(values.to_vec(), new.clone());
        new
    }
}

impl ShardQuery {
    fn of(
        query: &CompiledQuery,
        predicates: &[Predicate],
        brute: bool,
        values: &[Option<bool>],
    ) -> Option<Self> {
        let value = |of| values[predicates.iter().position(|p| *p == of)?];
        let left = query.expr.resolve(&value);
        if left == Expr::Const(false) {
            return None;
        }
        let plan = if brute { Plan::Scan } else { Plan::of(&left, query) };
        let of_files = left.without_text();
        let not_at_all = |of: &Predicate| value(*of) == Some(false);
        let ruled_out: Vec<Predicate> = predicates.iter().copied().filter(not_at_all).collect();
        let path_terms = predicates.iter().filter(|of| !ruled_out.contains(of));
        let path_terms = path_terms.filter_map(|of| match of {
            Predicate::Path(term) => Some(*term),
            _ => None,
        });
        Some(Self { plan, of_files, path_terms: path_terms.collect(), ruled_out })
    }
}
