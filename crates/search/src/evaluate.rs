//! Evaluates the query on files: drops files early, lists the terms still to match, and decides which files are
//! results.

use std::sync::Arc;

use query::{Expr, Predicate, Scratch, Select, Shown};
use rustc_hash::{FxHashMap, FxHashSet};
use store::{BlobId, File, SymbolRow};

use super::candidates::Candidates;
use super::shards::ShardTask;
use super::state::Search;
use super::symbols::matching;
use super::verify::{Hit, MatchInput, MatchJob, Terms, TextChunk};
use answer::symbol::Symbol;
use answer::{FileMatch, Line};
use answer::{apart, merge, with_symbols};

/// A file that may match, judged without its text.
pub(crate) struct OpenFile {
    pub(crate) file: File,
    /// Terms that match its path.
    path: Vec<usize>,
}

/// The matches found in some texts.
#[derive(Default)]
pub(crate) struct Hits {
    hits: FxHashMap<(BlobId, usize), Vec<Line>>,
    /// Terms all of whose candidate chunks were read: they do not match blobs without a hit.
    read: Vec<usize>,
    /// Blobs whose whole text was read, each with the terms matched in it.
    whole: FxHashMap<BlobId, Terms>,
    /// Symbols that match terms, by blob and term.
    symbols: FxHashMap<(BlobId, usize), Vec<Symbol>>,
    /// Blobs whose symbols were examined.
    outlined: FxHashSet<BlobId>,
}

impl Hits {
    pub(crate) fn add(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            self.hits.insert((hit.blob, hit.term), hit.lines);
        }
    }

    /// Records that all candidate chunks of some terms were read.
    pub(crate) fn add_read(&mut self, terms: &[usize]) {
        self.read.extend(terms);
    }

    /// Returns whether all candidate chunks of a term were read.
    pub(crate) fn has_read(&self, term: usize) -> bool {
        self.read.contains(&term)
    }

    /// Records that whole blobs were read.
    pub(crate) fn add_whole(&mut self, blobs: FxHashMap<BlobId, Terms>) {
        self.whole.extend(blobs);
    }

    /// Adds the lines of a term's symbols.
    pub(crate) fn add_lines(&mut self, blob: BlobId, term: usize, lines: Vec<Line>) {
        self.hits.insert((blob, term), lines);
    }

    /// Returns the symbols of a blob that match a term.
    pub(crate) fn symbols(&self, blob: BlobId, term: usize) -> &[Symbol] {
        self.symbols.get(&(blob, term)).map_or(&[], Vec::as_slice)
    }
}

/// Evaluates the query on the files of one shard, given its candidates.
#[derive(Clone, Copy)]
pub(crate) struct Evaluator<'a> {
    pub(crate) search: &'a Search,
    pub(crate) task: &'a ShardTask,
    pub(crate) candidates: &'a Candidates,
}

