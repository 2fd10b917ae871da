//! Matches names in memory, before filters are asked for chunks: where few files have them, texts of others need not be
//! considered.

use query::{CompiledQuery, Plan, Scope};
use store::BlobId;

use super::cost::FEW_NAMED_BLOBS;
use super::shards::ShardTask;

/// Matches the paths and symbols of a shard.
pub(crate) struct Names<'s> {
    pub(crate) task: &'s ShardTask,
    pub(crate) query: &'s CompiledQuery,
    pub(crate) go_on: &'s dyn Fn() -> bool,
}

impl Names<'_> {
    /// Returns the blobs, ascending, that the first part finds which asks for symbols, for nothing but names, and for few.
    /// Paths alone are decided with the other properties of files.
    pub(crate) fn of_first(&self, parts: &[Plan]) -> Option<Vec<BlobId>> {
        let few = |part: &&Plan| self.count(part).is_some_and(|count| count <= FEW_NAMED_BLOBS);
        let symbols = |part: &&Plan| part.lookups().iter().any(|one| one.scope == Scope::Symbol);
        self.blobs(parts.iter().filter(symbols).find(few)?, None)
    }

    /// Returns about how many blobs have to be looked at for a plan; `None` if it asks for more than names, or the names
    /// are not in memory.
    fn count(&self, plan: &Plan) -> Option<usize> {
        let cached = &self.task.cached;
        let each = |parts: &[Plan]| -> Option<Vec<usize>> {
            parts.iter().map(|part| self.count(part)).collect()
        };
        Some(match plan {
            Plan::Lookup(lookup) => match lookup.scope {
                Scope::Path => cached.files.as_ref()?.candidates(&lookup.ngrams(self.query)),
                Scope::Symbol => {
                    cached.symbols.as_ref()?.candidates(&lookup.compiled_terms(self.query))
                }
                Scope::Chunk | Scope::Blob => return None,
            },
            // The others look only at what the first one leaves.
            Plan::All(parts) => each(parts)?.into_iter().min()?,
            Plan::Any(parts) => each(parts)?.into_iter().sum(),
            Plan::Scan => return None,
        })
    }

    /// Returns the blobs, ascending, that a plan finds; may leave out some that are not `left`.
    fn blobs(&self, plan: &Plan, left: Option<&[BlobId]>) -> Option<Vec<BlobId>> {
        match plan {
            Plan::Lookup(lookup) => {
                let (cached, terms) = (&self.task.cached, lookup.compiled_terms(self.query));
                let all = 0..self.task.shard.chunks;
                if lookup.scope == Scope::Path {
                    Some(cached.files.as_ref()?.matching(&terms, &all, left, self.go_on))
                } else {
                    Some(cached.symbols.as_ref()?.matching(&terms, &all, left, self.go_on))
                }
            }
            Plan::All(parts) => {
                let mut parts: Vec<&Plan> = parts.iter().collect();
                parts.sort_by_cached_key(|part| self.count(part));
                let mut all: Option<Vec<BlobId>> = None;
                for part in parts {
                    let mut found = self.blobs(part, all.as_deref().or(left))?;
                    if let Some(all) = &all {
                        found.retain(|blob| all.binary_search(blob).is_ok());
                    }
                    all = Some(found);
                }
                all
            }
            Plan::Any(parts) => {
                let each: Option<Vec<_>> =
                    parts.iter().map(|part| self.blobs(part, left)).collect();
                let mut any = each?.concat();
                any.sort_unstable();
                any.dedup();
                Some(any)
            }
            Plan::Scan => None,
        }
    }
}
