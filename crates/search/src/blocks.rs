//! Evaluates the predicates of a query with the block filters of one shard, as far as these are in memory.

use std::borrow::Cow;

use ngram::SurvivingBlocks;
use query::{CompiledQuery, Lookup, Predicate};

use super::plans::HitBitmaps;
use crate::cache::CachedShard;

/// The blocks of a shard that may hold each term matched line by line, with the number of the term.
#[derive(Debug, Default)]
pub(crate) struct TermBlocks(Vec<(usize, SurvivingBlocks)>);

impl TermBlocks {
    /// Returns `Some(false)` if a predicate holds for no file of the shard, else `None`. Keeps the surviving
    /// blocks of a term.
    pub(crate) fn value(
        &mut self,
        predicate: Predicate,
        cached: &CachedShard,
        query: &CompiledQuery,
        hits: &mut HitBitmaps,
    ) -> Option<bool> {
        let may_hold = match predicate {
            // The name of a symbol occurs in the text.
            Predicate::Content(number) | Predicate::Symbol(number) => {
                let (filter, term) = (cached.filters.as_ref()?, &query.terms[number]);
                if term.matcher.spans_lines() {
                    filter.may_hold(&term.ngrams)
                } else {
                    let found = filter.surviving(&term.ngrams, hits.of(number, query, filter));
                    let any = !found.blocks.is_empty();
                    self.0.push((number, found));
                    any
                }
            }
            Predicate::Path(term) => {
                let files = cached.files.as_ref()?;
                !files.filters.columns(&query.terms[term].ngrams).is_empty()
            }
            Predicate::Repo(_)
            | Predicate::Property(_)
            | Predicate::Language(_)
            | Predicate::InTree(_) => return None,
            Predicate::Added(_) | Predicate::Removed(_) => false,
        };
        (!may_hold).then_some(false)
    }

    /// Returns the blocks and chunks that may hold any term of a lookup, if filters are known.
    pub(crate) fn surviving(
        &self,
        lookup: &Lookup,
        cached: &CachedShard,
        query: &CompiledQuery,
    ) -> Option<Cow<'_, SurvivingBlocks>> {
        let of = |term: &usize| {
            let kept = self.0.iter().find(|(kept, _)| kept == term);
            kept.map(|(_, blocks)| Cow::Borrowed(blocks)).or_else(|| {
                let filter = cached.filters.as_ref()?;
                let ngrams = &query.terms[*term].ngrams;
                Some(Cow::Owned(filter.surviving(ngrams, &filter.hits(ngrams))))
            })
        };
        let (first, rest) = lookup.terms.split_first()?;
        let mut all = of(first)?;
        for term in rest {
            all.to_mut().or(of(term)?.as_ref());
        }
        Some(all)
    }
}
