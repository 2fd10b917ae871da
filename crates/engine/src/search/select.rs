//! Where a search looks: which repositories, which shards, and with what plan in each.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher;
use std::ops::Range;
use std::sync::Arc;

use ngram::{Columns, HitBitmap, ShardFilter, SurvivingBlocks};
use query::{CompiledQuery, Expr, Lookup, Plan, Predicate, Scope};
use store::{Catalog, FileFilter, RepoId, Shard, ShardId};

use super::resident::{Known, Resident};

/// A block with so many chunks of files as they are wanted promises as much as one of such files only: that there are
/// larger ones among them makes it no better.
const MANY_CHUNKS: u32 = 128;

/// Where a search looks.
#[derive(Debug)]
pub(crate) struct Selection {
    /// The shards with files that are wanted, in the order in which they are searched.
    pub(crate) shards: Vec<Lead>,
    /// Which files of them.
    pub(crate) files: FileFilter,
    /// For each repository, the terms that match its name.
    repos: HashMap<RepoId, Vec<usize>>,
    /// What the program asks of a file, each once.
    atoms: Vec<Predicate>,
    /// Every plan is a scan.
    brute: bool,
}

/// A shard that may have to be searched.
#[derive(Debug)]
pub(crate) struct Lead {
    pub(crate) shard: Shard,
    known: Known,
    /// The values of the atoms on which its repositories agree.
    agreed: Vec<Option<bool>>,
}

/// A shard to search.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) shard: Shard,
    pub(crate) known: Known,
    pub(crate) work: Arc<Work>,
    /// What of the shard may hold each term that is matched line by line, by their numbers.
    passing: Vec<(usize, SurvivingBlocks)>,
}

/// What there is to do in a shard. Many shards share one.
#[derive(Debug)]
pub(crate) struct Work {
    /// What its indexes are asked.
    pub(crate) plan: Plan,
    /// What must hold of a file, whatever its text is.
    of_files: Expr,
    /// The terms that are matched with paths.
    pub(crate) path_terms: Vec<usize>,
    /// What is known to hold for no file.
    pub(crate) ruled_out: Vec<Predicate>,
}

/// What is worked out once in a search, for many shards.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    /// The work where the atoms have some values, for all values that were met; none if that leaves nothing to do.
    works: BTreeMap<Vec<Option<bool>>, Option<Arc<Work>>>,
    /// What the overviews tell of the terms, by their numbers.
    looks: Vec<(usize, HitBitmap)>,
    /// In which order the atoms are worked out.
    order: Vec<usize>,
}

impl Selection {
    /// Finds the repositories that the program does not rule out by their names, and the shards that
    /// hold them. With `brute`, every plan is a scan.
    pub(crate) fn of(
        catalog: &Catalog,
        program: &CompiledQuery,
        resident: Option<&Resident>,
        brute: bool,
    ) -> Self {
        let mut atoms = Vec::new();
        program.expr.predicates(&mut |atom| {
            if !atoms.contains(&atom) {
                atoms.push(atom);
            }
        });
        let mut scope = Self {
            shards: Vec::new(),
            files: FileFilter { epoch: catalog.epoch, repos: None, languages: languages(program) },
            repos: HashMap::new(),
            atoms,
            brute,
        };
        // Of each shard with files that are wanted, what its repositories agree on.
        let left = scope.choose_repos(catalog, program);
        let knowledge = resident.filter(|_| !brute).map(Resident::knowledge);
        for shard in &catalog.shards {
            let agreed = match &left {
                None => vec![None; scope.atoms.len()],
                Some(left) => match left.get(&shard.id) {
                    Some(agreed) => agreed.clone(),
                    None => continue,
                },
            };
            let known = knowledge.as_ref().map_or_else(Known::default, |all| all.of(shard));
            scope.shards.push(Lead { shard: shard.clone(), known, agreed });
        }
        scope
    }

    /// Puts those shards first that hold the most blocks in which something may be found, but for chunks with sets of
    /// their own, if that is known of all: with a limit, the others are then hardly looked at.
    pub(crate) fn most_promising_first(&mut self, program: &CompiledQuery, memo: &mut Memo) {
        let leads = std::mem::take(&mut self.shards);
        let promise = |lead: &Lead| {
            let work = memo.work(self, program, &lead.agreed);
            work.map_or(Some(0), |work| lead.promise(&work, program, memo))
        };
        let promises: Option<Vec<u32>> = leads.iter().map(promise).collect();
        self.shards = match promises {
            Some(promises) => {
                let mut both: Vec<_> = promises.into_iter().zip(leads).collect();
                both.sort_by_key(|(promise, _)| std::cmp::Reverse(*promise));
                both.into_iter().map(|(_, lead)| lead).collect()
            }
            None => leads,
        };
    }

