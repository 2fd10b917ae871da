//! Selects the repositories and shards of a search, and the plan for each shard.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use query::{CompiledQuery, Expr, Predicate, TreeName, TreeTerm};
use store::{
    CatalogRepo, CatalogRepos, FileFilter, RepoId, Shard, ShardId, TreeFilter, TreeSet, Trees,
};

use super::blocks::TermBlocks;
use super::plans::{PlanCache, ShardQuery};
use super::revision::OnDemand;
use super::revision::memory::{MEMORY_SHARD, MemoryShard};
use crate::cache::{CachedShard, ShardCache};

/// The repositories and shards of a search.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Shards that hold wanted files: by number at first, later in the order in which they are searched.
    pub(crate) shards: Vec<ShardCandidate>,
    /// Filter for the wanted files of these shards.
    pub(crate) files: FileFilter,
    /// Terms that match the name of each repository.
    repos: HashMap<RepoId, Vec<Predicate>>,
    /// For each of the query's names of trees: the trees that it means.
    trees: Vec<MeantTrees>,
    /// Predicates of the query, each once.
    pub(crate) predicates: Vec<Predicate>,
    /// Whether every plan is a scan.
    pub(crate) brute: bool,
    /// The commits that are searched on demand.
    pub(crate) on_demand: Option<Arc<OnDemand>>,
}

/// A shard that may have to be searched.
#[derive(Debug)]
pub(crate) struct ShardCandidate {
    pub(crate) shard: Shard,
    pub(crate) cached: CachedShard,
    /// Value of each predicate, if all chosen repositories of the shard agree on it.
    pub(crate) agreed: Vec<Option<bool>>,
    /// Number of blocks that may hold a match, in thousandths of a block, if known. A block counts less if few chunks
    /// of the shard are in a wanted language.
    pub(crate) expected_blocks: Option<u64>,
}

/// A shard to search.
#[derive(Debug)]
pub(crate) struct ShardTask {
    pub(crate) shard: Shard,
    pub(crate) cached: CachedShard,
    pub(crate) query: Arc<ShardQuery>,
    /// Blocks that survive the filters of the shard, for the terms matched line by line.
    pub(crate) blocks: TermBlocks,
}

impl Selection {
    /// Chooses the repositories that the query does not rule out by name, and the shards that hold them. `files` are
    /// the visible files. With `brute`, every plan is a scan. Once `go_on` returns false, the result is incomplete and
    /// must not be used.
    pub(crate) fn of(
        (files, shards): (FileFilter, &[Shard]),
        repos: &CatalogRepos,
        query: &CompiledQuery,
        cache: Option<&ShardCache>,
        brute: bool,
        go_on: &dyn Fn() -> bool,
    ) -> Self {
        let mut predicates = Vec::new();
        query.expr.predicates(&mut |predicate| {
            if !predicates.contains(&predicate) {
                predicates.push(predicate);
            }
        });
        let mut selection = Self {
            shards: Vec::new(),
            files: FileFilter {
                languages: languages(query),
                trees: if query.trees.is_empty() { files.trees } else { TreeFilter::All },
                ..files
            },
            repos: HashMap::new(),
            trees: query.trees.iter().map(|term| MeantTrees::of(term, repos)).collect(),
            predicates,
            brute,
            on_demand: None,
        };
        // For each shard with wanted files: the values on which its repositories agree.
        let chosen = selection.choose_repos(repos, query, go_on);
        let view = cache.filter(|_| !brute).map(ShardCache::view);
        for shard in shards {
            let agreed = match &chosen {
                None => vec![None; selection.predicates.len()],
                Some(chosen) => match chosen.get(&shard.id) {
                    Some(agreed) => agreed.clone(),
                    None => continue,
                },
            };
            let cached = view.as_ref().map_or_else(CachedShard::default, |view| view.of(shard));
            selection.shards.push(ShardCandidate {
                shard: shard.clone(),
                cached,
                agreed,
                expected_blocks: None,
            });
        }
        selection
    }

