//! Where a search looks: which repositories, which shards, and with what plan in each.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::Arc;

use query::{Atom, Expr, Index, Lookup, Plan, Program};
use store::{Catalog, FileFilter, Passing, RepoId, Shard, ShardId};

use super::resident::{Known, Resident};

/// Where a search looks.
#[derive(Debug)]
pub(crate) struct Scope {
    /// The shards that can hold what is searched for, in the order in which they are searched.
    pub(crate) shards: Vec<Target>,
    /// Which files of them.
    pub(crate) files: FileFilter,
    /// For each repository, the terms that match its name.
    repos: HashMap<RepoId, Vec<usize>>,
}

/// A shard to search.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) shard: Shard,
    pub(crate) known: Known,
    pub(crate) work: Arc<Work>,
    /// What of the shard may hold each term that is matched line by line, by their numbers.
    passing: Arc<Vec<(usize, Passing)>>,
}

/// What there is to do in a shard. Many shards share one.
#[derive(Debug)]
pub(crate) struct Work {
    /// What its indexes are asked.
    pub(crate) plan: Plan,
    /// The terms that are matched with paths.
    pub(crate) path_terms: Vec<usize>,
    /// What is known to hold for no file.
    pub(crate) ruled_out: Vec<Atom>,
}

impl Scope {
    /// Finds the repositories that the program does not rule out by their names, and the shards that
    /// hold them and are not ruled out by what is known of them. With `brute`, every plan is a scan.
    pub(crate) fn of(
        catalog: &Catalog,
        program: &Program,
        resident: Option<&Resident>,
        brute: bool,
    ) -> Self {
        let mut atoms = Vec::new();
        program.expr.atoms(&mut |atom| {
            if !atoms.contains(&atom) {
                atoms.push(atom);
            }
        });
        let mut scope = Self {
            shards: Vec::new(),
            files: FileFilter { epoch: catalog.epoch, repos: None, languages: languages(program) },
            repos: HashMap::new(),
        };
        // Of each shard with files that are wanted, what its repositories agree on.
        let left = scope.choose_repos(catalog, program, &atoms);
        let mut works: HashMap<Vec<Option<bool>>, Option<Arc<Work>>> = HashMap::new();
        for shard in &catalog.shards {
            let agreed = match &left {
                None => &vec![None; atoms.len()],
                Some(left) => match left.get(&shard.id) {
                    Some(agreed) => agreed,
                    None => continue,
                },
            };
            let known = match resident {
                Some(resident) if !brute => resident.known(shard),
                _ => Known::default(),
            };
            let mut passing = Vec::new();
            let values: Vec<Option<bool>> = atoms
                .iter()
                .zip(agreed)
                .map(|(atom, agreed)| agreed.or_else(|| known.holds(*atom, program, &mut passing)))
                .collect();
            let work = match works.get(&values) {
                Some(work) => work.clone(),
                None => {
                    let work = Work::of(program, &atoms, &values, brute).map(Arc::new);
                    works.insert(values, work.clone());
                    work
                }
            };
            let passing = Arc::new(passing);
            let target = |work| Target { shard: shard.clone(), known, work, passing };
            scope.shards.extend(work.map(target));
        }
        scope
    }

    /// Puts those shards first that hold the most blocks in which something may be found, if that is
    /// known of all: with a limit, the others are then not looked at.
    pub(crate) fn most_promising_first(&mut self, program: &Program) {
        let promise = |target: &Target| target.promise(&target.work.plan, program);
        let promises: Option<Vec<usize>> = self.shards.iter().map(promise).collect();
        if let Some(promises) = promises {
            let mut both: Vec<_> =
                promises.into_iter().zip(std::mem::take(&mut self.shards)).collect();
            both.sort_by_key(|(promise, _)| std::cmp::Reverse(*promise));
            self.shards = both.into_iter().map(|(_, target)| target).collect();
        }
    }

    /// A hash of what is searched for, and of the shards in their order.
    pub(crate) fn order(&self, program: &Program) -> u64 {
        let mut hasher = siphasher::sip::SipHasher13::new();
        hasher.write(format!("{:?} {:?}", program.expr, program.select).as_bytes());
        for term in &program.terms {
            hasher.write(term.name.as_bytes());
        }
        for target in &self.shards {
            hasher.write_i16(target.shard.id.0);
        }
        hasher.finish()
    }