    /// What there is to search in a shard; none if it is ruled out by what is known of it.
    pub(crate) fn target(
        &self,
        lead: &Lead,
        program: &CompiledQuery,
        memo: &mut Memo,
    ) -> Option<Target> {
        let (mut passing, mut values) = (Vec::new(), lead.agreed.clone());
        for at in memo.order(self, lead, program) {
            if values[at].is_none() {
                values[at] = lead.holds(self.atoms[at], program, memo, &mut passing);
            }
            // Mostly, one is enough.
            let value = |atom| values[self.atoms.iter().position(|a| *a == atom)?];
            if values[at] == Some(false) && program.expr.eval(&value) == Some(false) {
                return None;
            }
        }
        let work = memo.work(self, program, &values)?;
        Some(Target { shard: lead.shard.clone(), known: lead.known.clone(), work, passing })
    }

    /// The chunks of a shard that may be of a file as it is wanted, whatever its text is; none if all are, or if nothing
    /// is known of its files.
    pub(crate) fn wanted(
        &self,
        target: &Target,
        program: &CompiledQuery,
    ) -> Option<Vec<Range<i32>>> {
        // What all repositories agree on that are chosen in the shard is not in the condition.
        let (of_files, repos) = (&target.work.of_files, self.files.repos.as_deref());
        let all = *of_files == Expr::Const(true) && repos.is_none();
        let files = target.known.files.as_ref().filter(|_| !all)?;
        Some(files.wanted(of_files, program, repos, |repo, atom| self.repo_holds(repo, atom)))
    }

    /// A hash of what is searched for, and of the shards in their order.
    pub(crate) fn order(&self, program: &CompiledQuery) -> u64 {
        let mut hasher = siphasher::sip::SipHasher13::new();
        hasher.write(format!("{:?} {:?}", program.expr, program.select).as_bytes());
        for term in &program.terms {
            hasher.write(term.name.as_bytes());
        }
        for lead in &self.shards {
            hasher.write_i16(lead.shard.id.0);
        }
        hasher.finish()
    }

    /// Notes which terms match the name of each repository, and which repositories are not ruled out.
    /// Gives the shards that hold those, each with the atoms on which they agree; none for all shards.
    fn choose_repos(
        &mut self,
        catalog: &Catalog,
        program: &CompiledQuery,
    ) -> Option<HashMap<ShardId, Vec<Option<bool>>>> {
        let atoms = &self.atoms;
        if !atoms.iter().any(|atom| matches!(atom, Predicate::Repo(_))) {
            return None;
        }
        let mut chosen = Vec::new();
        let mut left: HashMap<ShardId, Vec<Option<bool>>> = HashMap::new();
        for (id, repo) in &catalog.repos {
            let holds = |atom: Predicate| match atom {
                Predicate::Repo(term) => Some(program.terms[term].matcher.is_match(&repo.name)),
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
                Predicate::Repo(term) if *value == Some(true) => Some(*term),
                _ => None,
            });
            self.repos.insert(*id, matching.collect());
        }
        chosen.sort_unstable();
        self.files.repos = (chosen.len() < catalog.repos.len()).then_some(chosen);
        Some(left)
    }

    /// Whether an atom holds for a repository, if it is about its name.
    pub(crate) fn repo_holds(&self, repo: RepoId, atom: Predicate) -> Option<bool> {
        let Predicate::Repo(term) = atom else { return None };
        // A repository that is not in the catalog is not part of its epoch.
        Some(self.repos.get(&repo).is_some_and(|matching| matching.contains(&term)))
    }
}

impl Lead {
    /// How many blocks of the shard may hold what there is to search, as so many chunks, those less in which few chunks
    /// are of files as they are wanted; for comparison only, and none if that is not known.
    fn promise(&self, work: &Work, program: &CompiledQuery, memo: &mut Memo) -> Option<u32> {
        let blocks = self.blocks(&work.plan, program, memo);
        let files = self.known.files.as_ref();
        let share = files.and_then(|files| files.share(&work.of_files, program));
        let whole = |chunks: &u32| *chunks.min(&MANY_CHUNKS);
        match (blocks, share) {
            (Some(blocks), Some(share)) => {
                Some(blocks.iter().filter_map(|block| share.get(block).map(whole)).sum())
            }
            (Some(blocks), None) => Some(blocks.count() as u32 * MANY_CHUNKS),
            (None, share) => share.map(|share| share.iter().map(whole).sum()),
        }
    }

    /// The blocks of the shard that may hold what a plan asks for of texts; none if that is not known.
    fn blocks(&self, plan: &Plan, program: &CompiledQuery, memo: &mut Memo) -> Option<Columns> {
        let mut of = |parts: &[Plan]| -> Vec<Columns> {
            parts.iter().filter_map(|part| self.blocks(part, program, memo)).collect()
        };
        match plan {
            Plan::Scan => None,
            Plan::Lookup(lookup) if lookup.scope == Scope::Path => None,
            Plan::Lookup(lookup) => {
                let grams = self.known.grams.as_ref()?;
                let mut all: Option<Columns> = None;
                for term in &lookup.terms {
                    let blocks = grams.blocks(memo.look(*term, program, grams));
                    match &mut all {
                        Some(all) => all.or(&blocks),
                        None => all = Some(blocks),
                    }
                }
                all
            }
            Plan::All(parts) => of(parts).into_iter().reduce(|mut all, one| {
                all.and(&one);
                all
            }),
            Plan::Any(parts) => of(parts).into_iter().reduce(|mut any, one| {
                any.or(&one);
                any
            }),
        }
    }

