//! Results that a search computes once for many shards: their plans, and the hits of each term in signature files.

use std::collections::BTreeMap;
use std::sync::Arc;

use ngram::{HitBitmap, ShardFilter};
use query::{CompiledQuery, Expr, Lookup, Plan, Predicate};

use super::cost::ORDER_HASHES;

/// The plan and conditions for one shard. Many shards share one.
#[derive(Debug)]
pub(crate) struct ShardQuery {
    /// Plan for the indexes of the shard.
    pub(crate) plan: Plan,
    /// The part of the plan about texts: [`Plan::of_texts`].
    pub(crate) of_texts: Option<Plan>,
    /// Lookups for terms that must not match: they cannot match elsewhere.
    pub(crate) negated: Vec<Lookup>,
    /// Condition on a file, whatever its text.
    pub(crate) file_condition: Expr,
    /// Terms that are matched with paths.
    pub(crate) path_terms: Vec<usize>,
    /// Predicates that hold for no file of the shard.
    pub(crate) ruled_out: Vec<Predicate>,
}

/// Results that a search computes once for many shards.
#[derive(Debug)]
pub(crate) struct PlanCache {
    /// Shard query for each combination of predicate values met so far; `None` if no file can match.
    queries: BTreeMap<Vec<Option<bool>>, Option<Arc<ShardQuery>>>,
    /// Hits of the terms in the signature files.
    pub(crate) hits: HitBitmaps,
    /// Hits by a sample of the hashes of each term.
    pub(crate) sampled: HitBitmaps,
    /// Order in which the predicates are evaluated, as indices.
    order: Vec<usize>,
}

/// The hits of a query's terms in signature files. One bitmap holds the hits in all shards of a signature file.
#[derive(Debug)]
pub(crate) struct HitBitmaps {
    known: Vec<(usize, HitBitmap)>,
    /// Maximum number of hashes to look up for each literal.
    most: usize,
}

impl HitBitmaps {
    /// Returns the hits of a term in the signature file of `filter`, from the first lookup on cached.
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
        let hits = |most| HitBitmaps { known: Vec::new(), most };
        Self {
            queries: BTreeMap::new(),
            hits: hits(usize::MAX),
            sampled: hits(ORDER_HASHES),
            order: Vec::new(),
        }
    }
}

impl PlanCache {
    /// Returns the order in which to evaluate predicates, as indices: the terms with the fewest possible blocks first.
    pub(crate) fn order(
        &mut self,
        predicates: &[Predicate],
        filter: Option<&ShardFilter>,
        query: &CompiledQuery,
    ) -> Vec<usize> {
        if self.order.is_empty() {
            let mut blocks = |predicate| match (predicate, filter) {
                (
                    Predicate::Content(term) | Predicate::Path(term) | Predicate::Symbol(term),
                    Some(filter),
                ) if !query.terms[term].matcher.spans_lines() => {
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

    /// Returns the plan and conditions for a shard whose predicates have these values; `None` if no file can match.
    /// With `brute`, every plan is a scan.
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
    /// Returns the lookups of the plan, including those of terms that must not match.
    pub(crate) fn lookups(&self) -> impl Iterator<Item = &Lookup> {
        self.plan.lookups().into_iter().chain(&self.negated)
    }

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
        let mut negated = if brute { Vec::new() } else { Plan::of_negated(&left, query) };
        let planned: Vec<usize> =
            plan.lookups().iter().flat_map(|lookup| lookup.terms.iter().copied()).collect();
        negated.retain(|lookup| !lookup.terms.iter().any(|term| planned.contains(term)));
        let file_condition = left.without_text();
        let not_at_all = |of: &Predicate| value(*of) == Some(false);
        let ruled_out: Vec<Predicate> = predicates.iter().copied().filter(not_at_all).collect();
        let path_terms = predicates.iter().filter(|of| !ruled_out.contains(of));
        let path_terms = path_terms.filter_map(|of| match of {
            Predicate::Path(term) => Some(*term),
            _ => None,
        });
        let (of_texts, path_terms) = (plan.of_texts(), path_terms.collect());
        Some(Self { plan, of_texts, negated, file_condition, path_terms, ruled_out })
    }
}