    /// Makes this a search of commits on demand: of the shards that have their contents, each with the files of the
    /// commits. [`add_memory`](Self::add_memory) adds the others.
    pub(crate) fn demand(
        &mut self,
        on_demand: &Arc<OnDemand>,
        shards: &[Shard],
        repos: &CatalogRepos,
        cache: Option<&ShardCache>,
    ) {
        for (term, set) in on_demand.sets() {
            self.trees[term].sets.insert(set);
        }
        // Stored contents may lie in any shard.
        let holds = |shard: ShardId, (id, repo): &(&RepoId, &Arc<CatalogRepo>)| {
            on_demand.repos.contains(id) || repo.shards.contains(&shard)
        };
        let is_chosen = |(id, _): &(&RepoId, &Arc<CatalogRepo>)| {
            self.files.repos.as_ref().is_none_or(|chosen| chosen.binary_search(id).is_ok())
        };
        let agreed = |shard: ShardId| {
            let here: Vec<RepoId> = repos
                .iter()
                .filter(|of| is_chosen(of) && holds(shard, of))
                .map(|(id, _)| *id)
                .collect();
            let agree = |predicate: &Predicate| {
                let mut values = here.iter().map(|repo| self.repo_holds(*repo, *predicate));
                let first = values.next()??;
                values.all(|value| value == Some(first)).then_some(first)
            };
            self.predicates.iter().map(agree).collect::<Vec<_>>()
        };
        let cache = cache.filter(|_| !self.brute);
        let of_shard = |(shard, cached): (Shard, CachedShard)| {
            let agreed = agreed(shard.id);
            ShardCandidate { shard, cached, agreed, expected_blocks: None }
        };
        self.shards = on_demand.shards(shards, cache).map(of_shard).collect();
        self.on_demand = Some(Arc::clone(on_demand));
    }

    /// Adds the shard in memory, if there is one, after the others.
    pub(crate) fn add_memory(&mut self) {
        let Some(memory) = self.memory() else { return };
        // It needs nothing of Postgres.
        let files = Some(Arc::clone(&memory.files));
        let cached = CachedShard { files, texts: true, ..CachedShard::default() };
        let (shard, agreed) = (memory.shard(self.files.epoch), vec![None; self.predicates.len()]);
        self.shards.push(ShardCandidate { shard, cached, agreed, expected_blocks: None });
    }

    /// Returns the shard in memory.
    pub(crate) fn memory(&self) -> Option<&Arc<MemoryShard>> {
        self.on_demand.as_ref()?.memory.as_ref()
    }

    /// Returns the shard in memory, if that is the shard with a number.
    pub(crate) fn memory_at(&self, shard: ShardId) -> Option<&Arc<MemoryShard>> {
        self.memory().filter(|_| shard == MEMORY_SHARD)
    }

    /// Returns the search task for a shard; `None` if its repositories and filters rule it out.
    pub(crate) fn task(
        &self,
        candidate: &ShardCandidate,
        query: &CompiledQuery,
        plans: &mut PlanCache,
    ) -> Option<ShardTask> {
        let mut blocks = TermBlocks::default();
        let mut values = candidate.agreed.clone();
        for at in plans.order(&self.predicates, candidate.cached.filters.as_deref(), query) {
            if values[at].is_none() {
                let predicate = self.predicates[at];
                let hits = &mut plans.hits;
                values[at] = blocks.value(predicate, &candidate.cached, query, hits);
            }
            // Usually a single false predicate rules the shard out.
            let value = |of| values[self.predicates.iter().position(|p| *p == of)?];
            if values[at] == Some(false) && query.expr.eval(&value) == Some(false) {
                return None;
            }
        }
        let shard_query = plans.shard_query((&self.predicates, self.brute), query, &values)?;
        let (shard, cached) = (candidate.shard.clone(), candidate.cached.clone());
        Some(ShardTask { shard, cached, query: shard_query, blocks })
    }

    /// Returns whether a predicate on repositories holds for one; `None` for other predicates.
    pub(crate) fn repo_holds(&self, repo: RepoId, predicate: Predicate) -> Option<bool> {
        let (Predicate::Repo(_) | Predicate::Property(_)) = predicate else { return None };
        // A repository missing from the catalog is not part of its epoch.
        Some(self.repos.get(&repo).is_some_and(|matching| matching.contains(&predicate)))
    }

