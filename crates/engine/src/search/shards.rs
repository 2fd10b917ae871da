//! Where a search looks: in which repositories, in which shards, and with what plan in each.

use std::collections::HashMap;
use std::sync::Arc;

use query::{CompiledQuery, Expr, Predicate};
use store::{Catalog, FileFilter, RepoId, Shard, ShardId};

use super::filters::ShardFilters;
use super::plans::{PlanCache, ShardQuery};
use crate::cache::{CachedShard, ShardCache};

/// Where a search looks.
#[derive(Debug)]
pub(crate) struct Selection {
    /// The shards with files that are wanted, in the order of their numbers.
    pub(crate) shards: Vec<ShardCandidate>,
    /// Which files of them.
    pub(crate) files: FileFilter,
    /// For each repository, the terms that match its name.
    repos: HashMap<RepoId, Vec<usize>>,
    /// The predicates of the query, each once.
    pub(crate) predicates: Vec<Predicate>,
    /// Every plan is a scan.
    pub(crate) brute: bool,
}

/// A shard that may have to be searched.
#[derive(Debug)]
pub(crate) struct ShardCandidate {
    pub(crate) shard: Shard,
    pub(crate) cached: CachedShard,
    /// The values of the predicates on which its repositories agree.
    pub(crate) agreed: Vec<Option<bool>>,
}

/// A shard to search.
#[derive(Debug)]
pub(crate) struct ShardTask {
    pub(crate) shard: Shard,
    pub(crate) cached: CachedShard,
    pub(crate) query: Arc<ShardQuery>,
    /// What its filters say of the terms that are matched line by line.
    pub(crate) filters: ShardFilters,
}

impl Selection {
    /// Finds the repositories that the query does not rule out by their names, and the shards that
    /// hold them. With `brute`, every plan is a scan.
    pub(crate) fn of(
        catalog: &Catalog,
        query: &CompiledQuery,
        cache: Option<&ShardCache>,
        brute: bool,
    ) -> Self {
        let mut predicates = Vec::new();
        query.expr.predicates(&mut |predicate| {
            if !predicates.contains(&predicate) {
                predicates.push(predicate);
            }
        });
        let mut selection = Self {
            shards: Vec::new(),
            files: FileFilter { epoch: catalog.epoch, repos: None, languages: languages(query) },
            repos: HashMap::new(),
            predicates,
            brute,
        };
        // Of each shard with files that are wanted, what its repositories agree on.
        let chosen = selection.choose_repos(catalog, query);
        let view = cache.filter(|_| !brute).map(ShardCache::view);
        for shard in &catalog.shards {
            let agreed = match &chosen {
                None => vec![None; selection.predicates.len()],
                Some(chosen) => match chosen.get(&shard.id) {
                    Some(agreed) => agreed.clone(),
                    None => continue,
                },
            };
            let cached = view.as_ref().map_or_else(CachedShard::default, |view| view.of(shard));
            selection.shards.push(ShardCandidate { shard: shard.clone(), cached, agreed });
        }
        selection
    }

    /// What there is to search in a shard; none if it is ruled out by what is known of it.
    pub(crate) fn task(
        &self,
        candidate: &ShardCandidate,
        query: &CompiledQuery,
        plans: &mut PlanCache,
    ) -> Option<ShardTask> {
        let mut filters = ShardFilters::default();
        let mut values = candidate.agreed.clone();
        for at in plans.order(&self.predicates, candidate.cached.filters.as_deref(), query) {
            if values[at].is_none() {
                let predicate = self.predicates[at];
                let hits = &mut plans.hits;
                values[at] = filters.value(predicate, &candidate.cached, query, hits);
            }
            // Mostly, one is enough.
            let value = |of| values[self.predicates.iter().position(|p| *p == of)?];
            if values[at] == Some(false) && query.expr.eval(&value) == Some(false) {
                return None;
            }
        }
        let of_shard = plans.shard_query((&self.predicates, self.brute), query, &values)?;
        let (shard, cached) = (candidate.shard.clone(), candidate.cached.clone());
        Some(ShardTask { shard, cached, query: of_shard, filters })
    }

    /// Whether a predicate holds for a repository, if it is about its name.
    pub(crate) fn repo_holds(&self, repo: RepoId, predicate: Predicate) -> Option<bool> {
        let Predicate::Repo(term) = predicate else { return None };
        // A repository that is not in the catalog is not part of its epoch.
        Some(self.repos.get(&repo).is_some_and(|matching| matching.contains(&term)))
    }

    /// Notes which terms match the name of each repository, and which repositories are not ruled out.
    /// Gives the shards that hold those, each with the predicates on which they agree; none for all shards.
    fn choose_repos(
        &mut self,
        catalog: &Catalog,
        query: &CompiledQuery,
    ) -> Option<HashMap<ShardId, Vec<Option<bool>>>> {
        let predicates = &self.predicates;
        if !predicates.iter().any(|predicate| matches!(predicate, Predicate::Repo(_))) {
            return None;
        }
        let mut chosen = Vec::new();
        let mut shards: HashMap<ShardId, Vec<Option<bool>>> = HashMap::new();
        for (id, repo) in &catalog.repos {
            let holds = |predicate: Predicate| match predicate {
                Predicate::Repo(term) => Some(query.terms[term].matcher.is_match(&repo.name)),
                _ => None,
            };
            let values: Vec<Option<bool>> = predicates.iter().map(|of| holds(*of)).collect();
            let value = |of| values[predicates.iter().position(|p| *p == of)?];
            if query.expr.eval(&value) != Some(false) {
                chosen.push(*id);
                for shard in &repo.shards {
                    let agreed = shards.entry(*shard).or_insert_with(|| values.clone());
                    for (agreed, value) in agreed.iter_mut().zip(&values) {
                        *agreed = agreed.filter(|agreed| Some(*agreed) == *value);
                    }
                }
            }
            let matching = predicates.iter().zip(&values).filter_map(|(of, value)| match of {
                Predicate::Repo(term) if *value == Some(true) => Some(*term),
                _ => None,
            });
            self.repos.insert(*id, matching.collect());
        }
        chosen.sort_unstable();
        self.files.repos = (chosen.len() < catalog.repos.len()).then_some(chosen);
        Some(shards)
    }
}

/// The languages that a file must be in one of, if the query says so on its top level.
fn languages(query: &CompiledQuery) -> Option<Vec<String>> {
    let of = |expr: &Expr| match expr {
        Expr::Predicate(Predicate::Language(index)) => Some(query.languages[*index].clone()),
        _ => None,
    };
    match &query.expr {
        Expr::All(parts) => parts.iter().find_map(of),
        other => of(other),
    }
}
