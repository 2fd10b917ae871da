//! Decides which changed files of a commit match, and which of their lines.

use std::ops::Range;

use answer::{LineChange, apart};
use query::{CompiledQuery, Expr, Predicate, Select, Shown};
use store::ChangedFile;

use super::lines::{Batch, Hits};

/// A changed file that matches.
pub(super) struct Decided {
    pub(super) file: ChangedFile,
    /// The terms whose lines are shown, each with the kind of change that it asks for.
    pub(super) shown: Vec<(usize, Option<LineChange>)>,
    /// The terms whose matches in the path are shown.
    pub(super) in_path: Vec<usize>,
}

/// Decides whether a changed file matches.
pub(super) fn decide(batch: &Batch, file: ChangedFile, query: &CompiledQuery) -> Option<Decided> {
    let expr: &Expr = &batch.expr;
    let known = |of: Predicate| {
        Some(match of {
            Predicate::Content(term) => has_line(batch.lines[term].as_ref(), &file, None),
            Predicate::Added(term) => {
                has_line(batch.lines[term].as_ref(), &file, Some(LineChange::Added))
            }
            Predicate::Removed(term) => {
                has_line(batch.lines[term].as_ref(), &file, Some(LineChange::Removed))
            }
            Predicate::Path(term) => has_path(batch.paths[term].as_ref(), &file),
            Predicate::Language(language) => has_path(batch.languages[language].as_ref(), &file),
            // The repository is decided; indexed trees and symbols have nothing to do with changes.
            Predicate::Repo(_)
            | Predicate::Property(_)
            | Predicate::InTree(_)
            | Predicate::Symbol(_) => false,
        })
    };
    if expr.eval(&known) != Some(true) {
        return None;
    }
    let (mut shown, mut in_path) = (Vec::new(), Vec::new());
    if query.select != Select::Repos {
        expr.shown(&known, &mut |of| {
            let (term, change) = match of {
                Predicate::Content(term) => (term, None),
                Predicate::Added(term) => (term, Some(LineChange::Added)),
                Predicate::Removed(term) => (term, Some(LineChange::Removed)),
                Predicate::Path(term) if query.terms[term].shown == Shown::Matches => {
                    in_path.push(term);
                    return;
                }
                _ => return,
            };
            if query.select.has_lines() && query.terms[term].shown == Shown::Matches {
                shown.push((term, change));
            }
        });
    }
    Some(Decided { file, shown, in_path })
}

fn has_line(hits: Option<&Hits>, file: &ChangedFile, change: Option<LineChange>) -> bool {
    let Some(hits) = hits else { return false };
    file.lines.iter().any(|line| {
        change.is_none_or(|of| of == change_of(line.is_removed))
            && hits.items.contains(line.line as usize)
    })
}

fn has_path(hits: Option<&Hits>, file: &ChangedFile) -> bool {
    let Some(hits) = hits else { return false };
    [file.new_path, file.old_path]
        .into_iter()
        .flatten()
        .any(|path| hits.items.contains(path as usize))
}

pub(super) fn change_of(is_removed: bool) -> LineChange {
    if is_removed { LineChange::Removed } else { LineChange::Added }
}

impl Decided {
    /// Returns the lines that are shown: number in the batch, kind of change, and the terms that match.
    pub(super) fn lines(&self, batch: &Batch) -> Vec<(u32, LineChange, Vec<usize>)> {
        let mut lines = Vec::new();
        for line in &self.file.lines {
            let change = change_of(line.is_removed);
            let matches = |(term, of): &(usize, Option<LineChange>)| {
                let hits = batch.lines[*term].as_ref();
                let is_hit = hits.is_some_and(|hits| hits.items.contains(line.line as usize));
                (is_hit && of.is_none_or(|of| of == change)).then_some(*term)
            };
            let terms: Vec<usize> = self.shown.iter().filter_map(matches).collect();
            if !terms.is_empty() {
                lines.push((line.line, change, terms));
            }
        }
        lines
    }

    /// Returns the matches in the path that is shown.
    pub(super) fn path_ranges(&self, path: &str, query: &CompiledQuery) -> Vec<Range<usize>> {
        let of = |term: &usize| query.terms[*term].matcher.ranges(path, &|| true);
        apart(self.in_path.iter().flat_map(of).collect())
    }
}
