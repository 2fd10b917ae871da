//! From groups of words to a tree of terms and the settings of a query.
//!
//! `case:` and `multiline:` hold for the group they stand in, wherever in it they stand, and for the groups inside. So
//! groups are read whole first, and their patterns are parsed once all settings are known.

use crate::error::QueryError;
use crate::field::FieldName;
use crate::group::{Group, Part, is_setting};
use crate::language::check_language;
use crate::lex::Word;
use crate::pattern::{Case, Pattern};
use crate::settings::Settings;
use crate::tree::{Field, Query, Term, Tree};

/// How patterns match, as far as a query does not say so itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// As `case:` would say.
    pub case: Case,
    /// As `multiline:` would say.
    pub multiline: bool,
}

impl From<Case> for Defaults {
    fn from(case: Case) -> Self {
        Self { case, multiline: false }
    }
}

/// The query as far as it is built.
pub(crate) struct Build<'a> {
    source: &'a str,
    settings: Settings,
}

impl<'a> Build<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, settings: Settings::default() }
    }

    /// Builds the query of its outermost group.
    pub(crate) fn query(mut self, group: Group, defaults: Defaults) -> Result<Query, QueryError> {
        let tree = self.group(group, defaults, true)?;
        Ok(Query { source: self.source.to_owned(), tree, settings: self.settings })
    }

    fn error(&self, at: usize, message: impl Into<String>) -> QueryError {
        QueryError::new(self.source, at, message)
    }

    /// `whole` says that this group is the whole query, so that `type:` and its like may stand in it.
    fn group(
        &mut self,
        mut group: Group,
        outer: Defaults,
        whole: bool,
    ) -> Result<Tree, QueryError> {
        let mut scope = outer;
        let several = group.alternatives.len() > 1;
        // A query in parentheses is still the whole of it.
        let only = group.alternatives.len() == 1 && group.alternatives[0].len() == 1;
        for alternative in &mut group.alternatives {
            let mut parts = Vec::with_capacity(alternative.len());
            let mut setting = None;
            for part in alternative.drain(..) {
                match part {
                    Part::Word(at, word) if is_setting(&word) => {
                        self.set(at, &word, &mut scope, whole)?;
                        setting = Some(at);
                    }
                    other => parts.push(other),
                }
            }
            // Nothing but settings is every file; as an alternative, that is a slip.
            if let (true, true, Some(at)) = (several, parts.is_empty(), setting) {
                let message = "there is no term beside this on its side of the 'or'";
                return Err(self.error(at, message));
            }
            *alternative = parts;
        }
        let mut any = Vec::with_capacity(group.alternatives.len());
        for alternative in group.alternatives {
            let all: Result<_, _> =
                alternative.into_iter().map(|part| self.part(part, scope, whole && only)).collect();
            any.push(Tree::all(all?));
        }
        Ok(Tree::any(any))
    }

    fn part(&mut self, part: Part, scope: Defaults, whole: bool) -> Result<Tree, QueryError> {
        match part {
            Part::Group(group) => self.group(group, scope, whole),
            Part::Not(at, part) => match *part {
                Part::Word(_, word) if is_setting(&word) => {
                    Err(self.error(at, "this says how to search, so it cannot be negated"))
                }
                part => Ok(!self.part(part, scope, false)?),
            },
            Part::Word(at, word) => self.word(at, &word, scope),
        }
    }

    fn word(&self, at: usize, word: &Word, scope: Defaults) -> Result<Tree, QueryError> {
        let field = match word.field {
            Some(FieldName::Content) => Field::Content,
            Some(FieldName::Path) => Field::Path,
            Some(FieldName::Repo) => Field::Repo,
            Some(FieldName::Language) => {
                check_language(&word.text).map_err(|why| self.error(word.origins[0], why))?;
                return Ok(Tree::Language(word.text.clone()));
            }
            _ => Field::Anywhere,
        };
        let pattern = if word.field == Some(FieldName::Literal) {
            Pattern::literal(&word.text, scope.case)
        } else {
            Pattern::parse(&word.text, scope.case, scope.multiline)
        };
        let pattern = pattern.map_err(|error| {
            let origin = word.origins.get(error.position).copied().unwrap_or(at);
            self.error(origin, error.message)
        })?;
        Ok(Tree::Term(Term { field, pattern, at }))
    }

    fn set(
        &mut self,
        at: usize,
        word: &Word,
        scope: &mut Defaults,
        whole: bool,
    ) -> Result<(), QueryError> {
        let value = word.text.as_str();
        let field = word.field.expect("a setting has a field");
        if !whole && !matches!(field, FieldName::Case | FieldName::Multiline) {
            let message = "this holds for the whole query; put it outside of all parentheses";
            return Err(self.error(at, message));
        }
        let unknown = |wanted: &str| {
            QueryError::new(
                self.source,
                word.origins[0],
                format!("\"{value}\" cannot stand here; use {wanted}"),
            )
        };
        match field {
            FieldName::Case => {
                scope.case = match value {
                    "yes" => Case::Sensitive,
                    "no" => Case::Insensitive,
                    "auto" => Case::Smart,
                    _ => return Err(unknown("case:yes, case:no or case:auto")),
                }
            }
            FieldName::Multiline => {
                scope.multiline = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(unknown("multiline:yes or multiline:no")),
                }
            }
            FieldName::Setting(setting) => {
                self.settings
                    .set(setting, value)
                    .map_err(|why| self.error(word.origins[0], why))?;
            }
            _ => unreachable!("not a setting"),
        }
        Ok(())
    }
}