impl<'a> Evaluator<'a> {
    fn expr(&self) -> &'a Expr {
        &self.search.query().expr
    }

    /// Returns whether a predicate is known to hold for no file of the shard.
    fn rules_out(&self, predicate: Predicate) -> bool {
        self.task.query.ruled_out.contains(&predicate)
    }

    /// Returns whether some term must be matched in whole texts.
    pub(crate) fn reads_whole(&self) -> bool {
        let mut whole = false;
        self.expr().predicates(&mut |of| {
            let read = matches!(of, Predicate::Content(term) if !self.candidates.lists_term(term));
            whole |= read && !self.rules_out(of);
        });
        whole
    }

    /// Matches the path of a file; `None` if the file cannot be a result, whatever its text.
    pub(crate) fn open(&self, file: File) -> Option<OpenFile> {
        if self.search.state.has_repo(file.repo) {
            return None;
        }
        let terms = &self.search.query().terms;
        let go_on = || self.search.state.clock.goes_on();
        let matches = |term: &usize| terms[*term].matcher.is_match_within(&file.path, &go_on);
        let path = self.task.query.path_terms.iter().copied().filter(matches).collect();
        let open = OpenFile { file, path };
        (self.expr().eval(&|of| self.known(&open, of)) != Some(false)).then_some(open)
    }

    /// Returns whether a file with this blob can match, whatever its path, given the candidate chunks read so far.
    pub(crate) fn may_match(&self, blob: BlobId, hits: &Hits) -> bool {
        let known = |of: Predicate| match of {
            _ if self.rules_out(of) || self.candidates.rules_out(blob, of) => Some(false),
            Predicate::Content(term) if hits.hits.contains_key(&(blob, term)) => Some(true),
            Predicate::Content(term) => hits.has_read(term).then_some(false),
            _ => None,
        };
        self.expr().eval(&known) != Some(false)
    }

    /// Returns the value of a predicate if it is known without the text of the file.
    fn known(&self, open: &OpenFile, predicate: Predicate) -> Option<bool> {
        match predicate {
            Predicate::Content(_) => self.rules_out(predicate).then_some(false),
            Predicate::Symbol(_) => {
                let blob = open.file.blob;
                let not_there = || self.candidates.rules_out(blob, predicate);
                (self.rules_out(predicate) || not_there()).then_some(false)
            }
            Predicate::Path(term) => Some(open.path.contains(&term)),
            Predicate::Repo(_) | Predicate::Property(_) => {
                self.search.selection.repo_holds(open.file.repo, predicate)
            }
            Predicate::InTree(_) => {
                self.search.selection.in_tree(open.file.repo, open.file.trees, predicate)
            }
            Predicate::Added(_) | Predicate::Removed(_) => Some(false),
            Predicate::Language(index) => {
                let names = &self.search.query().languages[index];
                let language = open.file.language.as_ref();
                Some(language.is_some_and(|language| names.contains(&language.to_lowercase())))
            }
        }
    }

    /// Returns the value of a predicate if it is known after some texts were read.
    fn known_with(&self, open: &OpenFile, hits: &Hits, predicate: Predicate) -> Option<bool> {
        let term = match predicate {
            Predicate::Content(term) => term,
            Predicate::Symbol(term) => {
                let blob = open.file.blob;
                let has = hits.symbols.contains_key(&(blob, term));
                let looked = || hits.outlined.contains(&blob).then_some(false);
                return if has { Some(true) } else { self.known(open, predicate).or_else(looked) };
            }
            other => return self.known(open, other),
        };
        if self.rules_out(predicate) {
            return Some(false);
        }
        let blob = open.file.blob;
        if hits.hits.contains_key(&(blob, term)) {
            return Some(true);
        }
        let looked =
            hits.has_read(term) || hits.whole.get(&blob).is_some_and(|terms| terms.contains(&term));
        looked.then_some(false)
    }

    /// Returns the blobs of some files whose symbols decide on a match, or are shown; ascending.
    pub(crate) fn undecided_symbols(&self, open: &[OpenFile], hits: &Hits) -> Vec<BlobId> {
        let mut blobs = Vec::new();
        for open in open {
            let (blob, mut wanted) = (open.file.blob, false);
            if blobs.last() == Some(&blob) {
                continue;
            }
            let known = |of| self.known_with(open, hits, of);
            let mut want = |of| wanted |= matches!(of, Predicate::Symbol(_)) && known(of).is_none();
            if self.search.query().select.has_lines() {
                self.expr().involved(&known, &mut want);
            } else {
                self.expr().resolve(&known).predicates(&mut want);
            }
            if wanted {
                blobs.push(blob);
            }
        }
        blobs
    }

    /// Matches the symbol terms with the rows of these blobs.
    pub(crate) fn add_symbols(&self, blobs: &[BlobId], rows: &[SymbolRow], hits: &mut Hits) {
        let query = self.search.query();
        let go_on = || self.search.state.clock.goes_on();
        let mut terms: Vec<(usize, Scratch)> = Vec::new();
        self.expr().predicates(&mut |of| {
            if let Predicate::Symbol(term) = of
                && !self.rules_out(of)
                && !terms.iter().any(|(known, _)| *known == term)
            {
                terms.push((term, query.terms[term].matcher.scratch()));
            }
        });
        for row in rows {
            for (term, scratch) in &mut terms {
                let found = matching(&query.terms[*term], row, scratch, &go_on);
                if !found.is_empty() {
                    hits.symbols.insert((row.blob, *term), found);
                }
            }
        }
        hits.outlined.extend(blobs);
    }

    /// Returns whether a file can still match.
    pub(crate) fn can_match(&self, open: &OpenFile, hits: &Hits) -> bool {
        self.expr().eval(&|of| self.known_with(open, hits, of)) != Some(false)
    }

    /// Returns the symbol terms that a matching file shows.
    pub(crate) fn shown_symbols(&self, open: &OpenFile, hits: &Hits) -> Vec<usize> {
        let query = self.search.query();
        let mut terms = Vec::new();
        query.expr.shown(&|of| self.known_with(open, hits, of), &mut |of| {
            if let Predicate::Symbol(term) = of
                && query.terms[term].shown != Shown::Nothing
            {
                terms.push(term);
            }
        });
        terms
    }

    /// Returns whether the query has a symbol term.
    pub(crate) fn asks_symbols(&self) -> bool {
        let mut asks = false;
        self.expr().predicates(&mut |of| {
            asks |= matches!(of, Predicate::Symbol(_)) && !self.rules_out(of);
        });
        asks
    }

    /// Returns for each blob the terms still to match in it: those that decide whether a file matches, and those whose
    /// lines are shown.
    pub(crate) fn wanted(&self, open: &[OpenFile], hits: &Hits) -> FxHashMap<BlobId, Vec<usize>> {
        let mut wanted: FxHashMap<BlobId, Vec<usize>> = FxHashMap::default();
        for open in open {
            let known = |of| self.known_with(open, hits, of);
            let mut want = |of| {
                if let Predicate::Content(term) = of
                    && known(of).is_none()
                {
                    let terms = wanted.entry(open.file.blob).or_default();
                    if !terms.contains(&term) {
                        terms.push(term);
                    }
                }
            };
            if self.search.query().select == Select::Lines {
                self.expr().involved(&known, &mut want);
            } else {
                self.expr().resolve(&known).predicates(&mut want);
            }
        }
        wanted
    }

    /// Returns the file as a result if the query holds for it. `last` means that no later file has the same blob; then
    /// its lines can be moved out of `hits`.
    pub(crate) fn decide(&self, open: OpenFile, last: bool, hits: &mut Hits) -> Option<FileMatch> {
        let query = self.search.query();
        let known = |of| self.known_with(&open, hits, of);
        if query.expr.eval(&known) != Some(true) {
            return None;
        }
        let mut shown = Vec::new();
        if query.select != Select::Repos {
            query.expr.shown(&known, &mut |of| {
                if !shown.contains(&of) {
                    shown.push(of);
                }
            });
        }
        let (mut parts, mut path_ranges, mut defining) = (Vec::new(), Vec::new(), Vec::new());
        for predicate in shown {
            match predicate {
                Predicate::Content(term) | Predicate::Symbol(term)
                    if query.select == Select::Lines
                        || query.select == Select::Symbols
                            && matches!(predicate, Predicate::Symbol(_)) =>
                {
                    let into = match query.terms[term].shown {
                        Shown::Matches => &mut parts,
                        Shown::Symbols => &mut defining,
                        Shown::Nothing => continue,
                    };
                    let hit = (open.file.blob, term);
                    let lines = &mut hits.hits;
                    into.extend(if last { lines.remove(&hit) } else { lines.get(&hit).cloned() });
                }
                Predicate::Path(term) if query.terms[term].shown == Shown::Matches => {
                    let matcher = &query.terms[term].matcher;
                    let go_on = || self.search.state.clock.goes_on();
                    path_ranges.extend(matcher.ranges(&open.file.path, &go_on));
                }
                _ => {}
            }
        }
        let repo = self.search.repos.get(&open.file.repo);
        Some(FileMatch {
            repo_id: open.file.repo,
            blob_key: (self.task.shard.id, open.file.blob),
            repo: repo.map_or_else(String::new, |repo| repo.name.clone()),
            rank: repo.map_or(0, |repo| repo.rank),
            path: open.file.path,
            path_ranges: apart(path_ranges),
            language: open.file.language,
            bytes: open.file.bytes as usize,
            lines: with_symbols(merge(parts), merge(defining)),
            trees: repo.map_or_else(Vec::new, |repo| {
                self.search.selection.tree_names(open.file.repo, repo, open.file.trees, query)
            }),
            commit: None,
            renamed_from: None,
            copies: Vec::new(),
        })
    }
}

