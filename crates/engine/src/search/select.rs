//! Which shards are worth asking.

use store::{Catalog, RepoId, ShardId};

use super::Filter;

/// Where a search looks.
#[derive(Debug)]
pub(crate) struct Scope {
    /// The shards, in order.
    pub(crate) shards: Vec<ShardId>,
    /// The repositories, if not all.
    pub(crate) repos: Option<Vec<RepoId>>,
}

/// The shards that hold files of the repositories that the filter lets through.
pub(crate) fn scope(catalog: &Catalog, filter: &Filter) -> Scope {
    let all = catalog.shards.iter().map(|shard| shard.id);
    if filter.repos.is_empty() {
        return Scope { shards: all.collect(), repos: None };
    }
    let chosen = || {
        let repos = catalog.repos.iter();
        repos.filter(|(_, repo)| filter.repos.iter().any(|pattern| pattern.is_match(&repo.name)))
    };
    let shards = all.filter(|id| chosen().any(|(_, repo)| repo.shards.contains(id))).collect();
    Scope { shards, repos: Some(chosen().map(|(id, _)| *id).collect()) }
}