    /// Returns whether a predicate on trees holds for a file of a repository; `None` for other predicates.
    pub(crate) fn in_tree(&self, repo: RepoId, trees: Trees, predicate: Predicate) -> Option<bool> {
        let Predicate::InTree(term) = predicate else { return None };
        let meant = &self.trees[term];
        let in_main = || trees.has_main() && meant.main.contains(&repo);
        Some(in_main() || trees.set().is_some_and(|set| meant.sets.contains(&set)))
    }

    /// Returns the main trees and the sets of trees that each of the query's names of trees means, ascending.
    pub(crate) fn meant_trees(&self) -> Vec<(Vec<RepoId>, Vec<i32>)> {
        let of = |meant: &MeantTrees| {
            let mut main: Vec<RepoId> = meant.main.iter().copied().collect();
            let mut sets: Vec<i32> = meant.sets.iter().copied().collect();
            main.sort_unstable();
            sets.sort_unstable();
            (main, sets)
        };
        self.trees.iter().map(of).collect()
    }

    /// Returns the names of the searched trees that have a file: of those that the query means, if it means any of them.
    /// None if its repository has one tree.
    pub(crate) fn tree_names(
        &self,
        id: RepoId,
        repo: &CatalogRepo,
        trees: Trees,
        query: &CompiledQuery,
    ) -> Vec<String> {
        if let Some(names) = self.on_demand.as_ref().and_then(|of| of.names(trees)) {
            return names;
        }
        if repo.trees.trees.is_empty() {
            return Vec::new();
        }
        let main = trees.has_main().then(|| repo.main_tree());
        let all: Vec<TreeName<'_>> =
            main.into_iter().chain(repo.trees.of(trees).map(store::Tree::name)).collect();
        let names = |some: &dyn Fn(&TreeName<'_>) -> bool| -> Vec<String> {
            all.iter().filter(|tree| some(tree)).map(|tree| tree.name.to_owned()).collect()
        };
        if query.trees.is_empty() {
            return match &self.files.trees {
                TreeFilter::Chosen(chosen) if chosen.replaced.binary_search(&id).is_ok() => {
                    chosen.names(id, &repo.trees, trees)
                }
                _ => names(&|tree| tree.kind == query::TreeKind::Main),
            };
        }
        let meant = names(&|tree| query.trees.iter().any(|term| term.means(*tree)));
        if meant.is_empty() { names(&|_| true) } else { meant }
    }

    /// Records which terms match the name of each repository, and which repositories are not ruled out. Returns the
    /// shards that hold the latter, each with the values on which its repositories agree; `None` for all shards.
    fn choose_repos(
        &mut self,
        repos: &CatalogRepos,
        query: &CompiledQuery,
        go_on: &dyn Fn() -> bool,
    ) -> Option<HashMap<ShardId, Vec<Option<bool>>>> {
        let predicates = &self.predicates;
        let of_repos = |of: &Predicate| matches!(of, Predicate::Repo(_) | Predicate::Property(_));
        if !predicates.iter().any(of_repos) {
            return None;
        }
        let mut chosen = Vec::new();
        let mut shards: HashMap<ShardId, Vec<Option<bool>>> = HashMap::new();
        for (id, repo) in repos {
            let holds = |of: &Predicate| query.of_repo(*of, &repo.name, &repo.properties, go_on);
            let values: Vec<Option<bool>> = predicates.iter().map(holds).collect();
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
            let matching =
                predicates.iter().zip(&values).filter(|(_, value)| **value == Some(true));
            self.repos.insert(*id, matching.map(|(of, _)| *of).collect());
        }
        chosen.sort_unstable();
        if chosen.len() < repos.len() {
            self.files.repos = Some(chosen);
        }
        Some(shards)
    }
}

/// The trees that a name in a query means.
#[derive(Debug, Default)]
struct MeantTrees {
    /// The repositories whose main trees are meant.
    main: HashSet<RepoId>,
    /// The sets that have one of the others.
    sets: HashSet<i32>,
}

