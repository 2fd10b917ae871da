//! Finds the lines and the paths of histories that match terms, and the commits that changed these.

use std::collections::BTreeMap;
use std::sync::Arc;

use query::{CompiledQuery, Expr, LineMatch, LiteralQuery, Predicate, language_of};
use rayon::prelude::*;
use store::{HistoryBatch, HistoryPaths, HistoryRow, HistorySnapshot, PackedNumbers};
use tokio::task::spawn_blocking;

use super::bits::Bits;
use crate::clock::Clock;
use crate::stats::Stats;
use crate::threads;
use crate::types::{Error, Request};
use crate::verify::Scratches;

/// Number of rows to read at once, with about 32 KB of lines each.
const ROWS: usize = 64;

/// What was found in a batch.
pub(super) struct Batch {
    pub(super) of: HistoryBatch,
    /// The condition on changed files, as far as the repository does not decide it.
    pub(super) expr: Arc<Expr>,
    /// By the numbers of terms: the lines that match, if they were looked for.
    pub(super) lines: Vec<Option<Hits>>,
    /// By the numbers of terms: the paths that match, if they were looked for.
    pub(super) paths: Vec<Option<Hits>>,
    /// By the numbers of languages in the query: the paths of files in these, if they were looked for.
    pub(super) languages: Vec<Option<Hits>>,
    /// The numbers of the first lines of rows with a matching line, ascending.
    pub(super) rows: Vec<i32>,
    /// The paths, once read.
    pub(super) names: Option<Arc<HistoryPaths>>,
}

/// Lines or paths of a batch, and the commits that changed them.
pub(super) struct Hits {
    pub(super) items: Bits,
    /// Numbers of commits, without that of the first one in the batch.
    pub(super) commits: Bits,
}

impl Batch {
    pub(super) fn new(of: HistoryBatch, expr: &Arc<Expr>, query: &CompiledQuery) -> Self {
        let none = |count: usize| (0..count).map(|_| None).collect::<Vec<_>>();
        Self {
            of,
            expr: Arc::clone(expr),
            lines: none(query.terms.len()),
            paths: none(query.terms.len()),
            languages: none(query.languages.len()),
            rows: Vec::new(),
            names: None,
        }
    }

    fn hits(&self, items: usize) -> Hits {
        Hits { items: Bits::below(items), commits: Bits::below(self.span()) }
    }

    /// Returns the number of numbers between its first commit and the end.
    pub(super) fn span(&self) -> usize {
        usize::try_from(self.of.upto - self.of.first).unwrap_or_default()
    }

    /// Returns the commits that may have a change for which a condition holds; `None` for all.
    pub(super) fn candidates(&self, expr: &Expr) -> Option<Bits> {
        let known = |hits: &Option<Hits>| hits.as_ref().map(|hits| hits.commits.clone());
        match expr {
            Expr::Const(true) | Expr::Not(_) => None,
            Expr::Const(false) => Some(Bits::below(self.span())),
            Expr::Predicate(predicate) => match *predicate {
                Predicate::Content(term) | Predicate::Added(term) | Predicate::Removed(term) => {
                    known(&self.lines[term])
                }
                Predicate::Path(term) => known(&self.paths[term]),
                Predicate::Language(language) => known(&self.languages[language]),
                Predicate::Repo(_)
                | Predicate::Property(_)
                | Predicate::Symbol(_)
                | Predicate::InTree(_) => None,
            },
            Expr::All(parts) => {
                let parts = parts.iter().filter_map(|part| self.candidates(part));
                parts.reduce(|mut all, part| {
                    all.intersect(&part);
                    all
                })
            }
            Expr::Any(parts) => {
                let parts: Option<Vec<Bits>> =
                    parts.iter().map(|part| self.candidates(part)).collect();
                parts?.into_iter().reduce(|mut any, part| {
                    any.unite(&part);
                    any
                })
            }
        }
    }

    /// Reads the paths, unless they are known.
    pub(super) async fn names(
        &mut self,
        snapshot: &mut HistorySnapshot,
    ) -> Result<Arc<HistoryPaths>, Error> {
        if let Some(names) = &self.names {
            return Ok(Arc::clone(names));
        }
        let names = Arc::new(snapshot.paths(&self.of).await?);
        self.names = Some(Arc::clone(&names));
        Ok(names)
    }