    /// Notes which terms match the name of each repository, and which repositories are not ruled out.
    /// Gives the shards that hold those, each with the atoms on which they agree; none for all shards.
    fn choose_repos(
        &mut self,
        catalog: &Catalog,
        program: &Program,
        atoms: &[Atom],
    ) -> Option<HashMap<ShardId, Vec<Option<bool>>>> {
        if !atoms.iter().any(|atom| matches!(atom, Atom::Repo(_))) {
            return None;
        }
        let mut chosen = Vec::new();
        let mut left: HashMap<ShardId, Vec<Option<bool>>> = HashMap::new();
        for (id, repo) in &catalog.repos {
            let holds = |atom: Atom| match atom {
                Atom::Repo(term) => Some(program.terms[term].matcher.is_match(&repo.name)),
                _ => None,
            };
            let values: Vec<Option<bool>> = atoms.iter().map(|atom| holds(*atom)).collect();
            let value = |atom| values[atoms.iter().position(|a| *a == atom)?];
            if program.expr.eval(&value) != Some(false) {
                chosen.push(*id);
                for shard in &repo.shards {
                    let agreed = left.entry(*shard).or_insert_with(|| values.clone());
                    for (agreed, value) in agreed.iter_mut().zip(&values) {
                        *agreed = agreed.filter(|agreed| Some(*agreed) == *value);
                    }
                }
            }
            let matching = atoms.iter().zip(&values).filter_map(|(atom, value)| match atom {
                Atom::Repo(term) if *value == Some(true) => Some(*term),
                _ => None,
            });
            self.repos.insert(*id, matching.collect());
        }
        chosen.sort_unstable();
        self.files.repos = (chosen.len() < catalog.repos.len()).then_some(chosen);
        Some(left)
    }

    /// Whether an atom holds for a repository, if it is about its name.
    pub(crate) fn repo_holds(&self, repo: RepoId, atom: Atom) -> Option<bool> {
        let Atom::Repo(term) = atom else { return None };
        // A repository that is not in the catalog is not part of its epoch.
        Some(self.repos.get(&repo).is_some_and(|matching| matching.contains(&term)))
    }
}

impl Target {
    /// What of the shard may hold what a lookup in its chunks asks for, if that is known.
    pub(crate) fn passing(&self, lookup: &Lookup, program: &Program) -> Option<Cow<'_, Passing>> {
        let of = |term: &usize| {
            let kept = self.passing.iter().find(|(kept, _)| kept == term);
            kept.map(|(_, passing)| Cow::Borrowed(passing)).or_else(|| {
                let grams = self.known.grams.as_ref()?;
                Some(Cow::Owned(grams.passing(&program.terms[*term].probe)))
            })
        };
        let (first, rest) = lookup.terms.split_first()?;
        let mut all = of(first)?;
        for term in rest {
            all.to_mut().or(of(term)?.as_ref());
        }
        Some(all)
    }

    /// How many blocks of the shard may hold what its plan asks for, for comparison only; none if that
    /// is not known.
    fn promise(&self, plan: &Plan, program: &Program) -> Option<usize> {
        match plan {
            Plan::Scan => None,
            Plan::Lookup(lookup) if lookup.index == Index::Paths => Some(0),
            Plan::Lookup(lookup) => Some(self.passing(lookup, program)?.blocks.count()),
            Plan::All(parts) => parts.iter().filter_map(|part| self.promise(part, program)).min(),
            Plan::Any(parts) => parts.iter().map(|part| self.promise(part, program)).sum(),
        }
    }
}

impl Work {
    /// What there is to do where some atoms have the same value for all files; none if that leaves
    /// nothing.
    fn of(program: &Program, atoms: &[Atom], values: &[Option<bool>], brute: bool) -> Option<Self> {
        let value = |atom| values[atoms.iter().position(|a| *a == atom)?];
        let left = program.expr.resolve(&value);
        if left == Expr::Const(false) {
            return None;
        }
        let plan = if brute { Plan::Scan } else { Plan::of(&left, program) };
        let not_at_all = |atom: &Atom| value(*atom) == Some(false);
        let ruled_out: Vec<Atom> = atoms.iter().copied().filter(not_at_all).collect();
        let path_terms = atoms.iter().filter(|atom| !ruled_out.contains(atom));
        let path_terms = path_terms.filter_map(|atom| match atom {
            Atom::Path(term) => Some(*term),
            _ => None,
        });
        Some(Self { plan, path_terms: path_terms.collect(), ruled_out })
    }
}

impl Known {
    /// Whether an atom holds for all files of the shard, or for none. Adds what may hold a term that is
    /// matched line by line.
    fn holds(
        &self,
        atom: Atom,
        program: &Program,
        passing: &mut Vec<(usize, Passing)>,
    ) -> Option<bool> {
        let may = match atom {
            Atom::Content(number) => {
                let (grams, term) = (self.grams.as_ref()?, &program.terms[number]);
                if term.matcher.spans_lines() {
                    grams.may_hold(&term.probe)
                } else {
                    let found = grams.passing(&term.probe);
                    let any = !found.blocks.is_empty();
                    passing.push((number, found));
                    any
                }
            }
            Atom::Path(term) => {
                !self.files.as_ref()?.grams.parts(&program.terms[term].probe).is_empty()
            }
            Atom::Repo(_) | Atom::Language(_) => return None,
        };
        (!may).then_some(false)
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
