//! Where a search looks: which repositories, which shards, and with what plan in each.

use std::collections::HashMap;
use std::sync::Arc;

use query::{Atom, Expr, Plan, Program};
use store::{Catalog, FileFilter, RepoId, Shard, ShardId};

/// Where a search looks.
#[derive(Debug)]
pub(crate) struct Scope {
    /// The shards that can hold what is searched for, in order, each with its plan.
    pub(crate) shards: Vec<(Shard, Arc<Plan>)>,
    /// Which files of them.
    pub(crate) files: FileFilter,
    /// The terms that are matched with names of repositories.
    repo_terms: Vec<usize>,
    /// For each repository, which of `repo_terms` match its name.
    repos: HashMap<RepoId, Vec<bool>>,
}

impl Scope {
    /// Finds the repositories that the program does not rule out by their names, and the shards that
    /// hold them. With `brute`, every plan is a scan.
    pub(crate) fn of(catalog: &Catalog, program: &Program, brute: bool) -> Self {
        let mut repo_terms = Vec::new();
        program.expr.atoms(&mut |atom| {
            if let Atom::Repo(term) = atom
                && !repo_terms.contains(&term)
            {
                repo_terms.push(term);
            }
        });
        let mut scope = Self {
            shards: Vec::new(),
            files: FileFilter { epoch: catalog.epoch, repos: None, languages: languages(program) },
            repo_terms,
            repos: HashMap::new(),
        };
        let plan = |expr: &Expr| Arc::new(if brute { Plan::Scan } else { Plan::of(expr, program) });
        if scope.repo_terms.is_empty() {
            if program.expr != Expr::Const(false) {
                let plan = plan(&program.expr);
                let all = catalog.shards.iter().map(|shard| (shard.clone(), Arc::clone(&plan)));
                scope.shards = all.collect();
            }
            return scope;
        }
        let mut chosen = Vec::new();
        // What is left of the condition in each shard, as long as its repositories agree on it.
        let mut left: HashMap<ShardId, Vec<Option<bool>>> = HashMap::new();
        for (id, repo) in &catalog.repos {
            let matches: Vec<bool> = scope
                .repo_terms
                .iter()
                .map(|term| program.terms[*term].matcher.is_match(&repo.name))
                .collect();
            let known = |atom| scope.repo_term(atom).map(|i| matches[i]);
            if program.expr.eval(&known) != Some(false) {
                chosen.push(*id);
                for shard in &repo.shards {
                    let all = || matches.iter().map(|value| Some(*value)).collect();
                    let agreed = left.entry(*shard).or_insert_with(all);
                    for (agreed, value) in agreed.iter_mut().zip(&matches) {
                        *agreed = agreed.filter(|agreed| agreed == value);
                    }
                }
            }
            scope.repos.insert(*id, matches);
        }
        let mut plans: HashMap<&Vec<Option<bool>>, Arc<Plan>> = HashMap::new();
        for shard in &catalog.shards {
            let Some(agreed) = left.get(&shard.id) else { continue };
            let known = |atom| scope.repo_term(atom).and_then(|i| agreed[i]);
            let plan = plans.entry(agreed).or_insert_with(|| plan(&program.expr.resolve(&known)));
            scope.shards.push((shard.clone(), Arc::clone(plan)));
        }
        scope.files.repos = (chosen.len() < catalog.repos.len()).then_some(chosen);
        scope
    }

    /// Whether an atom holds for a repository, if it is about its name.
    pub(crate) fn repo_holds(&self, repo: RepoId, atom: Atom) -> Option<bool> {
        let term = self.repo_term(atom)?;
        // A repository that is not in the catalog is not part of its epoch.
        Some(self.repos.get(&repo).is_some_and(|matches| matches[term]))
    }

    fn repo_term(&self, atom: Atom) -> Option<usize> {
        let Atom::Repo(term) = atom else { return None };
        self.repo_terms.iter().position(|known| *known == term)
    }
}

/// The languages that a file must be in one of, if the program says so on its top level.
fn languages(program: &Program) -> Option<Vec<String>> {
    let of = |expr: &Expr| match expr {
        Expr::Atom(Atom::Language(index)) => Some(program.languages[*index].clone()),
        _ => None,
    };
    match &program.expr {
        Expr::All(parts) => parts.iter().find_map(of),
        other => of(other),
    }
}