    /// Finds the paths that match terms, or whose files are in languages, as far as its condition asks for them.
    pub(super) async fn find_paths(
        &mut self,
        snapshot: &mut HistorySnapshot,
        request: &Arc<Request>,
        clock: &Arc<Clock>,
    ) -> Result<(), Error> {
        let mut asked = Vec::new();
        self.expr.predicates(&mut |of| {
            if matches!(of, Predicate::Path(_) | Predicate::Language(_)) && !asked.contains(&of) {
                asked.push(of);
            }
        });
        if asked.is_empty() {
            return Ok(());
        }
        let names = self.names(snapshot).await?;
        let (request, clock) = (Arc::clone(request), Arc::clone(clock));
        let work = spawn_blocking(move || {
            let query = request.compiled_query();
            let go_on = || clock.goes_on();
            let matches = |of: Predicate, path: &str| match of {
                Predicate::Path(term) => query.terms[term].matcher.is_match_within(path, &go_on),
                Predicate::Language(at) => language_of(path, b"")
                    .is_some_and(|language| query.languages[at].contains(&language.to_lowercase())),
                _ => false,
            };
            let paths = |of: &Predicate| {
                let found = names.paths.iter().enumerate().filter(|(_, path)| matches(*of, path));
                (*of, found.map(|(number, _)| number).collect::<Vec<_>>())
            };
            asked.iter().map(paths).collect::<Vec<_>>()
        });
        for (of, paths) in work.await.expect("matching does not panic") {
            let names = self.names(snapshot).await?;
            let mut hits = self.hits(names.paths.len());
            hits.add(&names.commits, paths, &self.of)?;
            match of {
                Predicate::Path(term) => self.paths[term] = Some(hits),
                Predicate::Language(language) => self.languages[language] = Some(hits),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Hits {
    /// Adds items with the commits that changed them.
    fn add(
        &mut self,
        commits: &PackedNumbers,
        items: Vec<usize>,
        batch: &HistoryBatch,
    ) -> Result<(), Error> {
        for item in &items {
            self.items.insert(*item);
        }
        let mut seen = |_, number: i32| {
            // Damaged data may have other numbers; no commit has them.
            if let Ok(number) = usize::try_from(number - batch.first) {
                self.commits.insert(number);
            }
        };
        if commits.each(items, batch.upto, &mut seen) { Ok(()) } else { Err(damaged()) }
    }
}

pub(super) fn damaged() -> Error {
    let what = "the history of lines is damaged; ingest with --no-history and again with --history";
    store::Error::Unsuitable(what.to_owned()).into()
}

/// The lines of a row that match terms.
struct RowHits {
    row: HistoryRow,
    /// For each term, the numbers of the lines in the row.
    lines: Vec<(usize, Vec<usize>)>,
}

/// Finds the lines of some batches, which are in order, that match the terms of their conditions.
pub(super) async fn find(
    snapshot: &mut HistorySnapshot,
    batches: &mut [Batch],
    request: &Arc<Request>,
    clock: &Arc<Clock>,
    done: &mut Stats,
) -> Result<(), Error> {
    let query = request.compiled_query();
    let mut rows: BTreeMap<(i32, i32), Vec<usize>> = BTreeMap::new();
    for term in 0..query.terms.len() {
        let mut asked = Vec::new();
        for batch in &mut *batches {
            if asks(&batch.expr, term) {
                batch.lines[term] = Some(batch.hits(batch.of.lines as usize));
                asked.push(batch.of);
            }
        }
        if !asked.is_empty() {
            let literals =
                if request.brute { &LiteralQuery::Anything } else { &query.terms[term].literals };
            for key in snapshot.candidates(&asked, literals).await? {
                rows.entry(key).or_default().push(term);
            }
        }
    }
    done.candidates = rows.len();
    let rows: Vec<_> = rows.into_iter().collect();
    let mut matching = None;
    for page in rows.chunks(ROWS) {
        let keys: Vec<(i32, i32)> = page.iter().map(|(key, _)| *key).collect();
        let found = snapshot.rows(&keys).await?;
        done.rechecks += found.len();
        done.bytes += found.iter().map(|row| row.lines.len()).sum::<usize>();
        // Rows are matched while the next ones are read.
        let terms: Vec<Vec<usize>> = page.iter().map(|(_, terms)| terms.clone()).collect();
        let (request, clock) = (Arc::clone(request), Arc::clone(clock));
        let next = spawn_blocking(move || match_rows(&request, found, &terms, &clock));
        if let Some(before) = matching.replace(next) {
            add(batches, before.await.expect("matching does not panic"))?;
        }
    }
    if let Some(last) = matching {
        add(batches, last.await.expect("matching does not panic"))?;
    }
    Ok(())
}

fn asks(expr: &Expr, term: usize) -> bool {
    let mut asks = false;
    expr.predicates(&mut |of| {
        asks |= matches!(of, Predicate::Content(at) | Predicate::Added(at) | Predicate::Removed(at) if at == term);
    });
    asks
}

fn match_rows(
    request: &Request,
    rows: Vec<HistoryRow>,
    terms: &[Vec<usize>],
    clock: &Clock,
) -> Vec<RowHits> {
    let go_on = || clock.goes_on();
    let query = request.compiled_query();
    let scratches = || query.terms.iter().map(|_| None).collect::<Scratches>();
    let one = |scratches: &mut Scratches, (row, terms): (HistoryRow, &Vec<usize>)| {
        let of_term = |term: &usize| {
            let matcher = &query.terms[*term].matcher;
            let scratch = scratches[*term].get_or_insert_with(|| matcher.scratch());
            let mut lines = Vec::new();
            matcher.lines(scratch, row.lines.as_bytes(), &go_on, &mut |found: LineMatch| {
                lines.push(found.line);
                true
            });
            (*term, lines)
        };
        let lines = terms.iter().map(of_term).filter(|(_, lines)| !lines.is_empty()).collect();
        RowHits { row, lines }
    };
    let matched = || rows.into_par_iter().zip(terms).map_init(scratches, one).collect();
    if threads::are_started() { threads::matching().install(matched) } else { matched() }
}

fn add(batches: &mut [Batch], rows: Vec<RowHits>) -> Result<(), Error> {
    for RowHits { row, lines: found } in rows {
        let at = batches.binary_search_by_key(&row.batch, |batch| batch.of.first);
        let batch = &mut batches[at.map_err(|_| damaged())?];
        let first = row.first as usize;
        if !found.is_empty() {
            batch.rows.push(row.first);
        }
        for (term, lines) in found {
            let Some(hits) = &mut batch.lines[term] else { continue };
            for line in &lines {
                hits.items.insert(first + line);
            }
            let mut commits =
                Hits { items: Bits::default(), commits: std::mem::take(&mut hits.commits) };
            let added = commits.add(&row.commits, lines, &batch.of);
            hits.commits = commits.commits;
            added?;
        }
    }
    Ok(())
}