/// Builds match jobs. Nearly all texts of a search have the same terms and the same condition, so jobs share them.
pub(crate) struct Jobs<'a> {
    evaluator: Evaluator<'a>,
    terms: Option<Terms>,
    /// Conditions on blobs, by the predicates ruled out for the blob.
    conditions: Vec<(Vec<Predicate>, Arc<Expr>)>,
    last: Option<(BlobId, Arc<Expr>)>,
}

impl<'a> Jobs<'a> {
    pub(crate) fn new(evaluator: Evaluator<'a>) -> Self {
        Self { evaluator, terms: None, conditions: Vec::new(), last: None }
    }

    /// Returns the job that matches some terms in a text of a blob.
    pub(crate) fn of(&mut self, blob: BlobId, terms: Vec<usize>) -> MatchJob {
        MatchJob { terms: self.share(terms), condition: self.condition(blob) }
    }

    /// Returns a match input for a text.
    pub(crate) fn input(&mut self, chunk: TextChunk, terms: Vec<usize>) -> MatchInput {
        MatchInput { job: self.of(chunk.blob, terms), chunk }
    }

    /// Returns the terms, shared with the previous job if they are the same.
    pub(crate) fn share(&mut self, terms: Vec<usize>) -> Terms {
        match &self.terms {
            Some(last) if **last == *terms => Arc::clone(last),
            _ => Arc::clone(self.terms.insert(terms.into())),
        }
    }

    /// Returns the condition on files with a blob, without the predicates ruled out for it.
    fn condition(&mut self, blob: BlobId) -> Arc<Expr> {
        if let Some((_, condition)) = self.last.as_ref().filter(|(of, _)| *of == blob) {
            return Arc::clone(condition);
        }
        let Evaluator { search, candidates, .. } = self.evaluator;
        let query = search.query();
        let mut ruled_out = Vec::new();
        // With one term the condition is never used: no later term could be skipped.
        if query.terms.len() > 1 {
            query.expr.predicates(&mut |of| {
                if self.evaluator.rules_out(of) || candidates.rules_out(blob, of) {
                    ruled_out.push(of);
                }
            });
        }
        let known = self.conditions.iter().find(|(known, _)| *known == ruled_out);
        let condition = if let Some((_, condition)) = known {
            Arc::clone(condition)
        } else {
            let known = |of| ruled_out.contains(&of).then_some(false);
            let condition = Arc::new(query.expr.resolve(&known));
            self.conditions.push((ruled_out, Arc::clone(&condition)));
            condition
        };
        self.last = Some((blob, Arc::clone(&condition)));
        condition
    }
}
