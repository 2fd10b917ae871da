//! Matches names: the paths of a shard's files, and the symbols that they define.

use std::ops::Range;

use query::{CompiledQuery, Lookup, Plan, Scope};
use store::BlobId;

use super::chunk_set::{intersection, union};
use super::cost::FEW_NAMED_BLOBS;
use super::shards::ShardTask;

/// Matches the names of a shard that are in memory.
pub(crate) struct Names<'s> {
    pub(crate) task: &'s ShardTask,
    pub(crate) query: &'s CompiledQuery,
    pub(crate) go_on: &'s dyn Fn() -> bool,
}

impl Names<'_> {
    /// Returns the blobs in `blobs`, ascending, with a name that a lookup finds; `None` if it looks up no names, or
    /// they are not in memory. May leave out blobs that are not `left`.
    pub(crate) fn matching(
        &self,
        lookup: &Lookup,
        blobs: &Range<i32>,
        left: Option<&[BlobId]>,
    ) -> Option<Vec<BlobId>> {
        let (cached, terms) = (&self.task.cached, lookup.compiled_terms(self.query));
        match lookup.scope {
            Scope::Path => Some(cached.files.as_ref()?.matching(&terms, blobs, left, self.go_on)),
            Scope::Symbol => {
                Some(cached.symbols.as_ref()?.matching(&terms, blobs, left, self.go_on))
            }
            Scope::Chunk | Scope::Blob => None,
        }
    }

    /// Returns the approximate number of blobs whose names must be matched for a lookup; `None` if it looks up no
    /// names, or they are not in memory.
    pub(crate) fn count(&self, lookup: &Lookup) -> Option<usize> {
        let cached = &self.task.cached;
        match lookup.scope {
            Scope::Path => Some(cached.files.as_ref()?.candidates(&lookup.ngrams(self.query))),
            Scope::Symbol => {
                Some(cached.symbols.as_ref()?.candidates(&lookup.compiled_terms(self.query)))
            }
            Scope::Chunk | Scope::Blob => None,
        }
    }

    /// Returns the approximate number of blobs whose names must be matched for the shard, if symbols alone determine
    /// the candidates and are in memory.
    pub(crate) fn of_symbols(&self) -> Option<usize> {
        let Plan::Lookup(lookup) = &self.task.query.plan else { return None };
        self.count(lookup).filter(|_| lookup.scope == Scope::Symbol)
    }

    /// Returns the blobs, ascending, of the first plan that looks up symbols and finds few blobs. The search can then
    /// ignore the texts of other blobs. Paths alone are decided with the other properties of files.
    pub(crate) fn of_first(&self, plans: &[Plan]) -> Option<Vec<BlobId>> {
        let few = |plan: &&Plan| {
            let count =
                plan.fold(&mut |lookup| self.count(lookup), &usize::min, &usize::saturating_add);
            plan.has_symbols() && count.is_some_and(|count| count <= FEW_NAMED_BLOBS)
        };
        let all = 0..self.task.shard.chunks;
        let mut matching = |lookup: &Lookup| self.matching(lookup, &all, None);
        plans.iter().find(few)?.fold(
            &mut matching,
            &|one, other| intersection(&one, &other),
            &union,
        )
    }
}