    /// Whether an atom holds for all files of the shard, or for none. Adds what may hold a term that is
    /// matched line by line.
    fn holds(
        &self,
        atom: Predicate,
        program: &CompiledQuery,
        memo: &mut Memo,
        passing: &mut Vec<(usize, SurvivingBlocks)>,
    ) -> Option<bool> {
        let may = match atom {
            Predicate::Content(number) => {
                let (grams, term) = (self.known.grams.as_ref()?, &program.terms[number]);
                if term.matcher.spans_lines() {
                    grams.may_hold(&term.ngrams)
                } else {
                    let found = grams.surviving(&term.ngrams, memo.look(number, program, grams));
                    let any = !found.blocks.is_empty();
                    passing.push((number, found));
                    any
                }
            }
            Predicate::Path(term) => {
                let files = self.known.files.as_ref()?;
                !files.grams.columns(&program.terms[term].ngrams).is_empty()
            }
            Predicate::Repo(_) | Predicate::Language(_) => return None,
        };
        (!may).then_some(false)
    }
}

impl Target {
    /// What of the shard may hold what a lookup in its chunks asks for, if that is known.
    pub(crate) fn passing(
        &self,
        lookup: &Lookup,
        program: &CompiledQuery,
    ) -> Option<Cow<'_, SurvivingBlocks>> {
        let of = |term: &usize| {
            let kept = self.passing.iter().find(|(kept, _)| kept == term);
            kept.map(|(_, passing)| Cow::Borrowed(passing)).or_else(|| {
                let grams = self.known.grams.as_ref()?;
                let ngrams = &program.terms[*term].ngrams;
                Some(Cow::Owned(grams.surviving(ngrams, &grams.hits(ngrams))))
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

impl Memo {
    /// In which order it is worked out what holds of the atoms of a search, by their places: first of the terms that the
    /// fewest blocks may hold.
    fn order(&mut self, scope: &Selection, lead: &Lead, program: &CompiledQuery) -> Vec<usize> {
        if self.order.is_empty() {
            let mut blocks = |atom| match (atom, &lead.known.grams) {
                (Predicate::Content(term) | Predicate::Path(term), Some(grams))
                    if !program.terms[term].matcher.spans_lines() =>
                {
                    self.look(term, program, grams).count()
                }
                _ => usize::MAX,
            };
            let mut order: Vec<_> =
                scope.atoms.iter().map(|atom| blocks(*atom)).enumerate().collect();
            order.sort_by_key(|(_, blocks)| *blocks);
            self.order = order.into_iter().map(|(at, _)| at).collect();
        }
        self.order.clone()
    }

    fn work(
        &mut self,
        scope: &Selection,
        program: &CompiledQuery,
        values: &[Option<bool>],
    ) -> Option<Arc<Work>> {
        if let Some(work) = self.works.get(values) {
            return work.clone();
        }
        let work = Work::of(program, &scope.atoms, values, scope.brute).map(Arc::new);
        self.works.insert(values.to_vec(), work.clone());
        work
    }

    /// What the overview of a shard tells of a term.
    fn look(&mut self, term: usize, program: &CompiledQuery, grams: &ShardFilter) -> &HitBitmap {
        let known = self.looks.iter().position(|(of, look)| *of == term && look.is_of(grams));
        let at = known.unwrap_or_else(|| {
            self.looks.push((term, grams.hits(&program.terms[term].ngrams)));
            self.looks.len() - 1
        });
        &self.looks[at].1
    }
}

impl Work {
    /// What there is to do where some atoms have the same value for all files; none if that leaves
    /// nothing.
    fn of(
        program: &CompiledQuery,
        atoms: &[Predicate],
        values: &[Option<bool>],
        brute: bool,
    ) -> Option<Self> {
        let value = |atom| values[atoms.iter().position(|a| *a == atom)?];
        let left = program.expr.resolve(&value);
        if left == Expr::Const(false) {
            return None;
        }
        let plan = if brute { Plan::Scan } else { Plan::of(&left, program) };
        let of_files = left.without_text();
        let not_at_all = |atom: &Predicate| value(*atom) == Some(false);
        let ruled_out: Vec<Predicate> = atoms.iter().copied().filter(not_at_all).collect();
        let path_terms = atoms.iter().filter(|atom| !ruled_out.contains(atom));
        let path_terms = path_terms.filter_map(|atom| match atom {
            Predicate::Path(term) => Some(*term),
            _ => None,
        });
        Some(Self { plan, of_files, path_terms: path_terms.collect(), ruled_out })
    }
}

/// The languages that a file must be in one of, if the program says so on its top level.
fn languages(program: &CompiledQuery) -> Option<Vec<String>> {
    let of = |expr: &Expr| match expr {
        Expr::Predicate(Predicate::Language(index)) => Some(program.languages[*index].clone()),
        _ => None,
    };
    match &program.expr {
        Expr::All(parts) => parts.iter().find_map(of),
        other => of(other),
    }
}
