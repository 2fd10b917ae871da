//! Restrictions given as options (`--file`, `&lang=`), as parts of the query.

use query::{Case, Field, Matcher, Pattern, Query, QueryError, Tree};

use super::options::Options;
use super::refused::{Refused, option};

/// Restrictions given as options. Of each kind, one value must match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow<'a> {
    repos: &'a [String],
    files: &'a [String],
    languages: &'a [String],
}

impl<'a> Narrow<'a> {
    pub(super) fn of(options: &'a Options) -> Self {
        Self { repos: &options.repos, files: &options.files, languages: &options.languages }
    }

    /// Adds the restrictions to a query.
    ///
    /// # Errors
    /// [`Refused::Option`] for an invalid pattern (`repo`, `file`), and for an unknown language
    /// (`lang`).
    pub(super) fn apply(self, mut query: Query) -> Result<Query, Refused> {
        for (name, field, patterns) in
            [("repo", Field::Repo, self.repos), ("file", Field::Path, self.files)]
        {
            let terms: Result<Vec<Tree>, QueryError> =
                patterns.iter().map(|pattern| term(field, pattern)).collect();
            let terms = terms.map_err(|error| option(name, &error))?;
            if !terms.is_empty() {
                query = query.and(Tree::any(terms));
            }
        }
        let mut languages = Vec::new();
        for language in self.languages.iter().flat_map(|several| several.split(',')) {
            query::check_language(language).map_err(|why| option("lang", &why))?;
            languages.push(Tree::Language(language.to_owned()));
        }
        Ok(if languages.is_empty() { query } else { query.and(Tree::any(languages)) })
    }
}

fn term(field: Field, pattern: &str) -> Result<Tree, QueryError> {
    let pattern = match field {
        Field::Path => Pattern::of_path(pattern, Case::Smart)?,
        _ => Pattern::of_repository(pattern, Case::Smart)?,
    };
    // Compile the pattern here, so that an error of size names this pattern and not the whole query.
    Matcher::new(&pattern)?;
    Ok(Tree::term(field, pattern))
}
