//! Checks a query that searches changes instead of files.

use std::ops::Range;

use crate::error::QueryError;
use crate::revision::Changes;
use crate::tree::{Field, Term, Tree};

/// A part of a query that cannot be in it.
pub(crate) struct Misplaced {
    /// Its byte offset in the query.
    at: usize,
    message: String,
    correction: Correction,
}

/// What makes a query right.
enum Correction {
    Unknown,
    /// A text at its end.
    Append(&'static str),
    Remove(Range<usize>),
}

impl Misplaced {
    /// Returns the error of a query.
    pub(crate) fn at(self, source: &str) -> QueryError {
        let error = QueryError::new(source, self.at, self.message);
        match self.correction {
            Correction::Unknown => error,
            Correction::Append(text) => error.with_end(text),
            Correction::Remove(range) => error.with_replacement(range, ""),
        }
    }
}

/// Checks that a query has the terms of a search of changes, if it is one, and else none of them.
pub(crate) fn check(tree: &Tree, changes: Option<&Changes>) -> Result<(), Misplaced> {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => {
            parts.iter().try_for_each(|part| check(part, changes))
        }
        Tree::Not(inner) => check(inner, changes),
        Tree::Term(term) => check_term(term, changes),
        Tree::Language(_) | Tree::Property(_) => Ok(()),
        Tree::InTree(tree) => match changes {
            None => Ok(()),
            Some(changes) => {
                let what = match changes {
                    Changes::Between(_) => "diff: names the revisions itself",
                    Changes::History => "history: searches the commits of all branches",
                };
                let message = format!("{what}; remove {}:", tree.field.name());
                let correction = Correction::Remove(tree.range.clone());
                Err(Misplaced { at: tree.range.start, message, correction })
            }
        },
    }
}

fn check_term(term: &Term, changes: Option<&Changes>) -> Result<(), Misplaced> {
    let wrong = |message: &str, correction| {
        Err(Misplaced { at: term.at, message: message.to_owned(), correction })
    };
    let is_of_change = matches!(term.field, Field::Added | Field::Removed);
    match (changes, term.field) {
        (None, _) if is_of_change => wrong(
            "added: and removed: need changes to search; add diff:main..HEAD, or history:* for all indexed commits",
            Correction::Append("history:*"),
        ),
        (None, _) | (Some(_), Field::Path | Field::Repo) => Ok(()),
        (Some(_), Field::Symbol) => wrong(
            "definitions are not searched in changes; use added: or removed: for lines, or remove diff: and history:",
            Correction::Unknown,
        ),
        // The lines of a history are single; between two revisions, neighbouring lines changed together.
        (Some(Changes::History), _) if term.pattern.spans_lines() => wrong(
            "a term must match within a line in a search of the history; remove multiline:yes, \\n and (?s)",
            Correction::Unknown,
        ),
        (Some(_), _) => Ok(()),
    }
}
