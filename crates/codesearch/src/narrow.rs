//! What is asked beside the query text (`--file`, `&lang=`), as parts of the query.

use engine::docs::DocsRequest;
use query::{Case, Field, Matcher, Pattern, Query, QueryError, Tree};

/// Restrictions beside the query text. Of each kind, one must hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrow<'a> {
    pub(crate) repos: &'a [String],
    pub(crate) files: &'a [String],
    pub(crate) languages: &'a [String],
}

impl Narrow<'_> {
    /// The query with these restrictions.
    ///
    /// # Errors
    /// The kind (`repo`, `file`, `lang`) that is wrong, and a sentence on what is wrong with it.
    pub(crate) fn apply(self, mut query: Query) -> Result<Query, (&'static str, String)> {
        for (kind, place, patterns) in
            [("repo", Field::Repo, self.repos), ("file", Field::Path, self.files)]
        {
            let terms: Result<Vec<Tree>, QueryError> =
                patterns.iter().map(|pattern| term(place, pattern)).collect();
            let terms = terms.map_err(|error| (kind, error.to_string()))?;
            if !terms.is_empty() {
                query = query.and(Tree::any(terms));
            }
        }
        for language in self.languages {
            query::check_language(language).map_err(|why| ("lang", why))?;
        }
        let languages: Vec<Tree> = self.languages.iter().cloned().map(Tree::Language).collect();
        Ok(if languages.is_empty() { query } else { query.and(Tree::any(languages)) })
    }
}

/// A search for docs with restrictions beside its query: repositories and languages, of each kind one must hold.
///
/// # Errors
/// As [`Narrow::apply`].
pub(crate) fn docs(
    mut request: DocsRequest,
    repos: &[String],
    languages: &[String],
) -> Result<DocsRequest, (&'static str, String)> {
    for pattern in repos {
        let matcher = Pattern::parse(pattern, Case::Smart, false);
        let matcher = matcher.and_then(|pattern| Matcher::new(&pattern));
        request.repos.push(matcher.map_err(|error| ("repo", error.to_string()))?);
    }
    for language in languages {
        request.languages.extend(query::languages(language).map_err(|why| ("lang", why))?);
    }
    Ok(request)
}

fn term(place: Field, pattern: &str) -> Result<Tree, QueryError> {
    let pattern = Pattern::parse(pattern, Case::Smart, false)?;
    // An error of size is about this pattern, not about the query.
    Matcher::new(&pattern)?;
    Ok(Tree::term(place, pattern))
}