impl MeantTrees {
    fn of(term: &TreeTerm, repos: &CatalogRepos) -> Self {
        let mut meant = Self::default();
        for (id, repo) in repos {
            if term.means(repo.main_tree()) {
                meant.main.insert(*id);
            }
            let trees = &repo.trees;
            let bits: Vec<usize> = trees
                .trees
                .iter()
                .filter(|tree| term.means(tree.name()))
                .map(|of| of.bit)
                .collect();
            if !bits.is_empty() {
                let has = |set: &&TreeSet| bits.iter().any(|bit| set.has(*bit));
                meant.sets.extend(trees.sets.iter().filter(has).map(|set| set.id));
            }
        }
        meant
    }
}

/// Returns languages of which every file must have one, if the query states them at its top level.
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

#[cfg(test)]
mod tests {
    use query::{Case, Query};
    use store::Epoch;

    use super::*;

    fn shard(id: i16) -> Shard {
        let (id, epoch) = (ShardId(id), Epoch(1));
        let languages = [("rust".to_owned(), 10)].into();
        Shard {
            id,
            bytes: 0,
            since: epoch,
            chunks: 10,
            changed: epoch,
            filtered: 10,
            worded: 10,
            languages,
        }
    }

    /// Selects among three repositories in three shards: `host/one` in the first two, `host/two` in the second, `other`
    /// in the third.
    fn selection(text: &str) -> (CompiledQuery, Selection) {
        let repo = |name: &str, shards: &[i16]| {
            Arc::new(CatalogRepo {
                name: name.to_owned(),
                rank: 0,
                shards: shards.iter().copied().map(ShardId).collect(),
                ..CatalogRepo::default()
            })
        };
        let repos = [repo("host/one", &[0, 1]), repo("host/two", &[1]), repo("other", &[2])];
        let repos = (1..).map(RepoId).zip(repos).collect();
        let query = CompiledQuery::new(&Query::parse(text, Case::Smart).unwrap()).unwrap();
        let shards = [shard(0), shard(1), shard(2)];
        let files =
            FileFilter { epoch: Epoch(1), repos: None, languages: None, trees: TreeFilter::All };
        let selection = Selection::of((files, &shards), &repos, &query, None, false, &|| true);
        (query, selection)
    }

    /// Returns the selected shards, each with its plan; `None` for a shard that is ruled out.
    fn plans(text: &str) -> Vec<(i16, Option<String>)> {
        let (query, selection) = selection(text);
        let mut cache = PlanCache::default();
        let plan = |candidate: &ShardCandidate, cache: &mut PlanCache| {
            let task = selection.task(candidate, &query, cache);
            (candidate.shard.id.0, task.map(|task| task.query.plan.to_string()))
        };
        selection.shards.iter().map(|candidate| plan(candidate, &mut cache)).collect()
    }

    #[test]
    fn names_of_repositories_choose_shards_and_change_their_plans() {
        let foo = || Some("chunk(\"foo\")".to_owned());
        assert_eq!(plans("c:foo"), [(0, foo()), (1, foo()), (2, foo())]);
        assert_eq!(plans("c:foo r:two"), [(1, foo())]);
        assert_eq!(plans("c:foo r:nowhere"), []);
        // If all repositories agree on a predicate, the plan is made from the rest of the query.
        let scan = || Some("scan".to_owned());
        assert_eq!(plans("c:foo or r:one"), [(0, scan()), (1, scan()), (2, foo())]);
        assert_eq!(plans("c:foo -r:host"), [(2, foo())]);
    }

    #[test]
    fn files_of_some_repositories_and_languages_are_wanted() {
        let (_, of_all) = selection("c:foo");
        assert_eq!((&of_all.files.repos, &of_all.files.languages), (&None, &None));
        let (_, of_some) = selection("c:foo r:host lang:rust");
        assert_eq!(of_some.files.repos, Some(vec![RepoId(1), RepoId(2)]));
        assert_eq!(of_some.files.languages, Some(vec!["rust".to_owned()]));
        let host = of_some.predicates.iter().find(|of| matches!(of, Predicate::Repo(_))).unwrap();
        assert_eq!(of_some.repo_holds(RepoId(1), *host), Some(true));
        assert_eq!(of_some.repo_holds(RepoId(3), *host), Some(false));
        assert_eq!(of_some.repo_holds(RepoId(9), *host), Some(false));
    }
}
